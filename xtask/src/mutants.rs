//! Mutants: the code broken in named ways, one at a time. A mutant that no test notices is a hole.
//!
//! Pinned files are left out of the tests that run, since they notice any change at all: what is shown
//! here is that the *meaning* is tested.

use std::time::Instant;

use crate::tree::{Tree, failed_tests};

struct Mutant {
    name: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
    /// Arguments of `cargo test -p everbloom` that are enough to notice it.
    tests: &'static [&'static str],
}

/// Runs every mutant, or the one called `only`.
pub fn run(only: Option<&str>) -> Result<(), String> {
    let tree = Tree::copy("mutants")?;
    let mutants: Vec<&Mutant> =
        MUTANTS.iter().filter(|m| only.is_none_or(|name| m.name.contains(name))).collect();
    let mut survived = Vec::new();
    for mutant in &mutants {
        let start = Instant::now();
        let original = tree.read(mutant.file)?;
        tree.replace(mutant.file, mutant.from, mutant.to)?;
        let mut args = vec!["test", "-p", "everbloom", "--quiet", "--color", "never"];
        args.extend(mutant.tests);
        args.extend(["--", "--format", "pretty"]);
        let output = tree.cargo(&args)?;
        tree.write(mutant.file, &original)?;
        let failed = failed_tests(&output);
        let verdict = if let Some(first) = failed.first() {
            format!("caught by {first}")
        } else if output.status.success() {
            survived.push(mutant.name);
            "SURVIVED".to_owned()
        } else {
            // A mutant that does not compile proves nothing.
            return Err(format!("{}: {}", mutant.name, String::from_utf8_lossy(&output.stderr)));
        };
        println!("{:<44} {verdict} ({:.0} s)", mutant.name, start.elapsed().as_secs_f64());
    }
    if survived.is_empty() {
        println!("{} mutants, all caught", mutants.len());
        Ok(())
    } else {
        Err(format!("survived: {}", survived.join(", ")))
    }
}

macro_rules! mutant {
    ($name:literal, $file:literal, $from:literal => $to:literal, $($test:literal)+) => {
        Mutant {
            name: $name,
            file: concat!("crates/everbloom/src/", $file),
            from: $from,
            to: $to,
            tests: &[$($test),+],
        }
    };
}

