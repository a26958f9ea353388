//! Every dependency's license against the allow-list.

use std::process::Command;

/// What the library, the command and their build may depend on.
const ALLOWED: [&str; 10] = [
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "ISC",
    "Unicode-3.0",
    "Zlib",
    // Terms of the BSD family, for the decoder of one packing.
    "bzip2-1.0.6",
];

/// Checks the whole lock file.
pub fn run() -> Result<(), String> {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--locked"])
        .output()
        .map_err(|e| format!("cargo metadata: {e}"))?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)
        .map_err(|e| format!("cargo metadata: {e}: {}", String::from_utf8_lossy(&output.stderr)))?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata lists no packages")?;
    let refused: Vec<String> = packages
        .iter()
        .filter(|p| !p["license"].as_str().is_some_and(allowed))
        .map(|p| format!("{} {}: {}", p["name"], p["version"], p["license"]))
        .collect();
    if refused.is_empty() {
        println!("{} packages, all under allowed licenses", packages.len());
        Ok(())
    } else {
        Err(format!("licenses outside the allow-list:\n{}", refused.join("\n")))
    }
}

/// Whether an SPDX expression of ANDs of ORs can be met from the allow-list.
fn allowed(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ");
    expression.split(" AND ").all(|part| {
        let part = part.trim_matches(|c| c == '(' || c == ')');
        part.split(" OR ").any(|choice| ALLOWED.contains(&choice.trim_matches(['(', ')', ' '])))
    })
}

#[cfg(test)]
mod tests {
    use super::allowed;

    #[test]
    fn expressions_are_read_as_they_are_meant() {
        assert!(allowed("MIT OR Apache-2.0"));
        assert!(allowed("MIT/Apache-2.0"));
        assert!(allowed("(MIT OR Apache-2.0) AND Unicode-3.0"));
        assert!(allowed("GPL-3.0 OR MIT"));
        assert!(!allowed("GPL-3.0"));
        assert!(!allowed("MIT AND GPL-3.0"));
    }
}
