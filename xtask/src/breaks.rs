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
    Break { slug: "attenuated-routing", file: "peers/attenuated_routing.rs", from: "others.filter(|(to, _)| **to != node)", to: "others.filter(|(to, _)| **to == node)" },
    Break { slug: "foreseer", file: "peers/foreseer.rs", from: "if !self.filters[to].contains(&object) || !asked.insert(to) {", to: "if self.filters[to].contains(&object) || !asked.insert(to) {" },
    Break { slug: "gnutella", file: "peers/gnutella.rs", from: "        self.unite()?;\n", to: "" },
    Break { slug: "longest-prefix", file: "forwarding/longest_prefix.rs", from: "for (&length, level) in self.levels.iter().rev() {", to: "for (&length, level) in self.levels.iter() {" },
    Break { slug: "longest-prefix", file: "forwarding/longest_prefix.rs", from: "        self.control.remove(&key)?;\n", to: "        self.control.remove(&(key ^ 1)).ok();\n" },
    Break { slug: "planetp", file: "peers/planetp.rs", from: "query.iter().all(|word| filters[i].contains(word))", to: "query.iter().any(|word| filters[i].contains(word))" },
    Break { slug: "quad-tree", file: "peers/quad_tree.rs", from: "                self.squares[level][old].remove(&host)?;\n", to: "" },
    Break { slug: "tree-routing", file: "peers/tree_routing.rs", from: "            route.hops += 1;\n            route.wrong.push(child);\n", to: "            route.wrong.push(child);\n" },
];
