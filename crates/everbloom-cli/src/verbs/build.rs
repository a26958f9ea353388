//! `everbloom build`: keys to a filter file.

use std::path::Path;

use everbloom::choose::{self, Why};
use everbloom::internals::filter::{EntryKind, FactValue, Facts, Filter, Time};
use everbloom::internals::hash::{DEFAULT_SEED, Hasher};
use everbloom::internals::plan::Goal;
use everbloom::internals::variant::Variant;
use everbloom::internals::variant::{Inputs, Source};
use everbloom::membership::ancestors::{Hierarchy, Nodes};
use everbloom::sketches::HyperLogLog;
use everbloom::{Error, Kind};
use everbloom_records::{Case, Grammar, Hashed, Lines, Order};
use everbloom_report::number::{bytes_text, rate_text};

use super::selective::Selected;
use super::{catalog, foreign, mergeable, opened};
use crate::args::{self, Build, Text};
use crate::input::{self, Passes, secret_key, some_keys};
use crate::output::{integer_text, print_json};
use crate::report::unable::unable;
use crate::report::{json, rate};
use crate::talk::{say, tell};
use crate::target::Target;
use crate::{Outcome, Result, Stop, reading};

pub fn run(args: &Build) -> Result<Outcome> {
    if let Some(format) = args.format {
        return foreign::build(format, args);
    }
    let (variant, mut goal) = match &args.like {
        Some(path) => like(path, args)?,
        None => {
            let slug = args.kind.as_deref().unwrap_or("bloom");
            (find(slug)?, goal(args)?)
        }
    };
    variant.check(&goal)?;
    if args.mergeable {
        mergeable::check(variant, &goal)?;
    }
    let beside = [args.negatives.as_ref(), args.keyed.secret.key_file.as_ref()];
    let inputs = args.keys.iter().chain(beside.into_iter().flatten());
    let how = (&args.replacing, &args.machine);
    let target = Target::filter(&args.output, variant.has_pages(), how, inputs)?;

    let text = &args.keyed.text;
    let key_type = Some(reading::key_type(&goal.reading, text.key_type)?);
    let text = Text { key_type, ..text.clone() };
    let case = if goal.reading.fold_case { Case::Folded } else { Case::Kept };
    let mut grammar = Grammar { case, ..input::grammar(&text)?.with_input(&variant.input) };
    reading::timed(&variant.facts, &text)?;
    if args.priors {
        grammar = reading::with_priors(grammar, &variant.facts)?;
        let lines = input::lines_of(&args.keys, grammar, Passes::Several)?;
        let mut selected = Selected::new(lines, variant, &mut goal, args.cost)?;
        return finish(
            args,
            &target,
            variant,
            goal,
            &mut Inputs { records: &mut selected, negatives: None },
        );
    }
    let count_first = goal.items.is_none() && (goal.bits.is_none() || goal.fpr.is_none());
    let unmeasured = is_unmeasured(variant, &goal);
    let once = streams(variant) && !count_first && !unmeasured && takes_all(variant, &goal);
    let mut lines =
        input::lines_of(&args.keys, grammar, if once { Passes::Once } else { Passes::Several })?;
    let hierarchy = Hierarchy::named(&goal.reading.ancestors);
    if count_first {
        goal.items = Some(match hierarchy {
            Some(hierarchy) => some_keys(count(&mut Nodes::new(&mut lines, hierarchy))?)?,
            None => some_keys(items_in(&mut lines, variant)?)?,
        });
    }
    if unmeasured {
        goal = goal.set(RECORD_BYTES, mean_bytes(&mut lines)?);
    }
    let mut nodes;
    let records: &mut dyn Source = match hierarchy {
        Some(hierarchy) => {
            nodes = Nodes::new(&mut lines, hierarchy);
            &mut nodes
        }
        None => &mut lines,
    };
    let mut negatives = match &args.negatives {
        Some(path) => Some(input::lines(path, grammar, Passes::Several)?),
        None => None,
    };
    let negatives = negatives.as_mut().map(|n| n as &mut dyn Source);
    finish(args, &target, variant, goal, &mut Inputs { records, negatives })
}

/// Builds, saves and reports.
fn finish(
    args: &Build,
    target: &Target,
    variant: &'static Variant,
    goal: Goal,
    inputs: &mut Inputs<'_>,
) -> Result<Outcome> {
    useful(variant, &goal)?;
    let goal = if args.mergeable { mergeable::rounded(variant, goal)? } else { goal };
    let (filter, refused) = match variant.build(&goal, inputs) {
        Err(e) if e.kind() == Kind::CapacityExceeded && streams(variant) => {
            going_on(variant, &goal, inputs.records)?
        }
        built => (built?, 0),
    };
    target.save(&*filter)?;
    report(args, &*filter, refused)?;
    if refused == 0 {
        return Ok(Outcome::Some);
    }
    tell!("everbloom: {} keys were refused and are not in the filter", integer_text(refused));
    Ok(Outcome::None)
}

