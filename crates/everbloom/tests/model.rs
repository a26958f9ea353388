//! Model tests: random sequences of operations, every variant beside an exact multiset.

mod support;

use std::collections::BTreeMap;

use everbloom::internals::file as codec;
use everbloom::internals::file::Opener;
use everbloom::internals::filter::{FalseNegatives, Form};
use everbloom::internals::filter::{Filter, MergeLaw, Record, Verdict};
use everbloom::internals::plan::Goal;
use everbloom::internals::sample;
use everbloom::internals::sample::{Sample, Style};
use everbloom::internals::variant::Variant;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// What can be done to a filter; keys are numbers below [`KEYS`].
#[derive(Clone, Debug)]
enum Step {
    Insert(u64),
    /// Removes a key if the model holds it: the promise that removal asks of its caller.
    Remove(u64),
    Merge(Vec<u64>),
    Reload,
}

const KEYS: u64 = 60;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (0..KEYS).prop_map(Step::Insert),
        5 => (0..KEYS).prop_map(Step::Remove),
        1 => prop::collection::vec(0..KEYS, 0..8).prop_map(Step::Merge),
        1 => Just(Step::Reload),
    ];
    prop::collection::vec(step, 0..80)
}

struct World {
    variant: &'static Variant,
    form: &'static Form,
    sample: Sample,
    /// Planning takes longer than all steps together, so the empty filter is decoded instead.
    empty: Vec<u8>,
}

impl World {
    fn empty(&self) -> Box<dyn Filter> {
        Opener::new().decode(&self.empty).expect(self.variant.slug)
    }

    /// Plays the steps. Every key the model holds must be found after each removal, which may hurt
    /// others, and at the end.
    fn play(&self, steps: &[Step]) -> Result<(), TestCaseError> {
        let records: Vec<Record<'_>> = self.sample.records();
        let record = |key: &u64| records[*key as usize];
        let mut filter = self.empty();
        let mut model: BTreeMap<u64, u64> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Insert(key) => {
                    let taken = filter.as_insert().map(|i| i.insert(record(key)));
                    if matches!(taken, Some(Ok(_))) {
                        *model.entry(*key).or_default() += 1;
                    }
                }
                Step::Remove(key) => {
                    let held = model.get(key).copied().unwrap_or(0);
                    if held > 0
                        && let Some(Ok(())) = filter.as_remove().map(|r| r.remove(record(key)))
                    {
                        // A set, or a map whose values can be set, forgets a key whole, however often it was put.
                        let law = filter.as_merge().map(|merge| merge.law());
                        let whole = filter.as_assign().is_some() || law == Some(MergeLaw::Set);
                        model.insert(*key, if whole { 0 } else { held - 1 });
                        self.compare(&*filter, &model, &records)?;
                    }
                }
                Step::Merge(keys) => {
                    let mut other = self.empty();
                    for key in keys {
                        let _ = other.as_insert().map(|i| i.insert(record(key)));
                    }
                    if let Some(Ok(())) = filter.as_merge().map(|m| m.merge(&*other)) {
                        keys.iter().for_each(|key| *model.entry(*key).or_default() += 1);
                    }
                }
                Step::Reload => {
                    let bytes = codec::to_bytes(&*filter);
                    let again = Opener::new().decode(&bytes);
                    filter = again.map_err(|e| TestCaseError::fail(e.to_string()))?;
                    prop_assert_eq!(codec::to_bytes(&*filter), bytes);
                }
            }
        }
        self.compare(&*filter, &model, &records)
    }

    fn compare(
        &self,
        filter: &dyn Filter,
        model: &BTreeMap<u64, u64>,
        records: &[Record<'_>],
    ) -> Result<(), TestCaseError> {
        if matches!(self.form.false_negatives, FalseNegatives::Possible(_)) {
            return Ok(());
        }
        for (key, _) in model.iter().filter(|(_, held)| **held > 0) {
            let answer = filter.query(records[*key as usize]);
            let verdict = answer.map_err(|e| TestCaseError::fail(e.to_string()))?.verdict;
            prop_assert_ne!(verdict, Verdict::Absent, "key {} is inside", key);
        }
        Ok(())
    }
}

#[test]
fn no_sequence_of_operations_loses_a_member() {
    support::on_all_cores(support::forms(), |(variant, form)| {
        let cases = if support::thorough(variant.slug) { 10_000 } else { 2_000 };
        let goal = Goal::new(20, 0.2).set("form", form.name);
        let empty = sample::build(variant, &goal, &[]).expect(variant.slug);
        let world = World {
            variant,
            form,
            empty: codec::to_bytes(&*empty),
            sample: Sample::new(&variant.input, Style::Short, 0..KEYS),
        };
        let config = Config { cases, failure_persistence: None, ..Config::default() };
        let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let mut runner = TestRunner::new_with_rng(config, rng);
        let outcome = runner.run(&steps(), |steps| world.play(&steps));
        outcome.unwrap_or_else(|e| panic!("{} ({}): {e}", variant.slug, form.name));
    });
}
