//! Digest → cell indices.
//!
//! | scheme | ranges | range reduction | what it is for |
//! |---|---|---|---|
//! | [`Double`] | large | mod | Kirsch–Mitzenmacher, as printed |
//! | [`Enhanced`] | large | mod | Dillinger–Manolios, as printed |
//! | [`Ring`] | large | multiply-shift | enhanced double hashing without a division: the default |
//! | [`Mixed`] | any | multiply-shift | independent indices, also in a range of a few cells |
//! | [`Partitioned`] | any | multiply-shift | one slice per hash, re-mixed, folded or multiplied |
//! | [`Blocked`] | any | multiply-shift | all indices inside one block, anywhere or one a lane |
//! | [`Foreign`] | large | mod | what other software does; only filters that it made have them |
//! | [`Residues`] | any | mod | one hash for parts of coprime lengths; no [`Probe`], since its parts differ |
//!
//! Two filters are compatible only if their schemes are equal, so a scheme's number stands in every
//! file and never changes its meaning; the number covers the range reduction.

pub(crate) mod bulk;
pub(crate) mod lanes;
pub(crate) mod scattered;

mod blocked;
mod choice;
mod double;
mod enhanced;
mod flat;
mod foreign;
mod mixed;
mod partitioned;
mod residues;
mod ring;
mod subset;

pub use blocked::{Blocked, Inside};
pub(crate) use blocked::{LANES, SALTS, bit_of_lane, round_word};
pub(crate) use choice::check_search;
pub use choice::place_fewest;
pub use double::Double;
pub use enhanced::Enhanced;
pub use foreign::Foreign;
pub use mixed::Mixed;
#[cfg(target_arch = "x86_64")]
pub(crate) use partitioned::factor;
pub use partitioned::{Partitioned, Words};
pub use residues::{MAX_PARTS, Residues};
pub use ring::Ring;
pub(crate) use ring::Walk;
#[cfg(target_arch = "x86_64")]
pub(crate) use ring::{STEP, grown};
pub use subset::subset;

use smallvec::SmallVec;

use crate::cells::Pairing;
use crate::error::{Error, Result};
pub use crate::hash::multiply_shift;
use crate::hash::{Digest, HashId};
use crate::names::named;
use crate::state::{Decoder, Encoder, State};
use crate::theory::ring as ring_theory;

/// The indices of one key: on the stack up to sixteen, on the heap beyond.
pub type Indices = SmallVec<[u64; 16]>;

/// What a variant does when several hashes of one key meet in one cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coincide {
    /// Touch the cell once per hash.
    PerHash,
    /// Touch each distinct cell once.
    Distinct,
}

