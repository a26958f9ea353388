//! Content-based publish and subscribe with summaries of subscriptions (catalogue A45; S0 §IV-C6 \[92\]–\[94\]).
//!
//! ```text
//!   subscription   topic = chess and price in 20..40      keys {price#2, topic=chess}, {price#3, topic=chess}
//!   event          topic = chess, price = 25, …           all its subsets of up to 3 predicates are tested
//! ```
//!
//! A broker keeps a filter for each neighbor. A subscription is one key: its predicates, **sorted**. A range is the
//! segments that it meets, each a key of its own. A subscription of more than three predicates is indexed by its
//! three rarest, which lets a few more events pass and misses none. An event of A attributes has 41 subsets at A = 6,
//! so that a neighbor without any match gets it with 1 − (1−f)^41: size the filter for ε/41, that is 17.3 bits a
//! subscription at ε = 0.01. The edge decides exactly.

mod experiment;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use everbloom::internals::theory::bloom;
use everbloom::{Bloom, Error, Hasher, Kind, Result};

use super::planes::Planes;

pub use experiment::APPLICATION;

/// What a subscription demands of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// This value.
    Is(String),
    /// A number from the start on, and below the end.
    Within(Range<f64>),
}

/// A value of an event's attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A number.
    Number(f64),
}

/// Predicates by attribute, all of which must hold.
pub type Subscription = BTreeMap<String, Test>;

/// Values by attribute.
pub type Event = BTreeMap<String, Value>;

/// Whether all predicates of the subscription hold.
pub fn matches(subscription: &Subscription, event: &Event) -> bool {
    subscription.iter().all(|(attribute, test)| match (test, event.get(attribute)) {
        (Test::Is(wanted), Some(Value::Text(text))) => text == wanted,
        (Test::Within(range), Some(Value::Number(number))) => range.contains(number),
        _ => false,
    })
}

/// The most predicates of a key, and the most attributes of an event: 41 subsets at 6, 696 at 16.
const MOST: usize = 3;
const MOST_ATTRIBUTES: usize = 16;
/// The most segments that a range may meet.
const MOST_SEGMENTS: i64 = 64;

/// A predicate as text: sorts and tells apart all kinds.
fn equality(attribute: &str, value: &str) -> String {
    format!("{attribute}\u{1}={value}")
}

fn segment(attribute: &str, number: i64) -> String {
    format!("{attribute}\u{1}#{number}")
}

/// Neighbors, and what each has subscribed to.
///
/// ```
/// use everbloom_lab::applications::forwarding::subscriptions::{Broker, Event, Subscription, Test, Value};
/// let mut broker = Broker::new(2, 1000, 17.3, 10.0)?;
/// let chess = Subscription::from([
///     ("topic".to_owned(), Test::Is("chess".to_owned())),
///     ("price".to_owned(), Test::Within(20.0..40.0)),
/// ]);
/// broker.subscribe(1, 7, chess)?;
/// let event = Event::from([
///     ("topic".to_owned(), Value::Text("chess".to_owned())),
///     ("price".to_owned(), Value::Number(25.0)),
/// ]);
/// assert_eq!(broker.forward(&event)?, [1]);
/// assert_eq!(broker.matching(1, &event), [7]);
/// broker.unsubscribe(1, 7)?;
/// assert!(broker.forward(&event)?.is_empty());
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Broker {
    neighbors: Vec<Neighbor>,
    /// How often each predicate occurs: the rarest ones index a long subscription.
    uses: HashMap<String, u64>,
    /// The width of a segment.
    width: f64,
}

struct Neighbor {
    filter: Planes,
    /// How often each key was inserted: one that several subscriptions share is removed with the last.
    keys: HashMap<String, u64>,
    subscriptions: BTreeMap<u64, (Subscription, Vec<String>)>,
    /// Subscriptions without predicates, which want everything.
    all: u64,
}

impl Broker {
    /// A broker with filters of so many bits for each of so many subscriptions of a neighbor; numbers fall into
    /// segments of this width.
    pub fn new(
        neighbors: usize,
        subscriptions: u64,
        bits: f64,
        segment_width: f64,
    ) -> Result<Self> {
        if segment_width.is_nan() || segment_width <= 0.0 {
            return Err(Error::new(Kind::BadParameter, "a segment must be wider than 0"));
        }
        let m = ((subscriptions as f64 * bits).ceil() as u64).max(64);
        let k = bloom::best_k(m, subscriptions.max(1));
        let neighbors = (0..neighbors).map(|_| {
            let filter = Planes::new(m, k, 0, Hasher::default())?;
            Ok(Neighbor { filter, keys: HashMap::new(), subscriptions: BTreeMap::new(), all: 0 })
        });
        Ok(Self {
            neighbors: neighbors.collect::<Result<_>>()?,
            uses: HashMap::new(),
            width: segment_width,
        })
    }

