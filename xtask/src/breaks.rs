//! Applications broken in one line each: a verdict, or the comparison with the exact twin, must turn red.

use crate::faults::{self, Fault, by_a_test};

/// The application, the file, of its run or of its tool, and the line that is broken.
struct Break {
    slug: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
}

/// Runs every break, or those of the application `only`.
pub fn run(only: Option<&str>) -> Result<(), String> {
    let breaks = BREAKS.iter().filter(|b| only.is_none_or(|slug| b.slug == slug));
    let faults: Vec<Fault> = breaks
        .map(|Break { slug, file, from, to }| Fault {
            name: slug,
            file: (*file).to_owned(),
            from,
            to,
            package: "everbloom-lab",
            tests: vec!["--test", "applications", "every_verdict"],
            only: Some(slug),
        })
        .collect();
    faults::run("breaks", &faults, |_, output| by_a_test(output))
}

/// In the order of the applications' names.
#[rustfmt::skip]
const BREAKS: &[Break] = &[
    Break { slug: "admission", file: "evidence/src/applications/caching/admission.rs", from: "self.recent.insert(object) == Seen::Maybe", to: "self.recent.insert(object) != Seen::Maybe" },
    Break { slug: "annotations", file: "evidence/src/applications/caching/annotations.rs", from: "    browser.refresh(&delta)?;\n", to: "" },
    Break { slug: "approximate", file: "crates/everbloom-tools/src/sync/approximate.rs", from: "    known.keys().for_each(|key| _ = filter.insert(key));\n", to: "" },
    Break { slug: "approximate", file: "crates/everbloom-tools/src/sync/approximate.rs", from: "filter(|key| !filter.contains(*key))", to: "filter(|key| filter.contains(*key))" },
    Break { slug: "attenuated-routing", file: "evidence/src/applications/peers/attenuated_routing.rs", from: "others.filter(|(to, _)| **to != node)", to: "others.filter(|(to, _)| **to == node)" },
    Break { slug: "attribute", file: "crates/everbloom-tools/src/attribute.rs", from: "window.filter.insert_from(sender, payload)?;", to: "window.filter.insert_from(b\"\", payload)?;" },
    Break { slug: "biometrics", file: "evidence/src/applications/trust/biometrics.rs", from: "u64::from(column ^ key)", to: "u64::from(column | key)" },
    Break { slug: "bloomjoin", file: "crates/everbloom-tools/src/join.rs", from: "let both = ours.m() - ours.bits().ones_in_both(theirs.bits());", to: "let both = ours.bits().ones_in_both(theirs.bits());" },
    Break { slug: "box-query", file: "evidence/src/applications/tables/box_query.rs", from: "is_some_and(|values| inside(values, wanted))", to: "is_some()" },
    Break { slug: "breach", file: "crates/everbloom-tools/src/breach/near.rs", from: "        insert(&changed(&substituted(i), &letters, [i, i + 1], b\"\"));\n", to: "" },
    Break { slug: "breach", file: "crates/everbloom-tools/src/breach/near.rs", from: "    [b'S', a, b, c, d]\n", to: "    [b'S', a & 0, b, c, d]\n" },
    Break { slug: "broadcast", file: "evidence/src/applications/trust/broadcast.rs", from: "true => bits.reset(bit),", to: "true => ()," },
    Break { slug: "buffalo", file: "evidence/src/applications/forwarding/buffalo.rs", from: "                changed.insert(old);\n", to: "" },
    Break { slug: "buffalo", file: "evidence/src/applications/forwarding/buffalo.rs", from: "            planes.insert(&address);\n", to: "            planes.insert(&(address | 1));\n" },
    Break { slug: "cache-digests", file: "evidence/src/applications/caching/cache_digests.rs", from: "        self.counts.remove(url)?;\n", to: "        self.counts.remove(&url[1..]).ok();\n" },
    Break { slug: "capabilities", file: "evidence/src/applications/forwarding/capabilities.rs", from: "        header.fill() <= LIMIT && self.has(", to: "        self.has(" },
    Break { slug: "capabilities", file: "evidence/src/applications/forwarding/capabilities.rs", from: "of(epoch) || epoch.checked_sub(1).is_some_and(of)", to: "of(epoch)" },
    Break { slug: "collection-tree", file: "evidence/src/applications/wireless/collection_tree.rs", from: "filter.age(ticks)", to: "filter.age(ticks / 2)" },
    Break { slug: "data-center", file: "evidence/src/applications/forwarding/data_center.rs", from: "let clean = self.wrong(&header, &route).0 == 0;", to: "let clean = self.wrong(&header, &route).0 < 9;" },
    Break { slug: "destinations", file: "evidence/src/applications/forwarding/destinations.rs", from: "Headers::Rebuilt => self.header(&destinations),", to: "Headers::Rebuilt => self.header(&destinations[..1])," },
    Break { slug: "differential-file", file: "evidence/src/applications/tables/differential_file.rs", from: "found.map_or_else(|| self.master.get(id), Option::as_ref)", to: "self.master.get(id).or(found.and_then(Option::as_ref))" },
    Break { slug: "discovery", file: "evidence/src/applications/search/discovery.rs", from: "        held.services.remove(name);\n", to: "" },
    Break { slug: "disk-capabilities", file: "evidence/src/applications/trust/disk_capabilities.rs", from: "disk.revoked.insert(&capability.id);", to: "disk.revoked.insert(&capability.mac);" },
    Break { slug: "duplicate-clicks", file: "evidence/src/applications/streams/duplicate_clicks.rs", from: "Decaying::in_blocks(WINDOW, BLOCKS,", to: "Decaying::in_blocks(WINDOW / 2, BLOCKS," },
    Break { slug: "en-route", file: "evidence/src/applications/trust/en_route.rs", from: "report.macs.bits().ones() <= most_ones() && different", to: "different" },
    Break { slug: "evasion", file: "evidence/src/applications/tracing/evasion.rs", from: "let limit = (count as f64 * limit) as usize;", to: "let limit = (count as f64 * limit * 0.1) as usize;" },
    Break { slug: "fair-blue", file: "evidence/src/applications/measuring/fair_blue.rs", from: "            self.active = warm;\n", to: "            drop(warm);\n" },
    Break { slug: "flow-counters", file: "crates/everbloom-tools/src/top/flow_counters.rs", from: "key.len() <= LONGEST && !self.seen.contains(key)", to: "key.len() <= LONGEST" },
    Break { slug: "flow-counters", file: "crates/everbloom-tools/src/top/flow_counters.rs", from: "self.counts.insert_times(key, weight)?;", to: "self.counts.insert_times(key, 1)?;" },
    Break { slug: "flow-table", file: "evidence/src/applications/tables/flow_table.rs", from: "        self.table.balance(SWEEPS);\n", to: "" },
    Break { slug: "foreseer", file: "evidence/src/applications/peers/foreseer.rs", from: "if !self.filters[to].contains(&object) || !asked.insert(to) {", to: "if self.filters[to].contains(&object) || !asked.insert(to) {" },
    Break { slug: "friends", file: "evidence/src/applications/peers/friends.rs", from: "let salt = if new_seeds { seed ^ contact } else { seed };", to: "let salt = seed;" },
    Break { slug: "global-iceberg", file: "crates/everbloom-tools/src/top/global_iceberg.rs", from: "Some(counts) => counts.merge(site.counts())?,", to: "Some(_) => {}" },
    Break { slug: "gnutella", file: "evidence/src/applications/peers/gnutella.rs", from: "        self.unite()?;\n", to: "" },
    Break { slug: "heavy-flows", file: "crates/everbloom-tools/src/top/heavy_flows.rs", from: "*entry = Entry { before: 0, counted: 0 };", to: "entry.before = 0;" },
    Break { slug: "heavy-flows", file: "crates/everbloom-tools/src/top/heavy_flows.rs", from: "if count >= self.threshold {", to: "if count > 2 * self.threshold {" },
    Break { slug: "iceberg", file: "crates/everbloom-tools/src/top/iceberg.rs", from: "        self.sketch.merge(&other.sketch)\n", to: "        _ = other;\n        Ok(())\n" },
    Break { slug: "iceberg", file: "crates/everbloom-tools/src/top/iceberg.rs", from: "*count = count.saturating_add(weight);", to: "*count = weight;" },
    Break { slug: "interests", file: "evidence/src/applications/trust/interests.rs", from: "Hasher::keyed(group.clone())", to: "Hasher::seeded(group.id() % 2)" },
    Break { slug: "kmer", file: "crates/everbloom-tools/src/kmer/mod.rs", from: "both[i / 64] >> (i % 64) & 1;", to: "both[i / 64] >> (i % 63) & 1;" },
    Break { slug: "kmer", file: "crates/everbloom-tools/src/kmer/mod.rs", from: "words[slab.at as usize] |= u64::from_le_bytes(word);", to: "words[slab.at as usize] = u64::from_le_bytes(word);" },
    Break { slug: "known", file: "crates/everbloom-tools/src/known.rs", from: "(self.blocks.contains(chunk), chunk.len() as u64)", to: "(self.blocks.contains(&chunk[1..]), chunk.len() as u64)" },
    Break { slug: "known", file: "crates/everbloom-tools/src/known.rs", from: "digest[4 * i + j]", to: "digest[j]" },
    Break { slug: "label-switch", file: "evidence/src/applications/forwarding/label_switch.rs", from: "owners.fold(0, |ports, (_, more)| ports | more);", to: "owners.fold(0, |_, (_, more)| *more);" },
    Break { slug: "link", file: "crates/everbloom-tools/src/link/mod.rs", from: "pub const MISS: f64 = 0.01;", to: "pub const MISS: f64 = 0.9;" },
    Break { slug: "link", file: "crates/everbloom-tools/src/link/mod.rs", from: "if dice >= self.threshold {", to: "if dice >= self.threshold - 0.5 {" },
    Break { slug: "location", file: "evidence/src/applications/trust/location.rs", from: "self.map.insert(point, area).map(drop)", to: "self.map.insert(point, area / 2).map(drop)" },
    Break { slug: "longest-prefix", file: "evidence/src/applications/forwarding/longest_prefix.rs", from: "            self.filter.remove(&key)?;\n", to: "            self.filter.remove(&(key ^ 1)).ok();\n" },
    Break { slug: "longest-prefix", file: "evidence/src/applications/forwarding/longest_prefix.rs", from: "for (&length, level) in self.levels.iter().rev() {", to: "for (&length, level) in self.levels.iter() {" },
    Break { slug: "loops", file: "evidence/src/applications/tracing/loops.rs", from: "if passed.visit(names[at]) {", to: "if passed.visit(names[at] ^ hop as u64) {" },
    Break { slug: "lsm", file: "evidence/src/applications/tables/lsm/log.rs", from: "unsealed(bytes.get(..4 + length + 4)?)?.get(4..)?", to: "bytes.get(4..4 + length)?" },
    Break { slug: "lsm", file: "evidence/src/applications/tables/lsm/merge.rs", from: "entry.cell < least.cell", to: "entry.cell <= least.cell" },
    Break { slug: "multicast", file: "evidence/src/applications/forwarding/multicast.rs", from: ".filter(|i| Some(*i) != came_by);", to: ".filter(|_| came_by != Some(u64::MAX));" },
    Break { slug: "names", file: "evidence/src/applications/forwarding/names/mod.rs", from: "            port = at.port.or(port);\n", to: "            port = port.or(at.port);\n" },
    Break { slug: "names", file: "evidence/src/applications/forwarding/names/mod.rs", from: "self.lengths.iter().rev().filter(", to: "self.lengths.iter().filter(" },
    Break { slug: "neighbors", file: "evidence/src/applications/wireless/neighbors.rs", from: "neighbors.into_iter().any(", to: "neighbors.into_iter().all(" },
    Break { slug: "off-by-default", file: "evidence/src/applications/forwarding/off_by_default.rs", from: "self.lengths.iter().any(", to: "self.lengths.iter().take(1).any(" },
    Break { slug: "packet-filter", file: "evidence/src/applications/forwarding/packet_filter.rs", from: "(self.mask(), self.protocol.unwrap_or(0), address", to: "(0, self.protocol.unwrap_or(0), address" },
    Break { slug: "path-gossip", file: "evidence/src/applications/wireless/path_gossip.rs", from: "filter.extend(path);", to: "filter.extend(&path[2..]);" },
    Break { slug: "planetp", file: "evidence/src/applications/peers/planetp.rs", from: "query.iter().all(|word| filters[i].contains(word))", to: "query.iter().any(|word| filters[i].contains(word))" },
    Break { slug: "posting-lists", file: "crates/everbloom-tools/src/join.rs", from: "theory::fpr_best(bits.clamp(2.0, 40.0))", to: "theory::fpr_best(bits.clamp(2.0, 9.0))" },
    Break { slug: "private-counts", file: "evidence/src/applications/trust/private_counts.rs", from: "self.bits.ones() as f64 - m * self.flips", to: "self.bits.ones() as f64" },
    Break { slug: "puzzles", file: "evidence/src/applications/streams/puzzles.rs", from: "self.previous = std::mem::replace(&mut self.current, next);", to: "self.current = next;" },
    Break { slug: "quad-tree", file: "evidence/src/applications/peers/quad_tree.rs", from: "                self.squares[level][old].remove(&host)?;\n", to: "" },
    Break { slug: "replay", file: "evidence/src/applications/streams/replay.rs", from: "if age > 1 {", to: "if age > 2 {" },
    Break { slug: "revoked", file: "crates/everbloom-tools/src/revoked/merkle.rs", from: "chain_update([1]).chain_update(left)", to: "chain_update([0]).chain_update(left)" },
    Break { slug: "revoked", file: "crates/everbloom-tools/src/revoked/mod.rs", from: "            Status::AskForProof => Status::Valid,\n", to: "            Status::AskForProof => Status::Revoked,\n" },
    Break { slug: "rfid", file: "evidence/src/applications/trust/rfid.rs", from: "Self::known(state, position + 1, self.window, self.shape)?", to: "Self::known(state, position, self.window, self.shape)?" },
    Break { slug: "route-check", file: "evidence/src/applications/measuring/route_check.rs", from: "sum += difference;", to: "sum += difference.abs();" },
    Break { slug: "signatures", file: "evidence/src/applications/tracing/signatures.rs", from: "if self.read > length as u64 {", to: "if self.read > length as u64 + 1 {" },
    Break { slug: "similar", file: "crates/everbloom-tools/src/chunks.rs", from: "if i + 1 >= LEAST && hash >> 56 == 0 {", to: "if i + 1 >= 256 {" },
    Break { slug: "similar", file: "crates/everbloom-tools/src/similar.rs", from: "self.matrix.copies(least / 2.0)", to: "self.matrix.copies(0.95)" },
    Break { slug: "sleep-proxy", file: "evidence/src/applications/caching/sleep_proxy.rs", from: "if !stale {", to: "if stale {" },
    Break { slug: "snoop", file: "evidence/src/applications/caching/snoop.rs", from: "filter.insert(&line);", to: "filter.insert(&(line | 1));" },
    Break { slug: "spell", file: "crates/everbloom-tools/src/spell/hyphenate.rs", from: "            if let Some(points) = self.table.find(&lower)? {", to: "            if let Some(points) = self.table.find(&lower)?.filter(|p| p.len() > 1) {" },
    Break { slug: "spell", file: "crates/everbloom-tools/src/spell/mod.rs", from: "parts.all(|part|", to: "parts.any(|part|" },
    Break { slug: "spie", file: "evidence/src/applications/tracing/spie.rs", from: "(self.source, self.target, self.id, ", to: "(self.source, self.target, self.id ^ u16::from(self.time_to_live), " },
    Break { slug: "split-trees", file: "evidence/src/applications/forwarding/split_trees.rs", from: "path(node).into_iter().collect();", to: "path(node).into_iter().skip(1).collect();" },
    Break { slug: "subscriptions", file: "evidence/src/applications/forwarding/subscriptions/mod.rs", from: "    predicates.sort_unstable();\n", to: "    predicates.truncate(MOST);\n" },
    Break { slug: "traceback", file: "evidence/src/applications/tracing/traceback.rs", from: "self.filter.insert(&router);", to: "self.filter.insert(&(router >> 1));" },
    Break { slug: "tree-routing", file: "evidence/src/applications/peers/tree_routing.rs", from: "            route.hops += 1;\n            route.wrong.push(child);\n", to: "            route.wrong.push(child);\n" },
    Break { slug: "tuple-space", file: "evidence/src/applications/forwarding/crossproduct.rs", from: "(packet[i], lengths[i][levels[i]])", to: "(packet[i], lengths[i][0])" },
    Break { slug: "tuple-space", file: "evidence/src/applications/forwarding/tuple_space.rs", from: "best = best.max_by_priority(found.copied());", to: "best = found.copied().or(best);" },
    Break { slug: "visited", file: "evidence/src/applications/search/visited.rs", from: "self.filter.insert(state) == everbloom::Seen::New", to: "self.filter.insert(state) != everbloom::Seen::New" },
    Break { slug: "wake-up", file: "evidence/src/applications/wireless/wake_up.rs", from: "frame.bits.ones() <= self.most_ones", to: "frame.bits.ones() < u64::MAX" },
    Break { slug: "wallet", file: "evidence/src/applications/trust/wallet/mod.rs", from: "filter.insert(&transaction.outpoint(number)[..])?;", to: "filter.insert(&transaction.id[..])?;" },
    Break { slug: "xml-paths", file: "evidence/src/applications/forwarding/xml_paths/mod.rs", from: "self.prefixes.may_have(path)", to: "self.absolute.may_have(path)" },
    Break { slug: "zfilters", file: "evidence/src/sim/in_packet.rs", from: "let best = made.min_by_key(|header|", to: "let best = made.max_by_key(|header|" },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// A change of the code may leave a break without the text it breaks.
    #[test]
    fn every_break_finds_its_text_once() {
        for Break { slug, file, from, .. } in BREAKS {
            let path = format!("{}/../{file}", env!("CARGO_MANIFEST_DIR"));
            let text = std::fs::read_to_string(&path).expect("the file");
            assert_eq!(text.matches(from).count(), 1, "{slug}: {from}");
        }
    }
}
