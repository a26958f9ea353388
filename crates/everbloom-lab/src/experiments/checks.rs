//! Capabilities shown by use: each check builds filters of a form, uses them through their faces, and
//! says whether the capability is there and how that was seen.

use everbloom::error::Result;
use everbloom::filter::{Detail, Filter, Record, Value};
use everbloom::hash::Generator;
use everbloom::theory::tail;
use everbloom::variant::{KeyKind, ValueKind};

use super::subject::{PLANNED, RATE, Subject, missed, passes};
use crate::bound::ALPHA;

/// What a check saw.
pub struct Outcome {
    pub shown: bool,
    pub how: String,
}

/// The capability was seen.
pub fn yes(how: impl Into<String>) -> Result<Option<Outcome>> {
    Ok(Some(Outcome { shown: true, how: how.into() }))
}

/// The capability was seen to be missing.
pub fn no(how: impl Into<String>) -> Result<Option<Outcome>> {
    Ok(Some(Outcome { shown: false, how: how.into() }))
}

/// How much more than planned a filter is to hold to be called scalable. Eight times would do for
/// hashes; the false-positive-free zone of EGH fades only beyond n·ln|U|.
const GROWTH: u64 = 64;

/// The rate of what grows by further filters may grow with their number, as S3 says of several; that of
/// a fixed filter goes to 1.
const TOLERATED: f64 = 10.0;

/// Strangers asked.
const QUERIES: u64 = 2000;

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values[values.len() / 2]
}

/// Counting: keys that came three times are told from those that came once.
pub fn counting(subject: &Subject) -> Result<Option<Outcome>> {
    // At a third of the load, so that counters are rarely shared; the first 20 keys come thrice.
    let keys = subject.members(PLANNED / 3);
    let once = keys.records();
    let thrice: Vec<Record<'_>> = [&once[..], &once[..20], &once[..20]].concat();
    let [single, triple] = [subject.build(&once)?, subject.build(&thrice)?];
    if let Some(count) = triple.as_count() {
        let counts = |records: &[Record<'_>]| {
            median(records.iter().map(|record| count.count(record.key)).collect())
        };
        let (three, one) = (counts(&once[..20]), counts(&once[20..]));
        let how = format!("medians: {one} for keys that came once, {three} for thrice");
        return if (one, three) == (1, 3) { yes(how) } else { no(how) };
    }
    for record in &once[..20] {
        let [one, three] = [single.query(*record)?, triple.query(*record)?];
        if one.detail != three.detail || matches!(three.detail, Detail::Count(_)) {
            return yes("the answer tells three copies from one");
        }
    }
    no("three copies answer as one does")
}