    fn neighbor(&mut self, neighbor: usize) -> Result<&mut Neighbor> {
        let count = self.neighbors.len();
        self.neighbors.get_mut(neighbor).ok_or_else(|| {
            Error::new(
                Kind::BadRecord,
                format!("neighbor {neighbor}: there are {count}, counted from 0"),
            )
        })
    }

    fn segment_of(&self, number: f64) -> i64 {
        (number / self.width).floor() as i64
    }

    /// The predicates of a subscription, each as the texts that an event may have for it.
    fn predicates(&self, subscription: &Subscription) -> Result<Vec<Vec<String>>> {
        let texts = |(attribute, test): (&String, &Test)| match test {
            Test::Is(value) => Ok(vec![equality(attribute, value)]),
            Test::Within(range) => {
                let (first, end) = (self.segment_of(range.start), self.segment_of(range.end));
                let last =
                    if end as f64 * self.width < range.end { end } else { end.saturating_sub(1) };
                if range.is_empty() || last.saturating_sub(first) >= MOST_SEGMENTS {
                    return Err(Error::new(
                        Kind::BadRecord,
                        format!(
                            "the range of {attribute} must not be empty, nor meet more than {MOST_SEGMENTS} segments"
                        ),
                    ));
                }
                Ok((first..=last).map(|number| segment(attribute, number)).collect())
            }
        };
        subscription.iter().map(texts).collect()
    }

    /// The keys of a subscription: up to three of its predicates, the rarest, and of ranges one at most unless
    /// there is nothing else.
    fn keys(&self, subscription: &Subscription) -> Result<Vec<String>> {
        let mut predicates = self.predicates(subscription)?;
        let uses = |texts: &Vec<String>| texts.iter().filter_map(|t| self.uses.get(t)).sum::<u64>();
        predicates.sort_by_key(|texts| (texts.len(), uses(texts)));
        let mut keys: Vec<Vec<&str>> = vec![Vec::new()];
        for (i, texts) in predicates.iter().take(MOST).enumerate() {
            if i > 0 && keys.len() * texts.len() > MOST_SEGMENTS as usize {
                break;
            }
            keys = keys
                .iter()
                .flat_map(|key| texts.iter().map(move |text| [&key[..], &[text.as_str()]].concat()))
                .collect();
        }
        Ok(keys.into_iter().map(joined).collect())
    }

    /// A neighbor subscribes, under a number of its own. Refused where the number is taken.
    pub fn subscribe(
        &mut self,
        neighbor: usize,
        id: u64,
        subscription: Subscription,
    ) -> Result<()> {
        let keys = self.keys(&subscription)?;
        let to = self.neighbor(neighbor)?;
        if to.subscriptions.contains_key(&id) {
            return Err(Error::new(
                Kind::BadRecord,
                format!("there is a subscription {id} already"),
            ));
        }
        if subscription.is_empty() {
            to.all += 1;
        } else {
            for key in &keys {
                let count = to.keys.entry(key.clone()).or_default();
                *count += 1;
                if *count == 1 {
                    to.filter.insert(key);
                }
            }
        }
        for text in keys.iter().flat_map(|key| key.split('\u{2}')) {
            *self.uses.entry(text.to_owned()).or_default() += 1;
        }
        self.neighbor(neighbor)?.subscriptions.insert(id, (subscription, keys));
        Ok(())
    }

    /// Takes a subscription back. Refused where there is none of this number.
    pub fn unsubscribe(&mut self, neighbor: usize, id: u64) -> Result<Subscription> {
        let to = self.neighbor(neighbor)?;
        let (subscription, keys) = to.subscriptions.remove(&id).ok_or_else(|| {
            Error::new(Kind::NotDeletable, format!("there is no subscription {id}"))
        })?;
        if subscription.is_empty() {
            to.all -= 1;
            return Ok(subscription);
        }
        for key in keys {
            let count = to.keys.entry(key.clone()).or_default();
            *count = count.saturating_sub(1);
            if *count == 0 {
                to.keys.remove(&key);
                to.filter.take(&key)?;
            }
        }
        to.filter.publish()?;
        Ok(subscription)
    }

