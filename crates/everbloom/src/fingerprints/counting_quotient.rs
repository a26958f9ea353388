//! The counting quotient filter (Pandey, Bender, Johnson, Patro 2017; catalogue B13; S3 §VIII, reference 156).
//!
//! The runs of a [`quotient`] filter, with counts in them. A remainder that is there twice stands twice; from
//! the third time on it encloses a number, whose digits are slots:
//!
//! ```text
//!   r = 8      5 once    5          5 seven times     5 0 6 5        C − 3 = 4 in base 2^r − 2, digits without
//!              5 twice   5 5        5 1000 times      5 4 237 5      0 and 5, each moved up past those
//!              5 thrice  5 0 5      0 1000 times      0 4 232 0 0    C − 4 in base 2^r − 1
//! ```
//!
//! Remainders of a run rise, so one that is followed by a smaller slot has a count behind it. Where the first
//! digit is not smaller, a 0 is put in front of it. 0 itself has nothing smaller: its count ends with two zeros,
//! which nothing else has.
//!
//! So a key that comes C times takes about 2 + log C / r slots in place of C, and no counter ever overflows:
//! counts are exact for the fingerprint, and too high only where two keys share one. Everything else is as in
//! `quotient`: both layouts as forms, merging in one pass, doubling and halving without the keys, and fingerprints
//! that can be listed.
//!
//! **Use it** for multisets with some very frequent keys, and for counts that are merged, listed or removed.
//! **Don't** if estimates are good enough (`conservative-update` takes fewer bits). The load counts slots, not
//! keys: plan for three slots per key on skewed streams.
//!
//! [`quotient`]: super::quotient

use super::quotients::{self, Code, Shape, Table, Values, View, countable, quotients};
use crate::cells::{Marks, Runs};
use crate::filter::Bulk;
use crate::hash::CHUNK;
use crate::parts::fingerprints::TablePart;
use crate::parts::{methods, times_of};
use crate::variant::prelude::*;

/// A multiset of fingerprints with exact counts, in the runs of their quotients.
///
/// ```
/// let mut words = everbloom::fingerprints::CountingQuotient::with_rate(1000, 0.001)?;
/// words.insert_times("the", 7_000_000)?;
/// words.insert("aardvark")?;
/// assert_eq!((words.count("the"), words.count("aardvark"), words.count("zebra")), (7_000_000, 1, 0));
/// words.remove_times("the", 6_999_999)?;
/// assert_eq!(words.count("the"), 1);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CountingQuotient {
    head: Head,
    table: Table<Digits>,
}

state!(CountingQuotient { head, ..table });

/// Counts as digits between two copies of the remainder.
#[derive(Debug)]
struct Digits;

impl Digits {
    /// The number before the last of `count` copies, and the base of its digits.
    fn number(width: u32, x: u64, count: u64) -> (u64, u64) {
        if x == 0 { (count - 4, (1 << width) - 1) } else { (count - 3, (1 << width) - 2) }
    }
}

impl Code for Digits {
    /// Digits are below 2^r − 2, which must be two at least.
    const LEAST: u32 = 2;
    const COPIES: u64 = 2;
    /// A count has three slots at least: the remainder twice, and a digit.
    const PLAIN: u64 = 2;

    fn push(slots: &mut Values, width: u32, x: u64, count: u64) {
        slots.push(x);
        match count {
            1 => return,
            2 => {}
            3 if x == 0 => slots.push(0),
            3 => slots.push(0),
            _ => {
                let (mut number, base) = Self::number(width, x, count);
                let mut digits = Values::new();
                loop {
                    let digit = number % base + 1;
                    digits.push(if x > 0 && digit >= x { digit + 1 } else { digit });
                    number /= base;
                    if number == 0 {
                        break;
                    }
                }
                if x > 0 && digits.last().is_some_and(|first| *first >= x) {
                    slots.push(0);
                }
                slots.extend(digits.into_iter().rev());
                if x == 0 {
                    slots.push(0);
                }
            }
        }
        slots.push(x);
    }

