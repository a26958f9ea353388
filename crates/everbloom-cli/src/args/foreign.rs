//! Filters that other software writes.

use std::path::PathBuf;

use everbloom_formats::{Format, KeyAs};

use super::parsers::{format, keys_as};
use super::shared::Machine;

/// What a foreign file does not say of itself.
#[derive(clap::Args)]
pub struct Foreign {
    /// The file is of this foreign format (see `everbloom formats`). Default: recognized by its bytes.
    #[arg(long, value_name = "NAME", value_parser = format)]
    pub format: Option<&'static Format>,
    /// What a line is to the other software. Default: what the file says, else what is usual in the format.
    #[arg(long, value_name = "KIND", value_parser = keys_as())]
    pub keys_as: Option<KeyAs>,
    /// The column whose filters are used, in a Parquet or ORC file.
    #[arg(long, value_name = "NAME")]
    pub column: Option<String>,
    /// The row group whose filter is used, counted from 0. Default: all.
    #[arg(long, value_name = "NUMBER")]
    pub row_group: Option<u64>,
    /// Probes per key, where the file does not hold the number.
    #[arg(long, value_name = "K")]
    pub probes: Option<u32>,
}

#[derive(clap::Args)]
pub struct Formats {
    /// Say who writes each format and what its keys are.
    #[arg(long, conflicts_with = "json")]
    pub all: bool,
    /// Print markdown: the table of docs/FORMATS.md.
    #[arg(long, conflicts_with_all = ["all", "json"])]
    pub markdown: bool,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Import {
    /// The foreign file.
    pub file: PathBuf,
    /// Where the filter goes; `-` for stdout. A file appears when it is complete, or not at all.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
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
    /// Where the foreign file goes; `-` for stdout. It appears when it is complete, or not at all.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub machine: Machine,
}