    /// All subsets of up to three of an event's predicates, as keys.
    fn subsets(&self, event: &Event) -> Result<Vec<String>> {
        if event.len() > MOST_ATTRIBUTES {
            let message =
                format!("{} attributes: an event has {MOST_ATTRIBUTES} at most", event.len());
            return Err(Error::new(Kind::BadRecord, message));
        }
        let texts: Vec<String> = event
            .iter()
            .map(|(attribute, value)| match value {
                Value::Text(text) => equality(attribute, text),
                Value::Number(number) => segment(attribute, self.segment_of(*number)),
            })
            .collect();
        let chosen = (1u32..1 << texts.len()).filter(|set| set.count_ones() as usize <= MOST);
        let of = |set: u32| {
            joined(
                (0..texts.len()).filter(|i| set >> i & 1 == 1).map(|i| texts[i].as_str()).collect(),
            )
        };
        Ok(chosen.map(of).collect())
    }

    /// The neighbors that an event goes to.
    pub fn forward(&self, event: &Event) -> Result<Vec<usize>> {
        let keys = self.subsets(event)?;
        let wants = |n: &Neighbor| n.all > 0 || keys.iter().any(|key| n.filter.contains(key));
        Ok((0..self.neighbors.len()).filter(|&i| wants(&self.neighbors[i])).collect())
    }

    /// A neighbor's subscriptions that an event matches: the exact answer of the edge.
    pub fn matching(&self, neighbor: usize, event: &Event) -> Vec<u64> {
        let all = self.neighbors.get(neighbor).into_iter().flat_map(|n| &n.subscriptions);
        all.filter(|(_, (subscription, _))| matches(subscription, event))
            .map(|(id, _)| *id)
            .collect()
    }

    /// The filter of all neighbors' subscriptions, for brokers further away: the OR of theirs.
    pub fn summary(&self) -> Result<Option<Bloom>> {
        let mut filters = self.neighbors.iter().map(|n| n.filter.data());
        let Some(mut summary) = filters.next().cloned() else { return Ok(None) };
        filters.try_for_each(|filter| summary.union(filter))?;
        Ok(Some(summary))
    }
}

/// Predicates in order, as one key.
fn joined(mut predicates: Vec<&str>) -> String {
    predicates.sort_unstable();
    predicates.join("\u{2}")
}

#[cfg(test)]
mod tests {
    use everbloom::internals::hash::Generator;

    use super::experiment::event;
    use super::*;

    #[test]
    fn a45_subsets_and_sizing() {
        let broker = Broker::new(1, 10, 10.0, 1.0).unwrap();
        let mut random = Generator::new(1);
        assert_eq!(broker.subsets(&event(&mut random, 9)).unwrap().len(), 41);
        let f = bloom::fpr_asymptotic(10.0, 1.0, 7.0);
        let vain = |f: f64| 1.0 - (1.0 - f).powi(41);
        assert!((vain(f) - 0.286).abs() < 1e-3 && (vain(1e-4) - 0.0041).abs() < 5e-5);
        assert!((bloom::bits(1.0, 0.01 / 41.0) - 17.3).abs() < 0.05);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let mut broker = Broker::new(1, 10, 10.0, 1.0).unwrap();
        let range = |range| Subscription::from([("x".to_owned(), Test::Within(range))]);
        for bad in [
            2.0..2.0,
            2.0..1.0,
            0.0..1e9,
            f64::NAN..1.0,
            0.0..f64::NEG_INFINITY,
            0.0..f64::INFINITY,
        ] {
            assert!(broker.subscribe(0, 1, range(bad.clone())).is_err(), "{bad:?}");
        }
        assert!(broker.subscribe(1, 1, range(0.0..1.0)).is_err(), "no such neighbor");
        broker.subscribe(0, 1, range(0.0..1.0)).unwrap();
        assert!(broker.subscribe(0, 1, range(0.0..1.0)).is_err(), "the number is taken");
        assert!(broker.unsubscribe(0, 2).is_err());
        let large = (0..17).map(|i| (format!("a{i}"), Value::Number(0.0))).collect();
        assert!(broker.forward(&large).is_err());
        assert!(Broker::new(1, 10, 10.0, 0.0).is_err());
    }

    #[test]
    fn an_empty_subscription_wants_everything() {
        let mut broker = Broker::new(2, 10, 10.0, 1.0).unwrap();
        broker.subscribe(1, 1, Subscription::new()).unwrap();
        assert_eq!(broker.forward(&Event::new()).unwrap(), [1]);
        broker.unsubscribe(1, 1).unwrap();
        assert!(broker.forward(&Event::new()).unwrap().is_empty());
    }
}
