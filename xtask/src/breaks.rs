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
    Break { slug: "admission", file: "caching/admission.rs", from: "self.recent.insert(object) == Seen::Maybe", to: "self.recent.insert(object) != Seen::Maybe" },
    Break { slug: "collection-tree", file: "wireless/collection_tree.rs", from: "filter.age(ticks)", to: "filter.age(ticks / 2)" },
    Break { slug: "evasion", file: "tracing/evasion.rs", from: "let limit = (count as f64 * limit) as usize;", to: "let limit = (count as f64 * limit * 0.1) as usize;" },
    Break { slug: "fair-blue", file: "measuring/fair_blue.rs", from: "            self.active = warm;\n", to: "            drop(warm);\n" },
    Break { slug: "longest-prefix", file: "forwarding/longest_prefix.rs", from: "for (&length, level) in self.levels.iter().rev() {", to: "for (&length, level) in self.levels.iter() {" },
    Break { slug: "longest-prefix", file: "forwarding/longest_prefix.rs", from: "        self.control.remove(&key)?;\n", to: "        self.control.remove(&(key ^ 1)).ok();\n" },
    Break { slug: "loops", file: "tracing/loops.rs", from: "if passed.visit(names[at]) {", to: "if passed.visit(names[at] ^ hop as u64) {" },
    Break { slug: "neighbors", file: "wireless/neighbors.rs", from: "neighbors.into_iter().any(", to: "neighbors.into_iter().all(" },
    Break { slug: "path-gossip", file: "wireless/path_gossip.rs", from: "filter.extend(path);", to: "filter.extend(&path[2..]);" },
    Break { slug: "puzzles", file: "streams/puzzles.rs", from: "self.previous = std::mem::replace(&mut self.current, next);", to: "self.current = next;" },
    Break { slug: "replay", file: "streams/replay.rs", from: "if age > 1 {", to: "if age > 2 {" },
    Break { slug: "route-check", file: "measuring/route_check.rs", from: "sum += difference;", to: "sum += difference.abs();" },
    Break { slug: "signatures", file: "tracing/signatures.rs", from: "if self.read > length as u64 {", to: "if self.read > length as u64 + 1 {" },
    Break { slug: "sleep-proxy", file: "caching/sleep_proxy.rs", from: "if !stale {", to: "if stale {" },
    Break { slug: "snoop", file: "caching/snoop.rs", from: "filter.insert(&line);", to: "filter.insert(&(line | 1));" },
    Break { slug: "spie", file: "tracing/spie.rs", from: "(self.source, self.target, self.id, ", to: "(self.source, self.target, self.id ^ u16::from(self.time_to_live), " },
    Break { slug: "traceback", file: "tracing/traceback.rs", from: "self.filter.insert(&router);", to: "self.filter.insert(&(router >> 1));" },
    Break { slug: "wake-up", file: "wireless/wake_up.rs", from: "frame.bits.ones() <= self.most_ones", to: "frame.bits.ones() < u64::MAX" },
];
