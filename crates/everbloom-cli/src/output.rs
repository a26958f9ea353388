//! Data, on stdout. With `--json` a report is one value, spread over lines for whoever looks at it; records
//! are a value each, on a line of its own, and what is said of all of them follows as the last line.

use std::io::{self, BufWriter, IsTerminal as _, StdoutLock, Write};
use std::path::Path;

use everbloom::{Error, Kind};
use everbloom_report::Table;
use everbloom_report::number::{self, bytes_text, rate_text};
use everbloom_report::terminal::wrapped;
use serde_json::{Value, json};

use crate::{Result, Stop};

/// An error of the output: the only place where a closed pipe is not an error.
pub fn output_error(e: io::Error) -> Stop {
    if e.kind() == io::ErrorKind::BrokenPipe {
        Stop::ClosedPipe
    } else {
        Stop::Error(format!("cannot write the output: {e}"))
    }
}

/// Prints text.
pub fn print(text: &str) -> Result<()> {
    print_bytes(text.as_bytes())
}

/// Prints bytes.
pub fn print_bytes(bytes: &[u8]) -> Result<()> {
    io::stdout().write_all(bytes).map_err(output_error)
}

/// Whether an output is stdout, as `-` says.
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// A whole number: its thousands apart where people look, plain where a program may read it.
pub fn integer_text(value: u64) -> String {
    if io::stdout().is_terminal() { number::integer_text(value) } else { value.to_string() }
}

/// Prints a report.
pub fn print_json(report: &Value) -> Result<()> {
    print(&format!("{report:#}\n"))
}

/// What a table is printed for, and so how numbers stand in it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sheet {
    /// People: frames, and numbers with units.
    Terminal,
    /// Spreadsheets: the same columns, and plain numbers in the least unit.
    Csv,
}

impl Sheet {
    /// As `--csv` says.
    pub fn of(csv: bool) -> Self {
        if csv { Sheet::Csv } else { Sheet::Terminal }
    }

    pub fn bytes(self, bytes: u64) -> String {
        self.pick(bytes, bytes_text)
    }

    pub fn integer(self, value: u64) -> String {
        self.pick(value, integer_text)
    }

    pub fn rate(self, rate: f64) -> String {
        self.pick(rate, rate_text)
    }

    /// A number as it is for spreadsheets, and by `text` for people.
    pub fn pick<N: Copy + ToString>(self, number: N, text: impl Fn(N) -> String) -> String {
        match self {
            Sheet::Terminal => text(number),
            Sheet::Csv => number.to_string(),
        }
    }

    /// What stands where there is no number.
    pub fn none(self) -> String {
        match self {
            Sheet::Terminal => "–".to_owned(),
            Sheet::Csv => String::new(),
        }
    }

    /// The table's text.
    pub fn text(self, table: &Table) -> String {
        match self {
            Sheet::Terminal => table.terminal(),
            Sheet::Csv => table.csv(),
        }
    }
}

/// Facts as lines for people, or as rows of `name` and `value`.
pub fn facts(sheet: Sheet, width: usize, rows: &[(&str, String)]) -> String {
    match sheet {
        Sheet::Terminal => {
            let line =
                |name: &str, value| format!("{name:>width$}  {}\n", wrapped(value, width + 2));
            rows.iter().map(|(name, value)| line(name, value)).collect()
        }
        Sheet::Csv => {
            let rows = rows.iter().map(|(name, value)| [(*name).to_owned(), value.clone()]);
            Table::new(2, ["name", "value"]).rows(rows).csv()
        }
    }
}

/// Records, printed as they come.
pub struct Output {
    out: BufWriter<StdoutLock<'static>>,
    /// Whoever reads records hands on errors of the library's kind, so one of the output waits here.
    broken: Option<io::Error>,
}

impl Output {
    pub fn new() -> Self {
        Self { out: BufWriter::with_capacity(1 << 16, io::stdout().lock()), broken: None }
    }

    /// Writes a record by `f`.
    pub fn write(
        &mut self,
        f: impl FnOnce(&mut BufWriter<StdoutLock<'static>>) -> io::Result<()>,
    ) -> everbloom::Result<()> {
        f(&mut self.out).map_err(|e| {
            self.broken = Some(e);
            Error::new(Kind::Io, "output")
        })
    }

    /// Writes a record in JSON.
    pub fn json(&mut self, record: &Value) -> everbloom::Result<()> {
        self.write(|out| writeln!(out, "{record}"))
    }

    /// Ends the records: `done` is how the reading ended, `summary` what is said of all of them.
    pub fn end<E: Into<Stop>>(
        mut self,
        done: std::result::Result<(), E>,
        summary: Option<Value>,
    ) -> Result<()> {
        let done = done.map_err(Into::into).and_then(|()| {
            if let Some(summary) = summary {
                self.json(&json!({ "summary": summary }))?;
            }
            Ok(self.write(Write::flush)?)
        });
        match self.broken {
            Some(e) => Err(output_error(e)),
            None => done,
        }
    }
}
