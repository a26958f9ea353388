//! The attenuated Bloom filter (Rhea, Kubiatowicz 2002; catalogue §40; S0 §IV-B, S1 §6.2).
//!
//! Through which neighbor is an object found, and how many hops away? A node keeps an array of d filters for every
//! edge: level i holds the objects that are reached through it in exactly i hops.
//!
//! ```text
//!                edge to w             level 1: w's own objects                x in level 2 of this edge, in 3
//!   u ──────────── w ──── …            level 2: those of w's other neighbors   of another: go to w
//!                  └───── …            level 3: …
//! ```
//!
//! What a node tells a neighbor is made of what it holds: level 1 are its own objects, level i + 1 is the union of
//! level i over its *other* edges ([`Attenuated::advertise`]). After d rounds nothing changes any more. A query
//! goes to the edge with the smallest level that has the object ([`Attenuated::route`]); at a dead end, or after d
//! hops, one falls back on a search that is sure.
//!
//! All levels have one shape and the same hash functions, or their bits could not be united. An object within d
//! hops is always told of, at a level that is not above its true distance: without its own edge, information still
//! comes back around cycles, since levels count walks. (S0 says "within i hops"; levels hold exactly i, as S1 has
//! it.)
//!
//! Deep levels hold more: with m = 4096 and k = 4 the rates of 100, 400 and 1600 objects are 7.5·10⁻⁵, 0.011
//! and 0.39. Choose d so that the last one stays below 0.1.
//!
//! **Use it** to find nearby replicas before asking a reliable but slow service. **Don't** if distances are long:
//! `exponential-decay` takes one filter per edge.

use super::route_of;
use crate::filter::{Face, Number};
use crate::parts::flat_bits::FlatBits;
use crate::parts::several::expected_fill;
use crate::parts::{KeyPart, SetPart};
use crate::variant::prelude::*;

/// The objects behind one edge, by the hops they are away.
///
/// ```
/// use everbloom::grouping::Attenuated;
///
/// let empty = Attenuated::with_rate(1000, 0.01)?;
/// let mut own = empty.clone();
/// own.insert("song", 1)?;
/// let near = own.advertise(&[])?; // what the owner tells its neighbors
/// let far = empty.advertise(&[&near])?; // what a neighbor tells others
/// assert_eq!((near.level("song"), far.level("song")), (Some(1), Some(2)));
/// assert_eq!(Attenuated::route(&[&far, &near], "song"), Some((1, 1)));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Attenuated {
    head: Head,
    /// Level 1 first.
    levels: Vec<FlatBits>,
}

state!(Attenuated { head, levels });

impl Attenuated {
    /// `depth` levels of `m` bits and `k` probes.
    pub fn with_shape(m: u64, k: u32, depth: u64, hasher: Hasher) -> Result<Self> {
        empty(&Goal::of(hasher).set("m", m).set("k", k).set("depth", depth))
    }

    /// Number of levels.
    pub fn depth(&self) -> u64 {
        self.levels.len() as u64
    }

