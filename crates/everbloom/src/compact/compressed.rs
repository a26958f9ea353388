//! The compressed Bloom filter (Mitzenmacher 2002; catalogue I8; S1 §2.6, S0 §III-C, S3 ref. 99).
//!
//! Where a filter is sent from machine to machine, what counts is not its m bits of memory but the z bits
//! of its code. A standard filter of the best k is half full, and half full means that no coder can shorten
//! it. With more memory and fewer probes most bits are zero, and the code is short:
//!
//! ```text
//!   sender                             the wire                receiver
//!   0 0 0 0 1 0 0 0 0 0 0 1 0 0 0 0 ──▶ z = m·H(ρ) bits ──▶ 0 0 0 0 1 0 0 0 0 0 0 1 0 0 0 0
//!     m bits, a share ρ of ones, H the entropy of a bit          the same m bits
//! ```
//!
//! At 16 bits sent for each key (S1 Table 1):
//!
//! | in memory, m/n | k | sent, z/n | rate |
//! |---|---|---|---|
//! | 16 | 11 | 16 | 0.000459 |
//! | 28 | 4 | 15.846 | 0.000314 |
//! | 48 | 3 | 15.829 | 0.000222 |
//!
//! As m grows the rate falls towards ½^{z/n}, which would be the space lower bound; but that is a limit with
//! a k below 1, never reached (S3 gives it as the rate).
//!
//! In memory this is a plain filter, as fast as any; its *file* is the code: send
//! [`to_bytes`](crate::to_bytes), and receive by an [`Opener`](crate::Opener) under the limits of a network. How much memory may be spent to send less is `stretch`.
//!
//! **Use it** where filters travel: caches that tell each other what they hold, sets shipped with a program.
//! **Don't** where the memory of the receiver is what is short: the standard filter is smaller there.

use crate::cells::Coded;
use crate::plan::MAX_CELLS;
use crate::probe::{Coincide, MAX_K, Probe};
use crate::theory::bloom as theory;
use crate::variant::prelude::*;

/// A set in m bits, few of them set, whose file is entropy-coded.
///
/// ```
/// use everbloom::compact::Compressed;
/// use everbloom::{Limits, Opener, to_bytes};
///
/// let mut cache = Compressed::with_rate(1000, 0.001)?;
/// cache.insert("index.html");
/// let wire = to_bytes(&cache);
/// let there: Compressed = Opener::new().limits(Limits::NETWORK).decode_as(&wire)?;
/// assert!(there.contains("index.html"));
/// assert_eq!(there, cache);
/// # Ok::<(), everbloom::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Compressed {
    head: Head,
    probe: Probe,
    bits: Coded,
}

state!(Compressed { head, probe, bits });

/// Bits that a coder spends on a symbol that has probability `p`, or is another: H(p).
pub fn entropy(p: f64) -> f64 {
    let term = |p: f64| if p > 0.0 { -p * libm::log2(p) } else { 0.0 };
    term(p) + term(1.0 - p)
}

/// Bits sent for each key, z/n = c·H(e^{−k/c}), of a filter with c = m/n bits of memory for each (S1 §2.6).
///
/// Grows with c, and with k up to the best one.
pub fn sent_per_key(c: f64, k: u32) -> f64 {
    c * entropy(libm::exp(-f64::from(k) / c))
}

/// The rate below which no filter gets that sends `z` bits for each key: ½^z, the limit of m → ∞.
pub fn rate_limit(z: f64) -> f64 {
    libm::exp2(-z)
}

/// Bits of memory for each key, and probes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Design {
    /// c = m/n.
    pub per_key: f64,
    /// Probes.
    pub k: u32,
}

impl Design {
    /// The lowest rate that `z` bits sent for each key allow with at most `most` bits of memory for each:
    /// the least (1 − e^{−k/c})^k over c and k with c·H(e^{−k/c}) ≤ z.
    ///
    /// Only filters at most half full are looked at. To each there is one as full as this is empty that
    /// sends as much at the same rate, since z and ln f = −c·ln ρ·ln(1 − ρ) look alike from both sides; but
    /// it takes many more probes.
    pub fn for_sent(z: f64, most: f64) -> Self {
        // For each k the largest c is the best one.
        let designs = (1..=last_k(most.min(z))).map(|k| Self { per_key: widest(z, most, k), k });
        let best = designs.min_by(|a, b| a.rate().total_cmp(&b.rate()));
        best.unwrap_or(Self { per_key: most, k: 1 })
    }

