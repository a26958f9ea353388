//! Options that several verbs share.

use std::path::PathBuf;

use everbloom::internals::plan::Goal;
use everbloom_records::{Column, KeyType};

use super::parsers::{column, delimiter, key_type};
use crate::quantity;

/// For every verb but those that print a file of another kind: what programs read.
#[derive(clap::Args)]
pub struct Machine {
    /// Print JSON on stdout, for programs to read; docs/JSON.md describes every name.
    #[arg(long, display_order = 990)]
    pub json: bool,
}

/// For verbs that print a table: the same for programs and for spreadsheets.
#[derive(clap::Args)]
pub struct Tabular {
    #[command(flatten)]
    pub machine: Machine,
    /// Print the table as CSV: the same columns, numbers without units (bytes, shares, nanoseconds).
    #[arg(long, conflicts_with = "json", display_order = 989)]
    pub csv: bool,
}

/// For verbs that open filters.
#[derive(clap::Args)]
pub struct Secret {
    /// A file with 32 hex digits, the secret key of keyed filters.
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
}

/// How much a filter shall hold, how well, and in how much memory.
#[derive(clap::Args)]
pub struct Size {
    /// Items to hold, such as 10M or 1.5G. Default of `build`: as many as there are.
    #[arg(short = 'n', long, value_parser = quantity::count)]
    pub items: Option<u64>,
    /// False-positive rate to stay below, such as 1%, 0.001 or 1/1000. Default of `build`: 1%.
    #[arg(short = 'p', long, value_name = "RATE", value_parser = quantity::rate, allow_negative_numbers = true)]
    pub fpr: Option<f64>,
    /// Memory to fit in, such as 100MB or 64MiB, in place of -p or -n.
    #[arg(long, value_name = "SIZE", value_parser = quantity::memory_bits)]
    pub memory: Option<u64>,
}

impl Size {
    /// What it means to the library.
    pub fn goal(&self) -> Goal {
        Goal { items: self.items, fpr: self.fpr, bits: self.memory, ..Goal::default() }
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
    /// What a key is: its bytes, or a decimal integer. Default: what the filter was built from, else its
    /// bytes.
    #[arg(long, value_name = "TYPE", value_parser = key_type())]
    pub key_type: Option<KeyType>,
    /// The first column is the record's time, a whole number: for variants that forget with time, and for
    /// `dedupe --ttl`. A record that is older than the one before counts as just as old.
    #[arg(long)]
    pub time: bool,
    /// The key is this column instead of the whole line: its number, counted from 1, or with --csv its name.
    #[arg(short = 'f', long, value_name = "COLUMN", value_parser = column)]
    pub field: Option<Column>,
    #[command(flatten)]
    pub rows: Rows,
}

/// How rows are told apart, and their columns.
#[derive(clap::Args, Clone)]
pub struct Rows {
    /// What separates columns, one byte. Default: TAB, or with --csv a comma.
    #[arg(short = 'd', long, value_name = "DELIM", value_parser = delimiter())]
    pub delimiter: Option<u8>,
    /// Input is CSV: columns may stand in quotes, and the first row names them. Where rows are printed it is printed
    /// first.
    #[arg(long, conflicts_with = "null")]
    pub csv: bool,
    /// Records end in NUL instead of LF, as `find -print0` writes them; so do those that are printed.
    #[arg(short = '0', long = "null")]
    pub null: bool,
    /// Lines end in CR LF, as on Windows: the CR is cut off. Without the option it belongs to the key.
    #[arg(long)]
    pub crlf: bool,
    /// Leave out records that cannot be read, instead of giving up: each is named on stderr, and all are counted.
    #[arg(long)]
    pub skip_bad: bool,
}