named! {
    /// Which scheme, by its permanent number.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[repr(u16)]
    #[non_exhaustive]
    pub enum Scheme {
        /// Double hashing, mod.
        Double = 1 => "double",
        /// Enhanced double hashing, mod.
        Enhanced = 2 => "enhanced",
        /// Enhanced double hashing on the 2⁶⁴ ring, multiply-shift.
        Ring = 3 => "ring",
        /// Re-mixed indices, multiply-shift.
        Mixed = 4 => "mixed",
        /// One slice per hash, re-mixed, multiply-shift.
        Partitioned = 5 => "partitioned",
        /// One block per key, re-mixed inside, multiply-shift.
        Blocked = 6 => "blocked",
        /// One block per key, one index in each of its lanes by fields of H2, multiply-shift: in older files.
        Fields = 7 => "fields",
        /// One block per key, one index in each of its lanes by products of H2, multiply-shift.
        Lanes = 8 => "lanes",
        /// a + i·b in 32 bits, i from 1, complemented if it is negative, mod: Spark's first version, Guava's
        /// `MITZ_32`, ORC. a and b are the low and the high half of H1, as signed numbers.
        Signed32 = 9 => "signed-32",
        /// a·(2³¹ − 1) + i·b in 64 bits, i from 1, complemented if it is negative, mod: Spark's second version.
        Signed64 = 10 => "signed-64",
        /// H1 + i·H2 in 64 bits, i from 0, mod: RedisBloom.
        Wrapped = 11 => "wrapped",
        /// H1 + i·H2 in 64 bits without the highest, i from 0, mod: Guava's `MITZ_64`.
        Positive = 12 => "positive",
        /// |H1 + i·H2| as a signed number of 64 bits, i from 0, mod: Cassandra.
        Absolute = 13 => "absolute",
        /// |a + i·b| as a signed number of 32 bits, i from 0, mod: stream-lib.
        Absolute32 = 14 => "absolute-32",
        /// Half of H1 + i·H2 in 64 bits, i from 1, mod: DataSketches.
        Halved = 15 => "halved",
        /// (H1 mod m) + i·(H2 mod m) in 64 bits, i from 0, mod: fastbloom-rs.
        Reduced = 16 => "reduced",
        /// H1 times the powers of a number modulo a prime, mod: DCSO.
        Powers = 17 => "powers",
        /// H1 with each of fifteen numbers, mod: ClickHouse.
        Seeded = 18 => "seeded",
        /// One block of 512 per key, indices by powers of a number times H2, multiply-shift: RocksDB.
        Products = 19 => "products",
        /// One slice per hash, folded, multiply-shift.
        Folded = 20 => "folded",
        /// One slice per hash, H1 times odd numbers, multiply-shift.
        Multiplied = 21 => "multiplied",
    }
}

impl Scheme {
    /// Every scheme that filters are built with, in order.
    pub const ALL: [Scheme; 10] = [
        Scheme::Double,
        Scheme::Enhanced,
        Scheme::Ring,
        Scheme::Mixed,
        Scheme::Partitioned,
        Scheme::Blocked,
        Scheme::Fields,
        Scheme::Lanes,
        Scheme::Folded,
        Scheme::Multiplied,
    ];

    /// The one of these called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scheme| scheme.name() == name)
    }

    /// Those of filters that other software made.
    pub const FOREIGN: [Scheme; 11] = [
        Scheme::Signed32,
        Scheme::Signed64,
        Scheme::Wrapped,
        Scheme::Positive,
        Scheme::Absolute,
        Scheme::Absolute32,
        Scheme::Halved,
        Scheme::Reduced,
        Scheme::Powers,
        Scheme::Seeded,
        Scheme::Products,
    ];

    /// Whether its shape is more than m: slices or blocks.
    fn has_own_shape(self) -> bool {
        use Scheme::{Blocked, Fields, Folded, Lanes, Multiplied, Partitioned, Products};
        matches!(self, Partitioned | Blocked | Fields | Lanes | Products | Folded | Multiplied)
    }

    /// Whether a hash gives the scheme what it needs. Reduction by mod takes the low bits of two words that are
    /// independent; of the fastest hashes one word is a multiple of the other, so that its low bits follow.
    pub fn takes(self, hash: HashId) -> bool {
        let multiple = matches!(hash, HashId::Fold64 | HashId::Quick64 | HashId::Lane64);
        !(multiple && matches!(self, Scheme::Double | Scheme::Enhanced))
    }
}

/// The smallest range on which ring indices are as good as independent ones.
///
/// Two keys meet in all k cells when both words land close together, about n/m² of all pairs:
/// noise from here on, a tenth of the rate at a thousand cells (catalogue F3).
pub const RING_FROM: u64 = 1 << 16;

/// A probe scheme with its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// See [`Double`].
    Double(Double),
    /// See [`Enhanced`].
    Enhanced(Enhanced),
    /// See [`Ring`].
    Ring(Ring),
    /// See [`Mixed`].
    Mixed(Mixed),
    /// See [`Partitioned`].
    Partitioned(Partitioned),
    /// See [`Blocked`].
    Blocked(Blocked),
    /// See [`Foreign`].
    Foreign(Foreign),
}

