//! Faults of the library and its formulas that the lab must see: each turns a named verdict of one experiment red.

use crate::faults::{self, Outcome};

struct Fault {
    name: &'static str,
    /// The file in `crates/everbloom/src`.
    file: &'static str,
    from: &'static str,
    to: &'static str,
    /// The experiment, and a part of the verdict that must turn red.
    experiment: &'static str,
    verdict: &'static str,
}

/// Runs every fault, or those whose name contains `only`.
pub fn run(only: Option<&str>) -> Result<(), String> {
    let chosen = FAULTS.iter().filter(|f| only.is_none_or(|name| f.name.contains(name)));
    let faults: Vec<faults::Fault> = chosen
        .map(|fault| faults::Fault {
            name: fault.name,
            file: format!("crates/everbloom/src/{}", fault.file),
            from: fault.from,
            to: fault.to,
            package: "everbloom-lab",
            tests: vec!["--test", "experiments", "every_verdict"],
            only: Some(fault.experiment),
        })
        .collect();
    faults::run("lab-faults", &faults, |fault, output| {
        let verdict = FAULTS.iter().find(|f| f.name == fault.name).map_or("", |f| f.verdict);
        let text = String::from_utf8_lossy(&output.stdout);
        let of_experiment = |line: &&str| fault.only.is_some_and(|e| line.starts_with(e));
        match text.lines().filter(of_experiment).find(|line| line.contains(verdict)) {
            Some(line) => Outcome::Seen(format!("turns red: {line}")),
            None if output.status.success() || text.contains("verdicts disagree") => {
                Outcome::Unseen
            }
            None => Outcome::Neither,
        }
    })
}

macro_rules! fault {
    ($name:literal, $file:literal, $from:literal => $to:literal, $experiment:literal $verdict:literal) => {
        Fault {
            name: $name,
            file: $file,
            from: $from,
            to: $to,
            experiment: $experiment,
            verdict: $verdict,
        }
    };
}

