//! Data, on stdout. With `--json` a report is one value, spread over lines for whoever looks at it; records
//! are a value each, on a line of its own, and what is said of all of them follows as the last line.

use std::io::{self, BufWriter, StdoutLock, Write};

use everbloom::{Error, Kind};
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

/// Prints a report.
pub fn print_json(report: &Value) -> Result<()> {
    print(&format!("{report:#}\n"))
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
