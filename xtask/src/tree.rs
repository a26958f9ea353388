//! A copy of the tree to break or extend, with a build folder of its own.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
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
        let tree = Self { root, build: here.join("target/xtask/build") };
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        // A file deleted but not yet committed is listed and missing.
        let files: BTreeSet<&str> = listed.lines().filter(|f| here.join(f).is_file()).collect();
        for file in &files {
            let bytes = fs::read(here.join(file)).map_err(|e| format!("{file}: {e}"))?;
            tree.write(file, &bytes)?;
        }
        tree.forget(&tree.root, &files)?;
        Ok(tree)
    }

    /// Removes what an earlier copy had and this one has not.
    fn forget(&self, folder: &Path, files: &BTreeSet<&str>) -> Result<(), String> {
        let place = |e| format!("{}: {e}", folder.display());
        for entry in fs::read_dir(folder).map_err(place)?.flatten() {
            let path = entry.path();
            let name = path.strip_prefix(&self.root).unwrap_or(&path).display().to_string();
            if path.is_dir() {
                self.forget(&path, files)?;
            } else if !files.contains(name.as_str()) {
                fs::remove_file(&path).map_err(place)?;
            }
        }
        Ok(())
    }

    /// The file's text.
    pub fn read(&self, file: &str) -> Result<String, String> {
        fs::read_to_string(self.root.join(file)).map_err(|e| format!("{file}: {e}"))
    }

    /// Writes a file. One that is so already stays untouched, so that it is not compiled again.
    pub fn write(&self, file: &str, content: impl AsRef<[u8]>) -> Result<(), String> {
        let (path, place) = (self.root.join(file), |e| format!("{file}: {e}"));
        if fs::read(&path).is_ok_and(|there| there == content.as_ref()) {
            return Ok(());
        }
        fs::create_dir_all(path.parent().unwrap_or(&self.root)).map_err(place)?;
        fs::write(path, content).map_err(place)
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

    /// Runs cargo in the copy with further variables, for as long as no test fails: who wants to know whether one does
    /// need not wait for the rest.
    pub fn cargo_until_failure(
        &self,
        limit: Duration,
        env: &[(&str, &str)],
        args: &[&str],
    ) -> Result<Ended, String> {
        let seconds = limit.as_secs().to_string();
        let mut child = self
            .program("timeout", env)
            .args(["--kill-after=5", &seconds, "cargo"])
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("timeout: {e}"))?;
        let output = child.stdout.take().ok_or("no output")?;
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        let failed = lines.find_map(|line| failed_test(&line).map(str::to_owned));
        if failed.is_some() {
            // timeout(1) passes it on to what it started.
            let told = Command::new("kill").arg(child.id().to_string()).status();
            told.map_err(|e| format!("kill: {e}"))?;
            lines.for_each(drop);
        }
        let status = child.wait().map_err(|e| format!("timeout: {e}"))?;
        Ok(match (failed, status.code()) {
            (Some(name), _) => Ended::Failed(name),
            (None, Some(0)) => Ended::Well,
            (None, Some(124 | 137)) => Ended::Late,
            (None, _) => Ended::Broken,
        })
    }

    /// The folder of the copy.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

/// The package that a file belongs to, by the nearest manifest above it.
pub fn package(root: &Path, file: &str) -> Result<String, String> {
    let manifests =
        Path::new(file).ancestors().skip(1).map(|folder| root.join(folder).join("Cargo.toml"));
    let names = manifests.filter_map(|manifest| {
        let text = fs::read_to_string(manifest).ok()?;
        let name = text.lines().find_map(|line| line.strip_prefix("name = \""))?;
        Some(name.trim_end_matches('"').to_owned())
    });
    names.into_iter().next().ok_or_else(|| format!("{file} is in no package"))
}

/// How tests ended.
pub enum Ended {
    /// Every one passed.
    Well,
    /// This one failed, and those that were left were not run.
    Failed(String),
    /// They took longer than the limit.
    Late,
    /// Without a test that failed.
    Broken,
}

/// The names of the tests that failed, as cargo prints them.
pub fn failed_tests(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().filter_map(failed_test).map(str::to_owned).collect()
}

/// The name of the test that this line says has failed.
fn failed_test(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}
