//! The distributed load-balanced Bloom filter, DLB-BF (Song, Hao, Kodialam, Lakshman 2009; catalogue I2;
//! S3 §V-A).
//!
//! A router looks up the longest of its prefixes that an address starts with. With one filter for each
//! prefix length the memory of the popular lengths fills and that of the rare ones idles. Here all
//! lengths share k banks of memory, and only the hash functions differ: class i has h(i,1)…h(i,k), one
//! for each bank:
//!
//! ```text
//!                    bank 1             bank 2             bank 3
//!   10.0.0/24   h(24,1) ↓      h(24,2) ↓              h(24,3) ↓
//!               0 1 0 0 1 0 0      1 0 0 1 0 1 0      0 0 1 0 0 1 0
//!   10.0/16           ↑ h(16,1)    ↑ h(16,2)              ↑ h(16,3)
//! ```
//!
//! So every bank takes the same number of accesses whatever the lengths are, and the rate depends on the
//! number of prefixes alone: f = (1 − (1 − k/m)ⁿ)^k, n over all lengths, exactly as for `partitioned`.
//! (S3 §VIII-A says that every length has a filter of its own; S3 §V-A and the name say the opposite.)
//!
//! The label of a record is its class: a prefix length, or any other name of a group. A key is hashed
//! together with its class, so that 10.0/8 and 10.0.0/16 do not meet though their bytes are padded alike.
//! [`LoadBalanced::lookup`] queries all lengths, longest first, and lets the caller's table confirm.
//!
//! **Use it** for longest-prefix matching, or for many groups of unknown and changing sizes: a new group needs no
//! extra memory. **Don't** for many groups if queries do not name one: each of g groups has its own false
//! positives, g·f in total.

use crate::cells::Bits;
use crate::grouping::groups::{Groups, MAX_GROUPS, labeled};
use crate::parts::labels::number;
use crate::parts::slices::EvenSlices;
use crate::parts::{KeyPart, SetPart, union};
use crate::plan::Slices;
use crate::variant::prelude::*;

/// Classes of keys that share k banks of bits.
///
/// ```
/// let mut routes = everbloom::grouping::LoadBalanced::with_rate(1000, 0.01)?;
/// routes.insert(&[10u8, 0], b"16")?;
/// assert!(routes.contains(&[10u8, 0], b"16"));
/// assert!(!routes.contains(&[10u8, 0], b"8"));
/// let found = routes.lookup(|length| vec![10u8, 0, 0, 7][..length as usize / 8].to_vec(), |_, _| true);
/// assert_eq!(found.class, Some(16));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LoadBalanced {
    head: Head,
    groups: Groups,
    banks: EvenSlices,
}

state!(plain LoadBalanced { head, groups, ..banks });

/// What a search for the longest prefix came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// The longest class that the table confirmed.
    pub class: Option<u64>,
    /// Positives that the table did not confirm.
    pub wasted: u64,
}

/// The number of wasted confirmations of a lookup over `classes` classes, at most g·f.
pub fn wasted(classes: f64, fpr: f64) -> f64 {
    classes * fpr
}

impl LoadBalanced {
    /// A filter of `k` banks that share `m` bits; the remainder of m/k is not used.
    pub fn with_shape(m: u64, k: u32, hasher: Hasher) -> Result<Self> {
        Self::empty(&Slices::cut(m, k)?, Head::new(hasher, FORM))
    }

    /// The digest that stands for a key of a class. The class enters as its label, not as its number, so
    /// that filters which met the classes in different orders can be merged.
    #[inline]
    fn digest<K: Key + ?Sized>(&self, key: &K, class: &[u8]) -> Digest {
        let class = self.head.hasher.digest(class);
        self.head.hasher.digest(key).salted(class.h1)
    }