    /// Inserts an object that is `level` hops away, 1 to the depth. A node's own objects are in level 1.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K, level: u64) -> Result<Seen> {
        let digest = self.head.hasher.digest(key);
        let depth = self.depth();
        let at = level.checked_sub(1).and_then(|at| self.levels.get_mut(at as usize));
        let at = at.ok_or_else(|| {
            Error::record(format!("{level} hops: the filter has levels 1 to {depth}"))
        })?;
        let new = at.insert(digest);
        self.head.count(1);
        Ok(Seen::new_if(new))
    }

    /// The smallest level that may have the object.
    pub fn level<K: Key + ?Sized>(&self, key: &K) -> Option<u64> {
        self.level_of(self.head.hasher.digest(key))
    }

    fn level_of(&self, digest: Digest) -> Option<u64> {
        let at = self.levels.iter().position(|level| level.contains(digest));
        at.map(|at| at as u64 + 1)
    }

    /// Whether some level may have the object.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.level(key).is_some()
    }

    /// The message of a node to a neighbor: its own objects, in level 1 of `self`, and those of its *other* edges,
    /// one hop further away.
    pub fn advertise(&self, others: &[&Attenuated]) -> Result<Self> {
        let mut told = self.clone();
        told.levels.iter_mut().skip(1).for_each(KeyPart::clear);
        for other in others {
            told.fits(other)?;
            for (deeper, level) in told.levels.iter_mut().skip(1).zip(&other.levels) {
                deeper.union(level);
            }
        }
        told.recount();
        Ok(told)
    }

    /// The edge, by its number, with the smallest level that has the object, and that level; of several the first.
    pub fn route<K: Key + ?Sized>(edges: &[&Attenuated], key: &K) -> Option<(usize, u64)> {
        let levels = edges.iter().enumerate().filter_map(|(i, edge)| Some((i, edge.level(key)?)));
        levels.min_by_key(|(_, level)| *level)
    }

    /// Unites each level with the other's.
    pub fn union(&mut self, other: &Self) -> Result<()> {
        self.fits(other)?;
        let levels = self.levels.iter_mut().zip(&other.levels);
        levels.for_each(|(own, theirs)| own.union(theirs));
        self.recount();
        Ok(())
    }

    fn fits(&self, other: &Self) -> Result<()> {
        self.head.agree(other.head())?;
        crate::error::agree("depth", self.depth(), other.depth())?;
        let mut levels = self.levels.iter().zip(&other.levels);
        levels.try_for_each(|(own, theirs)| own.agree(theirs))
    }

    /// Items from the bits: nobody knows how many objects are in several levels.
    fn recount(&mut self) {
        let sizes: Option<Vec<f64>> = self.levels.iter().map(SetPart::cardinality).collect();
        if let Some(sizes) = sizes {
            self.head.items = sizes.iter().sum::<f64>().round() as u64;
        }
    }

    /// The rate of each level, from its real fill.
    pub fn level_rates(&self) -> Vec<f64> {
        self.levels.iter().map(FlatBits::fpr).collect()
    }

    fn check(&self) -> Result<()> {
        let same = self.levels.windows(2).all(|w| w[0].probe == w[1].probe);
        if same && VARIANT.takes("depth", self.depth()) {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: levels of different shapes"))
    }
}

impl Plan for Attenuated {
    /// One level's bits and probes, and the number of levels.
    type Shape = (Flat, u64);

    fn plan(request: &Request<'_>) -> Result<Self::Shape> {
        let depth = request.whole("depth");
        let held = |n: u64, p: f64| (n.div_ceil(depth), p);
        let flat = Flat::plan_held(request, held, |m, _| m * depth as f64)?.0.checked()?;
        Ok((flat, depth))
    }

    /// Objects spread evenly over the levels.
    fn expect(&(flat, depth): &Self::Shape, load: &Load) -> Option<Expect> {
        let fill = expected_fill((0..depth).map(|_| (flat.m, flat.fill(load.distinct / depth))));
        // Which level an object is in is chance, too; what is more in one is less in another.
        let fpr = flat.fpr(load.distinct / depth);
        Some(Expect::one_sided(fpr, flat.m.saturating_mul(depth), fill).probing(flat.k))
    }
}

impl Stream for Attenuated {
    fn empty(&(flat, depth): &Self::Shape, head: Head) -> Result<Self> {
        crate::memory::check_room(flat.m.saturating_mul(depth))?;
        let levels = (0..depth).map(|_| FlatBits::new(flat)).collect::<Result<_>>()?;
        Ok(Self { head, levels })
    }
}

face!(Attenuated: Insert, Merge);
planned!(Attenuated: "A filter for `items` objects, evenly over its levels, each at a false-positive rate of `fpr`.");
keyed!(Attenuated: Union);