    /// The fewest bits sent at a rate of `p`, with at most `most` bits of memory for each key; where even
    /// the standard filter needs more than that, the standard filter.
    pub fn for_rate(p: f64, most: f64) -> Self {
        let designs = || (1..=last_k(theory::bits(1.0, p))).map(|k| Self::with_k(p, k));
        let fitting = designs().filter(|d| d.per_key <= most);
        let best = fitting.min_by(|a, b| a.sent().total_cmp(&b.sent()));
        best.or_else(|| designs().min_by(|a, b| a.per_key.total_cmp(&b.per_key)))
            .unwrap_or_else(|| Self::with_k(p, 1))
    }

    /// The least memory for a rate of `p` with `k` probes.
    fn with_k(p: f64, k: u32) -> Self {
        let per_probe = libm::pow(p, 1.0 / f64::from(k));
        Self { per_key: f64::from(k) / -libm::log1p(-per_probe), k }
    }

    /// z/n.
    pub fn sent(&self) -> f64 {
        sent_per_key(self.per_key, self.k)
    }

    /// The rate of false positives.
    pub fn rate(&self) -> f64 {
        theory::fpr_asymptotic(self.per_key, 1.0, f64::from(self.k))
    }
}

/// The largest k worth looking at for `c` bits a key.
fn last_k(c: f64) -> u32 {
    (theory::optimal_k(c, 1.0).ceil() + 1.0).clamp(1.0, f64::from(MAX_K)) as u32
}

/// The largest c up to `most` that sends no more than `z` bits a key.
fn widest(z: f64, most: f64, k: u32) -> f64 {
    if sent_per_key(most, k) <= z {
        return most;
    }
    let (mut low, mut high) = (0.0, most);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if sent_per_key(middle, k) <= z { low = middle } else { high = middle }
    }
    low
}

impl Compressed {
    /// A filter of `m` bits and `k` probes; both at least 1.
    pub fn with_shape(m: u64, k: u32, hasher: Hasher) -> Result<Self> {
        let flat = Flat { m: m.max(1), k: k.max(1) };
        Self::empty(&Shape { flat, rate: None }, Head::new(hasher, FORM))
    }

    /// Inserts a key.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.head.hasher.digest(key);
        let mut new = false;
        self.probe.each(digest, |i| new |= self.bits.set(i));
        self.head.count(1);
        if new { Seen::New } else { Seen::Maybe }
    }

    /// Whether the key may be a member.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.probe.all(self.head.hasher.digest(key), |i| self.bits.get(i))
    }

    /// Number of bits in memory.
    pub fn m(&self) -> u64 {
        self.bits.len()
    }

    /// Number of probes per key.
    pub fn k(&self) -> u32 {
        self.probe.k()
    }

    /// The bits.
    pub fn bits(&self) -> &Coded {
        &self.bits
    }

    /// The bits that sending takes, z = m·H(ρ), from the real share of ones; [`Coded::code_bits`] codes
    /// them and counts.
    pub fn sent_bits(&self) -> f64 {
        self.m() as f64 * entropy(self.share())
    }

    /// Makes this the filter of the union of both sets, exactly.
    pub fn union(&mut self, other: &Compressed) -> Result<()> {
        self.head.agree(&other.head)?;
        self.probe.agree(&other.probe)?;
        self.bits.union(&other.bits);
        self.head.count(other.head.items);
        if let Some(n) = theory::cardinality(self.bits.zeros(), self.m(), self.k()) {
            self.head.items = n.round() as u64;
        }
        Ok(())
    }

    fn share(&self) -> f64 {
        self.bits.ones() as f64 / self.m() as f64
    }

    fn check(&self) -> Result<()> {
        self.probe.check_flat(self.bits.len())
    }
}

/// m and k, and the rate they give where it was not asked for.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    flat: Flat,
    rate: Option<f64>,
}

impl Plan for Compressed {
    type Shape = Shape;

