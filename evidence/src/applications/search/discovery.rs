//! Finding services by their features (catalogue A49; S0 §IV-F \[121\]).
//!
//! ```text
//!   query {color, duplex, 20 pages/min} ──▶ OR of each category: no, all its services are passed over
//!                                       ──▶ counting filter of each service: all q features, a candidate
//!                                       ──▶ its features themselves: exact
//! ```
//!
//! Features are text; quantities become text by the power of two they lie in, so that a query for one is a query for a
//! word. Publishing inserts a service's features into a counting filter of its own, withdrawing takes them out, at
//! once. Of N services N·f^q are candidates wrongly: 240 of 10,000 for one feature at 8 counters a feature and
//! 4 probes, 0.138 for three.

use std::collections::{BTreeMap, BTreeSet};

use everbloom::internals::cells::Bits;
use everbloom::internals::hash::{Generator, mix64};
use everbloom::internals::theory::bloom as theory;
use everbloom::{Bloom, Counting, Error, Hasher, Kind, Result};

use crate::{Application, Axis, Bound, Experiment, Form, Lab, Oracle, Report, Rows, bound};

/// A registry of services.
///
/// ```
/// use everbloom_lab::applications::search::discovery::{Registry, quantity};
///
/// let mut services = Registry::new(50, 8.0)?;
/// services.publish("hall", "printer", ["color", "duplex", &quantity("pages/min", 24.0)])?;
/// services.publish("desk", "printer", ["duplex"])?;
/// assert_eq!(services.find(&["duplex", &quantity("pages/min", 20.0)]), ["hall"]);
/// services.withdraw("hall")?;
/// assert_eq!(services.find(&["duplex"]), ["desk"]);
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Registry {
    counters: u64,
    categories: BTreeMap<String, Category>,
    /// The category of each service.
    places: BTreeMap<String, String>,
}

struct Category {
    services: BTreeMap<String, Service>,
    /// The OR of its services' filters.
    all: Bloom,
}

struct Service {
    filter: Counting,
    features: BTreeSet<String>,
}

const PROBES: u32 = 4;
const WIDTH: u32 = 4;

/// A quantity as a feature: its name, and the power of two below it.
pub fn quantity(name: &str, value: f64) -> String {
    let bucket = if value >= 1.0 { libm::floor(libm::log2(value)) } else { -1.0 };
    format!("{name}={}", if bucket < 0.0 { 0.0 } else { libm::exp2(bucket) })
}

fn bloom(bits: Bits) -> Result<Bloom> {
    Bloom::from_bits(bits, PROBES, Hasher::default(), 0)
}

impl Registry {
    /// A registry of services with up to `features` features, at so many counters for each. More are taken, and
    /// become candidates more often.
    pub fn new(features: u64, counters_per_feature: f64) -> Result<Self> {
        let counters = (features as f64 * counters_per_feature).ceil() as u64;
        // A shape that no filter has is an error now.
        Counting::with_shape(counters, PROBES, WIDTH, Hasher::default())?;
        Ok(Self { counters, categories: BTreeMap::new(), places: BTreeMap::new() })
    }

    /// Adds a service to a category; one of that name must not be there.
    pub fn publish<F: AsRef<str>>(
        &mut self,
        name: &str,
        category: &str,
        features: impl IntoIterator<Item = F>,
    ) -> Result<()> {
        if self.places.contains_key(name) {
            let message = format!("there is a service {name} already: withdraw it first");
            return Err(Error::new(Kind::BadRecord, message));
        }
        let mut filter = Counting::with_shape(self.counters, PROBES, WIDTH, Hasher::default())?;
        let features: BTreeSet<String> =
            features.into_iter().map(|feature| feature.as_ref().to_owned()).collect();
        features.iter().for_each(|feature| _ = filter.insert(feature));
        let bits = bloom(filter.to_bits())?;
        let service = Service { filter, features };
        match self.categories.get_mut(category) {
            Some(held) => {
                held.all.union(&bits)?;
                held.services.insert(name.to_owned(), service);
            }
            None => {
                let services = BTreeMap::from([(name.to_owned(), service)]);
                self.categories.insert(category.to_owned(), Category { services, all: bits });
            }
        }
        self.places.insert(name.to_owned(), category.to_owned());
        Ok(())
    }

    fn category_of(&mut self, name: &str) -> Result<(String, &mut Category)> {
        let missing = || Error::new(Kind::NotDeletable, format!("there is no service {name}"));
        let category = self.places.get(name).ok_or_else(missing)?.clone();
        let held = self.categories.get_mut(&category).ok_or_else(missing)?;
        Ok((category, held))
    }

