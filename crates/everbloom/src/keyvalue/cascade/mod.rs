//! The Bloomier filter as a cascade (Chazelle, Kilian, Rubinfeld, Tal 2004, §1; catalogue §19; S0 §III-G, S3 §VII-D).
//!
//! A value for each key of a fixed set, out of a few. Each value has a filter of its keys. A key that only its own
//! filter claims is told; those that another filter claims, too, go on to the next level, where there are far fewer:
//!
//! ```text
//!   level 0   A: 4000 keys   B: 4000 keys    exactly one says yes: its value
//!   level 1   A:  250        B:  250         none says yes: not a member, at any level
//!   level 2   A:   16        B:   16         several say yes: next level
//!   table     the last few, exactly
//! ```
//!
//! Each filter has hashes of its own: under common ones, keys that met once would meet again on every level. When few
//! keys are left, or no fewer than before, they go into an exact table; a key that several filters of the last
//! level claim is looked for there, and is not a member if it is not found.
//!
//! Members always get their value. With filters of rate f a level sends n·(v − 1)·f of n keys on, and a non-member
//! gets a value with probability vf/(1 − f + vf): 2f/(1 + f) for two values, about v·f for v.
//!
//! **Slow:** every filter of a level is asked, each with hashes of its own, and building asks all keys of a level
//! again.
//!
//! **Use it** for two or a few values if most queried keys are not members: the first level rejects most
//! non-members. **Don't** for many values, since every filter of a level is queried (`bloomier` takes one lookup,
//! and fewer bits), or if keys or values change (`kbf`).

mod shape;

use std::collections::BTreeMap;

use shape::too_small;
pub use shape::{Shape, false_positives, filter_rate};

use super::entries::{self, Entry};
use super::labels::Dictionary;
use crate::parts::KeyPart;
use crate::parts::flat_bits::FlatBits;
use crate::parts::layers::Layer;
use crate::parts::several::{check_parts, fill, flat_for};
use crate::variant::prelude::*;

/// A value out of a few per key of a fixed set.
///
/// ```
/// use everbloom::keyvalue::Cascade;
///
/// let sides = [("alder", 0), ("birch", 1), ("cedar", 0)];
/// let filter = Cascade::from_values(sides, 0.01, Default::default())?;
/// assert_eq!(filter.get("birch"), Some(1));
/// assert_eq!(filter.get("gingko"), None);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Cascade {
    head: Head,
    /// The values that keys have, in order.
    values: Vec<u64>,
    levels: Vec<Level>,
    /// The keys that no level tells apart, in order of their digests.
    table: Vec<Rest>,
    names: Dictionary,
}

state!(Cascade { head, values, levels, table, ..names });

/// A filter for each value, where any of its keys are left.
#[derive(Clone, Debug, PartialEq)]
struct Level {
    filters: Vec<Option<Layer<FlatBits>>>,
}

state!(plain Level { filters });

/// A key of the exact table.
#[derive(Clone, Debug, PartialEq)]
struct Rest {
    h1: u64,
    h2: u64,
    /// Which of the values.
    value: u64,
}

state!(plain Rest { h1, h2, value });

/// So few keys go into the table rather than into filters of their own.
const FEW: usize = 8;
const MAX_LEVELS: usize = 64;
const MAX_VALUES: usize = 4096;

impl Cascade {
    /// The filter of key–value pairs of which non-members get a value at a rate of `fpr`.
    pub fn from_values<K: Key>(
        pairs: impl IntoIterator<Item = (K, u64)>,
        fpr: f64,
        hasher: Hasher,
    ) -> Result<Self> {
        let goal = Goal { fpr: Some(fpr), ..Goal::of(hasher) };
        let (shape, head) = crate::variant::settle::<Self>(&goal)?;
        let entry = |(record, (key, value)): (u64, (K, u64))| Entry {
            digest: head.hasher.digest(&key),
            value,
            record,
        };
        let mut entries: Vec<Entry> = (1..).zip(pairs).map(entry).collect();
        entries::collapse(&mut entries).map_err(|(first, second)| {
            Error::record(format!("pairs {first} and {second} give the same key two values"))
        })?;
        Self::build(&shape, head, entries, Dictionary::default())
    }

