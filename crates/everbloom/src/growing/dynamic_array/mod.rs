//! The dynamic Bloom filter array (Wei, Jiang, Zhou, Feng 2011; catalogue §12; S3 §VI-B).
//!
//! A set that grows, from which keys are deleted, whose filters are queried many at a time. The filters of a group
//! are interleaved bit by bit: one read of position h tells the bits of all of them there, and the AND of a key's k
//! reads is the mask of those that claim it:
//!
//! ```text
//!   filter      0 1 2 3 …                     a key's k reads      0 1 1 0
//!   position 0  1 0 0 1                                            1 1 1 0
//!   position 1  0 1 1 0  ◀── one read                              0 1 0 1
//!   position 2  1 1 1 0                       AND                  0 1 0 0   filter 1 claims it: ask its index
//!      ⋮
//! ```
//!
//! So a key that is not there costs k reads a group of g filters, not k reads a filter. Beside each filter stands
//! an index of its live keys (their 128-bit digests). A deletion takes the key out of the index and counts one
//! stale key; when a filter has too many of those it is rebuilt from its index in one go. No counters, and no member
//! is ever lost.
//!
//! In the form `verified` the index has the last word: 1 − (1 − f)^r of all non-members make it look there, and
//! none passes. In the form `filters` the filters answer alone, as for a data set that verifies by itself; there
//! a deleted key still passes until its filter is rebuilt.
//!
//! **Use it** in front of a growing store whose index is at hand. **Don't** when 16 bytes a key for the index are
//! too much (`dynamic`, `counting`), or when nothing is deleted (`scalable`).

mod group;

use crate::cells::Packed;
use crate::parts::layers;
use crate::parts::several::{check_parts, flat_for};
use crate::plan::check_cells;
use crate::probe::{Coincide, Probe};
use crate::variant::prelude::*;

use group::{Group, Member, ones};

/// Groups of interleaved filters, with the index they are rebuilt from.
///
/// ```
/// let mut stored = everbloom::growing::DynamicArray::with_rate(1000, 0.01)?;
/// for object in 0..3000u64 {
///     stored.insert(&object)?;
/// }
/// assert!(stored.contains(&2999u64) && !stored.contains(&3000u64));
/// assert_eq!(stored.claims(&2999u64), [(2, 15)]); // the last filter of the third group
/// stored.remove(&2999u64)?;
/// assert!(!stored.contains(&2999u64));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DynamicArray {
    head: Head,
    probe: Probe,
    /// The keys that fill a filter, live and stale.
    capacity: u64,
    /// The filters of a group.
    group: u32,
    /// The stale keys at which a filter is rebuilt.
    stale_limit: u64,
    groups: Vec<Group>,
}

state!(DynamicArray { head, probe, capacity, group, stale_limit, groups });

