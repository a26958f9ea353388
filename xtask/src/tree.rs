//! A copy of the tree to break or extend, with a build folder of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

/// A copy of every tracked file, as it is in the working tree.
pub struct Tree {
    root: PathBuf,
    build: PathBuf,
}

impl Tree {
    /// Copies the tree to `target/xtask/NAME`.
    pub fn copy(name: &str) -> Result<Self, String> {
        let here = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
        let listed = Command::new("git")
            .args(["ls-files", "--cached", "--others", "--exclude-standard"])
            .current_dir(&here)
            .output()
            .map_err(|e| format!("git ls-files: {e}"))?;
        let root = here.join("target/xtask").join(name);
        let _ = fs::remove_dir_all(&root);
        for file in String::from_utf8_lossy(&listed.stdout).lines() {
            let to = root.join(file);
            let folder = to.parent().unwrap_or(&root);
            fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
            // A file deleted but not yet committed is listed and missing.
            if here.join(file).is_file() {
                fs::copy(here.join(file), &to).map_err(|e| format!("{file}: {e}"))?;
            }
        }
        Ok(Self { root, build: here.join("target/xtask/build") })
    }

    /// The file's text.
    pub fn read(&self, file: &str) -> Result<String, String> {
        fs::read_to_string(self.root.join(file)).map_err(|e| format!("{file}: {e}"))
    }

    /// Writes a file.
    pub fn write(&self, file: &str, text: &str) -> Result<(), String> {
        fs::write(self.root.join(file), text).map_err(|e| format!("{file}: {e}"))
    }

    /// Runs cargo in the copy.
    pub fn cargo(&self, args: &[&str]) -> Result<Output, String> {
        self.cargo_with(&[], args)
    }

    fn program(&self, name: &str, env: &[(&str, &str)]) -> Command {
        let mut command = Command::new(name);
        command.current_dir(&self.root).envs(env.iter().copied());
        command.env("CARGO_TARGET_DIR", &self.build).env_remove("CI");
        command
    }

    /// Runs cargo in the copy with further variables.
    pub fn cargo_with(&self, env: &[(&str, &str)], args: &[&str]) -> Result<Output, String> {
        self.program("cargo", env).args(args).output().map_err(|e| format!("cargo: {e}"))
    }

    /// Runs cargo in the copy with further variables, in a group of its own that is ended when it takes longer than
    /// `limit`; `None` then.
    pub fn cargo_within(
        &self,
        limit: Duration,
        env: &[(&str, &str)],
        args: &[&str],
    ) -> Result<Option<Output>, String> {
        let seconds = limit.as_secs().to_string();
        // timeout(1) ends what cargo started, too.
        let output = self
            .program("timeout", env)
            .args(["--kill-after=5", &seconds, "cargo"])
            .args(args)
            .output()
            .map_err(|e| format!("timeout: {e}"))?;
        Ok(Some(output).filter(|output| !matches!(output.status.code(), Some(124 | 137))))
    }

    /// The folder of the copy.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

/// The names of the tests that failed, as cargo prints them.
pub fn failed_tests(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let failed = text.lines().filter_map(|line| {
        line.strip_prefix("test ")?.strip_suffix(" ... FAILED").map(str::to_owned)
    });
    failed.collect()
}
