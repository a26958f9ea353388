//! The `everbloom` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    everbloom_cli::run(std::env::args_os()).into()
}
