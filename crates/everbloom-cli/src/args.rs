//! What may be typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand};
use everbloom::membership::ancestors::Hierarchy;
use everbloom_records::KeyType;

use crate::examples;
use crate::quantity;

/// Every Bloom filter, from the command line.
///
/// A Bloom filter is a set in a few bits per key, which says "certainly not" or "maybe". Data goes to
/// stdout, talk to stderr. Exit code 0: some keys may be members, or the work is done; 1: none are;
/// 2: an error.
#[derive(Parser)]
#[command(name = "everbloom", version, max_term_width = 100, after_help = examples::ALL)]
pub struct Args {
    /// Say nothing on stderr but errors and refused keys; show no progress.
    #[arg(short, long, global = true, display_order = 991)]
    pub quiet: bool,
    #[command(subcommand)]
    pub verb: Verb,
}

#[derive(Subcommand)]
pub enum Verb {
    /// Which filter, how big, how good? Rank the variants for a goal.
    ///
    /// Give two of items, rate and memory: the third follows. Or give `--need` alone, to see which
    /// variants are made for a job.
    #[command(after_help = examples::plan())]
    Plan(Plan),
    /// Build a filter from a file of keys.
    ///
    /// A filter is a set in a few bits per key: it never denies a key that is in it, unless its variant
    /// says otherwise, and takes a stranger for a member at the rate you choose.
    #[command(after_help = examples::BUILD)]
    Build(Build),
    /// Print the queries that may be members.
    ///
    /// As grep does: the lines that pass, in their order; exit code 0 if there are any, 1 if there are
    /// none. A line that is not printed is no member; one that is printed may be a false positive.
    #[command(after_help = examples::CHECK)]
    Check(Check),
    /// Show what a filter is, how full it is, and how often it errs now.
    #[command(after_help = examples::INFO)]
    Info(Info),
    /// Add keys to a filter, or set values in a key-value filter.
    ///
    /// Accepted keys are saved; refused ones are named on stderr, each with the reason, and make exit
    /// code 1.
    #[command(after_help = examples::ADD)]
    Add(Change),
    /// Remove keys from a filter.
    ///
    /// Remove only what was added: some variants notice a key that was not, none can always. Accepted
    /// removals are saved; refused ones are named on stderr, each with the reason, and make exit code 1.
    #[command(after_help = examples::REMOVE)]
    Remove(Change),
    /// Print how often keys were inserted, as key<TAB>estimate.
    #[command(after_help = examples::COUNT)]
    Count(Ask),
    /// Print the values of keys, as key<TAB>value.
    ///
    /// A key without a value is not printed; exit code 1 if none has one.
    #[command(after_help = examples::GET)]
    Get(Ask),
    /// Let time pass for a filter that forgets.
    #[command(after_help = examples::AGE)]
    Age(Age),
    /// Unite filters of the same shape, hash and seed.
    ///
    /// The result answers as if all the keys had gone into one filter.
    #[command(after_help = examples::MERGE)]
    Merge(Merge),
    /// Keep what all filters hold.
    ///
    /// No key that all of them hold is lost; strangers pass more often than in a filter built from the
    /// shared keys.
    #[command(after_help = examples::INTERSECT)]
    Intersect(Merge),
    /// Halve a filter: same keys, half the size, a higher rate.
    #[command(after_help = examples::FOLD)]
    Fold(Fold),
    /// Estimate the sizes of two sets, their union and intersection, from their filters alone.
    #[command(after_help = examples::ESTIMATE)]
    Estimate(Estimate),
    /// Print the lines of stdin that were not seen before.
    ///
    /// Without --window the filter grows with the number of distinct lines and remembers all of them
    /// (variant scalable); with it, memory is fixed and old lines are forgotten (variant stable). A few
    /// new lines are dropped, at the rate -p; with --exact-check none.
    #[command(after_help = examples::DEDUPE)]
    Dedupe(Dedupe),
    /// Tell what two files of keys do not share, by exchanging as little as possible.
    ///
    /// Prints `< key` for what only A has and `> key` for what only B has; exit code 0 if they are
    /// equal, 1 if not, as diff(1). The keys are exact; order and duplicates do not matter.
    #[command(after_help = examples::DIFF)]
    Diff(Diff),
    /// Join two delimited files, sending only the rows that can match.
    ///
    /// Prints the left row, the delimiter and the right row for every pair whose columns agree. The
    /// rows are exact; on stderr stands what a filter of the left keys saves.
    #[command(after_help = examples::JOIN)]
    Join(Join),
    /// Show how a filter comes to its answer for one key.
    #[command(after_help = examples::EXPLAIN)]
    Explain(Explain),
    /// Measure a filter's speed on this machine, beside a hash set of the same keys.
    #[command(after_help = examples::BENCH)]
    Bench(Bench),
    /// Try what the surveys say: their figures and tables, measured.
    #[command(after_help = examples::LAB)]
    Lab(Lab),
    /// List the variants, or tell of one: its paper, abilities, parameters.
    #[command(after_help = examples::CATALOG)]
    Catalog(Catalog),
    /// Build and ask a filter of every variant, and compare prediction with measurement.
    #[command(after_help = examples::DEMO)]
    Demo(Demo),
    /// Print a completion script for a shell.
    #[command(after_help = examples::COMPLETIONS)]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page.
    #[command(after_help = examples::MAN)]
    Man,
}