    fn next(run: &View<'_>, at: u64) -> Option<(u64, u64, u64)> {
        let x = run.get(at)?;
        let second = run.get(at + 1);
        if x == 0 {
            return next_zero(run, at, second);
        }
        match second {
            Some(second) if second == x => Some((x, 2, at + 2)),
            Some(second) if second < x => {
                let first = at + 1 + u64::from(second == 0);
                let end = (first..).find(|i| run.get(*i).is_none_or(|slot| slot == x))?;
                run.get(end)?;
                let number = read(run, first..end, (1 << run.width()) - 2, x)?;
                Some((x, number.checked_add(3)?, end + 1))
            }
            _ => Some((x, 1, at + 1)),
        }
    }
}

/// The code of the remainder 0: its count, if it has one, is what comes before the only two zeros in a row.
fn next_zero(run: &View<'_>, at: u64, second: Option<u64>) -> Option<(u64, u64, u64)> {
    if second == Some(0) {
        let third = run.get(at + 2) == Some(0);
        return Some((0, 2 + u64::from(third), at + 2 + u64::from(third)));
    }
    let pair =
        |i: &u64| run.get(*i + 1).is_none() || (run.get(*i), run.get(*i + 1)) == (Some(0), Some(0));
    let end = (at + 1..).find(pair)?;
    if run.get(end + 1).is_none() {
        return Some((0, 1, at + 1));
    }
    let number = read(run, at + 1..end, (1 << run.width()) - 1, 0)?;
    Some((0, number.checked_add(4)?, end + 2))
}

/// The number that digits make, the highest first; `None` where it is beyond all counts.
fn read(run: &View<'_>, digits: std::ops::Range<u64>, base: u64, x: u64) -> Option<u64> {
    let digit = |i: u64| {
        let slot = run.get(i)?;
        slot.checked_sub(1 + u64::from(x > 0 && slot > x))
    };
    digits.map(digit).try_fold(0u64, |number, digit| number.checked_mul(base)?.checked_add(digit?))
}

impl CountingQuotient {
    /// Counts a key. Refused, with nothing changed, if there is no room for it.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<Seen> {
        self.insert_times(key, 1)
    }

    /// Counts a key `times` more times; none change nothing. Refused, with nothing changed, if there is no room
    /// for the count.
    pub fn insert_times<K: Key + ?Sized>(&mut self, key: &K, times: u64) -> Result<Seen> {
        let digest = self.head.hasher.digest_usually(Self::HASH, key);
        if times == 0 {
            return Ok(Seen::new_if(!self.table.contains(digest)));
        }
        countable(self.head.items, times)?;
        let new = self.table.insert_times(digest, times)?;
        self.head.count(times);
        Ok(Seen::new_if(new))
    }

    /// Counts every key of a slice, in order, up to the first that is refused: faster than one
    /// by one where the filter is larger than the cache.
    pub fn insert_many<K: Key>(&mut self, keys: &[K]) -> Result<()> {
        for keys in keys.chunks(CHUNK) {
            let digest = |key| self.head.hasher.digest_usually(Self::HASH, key);
            let digests: Vec<Digest> = keys.iter().map(digest).collect();
            let outcome = self.table.insert_all(&digests);
            let taken = outcome.as_ref().map_or_else(|(taken, _)| *taken, |()| digests.len());
            self.head.count(taken as u64);
            outcome.map_err(|(_, e)| e)?;
        }
        Ok(())
    }

    /// Counts a key once less. Refused, with nothing changed, if it is not there.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        self.remove_times(key, 1)
    }

    /// Counts a key `times` less. Refused, with nothing changed, if it is not there so often.
    pub fn remove_times<K: Key + ?Sized>(&mut self, key: &K, times: u64) -> Result<()> {
        let digest = self.head.hasher.digest_usually(Self::HASH, key);
        self.table.remove_times(digest, times)?;
        self.head.items -= times;
        Ok(())
    }

    /// Whether the key may be a member.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.table.contains(self.head.hasher.digest_usually(Self::HASH, key))
    }

    /// How often the key was inserted, or more if other members have the same fingerprint: never too low while only
    /// members are removed.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.table.count(self.head.hasher.digest_usually(Self::HASH, key)).whole()
    }

    /// Slots in use.
    pub fn used(&self) -> u64 {
        self.table.runs.used()
    }
}

