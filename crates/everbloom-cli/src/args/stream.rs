//! To work on keys with a filter that is gone afterwards.

use std::ffi::OsString;
use std::path::PathBuf;

use everbloom_records::Column;

use super::parsers::columns;
use super::shared::{Machine, Rows, Secret, Text};
use super::wire::Line;
use crate::quantity;

#[derive(clap::Args)]
pub struct Dedupe {
    /// Files of lines, one after the other; none or `-` for stdin.
    pub files: Vec<PathBuf>,
    /// Share of new lines that may wrongly be dropped.
    #[arg(short = 'p', long, value_name = "RATE", value_parser = quantity::rate, default_value = "0.001", allow_negative_numbers = true)]
    pub fpr: f64,
    /// Remember this many of the latest lines, in fixed memory: every repetition of one of them is dropped.
    #[arg(long, value_name = "LINES", value_parser = quantity::count, conflicts_with = "exact_check")]
    pub window: Option<u64>,
    /// Remember all lines in no more memory than this, such as 100MB; too little of it drops new lines, which is
    /// said.
    #[arg(long, value_name = "SIZE", value_parser = quantity::memory_bits, conflicts_with_all = ["window", "exact_check"])]
    pub memory: Option<u64>,
    /// Forget a line this long after it came last, in the unit of the times in the first column (see --time):
    /// whatever comes again sooner is dropped.
    #[arg(long, value_name = "TIME", value_parser = quantity::count, requires = "time",
        conflicts_with_all = ["window", "memory", "exact_check"])]
    pub ttl: Option<u64>,
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
    /// A file of keys, one a line, `-` for stdin; or a sketch, or a filter that can be subtracted.
    pub a: PathBuf,
    /// Another; duplicates and order do not matter.
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
    /// Keys, one a line; `-` for stdin. Duplicates and order do not matter.
    pub list: PathBuf,
    /// Where the sketch goes; `-` for stdout.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// How many keys may differ, such as 100 or 10k.
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = quantity::count, default_value = "1k")]
    pub difference: u64,
    #[command(flatten)]
    pub text: Text,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Join {
    /// The left file, whose keys go into the filter; it is held in memory. Of the side that is waited for (--stdio,
    /// --listen) it is the right one.
    pub left: PathBuf,
    /// The right file, which streams: a path, ssh://[user@]host[:port]/path, or tcp://host:port.
    #[arg(required_unless_present_any = ["stdio", "listen"], conflicts_with_all = ["stdio", "listen"])]
    pub right: Option<OsString>,
    /// The column that must agree: its number, counted from 1, or with --csv its name; LEFT,RIGHT where they differ.
    /// Default: the first.
    #[arg(short = 'f', long, value_name = "COLUMN", value_parser = columns)]
    pub field: Option<(Column, Column)>,
    #[command(flatten)]
    pub rows: Rows,
    /// Lines are keys, such as lists of document ids: print those that both files have, once for each in the right one.
    #[arg(long, conflicts_with_all = ["field", "delimiter", "csv"])]
    pub keys: bool,
    /// Share of rows that may be sent in vain. Default: 0.01, or with --keys or another machine what costs the fewest
    /// bytes.
    #[arg(short = 'p', long, value_name = "RATE", value_parser = quantity::rate, allow_negative_numbers = true)]
    pub fpr: Option<f64>,
    /// Before a row travels, tell from filters alone how many different keys both files have.
    #[arg(long)]
    pub estimate: bool,
    #[command(flatten)]
    pub line: Line,
    #[command(flatten)]
    pub machine: Machine,
}