#[derive(clap::Args)]
pub struct Catalog {
    /// A variant, by its slug. Default: all of them, a line each.
    #[arg(value_name = "SLUG", conflicts_with = "markdown")]
    pub slug: Option<String>,
    /// Print the list as CATALOG.md, with rates measured on the spot.
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
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
    /// A parameter of the variant (see `everbloom catalog SLUG`); may be repeated.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub settings: Vec<(String, String)>,
    #[command(flatten)]
    pub machine: Machine,
}

/// For every verb but those that print a file of another kind: what programs read.
#[derive(clap::Args)]
pub struct Machine {
    /// Print JSON on stdout, for programs to read; docs/JSON.md describes every name.
    #[arg(long, display_order = 990)]
    pub json: bool,
}

#[derive(clap::Args)]
pub struct Demo {
    #[command(flatten)]
    pub machine: Machine,
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
    #[arg(long, value_name = "TYPE", default_value = "bytes", value_parser = key_type())]
    pub key_type: KeyType,
    /// Records end in NUL instead of LF, as `find -print0` writes them; so do those that are printed.
    #[arg(short = '0', long = "null")]
    pub null: bool,
    /// The key is this column, counted from 1, instead of the whole line.
    #[arg(short = 'f', long, value_name = "COLUMN", value_parser = clap::value_parser!(u32).range(1..))]
    pub field: Option<u32>,
    /// What separates columns, one byte. Default: TAB.
    #[arg(short = 'd', long, value_name = "DELIM", value_parser = OsStringValueParser::new().try_map(delimiter), requires = "field")]
    pub delimiter: Option<u8>,
}

