//! To compare files by their content.

use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::Subcommand;

use super::shared::{Machine, Replacing, Text};
use crate::quantity;

#[derive(clap::Args)]
pub struct Similar {
    /// Files, and folders with everything in them.
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,
    /// Print pairs that share at least this much of the smaller file's chunks.
    #[arg(long, value_name = "SHARE", value_parser = quantity::rate, default_value = "0.3", allow_negative_numbers = true)]
    pub at_least: f64,
    /// Cut files into blocks of this many bytes, instead of by content.
    #[arg(long, value_name = "BYTES")]
    pub block: Option<u32>,
    /// Maximum memory for the rows of all files. Pairs whose rows are alike are then compared chunk by chunk, with 16
    /// bytes for each of their chunks.
    #[arg(long, value_name = "SIZE", value_parser = quantity::memory_bits, default_value = "1GB")]
    pub memory: u64,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Known {
    /// Files to examine, and folders with everything in them.
    pub targets: Vec<PathBuf>,
    /// A file or folder whose parts are known; may be repeated.
    #[arg(short = 'r', long, value_name = "PATH")]
    pub reference: Vec<PathBuf>,
    /// A list of known whole files, as printed by sha256sum; may be repeated.
    #[arg(long, value_name = "FILE")]
    pub list: Vec<PathBuf>,
    /// A filter of known parts, written by -o.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["reference", "md5"])]
    pub filter: Option<PathBuf>,
    /// Write the filter of the known parts, for --filter, or to compare it with another by `estimate`.
    #[arg(short = 'o', long, value_name = "FILE", requires = "reference", conflicts_with = "md5")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub replacing: Replacing,
    /// Share of unknown parts that may seem known.
    #[arg(short = 'p', long, value_name = "RATE", value_parser = quantity::rate, default_value = "0.001", allow_negative_numbers = true)]
    pub fpr: f64,
    /// Cut files into blocks of this many bytes, instead of by content.
    #[arg(long, value_name = "BYTES", conflicts_with = "md5")]
    pub block: Option<u32>,
    /// Cut files into blocks of this many bytes and identify them by words of their MD5, as md5bloom does.
    #[arg(long, value_name = "BYTES")]
    pub md5: Option<u32>,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct Attribute {
    #[command(subcommand)]
    pub verb: AttributeVerb,
}

#[derive(Subcommand)]
pub enum AttributeVerb {
    /// Summarize payloads of captures, or lines of logs, with their senders.
    Build(AttributeBuild),
    /// Print who may have sent an excerpt, as sender<TAB>from<TAB>to<TAB>offset.
    ///
    /// From and to are seconds of captures, or lines of logs. Every sender of the excerpt is found. An excerpt of
    /// fewer than two blocks less one byte cannot be judged; this is reported, and the exit code is 2.
    Find(AttributeFind),
}

/// Example:
///   everbloom attribute build access.log -o seen -f 1 -d ' '
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct AttributeBuild {
    /// Files of lines, or captures; none or `-` for stdin.
    pub files: Vec<PathBuf>,
    /// A new folder for the filters.
    #[arg(short = 'o', long, value_name = "FOLDER")]
    pub output: PathBuf,
    /// The files are captures (pcap or pcapng), and the senders are flows. Without this option each line is a payload;
    /// its sender is column -f, or the file.
    #[arg(long, conflicts_with_all = ["field", "csv"])]
    pub pcap: bool,
    /// Block size in bytes. Excerpts must have at least two blocks less one byte.
    #[arg(long, value_name = "BYTES", default_value = "32")]
    pub block: u64,
    /// Number of blocks, on all levels, before a new filter is started. Default: 1M.
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = quantity::count)]
    pub items: Option<u64>,
    /// Start a new filter after this many seconds of captures, or lines of logs.
    #[arg(long, value_name = "SECONDS")]
    pub window: Option<NonZeroU64>,
    /// Delete filters whose last payload is this many seconds, or lines, older than the newest.
    #[arg(long, value_name = "SECONDS")]
    pub keep: Option<u64>,
    /// Share of excerpts nobody sent for which anyone is named, by any filter.
    #[arg(short = 'p', long, value_name = "RATE", value_parser = quantity::rate, default_value = "1e-6", allow_negative_numbers = true)]
    pub fpr: f64,
    #[command(flatten)]
    pub text: Text,
    #[command(flatten)]
    pub machine: Machine,
}

/// Example:
///   everbloom attribute find seen excerpt.bin
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct AttributeFind {
    /// The folder that `attribute build` made.
    pub folder: PathBuf,
    /// Files, each of which is one excerpt; none or `-` for stdin.
    pub excerpts: Vec<PathBuf>,
    /// The excerpt itself.
    #[arg(long, value_name = "EXCERPT", conflicts_with = "excerpts")]
    pub text: Option<String>,
    #[command(flatten)]
    pub machine: Machine,
}
