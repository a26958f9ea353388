//! Optihash (Carrea, Vernitski, Reed 2014; catalogue R4; S3 §IV-A).
//!
//! A small filter that travels in a packet and is queried for keys that are known beforehand, such as
//! the links beside a route. One hash, one bit a key; and two small numbers α and β that change the hash.
//! The build tries all of them and keeps the first pair under which the fewest keys of the known query set Q
//! are false positives:
//!
//! ```text
//!          members    known others
//!   (0,0)  1 · · 1 1 · · ·     two of Q hit a one
//!   (0,1)  · 1 · · 1 · 1 ·     one does
//!   (0,2)  · · 1 1 · · · 1     none: taken
//!
//!   sent:  w = ┌─── v, m_v bits ───┬─ α ─┬─ β ─┐
//! ```
//!
//! Under one pair the members fill ρ ≈ |S|/m_v of the bits, and all of Q ∖ S stay clear with chance
//! (1 − ρ)^{|Q∖S|}; with 2^{m_α+m_β} pairs to try, one succeeds far more often. Never are there more false
//! positives on Q than under (0, 0), and never a false negative. On keys outside Q the filter is no
//! better than its fill.
//!
//! **Use it** in packet headers: tens of members, tens of known queries, and a wrong answer costs only a detour.
//! **Don't** if other keys may be queried: at one bit per key their rate is ρ, far above that of `bloom` in the
//! same bits. The search takes 2^{m_α+m_β}·(|S| + |Q|) steps.
//!
//! Members may come more than once; queries of Q that are members do not count. Records are the members,
//! the known queries are given as negatives. A built filter takes no further keys: they would void what
//! the search has found.

use super::{all, negatives};
use crate::cells::Bits;
use crate::filter::touched;
use crate::plan::{MAX_CELLS, check_cells};
use crate::probe::{Ring, check_search};
use crate::variant::prelude::*;

/// A set in one bit a key, under the hash that treats a known query set best.
#[derive(Clone, Debug, PartialEq)]
pub struct Optihash {
    head: Head,
    /// Bits of v.
    m: u64,
    alpha_bits: u32,
    beta_bits: u32,
    /// What is sent: v, then α, then β, the highest bit first.
    w: Bits,
}

state!(Optihash { head, m, alpha_bits, beta_bits, w });

/// The most bits of α and of β.
const MAX_WIDTH: u32 = 16;

impl Optihash {
    /// The filter of `members` that the fewest of `queries` pass, with `m` ≥ 1 bits for v, and at most 16 bits each
    /// for α and β.
    ///
    /// ```
    /// use everbloom::{Hasher, known::Optihash};
    ///
    /// let (route, beside) = (["ab", "bc", "cd"], ["ax", "by", "cz", "dw"]);
    /// let packet = Optihash::of(&route, &beside, 24, 4, 4, Hasher::default())?;
    /// assert!(route.iter().all(|link| packet.contains(link)));
    /// assert!(!beside.iter().any(|link| packet.contains(link)));
    /// # Ok::<(), everbloom::Error>(())
    /// ```
    pub fn of<K: Key>(
        members: &[K],
        queries: &[K],
        m: u64,
        alpha_bits: u32,
        beta_bits: u32,
        hasher: Hasher,
    ) -> Result<Self> {
        let shape = Shape { m, alpha_bits, beta_bits };
        if !shape.possible() {
            return Err(Error::parameter(format!(
                "{m} bits for v and {alpha_bits} + {beta_bits} for α and β: 1 to {MAX_CELLS} for v, \
                 and at most {MAX_WIDTH} for each of the others"
            )));
        }
        let (members, queries) = (all(&hasher, members), all(&hasher, queries));
        Self::search(&shape, Head::new(hasher, FORM), members, queries)
    }

    /// Tries every (α, β) in the order of α·2^{m_β} + β, up to the first without false positives.
    fn search(
        shape: &Shape,
        mut head: Head,
        mut members: Vec<Digest>,
        mut queries: Vec<Digest>,
    ) -> Result<Self> {
        head.count(members.len() as u64);
        sort(&mut members);
        sort(&mut queries);
        queries.retain(|query| members.binary_search(query).is_err());
        let probe = shape.probe();
        let probes = members.len() as u64 + queries.len() as u64;
        check_search("alpha or beta", shape.candidates(), probes)?;

        let mut trial = Bits::try_new(shape.m)?;
        let (mut best, mut fewest) = (0, usize::MAX);
        for code in 0..shape.candidates() {
            members.iter().for_each(|x| {
                trial.set(index(&probe, *x, code));
            });
            let wrong = queries.iter().filter(|q| trial.get(index(&probe, **q, code))).count();
            members.iter().for_each(|x| trial.reset(index(&probe, *x, code)));
            if wrong < fewest {
                (best, fewest) = (code, wrong);
            }
            if wrong == 0 {
                break;
            }
        }

        let Shape { m, alpha_bits, beta_bits } = *shape;
        let mut w = Bits::try_new(shape.bits())?;
        members.iter().for_each(|x| {
            w.set(index(&probe, *x, best));
        });
        let width = alpha_bits + beta_bits;
        (0..width).filter(|i| best >> (width - 1 - i) & 1 != 0).for_each(|i| {
            w.set(m + u64::from(i));
        });
        Ok(Self { head, m, alpha_bits, beta_bits, w })
    }