fn streams(variant: &Variant) -> bool {
    variant.build == everbloom::internals::filter::Build::Streaming
}

/// Refused keys that are named; all are counted.
const NAMED: u64 = 10;

/// Builds from the keys that are not refused; how many were.
fn going_on(
    variant: &'static Variant,
    goal: &Goal,
    records: &mut dyn Source,
) -> Result<(Box<dyn Filter>, u64)> {
    let mut filter = variant.build_from(goal, &[])?;
    let mut refused = 0;
    records.batches(&mut |batch| {
        let (Some(insert), mut rest) = (filter.as_insert(), batch) else { return Ok(()) };
        while let Err((i, e)) = insert.insert_all(rest) {
            if e.kind() != Kind::CapacityExceeded {
                return Err(e);
            }
            refused += 1;
            if refused <= NAMED {
                let key = String::from_utf8_lossy(rest[i].key);
                tell!("everbloom: refused {key:?}: {}", e.render(crate::flag));
            }
            rest = &rest[i + 1..];
        }
        Ok(())
    })?;
    Ok((filter, refused))
}

/// Whether a variant takes whatever comes: then a pipe need not be kept for another pass.
fn takes_all(variant: &'static Variant, goal: &Goal) -> bool {
    let trial = Goal { items: Some(1), bits: None, ..goal.clone() };
    variant.build_from(&trial, &[]).is_ok_and(|mut filter| filter.as_bulk_mut().is_some())
}

/// The variant and the goal of filters that merge with the one at `path`.
fn like(path: &Path, args: &Build) -> Result<(&'static Variant, Goal)> {
    let model = opened(path, &args.keyed.secret.key_file)?;
    let (facts, head) = (model.facts(), model.head());
    let variant = find(facts.slug)?;
    let typed = reading::remembered(&args.keyed.text, args.ancestors, case(args));
    if typed != Default::default() && typed != head.reading {
        return Err(Stop::Error(format!(
            "--like {}: its keys were read differently; omit --key-type, --ancestors and -i",
            path.display()
        )));
    }
    let mut goal = Goal {
        hasher: head.hasher.clone(),
        reading: head.reading.clone(),
        ..Goal::default().set("form", head.form)
    };
    // Figures of the shape that are parameters, too, such as m and k; a filter that grows was planned for a first part.
    for fact in model.describe() {
        if let ("first", FactValue::Integer(items)) = (fact.name, &fact.value) {
            (goal.items, goal.fpr) = (Some(*items), head.fpr);
        }
        if facts.params.iter().any(|param| param.name == fact.name) {
            goal = goal.set(fact.name, &*fact.value.to_string());
        }
    }
    let refused =
        |e: Error| Stop::from(e.context(format!("cannot build a filter like {}", path.display())));
    let items = goal.items.unwrap_or(head.items.max(1));
    let trial = Goal { items: Some(items), ..goal.clone() };
    let mut trial = variant.build_from(&trial, &[]).map_err(refused)?;
    let merge = trial.as_merge().ok_or_else(|| unable(facts, "merged", "merge"))?;
    merge.merge(&*model).map_err(refused)?;
    Ok((variant, goal))
}

/// The variant that `--kind` names.
pub fn find(slug: &str) -> Result<&'static Variant> {
    catalog::find(slug, &format!("--kind {slug}"))
}

fn goal(args: &Build) -> Result<Goal> {
    let hasher = match secret_key(&args.keyed.secret.key_file)? {
        Some(key) => Hasher::keyed(key),
        None => Hasher::seeded(args.seed.unwrap_or(DEFAULT_SEED)),
    };
    Ok(Goal {
        hasher,
        reading: reading::remembered(&args.keyed.text, args.ancestors, case(args)),
        settings: args.settings.clone(),
        ..args.size.goal()?
    })
}

/// The parameter of variants that keep whole records.
const RECORD_BYTES: &str = "record-bytes";

/// Whether a variant keeps whole records that have to fit the memory, and nothing says how long they are.
fn is_unmeasured(variant: &Variant, goal: &Goal) -> bool {
    let set = goal.settings.iter().any(|(name, _)| name == RECORD_BYTES);
    let keeps = variant.params.iter().any(|param| param.name == RECORD_BYTES);
    goal.bits.is_some() && keeps && !set
}

/// The mean length of the records, rounded up.
fn mean_bytes(records: &mut dyn Source) -> Result<u64> {
    let (mut n, mut bytes) = (0u64, 0u64);
    records.batches(&mut |batch| {
        n += batch.len() as u64;
        bytes += batch.iter().map(|record| record.stored_bytes() as u64).sum::<u64>();
        Ok(())
    })?;
    Ok(bytes.div_ceil(n.max(1)))
}

