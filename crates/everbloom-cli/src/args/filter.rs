//! To build a filter file and to query it.

use everbloom::Setting;
use std::ffi::OsString;
use std::path::PathBuf;

use everbloom::membership::ancestors::Hierarchy;
use everbloom_records::KeyType;

use everbloom_formats::{Format, KeyAs};

use super::foreign::Foreign;
use super::parsers::{format, hierarchy, key_type, keys_as, setting};
use super::shared::{Keyed, Machine, Secret, Size, Tabular};
use crate::quantity;

#[derive(clap::Args)]
pub struct Build {
    /// Keys, one a line; `-` for stdin. Variants that take values read key<TAB>value.
    pub keys: PathBuf,
    /// Where the filter goes; `-` for stdout. A file appears when it is complete, or not at all.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// The variant, by its slug (see `everbloom catalog`). Default: bloom; on a pipe without -n one
    /// that grows, scalable.
    #[arg(long, value_name = "SLUG")]
    pub kind: Option<String>,
    #[command(flatten)]
    pub size: Size,
    /// Take variant, shape, hash and seed from this filter file, so that both merge.
    #[arg(long, value_name = "FILTER",
        conflicts_with_all = ["kind", "items", "fpr", "memory", "seed", "settings", "format"])]
    pub like: Option<PathBuf>,
    /// Build only what merges with every filter that is built by the same options from other keys, of whatever number:
    /// cells are a power of two, and merging folds the larger filter onto the smaller one, at a higher rate. Of variants
    /// that do not fold, give -n or --memory, the same for each.
    #[arg(long, conflicts_with = "format")]
    pub mergeable: bool,
    /// Known non-members, one a line, for variants that use them.
    #[arg(long, value_name = "FILE")]
    pub negatives: Option<PathBuf>,
    /// Lines are key<TAB>prior, how likely the key will be a member when it is asked for: keys for which a "yes" of
    /// the filter would be wrong more often than right are left out (the Bloom paradox).
    #[arg(long, conflicts_with_all = ["like", "format", "ancestors"])]
    pub priors: bool,
    /// With --priors: what a missed member costs, in false positives.
    #[arg(
        long,
        value_name = "FACTOR",
        default_value = "1",
        requires = "priors",
        allow_negative_numbers = true
    )]
    pub cost: f64,
    /// Seed of the hash, in hex. Filters merge only under one seed. Default: 0.
    #[arg(long, value_name = "HEX", value_parser = quantity::seed, conflicts_with = "key_file")]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub keyed: Keyed,
    /// Write a filter of a foreign format instead, which other software reads (see `everbloom formats`).
    #[arg(long, value_name = "NAME", value_parser = format,
        conflicts_with_all = ["kind", "memory", "negatives", "seed", "ancestors", "settings"])]
    pub format: Option<&'static Format>,
    /// With --format: what a line is to the other software. Default: what is usual in the format.
    #[arg(long, value_name = "KIND", value_parser = keys_as(), requires = "format")]
    pub keys_as: Option<KeyAs>,
    /// Keys are nodes of a tree: their ancestors are inserted too. `/` for paths, `.` for domain
    /// names, any other byte, an empty string for every prefix.
    #[arg(long, value_name = "SEPARATOR", value_parser = hierarchy)]
    pub ancestors: Option<Hierarchy>,
    /// Ignore the case of ASCII letters, here and whenever the filter is asked.
    #[arg(short = 'i', long)]
    pub ignore_case: bool,
    /// A parameter of the variant (see `everbloom catalog SLUG`); may be repeated.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub settings: Vec<(String, Setting)>,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("likelihood").args(["prior", "priors"]).multiple(true)))]
pub struct Check {
    /// The filter file.
    pub filter: PathBuf,
    /// Queries, one a line; `-` for stdin.
    #[arg(default_value = "-")]
    pub queries: PathBuf,
    /// Read the whole filter into memory first. By default its file is mapped: it opens at once, but must not be
    /// truncated or overwritten in place meanwhile (`everbloom add` and `build` never do that).
    #[arg(long)]
    pub copy: bool,
    /// Print absent, present or undecided for every query, with what else the filter knows.
    #[arg(long)]
    pub answers: bool,
    /// Print the queries that are not members: for these the answer is certain.
    #[arg(short = 'v', long, conflicts_with = "answers")]
    pub invert_match: bool,
    /// Print how many lines would be printed, instead of them.
    #[arg(short = 'c', long, conflicts_with_all = ["answers", "json"])]
    pub count: bool,
    /// Ignore the case of ASCII letters. The filter must have been built with the option, and remembers it.
    #[arg(short = 'i', long)]
    pub ignore_case: bool,
    /// Another filter to look in; may be repeated. Queries that may be in any of them are printed, each with
    /// the names of the filters behind a TAB.
    #[arg(long = "in", value_name = "FILTER", conflicts_with_all = ["answers", "ancestors", "likelihood", "table", "invert_match"])]
    pub others: Vec<PathBuf>,
    /// Keys are nodes of a tree: their ancestors are looked up too, and one that is absent
    /// proves the key absent. A filter that was built with the option remembers it. `/` for paths, `.` for
    /// domain names, any other byte, an empty string for every prefix.
    #[arg(long, value_name = "SEPARATOR", value_parser = hierarchy)]
    pub ancestors: Option<Hierarchy>,
    /// How many ancestors are looked up at most.
    #[arg(long, default_value = "4")]
    pub levels: u32,
    /// How likely a query is a member before the filter is asked; where a "yes" would be wrong more
    /// often than right (the Bloom paradox), the answer is "absent".
    #[arg(long, value_name = "PROBABILITY", value_parser = quantity::rate)]
    pub prior: Option<f64>,
    /// Queries are key<TAB>prior: each has its own, and --prior is for those that have none.
    #[arg(long)]
    pub priors: bool,
    /// With --prior or --priors: what a missed member costs, in false positives.
    #[arg(
        long,
        value_name = "FACTOR",
        default_value = "1",
        requires = "likelihood",
        allow_negative_numbers = true
    )]
    pub cost: f64,
    /// The members, one a line: what the filter leaves undecided is looked up among them, so that it is present or
    /// absent.
    #[arg(long, value_name = "FILE")]
    pub table: Option<PathBuf>,
    #[command(flatten)]
    pub foreign: Foreign,
    #[command(flatten)]
    pub keyed: Keyed,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct List {
    /// The filter file.
    pub filter: PathBuf,
    #[command(flatten)]
    pub secret: Secret,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Ask {
    /// The filter file.
    pub filter: PathBuf,
    /// Keys, one a line; `-` for stdin.
    #[arg(default_value = "-")]
    pub keys: PathBuf,
    #[command(flatten)]
    pub keyed: Keyed,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Info {
    /// The filter file.
    pub filter: PathBuf,
    #[command(flatten)]
    pub foreign: Foreign,
    #[command(flatten)]
    pub shown: Tabular,
}

#[derive(clap::Args)]
pub struct Explain {
    /// The filter file.
    pub filter: PathBuf,
    /// The key.
    pub key: OsString,
    #[command(flatten)]
    pub secret: Secret,
    /// What a key is: its bytes, or a decimal integer.
    #[arg(long, value_name = "TYPE", value_parser = key_type())]
    pub key_type: Option<KeyType>,
    /// Draw the key and its cells as an SVG picture.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    #[command(flatten)]
    pub machine: Machine,
}
