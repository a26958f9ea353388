//! What was typed ([`args`]), what it names ([`entry`]), and the work.

mod args;
mod entry;
mod list;
mod passports;
mod report;
mod run;

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Parser as _;
use serde_json::Value;

use args::{Args, Verb};

/// How a verb ended.
enum Outcome {
    /// It is done, and all verdicts agree: exit code 0.
    Agrees,
    /// A verdict disagrees: 1.
    Disagrees,
}

/// Why a verb stopped early.
enum Stop {
    /// To be told to the user: 2.
    Error(String),
    /// Nobody reads the output any more: quietly 0, as other tools in a pipe do.
    ClosedPipe,
}

type Result<T> = std::result::Result<T, Stop>;

impl From<everbloom::Error> for Stop {
    fn from(e: everbloom::Error) -> Self {
        Stop::Error(e.to_string())
    }
}

pub fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(e) => {
            let code = if e.use_stderr() { 2 } else { 0 };
            // Printing help into a closed pipe is no failure.
            let _ = e.print();
            return ExitCode::from(code);
        }
    };
    let outcome = match &args.verb {
        Verb::List(listing) => list::list(listing),
        Verb::Show(shown) => list::show(shown),
        Verb::Run(wanted) => run::run(wanted, args.quiet),
        Verb::Report(wanted) => report::run(wanted, args.quiet),
        Verb::Passports(wanted) => passports::run(wanted, args.quiet),
    };
    match outcome {
        Ok(Outcome::Agrees) | Err(Stop::ClosedPipe) => ExitCode::SUCCESS,
        Ok(Outcome::Disagrees) => ExitCode::from(1),
        Err(Stop::Error(message)) => {
            // Whether anybody reads it changes nothing.
            let _ = writeln!(io::stderr(), "everbloom-lab: {message}");
            ExitCode::from(2)
        }
    }
}

/// Prints data.
fn print(text: &str) -> Result<()> {
    io::stdout().write_all(text.as_bytes()).map_err(|e| match e.kind() {
        io::ErrorKind::BrokenPipe => Stop::ClosedPipe,
        _ => Stop::Error(format!("cannot write the output: {e}")),
    })
}

/// Prints a report for programs.
fn print_json(report: &Value) -> Result<()> {
    print(&format!("{report:#}\n"))
}
