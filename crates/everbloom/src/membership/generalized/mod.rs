//! The generalized Bloom filter (Laufer, Velloso, Duarte 2011; catalogue R10; S2, S3 ref. 76, S0 §III-R).
//!
//! A standard filter that is all ones lets every key pass, so anyone who can write the bits (a packet's
//! header on its way through a network) can forge membership of everything. Here a key does not only
//! set the bits of k1 hashes h; it then *resets* those of k0 further hashes g. It passes only if its g
//! bits are zero **and** its h bits are one, which no fill grants to every key:
//!
//! ```text
//!           h     g   h     gh     h sets, g resets; where both meet, the reset wins
//!           ↓     ↓   ↓     ↓
//!   before  0 1 1 1 0 0 1 1 1 0    any bits at all, from anyone
//!   after   1 1 1 0 0 1 1 1 0 0
//! ```
//!
//! With a share p of zeros, a foreign key passes with p^k0·(1−p)^k1, and that is never more than
//! F_p = (k0/(k0+k1))^k0·(k1/(k0+k1))^k1, reached at p = k0/(k0+k1), the very share that insertions
//! drive the filter to (S2 eq. 18, 19). The price are false negatives: later keys overwrite the bits
//! of earlier ones, so old members get lost first. The last key inserted is always found, because the
//! query skips an h bit that the key's own g resets.
//!
//! **Use it** for a small set whose bits other people can change. **Don't** otherwise: at 1 % false positives and 5
//! % false negatives it takes hundreds of bits per key. With k0 = 0 and an empty start it is the standard filter,
//! bit for bit.
//!
//! There is no union and no folding: of two bits that differ nobody can tell which was written and
//! which is just the initial content, and a bit one key reset another one set.

mod shape;

use crate::cells::Bits;
use crate::filter::touched;
use crate::hash::Generator;
use crate::probe::{Coincide, Indices, Probe};
pub use crate::theory::generalized::Shape as Exact;
use crate::theory::generalized::{self as theory, MOST_HASHES};
pub use crate::theory::overwriting::{fill_sd, fpr_at, max_fpr, mean_fnr};
use crate::variant::prelude::*;
pub use shape::Shape;

/// A set in m bits, of which every key sets k1 and resets k0.
///
/// ```
/// let mut path = everbloom::membership::Generalized::with_rate(10, 0.05)?;
/// path.insert("router 1");
/// path.insert("router 2");
/// assert!(path.contains("router 2"));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Generalized {
    head: Head,
    setting: Probe,
    /// None in the standard filter, which resets nothing.
    resetting: Option<Probe>,
    bits: Bits,
}

state!(Generalized { head, setting, resetting, bits });

/// Makes the g hashes independent of the h hashes.
const RESET: u64 = 0x7265_7365_7400_0001;

impl Generalized {
    /// A filter on bits from anywhere, with `k0` resetting (up to 64) and `k1` setting hashes (1 to 64).
    pub fn on(bits: Bits, k0: u32, k1: u32, hasher: Hasher) -> Result<Self> {
        let m = bits.len();
        if m == 0 || k0 > MOST_HASHES || !(1..=MOST_HASHES).contains(&k1) {
            return Err(Error::parameter(format!(
                "{m} bits with {k0} resetting and {k1} setting hashes: there must be a bit, \
                 at most {MOST_HASHES} hashes of a kind, and one that sets"
            )));
        }
        let resetting = (k0 > 0).then(|| Probe::over(m, k0));
        Ok(Self { head: Head::new(hasher, FORM), setting: Probe::over(m, k1), resetting, bits })
    }

    /// The bits that the key resets, in probe order.
    #[inline]
    fn resets(&self, digest: Digest) -> Indices {
        let salted = digest.salted(RESET);
        self.resetting.as_ref().map(|p| p.collect(salted, Coincide::PerHash)).unwrap_or_default()
    }

    #[inline]
    fn passes(&self, digest: Digest, resets: &Indices) -> bool {
        resets.iter().all(|&i| !self.bits.get(i))
            && self.setting.all(digest, |i| self.bits.get(i) || resets.contains(&i))
    }

    /// Inserts a key: sets, then resets. "New" is as certain as an answer of this filter can be: the
    /// key may have been there and been overwritten.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.head.hasher.digest(key);
        let resets = self.resets(digest);
        let seen = Seen::new_if(!self.passes(digest, &resets));
        let bits = &mut self.bits;
        self.setting.each(digest, |i| {
            bits.set(i);
        });
        resets.iter().for_each(|&i| bits.reset(i));
        self.head.count(1);
        seen
    }

    /// Whether the key may be a member. Older members may be lost, the last one never.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        let digest = self.head.hasher.digest(key);
        self.passes(digest, &self.resets(digest))
    }

    /// Number of bits.
    pub fn m(&self) -> u64 {
        self.bits.len()
    }

    /// Number of resetting and of setting hashes.
    pub fn hashes(&self) -> (u32, u32) {
        (self.resetting.as_ref().map_or(0, Probe::k), self.setting.k())
    }

    /// The bits.
    pub fn bits(&self) -> &Bits {
        &self.bits
    }

    fn check(&self) -> Result<()> {
        for probe in self.resetting.iter().chain([&self.setting]) {
            probe.check_flat(self.bits.len())?;
            if probe.k() > MOST_HASHES {
                let message = "corrupt filter: not a probe of a generalized filter";
                return Err(Error::corrupt(0, message));
            }
        }
        Ok(())
    }
}

