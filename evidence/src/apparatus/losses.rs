//! Members that are lost: by mistake, or by design as time passes.

use everbloom::Result;
use everbloom::internals::filter::KeyKind;
use everbloom::internals::filter::{Filter, Record};
use everbloom::internals::hash::Generator;

use super::checks::{Outcome, QUERIES, not_offered, tried};
use super::subject::{PLANNED, Subject, missed, passes};

/// False negatives: a member, or for approximate membership a key near one, that is denied. With
/// `misuse`, keys are removed that were never inserted.
pub fn false_negatives(subject: &Subject, misuse: bool) -> Result<Outcome> {
    let keys = subject.members(5 * PLANNED);
    let records = keys.records();
    let members = &records[..PLANNED as usize];
    let mut filter = subject.build(members)?;
    if misuse {
        return after_misuse(subject, filter, members);
    }
    if let Some(first) = missed(&*filter, members)?.first() {
        return tried(true, format!("member {first} of {PLANNED} is denied"));
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
        if let Some(first) = missed(&*filter, held)?.first() {
            return tried(
                true,
                format!("member {first} of those that stay is denied once others leave"),
            );
        }
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
        return tried(true, format!("member {first} is denied after {inserted} more keys"));
    }
    tried(false, format!("none among {} members, with {inserted} more keys", held.len()))
}

fn after_misuse(
    subject: &Subject,
    mut filter: Box<dyn Filter>,
    members: &[Record<'_>],
) -> Result<Outcome> {
    let non_members = subject.non_members(10 * QUERIES);
    let mut removed = 0;
    for non_member in non_members.records() {
        // Only non-members that pass are not refused.
        removed += u64::from(filter.as_remove().is_some_and(|f| f.remove(non_member).is_ok()));
    }
    match missed(&*filter, members)?.first() {
        Some(first) => {
            tried(true, format!("member {first} is denied once {removed} non-members are removed"))
        }
        None => tried(false, format!("none, even with {removed} non-members removed")),
    }
}

/// Keys at the distance that still counts as near: 5 % of the coordinates changed, the default.
fn near_members(filter: &dyn Filter, members: &[Record<'_>]) -> Result<Outcome> {
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
    tried(denied > 0, how)
}

/// Decay: as time or keys pass, old members go while the newest stay.
pub fn decay(subject: &Subject) -> Result<Outcome> {
    let keys = subject.members(20 * PLANNED);
    let records = keys.records();
    let (old, later) = records.split_at(PLANNED as usize);
    let mut filter = subject.build(old)?;
    let before = missed(&*filter, old)?.len();
    if filter.as_insert().is_none() {
        let Some(age) = filter.as_age() else { return not_offered("neither time nor keys pass") };
        age.age(PLANNED);
        let after = missed(&*filter, old)?.len();
        let how = format!("{before} of {PLANNED} members gone, after {PLANNED} ticks {after}");
        return tried(after > before, how);
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
    tried(gone * 2 >= old.len() && fresh >= 15, how)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(outcome: Result<Outcome>) -> bool {
        outcome.expect("no error").works()
    }

    #[test]
    fn misuse_costs_members_of_counting_filters() {
        let counting = Subject::new("counting", "standard", &[], 1).expect("counting");
        assert!(!shown(false_negatives(&counting, false)));
        assert!(shown(false_negatives(&counting, true)));
        assert!(!shown(decay(&counting)));
    }

    #[test]
    fn stable_filters_forget() {
        let stable = Subject::new("stable", "standard", &[], 1).expect("stable");
        assert!(shown(false_negatives(&stable, false)));
        assert!(shown(decay(&stable)));
    }
}