/// Runs `$body` with `$p` bound to the scheme inside: static dispatch, one branch per key.
macro_rules! dispatch {
    ($probe:expr, $p:ident => $body:expr) => {
        match $probe {
            Probe::Double($p) => $body,
            Probe::Enhanced($p) => $body,
            Probe::Ring($p) => $body,
            Probe::Mixed($p) => $body,
            Probe::Partitioned($p) => $body,
            Probe::Blocked($p) => $body,
            Probe::Foreign($p) => $body,
        }
    };
}

impl Probe {
    /// `k` indices into `0..m` by the best scheme for that range: the ring, unless the range is small or so many
    /// probes promise a rate that two hash values cannot keep ([`least_cells`](ring_theory::least_cells)).
    pub fn over(m: u64, k: u32) -> Self {
        Self::promising(m, k, k)
    }

    /// [`Probe::over`] for a filter that is emptier than half full, so that its rate is about 2^{−halvings}.
    pub(crate) fn promising(m: u64, k: u32, halvings: u32) -> Self {
        if m >= RING_FROM && m as f64 >= ring_theory::least_cells(halvings) {
            Probe::Ring(Ring::new(m, k))
        } else {
            Probe::Mixed(Mixed::new(m, k))
        }
    }

    /// Whether these are probes as [`Probe::over`] gives them. Which of the two schemes is the better one for a shape
    /// has changed before, and files keep theirs.
    pub(crate) fn is_planned(&self) -> bool {
        matches!(self, Probe::Ring(_) | Probe::Mixed(_))
    }

    /// What keys that share hash values add to the rate of a filter of `n` keys with a share `fill` of ones.
    pub(crate) fn floor(&self, n: f64, fill: f64) -> f64 {
        let m = self.m() as f64;
        match self {
            Probe::Ring(_) => ring_theory::floor(m, n, self.k(), fill),
            // One value of 64 bits, which two keys hardly share.
            Probe::Foreign(p) if matches!(p.scheme(), Scheme::Powers | Scheme::Seeded) => 0.0,
            // Both values agree mod m, or hardly any index does.
            Probe::Double(_) | Probe::Enhanced(_) | Probe::Foreign(_) => (n / (m * m)).min(1.0),
            Probe::Mixed(_) | Probe::Partitioned(_) | Probe::Blocked(_) => 0.0,
        }
    }

    /// `k` indices into `0..m` by `scheme`; partitioned and blocked schemes have shapes of their own.
    pub fn flat(scheme: Scheme, m: u64, k: u32) -> Result<Self> {
        Ok(match scheme {
            Scheme::Double => Probe::Double(Double::new(m, k)),
            Scheme::Enhanced => Probe::Enhanced(Enhanced::new(m, k)),
            Scheme::Ring => Probe::Ring(Ring::new(m, k)),
            Scheme::Mixed => Probe::Mixed(Mixed::new(m, k)),
            shaped if shaped.has_own_shape() => {
                let kind = match scheme {
                    Scheme::Partitioned => "partitioned",
                    Scheme::Folded | Scheme::Multiplied => "count-min",
                    _ => "blocked",
                };
                let message = format!("this scheme has its own variant, {kind}");
                return Err(Error::setting("scheme", scheme.name(), message));
            }
            foreign => Probe::Foreign(Foreign::new(foreign, m, k)?),
        })
    }

    /// The permanent number of the scheme.
    pub fn scheme(&self) -> Scheme {
        match self {
            Probe::Double(_) => Scheme::Double,
            Probe::Enhanced(_) => Scheme::Enhanced,
            Probe::Ring(_) => Scheme::Ring,
            Probe::Mixed(_) => Scheme::Mixed,
            Probe::Partitioned(p) => p.scheme(),
            Probe::Blocked(p) => p.scheme(),
            Probe::Foreign(p) => p.scheme(),
        }
    }

    /// Number of cells.
    pub fn m(&self) -> u64 {
        dispatch!(self, p => p.m())
    }

    /// Number of indices per key.
    pub fn k(&self) -> u32 {
        dispatch!(self, p => p.k())
    }

