//! To find the right filter: what there is, what fits, how fast it is.

use everbloom::Setting;
use std::path::PathBuf;

use super::parsers::setting;
use super::shared::{Machine, Replacing, Size, Tabular};
use crate::quantity;

#[derive(clap::Args)]
pub struct Plan {
    #[command(flatten)]
    pub size: Size,
    /// What the filter must be able to do, such as delete,merge (words of the list below). Without other options: list
    /// the filters that can.
    #[arg(long, value_name = "NEEDS", value_delimiter = ',')]
    pub need: Vec<String>,
    /// A single variant, by its slug: compute its size and rate.
    #[arg(long, value_name = "SLUG")]
    pub kind: Option<String>,
    /// With --kind: number of cells, such as the bits of a bloom filter.
    #[arg(short = 'm', long, value_name = "COUNT", value_parser = quantity::count)]
    pub cells: Option<u64>,
    /// With --kind: probes per key.
    #[arg(short = 'k', long, value_name = "COUNT")]
    pub probes: Option<u32>,
    /// With --kind: set a parameter of the variant (see `everbloom catalog SLUG`), such as record-bytes=60; may be
    /// repeated.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting, requires = "kind")]
    pub settings: Vec<(String, Setting)>,
    /// Show every candidate, and why the others do not fit. With only --need, show every variant that can.
    #[arg(long)]
    pub all: bool,
    /// With --need count: how often the most frequent key occurs. Counters are made wide enough where the variant
    /// allows it; a column shows the limit of each.
    #[arg(long, value_name = "COUNT", value_parser = quantity::count)]
    pub max_count: Option<u64>,
    /// Plot the rate against bits per key in the terminal (not with --json).
    #[arg(long, conflicts_with = "csv")]
    pub plot: bool,
    /// Write the same plot to an SVG file.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    #[command(flatten)]
    pub replacing: Replacing,
    #[command(flatten)]
    pub shown: Tabular,
}

#[derive(clap::Args)]
pub struct Catalog {
    /// A variant, by its slug. Default: list all names by family.
    #[arg(value_name = "SLUG", conflicts_with = "markdown")]
    pub slug: Option<String>,
    /// Print one line for each form of each variant, with its abilities.
    #[arg(long, conflicts_with_all = ["slug", "json", "csv"])]
    pub all: bool,
    /// Print the list as CATALOG.md, with freshly measured rates.
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
    /// Number of lines.
    #[arg(short = 'n', long, value_parser = quantity::count, default_value = "10")]
    pub items: u64,
    /// Print queries instead of records: for members of the sample that the same -n and --seed give, or for others.
    #[arg(long, value_name = "WHICH")]
    pub queries: Option<SampleQueries>,
    /// Seed in hex; another seed gives other records.
    #[arg(long, value_name = "HEX", value_parser = quantity::seed, default_value = "0")]
    pub seed: u64,
}

/// Which keys the queries are for.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum SampleQueries {
    /// Keys in the sample.
    Members,
    /// Keys that are not in it.
    Others,
}

#[derive(clap::Args)]
pub struct Demo {
    /// Show every variant of the catalog, not only the everyday ones.
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Bench {
    /// A filter file: measure queries for keys that are not in it.
    #[arg(required_unless_present = "kind", conflicts_with_all = ["kind", "fpr", "settings"])]
    pub filter: Option<PathBuf>,
    /// A variant, by its slug: measure building and querying one.
    #[arg(long, value_name = "SLUG")]
    pub kind: Option<String>,
    /// Number of keys to build from, or to query a filter file for.
    #[arg(short = 'n', long, value_parser = quantity::count, default_value = "1M")]
    pub items: u64,
    /// False-positive rate to plan for.
    #[arg(short = 'p', long, value_name = "RATE", value_parser = quantity::rate, default_value = "1%", allow_negative_numbers = true)]
    pub fpr: f64,
    /// Set a parameter of the variant (see `everbloom catalog SLUG`); may be repeated.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub settings: Vec<(String, Setting)>,
    /// File with 32 hex digits: the secret key of a keyed filter.
    #[arg(long, value_name = "FILE", requires = "filter")]
    pub key_file: Option<PathBuf>,
    #[command(flatten)]
    pub shown: Tabular,
}
