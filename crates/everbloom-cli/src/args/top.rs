//! The heaviest keys of a stream.

use std::path::PathBuf;

use everbloom_records::Column;

use super::parsers::column;
use super::shared::{Machine, Text};
use crate::quantity;

#[derive(clap::Args)]
pub struct Top {
    /// Files of lines, or captures, one after the other; none or `-` for stdin. With --merge what -o wrote at each
    /// site.
    pub files: Vec<PathBuf>,
    /// How many keys to print.
    #[arg(short = 'k', long, value_name = "COUNT", value_parser = quantity::count, default_value = "10")]
    pub keys: u64,
    /// No key with this share of all is missed. Counts from a pipe are too high by a tenth of it at most, but for
    /// one key in a thousand; those of files are counted again.
    #[arg(long, value_name = "RATE", value_parser = quantity::rate, default_value = "0.001", allow_negative_numbers = true)]
    pub share: f64,
    /// Print every key that may have come this often, instead of the heaviest ones.
    #[arg(long, value_name = "COUNT", value_parser = quantity::count, conflicts_with_all = ["exact", "merge", "output"])]
    pub at_least: Option<u64>,
    /// Begin anew after so many lines, of a capture after so many seconds.
    #[arg(long, value_name = "LENGTH", value_parser = quantity::count, requires = "at_least")]
    pub every: Option<u64>,
    /// All keys are counted in cells that are read back: every count is exact, from a pipe, too.
    #[arg(long)]
    pub exact: bool,
    /// Different keys to plan for with --exact. Files that have more are read again; a pipe is then estimated.
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = quantity::count, default_value = "100k", requires = "exact")]
    pub distinct: u64,
    /// Add up what -o wrote at several sites.
    #[arg(long, conflicts_with_all = ["weight", "field", "csv"])]
    pub merge: bool,
    /// Write the counters, to be merged with those of other sites: a file, or a folder with --exact.
    #[arg(short = 'o', long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// The files are captures (pcap or pcapng), or were made of some, and the keys are flows.
    #[arg(long, conflicts_with_all = ["field", "csv"])]
    pub pcap: bool,
    /// Count bytes of packets, not packets.
    #[arg(long, requires = "pcap")]
    pub bytes: bool,
    /// A key counts as often as this column says, instead of once.
    #[arg(long, value_name = "COLUMN", value_parser = column, conflicts_with = "pcap")]
    pub weight: Option<Column>,
    #[command(flatten)]
    pub text: Text,
    #[command(flatten)]
    pub machine: Machine,
}
