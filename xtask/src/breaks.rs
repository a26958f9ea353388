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
    Break { slug: "attribute", file: "tracing/attribute.rs", from: "window.filter.insert_from(sender, payload)?;", to: "window.filter.insert_from(b\"\", payload)?;" },
    Break { slug: "duplicate-clicks", file: "streams/duplicate_clicks.rs", from: "Decaying::in_blocks(WINDOW, BLOCKS,", to: "Decaying::in_blocks(WINDOW / 2, BLOCKS," },
    Break { slug: "flow-counters", file: "measuring/flow_counters.rs", from: "self.counts.insert_times(key, weight)?;", to: "self.counts.insert_times(key, 1)?;" },
    Break { slug: "flow-counters", file: "measuring/flow_counters.rs", from: "key.len() <= LONGEST && !self.seen.contains(key)", to: "key.len() <= LONGEST" },
    Break { slug: "global-iceberg", file: "measuring/global_iceberg.rs", from: "Some(counts) => counts.merge(site.counts())?,", to: "Some(_) => {}" },
    Break { slug: "heavy-flows", file: "measuring/heavy_flows.rs", from: "if count >= self.threshold {", to: "if count > 2 * self.threshold {" },
    Break { slug: "heavy-flows", file: "measuring/heavy_flows.rs", from: "*entry = Entry { before: 0, counted: 0 };", to: "entry.before = 0;" },
    Break { slug: "iceberg", file: "measuring/iceberg.rs", from: "        self.sketch.merge(&other.sketch)\n", to: "        _ = other;\n        Ok(())\n" },
    Break { slug: "iceberg", file: "measuring/iceberg.rs", from: "*count = count.saturating_add(weight);", to: "*count = weight;" },
    Break { slug: "kmer", file: "search/kmer/mod.rs", from: "both[i / 64] >> (i % 64) & 1;", to: "both[i / 64] >> (i % 63) & 1;" },
    Break { slug: "kmer", file: "search/kmer/mod.rs", from: "words[slab.at as usize] |= u64::from_le_bytes(word);", to: "words[slab.at as usize] = u64::from_le_bytes(word);" },
    Break { slug: "known", file: "tracing/known.rs", from: "(self.blocks.contains(chunk), chunk.len() as u64)", to: "(self.blocks.contains(&chunk[1..]), chunk.len() as u64)" },
    Break { slug: "known", file: "tracing/known.rs", from: "digest[4 * i + j]", to: "digest[j]" },
    Break { slug: "longest-prefix", file: "forwarding/longest_prefix.rs", from: "for (&length, level) in self.levels.iter().rev() {", to: "for (&length, level) in self.levels.iter() {" },
    Break { slug: "longest-prefix", file: "forwarding/longest_prefix.rs", from: "        self.control.remove(&key)?;\n", to: "        self.control.remove(&(key ^ 1)).ok();\n" },
    Break { slug: "similar", file: "words/similar.rs", from: "self.matrix.copies(least / 2.0)", to: "self.matrix.copies(0.95)" },
    Break { slug: "similar", file: "chunks.rs", from: "if i + 1 >= LEAST && hash >> 56 == 0 {", to: "if i + 1 >= 256 {" },
];
