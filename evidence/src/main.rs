//! The `everbloom-lab` command: lists and runs experiments and applications, and writes their pages.
#![deny(unsafe_code)]

mod command;

use std::process::ExitCode;

fn main() -> ExitCode {
    command::main()
}
