//! What may be typed.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

use crate::quantity;

/// Every Bloom filter, from the command line.
///
/// Data goes to stdout, talk to stderr. Exit code 0: some keys may be members, or the work is done;
/// 1: none are; 2: an error.
#[derive(Parser)]
#[command(name = "everbloom", version, max_term_width = 100)]
pub struct Args {
    #[command(subcommand)]
    pub verb: Verb,
}

#[derive(Subcommand)]
pub enum Verb {
    /// List the variants: slugs, papers, abilities, parameters.
    Catalog(Catalog),
    /// Build a filter from a file of keys.
    Build(Build),
    /// Print the queries that may be members.
    Check(Check),
    /// Show what a filter is, how full it is, and how often it errs now.
    Info(Info),
    /// Build and ask a filter of every variant, and compare prediction with measurement.
    Demo,
}

#[derive(clap::Args)]
pub struct Catalog {
    /// Print the list as JSON.
    #[arg(long, conflicts_with = "markdown")]
    pub json: bool,
    /// Print the list as CATALOG.md, with rates measured on the spot.
    #[arg(long)]
    pub markdown: bool,
}

/// Examples:
///   everbloom build words.txt -o words.evb --kind bloom -p 0.1%
///   seq 1000000 | everbloom build - -o ids.evb --kind blocked -n 1M --key-type u64
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Build {
    /// Keys, one a line; `-` for stdin. Variants that take values read key<TAB>value.
    pub keys: PathBuf,
    /// Where the filter goes. It appears when it is complete, or not at all.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// The variant, by its slug (see `everbloom catalog`).
    #[arg(short, long, value_name = "SLUG")]
    pub kind: String,
    /// Items to plan for, such as 10M. Default: as many as there are.
    #[arg(short = 'n', long, value_parser = quantity::count)]
    pub items: Option<u64>,
    /// False-positive rate to stay below, such as 1%, 0.001 or 1/1000. Default: 1%.
    #[arg(short = 'p', long, value_name = "RATE", value_parser = quantity::rate, allow_negative_numbers = true)]
    pub fpr: Option<f64>,
    /// Memory to fit in, such as 100MB or 64MiB, in place of -p or -n.
    #[arg(long, value_name = "SIZE", value_parser = quantity::memory_bits)]
    pub memory: Option<u64>,
    /// Known non-members, one a line, for variants that use them.
    #[arg(long, value_name = "FILE")]
    pub negatives: Option<PathBuf>,
    /// Seed of the hash, in hex. Filters merge only under one seed. Default: 0.
    #[arg(long, value_name = "HEX", value_parser = quantity::seed, conflicts_with = "key_file")]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub keyed: Keyed,
    /// A parameter of the variant (see `everbloom catalog`); may be repeated.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub settings: Vec<(String, String)>,
    /// Print what was built as JSON.
    #[arg(long)]
    pub json: bool,
}

/// How keys are read and hashed: for every verb that does.
#[derive(clap::Args)]
pub struct Keyed {
    /// A file with 32 hex digits, the secret key of a keyed filter.
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// What a line is: its bytes, or a decimal integer.
    #[arg(long, value_name = "TYPE", default_value = "bytes")]
    pub key_type: KeyType,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KeyType {
    /// The bytes of the line.
    Bytes,
    /// A decimal integer below 2^64, as 8 little-endian bytes.
    U64,
}

#[derive(clap::Args)]
pub struct Check {
    /// The filter.
    pub filter: PathBuf,
    /// Queries, one a line; `-` for stdin.
    #[arg(default_value = "-")]
    pub queries: PathBuf,
    /// Print absent, present or undecided for every query, with what else the filter knows.
    #[arg(long)]
    pub answers: bool,
    #[command(flatten)]
    pub keyed: Keyed,
    /// Print one JSON object a line.
    #[arg(long)]
    pub json: bool,
}

#[derive(clap::Args)]
pub struct Info {
    /// The filter.
    pub filter: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) =
        text.split_once('=').ok_or_else(|| format!("{text:?} is not of the form name=value"))?;
    Ok((name.to_owned(), value.to_owned()))
}
