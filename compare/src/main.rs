//! Starts the benchmark, compiled as a plain build is: for any processor, with code that asks at run time what it
//! can do. With `--native`, everything is compiled for the processor it runs on. A flag of one package's profile
//! cannot say that, hence the detour.
//!
//! `cargo run --release --manifest-path compare/Cargo.toml -- [all|gate] [GROUPS] [SIZES] [--rounds N] [--native]
//! [--json FILE]`, `-- draw PLAIN.json NATIVE.json FOLDER` or `-- growth MOST FOLDER`.

use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let (native, args): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|arg| arg == "--native");
    let folder = env!("CARGO_MANIFEST_DIR");
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = Command::new(cargo);
    command.args(["run", "--release", "--locked", "--package", "everbloom-benchmark"]);
    command.arg("--manifest-path").arg(format!("{folder}/Cargo.toml"));
    if !native.is_empty() {
        command.env("RUSTFLAGS", "-C target-cpu=native");
        command.env("CARGO_TARGET_DIR", format!("{folder}/target/native"));
    }
    match command.arg("--").args(args).status() {
        Ok(status) => ExitCode::from(status.code().map_or(1, |code| code.clamp(0, 255) as u8)),
        Err(e) => {
            eprintln!("cannot run cargo: {e}");
            ExitCode::FAILURE
        }
    }
}
