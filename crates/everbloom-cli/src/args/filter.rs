//! To build a filter file and to query it.

use everbloom::Setting;
use std::ffi::OsString;
use std::path::PathBuf;

use everbloom::membership::ancestors::Hierarchy;
use everbloom_records::KeyType;

use everbloom_formats::{Format, KeyAs};

use super::foreign::Foreign;
use super::parsers::{format, hierarchy, key_type, keys_as, setting};
use super::shared::{Keyed, Machine, Replacing, Secret, Size, Tabular};
use crate::quantity;

#[derive(clap::Args)]
pub struct Build {
    /// Files of keys, one per line; `-` for stdin. Variants that take values read key<TAB>value.
    #[arg(required = true)]
    pub keys: Vec<PathBuf>,
    /// Output file; `-` for stdout. A file appears only when it is complete.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub replacing: Replacing,
    /// The variant, by its slug (see `everbloom catalog`). Default: bloom.
    #[arg(long, value_name = "SLUG")]
    pub kind: Option<String>,
    #[command(flatten)]
    pub size: Size,
    /// Copy variant, shape, hash and seed from this filter file, so that the two can be merged.
    #[arg(long, value_name = "FILTER",
        conflicts_with_all = ["kind", "items", "fpr", "memory", "seed", "settings", "format"])]
    pub like: Option<PathBuf>,
    /// Build a filter that can be merged with every other one built with the same options, from any number of keys.
    /// The number of cells is a power of two; merging folds the larger filter to the size of the smaller one, at a
    /// higher rate. For variants that cannot fold, use the same -n or --memory for every filter.
    #[arg(long, conflicts_with = "format")]
    pub mergeable: bool,
    /// Known non-members, one per line, for variants that use them.
    #[arg(long, value_name = "FILE")]
    pub negatives: Option<PathBuf>,
    /// Lines are key<TAB>prior, where prior is the probability that a query for this key is for a member. Keys for
    /// which a "yes" would be wrong more often than right are left out (the Bloom paradox).
    #[arg(long, conflicts_with_all = ["like", "format", "ancestors"])]
    pub priors: bool,
    /// With --priors: the cost of a false negative, in false positives.
    #[arg(
        long,
        value_name = "FACTOR",
        default_value = "1",
        requires = "priors",
        allow_negative_numbers = true
    )]
    pub cost: f64,
    /// Seed of the hash, in hex. Only filters with the same seed can be merged. Default: 0.
    #[arg(long, value_name = "HEX", value_parser = quantity::seed, conflicts_with = "key_file")]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub keyed: Keyed,
    /// Write a filter in a foreign format instead, for other software (see `everbloom formats`).
    #[arg(long, value_name = "NAME", value_parser = format,
        conflicts_with_all = ["kind", "memory", "negatives", "seed", "ancestors", "settings"])]
    pub format: Option<&'static Format>,
    /// With --format: how the other software reads a key. Default: the usual type of the format.
    #[arg(long, value_name = "KIND", value_parser = keys_as(), requires = "format")]
    pub keys_as: Option<KeyAs>,
    /// Keys are nodes of a tree: their ancestors are inserted too. Use `/` for paths, `.` for domain names, any other
    /// byte as the separator, or an empty string for every prefix.
    #[arg(long, value_name = "SEPARATOR", value_parser = hierarchy)]
    pub ancestors: Option<Hierarchy>,
    /// Ignore the case of ASCII letters, now and in every query of the filter.
    #[arg(short = 'i', long)]
    pub ignore_case: bool,
    /// Set a parameter of the variant (see `everbloom catalog SLUG`); may be repeated.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub settings: Vec<(String, Setting)>,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("likelihood").args(["prior", "priors"]).multiple(true)))]