/// Grouping: the group a key was inserted with comes back.
pub fn grouping(subject: &Subject) -> Result<Option<Outcome>> {
    let keys = subject.members(PLANNED);
    let records = keys.records();
    let filter = subject.build(&records)?;
    if !subject.labels() {
        for record in &records {
            if matches!(filter.query(*record)?.detail, Detail::Labels(_) | Detail::Value(_)) {
                return yes("answers carry labels");
            }
        }
        return no("no label goes in, none comes out");
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
    if right * 2 >= PLANNED { yes(how) } else { no(how) }
}

/// Deletion: removed keys are as strangers, all others stay.
pub fn deletion(subject: &Subject) -> Result<Option<Outcome>> {
    let keys = subject.members(PLANNED);
    let records = keys.records();
    let mut filter = subject.build(&records)?;
    if filter.as_remove().is_none() {
        return no("no key can be taken out");
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
    let strangers = subject.strangers(QUERIES);
    let rate = 1.0 - missed(&*filter, &strangers.records())?.len() as f64 / QUERIES as f64;
    // A rate too low to be measured here is no higher than planned.
    let (_, most) = tail::binomial_bounds(removed.len() as u64, rate.max(RATE), ALPHA);
    let how = format!(
        "{} of {} removed, of which {left} pass as strangers do; {lost} others lost",
        removed.len(),
        leaving.len()
    );
    let done = removed.len() * 10 >= leaving.len() * 9 && left as u64 <= most;
    if done && lost == 0 { yes(how) } else { no(how) }
}

/// Scalability: many times the planned keys, in more groups or in the same, find room; none is lost.
pub fn scalability(subject: &Subject) -> Result<Option<Outcome>> {
    let [more, same] =
        [subject.in_more_groups(GROWTH * PLANNED), subject.members(GROWTH * PLANNED)];
    let grown = overfilled(subject, &more.records())?;
    if grown.shown || !subject.labels() {
        return Ok(Some(grown));
    }
    overfilled(subject, &same.records()).map(Some)
}

fn overfilled(subject: &Subject, records: &[Record<'_>]) -> Result<Outcome> {
    let mut filter = subject.build(&records[..PLANNED as usize])?;
    for (i, record) in records.iter().enumerate().skip(PLANNED as usize) {
        let Some(insert) = filter.as_insert() else {
            return Ok(Outcome { shown: false, how: "takes no further keys".into() });
        };
        if insert.insert(*record).is_err() {
            let how = format!("full after {i} keys, planned for {PLANNED}");
            return Ok(Outcome { shown: false, how });
        }
    }
    let strangers = subject.strangers(QUERIES);
    let denied = missed(&*filter, &strangers.records())?.len() as u64;
    let rate = (QUERIES - denied) as f64 / QUERIES as f64;
    let lost = missed(&*filter, records)?.len();
    let how = format!("rate {rate} with {GROWTH} times the keys planned at {RATE}, {lost} lost");
    Ok(Outcome { shown: rate <= TOLERATED * RATE && lost == 0, how })
}

/// False negatives: a member, or for approximate membership a key near one, that is denied. With
/// `misuse`, keys are removed that were never inserted.
pub fn false_negatives(subject: &Subject, misuse: bool) -> Result<Option<Outcome>> {
    let keys = subject.members(5 * PLANNED);
    let records = keys.records();
    let members = &records[..PLANNED as usize];
    let mut filter = subject.build(members)?;
    if misuse {
        return after_misuse(subject, filter, members);
    }
    if let Some(first) = missed(&*filter, members)?.first() {
        return yes(format!("member {first} of {PLANNED} is denied"));
    }
    if subject.variant.input.key == KeyKind::Vector {
        return near_members(&*filter, members);
    }
    // Half of them are removed again, the rest overfilled: what was promised of the others holds.
    let mut held = members;
    if filter.as_remove().is_some() {
        let (leaving, staying) = members.split_at(members.len() / 2);
        for record in leaving {
            // A refused removal changes nothing.
            let _refused = filter.as_remove().is_some_and(|face| face.remove(*record).is_err());
        }
        held = staying;
    }
    let mut inserted = 0;
    for record in &records[PLANNED as usize..] {
        let Some(insert) = filter.as_insert() else { break };
        if insert.insert(*record).is_err() {
            break;
        }
        inserted += 1;
    }
    if let Some(first) = missed(&*filter, held)?.first() {
        return yes(format!("member {first} is denied after {inserted} more keys"));
    }
    no(format!("none among {} members, with {inserted} more keys", held.len()))
}

fn after_misuse(
    subject: &Subject,
    mut filter: Box<dyn Filter>,
    members: &[Record<'_>],
) -> Result<Option<Outcome>> {
    let strangers = subject.strangers(10 * QUERIES);
    let mut removed = 0;
    for stranger in strangers.records() {
        // Only strangers that pass are not refused.
        removed += u64::from(filter.as_remove().is_some_and(|f| f.remove(stranger).is_ok()));
    }
    match missed(&*filter, members)?.first() {
        Some(first) => {
            yes(format!("member {first} is denied once {removed} strangers are removed"))
        }
        None => no(format!("none, even with {removed} strangers removed")),
    }
}

/// Keys at the distance that still counts as near: 5 % of the coordinates changed, the default.
fn near_members(filter: &dyn Filter, members: &[Record<'_>]) -> Result<Option<Outcome>> {
    let mut places = Generator::new(filter.head().hasher.seed());
    let (mut denied, mut asked) = (0, 0);
    for record in members.iter().cycle().take(5 * members.len()) {
        let mut near = record.key.to_vec();
        // A coordinate that is drawn twice is as it was: then the key is nearer still.
        for _ in 0..near.len() / 20 {
            near[places.below(record.key.len() as u64) as usize] ^= 1;
        }
        asked += 1;
        denied += u32::from(!passes(filter, Record::key(&near))?);
    }
    let how = format!("{denied} of {asked} keys near a member are denied, no member itself");
    if denied > 0 { yes(how) } else { no(how) }
}

/// Decay: as time or keys pass, old members go while the newest stay.
pub fn decay(subject: &Subject) -> Result<Option<Outcome>> {
    let keys = subject.members(20 * PLANNED);
    let records = keys.records();
    let (old, later) = records.split_at(PLANNED as usize);
    let mut filter = subject.build(old)?;
    let before = missed(&*filter, old)?.len();
    if filter.as_insert().is_none() {
        let Some(age) = filter.as_age() else { return no("neither time nor keys pass") };
        age.age(PLANNED);
        let after = missed(&*filter, old)?.len();
        let how = format!("{before} of {PLANNED} members gone, after {PLANNED} ticks {after}");
        return if after > before { yes(how) } else { no(how) };
    }
    let mut taken = 0;
    for record in later {
        if filter.as_insert().is_none_or(|insert| insert.insert(*record).is_err()) {
            break;
        }
        taken += 1;
    }
    let gone = missed(&*filter, old)?.len();
    let newest = &later[..taken][taken.saturating_sub(20)..];
    let fresh = newest.len() - missed(&*filter, newest)?.len();
    let how = format!("{gone} of {PLANNED} gone after {taken} more, {fresh} of the last 20 there");
    if gone * 2 >= old.len() && fresh >= 15 { yes(how) } else { no(how) }
}

/// Popularity: strangers of different weight pass at different rates.
pub fn popularity(subject: &Subject) -> Result<Option<Outcome>> {
    if subject.variant.input.value != ValueKind::Weight {
        return no("keys have no weight: all strangers pass at one rate");
    }
    let keys = subject.members(PLANNED);
    let filter = subject.build(&keys.records())?;
    let strangers = subject.strangers(10 * QUERIES);
    let rate = |weight: f64| -> Result<f64> {
        let mut records = strangers.records();
        for record in &mut records {
            record.value = Some(Value::Weight(weight));
        }
        Ok((records.len() - missed(&*filter, &records)?.len()) as f64 / records.len() as f64)
    };
    let (rare, common) = (rate(0.01)?, rate(0.9)?);
    let how = format!("rate {rare} at weight 0.01, {common} at 0.9");
    if rare.max(common) > 2.0 * rare.min(common) { yes(how) } else { no(how) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(slug: &str, form: &str) -> Subject {
        Subject::new(slug, form, &[], 1).expect(slug)
    }

    fn shown(outcome: Result<Option<Outcome>>) -> bool {
        outcome.expect("no error").expect("an outcome").shown
    }

    #[test]
    fn weights_make_a_difference_where_they_are_used() {
        assert!(shown(popularity(&subject("multi-class", "standard"))));
        assert!(!shown(popularity(&subject("bloom", "standard"))));
    }

    #[test]
    fn misuse_costs_members_of_counting_filters() {
        let counting = subject("counting", "standard");
        assert!(!shown(false_negatives(&counting, false)));
        assert!(shown(false_negatives(&counting, true)));
    }

    #[test]
    fn forgetting_is_neither_growing_nor_removing() {
        let stable = subject("stable", "standard");
        assert!(shown(decay(&stable)));
        assert!(!shown(scalability(&stable)));
        assert!(!shown(deletion(&stable)));
    }
}