    /// Calls `f` with every index of the key, coinciding ones included.
    #[inline]
    pub fn each(&self, digest: Digest, f: impl FnMut(u64)) {
        dispatch!(self, p => p.indices(digest).for_each(f));
    }

    /// Whether `f` holds for every index; stops at the first for which it does not.
    #[inline]
    pub fn all(&self, digest: Digest, f: impl FnMut(u64) -> bool) -> bool {
        dispatch!(self, p => p.indices(digest).all(f))
    }

    /// Calls `f` with the first `k` indices of the key: probes of different keys may differ in number,
    /// and those of fewer are among those of more.
    #[inline]
    pub fn each_of_first(&self, k: u32, digest: Digest, f: impl FnMut(u64)) {
        dispatch!(self, p => p.indices(digest).take(k as usize).for_each(f));
    }

    /// Whether `f` holds for the first `k` indices; stops at the first for which it does not.
    #[inline]
    pub fn all_of_first(&self, k: u32, digest: Digest, f: impl FnMut(u64) -> bool) -> bool {
        dispatch!(self, p => p.indices(digest).take(k as usize).all(f))
    }

    /// The key's index number `n`, counted from 0 and below k.
    #[inline]
    pub fn nth(&self, n: u32, digest: Digest) -> u64 {
        dispatch!(self, p => p.indices(digest).nth(n as usize).unwrap_or(0))
    }

    /// The key's indices in probe order, once per hash or each distinct one once.
    #[inline]
    pub fn collect(&self, digest: Digest, coincide: Coincide) -> Indices {
        let mut out = Indices::new();
        match coincide {
            Coincide::PerHash => self.each(digest, |i| out.push(i)),
            Coincide::Distinct => self.each(digest, |i| {
                if !out.contains(&i) {
                    out.push(i);
                }
            }),
        }
        out
    }

    /// The scheme over half the cells, and which cells become one.
    pub fn fold(&self) -> Result<(Probe, Pairing)> {
        Ok(match self {
            Probe::Double(p) => (Probe::Double(p.fold_evenly()?), Pairing::Halves),
            Probe::Enhanced(p) => (Probe::Enhanced(p.fold()?), Pairing::Halves),
            Probe::Ring(p) => (Probe::Ring(p.fold()?), Pairing::Neighbors(1)),
            Probe::Mixed(p) => (Probe::Mixed(p.fold()?), Pairing::Neighbors(1)),
            Probe::Partitioned(p) => (Probe::Partitioned(p.fold()?), Pairing::Neighbors(1)),
            Probe::Blocked(p) => (Probe::Blocked(p.fold()?), Pairing::Neighbors(p.block())),
            Probe::Foreign(p) => (Probe::Foreign(p.fold()?), Pairing::Halves),
        })
    }

    /// Refuses probes that would send one digest to different cells.
    pub(crate) fn agree(&self, other: &Probe) -> Result<()> {
        use crate::error::agree;
        agree("probe scheme", self.scheme().name(), other.scheme().name())?;
        agree("m", self.m(), other.m())?;
        agree("k", self.k(), other.k())?;
        if let (Probe::Blocked(a), Probe::Blocked(b)) = (self, other) {
            agree("block size", a.block(), b.block())?;
        }
        Ok(())
    }

    /// [`Probe::check`] for a filter whose probes range over all its cells.
    pub(crate) fn check_flat(&self, cells: u64) -> Result<()> {
        self.check(cells)?;
        if self.scheme().has_own_shape() {
            let scheme = self.scheme().name();
            return Err(Error::corrupt(
                0,
                format!("corrupt filter: {scheme} probes in a flat filter"),
            ));
        }
        Ok(())
    }

    /// Refuses a shape whose indices would leave `cells` cells; k was checked when it was loaded.
    pub(crate) fn check(&self, cells: u64) -> Result<()> {
        if self.m() == cells {
            return Ok(());
        }
        let message = format!("corrupt filter: probes into {} of {cells} cells", self.m());
        Err(Error::corrupt(0, message))
    }
}

/// The largest number of probes a shape may have: p = 10⁻³⁰⁰ needs 997.
pub const MAX_K: u32 = 4096;

