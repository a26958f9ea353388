//! Capabilities shown by use: each check builds filters of a form, uses them through their faces, and
//! says whether the capability is there and how that was seen.

use everbloom::Result;
use everbloom::internals::file::to_bytes;
use everbloom::internals::filter::ValueKind;
use everbloom::internals::filter::{Detail, Record, Value};
use everbloom::internals::theory::tail;

use super::subject::{PLANNED, RATE, Subject, missed};
use crate::Shown;
use crate::bound::ALPHA;

/// What a check saw.
pub struct Outcome {
    pub shown: Shown,
    pub how: String,
}

impl Outcome {
    pub fn new(shown: Shown, how: impl Into<String>) -> Self {
        Self { shown, how: how.into() }
    }

    /// Whether the capability was seen.
    pub fn works(&self) -> bool {
        self.shown == Shown::Works
    }
}

/// The capability was used and worked, or was tried and failed.
pub fn tried(worked: bool, how: impl Into<String>) -> Result<Outcome> {
    Ok(Outcome::new(if worked { Shown::Works } else { Shown::Fails }, how))
}

/// These filters do not offer the capability.
pub fn not_offered(how: impl Into<String>) -> Result<Outcome> {
    Ok(Outcome::new(Shown::NotOffered, how))
}

/// How much more than planned a filter is to hold to be called scalable. Eight times would do for
/// hashes; the false-positive-free zone of EGH fades only beyond n·ln|U|.
const GROWTH: u64 = 64;

/// The rate of what grows by further filters may grow with their number, as S3 says of several; that of
/// a fixed filter goes to 1.
const TOLERATED: f64 = 10.0;

/// Non-members asked.
pub const QUERIES: u64 = 2000;

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values[values.len() / 2]
}

/// Counting: keys that came three times are told from those that came once.
pub fn counting(subject: &Subject) -> Result<Outcome> {
    // At a third of the load, so that counters are rarely shared; the first 20 keys come thrice.
    let keys = subject.members(PLANNED / 3);
    let once = keys.records();
    let thrice: Vec<Record<'_>> = [&once[..], &once[..20], &once[..20]].concat();
    let [single, triple] = [subject.build(&once)?, subject.build(&thrice)?];
    if let Some(count) = triple.as_count() {
        // A record may stand for several: it is counted by what it says.
        let times = |record: &Record<'_>| match record.value {
            Some(Value::Count(each)) => count.count(record.key).whole() / each.max(1),
            _ => count.count(record.key).whole(),
        };
        let counts = |records: &[Record<'_>]| median(records.iter().map(times).collect());
        let (three, one) = (counts(&once[..20]), counts(&once[20..]));
        let how = format!("medians: {one} for keys that came once, {three} for thrice");
        return tried((one, three) == (1, 3), how);
    }
    for record in &once[..20] {
        let [one, three] = [single.query(*record)?, triple.query(*record)?];
        if one.detail != three.detail || matches!(three.detail, Detail::Count(_)) {
            return tried(true, "the answer tells three copies from one");
        }
    }
    let [once, thrice] = [&single, &triple].map(|filter| to_bytes(&**filter));
    if cells(&once) == cells(&thrice) {
        return tried(false, "three copies leave the cells that one leaves");
    }
    not_offered("three copies answer as one does, though their cells differ")
}

/// Grouping: the group a key was inserted with comes back.
pub fn grouping(subject: &Subject) -> Result<Outcome> {
    let keys = subject.members(PLANNED);
    let records = keys.records();
    let filter = subject.build(&records)?;
    if !subject.labels() {
        for record in &records {
            if matches!(filter.query(*record)?.detail, Detail::Labels(_) | Detail::Value(_)) {
                return tried(true, "answers carry labels");
            }
        }
        return not_offered("no label goes in, none comes out");
    }
    let mut right = 0;
    for record in &records {
        let Some(Value::Label(own)) = record.value else { continue };
        right += u64::from(match filter.query(Record::key(record.key))?.detail {
            Detail::Labels(labels) => labels == [own],
            Detail::Value(value) => value == own,
            _ => false,
        });
    }
    let how = format!("{right} of {PLANNED} keys come back with their group alone");
    // Half of them: a few groups more are false positives, but naming many is naming none.
    tried(right * 2 >= PLANNED, how)
}