    fn build(shape: &Shape, head: Head, entries: Vec<Entry>, names: Dictionary) -> Result<Self> {
        let mut sizes: BTreeMap<u64, f64> = BTreeMap::new();
        entries.iter().for_each(|entry| *sizes.entry(entry.value).or_default() += 1.0);
        if sizes.len() > MAX_VALUES {
            return Err(Error::parameter(format!(
                "{} different values, and a cascade has a filter for each: the maximum is {MAX_VALUES}; bloomier \
                takes any number",
                sizes.len()
            )));
        }
        let (values, sizes): (Vec<u64>, Vec<f64>) = sizes.into_iter().unzip();
        let sets: Vec<Vec<Digest>> = values
            .iter()
            .map(|value| {
                let own = entries.iter().filter(|entry| entry.value == *value);
                own.map(|entry| entry.digest).collect()
            })
            .collect();
        let mut f = shape.rate_for(&sizes)?;
        loop {
            let (levels, table) = cascade(sets.clone(), f)?;
            let bits = all_filters(&levels).map(|filter| filter.part.m()).sum::<u64>();
            if bits <= shape.room {
                let rate = shape.rate.unwrap_or_else(|| false_positives(values.len() as f64, f));
                let items = entries.len() as u64;
                let head = Head { items, fpr: Some(rate).filter(|p| *p < 1.0), ..head };
                return Ok(Self { head, values, levels, table, names });
            }
            // The room decides where no rate was asked for: levels may turn out larger than on average.
            if shape.rate.is_some() || f >= 0.5 {
                return Err(too_small(shape.room, bits as f64));
            }
            f = (f * 1.1).min(0.5);
        }
    }

    /// The key's value: a member's for certain.
    pub fn get<K: Key + ?Sized>(&self, key: &K) -> Option<u64> {
        self.find(self.head.hasher.digest(key)).0.map(|i| self.values[i])
    }

    /// Which of the values a key has, and the level that told; one beyond the last for the table.
    fn find(&self, digest: Digest) -> (Option<usize>, usize) {
        for (i, level) in self.levels.iter().enumerate() {
            match level.claims(i, digest) {
                Claims::None => return (None, i),
                Claims::One(value) => return (Some(value), i),
                Claims::Several => {}
            }
        }
        let wanted = (digest.h1, digest.h2);
        let found = self.table.binary_search_by_key(&wanted, |rest| (rest.h1, rest.h2)).ok();
        (found.map(|at| self.table[at].value as usize), self.levels.len())
    }

    /// The label of a value: a number is its own label.
    pub fn label(&self, value: u64) -> Option<Vec<u8>> {
        self.names.label(value)
    }

    /// The number of keys of each value, level by level.
    pub fn level_sizes(&self) -> Vec<Vec<u64>> {
        let size = |filter: &Option<Layer<FlatBits>>| filter.as_ref().map_or(0, |f| f.items);
        self.levels.iter().map(|level| level.filters.iter().map(size).collect()).collect()
    }

    /// The number of keys in the exact table.
    pub fn table_len(&self) -> usize {
        self.table.len()
    }

    fn check(&self) -> Result<()> {
        let wrong = |what: &str| Err(Error::corrupt(0, format!("corrupt filter: {what}")));
        let v = self.values.len();
        if v > MAX_VALUES || !self.values.windows(2).all(|pair| pair[0] < pair[1]) {
            return wrong("values out of order");
        }
        if !self.values.iter().all(|value| self.names.means(*value)) {
            return wrong("a value without a label");
        }
        if self.levels.len() > MAX_LEVELS
            || self.levels.iter().any(|level| level.filters.len() != v)
        {
            return wrong("levels of other values");
        }
        for level in &self.levels {
            let keys = level.filters.iter().flatten().map(|filter| u128::from(filter.items));
            if keys.sum::<u128>() > self.head.items.into() {
                return wrong("a level of more keys than there are");
            }
        }
        let order = |rest: &Rest| (rest.h1, rest.h2);
        let sorted = self.table.windows(2).all(|pair| order(&pair[0]) < order(&pair[1]));
        if !sorted || self.table.iter().any(|rest| rest.value >= v as u64) {
            return wrong("a table out of order, or of other values");
        }
        Ok(())
    }
}