/// Half of `n`, which is the number of `what`; refused where there is none.
pub(crate) fn half(n: u64, what: &str) -> Result<u64> {
    if n >= 2 && n.is_multiple_of(2) {
        Ok(n / 2)
    } else {
        Err(Error::parameter(format!("cannot fold: {what} is {n}, which is odd")))
    }
}

impl State for Probe {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        match self {
            Probe::Blocked(p) => p.save(name, out),
            Probe::Partitioned(p) => p.save(name, out),
            flat => out.group(name, |out| {
                out.u64("scheme", flat.scheme() as u64);
                out.u64("k", flat.k().into());
                out.u64("m", flat.m());
            }),
        }
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            let number = u64::load("scheme", src)?;
            let scheme = Scheme::ALL
                .into_iter()
                .chain(Scheme::FOREIGN)
                .find(|s| *s as u64 == number)
                .ok_or_else(|| src.unsupported(format!("probe scheme {number}")))?;
            let k = u32::load("k", src)?;
            if k == 0 || k > MAX_K {
                return Err(src.corrupt(format!("k is {k}, outside 1..={MAX_K}")));
            }
            match scheme {
                Scheme::Partitioned | Scheme::Folded | Scheme::Multiplied => {
                    let slice = src.positive("slice")?;
                    slice
                        .checked_mul(u64::from(k))
                        .ok_or_else(|| src.corrupt("slices overflow 2^64 cells"))?;
                    let words = match scheme {
                        Scheme::Folded => Words::Folded,
                        Scheme::Multiplied => Words::Multiplied,
                        _ => Words::Mixed,
                    };
                    Ok(Probe::Partitioned(Partitioned::new(slice, k).by(words)))
                }
                Scheme::Blocked => {
                    let blocks = src.positive("blocks")?;
                    let block = src.positive("block")?;
                    Ok(Probe::Blocked(Blocked::new(blocks, block, k)?))
                }
                Scheme::Products => {
                    let blocks = src.positive("blocks")?;
                    if src.positive("block")? != Blocked::LINE {
                        return Err(src.corrupt("products that are not in blocks of 512 cells"));
                    }
                    Ok(Probe::Blocked(Blocked::by_products(blocks, k)?))
                }
                Scheme::Fields | Scheme::Lanes => {
                    let blocks = src.positive("blocks")?;
                    if src.positive("block")? != 64 * LANES || !u64::from(k).is_multiple_of(LANES) {
                        return Err(src.corrupt("lanes that are not eight of 64 cells"));
                    }
                    let lanes = Blocked::in_lanes(blocks, k / LANES as u32)?;
                    let older = scheme == Scheme::Fields;
                    Ok(Probe::Blocked(if older { lanes.by_fields() } else { lanes }))
                }
                flat => Probe::flat(flat, src.positive("m")?, k),
            }
        })
    }
}

/// A partitioned scheme known as such is stored as the [`Probe`] it is.
impl State for Partitioned {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| {
            out.u64("scheme", self.scheme() as u64);
            out.u64("k", self.k().into());
            out.u64("slice", self.slice());
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        match Probe::load(name, src)? {
            Probe::Partitioned(p) => Ok(p),
            other => Err(wrong_scheme(&other, Scheme::Partitioned, src)),
        }
    }
}

/// A blocked scheme known as such is stored as the [`Probe`] it is.
impl State for Blocked {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| {
            out.u64("scheme", self.scheme() as u64);
            out.u64("k", self.k().into());
            out.u64("blocks", self.blocks());
            out.u64("block", self.block());
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        match Probe::load(name, src)? {
            Probe::Blocked(p) => Ok(p),
            other => Err(wrong_scheme(&other, Scheme::Blocked, src)),
        }
    }
}

fn wrong_scheme(found: &Probe, wanted: Scheme, src: &Decoder<'_>) -> Error {
    src.corrupt(format!("{} probes instead of {}", found.scheme().name(), wanted.name()))
}

#[cfg(test)]
mod tests;
