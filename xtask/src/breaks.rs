//! Applications broken in one line each: a verdict, or the comparison with the exact twin, must turn red.

use std::time::Instant;

use crate::tree::{Tree, failed_tests};

/// The application, its file in `crates/everbloom-apps/src`, and the line that is broken.
struct Break {
    slug: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
}

/// Runs every break, or those of the application `only`.
pub fn run(only: Option<&str>) -> Result<(), String> {
    let tree = Tree::copy("breaks")?;
    let breaks: Vec<&Break> =
        BREAKS.iter().filter(|b| only.is_none_or(|slug| b.slug == slug)).collect();
    let mut unseen = Vec::new();
    for Break { slug, file, from, to } in &breaks {
        let start = Instant::now();
        let file = format!("crates/everbloom-apps/src/{file}");
        let original = tree.read(&file)?;
        tree.replace(&file, from, to)?;
        let args = ["test", "-p", "everbloom-apps", "--quiet", "--test", "list", "every_verdict"];
        let output = tree.cargo_with(&[("EVERBLOOM_ONLY", slug)], &args)?;
        tree.write(&file, &original)?;
        let verdict = if !failed_tests(&output).is_empty() {
            "turns red"
        } else if output.status.success() {
            unseen.push(format!("{slug}: {from}"));
            "UNSEEN"
        } else {
            // A break that does not compile proves nothing.
            return Err(format!("{slug}: {}", String::from_utf8_lossy(&output.stderr)));
        };
        println!("{slug:<24} {verdict} ({:.0} s)", start.elapsed().as_secs_f64());
    }
    if unseen.is_empty() {
        println!("{} breaks, all seen", breaks.len());
        Ok(())
    } else {
        Err(format!("unseen: {}", unseen.join(", ")))
    }
}

/// In the order of the applications' names.
#[rustfmt::skip]
const BREAKS: &[Break] = &[
    Break { slug: "breach", file: "words/breach/near.rs", from: "        insert(&changed(&substituted(i), &letters, [i, i + 1], b\"\"));\n", to: "" },
    Break { slug: "breach", file: "words/breach/near.rs", from: "    [b'S', a, b, c, d]\n", to: "    [b'S', a & 0, b, c, d]\n" },
    Break { slug: "link", file: "trust/link/mod.rs", from: "if dice >= self.threshold {", to: "if dice >= self.threshold - 0.5 {" },
    Break { slug: "link", file: "trust/link/mod.rs", from: "const MISS: f64 = 0.01;", to: "const MISS: f64 = 0.9;" },
    Break { slug: "longest-prefix", file: "forwarding/longest_prefix.rs", from: "for (&length, level) in self.levels.iter().rev() {", to: "for (&length, level) in self.levels.iter() {" },
    Break { slug: "longest-prefix", file: "forwarding/longest_prefix.rs", from: "        self.control.remove(&key)?;\n", to: "        self.control.remove(&(key ^ 1)).ok();\n" },
    Break { slug: "revoked", file: "trust/revoked/mod.rs", from: "            Status::AskForProof => Status::Valid,\n", to: "            Status::AskForProof => Status::Revoked,\n" },
    Break { slug: "revoked", file: "trust/revoked/merkle.rs", from: "chain_update([1]).chain_update(left)", to: "chain_update([0]).chain_update(left)" },
    Break { slug: "spell", file: "words/spell/mod.rs", from: "parts.all(|part|", to: "parts.any(|part|" },
    Break { slug: "spell", file: "words/spell/hyphenate.rs", from: "            if let Some(points) = self.table.find(&lower)? {", to: "            if let Some(points) = self.table.find(&lower)?.filter(|p| p.len() > 1) {" },
];
