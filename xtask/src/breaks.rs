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
    Break { slug: "buffalo", file: "forwarding/buffalo.rs", from: "            planes.insert(&address);\n", to: "            planes.insert(&(address | 1));\n" },
    Break { slug: "buffalo", file: "forwarding/buffalo.rs", from: "                changed.insert(old);\n", to: "" },
    Break { slug: "capabilities", file: "forwarding/capabilities.rs", from: "        header.fill() <= LIMIT && self.has(", to: "        self.has(" },
    Break { slug: "capabilities", file: "forwarding/capabilities.rs", from: "of(epoch) || epoch.checked_sub(1).is_some_and(of)", to: "of(epoch)" },
    Break { slug: "data-center", file: "forwarding/data_center.rs", from: "let clean = self.wrong(&header, &route).0 == 0;", to: "let clean = self.wrong(&header, &route).0 < 9;" },
    Break { slug: "destinations", file: "forwarding/destinations.rs", from: "Headers::Rebuilt => self.header(&destinations),", to: "Headers::Rebuilt => self.header(&destinations[..1])," },
    Break { slug: "label-switch", file: "forwarding/label_switch.rs", from: "owners.fold(0, |ports, (_, more)| ports | more);", to: "owners.fold(0, |_, (_, more)| *more);" },
    Break { slug: "longest-prefix", file: "forwarding/longest_prefix.rs", from: "for (&length, level) in self.levels.iter().rev() {", to: "for (&length, level) in self.levels.iter() {" },
    Break { slug: "longest-prefix", file: "forwarding/longest_prefix.rs", from: "            self.filter.remove(&key)?;\n", to: "            self.filter.remove(&(key ^ 1)).ok();\n" },
    Break { slug: "multicast", file: "forwarding/multicast.rs", from: ".filter(|i| Some(*i) != came_by);", to: ".filter(|_| came_by != Some(u64::MAX));" },
    Break { slug: "names", file: "forwarding/names.rs", from: "self.lengths.iter().rev().filter(", to: "self.lengths.iter().filter(" },
    Break { slug: "names", file: "forwarding/names.rs", from: "            port = at.port.or(port);\n", to: "            port = port.or(at.port);\n" },
    Break { slug: "off-by-default", file: "forwarding/off_by_default.rs", from: "self.lengths.iter().any(", to: "self.lengths.iter().take(1).any(" },
    Break { slug: "packet-filter", file: "forwarding/packet_filter.rs", from: "(self.mask(), self.protocol.unwrap_or(0), address", to: "(0, self.protocol.unwrap_or(0), address" },
    Break { slug: "split-trees", file: "forwarding/split_trees.rs", from: "path(node).into_iter().collect();", to: "path(node).into_iter().skip(1).collect();" },
    Break { slug: "subscriptions", file: "forwarding/subscriptions.rs", from: "    predicates.sort_unstable();\n", to: "    predicates.truncate(MOST);\n" },
    Break { slug: "tuple-space", file: "forwarding/tuple_space.rs", from: "best = best.max_by_priority(found.copied());", to: "best = found.copied().or(best);" },
    Break { slug: "xml-paths", file: "forwarding/xml_paths.rs", from: "self.prefixes.may_have(path)", to: "self.absolute.may_have(path)" },
    Break { slug: "zfilters", file: "sim/in_packet.rs", from: "let best = made.min_by_key(|header|", to: "let best = made.max_by_key(|header|" },
];