    /// Whether the key may be a member.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        let digest = self.head.hasher.digest(key);
        self.w.get(index(&self.shape().probe(), digest, self.code()))
    }

    /// Bits of v.
    pub fn m(&self) -> u64 {
        self.m
    }

    /// The chosen α.
    pub fn alpha(&self) -> u64 {
        self.code() >> self.beta_bits
    }

    /// The chosen β.
    pub fn beta(&self) -> u64 {
        self.code() & ((1 << self.beta_bits) - 1)
    }

    /// What is sent: v, α and β.
    pub fn w(&self) -> &Bits {
        &self.w
    }

    /// α·2^{m_β} + β, from its bits behind v.
    #[inline]
    fn code(&self) -> u64 {
        (self.m..self.w.len()).fold(0, |code, i| code << 1 | u64::from(self.w.get(i)))
    }

    fn shape(&self) -> Shape {
        Shape { m: self.m, alpha_bits: self.alpha_bits, beta_bits: self.beta_bits }
    }

    fn fill_of_v(&self) -> f64 {
        self.w.ones_in(0, self.m) as f64 / self.m as f64
    }

    fn check(&self) -> Result<()> {
        let Shape { m, alpha_bits, beta_bits } = self.shape();
        // The widths are known to be small before they are added.
        if self.shape().possible() && self.shape().bits() == self.w.len() {
            return Ok(());
        }
        let (w, widths) = (self.w.len(), format!("{m} + {alpha_bits} + {beta_bits}"));
        Err(Error::corrupt(0, format!("corrupt filter: {widths} bits in {w}")))
    }
}

/// The bit of a key under a pair of (α, β), which enters before the last mixing: reduced, it is
/// mix64(H1 ⊕ mix64(code ⊕ constant)). Added after it, β would only rotate v and change nothing (R4).
///
/// The catalogue reduces by mod; multiply-shift is what all of this library's small ranges use.
#[inline]
fn index(probe: &Ring, digest: Digest, code: u64) -> u64 {
    probe.indices(digest.salted(code)).next().unwrap_or(0)
}

/// The set of a multiset.
fn sort(digests: &mut Vec<Digest>) {
    digests.sort_unstable();
    digests.dedup();
}

/// Chance that some of `candidates` hashes lets none of `queries` known non-members pass, where v is
/// filled to `fill`: 1 − (1 − (1 − ρ)^{|Q∖S|})^candidates (R4).
pub fn clear_chance(fill: f64, queries: u64, candidates: u64) -> f64 {
    let one = libm::exp(queries as f64 * libm::log1p(-fill));
    -libm::expm1(candidates as f64 * libm::log1p(-one))
}

/// Bits of v, of α and of β.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    m: u64,
    alpha_bits: u32,
    beta_bits: u32,
}

impl Shape {
    fn possible(&self) -> bool {
        (1..=MAX_CELLS).contains(&self.m)
            && self.alpha_bits <= MAX_WIDTH
            && self.beta_bits <= MAX_WIDTH
    }

    fn bits(&self) -> u64 {
        self.m + u64::from(self.alpha_bits + self.beta_bits)
    }

    fn candidates(&self) -> u64 {
        1 << (self.alpha_bits + self.beta_bits)
    }

    fn probe(&self) -> Ring {
        Ring::new(self.m, 1)
    }
}

impl Plan for Optihash {
    type Shape = Shape;

    /// The fewest bits that keep the rate on unknown keys, 1 − (1 − 1/m)ⁿ; what the search does for Q comes
    /// on top.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let width = |name| request.integer(name).unwrap_or(0).min(MAX_WIDTH.into()) as u32;
        let (alpha_bits, beta_bits) = (width(PARAM_ALPHA.name), width(PARAM_BETA.name));
        if let Some(m) = request.integer(PARAM_M.name) {
            return Ok(Shape { m, alpha_bits, beta_bits });
        }
        // 1 − (1 − 1/m)ⁿ = p, solved for m.
        let cells = |n: u64, p: f64| (-1.0 / libm::expm1(libm::log1p(-p) / n as f64)).ceil();
        let sent = f64::from(alpha_bits + beta_bits);
        let (n, p) = request.items_and_rate(|n, p| cells(n, p) + sent)?;
        let m = cells(n, p).max(1.0);
        check_cells(n, p, m)?;
        Ok(Shape { m: m as u64, alpha_bits, beta_bits })
    }

    /// The rate on unknown keys. The search leans towards an emptier v, but only as far as Q can tell one
    /// from another: by less than the variant `best-of-n` does, and mostly not at all.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let fill = Flat { m: shape.m, k: 1 }.fill(load.distinct);
        Some(Expect::one_sided(fill.0, shape.bits(), Some(fill)))
    }
}