/// Deletion: removed keys are as non-members, all others stay.
pub fn deletion(subject: &Subject) -> Result<Outcome> {
    let keys = subject.members(PLANNED);
    let records = keys.records();
    let mut filter = subject.build(&records)?;
    if filter.as_remove().is_none() {
        return not_offered("no key can be taken out");
    }
    let (leaving, staying) = records.split_at(records.len() / 2);
    let mut removed = Vec::new();
    for record in leaving {
        // Some forms refuse a few, where it would harm others.
        if filter.as_remove().is_some_and(|face| face.remove(*record).is_ok()) {
            removed.push(*record);
        }
    }
    let left = removed.len() - missed(&*filter, &removed)?.len();
    let lost = missed(&*filter, staying)?.len();
    let non_members = subject.non_members(QUERIES);
    let rate = 1.0 - missed(&*filter, &non_members.records())?.len() as f64 / QUERIES as f64;
    // A rate too low to be measured here is no higher than planned.
    let (_, most) = tail::binomial_bounds(removed.len() as u64, rate.max(RATE), ALPHA);
    let how = format!(
        "{} of {} removed, of which {left} pass as non-members do; {lost} others lost",
        removed.len(),
        leaving.len()
    );
    let done = removed.len() * 10 >= leaving.len() * 9 && left as u64 <= most;
    tried(done && lost == 0, how)
}

/// Scalability: many times the planned keys, in more groups or in the same, find room; none is lost.
pub fn scalability(subject: &Subject) -> Result<Outcome> {
    let [more, same] =
        [subject.in_more_groups(GROWTH * PLANNED), subject.members(GROWTH * PLANNED)];
    let grown = overfilled(subject, &more.records())?;
    if grown.works() || !subject.labels() {
        return Ok(grown);
    }
    overfilled(subject, &same.records())
}

fn overfilled(subject: &Subject, records: &[Record<'_>]) -> Result<Outcome> {
    let mut filter = subject.build(&records[..PLANNED as usize])?;
    for (i, record) in records.iter().enumerate().skip(PLANNED as usize) {
        let Some(insert) = filter.as_insert() else {
            return not_offered("takes no further keys");
        };
        if insert.insert(*record).is_err() {
            return tried(false, format!("full after {i} keys, planned for {PLANNED}"));
        }
    }
    let non_members = subject.non_members(QUERIES);
    let denied = missed(&*filter, &non_members.records())?.len() as u64;
    let rate = (QUERIES - denied) as f64 / QUERIES as f64;
    let lost = missed(&*filter, records)?.len();
    let how = format!("rate {rate} with {GROWTH} times the keys planned at {RATE}, {lost} lost");
    tried(rate <= TOLERATED * RATE && lost == 0, how)
}

/// Popularity: non-members of different weight pass at different rates.
pub fn popularity(subject: &Subject) -> Result<Outcome> {
    if subject.variant.input.value != ValueKind::Weight {
        return not_offered("keys have no weight: all non-members pass at one rate");
    }
    let keys = subject.members(PLANNED);
    let filter = subject.build(&keys.records())?;
    let non_members = subject.non_members(10 * QUERIES);
    let rate = |weight: f64| -> Result<f64> {
        let mut records = non_members.records();
        for record in &mut records {
            record.value = Some(Value::Weight(weight));
        }
        Ok((records.len() - missed(&*filter, &records)?.len()) as f64 / records.len() as f64)
    };
    let (rare, common) = (rate(0.01)?, rate(0.9)?);
    let how = format!("rate {rare} at weight 0.01, {common} at 0.9");
    tried(rare.max(common) > 2.0 * rare.min(common), how)
}

/// The payload of a filter's file: where it starts follows from the lengths in its prefix (FORMAT.md).
pub(super) fn cells(file: &[u8]) -> &[u8] {
    let length = |at: usize| {
        let bytes = file[at..at + 8].iter().rev();
        bytes.fold(0usize, |number, byte| number << 8 | usize::from(*byte))
    };
    let (tree, payload) = (length(56), length(64));
    let start = (80 + tree + 4).next_multiple_of(64);
    &file[start..start + payload]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(slug: &str, form: &str) -> Subject {
        Subject::new(slug, form, &[], 1).expect(slug)
    }

    fn shown(outcome: Result<Outcome>) -> bool {
        outcome.expect("no error").works()
    }

    #[test]
    fn weights_make_a_difference_where_they_are_used() {
        assert!(shown(popularity(&subject("multi-class", "standard"))));
        assert!(!shown(popularity(&subject("bloom", "standard"))));
    }

    #[test]
    fn forgetting_is_neither_growing_nor_removing() {
        let stable = subject("stable", "standard");
        assert!(!shown(scalability(&stable)));
        assert!(!shown(deletion(&stable)));
    }
}
