//! What may be typed.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use everbloom::membership::ancestors::Hierarchy;

use crate::quantity;

/// Every Bloom filter, from the command line.
///
/// Data goes to stdout, talk to stderr. Exit code 0: some keys may be members, or the work is done;
/// 1: none are; 2: an error.
#[derive(Parser)]
#[command(name = "everbloom", version, max_term_width = 100)]
pub struct Args {
    /// Say nothing on stderr but errors and refused keys; show no progress.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    #[command(subcommand)]
    pub verb: Verb,
}

#[derive(Subcommand)]
pub enum Verb {
    /// Which filter, how big, how good? Rank the variants for a goal.
    Plan(Plan),
    /// Build a filter from a file of keys.
    Build(Build),
    /// Print the queries that may be members.
    Check(Check),
    /// Show what a filter is, how full it is, and how often it errs now.
    Info(Info),
    /// Add keys to a filter, or set values in a key-value filter.
    Add(Change),
    /// Remove keys from a filter.
    Remove(Change),
    /// Print how often keys were inserted, as key<TAB>estimate.
    Count(Ask),
    /// Print the values of keys, as key<TAB>value.
    Get(Ask),
    /// Let time pass for a filter that forgets.
    Age(Age),
    /// Unite filters of the same shape, hash and seed.
    Merge(Merge),
    /// Keep what all filters hold.
    Intersect(Merge),
    /// Halve a filter: same keys, half the size, a higher rate.
    Fold(Fold),
    /// Estimate the sizes of two sets, their union and intersection, from their filters alone.
    Estimate(Estimate),
    /// Print the lines of stdin that were not seen before.
    Dedupe(Dedupe),
    /// Tell what two files of keys do not share, by exchanging as little as possible.
    Diff(Diff),
    /// Join two delimited files, sending only the rows that can match.
    Join(Join),
    /// Show how a filter comes to its answer for one key.
    Explain(Explain),
    /// Measure a filter's speed on this machine, beside a hash set of the same keys.
    Bench(Bench),
    /// Try what the surveys say: their figures and tables, measured.
    Lab(Lab),
    /// List the variants: slugs, papers, abilities, parameters.
    Catalog(Catalog),
    /// Build and ask a filter of every variant, and compare prediction with measurement.
    Demo,
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page.
    Man,
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
///   everbloom build words.txt -o words.evb
///   everbloom build words.txt.gz -o words.evb --kind blocked -p 0.1%
///   seq 1000000 | everbloom build - -o ids.evb --kind blocked -n 1M --key-type u64
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Build {
    /// Keys, one a line; `-` for stdin. Variants that take values read key<TAB>value.
    pub keys: PathBuf,
    /// Where the filter goes. It appears when it is complete, or not at all.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// The variant, by its slug (see `everbloom catalog`). Default: bloom; on a pipe without -n one
    /// that grows, scalable.
    #[arg(short, long, value_name = "SLUG")]
    pub kind: Option<String>,
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
    /// Keys are nodes of a tree: their ancestors are inserted too. `/` for paths, `.` for domain
    /// names, an empty string for every prefix.
    #[arg(long, value_name = "SEPARATOR", value_parser = hierarchy)]
    pub ancestors: Option<Hierarchy>,
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
    #[command(flatten)]
    pub text: Text,
}

/// How lines are cut into keys. Input packed by gzip or zstd is unpacked.
#[derive(clap::Args, Clone)]
pub struct Text {
    /// What a key is: its bytes, or a decimal integer.
    #[arg(long, value_name = "TYPE", default_value = "bytes")]
    pub key_type: KeyType,
    /// Records end in NUL instead of LF, as `find -print0` writes them.
    #[arg(short = '0', long = "null")]
    pub null: bool,
    /// The key is this column, counted from 1, instead of the whole line.
    #[arg(short = 'f', long, value_name = "COLUMN", value_parser = clap::value_parser!(u32).range(1..))]
    pub field: Option<u32>,
    /// What separates columns, one byte. Default: TAB.
    #[arg(short = 'd', long, value_name = "DELIM", value_parser = delimiter, requires = "field")]
    pub delimiter: Option<u8>,
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
    /// Keys are nodes of a tree: their ancestors are asked too, and one that is absent
    /// proves the key absent (build with the same option). `/` for paths, `.` for domain
    /// names, an empty string for every prefix.
    #[arg(long, value_name = "SEPARATOR", value_parser = hierarchy)]
    pub ancestors: Option<Hierarchy>,
    /// How many ancestors are asked at most.
    #[arg(long, default_value = "4", requires = "ancestors")]
    pub levels: u32,
    /// How likely a query is a member before the filter is asked; where a "yes" would be wrong more
    /// often than right (the Bloom paradox), the answer is "absent".
    #[arg(long, value_name = "PROBABILITY", value_parser = quantity::rate)]
    pub prior: Option<f64>,
    /// With --prior: what a missed member costs, in false positives.
    #[arg(long, value_name = "FACTOR", default_value = "1", requires = "prior")]
    pub cost: f64,
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

#[derive(clap::Args)]
pub struct Plan {
    /// Items to hold, such as 10M.
    #[arg(short = 'n', long, value_parser = quantity::count)]
    pub items: Option<u64>,
    /// False-positive rate to stay below, such as 1%.
    #[arg(short = 'p', long, value_name = "RATE", value_parser = quantity::rate, allow_negative_numbers = true)]
    pub fpr: Option<f64>,
    /// Memory to fit in, such as 100MB.
    #[arg(long, value_name = "SIZE", value_parser = quantity::memory_bits)]
    pub memory: Option<u64>,
    /// What the filter must be able to do, such as delete,merge. Alone: which filters can.
    #[arg(long, value_name = "NEEDS", value_delimiter = ',')]
    pub need: Vec<String>,
    /// Draw the rate over bits per key in the terminal.
    #[arg(long)]
    pub plot: bool,
    /// Draw the rate over bits per key as an SVG picture.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(clap::Args)]
pub struct Change {
    /// The filter; it is replaced when all keys are in, or left as it was.
    pub filter: PathBuf,
    /// Keys, one a line; `-` for stdin.
    #[arg(default_value = "-")]
    pub keys: PathBuf,
    #[command(flatten)]
    pub keyed: Keyed,
    /// Print what was done as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(clap::Args)]
pub struct Ask {
    /// The filter.
    pub filter: PathBuf,
    /// Keys, one a line; `-` for stdin.
    #[arg(default_value = "-")]
    pub keys: PathBuf,
    #[command(flatten)]
    pub keyed: Keyed,
    /// Print one JSON object a line.
    #[arg(long)]
    pub json: bool,
}

#[derive(clap::Args)]
pub struct Age {
    /// The filter; it is replaced.
    pub filter: PathBuf,
    /// Units of time that pass.
    #[arg(default_value = "1", value_parser = quantity::count)]
    pub ticks: u64,
    /// A file with 32 hex digits, the secret key of a keyed filter.
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
}

#[derive(clap::Args)]
pub struct Merge {
    /// The filters, two or more.
    #[arg(required = true, num_args = 2..)]
    pub filters: Vec<PathBuf>,
    /// Where the result goes.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// A file with 32 hex digits, the secret key of keyed filters.
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
}

#[derive(clap::Args)]
pub struct Fold {
    /// The filter.
    pub filter: PathBuf,
    /// Where the result goes.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// How often it is halved.
    #[arg(long, default_value = "1")]
    pub times: u32,
    /// A file with 32 hex digits, the secret key of a keyed filter.
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
}

#[derive(clap::Args)]
pub struct Estimate {
    /// One filter.
    pub a: PathBuf,
    /// The other.
    pub b: PathBuf,
    /// A file with 32 hex digits, the secret key of keyed filters.
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// Print JSON: a, b, union, intersection, jaccard.
    #[arg(long)]
    pub json: bool,
}

/// Without --window the filter grows with the number of distinct lines and remembers all of them
/// (variant scalable); with it, memory is fixed and old lines are forgotten (variant stable).
#[derive(clap::Args)]
pub struct Dedupe {
    /// Share of new lines that may wrongly be dropped.
    #[arg(short = 'p', long, value_name = "RATE", value_parser = quantity::rate, default_value = "0.001", allow_negative_numbers = true)]
    pub fpr: f64,
    /// Remember about this many of the latest lines, in fixed memory.
    #[arg(long, value_name = "LINES", value_parser = quantity::count, conflicts_with = "exact_check")]
    pub window: Option<u64>,
    /// Drop no new line: lines that the filter takes for seen are looked up in the set of all digests
    /// (16 bytes and a hash table's overhead for each distinct line).
    #[arg(long)]
    pub exact_check: bool,
    #[command(flatten)]
    pub text: Text,
}

/// Prints `< key` for what only A has and `> key` for what only B has; exit code 0 if they are equal,
/// 1 if not, as diff(1).
#[derive(clap::Args)]
pub struct Diff {
    /// A file of keys, one a line.
    pub a: PathBuf,
    /// Another; duplicates and order do not matter.
    pub b: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(clap::Args)]
pub struct Join {
    /// The left file.
    pub left: PathBuf,
    /// The right file.
    pub right: PathBuf,
    /// The column that must agree, counted from 1; LEFT,RIGHT where they differ.
    #[arg(short = 'f', long, value_name = "COLUMN", default_value = "1", value_parser = columns)]
    pub field: (usize, usize),
    /// What separates columns, one byte. Default: TAB.
    #[arg(short = 'd', long, value_name = "DELIM", value_parser = delimiter)]
    pub delimiter: Option<u8>,
    /// Share of rows that may be sent in vain.
    #[arg(short = 'p', long, value_name = "RATE", value_parser = quantity::rate, default_value = "0.01", allow_negative_numbers = true)]
    pub fpr: f64,
}

#[derive(clap::Args)]
pub struct Explain {
    /// The filter.
    pub filter: PathBuf,
    /// The key.
    pub key: std::ffi::OsString,
    #[command(flatten)]
    pub keyed: Keyed,
}

#[derive(clap::Args)]
pub struct Bench {
    /// A filter file: how fast it answers, for keys that are not in it.
    #[arg(required_unless_present = "kind", conflicts_with_all = ["kind", "fpr", "settings"])]
    pub filter: Option<PathBuf>,
    /// The variant, by its slug: how fast one is built and asked.
    #[arg(short, long, value_name = "SLUG")]
    pub kind: Option<String>,
    /// Items.
    #[arg(short = 'n', long, value_parser = quantity::count, default_value = "1M")]
    pub items: u64,
    /// False-positive rate.
    #[arg(short = 'p', long, value_name = "RATE", value_parser = quantity::rate, default_value = "1%", allow_negative_numbers = true)]
    pub fpr: f64,
    /// A parameter of the variant; may be repeated.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub settings: Vec<(String, String)>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(clap::Args)]
pub struct Lab {
    #[command(subcommand)]
    pub verb: LabVerb,
}

#[derive(Subcommand)]
pub enum LabVerb {
    /// Name every experiment and its source.
    List {
        /// Print the list as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Run one experiment, or all: writes CSV, SVG and JSON for each.
    Run(LabRun),
    /// Make one page of all experiments; those that DIR does not hold yet are run first.
    Report(LabReport),
}

/// Example:
///   everbloom lab run s0-fig3 --quick -o /tmp/lab
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct LabRun {
    /// The experiment (see `everbloom lab list`), or `all`.
    pub name: String,
    #[command(flatten)]
    pub how: LabHow,
}

/// Example:
///   everbloom lab report --quick -o /tmp/lab
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct LabReport {
    #[command(flatten)]
    pub how: LabHow,
}

#[derive(clap::Args)]
pub struct LabHow {
    /// A quarter of the trials: all experiments within three minutes.
    #[arg(long, conflicts_with = "thorough")]
    pub quick: bool,
    /// Four times the trials.
    #[arg(long)]
    pub thorough: bool,
    /// Seed that all others derive from, in hex.
    #[arg(long, value_name = "HEX", value_parser = quantity::seed, default_value = "1")]
    pub seed: u64,
    /// Folder for the results; it is made if it is not there.
    #[arg(short, long, value_name = "DIR", default_value = "everbloom-lab")]
    pub output: PathBuf,
    /// Print the outcome as JSON.
    #[arg(long)]
    pub json: bool,
}

fn hierarchy(text: &str) -> Result<Hierarchy, String> {
    match text {
        "/" => Ok(Hierarchy::Paths),
        "." => Ok(Hierarchy::Names),
        "" => Ok(Hierarchy::Prefixes),
        _ => Err(format!("{text:?}: write / for paths, . for names, or '' for every prefix")),
    }
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] => Ok(*byte),
        b"\\t" => Ok(b'\t'),
        _ => Err(format!("{text:?} is not one byte; write , or ; or \\t")),
    }
}

fn columns(text: &str) -> Result<(usize, usize), String> {
    let column = |t: &str| {
        let number = t.parse::<usize>().ok().filter(|n| *n > 0);
        number.ok_or_else(|| format!("{t:?} is not a column; they are counted from 1"))
    };
    match text.split_once(',') {
        Some((left, right)) => Ok((column(left)?, column(right)?)),
        None => column(text).map(|c| (c, c)),
    }
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) =
        text.split_once('=').ok_or_else(|| format!("{text:?} is not of the form name=value"))?;
    Ok((name.to_owned(), value.to_owned()))
}
