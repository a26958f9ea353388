//! To work on keys with a filter that is gone afterwards.

use std::ffi::OsString;
use std::path::PathBuf;

use everbloom_records::Column;

use super::parsers::columns;
use super::shared::{Machine, Replacing, Rows, Secret, Text};
use super::wire::Line;
use crate::quantity;

#[derive(clap::Args)]
pub struct Dedupe {
    /// Files of lines, one after the other; none or `-` for stdin.
    pub files: Vec<PathBuf>,
    /// Remember lines in filters alone, which take a tenth of the memory and wrongly drop this share of new lines. Default:
    /// drop no new line while memory allows; with --window, --memory or --ttl: 0.1 %.
    #[arg(short = 'p', long, value_name = "RATE", value_parser = quantity::rate, allow_negative_numbers = true)]
    pub fpr: Option<f64>,
    /// Remember this many of the latest lines, in fixed memory. Every repetition of one of them is dropped.
    #[arg(long, value_name = "LINES", value_parser = quantity::count, conflicts_with = "exact_check")]
    pub window: Option<u64>,
    /// Remember all lines in a filter of at most this much memory, such as 100MB. The command first says for how many
    /// lines that is enough; beyond them it drops more new lines, and reports it.
    #[arg(long, value_name = "SIZE", value_parser = quantity::memory_bits, conflicts_with_all = ["window", "exact_check"])]
    pub memory: Option<u64>,
    /// Forget a line this long after it last occurred, in the unit of the times in the first column (see --time). Any
    /// repetition before that is dropped.
    #[arg(long, value_name = "TIME", value_parser = quantity::count, requires = "time",
        conflicts_with_all = ["window", "memory", "exact_check"])]
    pub ttl: Option<u64>,
    /// Drop no new line, however much memory that takes: 16 bytes plus the overhead of a hash table for each distinct
    /// line. The default stops at half of the free memory.
    #[arg(long)]
    pub exact_check: bool,
    #[command(flatten)]
    pub text: Text,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Diff {
    /// File of keys, one per line, `-` for stdin; or a sketch, or a filter that can be subtracted.
    pub a: PathBuf,
    /// A second one; duplicates and order do not matter.
    pub b: PathBuf,
    #[command(flatten)]
    pub secret: Secret,
    #[command(flatten)]
    pub text: Text,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Sketch {
    /// Keys, one per line; `-` for stdin. Duplicates and order do not matter.
    pub list: PathBuf,
    /// Output file; `-` for stdout.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub replacing: Replacing,
    /// Number of keys that may differ, such as 100 or 10k.
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = quantity::count, default_value = "1k")]
    pub difference: u64,
    #[command(flatten)]
    pub text: Text,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Join {
    /// The left file. Its keys go into the filter, and it is held in memory. With --stdio or --listen this is the
    /// right file.
    pub left: PathBuf,
    /// The right file, which is streamed: a path, ssh://[user@]host[:port]/path, or tcp://host:port.
    #[arg(required_unless_present_any = ["stdio", "listen"], conflicts_with_all = ["stdio", "listen"])]
    pub right: Option<OsString>,
    /// The column that must agree: its number, counted from 1, or with --csv its name; LEFT,RIGHT if they differ.
    /// Default: the first.
    #[arg(short = 'f', long, value_name = "COLUMN", value_parser = columns)]
    pub field: Option<(Column, Column)>,
    #[command(flatten)]
    pub rows: Rows,
    /// Lines are keys, such as lists of document ids: print those that are in both files, once for each occurrence in
    /// the right file.
    #[arg(long, conflicts_with_all = ["field", "delimiter", "csv"])]
    pub keys: bool,
    /// Share of non-matching rows that may be sent. Default: 0.01; with --keys or another machine, the rate that costs
    /// the fewest bytes.
    #[arg(short = 'p', long, value_name = "RATE", value_parser = quantity::rate, allow_negative_numbers = true)]
    pub fpr: Option<f64>,
    /// Before sending any row, estimate from filters how many distinct keys both files have.
    #[arg(long)]
    pub estimate: bool,
    #[command(flatten)]
    pub line: Line,
    #[command(flatten)]
    pub machine: Machine,
}