impl DynamicArray {
    /// Inserts a key into the first filter with room for it; a new group is opened where there is none. Refused, with
    /// nothing changed, where there is no memory for that.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<Seen> {
        let digest = self.head.hasher.digest(key);
        let seen = Seen::new_if(!self.has(digest));
        let (group, filter) = self.open_filter()?;
        let group = &mut self.groups[group];
        group.set(&self.probe, filter, digest);
        group.members[filter].insert(digest);
        self.head.count(1);
        Ok(seen)
    }

    fn open_filter(&mut self) -> Result<(usize, usize)> {
        for (i, group) in self.groups.iter_mut().enumerate() {
            let room = |member: &Member| member.live + member.stale < self.capacity;
            if let Some(j) = group.members.iter().position(room) {
                return Ok((i, j));
            }
            if group.members.len() < self.group as usize {
                group.members.push(Member::blank(self.capacity)?);
                return Ok((i, group.members.len() - 1));
            }
        }
        self.groups.push(blank(&self.probe, self.group, self.capacity)?);
        Ok((self.groups.len() - 1, 0))
    }

    /// Whether the key is a member: for certain in the form `verified`, else maybe.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.has(self.head.hasher.digest(key))
    }

    fn has(&self, digest: Digest) -> bool {
        self.groups.iter().any(|group| {
            let mask = group.claims(&self.probe, digest);
            mask != 0
                && (self.head.form == FILTERS_ALONE || self.verified(group, mask, digest) != 0)
        })
    }

    /// Those of the filters in a mask whose index has the key.
    fn verified(&self, group: &Group, mask: u64, digest: Digest) -> u64 {
        ones(mask)
            .filter(|j| group.members.get(*j).is_some_and(|member| member.find(digest).is_some()))
            .fold(0, |verified, j| verified | 1 << j)
    }

    /// The filters that claim a key, by group and number; in the form `verified`, those whose index has it.
    pub fn claims<K: Key + ?Sized>(&self, key: &K) -> Vec<(usize, usize)> {
        let digest = self.head.hasher.digest(key);
        let mut out = Vec::new();
        for (i, group) in self.groups.iter().enumerate() {
            let mask = group.claims(&self.probe, digest);
            let mask = if self.head.form == FILTERS_ALONE {
                mask
            } else {
                self.verified(group, mask, digest)
            };
            out.extend(ones(mask).map(|j| (i, j)));
        }
        out
    }

    /// Deletes a key that was inserted; refused, with nothing changed, if no index has it. Its bits stay until
    /// enough keys of its filter are stale for a rebuild.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        let digest = self.head.hasher.digest(key);
        for group in &mut self.groups {
            for j in ones(group.claims(&self.probe, digest)) {
                let Some(member) = group.members.get_mut(j) else { continue };
                let Some(at) = member.find(digest) else { continue };
                member.remove(at);
                // A filter without live keys is made anew in no time.
                if member.stale >= self.stale_limit || member.live == 0 {
                    group.rebuild(&self.probe, j);
                }
                self.head.count_off();
                return Ok(());
            }
        }
        Err(Error::new(Kind::NotDeletable, "the key is not in the filter"))
    }

    /// Rebuilds every filter that has stale keys; says how many there were.
    pub fn rebuild(&mut self) -> u64 {
        let mut gone = 0;
        for group in &mut self.groups {
            for j in 0..group.members.len() {
                gone += group.members[j].stale;
                if group.members[j].stale > 0 {
                    group.rebuild(&self.probe, j);
                }
            }
        }
        gone
    }

    /// The keys that fill a filter.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Number of filters in use.
    pub fn filters(&self) -> usize {
        self.groups.iter().map(|group| group.members.len()).sum()
    }

    /// Deleted keys that are still in the bits.
    pub fn stale(&self) -> u64 {
        self.groups.iter().flat_map(|group| &group.members).map(|member| member.stale).sum()
    }

    fn check(&self) -> Result<()> {
        let wrong = |what: &str| Err(Error::corrupt(0, format!("corrupt filter: {what}")));
        if !VARIANT.takes("group", self.group)
            || self.capacity == 0
            || self.stale_limit == 0
            || self.groups.is_empty()
        {
            return wrong("impossible groups");
        }
        for group in &self.groups {
            self.probe.check_flat(group.cells.len())?;
            let members = group.members.len();
            if group.cells.width() != self.group || !(1..=self.group as usize).contains(&members) {
                return wrong("a group of another width");
            }
            let extra = !(u64::MAX >> (64 - members));
            if group.cells.iter().any(|mask| mask & extra != 0) {
                return wrong("bits of filters that are not there");
            }
            if !group.members.iter().all(|member| member.fits(self.capacity)) {
                return wrong("an index that is not sorted, or too full");
            }
        }
        Ok(())
    }
}

fn blank(probe: &Probe, group: u32, capacity: u64) -> Result<Group> {
    let cells = Packed::try_new(probe.m(), group)?;
    Ok(Group { cells, members: vec![Member::blank(capacity)?] })
}

/// The shape of each filter, the keys that fill it, filters per group, and the stale keys of a rebuild.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    flat: Flat,
    capacity: u64,
    group: u64,
    stale_limit: u64,
    verified: bool,
}