const MUTANTS: &[Mutant] = &[
    mutant!("disk: a temporary file is not synced", "disk/mod.rs", "    note(|| Step::Sync(name.clone()))?;\n    temporary.as_file().sync_all()?;\n" => "", "--test" "durability"),
    mutant!("disk: a folder is not synced", "disk/mod.rs", "    note(|| Step::SyncFolder(folder.to_owned()))?;\n    sys::sync_folder(folder)" => "    Ok(())", "--test" "durability"),
    mutant!("disk: whoever waited keeps the old file", "disk/lock.rs", "if sys::is_at(&file, path)? {" => "if sys::is_at(&file, path).is_ok() {", "--test" "durability"),
    mutant!("pages: committed before they are synced", "pages/mod.rs", "        inner.file.sync()?;\n" => "", "--test" "durability"),
    mutant!("limits: what expands is not", "state/mod.rs", "self.expanded.unwrap_or(length.saturating_mul(32).max(256 << 20))" => "u64::MAX + 0 * length", "--test" "hostile" "what_expands"),
    mutant!("limits: a filter of ones is taken", "file/open.rs", "Some(Some(n)) if n <= most => Ok(())," => "Some(Some(n)) if n <= most || n > 0.0 => Ok(()),", "--test" "hostile" "fuller"),
    mutant!("keys: small integers are not sign-extended", "hash/key.rs", "f(&(*self as i64).to_le_bytes())" => "f(&(*self as i64 & 0xFFFF_FFFF).to_le_bytes())", "--lib" "an_integer_is_its_value"),
    mutant!("ring: k + 1", "probe/ring.rs", "(0..self.k)" => "(0..self.k + 1)", "--lib" "scattered"),
    mutant!("ring: k - 1", "probe/ring.rs", "(0..self.k)" => "(1..self.k)", "--lib" "scattered"),
    mutant!("mixed: k + 1", "probe/mixed.rs", "(0..u64::from(self.k))" => "(0..u64::from(self.k) + 1)", "--test" "evidence" "f1_"),
    mutant!("mixed: k - 1", "probe/mixed.rs", "(0..u64::from(self.k))" => "(1..u64::from(self.k))", "--test" "evidence" "f1_"),
    mutant!("ring: constant step", "probe/ring.rs", "Walk { x: digest.h1, y: digest.h2, step: STEP }" => "Walk { x: digest.h1, y: 7, step: STEP }", "--lib" "probe"),
    mutant!("mixed: one constant probe", "probe/mixed.rs", "multiply_shift(digest.word(i), m)" => "if i == 0 { 0 } else { multiply_shift(digest.word(i), m) }", "--test" "evidence" "f1_"),
    mutant!("enhanced: increment before adding", "probe/enhanced.rs", "x = add_mod(x, y, m);\n            y = add_mod(y, i % m, m);" => "y = add_mod(y, i % m, m);\n            x = add_mod(x, y, m);", "--test" "evidence" "f4_"),
    mutant!("double: even steps", "probe/double.rs", "(digest.h2 | 1) % m" => "(digest.h2 & !1) % m", "--test" "evidence" "f3_"),
    mutant!(
        "blocked: first probe constant",
        "probe/blocked.rs",
        "= (digest.h2, per_word, 0u64);" => "= (digest.h2 & !mask, per_word, 0u64);",
        "--test" "evidence" "i6_"
    ),
    mutant!("partitioned: slices share a word", "probe/partitioned.rs", "multiply_shift(digest.word(i), slice)" => "multiply_shift(digest.word(0), slice)", "--test" "evidence" "f2_"),
    mutant!("residues: scaled instead of divided", "probe/residues.rs", "start + digest.h1 % part" => "start + super::multiply_shift(digest.h1, part)", "--test" "evidence" "i1_"),
    mutant!("digest: salt ignored", "hash/mod.rs", "let s = mix64(salt ^ 0x5851_F42D_4C95_7F2D);" => "let s = mix64(0x5851_F42D_4C95_7F2D & (salt | 1).min(0));", "--lib"),
    mutant!("counters: saturated ones come down", "cells/counters.rs", "if value >= by && value != self.max()" => "if value >= by", "--test" "evidence" "c1_"),
    mutant!("counters: wrap at the maximum", "cells/counters.rs", "self.cells.set(i, value.min(self.max()));" => "self.cells.set(i, value);", "--lib" "counters"),
    mutant!("counting: removal without its check", "parts/tally.rs", "self.cells.get(*cell) < *hashes" => "self.cells.get(*cell) < (*hashes).min(1)", "--test" "evidence" "c1_"),
    mutant!("bits: fold pairs wrongly", "cells/pairing.rs", "Pairing::Neighbors(run) => i / (2 * run) * run + i % run," => "Pairing::Neighbors(_) => i % half,", "--lib" "fold"),
    mutant!("packed: a field spills", "cells/packed.rs", "if shift + width > 64 {\n        let spill" => "if shift + width > 65 {\n        let spill", "--lib" "packed"),
    mutant!("file: file length unchecked", "file/layout.rs", ".filter(|l| l.file == file_len && file_len == there && payload_len.is_multiple_of(64))" => ".filter(|l| l.file <= there && payload_len.is_multiple_of(64))", "--test" "hostile"),
    mutant!("file: header checksum unchecked", "file/layout.rs", "if crc32c::crc32c(&bytes[..crc_at]) != u32_at(bytes, crc_at)" => "if crc_at == 0", "--test" "hostile"),
    mutant!("file: payload checksums unchecked", "file/layout.rs", "if crc32c::crc32c(chunk) != u32_at(bytes, table + 4 * i)" => "if chunk.is_empty()", "--test" "hostile"),
    mutant!("file: padding unchecked", "file/layout.rs", "if bytes[crc_at + 4..payload_start].iter().any(|&b| b != 0)" => "if payload_start == 0", "--test" "hostile"),
    mutant!("file: array length unchecked", "state/tree.rs", "end.filter(|&e| e <= self.payload_len)" => "end.filter(|&e| e > 0 || e == 0)", "--test" "hostile"),
    mutant!(
        "probe: k of a file unchecked",
        "probe/mod.rs",
        "if k == 0 || k > MAX_K" => "if k == u32::MAX",
        "--test" "hostile" "probes_outside"
    ),
    mutant!("cells: array length unchecked", "cells/mod.rs", ".filter(|bits| bits.div_ceil(64) == words.len() as u64)" => ".filter(|bits| bits.div_ceil(64) <= 1 << 40)", "--test" "hostile"),
    mutant!("save: not atomic", "disk/mod.rs", "temporary.persist(&path).map_err(|e| e.error)?;" => "temporary.persist(path.with_extension(\"tmp\")).map_err(|e| e.error)?;", "--test" "conformance" "saved_filters"),
    mutant!("plan: k by truncation", "plan/flat.rs", "k_set.unwrap_or_else(|| best_k(m, n))" => "k_set.unwrap_or_else(|| (bloom::optimal_k(m as f64, n as f64) as u32).max(1))", "--test" "evidence" "f1_planned"),
    mutant!("merge: seeds not compared", "hash/mod.rs", "let what = if self.is_keyed() { \"key\" } else { \"seed\" };" => "let what = \"seed\";\n        if other.seed != self.seed { return Ok(()); }", "--test" "conformance" "merging"),
    mutant!("scalable: one layer salt dropped", "growing/scalable/mod.rs", "layer.slices.insert(digest.salted(newest as u64));" => "layer.slices.insert(digest.salted(0));", "--lib" "scalable"),
    mutant!("generalized: reset salt dropped", "hostile/generalized.rs", "let salted = digest.salted(RESET);" => "let salted = digest;", "--test" "evidence" "r10_"),
    mutant!("generalized: self-collisions not skipped", "hostile/generalized.rs", "self.bits.get(i) || resets.contains(&i)" => "self.bits.get(i)", "--test" "evidence" "r10_"),
    mutant!("bloom-g: words of a key share a salt", "membership/bloom_g/mod.rs", "digest.salted(u64::from(j))" => "digest.salted(u64::from(j.min(1)))", "--test" "evidence" "i5_"),
    mutant!("bloom-g: one probe fewer in a word", "membership/bloom_g/mod.rs", "Blocked::new(shape.words, shape.word, shape.k / shape.g)" => "Blocked::new(shape.words, shape.word, (shape.k / shape.g).saturating_sub(1).max(1))", "--test" "evidence" "i5_"),
    mutant!("banked: the first bank from the first probe", "hardware/banks.rs", "digest.word(FIRST_BANK)" => "digest.word(0)", "--test" "evidence" "i17_"),
    mutant!("perfect hash: cells without owner count", "solve/mphf.rs", "let nobody = word & word >> 1 & 0x5555_5555_5555_5555;" => "let nobody = word & word >> 1 & 0x1555_5555_5555_5555;", "--lib" "mphf"),
    mutant!("soft error: insertion without its check", "hardware/parity.rs", "            self.mend(word);\n            if self.bits.set(i)" => "            if self.bits.set(i)", "--test" "evidence" "i20_"),
    mutant!("soft error: odd words read as they are", "hardware/parity.rs", "self.bits.get(i) || self.odd(self.word_of(i))" => "self.bits.get(i)", "--test" "evidence" "i20_"),
    mutant!("lanes: one bit too low", "probe/lanes/avx512.rs", "u64::from(salt) << 26" => "u64::from(salt) << 25", "--lib" "lanes"),
    mutant!("lanes: half a line not looked at", "probe/lanes/avx2.rs", "_mm256_andnot_si256(bits[1], high)" => "_mm256_andnot_si256(bits[0], low)", "--lib" "lanes"),
    mutant!("split-block: a wrong constant", "probe/lanes/mod.rs", "0x2df1_424b" => "0x2df1_424d", "--test" "evidence" "i4_"),
    mutant!("fast hash: one fold", "hash/fold.rs", "digest_of(fold(fold(word ^ start, K1) ^ start, K2))" => "digest_of(fold(word ^ start, K1))", "--lib" "hash"),
    mutant!("quick hash: the fold as it is", "hash/fold.rs", "Digest { h1: h.wrapping_mul(K2), h2: h.wrapping_mul(K3) }" => "Digest { h1: h.wrapping_mul(K2), h2: h }", "--lib" "hash"),
    mutant!("scattered: one probe fewer set", "probe/scattered/mod.rs", "for _ in 0..k {" => "for _ in 1..k {", "--test" "evidence" "f1_insertion"),
    mutant!("scattered: one probe fewer asked", "probe/scattered/avx512.rs", "0xFF >> (8 - ring.k().clamp(1, 8))" => "0xFF >> (9 - ring.k().clamp(2, 8))", "--lib" "scattered"),
    mutant!("scattered: the way starts late", "probe/ring.rs", "step: (steps + 1).wrapping_mul(STEP)" => "step: steps.wrapping_mul(STEP)", "--lib" "scattered"),
    mutant!("lanes: the first key of a chunk is lost", "probe/lanes/mod.rs", "(0..len).for_each(|i| act" => "(1..len).for_each(|i| act", "--lib" "lanes"),
    mutant!("vector hash: a carry is lost", "hash/vector.rs", "_mm512_add_epi64(_mm512_mul_epu32(a1, b0), high(least))" => "_mm512_mul_epu32(a1, b0)", "--lib" "hash"),
    mutant!("threads: a lane is overwritten", "membership/blocked/atomic.rs", "word.store(old | mask, Ordering::Relaxed)" => "word.store(mask, Ordering::Relaxed)", "--lib" "bulk"),
    mutant!("binary fuse: keys across the middle are lost", "compact/binary_fuse/peeling.rs", "[lower.waiting, upper.waiting].concat()" => "Vec::new()", "--lib" "fuse"),
    mutant!("binary fuse: a key near the middle counted once too little", "compact/binary_fuse/peeling.rs", "+ A * segment <= start" => "<= start", "--lib" "fuse"),
    mutant!("binary fuse: groups of two halves the wrong way round", "solve/sorted.rs", "let (one, other) = cores.both(|| group(one), || group(other));" => "let (other, one) = cores.both(|| group(one), || group(other));", "--lib" "sorted"),
    mutant!("binary fuse: cells unchecked", "compact/binary_fuse/geometry.rs", "whole && self.starts > 0 && self.cells() <= cells as u64" => "whole", "--lib" "fuse"),
    mutant!("bulk: the last round left out", "probe/bulk.rs", "for _ in 0..ring.k() {" => "for _ in 1..ring.k() {", "--lib" "many"),
    mutant!("invertible: purity without its check", "reconciling/invertible/layer.rs", "digest.word(CHECK) == check && " => "", "--test" "evidence" "s37_"),
    mutant!("bloomier: mask dropped", "keyvalue/xor_cells.rs", "let mask = digest.word(MASK) & self.table.max();" => "let mask = 0;", "--test" "evidence" "s20_"),
    mutant!("ternary: coinciding hashes count twice", "deleting/ternary.rs", "Coincide::Distinct)" => "Coincide::PerHash)", "--test" "evidence" "s26_"),
    mutant!("stable: one decrement fewer", "decaying/stable.rs", "let end = start + self.decrements;" => "let end = start + self.decrements - 1;", "--test" "evidence" "s27_"),
    mutant!("fading: no sweep", "cells/fading.rs", "if self.left(self.swept) == 0 {" => "if self.left(self.swept) == u64::MAX {", "--lib" "cells::fading"),
    mutant!("fading: a stamp one tick late", "cells/fading.rs", "(0, 1..) => 1 + (self.phase + life)" => "(0, 1..) => 2 + (self.phase + life)", "--lib" "cells::fading"),
    mutant!("fading: a leap clears too few", "cells/fading.rs", "if self.left(i) <= ticks {" => "if self.left(i) < ticks {", "--lib" "cells::fading"),
    mutant!("generations: salt dropped", "parts/generations.rs", "digest.salted(self.turn.wrapping_sub(i as u64))" => "digest.salted(self.turn.wrapping_sub(i as u64) / u64::MAX)", "--test" "evidence" "s33_filters_have"),
    mutant!("generations: the newest is not cleared", "parts/generations.rs", "newest.flat.clear();" => "", "--lib" "parts::generations"),
    mutant!("decaying: initial value off by one", "decaying/decaying_bloom.rs", "window.saturating_sub(1).div_ceil(blocks.max(1)).saturating_add(1)" => "window.saturating_sub(1).div_ceil(blocks.max(1))", "--test" "evidence" "s29_initial"),
    mutant!("decaying: set before the tick", "decaying/decaying_bloom.rs", "        probe.each(digest, |i| cells.set(i, life));\n" => "        probe.each(digest, |i| cells.set(i, life));\n        cells.tick();\n", "--test" "evidence" "s29_whole"),
    mutant!("decaying: window unchecked", "decaying/decaying_bloom.rs", "(WHOLE, 0) => cells.longest() == window," => "(WHOLE, 0) => true,", "--lib" "decaying_bloom"),
    mutant!("temporal-counting: maximum keeps", "decaying/temporal_counting.rs", "left == 0 || !keep && left < value" => "left == 0", "--lib" "temporal_counting"),
    mutant!("temporal-counting: decay step ignored", "decaying/temporal_counting.rs", "self.levels.cells.age(ticks.saturating_mul(self.decay));" => "self.levels.cells.age(ticks);", "--test" "evidence" "s28_a_key"),
    mutant!("temporal-counting: merged at the wrong time", "decaying/temporal_counting.rs", "join(cells.left(i), left - since)" => "join(cells.left(i), left)", "--test" "evidence" "s28_merging"),
    mutant!("time-decaying: half-life doubled", "decaying/time_decaying.rs", "as f64) / self.half_life)\n    }" => "as f64) / self.half_life / 2.0)\n    }", "--test" "evidence" "s30_half"),
    mutant!("time-decaying: never scaled back", "decaying/time_decaying.rs", "const RESCALE: f64 = 512.0;" => "const RESCALE: f64 = 5120.0;", "--test" "evidence" "s30_lazy"),
    mutant!("time-decaying: negative weights read", "decaying/time_decaying.rs", "if fits && self.weights.iter().all(number) {" => "if fits && self.weights.len() > 0 && number(0) {", "--lib" "time_decaying"),
    mutant!("double-buffer: warms up too early", "decaying/double_buffer.rs", "if self.buffers.items(ACTIVE) > self.capacity / 2 {" => "if self.buffers.items(ACTIVE) >= self.capacity / 2 {", "--lib" "double_buffer"),
    mutant!("double-buffer: swaps one late", "decaying/double_buffer.rs", "if self.buffers.items(ACTIVE) >= self.capacity {" => "if self.buffers.items(ACTIVE) > self.capacity {", "--test" "evidence" "s31_between"),
    mutant!("double-buffer: planned for half", "decaying/double_buffer.rs", "let capacity = |n: u64| n.saturating_mul(2);" => "let capacity = |n: u64| n.saturating_mul(1);", "--test" "evidence" "s31_planned"),
    mutant!("active-active: hits are not copied", "decaying/active_active.rs", "self.buffers.insert(YOUNG, digest);" => "if !seen { self.buffers.insert(YOUNG, digest) }", "--lib" "active_active"),
    mutant!("active-active: each filter at the whole rate", "decaying/active_active.rs", "(n, buffer_rate(p))" => "(n, p)", "--test" "evidence" "s32_rates"),
    mutant!("active-active: swaps one late", "decaying/active_active.rs", "if self.buffers.items(YOUNG) >= self.capacity {" => "if self.buffers.items(YOUNG) > self.capacity {", "--test" "evidence" "s32_between"),
    mutant!("forgetful: any filter is enough", "decaying/forgetful.rs", "std::mem::replace(&mut before, now) && now" => "std::mem::replace(&mut before, now) || now", "--test" "evidence" "s33_"),
    mutant!("forgetful: one filter too few", "decaying/forgetful.rs", "Generations::new(shape.flat, shape.past as usize + 2)" => "Generations::new(shape.flat, shape.past as usize + 1)", "--test" "evidence" "s33_found"),
    mutant!("forgetful: planned for single keys", "decaying/forgetful.rs", "(n.saturating_mul(2), filter_rate(p, past))" => "(n, filter_rate(p, past))", "--test" "evidence" "s33_planned"),
    mutant!("windowed: a life rounded by the epoch", "decaying/windowed.rs", "let end = u128::from(now) + u128::from(ttl);" => "let end = u128::from(now - now % grain) + u128::from(ttl);", "--test" "evidence" "b18_a_life"),
    mutant!("windowed: the latest match is deleted", "decaying/windowed.rs", "min_by_key(|(_, _, left)| *left);" => "max_by_key(|(_, _, left)| *left);", "--test" "evidence" "b18_deletion"),
    mutant!("windowed: a reinsertion shortens a life", "decaying/windowed.rs", "lives.set(slot, left.max(life));" => "lives.set(slot, life);", "--test" "evidence" "b18_reinsertion"),
    mutant!("windowed: kicked entries are not moved back", "decaying/windowed/table.rs", "path.into_iter().rev().for_each(" => "path.into_iter().skip(1).rev().for_each(", "--lib" "windowed"),
    mutant!("windowed: form unchecked", "decaying/windowed.rs", "        if fits {\n            return Ok(());\n        }\n        Err(Error::corrupt(0, \"corrupt filter: a window" => "        if fits || !fits {\n            return Ok(());\n        }\n        Err(Error::corrupt(0, \"corrupt filter: a window", "--lib" "windowed"),
    mutant!("state-machines: disagreeing cells keep a state", "keyvalue/state_machines.rs", "codes.set(i, unknown);" => "codes.set(i, code);", "--test" "evidence" "s42_"),
    mutant!("state-machines: a state outlives its counter", "keyvalue/state_machines.rs", "if counters.get(i) == 0 {" => "if counters.get(i) == 99 {", "--test" "evidence" "s42_"),
    mutant!("state-machines: pairs unsalted", "keyvalue/state_machines.rs", "let pair = cells.indices(digest.salted(code));" => "let pair = cells.indices(digest);", "--test" "evidence" "s42_"),
    mutant!("state-machines: states unchecked", "keyvalue/state_machines.rs", "if !(1..=MAX_STATES).contains(&self.states) || self.names.len() > self.states {" => "if self.states == u64::MAX {", "--lib" "state_machines"),
    mutant!("filter-bank: no code left for none", "grouping/sets.rs", "let needed = 64 - groups.leading_zeros();" => "let needed = 64 - (groups - 1).leading_zeros();", "--test" "evidence" "s39_codes"),
    mutant!("filter-bank: several classes are present", "grouping/filter_bank.rs", "_ if self.all == 1 => Verdict::Present," => "_ if self.all <= 1 => Verdict::Present,", "--test" "evidence" "s39_several"),
    mutant!("filter-bank: classes unchecked", "grouping/filter_bank.rs", "if fits && self.all <= 1 {" => "if fits {", "--lib" "filter_bank"),
    mutant!("attenuated: levels are not moved on", "grouping/attenuated.rs", "told.levels.iter_mut().skip(1).zip(&other.levels)" => "told.levels.iter_mut().zip(&other.levels)", "--test" "evidence" "s40_the_other"),
    mutant!("attenuated: the largest level wins", "grouping/attenuated.rs", "levels.min_by_key(|(_, level)| *level)" => "levels.max_by_key(|(_, level)| *level)", "--test" "evidence" "s40_objects"),
    mutant!("attenuated: shapes unchecked", "grouping/attenuated.rs", "if same && (1..=MAX_DEPTH)" => "if (1..=MAX_DEPTH)", "--lib" "attenuated"),
    mutant!("exponential-decay: own bits fade", "grouping/exponential_decay.rs", "let mut told = self.clone();\n" => "let mut told = self.clone();\n        self.fade(&mut told.flat, &mut Generator::new(epoch));\n", "--test" "evidence" "s41_"),
    mutant!("exponential-decay: keeps too many", "grouping/exponential_decay.rs", "random.unit() * self.decay >= 1.0" => "random.unit() * self.decay >= 1.1", "--test" "evidence" "s41_ones"),
    mutant!("exponential-decay: threshold unchecked", "grouping/exponential_decay.rs", "let known = (1..=u64::from(self.flat.k()))" => "let known = (0..=2 * u64::from(self.flat.k()))", "--lib" "exponential_decay"),
    mutant!("distance-sensitive: threshold off by one", "similarity/distance_sensitive.rs", "Ok(self.hits(key)? >= self.threshold)" => "Ok(self.hits(key)? > self.threshold)", "--test" "evidence" "s34_"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// A change of the code may leave a mutant without the text it breaks.
    #[test]
    fn every_mutant_finds_its_text_once() {
        for mutant in MUTANTS {
            let path = format!("{}/../{}", env!("CARGO_MANIFEST_DIR"), mutant.file);
            let text = std::fs::read_to_string(&path).expect("the file");
            assert_eq!(text.matches(mutant.from).count(), 1, "{}: {}", mutant.name, mutant.file);
        }
    }
}
