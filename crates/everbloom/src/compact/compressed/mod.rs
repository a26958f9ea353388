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
//! [`to_bytes`](crate::to_bytes), and receive by an [`Opener`](crate::Opener) under the limits of a network. How
//! much memory may be spent to send less, the parameter `stretch` says.
//!
//! **Use it** for filters that are sent: between caches, or with a program. **Don't** if memory at the receiver is
//! scarce: the standard filter is smaller there.

mod shape;

use crate::cells::Bits;
use crate::parts::flat_bits::FlatBits;
use crate::parts::{methods, owns, sets};
use crate::plan::MAX_CELLS;
use crate::probe::Probe;
use crate::state::{Decoder, Encoder, State};
use crate::theory::bloom as theory;
use crate::variant::prelude::*;

use shape::last_k;
pub use shape::{Design, entropy, rate_limit, sent_per_key};

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
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Compressed {
    head: Head,
    flat: FlatBits,
}

/// Head, probe and bits, the bits as a code.
impl State for Compressed {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| {
            self.head.save("head", out);
            self.flat.probe.save("probe", out);
            self.flat.bits.save_coded("bits", out);
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            let (head, probe) = (Head::load("head", src)?, Probe::load("probe", src)?);
            let bits = Bits::load_coded("bits", src)?;
            probe.check_flat(bits.len())?;
            Ok(Self { head, flat: FlatBits { probe, bits } })
        })
    }
}

impl Compressed {
    /// A filter of `m` bits and `k` probes, at least one of each.
    pub fn with_shape(m: u64, k: u32, hasher: Hasher) -> Result<Self> {
        Self::empty(&(Flat { m, k }, None), Head::new(hasher, FORM))
    }

    /// The bits that sending takes, z = m·H(ρ), from the real share of ones; [`Bits::code_bits`] codes
    /// them and counts.
    pub fn sent_bits(&self) -> f64 {
        self.m() as f64 * entropy(Part::fill(&self.flat))
    }

    /// Number of bits in memory.
    pub fn m(&self) -> u64 {
        self.flat.m()
    }

    /// Number of probes per key.
    pub fn k(&self) -> u32 {
        self.flat.k()
    }

    /// The bits.
    pub fn bits(&self) -> &Bits {
        &self.flat.bits
    }
}

impl Plan for Compressed {
    /// m and k, and the rate they give where it was not asked for.
    type Shape = (Flat, Option<f64>);

    /// From a rate: the fewest bits sent, with at most `stretch` times the standard filter's memory. From
    /// bits sent: the lowest rate, with at most `stretch` times as many bits of memory. From memory: what
    /// is sent is a `stretch`-th of it.
    fn plan(request: &Request<'_>) -> Result<Self::Shape> {
        let k_set = request.integer(PARAM_K.name).map(|k| k as u32);
        let stretch = request.number("stretch");
        let (items, room) = (request.goal_items(), request.goal_bits());
        if let Some(z) = request.real("transmit") {
            let n = items.ok_or_else(|| {
                Error::parameter("{transmit} is in bits per key, so it needs {items}")
            })?;
            if k_set.is_some() || request.integer(PARAM_M.name).is_some() {
                return Err(Error::parameter(
                    "{transmit} determines m and k: omit them, or omit {transmit}",
                ));
            }
            let held = room.map_or(f64::INFINITY, |room| room as f64 / n as f64);
            let design = Design::for_sent(z, held.min(stretch * z));
            if let Some(p) = request.goal_fpr().filter(|p| design.rate() > *p) {
                return Err(Error::parameter(format!(
                    "{z} bits per key sent give a rate of {:.3e}, not {p}: set a larger {{transmit}} or {{stretch}}",
                    design.rate()
                )));
            }
            let flat = sized(n, design, room)?;
            return Ok((flat, Some(flat.fpr(n))));
        }
        if request.integer(PARAM_M.name).is_some() || k_set.is_some() {
            return Ok((Flat::plan(request, 1)?, None));
        }
        if let (Some(n), Some(room), None) = (items, room, request.goal_fpr()) {
            let c = room as f64 / n as f64;
            let k = (2..=last_k(c)).take_while(|&k| sent_per_key(c, k) * stretch <= c).last();
            let k = if stretch > 1.0 { k.unwrap_or(1) } else { theory::best_k(room, n) };
            return Ok((sized(n, Design { per_key: c, k }, Some(room))?, None));
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
        Ok((sized(n, design(n, p), room)?, None))
    }

    fn expect((flat, _): &Self::Shape, load: &Load) -> Option<Expect> {
        Some(flat.expect(load, flat.m))
    }
}

impl Stream for Compressed {
    fn empty(&(flat, rate): &Self::Shape, head: Head) -> Result<Self> {
        let head = Head { fpr: rate.or(head.fpr), ..head };
        // A tenth of the bits is set, so that a probe is worth three or four of a half full filter.
        let Flat { m, k } = flat.checked()?;
        Ok(Self { head, flat: FlatBits::probed(Probe::promising(m, k, 4 * k))? })
    }
}

/// The shape that holds `n` keys as `design` says, within `room`.
fn sized(n: u64, design: Design, room: Option<u64>) -> Result<Flat> {
    let wanted = (design.per_key * n as f64).ceil().max(1.0);
    // Asked the negative way, so that NaN is refused too.
    let fits = wanted <= MAX_CELLS as f64;
    if !fits {
        return Err(Error::parameter(format!(
            "{n} items need {wanted:e} bits, more than {MAX_CELLS}: use fewer {{items}}, a higher \
             {{rate}} or a smaller {{stretch}}"
        )));
    }
    Ok(Flat { m: room.map_or(wanted as u64, |room| room.min(wanted as u64)), k: design.k })
}

face!(Compressed: Insert, Merge, Bulk, BulkInsert);
planned!(Compressed);
owns!(Compressed { flat: FlatBits });
methods!(Compressed:
    insert, contains, clear, insert_many, contains_many, contains_many_into, contains_iter);
keyed!(Compressed: Insert);
sets!(@union Compressed: flat);

impl Filter for Compressed {
    fn part(&self) -> Option<&dyn Part> {
        Some(&self.flat)
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("m", self.m()),
            fact("k", self.k()),
            fact("bits sent", self.sent_bits().round() as u64),
        ]
    }
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Compressed>(Facts {
    id: 43,
    slug: "compressed",
    entry: "I8",
    question: "Is it in the set, sent in as few bits as possible?",
    name: "Compressed Bloom filter",
    paper: "M. Mitzenmacher, Compressed Bloom filters, IEEE/ACM Transactions on Networking 10(5), 2002",
    family: "compact",
    needs: &["membership", "merge", "compact"],
    meaning: "items are keys, the rate is the false-positive rate; memory is that of the filter in use; its file is \
              smaller",
    forms: &[Form::exact(FORM, &[Ability::Insert, Ability::Merge])],
    params: &[
        PARAM_M,
        PARAM_K,
        Param::real("transmit", 0.01, 10_000.0, "bits sent for each key; the rate follows"),
        Param::real(
            "stretch",
            1.0,
            1e6,
            "bits of memory per bit of a standard filter, or per bit sent",
        )
        // Three times the memory sends 7 % less at a rate of 1 %, and halves the rate at 16 bits sent; the next
        // steps cost far more memory and gain less.
        .or(Preset::Real(3.0)),
    ],
    ..Facts::FILTER
});