#[derive(clap::Args)]
pub struct Check {
    /// The filter file.
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
    #[arg(
        long,
        value_name = "FACTOR",
        default_value = "1",
        requires = "prior",
        allow_negative_numbers = true
    )]
    pub cost: f64,
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
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Plan {
    /// Items to hold, such as 10M or 1.5G.
    #[arg(short = 'n', long, value_parser = quantity::count)]
    pub items: Option<u64>,
    /// False-positive rate to stay below, such as 1%, 0.001 or 1/1000.
    #[arg(short = 'p', long, value_name = "RATE", value_parser = quantity::rate, allow_negative_numbers = true)]
    pub fpr: Option<f64>,
    /// Memory to fit in, such as 100MB or 64MiB.
    #[arg(long, value_name = "SIZE", value_parser = quantity::memory_bits)]
    pub memory: Option<u64>,
    /// What the filter must be able to do, such as delete,merge: words of the list below. Alone: which
    /// filters can.
    #[arg(long, value_name = "NEEDS", value_delimiter = ',')]
    pub need: Vec<String>,
    /// Draw the rate over bits per key in the terminal (not with --json).
    #[arg(long)]
    pub plot: bool,
    /// Draw the rate over bits per key as an SVG picture.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Change {
    /// The filter file; it is replaced when all keys are in, or left as it was.
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
pub struct Age {
    /// The filter file; it is replaced.
    pub filter: PathBuf,
    /// Units of time that pass, such as 100 or 10k: for a stable filter as many as keys would have come.
    #[arg(default_value = "1", value_parser = quantity::count)]
    pub ticks: u64,
    /// A file with 32 hex digits, the secret key of a keyed filter.
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Merge {
    /// The filter files, two or more.
    #[arg(required = true, num_args = 2..)]
    pub filters: Vec<PathBuf>,
    /// Where the result goes.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// A file with 32 hex digits, the secret key of keyed filters.
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Fold {
    /// The filter file.
    pub filter: PathBuf,
    /// Where the result goes.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// How often it is halved.
    #[arg(long, default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    pub times: u32,
    /// A file with 32 hex digits, the secret key of a keyed filter.
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Estimate {
    /// One filter file.
    pub a: PathBuf,
    /// The other.
    pub b: PathBuf,
    /// A file with 32 hex digits, the secret key of keyed filters.
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    #[command(flatten)]
    pub machine: Machine,
}

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
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Diff {
    /// A file of keys, one a line.
    pub a: PathBuf,
    /// Another; duplicates and order do not matter.
    pub b: PathBuf,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Join {
    /// The left file, whose keys go into the filter; it is held in memory.
    pub left: PathBuf,
    /// The right file, which streams.
    pub right: PathBuf,
    /// The column that must agree, counted from 1; LEFT,RIGHT where they differ.
    #[arg(short = 'f', long, value_name = "COLUMN", default_value = "1", value_parser = columns)]
    pub field: (u32, u32),
    /// What separates columns, one byte. Default: TAB.
    #[arg(short = 'd', long, value_name = "DELIM", value_parser = OsStringValueParser::new().try_map(delimiter))]
    pub delimiter: Option<u8>,
    /// Share of rows that may be sent in vain.
    #[arg(short = 'p', long, value_name = "RATE", value_parser = quantity::rate, default_value = "0.01", allow_negative_numbers = true)]
    pub fpr: f64,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Explain {
    /// The filter file.
    pub filter: PathBuf,
    /// The key.
    pub key: OsString,
    /// A file with 32 hex digits, the secret key of a keyed filter.
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// What a key is: its bytes, or a decimal integer.
    #[arg(long, value_name = "TYPE", default_value = "bytes", value_parser = key_type())]
    pub key_type: KeyType,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Bench {
    /// A filter file: how fast it answers, for keys that are not in it.
    #[arg(required_unless_present = "kind", conflicts_with_all = ["kind", "fpr", "settings"])]
    pub filter: Option<PathBuf>,
    /// The variant, by its slug: how fast one is built and asked.
    #[arg(short, long, value_name = "SLUG")]
    pub kind: Option<String>,
    /// Keys to build from, or to ask a filter file for.
    #[arg(short = 'n', long, value_parser = quantity::count, default_value = "1M")]
    pub items: u64,
    /// False-positive rate to plan for.
    #[arg(short = 'p', long, value_name = "RATE", value_parser = quantity::rate, default_value = "1%", allow_negative_numbers = true)]
    pub fpr: f64,
    /// A parameter of the variant (see `everbloom catalog SLUG`); may be repeated.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub settings: Vec<(String, String)>,
    /// A file with 32 hex digits, the secret key of a keyed filter.
    #[arg(long, value_name = "FILE", requires = "filter")]
    pub key_file: Option<PathBuf>,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Lab {
    #[command(subcommand)]
    pub verb: LabVerb,
}

#[derive(Subcommand)]
pub enum LabVerb {
    /// Name every experiment and its source.
    List(Machine),
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
    #[command(flatten)]
    pub machine: Machine,
}

fn hierarchy(text: &str) -> Result<Hierarchy, String> {
    match text {
        "/" => Ok(Hierarchy::Paths),
        "." => Ok(Hierarchy::Names),
        "" => Ok(Hierarchy::Prefixes),
        _ => Err(format!("{text:?}: write / for paths, . for names, or '' for every prefix")),
    }
}

fn key_type() -> impl TypedValueParser<Value = KeyType> {
    let value = |key: KeyType| PossibleValue::new(key.name()).help(key.meaning());
    PossibleValuesParser::new(KeyType::ALL.map(value)).try_map(|name| {
        let found = KeyType::ALL.into_iter().find(|key| key.name() == name);
        found.ok_or_else(|| format!("{name:?} is no type of key"))
    })
}

/// A byte of any value: columns need not be text.
fn delimiter(text: OsString) -> Result<u8, String> {
    match text.as_encoded_bytes() {
        [byte] => Ok(*byte),
        b"\\t" => Ok(b'\t'),
        _ => Err(format!("{text:?} is not one byte; write , or ; or \\t")),
    }
}

fn columns(text: &str) -> Result<(u32, u32), String> {
    let column = |t: &str| {
        let number = t.parse::<u32>().ok().filter(|n| *n > 0);
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