/// The slots of a remainder `x` of `r` bits that is there `count` times (catalogue B13).
pub fn coded(r: u32, x: u64, count: u64) -> Vec<u64> {
    let mut slots = Values::new();
    if count > 0 {
        Digits::push(&mut slots, r, x, count);
    }
    slots.into_vec()
}

/// The remainders and counts that slots stand for; `None` where they are no code (catalogue B13).
pub fn decoded(r: u32, slots: &[u64]) -> Option<Vec<(u64, u64)>> {
    let mut runs = Runs::try_new(Marks::StatusBits, slots.len() as u64 + 2, r).ok()?;
    runs.replace(0, slots);
    let view = View::new(&runs, runs.run(0));
    let (mut pairs, mut at) = (Vec::new(), 0);
    while at < slots.len() as u64 {
        let (x, count, after) = Digits::next(&view, at)?;
        pairs.push((x, count));
        at = after;
    }
    Some(pairs)
}

quotients!(CountingQuotient: Digits, SENSIBLE);
methods!(CountingQuotient: contains_many, contains_many_into, contains_iter);

impl Count for CountingQuotient {
    fn count(&self, key: &[u8]) -> Counted {
        self.table.count(self.head.hasher.digest(key))
    }
}

impl Bulk for CountingQuotient {
    fn contains_digests(&self, digests: &[Digest], found: &mut [bool]) {
        self.table.contains_all(digests, found);
    }
}

impl Insert for CountingQuotient {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        self.insert_times(record.key, times_of(&record)?)
    }
}

impl Remove for CountingQuotient {
    fn remove(&mut self, record: Record<'_>) -> Result<()> {
        self.remove_times(record.key, times_of(&record)?)
    }
}

/// Digits of two bits work and make long numbers; filters are planned with three at least.
const SENSIBLE: u32 = 3;

/// The list entry.
pub static VARIANT: Variant = Variant::of::<CountingQuotient>(Facts {
    id: 109,
    slug: "counting-quotient",
    entry: "B13",
    question: "How often was it added, when filters are merged or resized without their keys?",
    name: "Counting quotient filter",
    paper: "P. Pandey, M. A. Bender, R. Johnson, R. Patro, A general-purpose counting filter: making every \
            bit count, SIGMOD 2017",
    family: "fingerprints",
    needs: &["membership", "delete", "count", "merge", "compact"],
    meaning: "items are slots to plan for, one for a key that occurs once, and insertions minus removals \
              when counted; the rate is the false-positive rate",
    forms: quotients::FORMS,
    operations: &[
        change!(
            CountingQuotient,
            "double",
            "Double the slots; remainders get a bit shorter, and the rate stays.",
            [],
            [],
            |filter, _| {
                *filter = filter.doubled()?;
                Ok(true)
            }
        ),
        change!(
            CountingQuotient,
            "halve",
            "Halve the slots; remainders get a bit longer, and the rate stays.",
            [],
            [],
            |filter, _| {
                *filter = filter.halved()?;
                Ok(true)
            }
        ),
    ],
    params: &quotients::params(Digits::LEAST),
    ..Facts::MULTISET
});

#[cfg(test)]
mod tests {
    use super::quotients::{RANK_SELECT, STATUS_BITS};
    use super::*;
    use crate::state::MAX_ITEMS;
    use crate::{Opener, to_bytes};

    /// Insertions one by one, many at a time and all of a key at once leave the same slots, and removals none.
    #[test]
    fn counts_are_written_alike_however_they_come_about() {
        for form in [RANK_SELECT, STATUS_BITS] {
            let make =
                || CountingQuotient::with_shape(form, 1 << 10, 4, Hasher::default()).unwrap();
            let keys: Vec<u64> = (0..1200).map(|i| i * i % 401).collect();
            let (mut one, mut many, mut times) = (make(), make(), make());
            keys.iter().for_each(|key| _ = one.insert(key).unwrap());
            many.insert_many(&keys).unwrap();
            for key in 0..401u64 {
                let count = keys.iter().filter(|k| **k == key).count() as u64;
                times.insert_times(&key, count).unwrap();
            }
            assert_eq!((&one, &one), (&many, &times));
            let asked: Vec<u64> = (0..3000).collect();
            let found: Vec<bool> = asked.iter().map(|key| one.contains(key)).collect();
            assert_eq!(many.contains_many(&asked), found);
            keys.iter().for_each(|key| one.remove(key).unwrap());
            assert_eq!(one, make());
        }
    }