    /// Takes a service out.
    pub fn withdraw(&mut self, name: &str) -> Result<()> {
        let (category, held) = self.category_of(name)?;
        held.services.remove(name);
        if held.services.is_empty() {
            self.categories.remove(&category);
        } else {
            held.collect()?;
        }
        self.places.remove(name);
        Ok(())
    }

    /// Gives a service a feature or takes one away; nothing changes if that is so already.
    pub fn change(&mut self, name: &str, feature: &str, has: bool) -> Result<()> {
        let (_, held) = self.category_of(name)?;
        if let Some(service) = held.services.get_mut(name) {
            match has {
                true if service.features.insert(feature.to_owned()) => {
                    service.filter.insert(feature);
                }
                false if service.features.remove(feature) => service.filter.remove(feature)?,
                _ => return Ok(()),
            }
        }
        held.collect()
    }

    /// The services that have all these features, by name within their categories.
    pub fn find(&self, features: &[&str]) -> Vec<&str> {
        let mut found = Vec::new();
        self.candidates(features, |name, service| {
            if features.iter().all(|feature| service.features.contains(*feature)) {
                found.push(name);
            }
        });
        found
    }

    /// Goes through the candidates, and returns how many filters were looked at.
    fn candidates<'a>(
        &'a self,
        features: &[&str],
        mut each: impl FnMut(&'a str, &'a Service),
    ) -> u64 {
        let mut tests = 0;
        for category in self.categories.values() {
            tests += 1;
            if !features.iter().all(|feature| category.all.contains(feature)) {
                continue;
            }
            for (name, service) in &category.services {
                tests += 1;
                if features.iter().all(|feature| service.filter.contains(feature)) {
                    each(name, service);
                }
            }
        }
        tests
    }
}

