//! To change filter files and to combine them.

use everbloom::Setting;
use std::path::PathBuf;

use super::parsers::setting;
use super::shared::{Keyed, Machine, Replacing, Secret};
use crate::quantity;

#[derive(clap::Args)]
pub struct Change {
    /// The filter file. It is replaced once all keys are processed; after an error it is unchanged.
    pub filter: PathBuf,
    /// Keys, one per line; `-` for stdin.
    #[arg(default_value = "-")]
    pub keys: PathBuf,
    #[command(flatten)]
    pub replacing: Replacing,
    #[command(flatten)]
    pub keyed: Keyed,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Add {
    #[command(flatten)]
    pub change: Change,
    /// Part of a cross-checking filter that the keys belong to, counted from 0. Default: chosen by a hash of the key.
    #[arg(long, value_name = "PART")]
    pub part: Option<usize>,
}

/// For verbs that change a file without reading keys.
#[derive(clap::Args)]
pub struct Edit {
    /// The filter file. It is replaced if anything changes.
    pub filter: PathBuf,
    #[command(flatten)]
    pub secret: Secret,
    #[command(flatten)]
    pub replacing: Replacing,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Age {
    #[command(flatten)]
    pub edit: Edit,
    /// Units of time to advance, such as 100 or 10k. In a stable filter a unit is one insertion; in a multistage
    /// filter it is one hop, which drops the leading stage.
    #[arg(default_value = "1", value_parser = quantity::count)]
    pub ticks: u64,
}

#[derive(clap::Args)]
pub struct Merge {
    /// The filter files, two or more.
    #[arg(required = true, num_args = 2..)]
    pub filters: Vec<PathBuf>,
    /// Output file; `-` for stdout.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub replacing: Replacing,
    #[command(flatten)]
    pub secret: Secret,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Fold {
    /// The filter file.
    pub filter: PathBuf,
    /// Output file; `-` for stdout.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub replacing: Replacing,
    /// How many times to halve it.
    #[arg(long, default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    pub times: u32,
    #[command(flatten)]
    pub secret: Secret,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Reshape {
    /// The filter file.
    pub filter: PathBuf,
    /// The operation, by its name (see `everbloom catalog SLUG`).
    pub operation: String,
    /// What the operation takes: a file with one key per line (default: stdin), or other filters of the same variant.
    pub inputs: Vec<PathBuf>,
    /// Write the result to this file, `-` for stdout, and leave the filter unchanged.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Set a number that the operation takes; may be repeated.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub settings: Vec<(String, Setting)>,
    #[command(flatten)]
    pub replacing: Replacing,
    #[command(flatten)]
    pub keyed: Keyed,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Estimate {
    /// One filter file.
    pub a: PathBuf,
    /// A second one, for union and intersection.
    pub b: Option<PathBuf>,
    #[command(flatten)]
    pub secret: Secret,
    #[command(flatten)]
    pub machine: Machine,
}
