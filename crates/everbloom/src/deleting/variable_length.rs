//! Variable-length signatures (Lu, Prabhakar, Bonomi 2005; catalogue §9; S0 §III-L, S3 §VI-B).
//!
//! Flows in a network: they begin, grow, end, and some end without a word. A key has k positions, of which an
//! insertion sets only the first t, and it may be a member if at least q of the k bits are ones:
//!
//! ```text
//!   insert       ● ● ● ● ● ● ○ ○     t = 6 of k = 8 positions
//!   query        ● ● ○ ● ● ● ○ ○     5 ones are enough: q = 5
//!   lengthen     ● ● ● ● ● ● ● ○     one position more with every further packet, or so
//!   remove       ○ ○ ● ● ● ● ○ ○     cleared until at most d < q are left
//!   age          a part of all bits is cleared, in turn or at random
//!   recover      ● ● ● ● ● ● ○ ○     whoever is still found gets its bits back
//! ```
//!
//! Since a few of a key's bits may be missing, bits can be cleared without counters: a removal clears bits of
//! others, and aging those of everyone, and most of them are found nevertheless. The price are more false
//! positives, Σ_{i≥q} C(k,i)·ρ^i(1 − ρ)^{k−i} with ρ = 1 − e^{−tn/m}, and false negatives: if each
//! one survives aging with probability s, a key is lost with P(Bin(t, s) + Bin(k − t, sρ) < q). S3's table says
//! that there are none; its text and S0 say that there are.
//!
//! Aging by a tick clears a share of the array: the next window of it (form `round-robin`) or random positions (form
//! `random`). The number of ones of a key tells roughly how often it was lengthened.
//!
//! **Use it** for flows and sessions that end unannounced, if a lost one is set up again. **Don't** when no member
//! may be lost (`counting`).

use crate::cells::Bits;
use crate::hash::Generator;
use crate::plan::check_cells;
use crate::probe::{Coincide, MAX_K, Probe};
use crate::theory::bloom as theory;
use crate::theory::tail::{binomial_at_least, binomial_pmf};
use crate::variant::prelude::*;

/// Signatures in m bits; a few bits of each may be missing.
///
/// ```
/// let mut flows = everbloom::deleting::VariableLength::with_rate(1000, 0.01)?;
/// flows.insert("10.0.0.1:80");
/// flows.insert("10.0.0.2:80");
/// flows.remove("10.0.0.1:80")?;
/// assert!(flows.contains("10.0.0.2:80") && !flows.contains("10.0.0.1:80"));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct VariableLength {
    head: Head,
    probe: Probe,
    signature: Signature,
    /// The share of the array that a tick clears.
    share: f64,
    /// Where the next window begins.
    cursor: u64,
    /// Draws positions in the form `random`.
    generator: Generator,
    /// Bits that were cleared.
    cleared: u64,
    bits: Bits,
}

state!(VariableLength { head, probe, signature, share, cursor, generator, cleared, bits });

/// How many of a key's k positions are set, required by a query, and left by a removal: d < q ≤ t ≤ k.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Positions of a key.
    pub k: u32,
    /// Those that an insertion sets.
    pub t: u32,
    /// The ones that make a member.
    pub q: u32,
    /// The ones that a removal may leave.
    pub d: u32,
}

state!(Signature { k, t, q, d });

impl Signature {
    /// P(a non-member passes) in bits of which a share `fill` is ones.
    pub fn fpr(&self, fill: f64) -> f64 {
        binomial_at_least(self.k.into(), fill, self.q.into())
    }

    /// P(a member is lost) if each one survived with probability `s`, in bits of which a share `fill` was ones.
    pub fn fnr(&self, s: f64, fill: f64) -> f64 {
        let others = u64::from(self.k - self.t);
        let lost = |own: u64| {
            let missing = u64::from(self.q).saturating_sub(own);
            if missing == 0 { 0.0 } else { 1.0 - binomial_at_least(others, s * fill, missing) }
        };
        (0..=u64::from(self.t)).map(|own| binomial_pmf(self.t.into(), s, own) * lost(own)).sum()
    }

