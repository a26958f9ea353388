//! A folder to run the command in: what tests of the command share.
// Not every test uses all of it.
#![allow(dead_code)]

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

pub struct Place {
    pub folder: TempDir,
}

/// How a command ended.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Run {
    pub fn of(Output { status, stdout, stderr }: &Output) -> Self {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        Self { code: status.code().unwrap_or(-1), out: text(stdout), err: text(stderr) }
    }
}

/// The command in a folder, with pipes.
pub fn command(folder: &Path, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_everbloom"));
    command.args(args).current_dir(folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Starts a command that reads `stdin`.
pub fn fed(mut command: Command, stdin: &[u8]) -> Child {
    let mut child = command.spawn().expect("the command starts");
    // The command may end before it has read everything.
    let _ = child.stdin.take().expect("a pipe").write_all(stdin);
    child
}

/// What comes of a command that reads `stdin`.
pub fn output(command: Command, stdin: &[u8]) -> Output {
    fed(command, stdin).wait_with_output().expect("the command ends")
}

impl Place {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    pub fn file(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.folder.path().join(name), text).expect("a file");
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.folder.path().join(name)).expect("a file")
    }

    /// Runs a command line, split at spaces.
    pub fn run(&self, line: &str, stdin: &str) -> Run {
        self.run_args(&line.split_whitespace().collect::<Vec<_>>(), stdin)
    }

    /// Runs the command with arguments that may have blanks in them.
    pub fn run_args(&self, args: &[&str], stdin: &str) -> Run {
        Run::of(&output(command(self.folder.path(), args), stdin.as_bytes()))
    }

    pub fn json(&self, line: &str) -> Value {
        let run = self.run(line, "");
        serde_json::from_str(&run.out).unwrap_or_else(|e| panic!("{line}: {e}: {}", run.err))
    }

    /// Runs a command that must succeed; what it prints.
    pub fn ok(&self, line: &str, stdin: &str) -> String {
        let run = self.run(line, stdin);
        assert_eq!(run.code, 0, "{line}: {}", run.err);
        run.out
    }

    /// Runs a command that must fail and print nothing; what it says.
    pub fn refused(&self, line: &str, stdin: &str) -> String {
        let run = self.run(line, stdin);
        assert_eq!((run.code, run.out.as_str()), (2, ""), "{line}: {}", run.err);
        run.err
    }
}
