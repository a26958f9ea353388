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
    Break { slug: "annotations", file: "caching/annotations.rs", from: "    browser.refresh(&delta)?;\n", to: "" },
    Break { slug: "approximate", file: "peers/approximate.rs", from: "filter(|key| !filter.contains(*key))", to: "filter(|key| filter.contains(*key))" },
    Break { slug: "approximate", file: "peers/approximate.rs", from: "    known.keys().for_each(|key| _ = filter.insert(key));\n", to: "" },
    Break { slug: "bloomjoin", file: "tables/bloomjoin.rs", from: "let both = ours.m() - ours.bits().ones_in_both(theirs.bits());", to: "let both = ours.bits().ones_in_both(theirs.bits());" },
    Break { slug: "cache-digests", file: "caching/cache_digests.rs", from: "        self.counts.remove(url)?;\n", to: "        self.counts.remove(&url[1..]).ok();\n" },
    Break { slug: "friends", file: "peers/friends.rs", from: "let salt = if new_seeds { seed ^ contact } else { seed };", to: "let salt = seed;" },
    Break { slug: "longest-prefix", file: "forwarding/longest_prefix.rs", from: "for (&length, level) in self.levels.iter().rev() {", to: "for (&length, level) in self.levels.iter() {" },
    Break { slug: "longest-prefix", file: "forwarding/longest_prefix.rs", from: "        self.control.remove(&key)?;\n", to: "        self.control.remove(&(key ^ 1)).ok();\n" },
    Break { slug: "posting-lists", file: "tables/bloomjoin.rs", from: "theory::fpr_best(bits.clamp(2.0, 40.0))", to: "theory::fpr_best(bits.clamp(2.0, 9.0))" },
];