    /// The fill at which the rate is `p`: it grows with the fill.
    fn fill_for(&self, p: f64) -> f64 {
        let (mut low, mut high) = (0.0f64, 1.0f64);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if self.fpr(middle) <= p { low = middle } else { high = middle }
        }
        low
    }

    /// Bits for `n` keys at rate `p`.
    fn bits(&self, n: u64, p: f64) -> f64 {
        let load = -libm::log1p(-self.fill_for(p));
        f64::from(self.t) * n as f64 / load
    }

    fn check(&self) -> Result<()> {
        let Self { k, t, q, d } = *self;
        if d < q && q <= t && t <= k && (1..=MAX_K).contains(&k) {
            return Ok(());
        }
        Err(Error::corrupt(0, format!("corrupt filter: not d = {d} < q = {q} ≤ t = {t} ≤ k = {k}")))
    }
}

impl VariableLength {
    /// A filter of `m` bits with these signatures; a tick clears a tenth of them.
    pub fn with_shape(m: u64, signature: Signature, hasher: Hasher) -> Result<Self> {
        let Signature { k, t, q, d } = signature;
        empty(&Goal::of(hasher).set("m", m).set("k", k).set("t", t).set("q", q).set("d", d))
    }

    /// Inserts a key: sets the first t of its positions.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.head.hasher.digest(key);
        let seen = Seen::new_if(!self.has(digest));
        self.set_first(digest, self.signature.t);
        self.head.count(1);
        seen
    }

    fn set_first(&mut self, digest: Digest, count: u32) {
        let bits = &mut self.bits;
        self.probe.each_of_first(count, digest, |i| _ = bits.set(i));
    }

    /// Sets the next position of a key that is found, the first beyond t that is not set; whether there was one.
    pub fn lengthen<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        let digest = self.head.hasher.digest(key);
        let indices = self.probe.collect(digest, Coincide::PerHash);
        let free = indices.iter().skip(self.signature.t as usize).find(|i| !self.bits.get(**i));
        match free {
            Some(i) if self.has(digest) => self.bits.set(*i),
            _ => false,
        }
    }

    /// Sets the missing ones of the first t positions of a key that is found; whether it is.
    pub fn recover<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        let digest = self.head.hasher.digest(key);
        let found = self.has(digest);
        if found {
            self.set_first(digest, self.signature.t);
        }
        found
    }

    /// Whether the key may be a member: whether at least q of its positions are ones.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.has(self.head.hasher.digest(key))
    }

    /// The number of ones among a key's positions: t after an insertion, and one more for each time it was
    /// lengthened, plus those that others set.
    pub fn length<K: Key + ?Sized>(&self, key: &K) -> u32 {
        self.ones(self.head.hasher.digest(key))
    }

    fn ones(&self, digest: Digest) -> u32 {
        let mut ones = 0;
        self.probe.each(digest, |i| ones += u32::from(self.bits.get(i)));
        ones
    }

    fn has(&self, digest: Digest) -> bool {
        let (mut ones, q) = (0, self.signature.q);
        !self.probe.all(digest, |i| {
            ones += u32::from(self.bits.get(i));
            ones < q
        })
    }

    /// Removes a key: clears positions, from the first on, until at most d ones are left. Others lose those bits, too.
    /// Refused, with nothing changed, if the key is not found.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        let digest = self.head.hasher.digest(key);
        if !self.has(digest) {
            return Err(Error::new(Kind::NotDeletable, "the key is not in the filter"));
        }
        for i in self.probe.collect(digest, Coincide::Distinct) {
            if self.ones(digest) <= self.signature.d {
                break;
            }
            self.clear_bit(i);
        }
        self.head.count_off();
        Ok(())
    }

    fn clear_bit(&mut self, i: u64) {
        self.cleared = self.cleared.saturating_add(self.bits.get(i).into());
        self.bits.reset(i);
    }

    /// Lets ticks pass: each clears a share of the array.
    pub fn age(&mut self, ticks: u64) {
        let m = self.bits.len();
        let window = (libm::round(self.share * m as f64) as u64).clamp(1, m);
        // After as many ticks as clear everything, in turn or nearly for certain at random, nothing is left to clear.
        let enough = 64 * m.div_ceil(window);
        for _ in 0..ticks.min(enough) {
            for _ in 0..window {
                let i =
                    if self.head.form == RANDOM { self.generator.below(m) } else { self.cursor };
                self.clear_bit(i);
                self.cursor = if self.cursor + 1 < m { self.cursor + 1 } else { 0 };
            }
        }
    }

    /// The signatures.
    pub fn signature(&self) -> Signature {
        self.signature
    }

    fn check(&self) -> Result<()> {
        self.probe.check_flat(self.bits.len())?;
        let fits = self.probe.k() == self.signature.k
            && self.cursor < self.bits.len()
            && (0.0..=1.0).contains(&self.share);
        if fits {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: signatures, window or cursor out of bounds"))
    }
}