    /// Keys that share a fingerprint with three others are counted in fewer slots, which the prediction knows.
    #[test]
    fn slots_saved_by_shared_fingerprints_are_foretold() {
        let (slots, remainder, n) = (1 << 19, 3, 500_000);
        let mut filter =
            CountingQuotient::with_shape(STATUS_BITS, slots, remainder, Hasher::default()).unwrap();
        (0..n).for_each(|key| _ = filter.insert(&key).unwrap());
        let goal = Goal::new(n, 0.1)
            .set("form", STATUS_BITS)
            .set("slots", slots)
            .set("remainder", remainder as u64);
        let expect = VARIANT.expect(&goal, &Load::items(n)).unwrap().unwrap();
        let (mean, sd) =
            expect.fill.map(|(mean, sd)| (mean * slots as f64, sd * slots as f64)).unwrap();
        let used = filter.used() as f64;
        assert!((used - mean).abs() < 4.0 * sd, "{used} slots, not {mean} ± {sd}");
        assert!(n as f64 - mean > 4.0 * sd, "{mean} ± {sd} slots of {n} keys");
    }

    /// Codes that stand for a count but are not the shortest, or for none, are refused.
    #[test]
    fn files_with_runs_that_are_no_code_are_refused() {
        let mut good = CountingQuotient::with_shape(RANK_SELECT, 64, 4, Hasher::default()).unwrap();
        good.table.runs.replace(7, &[3, 0, 5, 3, 9]);
        good.head.items = 6 + 1;
        assert_eq!(Opener::new().decode_as::<CountingQuotient>(&to_bytes(&good)).unwrap(), good);
        assert_eq!(good.fingerprints().collect::<Vec<_>>(), [(7 << 4 | 3, 6), (7 << 4 | 9, 1)]);
        let bad: [&[u64]; 8] = [
            &[9, 3],
            &[3, 2, 9],
            &[3, 0, 2, 3, 9],
            &[3, 1, 1, 3, 9],
            &[3, 0, 0, 3, 9],
            &[0, 1, 1, 0, 9],
            &[0, 1, 2],
            &[3, 3, 3],
        ];
        for (run, items) in bad.into_iter().flat_map(|run| (0..20).map(move |items| (run, items))) {
            let mut liar = good.clone();
            liar.table.runs.replace(7, run);
            liar.head.items = items;
            let honest = run == [0, 1, 2] && items == 3;
            assert_eq!(Opener::new().decode(&to_bytes(&liar)).is_ok(), honest, "{run:?} {items}");
        }
    }

    #[test]
    fn counts_without_end_are_refused() {
        let mut filter =
            CountingQuotient::with_shape(STATUS_BITS, 64, 8, Hasher::default()).unwrap();
        filter.insert_times("x", MAX_ITEMS).unwrap();
        let before = filter.clone();
        assert_eq!(filter.insert("x").unwrap_err().kind(), Kind::CapacityExceeded);
        assert_eq!(filter.insert_times("y", 1).unwrap_err().kind(), Kind::CapacityExceeded);
        assert_eq!(Merge::merge(&mut filter, &before).unwrap_err().kind(), Kind::CapacityExceeded);
        assert_eq!(filter.remove_times("y", 1).unwrap_err().kind(), Kind::NotDeletable);
        assert_eq!(filter, before);
        assert_eq!(filter.count("x"), MAX_ITEMS);
        let back: CountingQuotient = Opener::new().decode_as(&to_bytes(&filter)).unwrap();
        assert_eq!(back, filter);
    }
}
