//! Filters that forget or grow: streams in which keys come again, through swaps and steps of growth. The filter is saved
//! after every step and opened again, and compared with an exact model of what its variant promises.

mod support;

use std::collections::BTreeMap;

use everbloom::internals::file as codec;
use everbloom::internals::file::Opener;
use everbloom::internals::filter::{FalseNegatives, Filter, Form, MergeLaw, Seen, Verdict};
use everbloom::internals::hash::Generator;
use everbloom::internals::sample::{self, Sample, Style};
use everbloom::internals::variant::Variant;
use everbloom::{Goal, Record, Value};

/// Which keys of a stream a filter planned for n items surely finds.
#[derive(Clone, Copy, Debug)]
enum Promise {
    /// All that were inserted and not removed.
    Members,
    /// The last arrivals, so many.
    Arrivals(u64),
    /// The last distinct keys, so many.
    Distinct(u64),
    /// Keys that were new in this epoch or one of the `past` before it. An epoch ends after `length` of them.
    New { length: u64, past: u64 },
    /// Keys whose own lifetime has not ended.
    Living,
    /// Keys with a decayed weight above this one, half of which is left after `half_life`.
    Heavy { least: f64, half_life: f64 },
    /// None: what is inside may be lost at any time.
    None,
}

const LEAST: f64 = 0.1;
const HALF_LIFE: f64 = 20.0;

/// What the form of a variant promises when it is planned for `n` items.
fn promise(variant: &Variant, form: &Form, n: u64) -> Promise {
    match (variant.slug, form.name) {
        ("active-active" | "double-buffer", _) => Promise::Distinct(n),
        ("decaying", _) | ("windowed", "slices") => Promise::Arrivals(n),
        ("stable", _) | ("temporal-counting", "keep") => Promise::Arrivals(1),
        ("forgetful", _) => Promise::New { length: n, past: 3 },
        ("temporal-counting" | "windowed", _) => Promise::Living,
        ("time-decaying", _) => Promise::Heavy { least: LEAST, half_life: HALF_LIFE },
        (slug, _) if variant.family == "decaying" => panic!("{slug}: what does it promise?"),
        _ if matches!(form.false_negatives, FalseNegatives::Possible(_)) => Promise::None,
        _ => Promise::Members,
    }
}

/// One insertion that the filter took.
struct Arrival {
    key: u64,
    time: u64,
    life: u64,
    /// The epoch in which it was new, if it was.
    born: Option<u64>,
}

/// What came so far.
#[derive(Default)]
struct Model {
    arrivals: Vec<Arrival>,
    /// How often each key is inside.
    held: BTreeMap<u64, u64>,
    epoch: u64,
    /// Keys that were new in this epoch.
    new: u64,
}

impl Model {
    fn arrive(&mut self, promise: Promise, (key, time, life): (u64, u64, u64), seen: Seen) {
        let born = (seen == Seen::New).then_some(self.epoch);
        self.arrivals.push(Arrival { key, time, life, born });
        *self.held.entry(key).or_default() += 1;
        self.new += u64::from(seen == Seen::New);
        if matches!(promise, Promise::New { length, .. } if self.new >= length) {
            (self.epoch, self.new) = (self.epoch + 1, 0);
        }
    }

    /// The keys that must be found.
    fn promised(&self, promise: Promise) -> Vec<u64> {
        let now = self.arrivals.last().map_or(0, |last| last.time);
        let latest = || self.arrivals.iter().rev();
        let keys = |some: &mut dyn Iterator<Item = &Arrival>| some.map(|a| a.key).collect();
        match promise {
            Promise::None => Vec::new(),
            Promise::Members => {
                self.held.iter().filter(|(_, held)| **held > 0).map(|(key, _)| *key).collect()
            }
            Promise::Arrivals(n) => keys(&mut latest().take(n as usize)),
            Promise::Distinct(n) => {
                let mut distinct = Vec::new();
                for arrival in latest() {
                    if distinct.len() as u64 == n {
                        break;
                    }
                    if !distinct.contains(&arrival.key) {
                        distinct.push(arrival.key);
                    }
                }
                distinct
            }
            Promise::New { past, .. } => {
                let recent = |a: &&Arrival| a.born.is_some_and(|born| born + past >= self.epoch);
                keys(&mut latest().filter(recent))
            }
            Promise::Living => keys(&mut latest().filter(|a| a.time + a.life > now)),
            Promise::Heavy { least, half_life } => {
                let mut weights: BTreeMap<u64, f64> = BTreeMap::new();
                for arrival in latest() {
                    let fading = ((now - arrival.time) as f64 / half_life).exp2();
                    *weights.entry(arrival.key).or_default() += arrival.life as f64 / fading;
                }
                weights.retain(|_, weight| *weight > least * (1.0 + 1e-9));
                weights.into_keys().collect()
            }
        }
    }
}

/// The order in which keys come.
#[derive(Clone, Copy, Debug)]
enum Order {
    /// Every key is new.
    New,
    /// Every other one came lately, or long ago.
    Mixed,
    /// A few keys come again and again before the next ones: what warms up fills, too.
    Rounds,
}

impl Order {
    /// The key at `step` of a stream for filters of `n` items.
    fn key(self, step: u64, n: u64, random: &mut Generator) -> u64 {
        match self {
            Order::New => step,
            Order::Mixed => step / 2 - random.below(step.min(6 * n) / 2 + 1).min(step / 2),
            Order::Rounds => step / (6 * n) * n + step % (2 * n - 1).max(1),
        }
    }
}