/// `m` bits, each zero with probability `zeros`, reproducibly.
fn initial_bits(m: u64, zeros: f64, seed: u64) -> Result<Bits> {
    let mut bits = Bits::try_new(m)?;
    let mut generator = Generator::new(seed);
    if zeros < 1.0 {
        (0..m).filter(|_| generator.unit() >= zeros).for_each(|i| {
            bits.set(i);
        });
    }
    Ok(bits)
}

impl Plan for Generalized {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        Shape::plan(request)
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (exact, n) = (shape.exact(), load.items as f64);
        let zeros = exact.zeros_after(shape.zeros, n);
        let fpr = fpr_at(exact.m, zeros, shape.k0, shape.k1);
        let fill = (1.0 - zeros, fill_sd(&exact, shape.zeros, n));
        let fnr = mean_fnr(&exact, load.items);
        Some(Expect {
            fnr,
            ..Expect::one_sided(fpr, shape.m, Some(fill)).probing(shape.k0 + shape.k1)
        })
    }
}

impl Stream for Generalized {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let bits = initial_bits(shape.m, shape.zeros, shape.init_seed)?;
        let hasher = head.hasher.clone();
        // Hashes set by hand may bound the rate less tightly than the goal; then the bound is the target.
        let fpr = head
            .fpr
            .map(|target| if shape.k0 > 0 { target.max(shape.hashes().max_fpr()) } else { target });
        Ok(Self {
            head: Head { fpr, fnr: shape.fnr, ..head },
            ..Self::on(bits, shape.k0, shape.k1, hasher)?
        })
    }
}

face!(Generalized: Insert);
planned!(Generalized);
keyed!(Generalized: Insert);

impl Filter for Generalized {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key)))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.bits.fill())
    }

    /// False positives from the real bits; false negatives for as many keys as were inserted, each of
    /// them once.
    fn now(&self) -> Rates {
        let ((k0, k1), m) = (self.hashes(), self.m() as f64);
        let exact = theory::Shape { m, k0: f64::from(k0), k1: f64::from(k1) };
        Rates {
            fpr: Some(fpr_at(m, self.bits.zeros() as f64 / m, k0, k1)),
            fnr: Some(mean_fnr(&exact, self.head.items)),
            undecided: None,
        }
    }

    fn describe(&self) -> Vec<Fact> {
        let (k0, k1) = self.hashes();
        let bound = max_fpr(self.m() as f64, k0, k1).min(1.0);
        vec![fact("m", self.m()), fact("k0", k0), fact("k1", k1), real("fpr bound", bound)]
    }

    /// First the cells that an insertion resets, which speak for the key if they are empty.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let digest = self.head.hasher.digest(key);
        let resets = self.resets(digest);
        let mut cells = touched(&resets, |i| self.bits.get(i).into());
        cells.iter_mut().for_each(|cell| cell.agrees = cell.value == 0);
        self.setting.each(digest, |index| {
            let value = u64::from(self.bits.get(index));
            cells.push(Touched { index, value, agrees: value != 0 || resets.contains(&index) });
        });
        cells
    }
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Generalized>(Facts {
    id: 11,
    slug: "generalized",
    entry: "R10",
    question: "Is it in the set, when someone else may have filled the filter?",
    name: "Generalized Bloom filter",
    paper: "R. P. Laufer, P. B. Velloso, O. C. M. B. Duarte, A generalized Bloom filter to secure \
            distributed network applications, Computer Networks 55(8), 2011",
    family: "membership",
    needs: &["membership", "hostile"],
    meaning: "items are keys, the rate bounds false positives, whatever happens to the bits",
    forms: &[Form::lossy(
        FORM,
        &[Ability::Insert],
        "later keys overwrite the bits of earlier ones; the last key is never missed",
    )],
    params: &[
        PARAM_M,
        Param::integer(
            "k0",
            0,
            MOST_HASHES as u64,
            "number of resetting hashes; 0 is the standard filter",
        ),
        Param::integer("k1", 1, MOST_HASHES as u64, "number of setting hashes"),
        Param::real("fnr", 1e-9, 0.999, "bound on the rate of false negatives")
            .or(Preset::Real(0.05)),
        Param::real("zeros", 0.0, 1.0, "share of zeros among the initial bits")
            .or(Preset::Real(1.0)),
        Param::integer("init-seed", 0, u64::MAX, "seed for the initial bits of form mixed")
            .or(Preset::Integer(0)),
    ],
    reach: 1_000_000,
    ..Facts::FILTER
});
