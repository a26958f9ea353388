//! To change filter files and to combine them.

use everbloom::Wait;
use std::path::PathBuf;

use super::shared::{Keyed, Machine};
use crate::quantity;

#[derive(clap::Args)]
pub struct Change {
    /// The filter file; it is replaced when all keys are in, or left as it was.
    pub filter: PathBuf,
    /// Keys, one a line; `-` for stdin.
    #[arg(default_value = "-")]
    pub keys: PathBuf,
    #[command(flatten)]
    pub waiting: Waiting,
    #[command(flatten)]
    pub keyed: Keyed,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Add {
    #[command(flatten)]
    pub change: Change,
    /// The part of a cross-checking filter that the keys belong to, counted from 0. Default: by a hash of the key.
    #[arg(long, value_name = "PART")]
    pub part: Option<usize>,
}

/// For verbs that change a file: what to do while another process does.
#[derive(clap::Args)]
pub struct Waiting {
    /// Wait while another process changes the file, instead of giving up.
    #[arg(long)]
    pub wait: bool,
}

impl Waiting {
    /// What it means to the library.
    pub fn meant(&self) -> Wait {
        if self.wait { Wait::Yes } else { Wait::No }
    }
}

#[derive(clap::Args)]
pub struct Age {
    /// The filter file; it is replaced.
    pub filter: PathBuf,
    /// Units of time that pass, such as 100 or 10k: for a stable filter as many as keys would have come, for a multistage
    /// filter hops, each of which drops the leading stage.
    #[arg(default_value = "1", value_parser = quantity::count)]
    pub ticks: u64,
    /// A file with 32 hex digits, the secret key of a keyed filter.
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    #[command(flatten)]
    pub waiting: Waiting,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Scrub {
    /// The filter file; it is replaced if anything was repaired.
    pub filter: PathBuf,
    /// A file with 32 hex digits, the secret key of a keyed filter.
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    #[command(flatten)]
    pub waiting: Waiting,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Merge {
    /// The filter files, two or more.
    #[arg(required = true, num_args = 2..)]
    pub filters: Vec<PathBuf>,
    /// Where the result goes; `-` for stdout.
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
    /// Where the result goes; `-` for stdout.
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
    /// The other, for union and intersection.
    pub b: Option<PathBuf>,
    /// A file with 32 hex digits, the secret key of keyed filters.
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    #[command(flatten)]
    pub machine: Machine,
}