/// A filter of one form in the middle of a stream.
struct Stream<'a> {
    what: String,
    promise: Promise,
    records: &'a [Record<'a>],
    /// Saved and opened after every step.
    filter: Box<dyn Filter>,
    /// The same filter, never saved.
    kept: Box<dyn Filter>,
    model: Model,
}

impl<'a> Stream<'a> {
    /// The record of a key that comes at `time`.
    fn record(&self, key: u64, time: u64) -> (Record<'a>, u64) {
        let record = self.records[key as usize];
        let life = 1 + (key + time) % 7;
        match self.promise {
            Promise::Living | Promise::Heavy { .. } => {
                (record.with(Value::Count(life)).at(time), life)
            }
            _ => (record, life),
        }
    }

    fn insert(&mut self, key: u64, time: u64) {
        let (record, life) = self.record(key, time);
        let [Some(taken), Some(kept)] = [&mut self.filter, &mut self.kept]
            .map(|filter| filter.as_insert().map(|i| i.insert(record)))
        else {
            return;
        };
        assert_eq!(taken.is_ok(), kept.is_ok(), "{}", self.what);
        if let Ok(seen) = taken {
            self.model.arrive(self.promise, (key, time, life), seen);
        }
    }

    /// Removes a key that is inside, if the form can.
    fn remove(&mut self, key: u64) {
        let held = self.model.held.get(&key).copied().unwrap_or(0);
        if held == 0 || !matches!(self.promise, Promise::Members) {
            return;
        }
        let record = self.records[key as usize];
        let mut removed = false;
        for filter in [&mut self.filter, &mut self.kept] {
            removed = matches!(filter.as_remove().map(|r| r.remove(record)), Some(Ok(())));
        }
        if removed {
            // A set, or a map whose values can be set, forgets a key whole, however often it was put.
            let law = self.filter.as_merge().map(|merge| merge.law());
            let whole = self.filter.as_assign().is_some() || law == Some(MergeLaw::Set);
            self.model.held.insert(key, if whole { 0 } else { held - 1 });
        }
    }

    /// Saves and opens the filter, which must be the one that was never saved and keep its promise.
    fn check(&mut self, step: u64) {
        let what = format!("{}, step {step}", self.what);
        let bytes = codec::to_bytes(&*self.filter);
        self.filter = Opener::new().decode(&bytes).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert!(codec::to_bytes(&*self.filter) == bytes, "{what}: opened, it is another filter");
        assert!(codec::to_bytes(&*self.kept) == bytes, "{what}: another than the one never saved");
        for key in self.model.promised(self.promise) {
            let answer = self.filter.query(self.records[key as usize]).expect(&what);
            assert_ne!(answer.verdict, Verdict::Absent, "{what}: key {key} is lost");
        }
    }
}

/// Plays a stream of `steps` keys; three of four filters that can remove keys do.
fn play(variant: &'static Variant, form: &'static Form, order: Order, (n, fpr): (u64, f64)) {
    let steps = 24 * n + 40;
    let what = format!("{} ({}), {n} items at {fpr}, {order:?}", variant.slug, form.name);
    let promise = promise(variant, form, n);
    let goal = Goal::new(n, fpr).set("form", form.name);
    let goal = match promise {
        Promise::Heavy { least, half_life } => goal.set("least", least).set("half-life", half_life),
        _ => goal,
    };
    let sample = Sample::new(&variant.input, Style::Short, 0..steps);
    let records = sample.records();
    let filter = sample::build(variant, &goal, &[]).expect(&what);
    let kept = filter.boxed_clone();
    let model = Model::default();
    let mut stream = Stream { what, promise, records: &records, filter, kept, model };
    let (mut random, mut time) = (Generator::new(n), 0);
    for step in 0..steps {
        time += random.below(3);
        stream.insert(order.key(step, n, &mut random), time);
        if step % 3 == 2 {
            stream.remove(random.below(step));
        }
        stream.check(step);
    }
    for ticks in [1, 1, 3, 100, 1 << 40] {
        let age = |filter: &mut Box<dyn Filter>| filter.as_age().map(|age| age.age(ticks));
        if age(&mut stream.filter).and(age(&mut stream.kept)).is_some() {
            stream.promise = Promise::None;
            stream.check(steps);
        }
    }
}

#[test]
fn what_is_promised_holds_at_every_step_of_a_stream() {
    let streaming = support::forms().filter(|(variant, _)| {
        let family = ["decaying", "growing"].contains(&variant.family);
        family || variant.needs.iter().any(|need| ["decay", "grow"].contains(need))
    });
    let orders = [Order::New, Order::Mixed, Order::Rounds];
    let goals = [(2, 0.001), (13, 0.01), (40, 0.2)];
    let cases = streaming.flat_map(|(variant, form)| {
        let of = move |order| goals.map(move |goal| (variant, form, order, goal));
        orders.into_iter().flat_map(of)
    });
    support::on_all_cores(cases, |(variant, form, order, goal)| {
        play(variant, form, order, goal);
    });
}

/// The stream that was lost: keys that come again fill the filter that warms up, and the next swap forgets them all but
/// one.
#[test]
fn repetitions_do_not_make_double_buffering_forget() {
    let mut recent = everbloom::decaying::DoubleBuffer::with_rate(1000, 0.001).expect("a filter");
    let keys: Vec<u64> = (0..1999).chain(0..1999).chain([1999, 2000]).collect();
    for key in &keys {
        recent.insert(key);
        let bytes = everbloom::to_bytes(&recent);
        assert!(Opener::new().decode(&bytes).is_ok(), "after {key}");
    }
    assert!(keys.iter().rev().take(1000).all(|key| recent.contains(key)));
}