/// How many items a filter of this variant holds after these lines: their number, or that of the different keys among them
/// where repetitions change nothing and there are many.
fn items_in(lines: &mut Lines, variant: &Variant) -> Result<u64> {
    if variant.meaning != Facts::FILTER.meaning {
        return Ok(lines.count()?);
    }
    // Its error is 0.4 %.
    let (mut sketch, mut all) = (HyperLogLog::with_precision(16)?, 0u64);
    let words = |hashed: &mut Hashed<'_>, words: &mut Vec<u64>| {
        words.clear();
        words.extend(hashed.digests().iter().map(|digest| digest.word(0)));
    };
    lines.each_hashed(&Hasher::default(), Order::Any, words, |words| -> Result<()> {
        sketch.insert_many(words);
        all += words.len() as u64;
        Ok(())
    })?;
    let different = (1.015 * sketch.estimate()).ceil() as u64;
    if different as f64 > 0.95 * all as f64 {
        return Ok(all);
    }
    say!(
        "{} lines, about {} different keys: planned for these",
        integer_text(all),
        integer_text(sketch.count())
    );
    Ok(different)
}

fn case(args: &Build) -> Case {
    if args.ignore_case { Case::Folded } else { Case::Kept }
}

/// Refuses a size at which the filter would let nearly everything pass.
fn useful(variant: &'static Variant, goal: &Goal) -> Result<()> {
    // A size that follows from the rate is never too small.
    let sized = goal.bits.is_some() || !goal.settings.is_empty();
    let rated = goal.fpr.is_none() && sized && variant.kind == EntryKind::Filter;
    let Some(items) = goal.items.filter(|_| rated) else { return Ok(()) };
    let ranking = choose::rank_of(goal, &[], Some(variant.slug))?;
    match ranking.refused.first().map(|refused| &refused.why) {
        Some(Why::Useless { fpr, enough }) => {
            let enough = enough.map(|bits| bytes_text(bits.div_ceil(8)));
            let enough =
                enough.map_or(String::new(), |size| format!("; for 1 % give --memory {size}"));
            Err(Stop::Error(format!(
                "the false-positive rate would be {} with {} items in this memory{enough}",
                rate_text(*fpr),
                integer_text(items)
            )))
        }
        _ => Ok(()),
    }
}

fn count(records: &mut dyn Source) -> Result<u64> {
    let mut n = 0;
    records.batches(&mut |batch| {
        n += batch.len() as u64;
        Ok(())
    })?;
    Ok(n)
}

fn report(args: &args::Build, filter: &dyn Filter, refused: u64) -> Result<Outcome> {
    if args.machine.json {
        let mut info = json::info(filter);
        info["refused"] = refused.into();
        print_json(&info)?;
    }
    let (head, memory, now) = (filter.head(), filter.memory(), filter.now());
    let keys = filter.fewer_keys().map(|keys| keys.round().max(1.0));
    let held = match keys {
        Some(keys) => format!("about {} different keys", integer_text(keys as u64)),
        None => format!("{} items", integer_text(head.items)),
    };
    let (slug, bits) = (filter.facts().slug, memory.total());
    let size = bytes_text(bits.div_ceil(8));
    let mut line = format!("{}: {slug} of {held} in {size}", args.output.display());
    if head.items > 0 {
        line += &format!(", {:.2} bits each", bits as f64 / keys.unwrap_or(head.items as f64));
    }
    if let Some(fpr) = rate::passing(filter) {
        line += &format!(", false positives now {}", rate_text(fpr));
    }
    if let Some(fnr) = now.fnr.filter(|fnr| *fnr > 0.0) {
        line += &format!(", false negatives {}", rate_text(fnr));
    }
    say!("{line}");
    if let Some(planned) = args.size.items.filter(|n| head.items > *n && head.fpr < now.fpr) {
        let target = head.fpr.map_or(String::new(), |p| format!(" instead of {}", rate_text(p)));
        let rate = now.fpr.map_or("its rates".to_owned(), |p| {
            format!("its false-positive rate is {}", rate_text(p))
        });
        say!(
            "everbloom: warning: {} items in a filter planned for {}: {rate}{target}; build with -n {}",
            integer_text(head.items),
            integer_text(planned),
            head.items,
        );
    } else if let Some((target, fpr)) = head.fpr.zip(now.fpr).filter(|_| filter.past_capacity()) {
        // Lifetimes that all begin at one time end at one, too.
        let untimed = filter.facts().input.time != Time::No && !args.keyed.text.time;
        say!(
            "everbloom: warning: its false-positive rate is {} instead of {}{}",
            rate_text(fpr),
            rate_text(target),
            if untimed { ": all keys came at one time; give their times with --time" } else { "" },
        );
    }
    Ok(Outcome::Some)
}