/// How many filters of a level claim a key.
enum Claims {
    None,
    One(usize),
    Several,
}

impl Level {
    fn claims(&self, level: usize, digest: Digest) -> Claims {
        let mut claims = Claims::None;
        for (j, filter) in self.filters.iter().enumerate() {
            let Some(filter) = filter else { continue };
            if filter.part.contains(salted(digest, level, j, self.filters.len())) {
                match claims {
                    Claims::None => claims = Claims::One(j),
                    _ => return Claims::Several,
                }
            }
        }
        claims
    }
}

/// Every filter has hashes of its own.
fn salted(digest: Digest, level: usize, value: usize, values: usize) -> Digest {
    digest.salted((level * values + value) as u64 + 1)
}

fn all_filters(levels: &[Level]) -> impl Iterator<Item = &Layer<FlatBits>> {
    levels.iter().flat_map(|level| level.filters.iter().flatten())
}

/// Level after level for what is left of the sets, until few keys are, or no fewer than before; those for the table.
fn cascade(mut sets: Vec<Vec<Digest>>, f: f64) -> Result<(Vec<Level>, Vec<Rest>)> {
    let v = sets.len();
    let mut levels: Vec<Level> = Vec::new();
    let left = |sets: &[Vec<Digest>]| sets.iter().map(Vec::len).sum::<usize>();
    let mut before = usize::MAX;
    // The first level is there for non-members, however few the keys are.
    while left(&sets) > 0
        && (levels.is_empty() || left(&sets) > FEW)
        && left(&sets) < before
        && levels.len() < MAX_LEVELS
    {
        let number = levels.len();
        let shape = |set: &Vec<Digest>| flat_for(set.len() as u64, f);
        check_parts(sets.iter().filter(|set| !set.is_empty()).map(shape))?;
        let mut filters = Vec::with_capacity(v);
        for (j, set) in sets.iter().enumerate() {
            if set.is_empty() {
                filters.push(None);
                continue;
            }
            let mut part = FlatBits::new(shape(set))?;
            set.iter().for_each(|digest| _ = part.insert(salted(*digest, number, j, v)));
            filters.push(Some(Layer { part, items: set.len() as u64 }));
        }
        let level = Level { filters };
        before = left(&sets);
        for set in &mut sets {
            set.retain(|digest| matches!(level.claims(number, *digest), Claims::Several));
        }
        levels.push(level);
    }
    let rests = sets.into_iter().zip(0..).flat_map(|(set, value)| {
        set.into_iter().map(move |digest| Rest { h1: digest.h1, h2: digest.h2, value })
    });
    let mut table: Vec<Rest> = rests.collect();
    table.sort_unstable_by_key(|rest| (rest.h1, rest.h2));
    Ok((levels, table))
}

impl Create for Cascade {
    fn create(shape: &Shape, head: Head, inputs: &mut Inputs<'_>) -> Result<Self> {
        let (entries, names) = entries::read(&head.hasher, inputs)?;
        Self::build(shape, head, entries, names)
    }
}

face!(Cascade: Lookup);