impl Category {
    /// Builds the OR anew: what left can't be taken out of it.
    fn collect(&mut self) -> Result<()> {
        let mut filters = self.services.values().map(|service| service.filter.to_bits());
        if let Some(mut bits) = filters.next() {
            filters.for_each(|more| bits.union(&more));
            self.all = bloom(bits)?;
        }
        Ok(())
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A49",
    form: Form::Component,
    uses: &["counting", "bloom"],
    oracle: "the sets of features themselves",
    data: "10,000 services with 50 random features each; 2,000 in categories that share a vocabulary",
    experiment: Experiment {
        name: "discovery",
        source: "S0 §IV-F [121]",
        title: "Finding services by their features",
        shows: "Every service that has the features is found, and no other one. Of 10,000 services 240 are candidates \
                wrongly for one feature, 0.14 for three. The OR of a category spares most filters.",
        run,
    },
};

const SERVICES: u64 = 10_000;
const FEATURES: u64 = 50;

/// Services without anything in common, each in a category of its own kind.
fn scattered(seed: u64) -> Result<Registry> {
    let mut registry = Registry::new(FEATURES, 8.0)?;
    for i in 0..SERVICES {
        let features = (0..FEATURES).map(|j| mix64(seed ^ (i * FEATURES + j)).to_string());
        registry.publish(&i.to_string(), &format!("{}", i % 10), features)?;
    }
    Ok(registry)
}

fn run(lab: &Lab) -> Result<Report> {
    let mut oracle = Oracle::default();
    let mut rows =
        Rows::new("candidates", "Wrong candidates among 10,000 services", Axis::log("services"));
    let f = theory::fpr_exact(8 * FEATURES, FEATURES, PROBES);
    let registry = scattered(lab.seed())?;
    for (q, queries) in [(1u32, 30), (3, lab.scaled(300))] {
        let chosen: Vec<u64> = (0..queries).collect();
        let counts = lab.over(&chosen, |query| {
            let words: Vec<String> =
                (0..q).map(|i| format!("none {} {query} {i}", lab.seed())).collect();
            let mut count = 0u64;
            registry.candidates(&words.iter().map(String::as_str).collect::<Vec<_>>(), |_, _| {
                count += 1
            });
            Ok(count)
        })?;
        // Fills differ from service to service: products of rates are above the product of their mean.
        let p = libm::pow(f, q.into());
        let around = bound::share(p, queries * SERVICES).widened(p, 0.08);
        let each = |share: Option<f64>| share.map(|s| s * SERVICES as f64);
        let mean = counts.iter().sum::<u64>() as f64 / queries as f64;
        let label = format!("{q} feature{} that nobody has", if q == 1 { "" } else { "s" });
        rows.row(
            label,
            p * SERVICES as f64,
            mean,
            Bound { low: each(around.low), high: each(around.high) },
        );
    }
    let stages = by_category(lab, &mut oracle)?;
    Ok(oracle.report().rows(rows).rows(stages))
}

/// Categories whose services share a vocabulary of 60 features.
fn by_category(lab: &Lab, oracle: &mut Oracle) -> Result<Rows> {
    let (categories, services, words) = (40u64, 50u64, 60u64);
    let mut registry = Registry::new(FEATURES, 8.0)?;
    let mut twin: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut random = Generator::new(lab.seed());
    let word = |category: u64, i: u64| format!("w{category} {i}");
    for service in 0..categories * services {
        let category = service % categories;
        let mut features: Vec<u64> = (0..words).collect();
        crate::sim::shuffle(&mut features, &mut random);
        let features: BTreeSet<String> =
            features[..FEATURES as usize].iter().map(|i| word(category, *i)).collect();
        let name = format!("{category:03} {service:05}");
        registry.publish(&name, &format!("{category:03}"), &features)?;
        twin.insert(name, features);
    }
    // A fifth is withdrawn, and some change a feature.
    let names: Vec<String> = twin.keys().cloned().collect();
    for (i, name) in names.iter().enumerate() {
        match i % 5 {
            0 => {
                registry.withdraw(name)?;
                twin.remove(name);
            }
            1 => {
                let feature = word(i as u64 % categories, random.below(words));
                let has = random.below(2) == 0;
                registry.change(name, &feature, has)?;
                let held = twin.get_mut(name);
                held.map(|held| if has { held.insert(feature) } else { held.remove(&feature) });
            }
            _ => {}
        }
    }
    let (mut pairs, mut tests) = (Vec::new(), 0);
    let queries = 300;
    for i in 0..queries {
        let category = random.below(categories);
        let wanted: Vec<String> =
            (0..1 + i % 3).map(|_| word(category, random.below(words))).collect();
        let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
        let has = |features: &BTreeSet<String>| wanted.iter().all(|w| features.contains(*w));
        let exact =
            twin.iter().filter(|(_, features)| has(features)).map(|(name, _)| name.as_str());
        pairs.push((registry.find(&wanted), exact.collect::<Vec<_>>()));
        tests += registry.candidates(&wanted, |_, _| ());
    }
    oracle.equal("services found", pairs);
    let mut rows = Rows::new(
        "stages",
        "Filters looked at for a query in 1,600 services",
        Axis::log("filters"),
    );
    // One OR a category, the services of the right one, and of others by mistake: 60 words fill an OR.
    let f = theory::fpr_exact(8 * FEATURES, words + 2, PROBES);
    let few = categories as f64 + 40.0;
    let most = few + f * 40.0 * (categories - 1) as f64;
    let mean = tests as f64 / queries as f64;
    rows.row("with the OR of each category", few, mean, Bound::between(few * 0.9, most * 1.1));
    rows.row("without: all of them", 1600.0, twin.len() as f64, Bound::exactly(1600.0, 0.0));
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a49_wrong_candidates() {
        let f = theory::fpr_asymptotic(8.0, 1.0, 4.0);
        assert!((10_000.0 * f - 240.0).abs() < 0.5, "{f}");
        assert!((10_000.0 * f * f * f - 0.138).abs() < 5e-4, "{f}");
    }

    #[test]
    fn quantities_are_words_and_names_are_used_once() {
        assert_eq!(quantity("gb", 12.0), "gb=8");
        assert_eq!(quantity("gb", 15.9), quantity("gb", 8.0));
        assert_ne!(quantity("gb", 16.0), quantity("gb", 15.0));
        assert_eq!((quantity("gb", 0.3), quantity("gb", f64::NAN)), ("gb=0".into(), "gb=0".into()));
        let mut registry = Registry::new(5, 8.0).unwrap();
        registry.publish("a", "c", ["x", "x"]).unwrap();
        assert!(registry.publish("a", "c", ["y"]).is_err());
        registry.change("a", "x", false).unwrap();
        assert!(registry.find(&["x"]).is_empty());
        assert_eq!(registry.find(&[]), ["a"]);
        registry.withdraw("a").unwrap();
        assert!(registry.withdraw("a").is_err() && registry.find(&[]).is_empty());
    }
}
