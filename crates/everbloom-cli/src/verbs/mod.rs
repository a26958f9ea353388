//! The work, a file per verb.

mod build;
mod catalog;
mod check;
mod demo;
mod info;

use crate::args::{Args, Verb};
use crate::{Outcome, Result};

/// Does what was asked.
pub fn run(args: Args) -> Result<Outcome> {
    match args.verb {
        Verb::Catalog(args) => catalog::run(&args),
        Verb::Build(args) => build::run(&args),
        Verb::Check(args) => check::run(&args),
        Verb::Info(args) => info::run(&args),
        Verb::Demo => demo::run(),
    }
}
