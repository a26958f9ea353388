//! Options that several verbs share.

use std::path::PathBuf;

use everbloom::Wait;
use everbloom::internals::plan::Goal;
use everbloom_records::{Column, KeyType};

use super::parsers::{column, delimiter, key_type};
use crate::{Result, Stop, quantity};

/// For every verb but those that print a file of another kind: what programs read.
#[derive(clap::Args)]
pub struct Machine {
    /// Print JSON on stdout; docs/JSON.md describes every field.
    #[arg(long, display_order = 990)]
    pub json: bool,
}

/// For verbs that write files: what they may replace.
#[derive(clap::Args, Clone)]
pub struct Replacing {
    /// Replace a file of another kind, or one that is read-only.
    #[arg(long)]
    pub force: bool,
    /// Wait while another process changes the file, instead of failing.
    #[arg(long)]
    pub wait: bool,
}

impl Replacing {
    /// What it means to the library while another process changes the file.
    pub fn meant(&self) -> Wait {
        if self.wait { Wait::Yes } else { Wait::No }
    }
}

/// For verbs that print a table: the same for programs and for spreadsheets.
#[derive(clap::Args)]
pub struct Tabular {
    #[command(flatten)]
    pub machine: Machine,
    /// Print the table as CSV: the same columns, with plain numbers (bytes, fractions, nanoseconds).
    #[arg(long, conflicts_with = "json", display_order = 989)]
    pub csv: bool,
}

/// For verbs that open filters.
#[derive(clap::Args)]
pub struct Secret {
    /// File with 32 hex digits: the secret key of keyed filters.
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
}

/// How much a filter shall hold, how well, and in how much memory.
#[derive(clap::Args)]
pub struct Size {
    /// Number of items, such as 10M or 1.5G. Default of `build`: the number of keys in the input.
    #[arg(short = 'n', long, value_parser = quantity::count)]
    pub items: Option<u64>,
    /// Maximum false-positive rate, such as 1%, 0.001 or 1/1000. Default of `build`: 1%.
    #[arg(short = 'p', long, value_name = "RATE", value_parser = quantity::rate, allow_negative_numbers = true)]
    pub fpr: Option<f64>,
    /// Maximum memory, such as 100MB or 64MiB, instead of -p or -n.
    #[arg(long, value_name = "SIZE", value_parser = quantity::memory_bits)]
    pub memory: Option<u64>,
}

impl Size {
    /// What it means to the library.
    pub fn goal(&self) -> Result<Goal> {
        if let (Some(_), Some(_), Some(_)) = (self.items, self.fpr, self.memory) {
            let message = "-n, -p and --memory: give two of them; the third follows";
            return Err(Stop::Error(message.to_owned()));
        }
        Ok(Goal { items: self.items, fpr: self.fpr, bits: self.memory, ..Goal::default() })
    }
}

/// How keys are read and hashed: for every verb that does.
#[derive(clap::Args)]
pub struct Keyed {
    #[command(flatten)]
    pub secret: Secret,
    #[command(flatten)]
    pub text: Text,
}

/// How lines are cut into keys. Input packed by gzip, zstd, xz or bzip2 is unpacked.
#[derive(clap::Args, Clone)]
pub struct Text {
    /// Type of a key: its bytes, or a decimal integer. Default: the type that the filter was built from, or else
    /// bytes.
    #[arg(long, value_name = "TYPE", value_parser = key_type())]
    pub key_type: Option<KeyType>,
    /// The first column is the time of the record, a whole number: for variants that forget with time, and for `dedupe
    /// --ttl`. A time earlier than that of the previous record is replaced by the previous one.
    #[arg(long)]
    pub time: bool,
    /// Use this column as the key, not the whole line: its number, counted from 1, or with --csv its name.
    #[arg(short = 'f', long, value_name = "COLUMN", value_parser = column)]
    pub field: Option<Column>,
    #[command(flatten)]
    pub rows: Rows,
}

/// How rows are told apart, and their columns.
#[derive(clap::Args, Clone)]
pub struct Rows {
    /// Column separator, one byte. Default: TAB, or with --csv a comma.
    #[arg(short = 'd', long, value_name = "DELIM", value_parser = delimiter())]
    pub delimiter: Option<u8>,
    /// Input is CSV: columns may be quoted, and the first row names them. Verbs that print rows print it first.
    #[arg(long, conflicts_with = "null")]
    pub csv: bool,
    /// Records end in NUL instead of LF, in input and output, as with `find -print0`.
    #[arg(short = '0', long = "null")]
    pub null: bool,
    /// Lines end in CR LF, as on Windows: strip the CR. Without this option it is part of the key.
    #[arg(long)]
    pub crlf: bool,
    /// Skip records that cannot be read, instead of failing: each is reported on stderr, and the total at the end.
    #[arg(long)]
    pub skip_bad: bool,
}
