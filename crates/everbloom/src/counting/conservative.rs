//! Conservative update (Estan, Varghese 2002; catalogue §7; S1 §8.1 and its Figure 2).
//!
//! Which flows are heavy? Every packet of B bytes has k counters by the hashes of its flow, and the
//! least of them is never below the flow's bytes so far. So the flow now has at most least + B bytes:
//! raising a counter above that would tell of bytes that nobody brought.
//!
//! ```text
//!   a packet of 4 bytes, its flow's counters are      2   7   5      at most 2 bytes so far
//!                              plain update           6  11   9      adds 4 to each
//!                              conservative update    6   7   6      at most 6 bytes from now on
//! ```
//!
//! Counts are never too low, and never above those of the plain update over the same counters: on skewed
//! traffic what they are too high by is less than half. The price is that a counter no longer is the sum
//! of its flows. Nothing can be taken away again, two filters cannot be added (the sums would be bounds,
//! but no better than plain ones), and the order of packets matters.
//!
//! The form `stages` gives each hash counters of its own, as the paper's parallel stages have them; in
//! `shared` all hashes range over all counters, as S1 tells it. By ones it is the minimum increase of
//! `spectral`; here counters have a fixed width, are read directly, and stick at their maximum.
//!
//! **Use it** for heavy flows and frequencies of keys that only come: `key TAB bytes` on the command line,
//! 1 without a number. **Don't** when counts must go down again (`counting`, `spectral`).

use crate::cells::Counters;
use crate::parts::tally;
use crate::probe::{Coincide, Partitioned, Probe, Scheme};
use crate::theory::bloom as theory;
use crate::variant::prelude::*;

/// Counts of keys in m counters that rise no further than they must.
///
/// ```
/// let mut flows = everbloom::counting::Conservative::with_rate(1000, 0.01)?;
/// flows.insert_times("10.0.0.1", 1500);
/// flows.insert_times("10.0.0.1", 40);
/// flows.insert("10.0.0.2");
/// assert_eq!(flows.count("10.0.0.1"), 1540);
/// assert!(flows.at_least("10.0.0.1", 1000) && !flows.at_least("10.0.0.2", 1000));
/// # Ok::<(), everbloom::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Conservative {
    head: Head,
    probe: Probe,
    counters: Counters,
}

state!(Conservative { head, probe, counters });

impl Conservative {
    /// A filter of `k` stages of `counters` counters of 32 bits each; both at least 1.
    pub fn with_stages(counters: u64, k: u32, hasher: Hasher) -> Result<Self> {
        let probe = Probe::Partitioned(Partitioned::new(counters.max(1), k.max(1)));
        Self::empty(&Shape { probe, width: WIDTH }, Head::new(hasher, STAGES))
    }

    /// A filter of `m` counters of 32 bits that `k` hashes share; both at least 1.
    pub fn shared(m: u64, k: u32, hasher: Hasher) -> Result<Self> {
        let probe = Probe::over(m.max(1), k.max(1));
        Self::empty(&Shape { probe, width: WIDTH }, Head::new(hasher, SHARED))
    }

    fn digest<K: Key + ?Sized>(&self, key: &K) -> Digest {
        self.head.hasher.digest(key)
    }

    /// Counts a key once more.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        self.insert_times(key, 1)
    }

    /// Counts a key `times` more times, a packet of so many bytes. No bytes change nothing.
    pub fn insert_times<K: Key + ?Sized>(&mut self, key: &K, times: u64) -> Seen {
        let digest = self.digest(key);
        self.head.count(u64::from(times > 0));
        tally::lift(&mut self.counters, &self.probe, digest, times)
    }

    /// Whether the key may have come.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        tally::contains(&self.counters, &self.probe, self.digest(key))
    }

    /// How often the key came: never too low, unless counters stick at their maximum.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        let mut least = u64::MAX;
        self.probe.each(self.digest(key), |i| least = least.min(self.counters.get(i)));
        least
    }

    /// Whether the key may have come at least `threshold` times: a heavy flow always has.
    pub fn at_least<K: Key + ?Sized>(&self, key: &K, threshold: u64) -> bool {
        self.count(key) >= threshold.min(self.counters.max())
    }

    /// The counters, stage after stage.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    fn check(&self) -> Result<()> {
        match (self.head.form, self.probe.scheme()) {
            (STAGES, Scheme::Partitioned) => self.probe.check(self.counters.len()),
            (SHARED, _) => self.probe.check_flat(self.counters.len()),
            _ => Err(Error::corrupt(0, "corrupt filter: stages without stages of probes")),
        }
    }

    /// How many parts of the counters have probes of their own.
    fn stages(&self) -> u64 {
        if self.head.form == STAGES { u64::from(self.probe.k()) } else { 1 }
    }
}

/// The probes, and bits per counter.
#[derive(Clone, Debug)]
pub struct Shape {
    probe: Probe,
    width: u32,
}

