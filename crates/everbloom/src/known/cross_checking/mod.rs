//! The cross-checking Bloom filter (catalogue R6; S3 §IV-C, its reference 72).
//!
//! A main filter holds the whole set, and α cross filters hold a part of it each. A member is in some part, so
//! one of the cross filters must contain it too. If none does, the main filter's "yes" is proved wrong:
//!
//! ```text
//!   x ──▶ main filter of S ──no──▶ no
//!               │ yes
//!               ├──▶ cross filter of S₁ ──yes──▶ yes
//!               └──▶ cross filter of S₂ ──yes──▶ yes        none? no: the main filter was wrong
//! ```
//!
//! f = f_S·(1 − Π(1 − f_i)), if all of them hash independently. With shared hashes a cross filter's ones
//! would all be ones of the main filter too, and the main filter would add nothing. S3's eq. 5 counts
//! among the false positives the members of one part that another part's filter lets pass; they are
//! members, so here the set is taken away first.
//!
//! A key's part is a hash of it, or the caller's choice ([`CrossChecking::insert_into`]). The paper's
//! rule, form `any-part`, queries all parts. Where the part is known from the key, it is enough to query that
//! one: form `own-part`, f = f_S·f_i, a different structure with the same cells.
//!
//! **Use it** to improve a given main filter whose size or number of hash functions cannot grow; the cross filters
//! are in slower memory and queried only after a "yes". With k = 5 everywhere and 24 bits per key, 8 of them in the
//! main filter, its rate is 6.0·10⁻⁵, where one filter with k = 5 has 2.4·10⁻⁴. **Don't** when one filter can have
//! all the bits and its best k: at 16 bits per key it has half the rate (4.6·10⁻⁴ instead of 9.3·10⁻⁴), because α
//! chances to pass cost log2(α)/ln 2 bits per key.

mod shape;

pub use shape::Shape;

use crate::error::agree;
use crate::parts::flat_bits::FlatBits;
use crate::parts::several::{self, flat_for, flat_set};
use crate::parts::{KeyPart, SetPart, recount};
use crate::probe::multiply_shift;
use crate::theory::bloom as theory;
use crate::variant::prelude::*;

/// A filter of the whole set, checked by filters of its parts.
#[derive(Clone, Debug, PartialEq)]
pub struct CrossChecking {
    head: Head,
    main: FlatBits,
    cross: Vec<FlatBits>,
}

state!(CrossChecking { head, main, cross });

/// Inserts a key into a part of the caller's choice; `None` for a filter that is not cross-checking.
pub fn insert_into(filter: &mut dyn Filter, part: usize, key: &[u8]) -> Option<Result<Seen>> {
    let any: &mut dyn std::any::Any = filter;
    any.downcast_mut::<CrossChecking>().map(|filter| filter.insert_into(part, key))
}

const MAX_PARTS: u64 = 1024;
/// The salt of the choice of a part; cross filter i has the salt i + 1, the main filter none.
const PART: u64 = 1 << 32;

/// f = f_S·(1 − (1 − f_i)^α): the rate with all `parts` queried, each of rate `cross`.
pub fn fpr_any(main: f64, cross: f64, parts: u64) -> f64 {
    main * -libm::expm1(parts as f64 * libm::log1p(-cross))
}

impl CrossChecking {
    /// A filter of `main`, checked by `parts` filters of `cross`, under the paper's rule.
    ///
    /// ```
    /// use everbloom::known::CrossChecking;
    /// use everbloom::{Flat, Hasher};
    ///
    /// let shape = Flat { m: 8000, k: 5 };
    /// let mut routes = CrossChecking::with_shape(shape, shape, 2, Hasher::default())?;
    /// routes.insert("10.0.0.0/8");
    /// assert!(routes.contains("10.0.0.0/8"));
    /// # Ok::<(), everbloom::Error>(())
    /// ```
    pub fn with_shape(main: Flat, cross: Flat, parts: u64, hasher: Hasher) -> Result<Self> {
        let shape = Shape { main, cross, parts, own: false };
        shape.check()?;
        Self::empty(&shape, Head::new(hasher, ANY))
    }

    /// The part that the key's hash puts it in.
    fn part_of(&self, digest: Digest) -> usize {
        multiply_shift(digest.word(PART), self.cross.len() as u64) as usize
    }

    /// Inserts a key into the part its hash names.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.head.hasher.digest(key);
        self.put(digest, self.part_of(digest))
    }

    /// Inserts a key into a part of the caller's choice, in form `any-part`.
    pub fn insert_into<K: Key + ?Sized>(&mut self, part: usize, key: &K) -> Result<Seen> {
        if self.own() || part >= self.cross.len() {
            return Err(Error::record(format!(
                "part {part} cannot be chosen: the filter has {} parts, and only form {ANY} finds \
                 a key in a part that its hash does not name",
                self.cross.len()
            )));
        }
        Ok(self.put(self.head.hasher.digest(key), part))
    }

    fn put(&mut self, digest: Digest, part: usize) -> Seen {
        let new = self.main.insert(digest);
        let new = self.cross[part].insert(salted(digest, part)) | new;
        self.head.count(1);
        Seen::new_if(new)
    }

    /// Whether the key may be a member. The cross filters are queried only after a yes.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        let digest = self.head.hasher.digest(key);
        let knows = |part: usize| self.cross[part].contains(salted(digest, part));
        self.main.contains(digest)
            && if self.own() {
                knows(self.part_of(digest))
            } else {
                (0..self.cross.len()).any(knows)
            }
    }

    fn own(&self) -> bool {
        self.head.form == OWN
    }

    fn parts(&self) -> impl Iterator<Item = &FlatBits> {
        std::iter::once(&self.main).chain(&self.cross)
    }

    /// Makes this the filter of the union of both sets, exactly, part by part. Items are then estimated from
    /// the main filter, because the number of common keys is unknown.
    pub fn union(&mut self, other: &Self) -> Result<()> {
        self.head.agree(&other.head)?;
        agree("parts", self.cross.len(), other.cross.len())?;
        self.parts().zip(other.parts()).try_for_each(|(a, b)| a.agree(b))?;
        self.main.union(&other.main);
        self.cross.iter_mut().zip(&other.cross).for_each(|(ours, theirs)| ours.union(theirs));
        self.head.count(other.head.items);
        recount(&mut self.head, &self.main);
        Ok(())
    }

    fn check(&self) -> Result<()> {
        if VARIANT.takes("parts", self.cross.len()) {
            Ok(())
        } else {
            Err(Error::corrupt(0, "corrupt filter: no cross filters, or too many"))
        }
    }
}

