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
    Break { slug: "biometrics", file: "trust/biometrics.rs", from: "u64::from(column ^ key)", to: "u64::from(column | key)" },
    Break { slug: "box-query", file: "tables/box_query.rs", from: "is_some_and(|values| inside(values, wanted))", to: "is_some()" },
    Break { slug: "broadcast", file: "trust/broadcast.rs", from: "true => bits.reset(bit),", to: "true => ()," },
    Break { slug: "differential-file", file: "tables/differential_file.rs", from: "found.map_or_else(|| self.master.get(id), Option::as_ref)", to: "self.master.get(id).or(found.and_then(Option::as_ref))" },
    Break { slug: "discovery", file: "search/discovery.rs", from: "        held.services.remove(name);\n", to: "" },
    Break { slug: "disk-capabilities", file: "trust/disk_capabilities.rs", from: "disk.revoked.insert(&capability.id);", to: "disk.revoked.insert(&capability.mac);" },
    Break { slug: "en-route", file: "trust/en_route.rs", from: "report.macs.bits().ones() <= most_ones() && different", to: "different" },
    Break { slug: "flow-table", file: "tables/flow_table.rs", from: "        self.table.balance(SWEEPS);\n", to: "" },
    Break { slug: "interests", file: "trust/interests.rs", from: "Hasher::keyed(group.clone())", to: "Hasher::seeded(group.id() % 2)" },
    Break { slug: "location", file: "trust/location.rs", from: "self.map.insert(point, area).map(drop)", to: "self.map.insert(point, area / 2).map(drop)" },
    Break { slug: "longest-prefix", file: "forwarding/longest_prefix.rs", from: "for (&length, level) in self.levels.iter().rev() {", to: "for (&length, level) in self.levels.iter() {" },
    Break { slug: "longest-prefix", file: "forwarding/longest_prefix.rs", from: "        self.control.remove(&key)?;\n", to: "        self.control.remove(&(key ^ 1)).ok();\n" },
    Break { slug: "lsm", file: "tables/lsm/merge.rs", from: "entry.cell < least.cell", to: "entry.cell <= least.cell" },
    Break { slug: "lsm", file: "tables/lsm/log.rs", from: "unsealed(bytes.get(..4 + length + 4)?)?.get(4..)?", to: "bytes.get(4..4 + length)?" },
    Break { slug: "private-counts", file: "trust/private_counts.rs", from: "self.bits.ones() as f64 - m * self.flips", to: "self.bits.ones() as f64" },
    Break { slug: "rfid", file: "trust/rfid.rs", from: "Self::known(state, position + 1, self.window, self.shape)?", to: "Self::known(state, position, self.window, self.shape)?" },
    Break { slug: "visited", file: "search/visited.rs", from: "self.filter.insert(state) == everbloom::Seen::New", to: "self.filter.insert(state) != everbloom::Seen::New" },
    Break { slug: "wallet", file: "trust/wallet/mod.rs", from: "filter.insert(&transaction.outpoint(number)[..])?;", to: "filter.insert(&transaction.id[..])?;" },
];
