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
    mutant!("partitioned: slices share a word", "probe/partitioned.rs", "i * slice + multiply_shift(digest.word(i), slice)" => "i * slice + multiply_shift(digest.word(0), slice)", "--test" "evidence" "f2_"),
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
    mutant!("scalable: one layer salt dropped", "growing/scalable/mod.rs", "layer.part.insert(digest.salted(newest as u64));" => "layer.part.insert(digest.salted(0));", "--lib" "scalable"),
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
    mutant!("bulk: a round left out", "probe/bulk.rs", "for _ in 0..ring.k().min(ROUNDS) {" => "for _ in 1..ring.k().min(ROUNDS) {", "--lib" "many"),
    mutant!("bulk: the last cell left out", "probe/bulk.rs", "let rest = ring.k().saturating_sub(ROUNDS);" => "let rest = ring.k().saturating_sub(ROUNDS + 1);", "--lib" "many"),
    mutant!("lent: two blocks of a region are one", "parts/lent.rs", "place & ((1 << self.shift) - 1)" => "place & ((1 << self.shift) - 1) & !1", "--lib" "lent"),
    mutant!("lent: what is taken is left out", "parts/lent.rs", "(self.set)(&mut blocks, of(region));\n        }" => "let _ = (&mut blocks, of(region));\n        }", "--lib" "lent"),
    mutant!("inlined: half lines with six bits of the product", "probe/lanes/inlined.rs", "\"vpsrld ymm16, ymm16, 27\"" => "\"vpsrld ymm16, ymm16, 26\"", "--lib" "inlined"),
    mutant!("invertible: purity without its check", "parts/sum_cells.rs", "place.check == cell.check && " => "", "--test" "evidence" "s37_"),
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
    mutant!("iblt: the value is outside the check", "keyvalue/iblt.rs", "self.head.hasher.digest(&bytes[..]).word(CHECK)" => "digest.word(CHECK)", "--test" "evidence" "s18_"),
    mutant!("iblt: a pure cell of another key tells nothing", "keyvalue/iblt.rs", "                    _ => Got::Nothing,\n" => "                    _ => Got::Undecided,\n", "--test" "evidence" "s18_"),
    mutant!("iblt: one segment more than planned", "keyvalue/iblt.rs", "SumCells::new(slice, k, words" => "SumCells::new(slice, k + 1, words", "--test" "evidence" "s18_"),
    mutant!("iblt: cells of a file unchecked", "keyvalue/iblt.rs", "            && self.sums.cells.width() == words(self.key_bytes, self.value_bytes);" => ";", "--lib" "iblt"),
    mutant!("dynamic: a filter takes one key too many", "growing/dynamic.rs", "|filter| filter.items < self.capacity)" => "|filter| filter.items <= self.capacity)", "--test" "evidence" "s10_"),
    mutant!("layers: removal from the first that claims the key", "parts/layers.rs", "        (Some(owner), None) => Ok(owner)," => "        (Some(owner), _) => Ok(owner),", "--test" "evidence" "s10_"),
    mutant!("dynamic: capacity of the whole rate", "growing/dynamic.rs", "f64::from(k), each(request.fpr())) as u64" => "f64::from(k), 2.0 * each(request.fpr())) as u64", "--test" "evidence" "s10_"),
    mutant!("layers: counters are dropped, not added", "parts/layers.rs", "        layers[keep].part.add(&freed.part);\n" => "        drop(freed);\n", "--lib" "layers"),
    mutant!("dynamic array: the index is not asked", "growing/dynamic_array.rs", "member.find(digest).is_ok()" => "member.live > 0", "--test" "evidence" "s12_"),
    mutant!("dynamic array: a rebuild forgets the live keys", "growing/dynamic_array.rs", "        keys.into_iter().for_each(|digest| self.set(probe, filter, digest));\n" => "        drop(keys);\n", "--test" "evidence" "s12_"),
    mutant!("dynamic array: never rebuilt", "growing/dynamic_array.rs", "if member.stale >= self.stale_limit || member.live == 0 {" => "if member.live == 0 {", "--test" "evidence" "s12_"),
    mutant!("par-bf: a list's budget is the whole rate", "growing/par_bf.rs", "fpr * libm::exp2(-(j as f64 + 1.0))" => "fpr * libm::exp2(-(j as f64))", "--test" "evidence" "s13_"),
    mutant!("par-bf: the salt of lists dropped", "growing/par_bf.rs", "self.lists[list].filters[filter].insert(digest.salted(list as u64));" => "self.lists[list].filters[filter].insert(digest.salted(0));", "--lib" "par_bf"),
    mutant!("par-bf: filters of any list are united", "growing/par_bf.rs", "layers::unite(&mut list.filters, self.shape.capacity(j).unwrap_or(0));" => "layers::unite(&mut list.filters, u64::MAX);", "--test" "evidence" "s13_"),
    mutant!("weighted: probes without the mean", "theory/weights.rs", "base + score(class) - mean" => "base + score(class)", "--test" "evidence" "s14_"),
    mutant!("weighted: queries without a weight check all probes", "weighted/classes.rs", "let default = held.min().unwrap_or(default).min(most);" => "let default = held.max().unwrap_or(default).min(most);", "--test" "evidence" "s14_"),
    mutant!("weighted: one probe more than the class has", "weighted/classes.rs", "self.probe.all_of_first(self.probes(weight), digest" => "self.probe.all_of_first(self.probes(weight) + 1, digest", "--test" "evidence" "s14_"),
    mutant!("weighted: probes of a file unchecked", "weighted/classes.rs", "sorted && known && kept && self.default <= most" => "sorted && known && self.default <= most", "--lib" "weighted"),
    mutant!("popularity: gains one probe too late", "theory/weights.rs", "self.score(i) * libm::exp2(-f64::from(k + 1))" => "self.score(i) * libm::exp2(-f64::from(k / 2 + 1))", "--test" "evidence" "s15_"),
    mutant!("popularity: the budget without its tolerance", "theory/weights.rs", "            if cost > self.budget + HAIR {" => "            if cost > self.budget - HAIR {", "--test" "evidence" "s15_"),
    mutant!("popularity: the first point beyond the budget", "theory/weights.rs", "        probes(at(fits))" => "        probes(at(below))", "--test" "evidence" "s15_"),
    mutant!("kbf: codes without their cubes", "keyvalue/kbf/field.rs", "u64::from(value) << self.t | u64::from(self.cube(value))" => "u64::from(value) << self.t | u64::from(value)", "--lib" "kbf"),
    mutant!("kbf: coinciding hashes count twice", "keyvalue/kbf/cells.rs", "self.probe.collect(digest, Coincide::Distinct)" => "self.probe.collect(digest, Coincide::PerHash)", "--test" "evidence" "s17_"),
    mutant!("kbf: dead cells are read", "keyvalue/kbf/cells.rs", "_ if self.counters.stuck(i) => Says::Something," => "_ if self.counters.len() == 0 => Says::Something,", "--test" "evidence" "s17_"),
    mutant!("kbf: nothing left is unknown", "keyvalue/kbf/cells.rs", "                    [false, false] => none = true," => "                    [false, false] => {}", "--test" "evidence" "s17_"),
    mutant!("cascade: levels share their hashes", "keyvalue/cascade.rs", "digest.salted((level * values + value) as u64 + 1)" => "digest.salted(value as u64 + 1 + 0 * (level * values) as u64)", "--test" "evidence" "s19_"),
    mutant!("cascade: what the last level claims twice has no value", "keyvalue/cascade.rs", "(found.map(|at| self.table[at].value as usize), self.levels.len())" => "(found.map(|at| self.table[at].value as usize).filter(|_| false), self.levels.len())", "--test" "evidence" "s19_"),
    mutant!("cascade: filters of twice the rate", "keyvalue/cascade.rs", "(p / (v * (1.0 - p) + p)).min(0.5)" => "(2.0 * p / (v * (1.0 - p) + p)).min(0.5)", "--test" "evidence" "s19_"),
    mutant!("slots: lanes that borrow", "cells/slots.rs", "!(((x & below) + below) | x) & tops" => "x.wrapping_sub(ones) & !x & tops & (below | tops)", "--lib" "cells::slots"),
    mutant!("slots: the second bucket not looked at", "cells/slots.rs", "self.near(bucket), value, self.ones);\n            return found(a) | found(b) != 0;" => "self.near(bucket), value, self.ones);\n            return found(a) != 0;", "--lib" "cells::slots"),
    mutant!("kicks: nothing is put back", "parts/kicks.rs", "while let Some(slot) = path.pop() {" => "while let Some(slot) = path.pop().filter(|_| most == 0) {", "--lib" "kicks"),
    mutant!("cuckoo: a fingerprint of zero", "parts/cuckoo_table.rs", "1 + multiply_shift(digest.h2, most)" => "multiply_shift(digest.h2, most)", "--test" "evidence" "b7_slots"),
    mutant!("cuckoo: one bucket counted as two", "parts/cuckoo_table.rs", "if first == second { 0 } else {" => "if fingerprint == 0 { 0 } else {", "--test" "evidence" "b7_copies"),
    mutant!("cuckoo: sorted buckets are not", "cells/slots.rs", "                slots.sort_unstable();\n" => "", "--lib" "cells::slots"),
    mutant!("redisbloom: a constant off by two", "alternates/cuckoo/redis.rs", "0x5BD1_E995" => "0x5BD1_E997", "--test" "evidence" "b7_redis_dump"),
    mutant!("redisbloom: removed from the oldest first", "alternates/cuckoo/redis.rs", "self.filters.iter_mut().rev().any(take)" => "self.filters.iter_mut().any(take)", "--test" "evidence" "b7_redis_removal"),
    mutant!("redisbloom: one sub-filter too many", "alternates/cuckoo/redis.rs", "const MAX_FILTERS: usize = 32;" => "const MAX_FILTERS: usize = 33;", "--test" "evidence" "b7_redis_takes"),
    mutant!("simplified cuckoo: a hashed distance", "alternates/simplified_cuckoo.rs", "        fingerprint\n    }" => "        crate::hash::mix64(fingerprint)\n    }", "--test" "evidence" "b8_"),
    mutant!("simplified cuckoo: planned as if there were no groups", "alternates/simplified_cuckoo.rs", "theory::load_in_groups)" => "|slots, _| theory::load(slots) + 0.04)", "--test" "evidence" "b8_planned"),
    mutant!("simplified cuckoo: sorted buckets in a file", "alternates/simplified_cuckoo.rs", "if self.table.slots.layout() == Layout::Plain {" => "if self.head.items < u64::MAX {", "--lib" "simplified_cuckoo"),
    mutant!("adaptive cuckoo: selectors are not put back", "alternates/adaptive_cuckoo.rs", "overwritten.iter().rev().for_each(|(slot, cell)| self.cells.set(*slot, *cell));" => "drop(overwritten);", "--test" "evidence" "b9_refusal"),
    mutant!("adaptive cuckoo: one fingerprint for all selectors", "alternates/adaptive_cuckoo.rs", "digest.word(FINGERPRINT + function)" => "digest.word(FINGERPRINT + function.min(0))", "--test" "evidence" "b9_"),
    mutant!("adaptive cuckoo: a slot that does not speak for its key", "alternates/adaptive_cuckoo.rs", "if !self.head.hasher.is_keyed() && !self.keys.iter().all(speaks) {" => "if self.head.hasher.is_keyed() && !self.keys.iter().all(speaks) {", "--lib" "adaptive_cuckoo"),
    mutant!("dynamic cuckoo: compaction keeps what it moved", "alternates/dynamic_cuckoo.rs", "sparse.slots.set(bucket, slot, 0);" => "sparse.slots.set(bucket, slot, fingerprint);", "--test" "evidence" "b10_removal"),
    mutant!("dynamic cuckoo: only the newest is searched for removals", "alternates/dynamic_cuckoo.rs", "self.tables.iter_mut().rev().any(|table| table.take(places))" => "self.tables.iter_mut().rev().take(1).any(|table| table.take(places))", "--test" "evidence" "b10_removal"),
    mutant!("dynamic cuckoo: unequal filters in a file", "alternates/dynamic_cuckoo.rs", "if alike && first.3 == Layout::Plain" => "if first.3 == Layout::Plain", "--lib" "dynamic_cuckoo"),
    mutant!("count-min: the last row instead of the least", "counting/count_min/rows.rs", "counts.fold(i64::MAX, i64::min)" => "counts.fold(i64::MAX, |_, last| last)", "--test" "evidence" "s6_"),
    mutant!("count-min: rows one counter short", "counting/count_min/shape.rs", "(core::f64::consts::E / epsilon).ceil()" => "(core::f64::consts::E / epsilon).floor()", "--test" "evidence" "s6_rows"),
    mutant!("count-min: removal without its check", "counting/count_min.rs", "if !(enough || self.signed()) {" => "if !(enough || self.d() > 0) {", "--test" "evidence" "s6_strict"),
    mutant!("count-min: candidates come in too late", "counting/count_min.rs", "            if count > candidates.least() {" => "            if count > candidates.least() + 2000 {", "--test" "evidence" "s6_heavy_hitters"),
    mutant!("signed counters: stuck ones move", "cells/signed.rs", "if !Self::stuck(was) {" => "if was == was {", "--lib" "signed"),
    mutant!("shifting: an offset of zero", "grouping/shifting.rs", "digest.word(SHIFT) % (SPAN - 1) + 1" => "digest.word(SHIFT) % (SPAN - 1)", "--test" "evidence" "s5_pairs"),
    mutant!("shifting: the smallest count", "grouping/shifting.rs", "(0..self.span.div_ceil(64)).rev().map" => "(0..self.span.div_ceil(64)).map", "--test" "evidence" "s5_counts"),
    mutant!("shifting: counts one too low", "grouping/shifting.rs", "number.min(self.span) - 1" => "number.min(self.span).saturating_sub(2)", "--test" "evidence" "s5_multiplicities"),
    mutant!("shifting: regions share an offset", "grouping/shifting.rs", "digest.word(SHIFT + r) % stride + 1" => "digest.word(SHIFT + r) % stride", "--test" "evidence" "s5_association"),
    mutant!("space-code: a wrong step of the recurrence", "counting/space_code/likelihood.rs", "self.p * (free + 1.0 / self.l)" => "self.p * free", "--test" "evidence" "s1_tables"),
    mutant!("space-code: one group for all", "counting/space_code.rs", "digest.salted((level as u64) << 32 | group)" => "digest.salted((level as u64) << 32 | group.min(0))", "--test" "evidence" "s1_groups"),
    mutant!("space-code: twice the sample", "counting/space_code.rs", "self.generator.below(one_of) == 0" => "self.generator.below(one_of) <= 1", "--test" "evidence" "s1_each_resolution"),
    mutant!("invertible counting: purity without its check", "reconciling/invertible_counting/cells.rs", "let fits = wide(&self.checks, i) == times.wrapping_mul(digest.word(CHECK).into());" => "let fits = self.sums() && digest.word(CHECK) > 0;", "--test" "evidence" "s2_sums"),
    mutant!("invertible counting: every copy in the xor", "reconciling/invertible_counting.rs", "let new = self.cells.add(self.locate(id), id, by, held == 0);" => "let new = self.cells.add(self.locate(id), id, by, true);", "--test" "evidence" "s2_copies"),
    mutant!("invertible counting: both sides ours", "reconciling/invertible_counting.rs", "(0, theirs) => theirs.cast_signed().wrapping_neg()," => "(0, theirs) => theirs.cast_signed(),", "--test" "evidence" "s2_"),
    mutant!("loglog: ranks one too high", "counting/loglog.rs", "trailing_zeros()) + 1;" => "trailing_zeros()) + 2;", "--test" "evidence" "s3_"),
    mutant!("loglog: ranks share their cells", "counting/loglog.rs", "self.probe.each(digest.salted(j), |i| {" => "self.probe.each(digest.salted(0), |i| {", "--test" "evidence" "s3_ranks"),
    mutant!("loglog: a wrong constant", "theory/loglog.rs", "libm::pow(base, -d)" => "libm::pow(base, 1.0 - d)", "--test" "evidence" "s3_constants"),
    mutant!("adaptive counting: a correction too small", "counting/adaptive_counting.rs", "run * (1.0 - background) - background" => "run * (1.0 - background)", "--test" "evidence" "s4_runs"),
    mutant!("adaptive counting: full runs grow", "counting/adaptive_counting.rs", "end.filter(|_| length < self.most)" => "end", "--lib" "adaptive_counting"),
    mutant!("adaptive counting: runs one too long", "counting/adaptive_counting.rs", "return (seen.len() as u64, Some(place));" => "return (seen.len() as u64 + 1, Some(place));", "--test" "evidence" "s4_runs"),
    mutant!("hyperloglog: a rank without its guard", "alternates/hyperloglog.rs", "hash >> p | 1 << (64 - p)" => "hash >> p | 1 << 63", "--test" "evidence" "b17_places"),
    mutant!("hyperloglog: a wrong step of the estimate", "theory/cardinality.rs", "self.sum = self.sum - weight(from) + weight(to);" => "self.sum += weight(to);", "--test" "evidence" "b17_mean"),
    mutant!("hyperloglog: ranks of a file unchecked", "alternates/hyperloglog.rs", "|rank| rank <= most)" => "|rank| rank <= most + 9)", "--lib" "hyperloglog"),
    mutant!("top-k: keys without a count are listed", "alternates/top_k.rs", "if most == 0 || most < self.top.least()" => "if most < self.top.least()", "--test" "evidence" "b17_rules"),
    mutant!("top-k: one increment fewer is left", "alternates/top_k.rs", "for left in (1..=times).rev() {" => "for left in (0..times).rev() {", "--test" "evidence" "b17_rules"),
    mutant!("top-k: large counts decay like small ones", "alternates/top_k.rs", "libm::pow(base, f64::from(count))" => "libm::pow(base, f64::from(count.min(1)))", "--test" "evidence" "b17_"),
    mutant!("counter braids: bounds the wrong way round", "solve/messages.rs", "let odd = rounds % 2 == 1;" => "let odd = rounds % 2 == 0;", "--lib" "messages"),
    mutant!("counter braids: only one is carried", "counting/counter_braids.rs", "let carry = sum >> self.low.width();" => "let carry = (sum >> self.low.width()).min(1);", "--test" "evidence" "s8_overflow"),
    mutant!("counter braids: status bits are not merged", "counting/counter_braids.rs", "        self.status.union(&other.status);\n" => "", "--test" "evidence" "s8_sums"),
    mutant!("variable length: one position more is set", "deleting/variable_length.rs", "        self.set_first(digest, self.signature.t);\n        self.head.count(1);" => "        self.set_first(digest, self.signature.t + 1);\n        self.head.count(1);", "--test" "evidence" "s9_"),
    mutant!("variable length: one more has to be there", "deleting/variable_length.rs", "            ones < q\n" => "            ones <= q\n", "--test" "evidence" "s9_"),
    mutant!("variable length: a window stands still", "deleting/variable_length.rs", "self.cursor = if self.cursor + 1 < m { self.cursor + 1 } else { 0 };" => "self.cursor = if self.cursor + 1 < m { self.cursor } else { 0 };", "--test" "evidence" "s9_"),
    mutant!("variable length: signatures of a file unchecked", "deleting/variable_length.rs", "if d < q && q <= t && t <= k && " => "if ", "--lib" "variable_length"),
    mutant!("bloom-store: oldest page first", "keyvalue/bloom_store/chains.rs", "let newest = 63 - u64::from(mask.leading_zeros());" => "let newest = u64::from(mask.trailing_zeros());", "--test" "evidence" "s16_"),
    mutant!("bloom-store: a tombstone does not end the search", "keyvalue/bloom_store/chains.rs", "                    return Ok(Lookup { value, reads, page: Some(page) });\n" => "                    if value.is_some() {\n                        return Ok(Lookup { value, reads, page: Some(page) });\n                    }\n", "--test" "evidence" "s16_"),
    mutant!("bloom-store: compaction keeps what is shadowed", "keyvalue/bloom_store/chains.rs", "if self.get(store, hasher, &key)?.page == Some(page) {" => "if self.get(store, hasher, &key)?.page.is_some() {", "--test" "evidence" "s16_"),
    mutant!("bloom-store: columns of a reused block are not cleared", "keyvalue/bloom_store/chains.rs", "            store.change(block * stride + page, |words| words.fill(0))?;\n" => "            store.look(block * stride + page, |_| ())?;\n", "--test" "evidence" "s16_"),
    mutant!("bloom-store: pages of a file unchecked", "keyvalue/bloom_store.rs", "            Pairs::decoded(&page::bytes_of(self.in_memory().page(page)?))?;\n" => "            page::bytes_of(self.in_memory().page(page)?);\n", "--lib" "bloom_store"),
    mutant!("k-mer: three letters to the right", "sequence/k_mer/letters.rs", "[0u128, 1, 2, 3].map(|letter| (kmer << 2 | letter) & self.mask())" => "[0u128, 1, 2, 2].map(|letter| (kmer << 2 | letter) & self.mask())", "--test" "evidence" "s21_"),
    mutant!("k-mer: last K-mers are no ends", "sequence/k_mer.rs", "self.mark(run[run.len() - 1], LAST);" => "self.mark(run[run.len() - 1], FIRST);", "--test" "evidence" "s21_"),
    mutant!("k-mer: ends keep their side on the other strand", "sequence/k_mer.rs", "if turned { (flags & FIRST) << 1 | (flags & LAST) >> 1 } else { flags }" => "if turned { flags } else { flags }", "--test" "evidence" "s21_"),
    mutant!("k-mer: ends of no K-mers are read", "sequence/k_mer.rs", "kmer >> (2 * self.length) == 0 && !letters.held(kmer).1" => "!letters.held(kmer).1", "--lib" "k_mer"),
    mutant!("spatial: a zero is the first area", "spatial/areas.rs", "Ok(self.tallies.least(self.digest(point)?).checked_sub(1))" => "Ok(self.tallies.least(self.digest(point)?).max(1).checked_sub(1))", "--test" "evidence" "s22_"),
    mutant!("spatial: later areas win", "spatial/areas.rs", "if held < area + 1 {" => "if held < area + 1 || held > 0 {", "--test" "evidence" "s22_"),
    mutant!("spatial: areas that are not there are read", "spatial/areas.rs", "held() <= areas && " => "", "--lib" "areas"),
    mutant!("hierarchical: no pairs", "sequence/hierarchical.rs", "self.levels(bytes).skip(1)" => "self.levels(bytes).skip(1).take(0)", "--test" "evidence" "s23_"),
    mutant!("hierarchical: the place does not count", "sequence/hierarchical.rs", "crate::hash::mix64(index << 6 | u64::from(level))" => "crate::hash::mix64(u64::from(level) | 0 * index)", "--test" "evidence" "s23_"),
    mutant!("hierarchical: too short is no", "sequence/hierarchical.rs", "(excerpt.len() as u64) < 2 * self.block - 1" => "(excerpt.len() as u64) < self.block - 1", "--test" "evidence" "s23_"),
    mutant!("hierarchical: the sender is not hashed", "sequence/hierarchical.rs", "self.head.hasher.digest(sender).word(SENDER)" => "self.head.hasher.digest(sender).word(SENDER) & 0", "--test" "evidence" "s23_"),
    mutant!("ranges: a range loses its last segment", "spatial/ranges/segments.rs", "partition_point(|bound| *bound < range.end) + 1" => "partition_point(|bound| *bound < range.end)", "--test" "evidence" "s24_"),
    mutant!("ranges: bounds belong to the segment before", "spatial/ranges/segments.rs", "partition_point(|bound| *bound <= value)" => "partition_point(|bound| *bound < value)", "--test" "evidence" "s24_"),
    mutant!("ranges: empty ranges hold something", "spatial/ranges/segments.rs", "Some(range) if range.start < range.end => {" => "Some(range) if range.start <= range.end => {", "--test" "evidence" "s24_"),
    mutant!("projections: no shift", "parts/projections.rs", "random.unit() * reach" => "0.0 * random.unit() * reach", "--lib" "projections"),
    mutant!("locality-sensitive: shifts are not counted", "similarity/locality_sensitive.rs", "self.verified(buckets, near, line + 1, shifts - 1)" => "self.verified(buckets, near, line + 1, shifts)", "--test" "evidence" "s35_"),
    mutant!("locality-sensitive: no verification", "similarity/locality_sensitive.rs", "return self.tuples.contains(self.tuple(buckets));" => "return self.tuples.contains(self.tuple(buckets)) || true;", "--test" "evidence" "s35_"),
    mutant!("locality-sensitive: no neighbor above", "similarity/locality_sensitive.rs", "[(*below, -1), (*above, 1)]" => "[(*below, -1), (*above, -1)]", "--test" "evidence" "s35_"),
    mutant!("multi-granularity: offsets are not multiples", "similarity/multi_granularity.rs", "(self.offset(line) % (m >> top)) << top;" => "self.offset(line) % m;", "--lib" "multi_granularity"),
    mutant!("multi-granularity: one group less", "similarity/multi_granularity.rs", "(0..).zip(buckets.chunks_exact(self.k() as usize))" => "(0..).zip(buckets.chunks_exact(self.k() as usize)).skip(1)", "--test" "evidence" "s36_"),
    mutant!("multi-granularity: fine bits of the coarsest level", "similarity/multi_granularity.rs", "tuple.word(j ^ FINER) & 1" => "coarsest.word(j ^ FINER) & tuple.word(0) & 1", "--test" "evidence" "s36_"),
    mutant!("parallel attributes: no verification", "counting/parallel_attributes.rs", "Some(digests) if self.times(self.mark(&digests)).whole() > 0 => Found::Verified," => "Some(digests) if self.times(self.mark(&digests)).whole() < 9 => Found::Verified,", "--test" "evidence" "s38_"),
    mutant!("parallel attributes: F without order", "counting/parallel_attributes.rs", "mark = mix64(mark ^ mix64(i))" => "mark = mark.wrapping_add(mix64(i))", "--lib" "parallel_attributes"),
    mutant!("parallel attributes: attributes share their hashes", "counting/parallel_attributes.rs", "self.head.hasher.digest(*value).salted(i)" => "self.head.hasher.digest(*value).salted(i & 0)", "--lib" "parallel_attributes"),
    mutant!("clk: k + 1", "similarity/clk.rs", "for _ in 0..k {" => "for _ in 0..=k * 2 {", "--test" "evidence" "s47_"),
    mutant!("clk: no padding", "similarity/clk.rs", "let padding = self.letters as usize - 1;" => "let padding = 0 * self.letters as usize;", "--test" "evidence" "s47_"),
    mutant!("clk: no salt", "similarity/clk.rs", "if self.salted == 1 { salt ^ i } else { i }" => "if self.salted == 9 { salt ^ i } else { i }", "--test" "evidence" "s47_"),
    mutant!("learned: members that the model misses are lost", "alternates/learned.rs", "self.backup.insert(digest.salted(BACKUP));" => "self.backup.insert(digest.salted(FRONT));", "--test" "evidence" "b14_"),
    mutant!("learned: trained on what measures", "alternates/learned.rs", "halves[i % 2].push(key)" => "halves[1 - i % 1].push(key)", "--test" "evidence" "b14_"),
    mutant!("learned: weights of half the size", "alternates/learned/model.rs", "libm::round(256.0 * (share" => "libm::round(128.0 * (share", "--lib" "learned"),
    mutant!("relations: no parent part", "keyvalue/relations.rs", "value & low(self.parent_bits) == self.gamma(parent)" => "value & low(self.parent_bits - 1) == self.gamma(parent) & low(self.parent_bits - 1)", "--test" "evidence" "b16_"),
    mutant!("relations: depth does not fall", "keyvalue/relations.rs", "(above + 1) % DEPTHS == depth" => "(above + 2) % DEPTHS == depth", "--test" "evidence" "b16_"),
    mutant!("relations: edges without direction", "keyvalue/relations.rs", "child.salted(parent.word(EDGE))" => "Digest { h1: child.h1 ^ parent.h1, h2: child.h2 ^ parent.h2 }", "--test" "evidence" "b16_"),
    mutant!("consistent cuckoo: the ring is not closed", "alternates/consistent_cuckoo/ring.rs", ".or(self.circle.first());" => ".or(self.circle.last());", "--lib" "consistent_cuckoo"),
    mutant!("consistent cuckoo: a bucket that comes moves nobody", "alternates/consistent_cuckoo/mod.rs", "fingerprint != 0 && !grown.ring.candidates(fingerprint).contains(&bucket)" => "fingerprint == u64::MAX && !grown.ring.candidates(fingerprint).contains(&bucket)", "--test" "evidence" "b11_"),
    mutant!("consistent cuckoo: misplaced fingerprints in a file", "alternates/consistent_cuckoo/mod.rs", "if sound && placed() {" => "if sound || placed() {", "--lib" "consistent_cuckoo"),
    mutant!("fast hash table: home whatever the counters", "alternates/fast_hash_table.rs", "min_by_key(|b| (self.counters.get(*b), *b))" => "min_by_key(|b| (0, *b))", "--test" "evidence" "b6_the"),
    mutant!("fast hash table: counters rise before items are taken out", "alternates/fast_hash_table.rs", "        buckets.iter().for_each(|bucket| self.counters.increment(*bucket));\n        self.bring_home(moving);" => "        self.bring_home(moving);\n        buckets.iter().for_each(|bucket| self.counters.increment(*bucket));", "--test" "evidence" "b6_"),
    mutant!("fast hash table: never rebuilt", "alternates/fast_hash_table.rs", "if self.removed > self.head.items / 4 {" => "if self.removed > self.head.items {", "--test" "evidence" "b6_counters"),
    mutant!("d-left: of equals the rightmost", "parts/d_left.rs", "least_loaded(loads.iter().copied())" => "least_loaded(loads.iter().copied().rev()).map(|i| loads.len() - 1 - i)", "--lib" "parts::d_left"),
    mutant!("d-left reassign: low bits are kept", "alternates/d_left_reassign.rs", "entry >> (before - bits)" => "entry & (u64::MAX >> (64 - bits))", "--test" "evidence" "b2_"),
    mutant!("d-left reassign: nine in a bucket", "alternates/d_left_reassign.rs", "const ROOM: u64 = 8;" => "const ROOM: u64 = 9;", "--test" "evidence" "b2_residents"),
    mutant!("d-left reassign: tables share a word", "alternates/d_left_reassign.rs", "multiply_shift(digest.word(table), buckets)" => "multiply_shift(digest.word(table.min(0)), buckets)", "--test" "evidence" "b2_loads"),
    mutant!("ones: select one too far", "cells/ones.rs", "if rank >= ones {" => "if rank > ones {", "--lib" "cells::ones"),
    mutant!("xxh3: a word under half the seed", "hash/xxh3.rs", "let seed = seed ^ u64::from((seed as u32).swap_bytes()) << 32;\n" => "", "--lib" "hash::xxh3"),
    mutant!("packed: near fields wipe their neighbors", "cells/packed.rs", "& !(mask << (bit % 8)) | (value & mask)" => "| (value & mask)", "--lib" "cells::packed"),
    mutant!("signed: one more where a counter sticks", "cells/signed.rs", "was ^ was >> 63 != i64::MAX" => "was != i64::MAX", "--lib" "cells::signed"),
    mutant!("partitioned: the low half is dropped", "probe/partitioned.rs", " + (((word & 0xFFFF_FFFF) * slice) >> 32)" => "", "--lib" "probe::partitioned"),
    mutant!("candidates: of equals the last gives way", "parts/candidates.rs", "order(a) < order(b)" => "order(a).0 < order(b).0", "--lib" "parts::candidates"),
    mutant!("quotient: the run before is looked at, too", "cells/quotient/ranked.rs", "            if self.ends.get(wrapped(place, self.len())) {\n                return false;\n            }\n" => "", "--lib" "alternates::quotient"),
    mutant!("quotient: copies beyond what a code has", "alternates/counting_quotient.rs", "const COPIES: u64 = 2;" => "const COPIES: u64 = 3;", "--lib" "alternates::counting_quotient"),
    mutant!("top-k: batches in the first row alone", "alternates/top_k.rs", "|row| row[i])" => "|row| row[i]).take(1)", "--lib" "alternates::top_k"),
    mutant!("count-min: batches forget the rows after the first", "counting/count_min/rows.rs", "                *least = self.cells.get(*i).min(*least);" => "                *least = self.cells.get(*i);", "--lib" "counting::count_min"),
    mutant!("quotient: offsets end at a byte", "cells/quotient/ranked.rs", "if offset < FAR { offset } else { self.far_offset(block) }" => "if offset <= FAR { offset } else { self.far_offset(block) }", "--lib" "cells::quotient"),
    mutant!("quotient: what comes around is forgotten", "cells/quotient/ranked.rs", " - u64::from(last == first + blocks)" => "", "--lib" "cells::quotient"),
    mutant!("quotient: occupied moves with the value", "cells/quotient/status.rs", "moving = held & !OCCUPIED | SHIFTED;" => "moving = held | SHIFTED;", "--lib" "cells::quotient"),
    mutant!("quotient: no slot stays empty", "cells/quotient/mod.rs", "self.slots() - 1 - self.used" => "self.slots() - self.used", "--test" "evidence" "b12_full"),
    mutant!("quotient: removal without its check", "alternates/quotients.rs", "let count = held.checked_sub(times).ok_or_else(|| {" => "let count = Some(held.saturating_sub(times)).ok_or_else(|| {", "--test" "evidence" "b12_"),
    mutant!("quotient: a remainder a bit short", "alternates/quotients.rs", "libm::log2(n as f64 / (shape.slots as f64 * p))" => "libm::log2(n as f64 / (shape.slots as f64 * p)) - 1.0", "--test" "evidence" "b12_"),
    mutant!("counting quotient: digits hit the remainder", "alternates/counting_quotient.rs", "if x > 0 && digit >= x { digit + 1 }" => "if x > 0 && digit > x { digit + 1 }", "--test" "evidence" "b13_"),
    mutant!("counting quotient: base one too large", "alternates/counting_quotient.rs", "(count - 3, (1 << width) - 2)" => "(count - 3, (1 << width) - 1)", "--test" "evidence" "b13_"),
    mutant!("counting quotient: no zero in front", "alternates/counting_quotient.rs", "digits.last().is_some_and(|first| *first >= x)" => "digits.last().is_some_and(|first| *first > 1 << width)", "--test" "evidence" "b13_"),
    mutant!("buckets: one value too few before", "cells/buckets.rs", "let (load, first) = (run(view, ones), ones - number);" => "let (load, first) = (run(view, ones), (ones - number).saturating_sub(1));", "--lib" "cells::buckets"),
    mutant!("elastic: the first match is removed", "alternates/elastic/table.rs", "matching.max_by_key(|(_, slot)| length(*slot));" => "matching.min_by_key(|(at, _)| *at);", "--test" "evidence" "b15_the_longest"),
    mutant!("elastic: voids stay behind", "alternates/elastic/table.rs", "                    stay.push(slot);\n                    go.push(slot);" => "                    stay.push(slot);", "--test" "evidence" "b15_"),
    mutant!("elastic: later fingerprints as long as the first", "alternates/elastic/table.rs", "self.length + more } else" => "self.length + 0 * more } else", "--test" "evidence" "b15_"),
    mutant!("pagh-pagh-rao: remainders out of order", "alternates/pagh_pagh_rao.rs", "take_while(|other| *other <= x)" => "take_while(|other| *other < x.min(1))", "--test" "evidence" "b3_"),
    mutant!("pagh-pagh-rao: a remainder a bit short", "alternates/pagh_pagh_rao.rs", "libm::log2(n as f64 / quotients as f64 / p)" => "libm::log2(n as f64 / quotients as f64 / p) - 1.0", "--test" "evidence" "b3_"),
    mutant!("pagh-pagh-rao: order of files unchecked", "alternates/pagh_pagh_rao.rs", "std::mem::replace(&mut before, x) <= x" => "std::mem::replace(&mut before, x) <= u64::MAX", "--lib" "pagh_pagh_rao"),
    mutant!("blooming tree: digits of the first level again", "alternates/blooming_tree.rs", "digest.word(DIGITS + t / 64) >> (t % 64) & 1" => "digest.word(DIGITS) >> (t % 3) & 1", "--test" "evidence" "b1_"),
    mutant!("blooming tree: leaves above are not counted", "alternates/blooming_tree.rs", "Some(level.before + node - forks)" => "Some(level.before / 2 + node - forks)", "--test" "evidence" "b1_"),
    mutant!("blooming tree: levels of files unchecked", "alternates/blooming_tree.rs", "&& forks.len() == ones" => "&& forks.len() <= u64::MAX - ones", "--lib" "blooming_tree"),
    mutant!("reconciliation tree: rows of matches go on", "alternates/reconciliation_tree.rs", "if is_known { row + 1 } else { 0 }" => "row + u32::from(is_known)", "--test" "evidence" "b5_"),
    mutant!("reconciliation tree: one probe too many", "alternates/reconciliation_tree.rs", ".round().max(1.0) as u32" => ".round().max(1.0) as u32 + 1", "--test" "evidence" "b5_"),
    mutant!("exchange tree: seeds not compared", "exchange/tree/mod.rs", "here.seed() != there.seed() || there.is_keyed()" => "here.is_keyed() || there.is_keyed()", "--lib" "exchange::tree"),
    mutant!("exchange tree: keys that are there are taken", "exchange/tree/mod.rs", "self.keys.contains(key) || !self.received" => "!self.received", "--lib" "exchange::tree"),
    mutant!("keyed: an id for every key", "hash/secret.rs", "let id = sip(&bytes, b\"everbloom key id\").h1;" => "let id = 1;", "--features" "secure" "--test" "evidence" "s46_"),
    mutant!("keyed: any fill is explained", "file/open.rs", "Some(Some(n)) if n <= most => Ok(())," => "Some(_) if most > 0.0 => Ok(()),", "--features" "secure" "--test" "evidence" "s46_"),
    mutant!("keyed: half a key tried for each that is found", "secure/keyed.rs", "libm::pow(1.0 - fill, -f64::from(k))" => "libm::pow(1.0 - fill, 1.0 - f64::from(k))", "--features" "secure" "--test" "evidence" "s46_"),
    mutant!("secure index: one cell fewer", "secure/index.rs", "(0..r.clamp(1, MOST_KEYS)).map(key)" => "(0..r.clamp(1, MOST_KEYS)).map(|i| key(i / 2))", "--features" "secure" "--test" "evidence" "s43_"),
    mutant!("secure index: not blinded", "secure/index.rs", "for _ in 0..unused * u64::from(shape.r) {" => "for _ in 0..unused.min(0) {", "--features" "secure" "--test" "evidence" "s43_"),
    mutant!("secure index: no second function", "secure/index.rs", "let output = prf(part, id);" => "let output = prf(part, &[0; ID][..id.len().min(1)]);", "--features" "secure" "--test" "evidence" "s43_"),
    mutant!("secure index: ones behind the end", "secure/index.rs", "if cell >= shape.m {" => "if cell > 8 * shape.m {", "--features" "secure" "--lib" "secure::index"),
    mutant!("private query: unproven answers are taken", "exchange/private.rs", "if !proven {" => "if !proven && evaluated.is_empty() {", "--features" "secure" "--lib" "exchange::private"),
    mutant!("private query: answers of another exchange", "exchange/private.rs", "if once != self.once {" => "if once.len() != self.once.len() {", "--features" "secure" "--lib" "every_changed_byte"),
    mutant!("private query: queries without a bound", "exchange/private.rs", "self.left.checked_sub(asked)" => "self.left.checked_sub(asked.min(self.left))", "--features" "secure" "--lib" "exchange::private"),
    mutant!("oprf: the purpose of a hash dropped", "secure/oprf/mod.rs", "self.domain::<G>(\"HashToScalar-\")" => "self.domain::<G>(\"HashToGroup-\")", "--features" "secure" "--lib" "oprf"),
    mutant!("encrypted: words are not squared", "secure/encrypted/field.rs", "let root = Self::uniform(uniform) % (Q - 3) + 2;\n        root * root % Q" => "Self::uniform(uniform) % (Q - 3) + 2", "--features" "secure" "--test" "evidence" "s44_"),
    mutant!("encrypted: dummies count", "secure/encrypted/mod.rs", "all(|(bit, real)| *bit || !real)" => "all(|(bit, real)| *bit || (!real && bits.is_empty()))", "--features" "secure" "--test" "evidence" "s44_"),
    mutant!("encrypted: cells beyond the end", "secure/encrypted/mod.rs", "cells.iter().all(|cell| *cell < self.bits.m())" => "cells.iter().all(|cell| *cell <= self.bits.m())", "--features" "secure" "--lib" "exchange::encrypted"),
    mutant!("search: names are not counted", "exchange/search.rs", "if frame.number()? != self.partial.len() as u64 {" => "if frame.number()? == u64::MAX {", "--features" "secure" "--lib" "exchange::search"),
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