/// Bits, signatures, and the share of the array that a tick clears.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    m: u64,
    signature: Signature,
    share: f64,
}

/// What is set of a signature; the rest follows from k.
struct Wanted {
    k: Option<u32>,
    t: Option<u32>,
    q: Option<u32>,
    d: Option<u32>,
}

impl Wanted {
    /// The signature with `k` positions: two that an insertion leaves out, and one that may be missing. A removal clears
    /// as few as it can, since others lose those, too.
    fn with(&self, k: u32) -> Option<Signature> {
        let t = self.t.unwrap_or_else(|| k.saturating_sub(2).max(self.q.unwrap_or(1)));
        let q = self.q.unwrap_or_else(|| t.saturating_sub(1).max(1));
        let d = self.d.unwrap_or(q - 1);
        let signature = Signature { k, t, q, d };
        signature.check().ok().map(|()| signature)
    }

    /// The signatures that may be the best for rate `p`.
    fn near(&self, p: f64) -> impl Iterator<Item = Signature> {
        let low = (-libm::log2(p)).floor().clamp(1.0, f64::from(MAX_K - 12)) as u32;
        let low =
            low.max(self.t.unwrap_or(1)).max(self.q.unwrap_or(1)).max(self.d.map_or(1, |d| d + 1));
        let range = self.k.map_or(low..=(low + 12).min(MAX_K), |k| k..=k);
        range.filter_map(|k| self.with(k))
    }
}

impl Plan for VariableLength {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let share = request.number("share");
        let integer = |name: &str| request.integer(name).map(|value| value as u32);
        let [t, q, d] = ["t", "q", "d"].map(integer);
        let wanted = Wanted { k: integer(PARAM_K.name), t, q, d };
        let impossible =
            || Error::parameter("signatures need {d} < {q} ≤ {t} ≤ {k}: change some of them");
        if let Some(m) = request.integer(PARAM_M.name) {
            let signature = match (wanted.k, request.goal_items()) {
                (Some(k), _) => wanted.with(k),
                (None, Some(n)) => {
                    let rate =
                        |s: &Signature| s.fpr(theory::fill(m as f64, n as f64 * f64::from(s.t)));
                    let standard = libm::exp2(-f64::from(theory::best_k(m, n).min(MAX_K - 12)));
                    wanted.near(standard).min_by(|a, b| rate(a).total_cmp(&rate(b)))
                }
                (None, None) => return Err(m_alone()),
            };
            return Ok(Shape { m, signature: signature.ok_or_else(impossible)?, share });
        }
        let least = |n: u64, p: f64| {
            let sized = wanted.near(p).map(|signature| (signature.bits(n, p).ceil(), signature));
            sized.min_by(|a, b| a.0.total_cmp(&b.0))
        };
        let (n, p) =
            request.items_and_rate(|n, p| least(n, p).map_or(f64::INFINITY, |(bits, _)| bits))?;
        let (bits, signature) = least(n, p).ok_or_else(impossible)?;
        check_cells(n, p, bits)?;
        Ok(Shape { m: (bits as u64).max(1), signature, share })
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let Shape { m, signature, .. } = *shape;
        let throws = load.distinct as f64 * f64::from(signature.t);
        let fill = (theory::fill(m as f64, throws), theory::fill_sd(m as f64, throws));
        Some(Expect::one_sided(signature.fpr(fill.0), m, Some(fill)).probing(signature.k))
    }
}

impl Stream for VariableLength {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Shape { m, signature, share } = *shape;
        let generator = Generator::new(head.hasher.seed());
        Ok(Self {
            head,
            probe: Probe::over(m, signature.k),
            signature,
            share,
            cursor: 0,
            generator,
            cleared: 0,
            bits: Bits::try_new(m)?,
        })
    }
}

face!(VariableLength: Insert, Remove, Age);
planned!(VariableLength);
keyed!(VariableLength: Insert, Remove);

