//! What may be typed.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

/// The surveys' figures, tables and equations, and what Bloom filters are used for: measured with everbloom's filters.
///
/// Data goes to stdout, messages go to stderr. Exit code 0: all verdicts agree; 1: one disagrees; 2: an error.
#[derive(Parser)]
#[command(name = "everbloom-lab", version, max_term_width = 100)]
pub struct Args {
    /// Say nothing on stderr but errors; show no progress.
    #[arg(short, long, global = true, display_order = 991)]
    pub quiet: bool,
    #[command(subcommand)]
    pub verb: Verb,
}

#[derive(Subcommand)]
pub enum Verb {
    /// Name all experiments and applications.
    List(List),
    /// Tell of one: what it does, what it is compared with, what it takes.
    Show(Show),
    /// Run some, or all: writes CSV, SVG and JSON for each.
    Run(Run),
    /// Write one page of all experiments, or of all applications; those that DIR does not hold yet are run first.
    Report(Report),
    /// Measure every filter of the library, or one: writes a page with a picture, and CSV, for each.
    Passports(Passports),
}

/// Example:
///   everbloom-lab list --json
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct List {
    /// Print the whole tables. By default the names alone, on one screen.
    #[arg(long, conflicts_with = "json")]
    pub all: bool,
    #[command(flatten)]
    pub machine: Machine,
}

/// Example:
///   everbloom-lab show longest-prefix
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Show {
    /// The experiment or application (see `list`).
    pub name: String,
    #[command(flatten)]
    pub machine: Machine,
}

/// Example:
///   everbloom-lab run s0-fig3 longest-prefix --quick -o /tmp/lab
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Run {
    /// The experiments and applications (see `list`).
    #[arg(required_unless_present = "all", value_name = "NAME")]
    pub names: Vec<String>,
    /// Run all of them.
    #[arg(long, conflicts_with_all = ["names", "data"])]
    pub all: bool,
    /// Data of your own for one application, instead of what is generated; `show` says what it takes.
    #[arg(long, value_name = "PATH")]
    pub data: Option<PathBuf>,
    #[command(flatten)]
    pub how: How,
}

/// Example:
///   everbloom-lab report applications --quick -o /tmp/apps
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Report {
    /// What the page is about.
    #[arg(value_enum, default_value = "experiments")]
    pub what: Topic,
    #[command(flatten)]
    pub how: How,
}

/// What a page is about.
#[derive(Clone, Copy, ValueEnum)]
pub enum Topic {
    /// What the surveys say.
    Experiments,
    /// What filters are used for.
    Applications,
}

/// Example:
///   everbloom-lab passports bloom --quick -o /tmp/passports
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Passports {
    /// The variant (see `everbloom catalog`); all filters without it.
    pub slug: Option<String>,
    #[command(flatten)]
    pub how: How,
}

/// How a run is done, and where its files go.
#[derive(clap::Args)]
pub struct How {
    /// A quarter of the trials: all experiments within three minutes.
    #[arg(long, conflicts_with = "thorough")]
    pub quick: bool,
    /// Four times the trials.
    #[arg(long)]
    pub thorough: bool,
    /// Seed that all others derive from, in hex.
    #[arg(long, value_name = "HEX", value_parser = seed, default_value = "1")]
    pub seed: u64,
    /// Folder for the results; it is made if it is not there.
    #[arg(short, long, value_name = "DIR", default_value = "everbloom-lab")]
    pub output: PathBuf,
    #[command(flatten)]
    pub machine: Machine,
}

/// What programs read.
#[derive(clap::Args)]
pub struct Machine {
    /// Print JSON on stdout, for programs to read; evidence/README.md describes every name.
    #[arg(long, display_order = 990)]
    pub json: bool,
}

/// A seed of up to 16 hex digits.
fn seed(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let hex = digits.bytes().all(|b| b.is_ascii_hexdigit());
    let seed = u64::from_str_radix(digits, 16).ok().filter(|_| hex);
    seed.ok_or_else(|| format!("{text:?} is not a seed; write up to 16 hex digits, such as 2a"))
}