    /// Inserts a key of a class.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K, class: &[u8]) -> Result<Seen> {
        self.groups.intern(class, MAX_GROUPS)?;
        let new = self.banks.insert(self.digest(key, class));
        self.head.count(1);
        Ok(Seen::new_if(new))
    }

    /// Whether the key may be a member of the class.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K, class: &[u8]) -> bool {
        self.groups.find(class).is_some() && self.banks.contains(self.digest(key, class))
    }

    /// The classes that have members, in the order in which they came.
    pub fn classes(&self) -> &[Vec<u8>] {
        self.groups.labels()
    }

    /// Longest-prefix match: the largest class whose prefix is in the filter and that `confirm`, the
    /// table behind it, knows as well. `prefix(i)` is what an address has in class i. Classes that are
    /// not numbers have no length and are left out.
    pub fn lookup<K: Key>(
        &self,
        prefix: impl Fn(u64) -> K,
        mut confirm: impl FnMut(u64, &K) -> bool,
    ) -> Lookup {
        let mut lengths: Vec<(u64, &Vec<u8>)> =
            self.classes().iter().filter_map(|label| Some((number(label)?, label))).collect();
        lengths.sort_unstable_by(|a, b| b.cmp(a));
        let mut wasted = 0;
        for (length, label) in lengths {
            let key = prefix(length);
            if self.contains(&key, label) {
                if confirm(length, &key) {
                    return Lookup { class: Some(length), wasted };
                }
                wasted += 1;
            }
        }
        Lookup { class: None, wasted }
    }

    /// The bits, bank after bank.
    pub fn bits(&self) -> &Bits {
        &self.banks.bits
    }

    /// Share of ones in every bank.
    pub fn banks(&self) -> impl Iterator<Item = f64> {
        let share = |(start, bank)| self.bits().ones_in(start, bank) as f64 / bank as f64;
        self.banks.probe.spans().map(share)
    }

    /// Makes this the filter of all keys of both, class by class. Items are then estimated from the
    /// zeros, because the number of common keys is unknown.
    pub fn union(&mut self, other: &LoadBalanced) -> Result<()> {
        self.head.agree(&other.head)?;
        self.banks.agree(&other.banks)?;
        self.groups.join(&other.groups, MAX_GROUPS)?;
        union((&mut self.head, &mut self.banks), (&other.head, &other.banks))
    }
}

impl Plan for LoadBalanced {
    type Shape = Slices;

    /// Classes share the memory of the partitioned filter of all their keys.
    fn plan(request: &Request<'_>) -> Result<Slices> {
        Slices::plan(request)
    }

    fn expect(shape: &Slices, load: &Load) -> Option<Expect> {
        Some(shape.expect(load))
    }
}

impl Stream for LoadBalanced {
    fn empty(shape: &Slices, head: Head) -> Result<Self> {
        let banks = EvenSlices::probed(shape.probe())?;
        Ok(Self { head, groups: Groups::default(), banks })
    }
}

face!(LoadBalanced: Insert, Merge);
planned!(LoadBalanced);
labeled!(LoadBalanced);
keyed!(LoadBalanced: Union);

impl Filter for LoadBalanced {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let inside = |g: u64| self.contains(record.key, &self.classes()[g as usize]);
        self.groups.query(&record, inside)
    }

    fn fill(&self) -> Option<f64> {
        Some(self.banks.fill())
    }

    /// The product over the banks, whose probes are independent.
    fn now(&self) -> Rates {
        self.banks.rates()
    }

    fn describe(&self) -> Vec<Fact> {
        let classes = self.groups.len();
        let any = -libm::expm1(classes as f64 * libm::log1p(-self.banks.fpr()));
        vec![
            fact("m", self.banks.m()),
            fact("k", self.banks.probe.k()),
            fact("bank", self.banks.probe.slice()),
            fact("classes", classes),
            real("rate of a query that names no class", any),
        ]
    }

    /// The cells of one class after the other.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let cells = |class: &Vec<u8>| self.banks.trace(self.digest(key, class));
        self.classes().iter().flat_map(cells).collect()
    }
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<LoadBalanced>(Facts {
    id: 37,
    slug: "load-balanced",
    entry: "I2",
    question: "Which of several sets is it in, with equal load on all cells?",
    name: "Distributed load-balanced Bloom filter",
    paper: "H. Song, F. Hao, M. Kodialam, T. V. Lakshman, IPv6 lookups using distributed and load \
            balanced Bloom filters for 100Gbps core router line cards, INFOCOM 2009",
    family: "grouping",
    needs: &["groups", "prefixes", "merge", "parallel"],
    input: Input::valued(ValueKind::Label),
    meaning: "items are keys of all classes together, the label of each is its class; the rate is that \
              of false positives of a query that names a class",
    forms: &[Form::exact(FORM, &[Ability::Insert, Ability::Merge])],
    params: &[PARAM_M, PARAM_K],
    ..Facts::FILTER
});