impl Plan for DynamicArray {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let [filters, group] = request.wholes(["filters", "group"]);
        let each = |p: f64| layers::each_passes(p, filters as f64);
        let flat = |n: u64, p: f64| flat_for(n.div_ceil(filters), each(p));
        // A group takes the memory of all its filters from the start.
        let all = |n: u64| {
            let used = n.div_ceil(n.div_ceil(filters).max(1));
            (used.div_ceil(group) * group) as f64
        };
        let size =
            |n: u64, p: f64| flat(n, p).m as f64 * all(n) + index(n, n.div_ceil(filters)) as f64;
        let (n, p) = request.items_and_rate(size)?;
        let flat = flat(n, p);
        check_cells(n, p, flat.m as f64 * all(n))?;
        check_parts([flat])?;
        let capacity = n.div_ceil(filters);
        let stale = request.number("stale");
        let stale_limit = ((stale * capacity as f64).ceil() as u64).max(1);
        let verified = request.form() == VERIFIED;
        Ok(Shape { flat, capacity, group, stale_limit, verified })
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let Shape { flat, capacity, group, .. } = *shape;
        let n = load.distinct;
        let (full, rest) = (n / capacity, n % capacity);
        let filters = full + u64::from(rest > 0);
        let bits = flat.m.saturating_mul(filters.div_ceil(group).max(1).saturating_mul(group));
        let (fill, sd) = flat.fill(capacity);
        let (last, last_sd) = flat.fill(rest);
        let share = flat.m as f64 / bits as f64;
        let variance = full as f64 * sd * sd + last_sd * last_sd;
        let fill = (share * (full as f64 * fill + last), share * variance.sqrt());
        let fulls = fpr_of(full, flat.fpr(capacity));
        let fpr = layers::any_passes([fulls, flat.fpr(rest)].into_iter());
        let fpr = if shape.verified { 0.0 } else { fpr };
        Some(Expect::one_sided(fpr, bits, Some(fill)).probing(flat.k))
    }

    fn beside(_request: &Request<'_>, shape: &Shape, load: &Load) -> u64 {
        index(load.distinct, shape.capacity)
    }
}

/// Bits of the digests of `n` keys in filters of this capacity, which have room for all of theirs from the start.
fn index(n: u64, capacity: u64) -> u64 {
    n.div_ceil(capacity).max(1).saturating_mul(capacity).saturating_mul(128)
}

impl Stream for DynamicArray {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Shape { flat: Flat { m, k }, capacity, group, stale_limit, .. } = *shape;
        let (probe, group) = (Probe::over(m, k), group as u32);
        let groups = vec![blank(&probe, group, capacity)?];
        Ok(Self { head, probe, capacity, group, stale_limit, groups })
    }
}

face!(DynamicArray: Insert, Remove);
planned!(DynamicArray);

impl Filter for DynamicArray {
    /// Present with the filters that claim the key, as GROUP.FILTER.
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let claims = self.claims(record.key);
        if claims.is_empty() {
            return Ok(Answer::of(false));
        }
        let name = |(i, j): (usize, usize)| format!("{i}.{j}").into_bytes();
        Ok(Answer::of(true).with(Detail::Labels(claims.into_iter().map(name).collect())))
    }

    fn fill(&self) -> Option<f64> {
        let masks = self.groups.iter().flat_map(|group| group.cells.iter());
        let ones: u64 = masks.map(|mask| u64::from(mask.count_ones())).sum();
        let all = self.probe.m() * u64::from(self.group) * self.groups.len() as u64;
        Some(ones as f64 / all as f64)
    }

    fn now(&self) -> Rates {
        if self.head.form == VERIFIED {
            return Rates::one_sided(self.head.collisions());
        }
        let (m, k) = (self.probe.m(), self.probe.k());
        let rate = |group: &Group| {
            let alone = || group.fills().into_iter().map(|fill| libm::pow(fill, f64::from(k)));
            let shared = layers::any_shared(m, k, group.members.len(), |i| group.cells.get(i));
            shared.unwrap_or_else(|| layers::any_passes(alone()))
        };
        let fpr = layers::any_passes(self.groups.iter().map(rate));
        Rates::one_sided((fpr + self.head.collisions()).min(1.0))
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("filters", self.filters() as u64),
            fact("groups", self.groups.len() as u64),
            fact("m", self.probe.m()),
            fact("k", self.probe.k()),
            fact("capacity", self.capacity),
            fact("stale", self.stale()),
        ]
    }

    /// The masks that the key reads in the group that claims it, or in the newest.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let digest = self.head.hasher.digest(key);
        let claims = self.groups.iter().find(|group| group.claims(&self.probe, digest) != 0);
        let indices = self.probe.collect(digest, Coincide::PerHash);
        let group = claims.or(self.groups.last());
        group.map_or_else(Vec::new, |group| touched(&indices, |i| group.cells.get(i)))
    }
}

impl Insert for DynamicArray {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        DynamicArray::insert(self, record.key)
    }
}

keyed!(DynamicArray: Remove);

/// The rate of `r` filters of rate `f`, 1 − (1 − f)^r.
pub fn fpr_of(r: u64, f: f64) -> f64 {
    -libm::expm1(r as f64 * libm::log1p(-f))
}

const VERIFIED: &str = "verified";
const FILTERS_ALONE: &str = "filters";