impl Filter for Attenuated {
    /// The smallest level that has the object, where the record names none; else whether that level has it.
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let digest = self.head.hasher.digest(record.key);
        if let Some(level) = hops(&record)? {
            let at = level.checked_sub(1).and_then(|at| self.levels.get(at as usize));
            return Ok(Answer::of(at.is_some_and(|level| level.contains(digest))));
        }
        let level = self.level_of(digest).unwrap_or(0);
        let bound = crate::filter::Bound::AtLeast;
        let bound = if level == 0 { crate::filter::Bound::Exact } else { bound };
        Ok(Answer::counted(Counted { value: Number::Whole(level), bound }))
    }

    fn fill(&self) -> Option<f64> {
        crate::parts::several::fill(&self.levels)
    }

    /// Of queries that name a level.
    fn now(&self) -> Rates {
        Rates::one_sided(self.level_rates().iter().sum::<f64>() / self.depth() as f64)
    }

    fn describe(&self) -> Vec<Fact> {
        let rates = self.level_rates();
        let absent: f64 = rates.iter().map(|rate| libm::log1p(-rate)).sum();
        vec![
            fact("depth", self.depth()),
            fact("m", self.levels[0].m()),
            fact("k", self.levels[0].k()),
            real("fpr of any level", -libm::expm1(absent)),
            real("fpr of the last level", rates.last().copied().unwrap_or(0.0)),
        ]
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let digest = self.head.hasher.digest(key);
        let cells = |(i, level): (u64, &FlatBits)| {
            let start = i * level.m();
            let moved = move |cell: Touched| Touched { index: start + cell.index, ..cell };
            level.trace(digest).into_iter().map(moved).collect::<Vec<_>>()
        };
        (0..).zip(&self.levels).flat_map(cells).collect()
    }
}

/// The hops that a record names.
fn hops(record: &Record<'_>) -> Result<Option<u64>> {
    match record.value {
        None => Ok(None),
        Some(Value::Count(hops)) => Ok(Some(hops)),
        Some(_) => Err(Error::record("the value of the key must be a number of hops")),
    }
}

impl Insert for Attenuated {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        let level = hops(&record)?.unwrap_or(1);
        Attenuated::insert(self, record.key, level)
    }
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Attenuated>(Facts {
    id: 90,
    slug: "attenuated",
    entry: "§40",
    question: "How many hops away is it, and through which neighbor?",
    name: "Attenuated Bloom filter",
    paper: "S. C. Rhea, J. Kubiatowicz, Probabilistic location and routing, INFOCOM 2002",
    family: "grouping",
    needs: &["groups", "merge"],
    input: Input::valued(ValueKind::Count),
    meaning: "items are objects, spread evenly over the levels; the count after each is its distance in hops; the \
              rate is that of one level",
    forms: &[Form::exact(FORM, &[Ability::Insert, Ability::Merge])],
    operations: &[
        change!(
            Attenuated,
            "advertise",
            "Make the message to a neighbor: level 1 of this filter, and the others one hop further away.",
            [],
            [Filters],
            |filter, given| {
                *filter = filter.advertise(&given.filters_of()?)?;
                Ok(true)
            }
        ),
        tell!(
            Attenuated,
            "route",
            "Which of several filters has the key in the lowest level, and in which.",
            [],
            [Keys, Filters],
            |filter, given| {
                let mut edges = vec![filter];
                edges.extend(given.filters_of::<Attenuated>()?);
                Ok(route_of(Attenuated::route(&edges, given.record.key)))
            }
        ),
    ],
    params: &[
        Param { help: "bits of each level", ..PARAM_M },
        PARAM_K,
        Param::integer("depth", 1, 256, "number of levels, which is the farthest distance in hops")
            .or(Preset::Integer(8)),
    ],
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_tests::lies_are_refused;

    #[test]
    fn files_with_levels_of_different_shapes_are_refused() {
        let mut f = Attenuated::with_shape(100, 3, 3, Hasher::default()).unwrap();
        f.insert("a", 2).unwrap();
        let lies: [fn(&mut Attenuated); 3] = [
            |f| f.levels.clear(),
            |f| f.levels[1] = FlatBits::new(Flat { m: 100, k: 4 }).unwrap(),
            |f| f.levels[2] = FlatBits::new(Flat { m: 101, k: 3 }).unwrap(),
        ];
        lies_are_refused(&f, lies);
    }
}
