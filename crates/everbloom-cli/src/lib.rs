//! The `everbloom` command: what was typed ([`args`]) → the work ([`verbs`], reading through
//! [`input`]) → what is shown ([`report`]).
#![deny(unsafe_code)]

mod args;
mod examples;
mod input;
mod measure;
mod output;
mod progress;
mod quantity;
mod reading;
mod report;
mod talk;
mod target;
mod verbs;

use std::ffi::OsString;

use clap::Parser;
use clap::error::{ContextKind, ContextValue};

/// How a verb ended, as grep's exit codes have it.
enum Outcome {
    /// Something was found or done: 0.
    Some,
    /// Nothing was: 1.
    None,
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
        let remedy = everbloom_records::Error::behind(&e).map_or("", input::remedy);
        Stop::Error(e.render(flag) + remedy)
    }
}

impl From<everbloom_records::Error> for Stop {
    fn from(e: everbloom_records::Error) -> Self {
        Stop::Error(format!("{e}{}", input::remedy(&e)))
    }
}

/// A field of the library's errors as it is typed here.
fn flag(field: &str, value: Option<&str>) -> String {
    let flag = match field {
        "items" => "-n",
        "rate" => "-p",
        "memory" => "--memory",
        "negatives" => "--negatives",
        "key" => "--key-file",
        "seed" => "--seed",
        "kind" => "--kind",
        "wait" => "--wait",
        "limit" => "--limit",
        "format" => "--format",
        "probes" => "--probes",
        parameter => match value {
            Some(value) => return format!("--set {parameter}={value}"),
            None => return format!("--set {parameter}"),
        },
    };
    value.map_or_else(|| flag.to_owned(), |value| format!("{flag} {value}"))
}

/// The verb that was typed, where the lab has it now.
fn moved(e: &clap::Error) -> Option<&str> {
    match e.get(ContextKind::InvalidSubcommand)? {
        ContextValue::String(verb) if verb == "lab" || verb == "app" => Some(verb),
        _ => None,
    }
}

/// What other faces of the library share with the command: undocumented, and outside semantic versioning.
#[doc(hidden)]
pub mod internals {
    pub use crate::report::json;
}

/// Runs the command with these arguments, the first of which is its own name; says its exit code.
pub fn run(typed: impl IntoIterator<Item = OsString>) -> u8 {
    let typed: Vec<OsString> = typed.into_iter().collect();
    if let Some(page) = args::group_page(typed.iter().cloned()) {
        return ended(output::print(&page).map(|()| Outcome::Some));
    }
    let args = match args::Args::try_parse_from(typed) {
        Ok(args) => args,
        Err(e) => {
            if let Some(verb) = moved(&e) {
                talk::tell!("everbloom: {verb} is no verb of this command. {}", examples::LAB);
                return 2;
            }
            let code = if e.use_stderr() { 2 } else { 0 };
            // Printing help into a closed pipe is no failure.
            let _ = e.print();
            return code;
        }
    };
    if args.quiet {
        talk::hush();
    }
    input::set_limit(args.limit);
    let outcome = verbs::run(args);
    input::say_skipped();
    input::clean_up();
    ended(outcome)
}

/// The exit code of an outcome; an error goes to stderr.
fn ended(outcome: Result<Outcome>) -> u8 {
    match outcome {
        Ok(Outcome::Some) | Err(Stop::ClosedPipe) => 0,
        Ok(Outcome::None) => 1,
        Err(Stop::Error(message)) => {
            talk::tell!("everbloom: {message}");
            2
        }
    }
}
