//! To find the right filter: what there is, what fits, how fast it is.

use everbloom::Setting;
use std::path::PathBuf;

use super::parsers::setting;
use super::shared::{Machine, Size, Tabular};
use crate::quantity;

#[derive(clap::Args)]
pub struct Plan {
    #[command(flatten)]
    pub size: Size,
    /// What the filter must be able to do, such as delete,merge: words of the list below. Alone: which
    /// filters can.
    #[arg(long, value_name = "NEEDS", value_delimiter = ',')]
    pub need: Vec<String>,
    /// One variant, by its slug: a calculator for its size and rate.
    #[arg(long, value_name = "SLUG")]
    pub kind: Option<String>,
    /// With --kind: cells, such as the bits of a bloom filter.
    #[arg(short = 'm', long, value_name = "COUNT", value_parser = quantity::count)]
    pub cells: Option<u64>,
    /// With --kind: probes per key.
    #[arg(short = 'k', long, value_name = "COUNT")]
    pub probes: Option<u32>,
    /// Show every candidate, and why the others do not fit; with --need alone every variant that can.
    #[arg(long)]
    pub all: bool,
    /// With --need count: how often the most frequent key comes. Counters are made wide enough where the variant
    /// lets them, and a column tells how far each counts.
    #[arg(long, value_name = "COUNT", value_parser = quantity::count)]
    pub max_count: Option<u64>,
    /// Draw the rate over bits per key in the terminal (not with --json).
    #[arg(long, conflicts_with = "csv")]
    pub plot: bool,
    /// Draw the rate over bits per key as an SVG picture.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    #[command(flatten)]
    pub shown: Tabular,
}

#[derive(clap::Args)]
pub struct Catalog {
    /// A variant, by its slug. Default: the names of all, by family.
    #[arg(value_name = "SLUG", conflicts_with = "markdown")]
    pub slug: Option<String>,
    /// Print a line for each form of each variant, with what it can do.
    #[arg(long, conflicts_with_all = ["slug", "json", "csv"])]
    pub all: bool,
    /// Print the list as CATALOG.md, with rates measured on the spot.
    #[arg(long, conflicts_with_all = ["json", "csv", "all"])]
    pub markdown: bool,
    /// Print the fields of every variant's file, in order, as docs/format/FIELDS.md.
    #[arg(long, conflicts_with_all = ["markdown", "json", "csv", "slug", "all"])]
    pub fields: bool,
    #[command(flatten)]
    pub shown: Tabular,
}

#[derive(clap::Args)]
pub struct Sample {
    /// The variant, by its slug.
    pub slug: String,
    /// How many lines.
    #[arg(short = 'n', long, value_parser = quantity::count, default_value = "10")]
    pub items: u64,
    /// Queries instead of records: of the members that the same -n and --seed give, or of others.
    #[arg(long, value_name = "WHICH")]
    pub queries: Option<SampleQueries>,
    /// Another seed gives other records, in hex.
    #[arg(long, value_name = "HEX", value_parser = quantity::seed, default_value = "0")]
    pub seed: u64,
}

/// Whom queries are for.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum SampleQueries {
    /// Keys that the sample has.
    Members,
    /// Keys that it has not.
    Others,
}

#[derive(clap::Args)]
pub struct Demo {
    /// Show every variant of the list, not only the everyday ones.
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Bench {
    /// A filter file: how fast it answers, for keys that are not in it.
    #[arg(required_unless_present = "kind", conflicts_with_all = ["kind", "fpr", "settings"])]
    pub filter: Option<PathBuf>,
    /// The variant, by its slug: how fast one is built and asked.
    #[arg(long, value_name = "SLUG")]
    pub kind: Option<String>,
    /// Keys to build from, or to ask a filter file for.
    #[arg(short = 'n', long, value_parser = quantity::count, default_value = "1M")]
    pub items: u64,
    /// False-positive rate to plan for.
    #[arg(short = 'p', long, value_name = "RATE", value_parser = quantity::rate, default_value = "1%", allow_negative_numbers = true)]
    pub fpr: f64,
    /// A parameter of the variant (see `everbloom catalog SLUG`); may be repeated.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub settings: Vec<(String, Setting)>,
    /// A file with 32 hex digits, the secret key of a keyed filter.
    #[arg(long, value_name = "FILE", requires = "filter")]
    pub key_file: Option<PathBuf>,
    #[command(flatten)]
    pub shown: Tabular,
}
