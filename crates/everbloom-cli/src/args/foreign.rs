//! Filters that other software writes.

use std::path::PathBuf;

use everbloom_formats::{Format, KeyAs};

use super::parsers::{format, keys_as};
use super::shared::{Machine, Replacing};

/// What a foreign file does not say of itself.
#[derive(clap::Args)]
pub struct Foreign {
    /// Format of the foreign file (see `everbloom formats`). Default: detected from its bytes.
    #[arg(long, value_name = "NAME", value_parser = format)]
    pub format: Option<&'static Format>,
    /// How the other software reads a key. Default: as the file states, or else the usual type of the format.
    #[arg(long, value_name = "KIND", value_parser = keys_as())]
    pub keys_as: Option<KeyAs>,
    /// In a Parquet or ORC file: the column whose filters are used.
    #[arg(long, value_name = "NAME")]
    pub column: Option<String>,
    /// The row group whose filter is used, counted from 0. Default: all.
    #[arg(long, value_name = "NUMBER")]
    pub row_group: Option<u64>,
    /// Number of probes per key, if the file does not state it.
    #[arg(long, value_name = "K")]
    pub probes: Option<u32>,
}

#[derive(clap::Args)]
pub struct Formats {
    /// Show which software writes each format, and its type of key.
    #[arg(long, conflicts_with = "json")]
    pub all: bool,
    /// Print the table of docs/FORMATS.md in Markdown.
    #[arg(long, conflicts_with_all = ["all", "json"])]
    pub markdown: bool,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Import {
    /// The foreign file.
    pub file: PathBuf,
    /// Output file; `-` for stdout. A file appears only when it is complete.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub replacing: Replacing,
    #[command(flatten)]
    pub foreign: Foreign,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Export {
    /// The filter file.
    pub filter: PathBuf,
    /// The foreign format (see `everbloom formats`).
    #[arg(long, value_name = "NAME", value_parser = format)]
    pub format: &'static Format,
    /// Output file; `-` for stdout. It appears only when it is complete.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub replacing: Replacing,
    #[command(flatten)]
    pub machine: Machine,
}
