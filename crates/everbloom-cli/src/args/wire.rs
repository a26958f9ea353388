//! To work with another process.

use std::ffi::OsString;
use std::path::PathBuf;

use super::shared::Machine;
use crate::quantity;

/// How the other side is reached, or waited for.
#[derive(clap::Args, Clone)]
pub struct Line {
    /// The remote shell for ssh:// places, with its options.
    #[arg(long, value_name = "CMD", default_value = "ssh")]
    pub rsh: String,
    /// The command to start over there, as the shell there reads it.
    #[arg(long, value_name = "CMD", default_value = "everbloom")]
    pub program: String,
    /// Be the other side, on stdin and stdout: what the remote shell starts.
    #[arg(long, conflicts_with = "listen")]
    pub stdio: bool,
    /// Be the other side for the first who connects to this address, such as 127.0.0.1:7070; port 0 is any that is
    /// free. Nobody is asked who they are, and nothing is encrypted.
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// Give up when the other side says or takes nothing for so long.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: u64,
}

#[derive(clap::Args)]
pub struct Sync {
    /// A file of keys, one a line, or a folder: its files by name and content.
    pub list: PathBuf,
    /// The other: ssh://[user@]host[:port]/path, tcp://host:port, or a path on this machine.
    #[arg(required_unless_present_any = ["stdio", "listen"], conflicts_with_all = ["stdio", "listen"])]
    pub place: Option<OsString>,
    /// Transfer what is missing, to both sides or to one. The other side of a tcp:// place needs the option, too, to
    /// take something.
    #[arg(long, value_name = "WAY", num_args = 0..=1, require_equals = true, default_missing_value = "both", value_enum)]
    pub send: Option<Way>,
    /// Learn what is missing here from one message, a filter of so many bytes, at 8 bits a key if no SIZE is given.
    /// Some keys are missed; another try has another seed, and finds most of them.
    #[arg(long, value_name = "SIZE", num_args = 0..=1, require_equals = true, default_missing_value = "0", value_parser = quantity::memory_bits)]
    pub approximate: Option<u64>,
    /// Records end in NUL instead of LF, as `find -print0` writes them; so do those that are printed.
    #[arg(short = '0', long = "null")]
    pub null: bool,
    #[command(flatten)]
    pub line: Line,
    #[command(flatten)]
    pub machine: Machine,
}

/// Which side gets what it lacks.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Way {
    /// Both sides.
    Both,
    /// This one.
    Here,
    /// The other one.
    There,
}
