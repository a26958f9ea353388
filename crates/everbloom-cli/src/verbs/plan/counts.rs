//! `--max-count`: how far variants count, tried.

use everbloom::choose;
use everbloom::choose::{Candidate, Ranking, Refusal, Why};
use everbloom::internals::filter::{Ability, Bound};
use everbloom::internals::plan::Goal;
use everbloom::internals::sample::{Sample, Style};
use everbloom::internals::variant::Variant;
use everbloom::{Error, Kind};

use crate::args::Plan;
use crate::output::integer_text;
use crate::{Result, Stop};

/// The parameter of counters that are as wide as they are told.
pub(super) const WIDTH: &str = "width";
/// Copies of a key that may be asked for at most.
const MOST_COPIES: u64 = 10_000;
/// Copies that are tried at least.
pub(super) const TRIED: u64 = 1_100;

/// How far variants count, tried with as many copies of one key.
pub(super) struct Counts {
    pub(super) most: u64,
    /// By slug: the width that was set for it, and the count at which it is stuck or refuses; none where it was
    /// not reached.
    found: Vec<(&'static Variant, Option<u64>, Option<u64>)>,
}

impl Counts {
    /// What `--max-count` asks for.
    pub(super) fn of(args: &Plan, needs: &[&str]) -> Result<Option<Self>> {
        let Some(most) = args.max_count else { return Ok(None) };
        if !needs.contains(&"count") {
            return Err(Stop::Error("--max-count: add --need count".to_owned()));
        }
        if most > MOST_COPIES {
            let most = integer_text(MOST_COPIES);
            return Err(Stop::Error(format!("--max-count: the maximum is {most}")));
        }
        let named = |v: &&Variant| args.kind.as_deref().is_none_or(|slug| slug == v.slug);
        let try_one = |v: &'static Variant| {
            let limit = limit(v, None, most.max(TRIED));
            let short = limit.is_some_and(|limit| limit <= most);
            let wider = short && v.params.iter().any(|p| p.name == WIDTH);
            // At its maximum a counter is stuck, so that one more must fit.
            let width = wider.then_some((u64::BITS - (most + 1).leading_zeros()).into());
            (v, width, if wider { self::limit(v, width, most.max(TRIED)) } else { limit })
        };
        let variants = choose::serving(needs)?.into_iter().filter(named);
        Ok(Some(Self { most, found: variants.map(try_one).collect() }))
    }

    /// The ranking of those that count as far as asked for.
    pub(super) fn rank(&self, goal: &Goal, needs: &[&str]) -> Result<Ranking> {
        let mut all: Option<Ranking> = None;
        for (variant, width, limit) in &self.found {
            let goal = width.map_or(goal.clone(), |width| goal.clone().set(WIDTH, width));
            let mut one = choose::rank_of(&goal, needs, Some(variant.slug))?;
            if let Some(limit) = limit.filter(|limit| *limit <= self.most) {
                let why = format!("counts to {}", integer_text(limit));
                let why = Why::Refused(Error::new(Kind::Unsupported, why));
                one.candidates.clear();
                one.refused = vec![Refusal { variant, why }];
            }
            match &mut all {
                None => all = Some(one),
                Some(all) => {
                    all.candidates.append(&mut one.candidates);
                    all.open_ended.append(&mut one.open_ended);
                    all.refused.append(&mut one.refused);
                }
            }
        }
        let mut all = all.ok_or_else(|| Stop::Error("no variant meets all needs".to_owned()))?;
        all.sort();
        Ok(all)
    }

    /// The count at which a candidate is stuck, if it was reached.
    pub(super) fn limit(&self, c: &Candidate) -> Option<u64> {
        self.found.iter().find(|(v, ..)| v.slug == c.variant.slug).and_then(|(.., limit)| *limit)
    }
}

/// How many copies of one key a variant counts before its counter is stuck or it refuses one; none where that
/// does not happen within `most`.
fn limit(variant: &'static Variant, width: Option<u64>, most: u64) -> Option<u64> {
    let goal = Goal::new(1000, 0.01);
    let goal = width.map_or(goal.clone(), |width| goal.set(WIDTH, width));
    let form = variant.forms.iter().find(|form| form.abilities.contains(&Ability::Count))?;
    let mut filter = variant.build_from(&goal.set("form", form.name), &[]).ok()?;
    let sample = Sample::new(&variant.input, Style::Short, 0..1);
    let record = sample.records()[0];
    for copies in 0..most {
        if filter.as_insert()?.insert(record).is_err() {
            return Some(copies);
        }
        if filter.as_count()?.count(record.key).bound == Bound::Saturated {
            return Some(copies + 1);
        }
    }
    None
}
