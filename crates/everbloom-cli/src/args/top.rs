//! The heaviest keys of a stream.

use std::path::PathBuf;

use everbloom_records::Column;

use super::parsers::column;
use super::shared::{Machine, Replacing, Text};
use crate::quantity;

#[derive(clap::Args)]
pub struct Top {
    /// Files of lines, or captures, one after the other; none or `-` for stdin. With --merge: the files written by -o
    /// at each site.
    pub files: Vec<PathBuf>,
    /// Number of keys to print.
    #[arg(short = 'k', long, value_name = "COUNT", value_parser = quantity::count, default_value = "10")]
    pub keys: u64,
    /// Every key with at least this share of the total is found. Counts from a pipe are too high by at most a tenth of
    /// it, except for one key in a thousand; counts from files are exact.
    #[arg(long, value_name = "RATE", value_parser = quantity::rate, default_value = "0.001", allow_negative_numbers = true)]
    pub share: f64,
    /// Print every key that may have occurred this often, instead of the most frequent ones.
    #[arg(long, value_name = "COUNT", value_parser = quantity::count, conflicts_with_all = ["exact", "merge", "output"])]
    pub at_least: Option<u64>,
    /// Start again after this many lines; for a capture, seconds.
    #[arg(long, value_name = "LENGTH", value_parser = quantity::count, requires = "at_least")]
    pub every: Option<u64>,
    /// Count all keys in cells from which they are decoded: every count is exact, from a pipe too.
    #[arg(long)]
    pub exact: bool,
    /// With --exact: number of distinct keys to plan for. If there are more, files are read again and counts from a
    /// pipe are estimates.
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = quantity::count, default_value = "100k", requires = "exact")]
    pub distinct: u64,
    /// Add up the counters written by -o at several sites.
    #[arg(long, conflicts_with_all = ["weight", "field", "csv"])]
    pub merge: bool,
    /// Write the counters, to merge them with those of other sites: a file, or with --exact a folder.
    #[arg(short = 'o', long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub replacing: Replacing,
    /// The files are captures (pcap or pcapng), or counters made from them, and the keys are flows.
    #[arg(long, conflicts_with_all = ["field", "csv"])]
    pub pcap: bool,
    /// Count bytes instead of packets.
    #[arg(long, requires = "pcap")]
    pub bytes: bool,
    /// Count each key as many times as this column says, instead of once.
    #[arg(long, value_name = "COLUMN", value_parser = column, conflicts_with = "pcap")]
    pub weight: Option<Column>,
    #[command(flatten)]
    pub text: Text,
    #[command(flatten)]
    pub machine: Machine,
}