const ABILITIES: &[Ability] = &[Ability::Insert, Ability::Remove];

/// The list entry.
pub static VARIANT: Variant = Variant::of::<DynamicArray>(Facts {
    id: 68,
    slug: "dynamic-array",
    entry: "§12",
    question: "Is it in a set of unknown size, with many filters read at once?",
    name: "Dynamic Bloom filter array",
    paper: "J. Wei, H. Jiang, K. Zhou, D. Feng, DBA: a dynamic Bloom filter array for scalable membership \
            representation of variable large data sets, MASCOTS 2011",
    family: "growing",
    needs: &["membership", "grow", "delete", "accurate"],
    meaning: "items are the keys planned for, in all filters together; the rate is that of non-members that the \
              filters send to the index",
    forms: &[Form::exact(VERIFIED, ABILITIES), Form::exact(FILTERS_ALONE, ABILITIES)],
    params: &[
        Param::integer("filters", 1, 1 << 20, "number of filters that the planned items fill")
            .or(Preset::Integer(16)),
        Param::integer("group", 1, 64, "filters that are interleaved").or(Preset::Integer(16)),
        Param::real("stale", 0.0, 1.0, "share of deleted keys at which a filter is rebuilt")
            .or(Preset::Real(0.25)),
    ],
    ..Facts::MULTISET
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_tests::lies_are_refused;

    fn filled(n: u64) -> DynamicArray {
        let mut filter = DynamicArray::with_rate(160, 0.01).unwrap();
        (0..n).for_each(|key| _ = filter.insert(&key).unwrap());
        filter
    }

    #[test]
    fn files_with_groups_that_cannot_be_are_refused() {
        let filter = filled(250);
        let lies: [fn(&mut DynamicArray); 9] = [
            |f| f.groups.clear(),
            |f| f.group = 17,
            |f| f.capacity = 11,
            |f| f.stale_limit = 0,
            |f| f.groups[0].members[3].stale = 1,
            |f| {
                f.groups[0].members[3].settle();
                f.groups[0].members[3].keys.make_mut().swap(0, 2);
            },
            |f| f.groups[0].members[3].live = 9,
            |f| f.groups[1].members.truncate(1),
            |f| f.groups[1].cells = Packed::new(7, 16),
        ];
        lies_are_refused(&filter, lies);
    }

    /// A filter that was rebuilt is the one that never had the deleted keys.
    #[test]
    fn rebuilding_leaves_no_trace() {
        let mut filter = filled(100);
        let kept: Vec<u64> = (0..100).filter(|key| key % 10 != 0).collect();
        for key in (0..100u64).step_by(10) {
            filter.remove(&key).unwrap();
        }
        assert_eq!((filter.stale(), filter.rebuild(), filter.stale()), (10, 10, 0));
        let mut fresh = DynamicArray { head: Head::new(Hasher::default(), VERIFIED), ..filled(0) };
        for (i, keys) in kept.chunks(9).enumerate() {
            let group = &mut fresh.groups[0];
            if i > 0 {
                group.members.push(Member::blank(fresh.capacity).unwrap());
            }
            for key in keys {
                let digest = fresh.head.hasher.digest(key);
                group.set(&fresh.probe, i, digest);
                group.members[i].insert(digest);
            }
        }
        assert_eq!(filter.groups, fresh.groups);
    }

    /// Keys that came last, those before them, and files of both.
    #[test]
    fn keys_are_found_and_removed_whether_they_came_late_or_early() {
        let mut filter =
            DynamicArray::builder().items(3000).rate(0.01).set("filters", 1).build().unwrap();
        (0..1300u64).for_each(|key| _ = filter.insert(&key).unwrap());
        assert!((0..1300u64).all(|key| filter.contains(&key)));
        let back: DynamicArray = crate::Opener::new().decode_as(&crate::to_bytes(&filter)).unwrap();
        assert_eq!(back, filter);
        for key in (0..1300u64).step_by(3) {
            filter.remove(&key).unwrap();
            assert!(filter.remove(&key).is_err());
        }
        assert!((0..1300u64).all(|key| filter.contains(&key) != key.is_multiple_of(3)));
        let back: DynamicArray = crate::Opener::new().decode_as(&crate::to_bytes(&filter)).unwrap();
        assert_eq!(back, filter);
        assert!((0..1300u64).all(|key| back.contains(&key) != key.is_multiple_of(3)));
    }
}
