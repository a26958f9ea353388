//! The files with `unsafe`, as CONTRIBUTING.md lists them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use proc_macro2::{TokenStream, TokenTree};

/// The list of every source with `unsafe`, a line for each folder.
pub fn list(root: &Path) -> Result<String, String> {
    let mut git = Command::new("git");
    let listed = crate::output(git.args(["ls-files", "*.rs"]).current_dir(root))?;
    let listed = String::from_utf8_lossy(&listed);
    let mut folders: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    // A file deleted but not yet committed is listed and missing.
    for file in listed.lines().filter(|file| root.join(file).is_file()) {
        let text = fs::read_to_string(root.join(file)).map_err(|e| format!("{file}: {e}"))?;
        if is_unsafe(&text).map_err(|e| format!("{file}: {e}"))? {
            let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
            folders.entry(folder).or_default().push(name.trim_end_matches(".rs"));
        }
    }
    let lines = folders.iter().map(|(folder, names)| format!("{folder}: {}\n", names.join(", ")));
    Ok(format!("```text\n{}```\n", lines.collect::<String>()))
}

fn is_unsafe(text: &str) -> Result<bool, String> {
    // Most files do not even have the word.
    if !text.contains("unsafe") {
        return Ok(false);
    }
    text.parse().map(has_keyword).map_err(|e| format!("not Rust: {e}"))
}

fn has_keyword(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == "unsafe",
        TokenTree::Group(group) => has_keyword(group.stream()),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keyword_counts_and_the_word_does_not() {
        assert_eq!(is_unsafe("fn f() { unsafe { g() } }"), Ok(true));
        assert_eq!(is_unsafe("macro_rules! m { () => { unsafe fn h() {} } }"), Ok(true));
        assert_eq!(
            is_unsafe("#![deny(unsafe_code)]\n// unsafe\nconst A: &str = \"unsafe\";"),
            Ok(false)
        );
        assert!(is_unsafe("unsafe {").is_err());
    }
}