/// Formulas first, then what filters do.
#[rustfmt::skip]
const FAULTS: &[Fault] = &[
    fault!("the asymptotic rate 5 % too high", "theory/bloom.rs", "    libm::pow(-libm::expm1(-k * n / m), k)\n" => "    1.05 * libm::pow(-libm::expm1(-k * n / m), k)\n", "s2-fig2" "measured/curve over all points"),
    fault!("half the exponent of the concentration", "theory/bloom.rs", "libm::exp(-2.0 * delta * delta" => "libm::exp(-1.0 * delta * delta", "s1-concentration" "exponent of the measured spread"),
    fault!("ten times S0 eq. 14", "theory/counting.rs", "    libm::exp(ln_choose(throws as f64, j)" => "    10.0 * libm::exp(ln_choose(throws as f64, j)", "s0-fig5" "bound (14): at j = 4"),
    fault!("a tenth less of S3 eq. 6", "hardware/pipelined.rs", "    k2 * (1.0 - second_stage" => "    0.9 * k2 * (1.0 - second_stage", "s3-eq6" "measured/curve over all points"),
    fault!("a tenth less of S2 eq. 16", "theory/generalized.rs", "        -libm::expm1(-(self.k0 + self.k1) / bits_per_item)" => "        -0.9 * libm::expm1(-(self.k0 + self.k1) / bits_per_item)", "s2-fig10" "measured/curve over all points"),
    fault!("the exact rate of one element fewer", "theory/bloom.rs", "    (0..n).for_each(|_| occupancy.insert());\n    occupancy.fpr()\n" => "    (1..n).for_each(|_| occupancy.insert());\n    occupancy.fpr()\n", "s3-eq1" "exact, eq. 3"),
    fault!("bloom: one probe more", "membership/bloom.rs", "        let probe = Probe::over(m, k);" => "        let probe = Probe::over(m, k + 1);", "s2-fig2" "k = 2, x = 4"),
    fault!("bloom: one key in a thousand not inserted", "membership/bloom.rs", "        let (hasher, words) = (&self.head.hasher, self.flat.bits.words_mut());\n" => "        if self.head.hasher.digest(key).h1.is_multiple_of(1000) {\n            return Seen::new_if(true);\n        }\n        let (hasher, words) = (&self.head.hasher, self.flat.bits.words_mut());\n", "s2-fig2" "members: of"),
    fault!("ring: the last 0.1 % of the cells never reached", "probe/ring.rs", "multiply_shift(walk.x, self.m)" => "multiply_shift(walk.x, self.m - self.m / 1000)", "s1-uniform" "bloom (ring): last 0.1 %"),
    fault!("ring: the last 1 % of the cells never reached", "probe/ring.rs", "multiply_shift(walk.x, self.m)" => "multiply_shift(walk.x, self.m - self.m / 100)", "s1-uniform" "bloom (ring): last 1 %"),
    fault!("blocked: half of the blocks", "probe/blocked.rs", "        multiply_shift(digest.h1, self.blocks)" => "        multiply_shift(digest.h1, self.blocks.div_ceil(2))", "s1-uniform" "blocked (mixed): second half"),
    fault!("counters: stuck ones are decremented", "cells/counters.rs", "        if value >= by && value != self.max() {" => "        if value >= by {", "s1-overflow" "lost"),
    fault!("counters: they wrap", "cells/counters.rs", "        self.set(i, self.get(i).saturating_add(by));" => "        self.cells.set(i, self.get(i).wrapping_add(by) & self.max());", "s1-overflow" "stuck"),
    fault!("spectral: minimum increase is plain selection", "counting/spectral.rs", "            return Seen::new_if(self.tallies.lift(digest, times));" => "            return Seen::new_if(self.tallies.insert_times(digest, times));", "s4-spectral" "minimum increase: wrong counts"),
    fault!("spectral: recurring minimum is plain selection", "counting/spectral.rs", "self.moved.as_ref().filter(|_| first.whole() > 0);" => "self.moved.as_ref().filter(|_| first.whole() == u64::MAX);", "s4-spectral" "recurring minimum: wrong counts"),
    fault!("double buffer: the second filter warms up late", "decaying/double_buffer.rs", "buffers.items(ACTIVE) > *capacity / 2 {" => "buffers.items(ACTIVE) > *capacity * 3 / 4 {", "decaying" "double buffer: denied within the window"),
    fault!("pollution: the work of one hash fewer", "secure/keyed.rs", "    libm::pow(1.0 - fill, -f64::from(k))" => "    libm::pow(1.0 - fill, 1.0 - f64::from(k))", "pollution" "keys that set fresh bits"),
    fault!("cuckoo: five evictions and no more", "plan/cuckoo.rs", "const KICKS: u64 = 500;" => "const KICKS: u64 = 5;", "cuckoo-load" "first refusal, x = 4"),
    fault!("adaptive cuckoo: a repair changes nothing", "alternates/adaptive_cuckoo.rs", "            let next = ((held >> shape.fingerprint) + 1) & ((1 << shape.selector) - 1);" => "            let next = held >> shape.fingerprint;", "adaptive-cuckoo" "2 selector bits, x = 3"),
    fault!("quotient: clusters as long as stretches", "alternates/quotient.rs", "    alpha / ((1.0 - alpha) * libm::expm1(alpha))" => "    alpha / ((1.0 - alpha) * -libm::expm1(-alpha))", "quotient-load" "cluster: measured/curve over all points"),
    fault!("learned: nobody asks the front filter", "alternates/learned.rs", "        self.front.as_ref().is_none_or(|front| front.contains(digest.salted(FRONT)))" => "        self.front.as_ref().is_none_or(|_| true)", "learned" "8 bits per key, sandwiched"),
    fault!("elastic: new fingerprints are no longer than the first", "alternates/elastic/table.rs", "if self.widening { self.length + more } else { self.length };" => "if self.widening { self.length + more / 9 } else { self.length };", "elastic" "elastic, widening, x = 64"),
    fault!("hyperloglog: ranks begin at two", "alternates/hyperloglog/registers.rs", "u64::from(rest.trailing_zeros()) + 1)" => "u64::from(rest.trailing_zeros()) + 2)", "hyperloglog" "1024 registers: measured/curve over all points"),
    fault!("top-k: large counts decay like small ones", "alternates/top_k/cells.rs", "libm::pow(base, count as f64)" => "libm::pow(base, count.min(2) as f64)", "top-k" "relative error, x = 1000"),
    fault!("shifting: one distance for all keys", "grouping/shifting.rs", "        digest.word(SHIFT) % (SPAN - 1) + 1" => "        digest.word(SHIFT) % 1 + 1", "shifting" "shifting: measured/curve over all points"),
    fault!("conservative update: it is plain", "counting/conservative.rs", "        Seen::new_if(self.tallies.lift(digest, times))" => "        Seen::new_if(self.tallies.insert_times(digest, times))", "count-min" "conservative update: over plain, w = 500"),
    fault!("counter braids: decoding gives up early", "solve/messages.rs", "const MOST_ROUNDS: u32 = 2000;" => "const MOST_ROUNDS: u32 = 6;", "counter-braids" "sizes 1 to 100, x = 1.4"),
    fault!("dynamic: filters take half as many keys again", "growing/dynamic.rs", "position(|filter| filter.items < self.capacity) {" => "position(|filter| filter.items < self.capacity * 3 / 2) {", "dynamic" "dynamic, x = 1000"),
    fault!("weighted: hashes are half as far apart", "theory/weights.rs", "        class => base + score(class) - mean," => "        class => base + 0.5 * (score(class) - mean),", "weighted" "weighted over it, 0.97 of queries hot"),
    fault!("lookup table: empty cells say nothing", "keyvalue/iblt.rs", "            if self.sums.cells.get(i).is_empty() {" => "            if self.sums.cells.get(i).is_empty() && i % 2 == 0 {", "iblt" "other keys, x = 2"),
    fault!("k-mer: one of both sides is enough", "sequence/k_mer.rs", "            TWO_SIDED => (left() || ends() & FIRST != 0) && (right() || ends() & LAST != 0)," => "            TWO_SIDED => left() || right() || ends() != 0,", "k-mer" "two-sided, x = 4"),
    fault!("stable: half of the decrements", "decaying/stable.rs", "        let end = start + self.decrements;" => "        let end = start + self.decrements / 2;", "decaying" "stable: measured/curve over all points"),
    fault!("pollution: the rate of one hash fewer", "secure/keyed.rs", "    libm::pow(aimed_fill(flat, n), f64::from(flat.k))" => "    libm::pow(aimed_fill(flat, n), f64::from(flat.k) - 1.0)", "pollution" "chosen keys, public hash, x = 1900"),
    fault!("cuckoo: the rate of one bucket", "theory/cuckoo.rs", "    fpr(libm::exp2(f64::from(f)) - 1.0, 2.0 * f64::from(b) * load)" => "    fpr(libm::exp2(f64::from(f)) - 1.0, f64::from(b) * load)", "cuckoo-load" "b = 4: measured/curve over all points"),
    fault!("adaptive cuckoo: two states, whatever the selector", "alternates/adaptive_cuckoo.rs", "            let next = ((held >> shape.fingerprint) + 1) & ((1 << shape.selector) - 1);" => "            let next = ((held >> shape.fingerprint) + 1) & 1 & ((1 << shape.selector) - 1);", "adaptive-cuckoo" "2 selector bits: fifth round over the first"),
    fault!("quotient: a remainder loses a bit", "alternates/quotients.rs", "        (h >> width, h & ((1 << width) - 1))" => "        (h >> width, h & ((1 << width) - 2))", "quotient-load" "r = 8: measured/curve over all points"),
    fault!("learned: nobody asks behind the model", "alternates/learned.rs", "            && (self.accepts(key) || self.backup.contains(digest.salted(BACKUP)))" => "            && (self.accepts(key) || self.model.is_none() && self.backup.contains(digest.salted(BACKUP)))", "learned" "members: of"),
    fault!("elastic: the rate of a fixed table grows by half", "alternates/elastic.rs", "* (1.0 + 0.75 * g))" => "* (1.0 + 0.5 * g))", "elastic" "elastic, fixed: measured/curve over all points"),
    fault!("hyperloglog: a wrong constant", "theory/cardinality.rs", "m * m / (2.0 * core::f64::consts::LN_2 * z)" => "m * m / (1.45 * z)", "hyperloglog" "1024 registers: measured/curve over all points"),
    fault!("shifting: one pair more", "grouping/shifting.rs", "Task::Membership { shape.k / 2 } else" => "Task::Membership { shape.k / 2 + 1 } else", "shifting" "shifting, at most"),
    fault!("count-min: the median of its rows", "counting/count_min.rs", "        if self.signed() {\n            rarely();" => "        if !self.signed() {\n            rarely();", "count-min" "4 rows, x = 500"),
    fault!("counter braids: no flow need have a packet", "solve/messages.rs", "                clamped(sums[cell]).saturating_sub(others).max(least)" => "                clamped(sums[cell]).saturating_sub(others).max(0)", "counter-braids" "heavy tail, α = 1.5, x = 0.8"),
    fault!("dynamic: the last three filters answer", "growing/dynamic.rs", "        self.filters.iter().any(|filter| filter.part.contains(digest))" => "        self.filters.iter().rev().take(3).any(|filter| filter.part.contains(digest))", "dynamic" "members: of"),
    fault!("weighted: a query skips its last hash", "weighted/classes.rs", "        self.probe.all_of_first(self.probes(weight), digest, |i| self.bits.get(i))" => "        self.probe.all_of_first(self.probes(weight) - 1, digest, |i| self.bits.get(i))", "weighted" "weighted, x = 0.6"),
    fault!("lookup table: another threshold", "theory/peeling.rs", "[1.2218, 1.2949," => "[1.3218, 1.2949,", "iblt" "k = 3, x = 1.29"),
    fault!("k-mer: one-sided is plain", "sequence/k_mer.rs", "            ONE_SIDED => left() || right() || ends() != 0," => "            ONE_SIDED => true,", "k-mer" "one-sided, x = 4"),
    fault!("popularity: probes do not gain less and less", "theory/weights.rs", "        let gain = |i: usize, k: u32| self.score(i) * libm::exp2(-f64::from(k + 1));" => "        let gain = |i: usize, k: u32| self.score(i) / f64::from(k + 1);", "popularity" "over the least possible, exponent 2"),
    fault!("popularity: half of the budget", "theory/weights.rs", "            if cost > self.budget + HAIR {" => "            if cost > self.budget / 2.0 {", "popularity" "over the least possible, exponent 1"),
    fault!("hierarchical: pairs are not asked for", "sequence/hierarchical.rs", "            && self.levels(bytes).skip(1).all(|level| {" => "            && self.levels(bytes).skip(9).all(|level| {", "hierarchical" "all levels"),
    fault!("hierarchical: places do not count", "sequence/hierarchical.rs", "        (((first + before) >> level)..).zip(runs)" => "        (((first + before) >> level).min(0)..).map(|_| 0).zip(runs)", "hierarchical" "all levels"),
    fault!("ranges: a segment more at the end", "spatial/ranges/segments.rs", "self.bounds.partition_point(|bound| *bound < range.end) + 1" => "self.bounds.partition_point(|bound| *bound < range.end) + 2", "ranges" "ids reported, x = 10"),
    fault!("ranges: from the first segment on", "spatial/ranges/segments.rs", "self.of(range.start)..self" => "0..self", "ranges" "ids reported, x = 10"),
    fault!("locality: one shift fewer", "similarity/locality_sensitive.rs", "set && self.verified(buckets, near, line + 1, shifts - 1)" => "set && self.verified(buckets, near, line + 1, shifts.saturating_sub(2))", "locality" "two may be a bucket off"),
    fault!("locality: half of the distance", "theory/lsh.rs", "    let x = w / c;" => "    let x = 2.0 * w / c;", "locality" "six lines, p(c)⁶: measured/curve over all points"),
    fault!("exponential decay: own bits fade, too", "grouping/exponential_decay.rs", "if flat.bits.get(i) && random.unit() * self.decay >= 1.0 {" => "if flat.bits.get(i) && random.unit() * self.decay >= 0.8 {", "exponential-decay" "nothing else, x = 3"),
    fault!("exponential decay: one hop fewer", "grouping/exponential_decay.rs", "libm::pow(decay, f64::from(hops) - 1.0);\n    own" => "libm::pow(decay, f64::from(hops));\n    own", "exponential-decay" "measured/curve over all points"),
    fault!("space-code: half of the groups", "counting/space_code.rs", "let group = self.generator.below(self.groups.into());" => "let group = self.generator.below(u64::from(self.groups) / 2);", "space-code" "measured/curve over all points"),
    fault!("loglog: ranks begin at two", "counting/loglog.rs", "trailing_zeros()) + 1;" => "trailing_zeros()) + 2;", "loglog" "measured/curve over all points"),
    fault!("adaptive counting: runs leave out an eighth of the array", "counting/adaptive_counting.rs", "multiply_shift(digest.word(i), self.counts.len());" => "multiply_shift(digest.word(i), self.counts.len() - self.counts.len() / 8);", "adaptive-counting" "measured/curve over all points"),
    fault!("adaptive counting: the background counts", "counting/adaptive_counting.rs", "        run * (1.0 - background) - background" => "        run * (1.0 - background)", "adaptive-counting" "largest mean error"),
    fault!("loglog: a tenth less", "counting/loglog.rs", "        ((loglog::alpha(d) * libm" => "        ((0.9 * loglog::alpha(d) * libm", "loglog" "measured/curve over all points"),
    fault!("space-code: a group more is met", "counting/space_code/likelihood.rs", "            let free = (self.l - j as f64) / self.l;" => "            let free = (self.l - j as f64 / 2.0) / self.l;", "space-code" "measured/curve over all points"),
    fault!("top-k: the latest comer takes the cell", "alternates/top_k/cells.rs", "choose(worn >> HALF == 0, joined(1, self.fingerprint), worn);" => "choose(worn >> HALF < 200, joined(1, self.fingerprint), worn);", "top-k" "recall"),
    fault!("windowed: lives end with the epoch before", "decaying/windowed.rs", "    (end.div_ceil(grain.into()) - u128::from(now / grain)) as u64" => "    (end / u128::from(grain) - u128::from(now / grain)).max(1) as u64", "windowed" "cuckoo"),
    fault!("windowed: the youngest slices are as full as the rest", "decaying/windowed/planning.rs", "-f64::from((i + 1).min(k)) / f64::from(k));" => "-f64::from((i + k).min(k)) / f64::from(k));", "windowed" "measured/curve over all points"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// A change of the code may leave a fault without the text it breaks.
    #[test]
    fn every_fault_finds_its_text_once() {
        for fault in FAULTS {
            let path =
                format!("{}/../crates/everbloom/src/{}", env!("CARGO_MANIFEST_DIR"), fault.file);
            let text = std::fs::read_to_string(&path).expect("the file");
            assert_eq!(text.matches(fault.from).count(), 1, "{}: {}", fault.name, fault.file);
        }
    }

    #[test]
    fn every_fault_names_an_experiment() {
        for fault in FAULTS {
            let name = fault.experiment.replace('-', "_");
            let experiments = concat!(env!("CARGO_MANIFEST_DIR"), "/../evidence/src/experiments");
            let path = format!("{experiments}/{name}.rs");
            assert!(std::path::Path::new(&path).is_file(), "{}: {path}", fault.name);
        }
    }
}