impl Create for Optihash {
    fn create(shape: &Shape, head: Head, inputs: &mut Inputs<'_>) -> Result<Self> {
        let members = digests(&head.hasher, inputs.records)?;
        let queries = negatives(&head.hasher, inputs, |_| true)?;
        Self::search(shape, head, members, queries)
    }
}

face!(Optihash: );
built!(Optihash: against);

impl Filter for Optihash {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key)))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.fill_of_v())
    }

    /// The rate on unknown keys; on the known queries it is lower.
    fn now(&self) -> Rates {
        Rates::one_sided(self.fill_of_v())
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("m", self.m),
            fact("alpha bits", self.alpha_bits),
            fact("beta bits", self.beta_bits),
            fact("alpha", self.alpha()),
            fact("beta", self.beta()),
        ]
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let digest = self.head.hasher.digest(key);
        let cell = index(&self.shape().probe(), digest, self.code());
        touched(&[cell], |i| self.w.get(i).into())
    }
}

const PARAM_ALPHA: Param =
    Param::integer("alpha", 0, MAX_WIDTH as u64, "bits of α").or(Preset::Integer(4));

const PARAM_BETA: Param = Param { name: "beta", help: "bits of β", ..PARAM_ALPHA };

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Optihash>(Facts {
    id: 15,
    slug: "optihash",
    entry: "R4",
    question: "Is it in the set, in a packet header, with few errors among known queries?",
    name: "Optihash",
    paper: "L. Carrea, A. Vernitski, M. Reed, Optimized hash for network path encoding with minimized \
            false positives, Computer Networks 58, 2014",
    family: "known",
    needs: &["membership", "accurate", "known-queries", "static"],
    input: Input::KEYS.with_negatives(Negatives::Required),
    meaning: "items are keys, the rate is the false-positive rate on keys outside the known queries",
    forms: &[Form::exact(FORM, &[])],
    params: &[PARAM_M, PARAM_ALPHA, PARAM_BETA],
    reach: 1000,
    ..Facts::COLLECTED
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;
    use crate::plan::Goal;
    use crate::{Opener, to_bytes};

    #[test]
    fn alpha_and_beta_are_counted_and_come_back() {
        let keys: Vec<u64> = (0..10).collect();
        let queries: Vec<u64> = (100..180).collect();
        for (alpha, beta) in [(0, 0), (0, 7), (5, 0), (3, 6)] {
            let filter =
                Optihash::of(&keys, &queries, 100, alpha, beta, Hasher::default()).unwrap();
            assert_eq!(filter.w.len(), 100 + u64::from(alpha + beta));
            assert!(filter.alpha() < 1 << alpha && filter.beta() < 1 << beta);
            let back: Optihash = Opener::new().decode_as(&to_bytes(&filter)).unwrap();
            assert_eq!(back, filter);
            assert_eq!((back.alpha(), back.beta()), (filter.alpha(), filter.beta()));
        }
        let plan = |goal: &Goal| Optihash::plan(&Request::new(&VARIANT, goal).unwrap()).unwrap();
        let goal = Goal { items: Some(10), bits: Some(256), ..Goal::default() };
        assert_eq!((plan(&goal).m, plan(&goal).bits()), (248, 256));
        let shape = plan(&Goal::new(10, 0.04));
        assert_eq!(shape.m, 246);
        let rate = |m: f64| 1.0 - (1.0 - 1.0 / m).powi(10);
        assert!(rate(246.0) <= 0.04 && rate(245.0) > 0.04);
    }

    #[test]
    fn endless_searches_are_refused() {
        let keys: Vec<u64> = (0..100).collect();
        let refused = Optihash::of(&keys, &[1 << 40], 1000, 16, 16, Hasher::default());
        assert_eq!(refused.unwrap_err().kind(), Kind::BadParameter);
    }

    #[test]
    fn files_whose_parts_do_not_add_up_are_refused() {
        let filter = Optihash::of(&[1u64, 2], &[3], 50, 4, 4, Hasher::default()).unwrap();
        for (m, alpha_bits, beta_bits) in
            [(0, 29, 29), (50, 17, 0), (51, 4, 4), (58, u32::MAX, 1), (u64::MAX, 4, 4)]
        {
            let alien = Optihash { m, alpha_bits, beta_bits, ..filter.clone() };
            assert!(Opener::new().decode(&to_bytes(&alien)).is_err(), "{m} {alpha_bits}");
        }
    }
}