    /// From a rate: the fewest bits sent, with at most `stretch` times the standard filter's memory. From
    /// bits sent: the lowest rate, with at most `stretch` times as many bits of memory. From memory: what
    /// is sent is a `stretch`-th of it.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let k_set = request.integer(PARAM_K.name).map(|k| k as u32);
        let stretch = request.real("stretch").unwrap_or(STRETCH);
        let (items, room) = (request.goal_items(), request.goal_bits());
        if let Some(z) = request.real("transmit") {
            let n = items.ok_or_else(|| {
                Error::parameter("{transmit} is in bits for each key, so it needs {items}")
            })?;
            if k_set.is_some() || request.integer(PARAM_M.name).is_some() {
                return Err(Error::parameter(
                    "{transmit} chooses m and k: leave them out, or leave out {transmit}",
                ));
            }
            let held = room.map_or(f64::INFINITY, |room| room as f64 / n as f64);
            let design = Design::for_sent(z, held.min(stretch * z));
            if let Some(p) = request.goal_fpr().filter(|p| design.rate() > *p) {
                return Err(Error::parameter(format!(
                    "{z} bits sent for each key give a rate of {:.3e}, not {p}: transmit more, or \
                     stretch further",
                    design.rate()
                )));
            }
            let flat = sized(n, design, room)?;
            return Ok(Shape { flat, rate: Some(flat.fpr(n)) });
        }
        if request.integer(PARAM_M.name).is_some() || k_set.is_some() {
            return Ok(Shape { flat: Flat::plan(request, 1)?, rate: None });
        }
        if let (Some(n), Some(room), None) = (items, room, request.goal_fpr()) {
            let c = room as f64 / n as f64;
            let k = (2..=last_k(c)).take_while(|&k| sent_per_key(c, k) * stretch <= c).last();
            let k = if stretch > 1.0 { k.unwrap_or(1) } else { theory::best_k(room, n) };
            return Ok(Shape { flat: sized(n, Design { per_key: c, k }, Some(room))?, rate: None });
        }
        let design = |n: u64, p: f64| {
            let most = stretch * theory::bits(1.0, p);
            Design::for_rate(p, room.map_or(most, |room| most.min(room as f64 / n as f64)))
        };
        // How much memory is used where the number of keys is open does not depend on the memory.
        let per_key = |n: u64, p: f64| match items {
            Some(_) => design(n, p).per_key,
            None => Design::for_rate(p, stretch * theory::bits(1.0, p)).per_key,
        };
        let (n, p) = request.items_and_rate(|n, p| (per_key(n, p) * n as f64).ceil())?;
        Ok(Shape { flat: sized(n, design(n, p), room)?, rate: None })
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (flat, n) = (shape.flat, load.distinct);
        Some(Expect::one_sided(flat.fpr(n), flat.m, Some(flat.fill(n))))
    }
}

impl Stream for Compressed {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Flat { m, k } = shape.flat;
        let head = Head { fpr: shape.rate.or(head.fpr), ..head };
        Ok(Self { head, probe: Probe::over(m, k), bits: Coded::new(m) })
    }
}

/// The shape that holds `n` keys as `design` says, within `room`.
fn sized(n: u64, design: Design, room: Option<u64>) -> Result<Flat> {
    let wanted = (design.per_key * n as f64).ceil().max(1.0);
    // Asked the negative way, so that NaN is refused too.
    let fits = wanted <= MAX_CELLS as f64;
    if !fits {
        return Err(Error::parameter(format!(
            "{n} items need {wanted:e} bits, more than {MAX_CELLS}: ask for fewer items, a higher rate \
             or a smaller stretch"
        )));
    }
    Ok(Flat { m: room.map_or(wanted as u64, |room| room.min(wanted as u64)), k: design.k })
}

face!(Compressed: Insert, Merge);
planned!(Compressed);

impl Filter for Compressed {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key)))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.share())
    }

    fn now(&self) -> Rates {
        Rates::one_sided(libm::pow(self.share(), f64::from(self.k())))
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("m", self.m()),
            fact("k", self.k()),
            fact("bits sent", self.sent_bits().round() as u64),
        ]
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let indices = self.probe.collect(self.head.hasher.digest(key), Coincide::PerHash);
        touched(&indices, |i| self.bits.get(i).into())
    }
}

keyed!(Compressed: Insert, Union);

const FORM: &str = "standard";

/// Up to three times the memory sends 7 % less at a rate of 1 %, and halves the rate at 16 bits sent; the next
/// steps cost far more memory and gain less.
const STRETCH: f64 = 3.0;

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 43,
        slug: "compressed",
        entry: "I8",
        name: "Compressed Bloom filter",
        paper: "M. Mitzenmacher, Compressed Bloom filters, IEEE/ACM Transactions on Networking 10(5), 2002",
        family: "compact",
        needs: &["membership", "merge", "compact"],
        meaning: "items are keys, the rate is that of false positives; memory is what the filter takes \
                  while in use, its file is shorter",
        forms: &[Form::exact(FORM, &[Ability::Insert, Ability::Merge])],
        params: &[
            PARAM_M,
            PARAM_K,
            Param {
                name: "transmit",
                range: Range::Real(0.01, 10_000.0),
                default: Preset::Planned,
                help: "bits sent for each key; the rate follows",
            },
            Param {
                name: "stretch",
                range: Range::Real(1.0, 1e6),
                default: Preset::Real(STRETCH),
                help: "bits of memory for each bit that a standard filter would take, or that is sent",
            },
        ],
        ..Facts::FILTER
    },
    ops: Ops::of::<Compressed>(),
};