pub struct Check {
    /// The filter file; `-` for stdin.
    pub filter: PathBuf,
    /// Files of queries, one per line; `-` for stdin. Of several files, each line is printed after the name of its file.
    #[arg(default_value = "-")]
    pub queries: Vec<PathBuf>,
    /// Print the name of the file before each line.
    #[arg(short = 'H', long)]
    pub with_filename: bool,
    /// Print no names of files.
    #[arg(long, conflicts_with = "with_filename")]
    pub no_filename: bool,
    /// Read the whole filter into memory first. By default its file is mapped: it opens at once, but must not be
    /// truncated or overwritten in place while it is in use (`everbloom add` and `build` never do that).
    #[arg(long)]
    pub copy: bool,
    /// Print absent, present or undecided for every query, and anything else the filter knows.
    #[arg(long)]
    pub answers: bool,
    /// Print the queries that are certainly not members.
    #[arg(short = 'v', long, conflicts_with = "answers")]
    pub invert_match: bool,
    /// Print only the number of lines.
    #[arg(short = 'c', long, conflicts_with_all = ["answers", "json"])]
    pub count: bool,
    /// Ignore the case of ASCII letters. This needs a filter built with -i, which ignores case anyway.
    #[arg(short = 'i', long)]
    pub ignore_case: bool,
    /// Another filter to query; may be repeated. Prints queries that may be in any of the filters, each with a TAB and
    /// the names of those filters.
    #[arg(long = "in", value_name = "FILTER", conflicts_with_all = ["answers", "ancestors", "likelihood", "table", "invert_match"])]
    pub others: Vec<PathBuf>,
    /// Keys are nodes of a tree: their ancestors are looked up too, and an absent ancestor proves the key absent. A
    /// filter built with this option remembers it. Use `/` for paths, `.` for domain names, any other byte as the
    /// separator, or an empty string for every prefix.
    #[arg(long, value_name = "SEPARATOR", value_parser = hierarchy)]
    pub ancestors: Option<Hierarchy>,
    /// Maximum number of ancestors to look up.
    #[arg(long, default_value = "4")]
    pub levels: u32,
    /// Probability that a query is for a member. Where a "yes" would be wrong more often than right (the Bloom
    /// paradox), the answer is "absent".
    #[arg(long, value_name = "PROBABILITY", value_parser = quantity::rate)]
    pub prior: Option<f64>,
    /// Queries are key<TAB>prior, each with its own probability; --prior applies to those without one.
    #[arg(long)]
    pub priors: bool,
    /// With --prior or --priors: the cost of a false negative, in false positives.
    #[arg(
        long,
        value_name = "FACTOR",
        default_value = "1",
        requires = "likelihood",
        allow_negative_numbers = true
    )]
    pub cost: f64,
    /// The members, one per line. Undecided queries are looked up here, so that each is either present or absent.
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
    /// The filter file; `-` for stdin.
    pub filter: PathBuf,
    #[command(flatten)]
    pub secret: Secret,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Ask {
    /// The filter file; `-` for stdin.
    pub filter: PathBuf,
    /// Keys, one per line; `-` for stdin.
    #[arg(default_value = "-")]
    pub keys: PathBuf,
    #[command(flatten)]
    pub keyed: Keyed,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Get {
    #[command(flatten)]
    pub ask: Ask,
    /// Ask something that only this variant can tell, by its name (see `everbloom catalog SLUG`).
    #[arg(long, value_name = "NAME")]
    pub what: Option<String>,
    /// Ask this filter too; may be repeated.
    #[arg(long = "with", value_name = "FILTER", requires = "what")]
    pub others: Vec<PathBuf>,
    /// Set a number that --what takes; may be repeated.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting, requires = "what")]
    pub settings: Vec<(String, Setting)>,
}

#[derive(clap::Args)]
pub struct Info {
    /// The filter file; `-` for stdin.
    pub filter: PathBuf,
    #[command(flatten)]
    pub foreign: Foreign,
    #[command(flatten)]
    pub shown: Tabular,
}

#[derive(clap::Args)]
pub struct Explain {
    /// The filter file; `-` for stdin.
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
    pub replacing: Replacing,
    #[command(flatten)]
    pub machine: Machine,
}