impl Filter for Cascade {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let value = self.get(record.key).and_then(|value| self.label(value));
        Ok(value.map_or(Answer::of(false), |v| Answer::of(true).with(Detail::Value(v))))
    }

    fn fill(&self) -> Option<f64> {
        fill(all_filters(&self.levels).map(|filter| &filter.part))
    }

    /// Level by level: exactly one filter of a level claims the key, after several did on those before.
    fn now(&self) -> Rates {
        let (mut reach, mut fpr) = (1.0, 0.0);
        for level in &self.levels {
            let (mut none, mut one) = (1.0, 0.0);
            for filter in level.filters.iter().flatten() {
                let f = filter.part.fpr();
                one = one * (1.0 - f) + none * f;
                none *= 1.0 - f;
            }
            fpr += reach * one;
            reach *= (1.0 - none - one).max(0.0);
        }
        Rates::one_sided((fpr + self.head.collisions()).min(1.0))
    }

    fn describe(&self) -> Vec<Fact> {
        let sizes: Vec<String> =
            self.level_sizes().iter().map(|level| level.iter().sum::<u64>().to_string()).collect();
        let labels = self.names.len().map(|labels| labels.to_string());
        vec![
            fact("values", self.values.len() as u64),
            text("labels", labels.unwrap_or_else(|| "numbers".to_owned())),
            fact("levels", self.levels.len() as u64),
            text("keys by level", sizes.join(", ")),
            fact("exact", self.table.len() as u64),
            fact("m", all_filters(&self.levels).map(|filter| filter.part.m()).sum::<u64>()),
        ]
    }

    /// The cells of every filter of the level that tells the key, or of the last; filters stand one after another.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let digest = self.head.hasher.digest(key);
        let number = self.find(digest).1.min(self.levels.len().saturating_sub(1));
        let Some(level) = self.levels.get(number) else { return Vec::new() };
        let (mut out, mut start) = (Vec::new(), 0);
        for (j, filter) in level.filters.iter().enumerate() {
            let Some(filter) = filter else { continue };
            let cells = filter.part.trace(salted(digest, number, j, level.filters.len()));
            out.extend(cells.into_iter().map(|cell| Touched { index: start + cell.index, ..cell }));
            start += filter.part.m();
        }
        out
    }
}

impl Lookup for Cascade {
    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        Cascade::get(self, key).and_then(|value| self.label(value))
    }
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Cascade>(Facts {
    id: 75,
    slug: "bloomier-cascade",
    entry: "§19",
    question: "Which of a few values does this key of a fixed set have?",
    name: "Bloomier filter, cascade form",
    paper: "B. Chazelle, J. Kilian, R. Rubinfeld, A. Tal, The Bloomier filter: an efficient data structure for static support lookup tables, SODA 2004",
    family: "keyvalue",
    needs: &["values", "groups", "static"],
    input: Input::valued(ValueKind::Label),
    meaning: "items are the keys read, whatever was planned; the rate is that of non-members that get a value",
    forms: &[Form::exact("standard", &[Ability::Lookup])],
    ..Facts::COLLECTED
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_tests::lies_are_refused;

    /// Filters that share hashes of other levels would claim the same keys again, a little more often than others.
    #[test]
    fn every_filter_has_hashes_of_its_own() {
        let digest = Hasher::default().digest("key");
        let all = (0..4).flat_map(|level| (0..3).map(move |value| salted(digest, level, value, 3)));
        let all: std::collections::HashSet<_> = all.map(|digest| (digest.h1, digest.h2)).collect();
        assert_eq!(all.len(), 12);
    }

    #[test]
    fn files_with_levels_that_cannot_be_are_refused() {
        let pairs = (0..300u64).map(|key| (key, key % 3));
        let filter = Cascade::from_values(pairs, 0.5, Hasher::default()).unwrap();
        assert!(filter.levels.len() > 2 && filter.table.len() > 1);
        let lies: [fn(&mut Cascade); 6] = [
            |f| f.head.items = 299,
            |f| f.values.swap(0, 1),
            |f| _ = f.values.pop(),
            |f| _ = f.levels[1].filters.pop(),
            |f| f.table.reverse(),
            |f| f.table[0].value = 3,
        ];
        lies_are_refused(&filter, lies);
    }
}