impl Filter for VariableLength {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key)))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.bits.fill())
    }

    /// No member is lost before a bit is cleared; how many are afterwards, the filter cannot tell.
    fn now(&self) -> Rates {
        let fpr = self.signature.fpr(self.bits.fill()) + self.head.collisions();
        let fnr = (self.cleared == 0).then_some(0.0);
        Rates { fpr: Some(fpr.min(1.0)), fnr, undecided: None }
    }

    fn describe(&self) -> Vec<Fact> {
        let Signature { k, t, q, d } = self.signature;
        vec![
            fact("m", self.bits.len()),
            fact("k", k),
            fact("t", t),
            fact("q", q),
            fact("d", d),
            real("share", self.share),
            fact("cleared", self.cleared),
        ]
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let digest = self.head.hasher.digest(key);
        let indices = self.probe.collect(digest, Coincide::PerHash);
        touched(&indices, |i| self.bits.get(i).into())
    }
}

impl Age for VariableLength {
    fn age(&mut self, ticks: u64) {
        VariableLength::age(self, ticks);
    }
}

const ROUND_ROBIN: &str = "round-robin";
const RANDOM: &str = "random";

const fn form(name: &'static str) -> Form {
    Form::lossy(
        name,
        &[Ability::Insert, Ability::Remove, Ability::Age],
        "removals and aging clear bits of other keys",
    )
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<VariableLength>(Facts {
    id: 66,
    slug: "variable-length",
    entry: "§9",
    question: "Is this flow alive, when flows end unannounced?",
    name: "Variable-length signatures",
    paper: "Y. Lu, B. Prabhakar, F. Bonomi, Bloom filters: design innovations and novel applications, Allerton 2005",
    family: "deleting",
    needs: &["membership", "delete", "decay"],
    forms: &[form(ROUND_ROBIN), form(RANDOM)],
    operations: &[
        change!(
            VariableLength,
            "lengthen",
            "Set one more bit of each key that is found.",
            [],
            [Keys],
            |filter, given| Ok(filter.lengthen(given.record.key))
        ),
        change!(
            VariableLength,
            "recover",
            "Set the missing bits of each key that is found.",
            [],
            [Keys],
            |filter, given| {
                let before = filter.length(given.record.key);
                filter.recover(given.record.key);
                Ok(filter.length(given.record.key) > before)
            }
        ),
        tell!(
            VariableLength,
            "length",
            "How many bits of the key are set.",
            [],
            [Keys],
            |filter, given| {
                Ok(Detail::Count(Counted::about(filter.length(given.record.key).into())))
            }
        ),
    ],
    params: &[
        PARAM_M,
        PARAM_K,
        Param::integer("t", 1, MAX_K as u64, "positions that an insertion sets, at most k"),
        Param::integer("q", 1, MAX_K as u64, "minimum number of ones of a member, at most t"),
        Param::integer("d", 0, MAX_K as u64 - 1, "ones that a removal leaves at most, below q"),
        Param::real("share", 0.0, 1.0, "share of the bits that a tick clears")
            .or(Preset::Real(0.1)),
    ],
    ..Facts::MULTISET
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_tests::lies_are_refused;

    #[test]
    fn files_with_impossible_signatures_are_refused() {
        let mut filter = VariableLength::with_rate(20, 0.05).unwrap();
        (0..20u64).for_each(|key| _ = filter.insert(&key));
        filter.age(1);
        let lies: [fn(&mut VariableLength); 6] = [
            |f| f.signature.q = f.signature.t + 1,
            |f| f.signature.t = f.signature.k + 1,
            |f| f.signature.d = f.signature.q,
            |f| f.signature.k += 1,
            |f| f.cursor = f.bits.len(),
            |f| f.share = f64::NAN,
        ];
        lies_are_refused(&filter, lies);
    }

    /// Time without end is over in a moment, and leaves nothing.
    #[test]
    fn endless_ticks_end() {
        for form in [ROUND_ROBIN, RANDOM] {
            let mut filter = VariableLength::builder().items(50).form(form).build().unwrap();
            (0..50u64).for_each(|key| _ = filter.insert(&key));
            filter.age(u64::MAX);
            assert_eq!(filter.fill(), Some(0.0));
        }
    }
}