/// The digest for cross filter `part`.
fn salted(digest: Digest, part: usize) -> Digest {
    digest.salted(part as u64 + 1)
}

impl Plan for CrossChecking {
    type Shape = Shape;

    /// Half of the exponent each: f_S = √p. With the best k everywhere the split does not matter, since
    /// bits add up and so do logarithms of rates.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let none = Flat { m: 1, k: 1 };
        let parts = request.whole("parts");
        let base = Shape { main: none, cross: none, parts, own: request.form() == OWN };
        let main_rate = request.real("main-rate");
        let sized = |n: u64, p: f64| {
            let main = main_rate.unwrap_or_else(|| p.sqrt());
            let each = n.div_ceil(parts);
            let cross = flat_for(each, base.cross_rate(p, main));
            Shape {
                main: flat_set(request, ["m", "k"], n, flat_for(n, main).m),
                cross: flat_set(request, ["cross-m", "cross-k"], each, cross.m),
                ..base
            }
        };
        let (n, p) = request.items_and_rate(|n, p| sized(n, p).bits())?;
        let shape = sized(n, p);
        shape.check()?;
        Ok(shape)
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let Shape { main, cross, parts, own } = *shape;
        let n = load.distinct;
        // A part has a binomial share of the keys; its rate and fill are close to linear in that.
        let each = n as f64 / parts as f64;
        let [m, k] = [cross.m as f64, f64::from(cross.k)];
        let checked = theory::fpr_classic(m, each, k);
        let checked =
            if own { main.fpr(n) * checked } else { fpr_any(main.fpr(n), checked, parts) };
        // What one part has too many of, another lacks, so only the spread inside the parts is left.
        let fill = (theory::fill(m, k * each), theory::fill_sd(m, k * each));
        let fills = std::iter::repeat_n((cross.m, fill), parts as usize);
        let fill = several::expected_fill(fills.chain([(main.m, main.fill(n))]));
        Some(Expect::one_sided(checked, main.m + parts * cross.m, fill).probing(main.k))
    }
}

impl Stream for CrossChecking {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let cross = (0..shape.parts).map(|_| FlatBits::new(shape.cross)).collect::<Result<_>>()?;
        Ok(Self { head, main: FlatBits::new(shape.main)?, cross })
    }
}

face!(CrossChecking: Insert, Merge);
planned!(CrossChecking);
keyed!(CrossChecking: Insert, Union);

impl Filter for CrossChecking {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key)))
    }

    /// Share of ones over all filters.
    fn fill(&self) -> Option<f64> {
        several::fill(self.parts())
    }

    fn now(&self) -> Rates {
        let checked = if self.own() {
            self.cross.iter().map(FlatBits::fpr).sum::<f64>() / self.cross.len() as f64
        } else {
            let none: f64 = self.cross.iter().map(|part| libm::log1p(-part.fpr())).sum();
            -libm::expm1(none)
        };
        Rates::one_sided(self.main.fpr() * checked)
    }

    fn describe(&self) -> Vec<Fact> {
        let mut facts = Vec::from(several::shape(&self.main, ["m", "k"]));
        facts.push(fact("parts", self.cross.len() as u64));
        facts.extend(several::shape(&self.cross[0], ["cross m", "cross k"]));
        facts
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let digest = self.head.hasher.digest(key);
        let cross = self.cross.iter().enumerate().map(|(i, part)| (part, salted(digest, i)));
        several::trace(std::iter::once((&self.main, digest)).chain(cross))
    }
}

const ANY: &str = "any-part";
const OWN: &str = "own-part";
const ABILITIES: &[Ability] = &[Ability::Insert, Ability::Merge];

/// The list entry.
pub static VARIANT: Variant = Variant::of::<CrossChecking>(Facts {
    id: 17,
    slug: "cross-checking",
    entry: "R6",
    question: "Is it in the set, with fewer errors from slower memory behind a filter of given size?",
    name: "Cross-checking Bloom filter",
    paper: "H. Lim, N. Lee, J. Lee, C. Yim, Reducing false positives of a Bloom filter using cross-checking Bloom filters, Applied Mathematics & Information Sciences 8(4), 2014",
    family: "known",
    needs: &["membership", "merge", "accurate"],
    meaning: "items are keys, the rate is the false-positive rate of all filters together",
    forms: &[Form::exact(ANY, ABILITIES), Form::exact(OWN, ABILITIES)],
    params: &[
        Param::integer("parts", 1, MAX_PARTS, "number of cross filters").or(Preset::Integer(2)),
        Param::real(
            "main-rate",
            1e-300,
            0.999_999,
            "rate of the main filter alone; the square root of the rate by default",
        ),
        PARAM_M,
        PARAM_K,
        Param { name: "cross-m", help: "bits of each cross filter", ..PARAM_M },
        Param { name: "cross-k", help: "number of probes into a cross filter", ..PARAM_K },
    ],
    ..Facts::FILTER
});
