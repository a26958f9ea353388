//! To publish filters of lists that change, and to follow them.

use std::path::PathBuf;

use super::parsers::format;
use super::shared::Machine;
use crate::quantity;
use everbloom_formats::Format;

#[derive(clap::Args)]
pub struct Publish {
    /// A file of keys, one a line; `-` for stdin.
    pub list: PathBuf,
    /// The folder of the feed; made if it is not there.
    #[arg(short = 'o', long, value_name = "FOLDER")]
    pub output: PathBuf,
    /// Keys the filter is made for. Default: as the version before, or half as many again as there are.
    #[arg(short = 'n', long, value_name = "KEYS", value_parser = quantity::count)]
    pub items: Option<u64>,
    /// False-positive rate at that number. Default: as the version before, or 1%.
    #[arg(short = 'p', long, value_name = "RATE", value_parser = quantity::rate, allow_negative_numbers = true)]
    pub fpr: Option<f64>,
    /// Publish filters of another software's format, such as squid.
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub format: Option<&'static Format>,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Follow {
    /// The folder of the feed; `-` for updates on stdin, one after the other.
    #[arg(required_unless_present = "fetch", conflicts_with = "fetch")]
    pub feed: Option<PathBuf>,
    /// A command of the shell that prints the file of the feed whose name is $1.
    #[arg(long, value_name = "CMD")]
    pub fetch: Option<String>,
    /// The filter to keep; beside it stands FILTER.version.
    #[arg(short = 'o', long, value_name = "FILTER")]
    pub output: PathBuf,
    /// Give up when the command prints nothing for so long.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: u64,
    #[command(flatten)]
    pub machine: Machine,
}