impl Plan for Conservative {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let width = request.integer("width").unwrap_or(u64::from(WIDTH));
        let stages = request.form() == STAGES;
        // A stage of ⌊m/k⌋ + 1 counters is no fuller than m that are shared, and takes k more at most.
        let more = |k: u32| if stages { f64::from(k) } else { 0.0 };
        let flat = Flat::plan_sized(request, |m, _, k| (m + more(k)) * width as f64)?;
        let Flat { m, k } = flat;
        let probe = match (stages, request.integer(PARAM_M.name)) {
            (false, _) => Probe::over(m, k),
            (true, None) => Probe::Partitioned(Partitioned::new(m / u64::from(k) + 1, k)),
            (true, Some(_)) if u64::from(k) <= m => {
                Probe::Partitioned(Partitioned::new(m / u64::from(k), k))
            }
            (true, Some(_)) => {
                return Err(Error::parameter(format!(
                    "{m} counters cannot be cut into {k} stages: set m to {k} or more"
                )));
            }
        };
        Ok(Shape { probe, width: width as u32 })
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (m, k, n) = (shape.probe.m(), shape.probe.k(), load.distinct);
        let bits = m.saturating_mul(u64::from(shape.width));
        if shape.probe.scheme() != Scheme::Partitioned {
            let flat = Flat { m, k };
            return Some(Expect::one_sided(flat.fpr(n), bits, Some(flat.fill(n))));
        }
        // Every stage takes n throws, independently of the others.
        let (k, n) = (f64::from(k), n as f64);
        let stage = m as f64 / k;
        let fill = (theory::fill(stage, n), theory::fill_sd(stage, n) / k.sqrt());
        Some(Expect::one_sided(theory::fpr_partitioned(stage, n, k), bits, Some(fill)))
    }
}

impl Stream for Conservative {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let counters = Counters::new(shape.probe.m(), shape.width);
        Ok(Self { head, probe: shape.probe, counters })
    }
}

face!(Conservative: Insert, Count);
planned!(Conservative);

impl Filter for Conservative {
    /// The value beside the key is what it brought, as in a build, and does not matter here.
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let count = self.count(record.key);
        Ok(Answer::of(count > 0).with(Detail::Count(Counted::about(count))))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.counters.nonzero() as f64 / self.counters.len() as f64)
    }

    fn now(&self) -> Rates {
        let stage = self.counters.len() / self.stages();
        let used =
            |s: u64| (s * stage..(s + 1) * stage).filter(|&i| self.counters.get(i) > 0).count();
        let product: f64 = (0..self.stages()).map(|s| used(s) as f64 / stage as f64).product();
        // Probes into one stage of all counters share its fill; into k stages each has its own.
        let probes_per_stage = f64::from(self.probe.k()) / self.stages() as f64;
        Rates::one_sided(libm::pow(product, probes_per_stage))
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("m", self.counters.len()),
            fact("k", self.probe.k()),
            fact("width", self.counters.width()),
            fact("saturated", self.counters.saturated()),
        ]
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let indices = self.probe.collect(self.head.hasher.digest(key), Coincide::PerHash);
        touched(&indices, |i| self.counters.get(i))
    }
}

keyed!(Conservative: Count);

impl Insert for Conservative {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        let times = match record.value {
            None => 1,
            Some(Value::Count(0)) => {
                return Err(Error::record("a count of 0 adds nothing: leave the record out"));
            }
            Some(Value::Count(times)) => times,
            Some(_) => return Err(Error::record("the value beside the key must be a count")),
        };
        Ok(self.insert_times(record.key, times))
    }
}

const STAGES: &str = "stages";
const SHARED: &str = "shared";
const WIDTH: u32 = 32;

const fn form(name: &'static str) -> Form {
    let abilities = &[Ability::Insert, Ability::Count];
    Form { name, abilities, false_negatives: FalseNegatives::Never }
}

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 58,
        slug: "conservative-update",
        entry: "§7",
        name: "Conservative update",
        paper: "C. Estan, G. Varghese, New directions in traffic measurement and accounting, SIGCOMM 2002",
        family: "counting",
        needs: &["membership", "count"],
        input: Input { value: ValueKind::Count, ..Input::KEYS },
        meaning: "items are distinct keys to plan for, and records when counted; the rate is that of strangers \
                  that pass",
        forms: &[form(STAGES), form(SHARED)],
        params: &[
            PARAM_M,
            PARAM_K,
            Param {
                name: "width",
                range: Range::Integer(1, 64),
                default: Preset::Integer(WIDTH as u64),
                help: "bits per counter, which sticks at its maximum",
            },
        ],
        ..Facts::FILTER
    },
    ops: Ops::of::<Conservative>(),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Opener, to_bytes};

    #[test]
    fn files_whose_probes_are_of_another_form_are_refused() {
        for mut filter in [
            Conservative::with_stages(20, 3, Hasher::default()).unwrap(),
            Conservative::shared(60, 3, Hasher::default()).unwrap(),
        ] {
            filter.insert_times("flow", 1 << 31);
            let back: Conservative = Opener::new().decode_as(&to_bytes(&filter)).unwrap();
            assert_eq!(back, filter);
            let other = if filter.head.form == STAGES { SHARED } else { STAGES };
            let head = Head { form: other, ..filter.head.clone() };
            assert!(
                Opener::new().decode(&to_bytes(&Conservative { head, ..filter.clone() })).is_err()
            );
            let counters = Counters::new(59, WIDTH);
            assert!(Opener::new().decode(&to_bytes(&Conservative { counters, ..filter })).is_err());
        }
    }
}
