//! The Python interpreter of chores that need one.

use std::process::{Command, Stdio};

/// `EVERBLOOM_PYTHON`, or `python3` of the path; `None` where there is none, which is said.
pub fn find(chore: &str) -> Option<String> {
    let python = std::env::var("EVERBLOOM_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut command = Command::new(&python);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    if command.status().is_ok_and(|status| status.success()) {
        return Some(python);
    }
    println!("SKIPPED {chore}: no Python at {python}; EVERBLOOM_PYTHON names another one");
    None
}
