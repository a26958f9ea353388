//! To work with another process.

use std::ffi::OsString;
use std::path::PathBuf;

use super::shared::Machine;
use crate::quantity;

/// How the other side is reached, or waited for.
#[derive(clap::Args, Clone)]
pub struct Line {
    /// Remote shell for ssh:// addresses, with its options.
    #[arg(long, value_name = "CMD", default_value = "ssh")]
    pub rsh: String,
    /// Command to start on the other machine, in the syntax of its shell.
    #[arg(long, value_name = "CMD", default_value = "everbloom")]
    pub program: String,
    /// Act as the other side, on stdin and stdout; this is what the remote shell starts.
    #[arg(long, conflicts_with = "listen")]
    pub stdio: bool,
    /// Act as the other side for clients that connect to this address, such as 127.0.0.1:7070, until one has succeeded;
    /// port 0 picks a free port. There is no authentication and no encryption.
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// Fail if the other side keeps this one waiting for this long. Every 4 KiB that it sends or accepts give it another
    /// second, up to this time.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: u64,
}

#[derive(clap::Args)]
pub struct Sync {
    /// File of keys, one per line, or a folder, whose files are compared by name and content.
    pub list: PathBuf,
    /// The other list or folder: ssh://[user@]host[:port]/path, tcp://host:port, or a path on this machine.
    #[arg(required_unless_present_any = ["stdio", "listen"], conflicts_with_all = ["stdio", "listen"])]
    pub place: Option<OsString>,
    /// Transfer what is missing, to both sides or to one. The other side of a tcp:// address accepts keys only if it
    /// was also started with this option.
    #[arg(long, value_name = "WAY", num_args = 0..=1, require_equals = true, default_missing_value = "both", value_enum)]
    pub send: Option<Way>,
    /// Find what is missing here with one message, a filter of this size (default: 8 bits per key). Some keys are
    /// missed; another run uses another seed and finds most of them.
    #[arg(long, value_name = "SIZE", num_args = 0..=1, require_equals = true, default_missing_value = "0", value_parser = quantity::memory_bits)]
    pub approximate: Option<u64>,
    /// Records end in NUL instead of LF, in input and output, as with `find -print0`.
    #[arg(short = '0', long = "null")]
    pub null: bool,
    #[command(flatten)]
    pub line: Line,
    #[command(flatten)]
    pub machine: Machine,
}

/// Which side receives what it lacks.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Way {
    /// Both sides.
    Both,
    /// This side.
    Here,
    /// The other side.
    There,
}
