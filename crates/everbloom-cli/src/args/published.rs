//! To publish filters of lists that change, and to follow them.

use std::path::PathBuf;

use super::parsers::format;
use super::shared::{Machine, Replacing};
use crate::quantity;
use everbloom_formats::Format;

#[derive(clap::Args)]
pub struct Publish {
    /// File of keys, one per line; `-` for stdin.
    pub list: PathBuf,
    /// Folder of the feed; created if it does not exist.
    #[arg(short = 'o', long, value_name = "FOLDER")]
    pub output: PathBuf,
    #[command(flatten)]
    pub replacing: Replacing,
    /// Number of keys that the filter is planned for. Default: as in the previous version; for the first one, half as
    /// many again as the list has.
    #[arg(short = 'n', long, value_name = "KEYS", value_parser = quantity::count)]
    pub items: Option<u64>,
    /// False-positive rate at that number of keys. Default: as in the previous version; for the first one, 1%.
    #[arg(short = 'p', long, value_name = "RATE", value_parser = quantity::rate, allow_negative_numbers = true)]
    pub fpr: Option<f64>,
    /// Publish filters in the format of other software, such as squid.
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub format: Option<&'static Format>,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Follow {
    /// Folder of the feed; `-` to read updates from stdin, one after the other.
    #[arg(required_unless_present = "fetch", conflicts_with = "fetch")]
    pub feed: Option<PathBuf>,
    /// Shell command that prints the file of the feed whose name is $1.
    #[arg(long, value_name = "CMD")]
    pub fetch: Option<String>,
    /// The local filter. Its version is kept next to it, in FILTER.version.
    #[arg(short = 'o', long, value_name = "FILTER")]
    pub output: PathBuf,
    #[command(flatten)]
    pub replacing: Replacing,
    /// Fail if the command prints nothing for this long.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: u64,
    #[command(flatten)]
    pub machine: Machine,
}
