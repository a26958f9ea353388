//! Conservative update (Estan, Varghese 2002; catalogue §7; S1 §8.1 and its Figure 2).
//!
//! Which flows are heavy? Every packet of B bytes has k counters by the hashes of its flow, and the
//! least of them is never below the flow's bytes so far. So the flow now has at most least + B bytes:
//! raising a counter above that would tell of bytes that were never sent.
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
//! **Use it** for heavy flows and frequencies of keys that are only inserted: a record is a key with its count,
//! 1 without one. **Don't** when counts must go down again (`counting`, `spectral`).

use crate::cells::Counters;
use crate::parts::tally::Tallies;
use crate::parts::times_of;
use crate::probe::{Partitioned, Probe, Scheme};
use crate::theory::bloom as theory;
use crate::variant::prelude::*;

/// Counts of keys in m counters that rise no further than they must.
///
/// ```
/// let mut flows = everbloom::sketches::Conservative::with_rate(1000, 0.01)?;
/// flows.insert_times("10.0.0.1", 1500);
/// flows.insert_times("10.0.0.1", 40);
/// flows.insert("10.0.0.2");
/// assert_eq!(flows.count("10.0.0.1"), 1540);
/// assert!(flows.at_least("10.0.0.1", 1000) && !flows.at_least("10.0.0.2", 1000));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Conservative {
    head: Head,
    tallies: Tallies<Counters>,
}

state!(Conservative { head, ..tallies });

impl Conservative {
    /// A filter of `k` stages of `counters` counters of 32 bits each.
    pub fn with_stages(counters: u64, k: u32, hasher: Hasher) -> Result<Self> {
        let m = counters.saturating_mul(k.into());
        empty(&Goal::of(hasher).set("form", STAGES).set("m", m).set("k", k))
    }

    /// A filter of `m` counters of 32 bits that `k` hashes share.
    pub fn shared(m: u64, k: u32, hasher: Hasher) -> Result<Self> {
        empty(&Goal::of(hasher).set("form", SHARED).set("m", m).set("k", k))
    }

    /// Counts a key.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        self.insert_times(key, 1)
    }

    /// Counts a key `times` times, such as a packet with that many bytes. Zero changes nothing.
    pub fn insert_times<K: Key + ?Sized>(&mut self, key: &K, times: u64) -> Seen {
        let digest = self.head.digest(key);
        self.head.count(u64::from(times > 0));
        Seen::new_if(self.tallies.lift(digest, times))
    }

    /// Whether the key may have been inserted.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.tallies.contains(self.head.digest(key))
    }

    /// How often the key was inserted: never too low, unless counters stick at their maximum.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.tallies.least(self.head.digest(key))
    }

    /// Whether the key may have been inserted at least `threshold` times: a heavy flow always has.
    pub fn at_least<K: Key + ?Sized>(&self, key: &K, threshold: u64) -> bool {
        self.count(key) >= threshold.min(self.counters().max())
    }

    /// The counters, stage after stage.
    pub fn counters(&self) -> &Counters {
        &self.tallies.cells
    }

    fn check(&self) -> Result<()> {
        match (self.head.form, self.tallies.probe.scheme()) {
            (STAGES, Scheme::Partitioned) => Ok(()),
            (SHARED, _) => self.tallies.check_flat(),
            _ => Err(Error::corrupt(0, "corrupt filter: stages without stages of probes")),
        }
    }
}

impl Plan for Conservative {
    /// The probes, and bits per counter.
    type Shape = (Probe, u32);

    fn plan(request: &Request<'_>) -> Result<Self::Shape> {
        let width = request.whole("width");
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
                let message = format!("so few counters cannot be divided into {k} stages");
                return Err(Error::setting("m", m, message));
            }
        };
        Ok((probe, width as u32))
    }

    fn expect((probe, width): &Self::Shape, load: &Load) -> Option<Expect> {
        let (m, k, n) = (probe.m(), probe.k(), load.distinct);
        let bits = m.saturating_mul(u64::from(*width));
        if probe.scheme() != Scheme::Partitioned {
            return Some(Flat { m, k }.expect(load, bits));
        }
        // Every stage takes n throws, independently of the others.
        let (k, n) = (f64::from(k), n as f64);
        let stage = m as f64 / k;
        let fill = (theory::fill(stage, n), theory::fill_sd(stage, n) / k.sqrt());
        let fpr = theory::fpr_partitioned(stage, n, k);
        Some(Expect::one_sided(fpr, bits, Some(fill)).probing(probe.k()))
    }
}

impl Stream for Conservative {
    fn empty(&(probe, width): &Self::Shape, head: Head) -> Result<Self> {
        Ok(Self { head, tallies: Tallies { probe, cells: Counters::try_new(probe.m(), width)? } })
    }
}

face!(Conservative: Insert, Count);
planned!(Conservative);

impl Filter for Conservative {
    fn part(&self) -> Option<&dyn Part> {
        Some(&self.tallies)
    }

    /// The value beside the key is its count, as in a build, and does not matter here.
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::counted(Count::count(self, record.key)))
    }
}

impl Count for Conservative {
    fn count(&self, key: &[u8]) -> Counted {
        self.tallies.least_count(self.head.digest(key))
    }
}

impl Insert for Conservative {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        Ok(self.insert_times(record.key, times_of(&record)?))
    }
}

const STAGES: &str = "stages";
const SHARED: &str = "shared";

const ABILITIES: &[Ability] = &[Ability::Insert, Ability::Count];

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Conservative>(Facts {
    id: 58,
    slug: "conservative-update",
    entry: "§7",
    question: "How many bytes did this flow send, never underestimated?",
    name: "Conservative update",
    paper: "C. Estan, G. Varghese, New directions in traffic measurement and accounting, SIGCOMM 2002",
    family: "sketches",
    needs: &["membership", "count"],
    input: Input::valued(ValueKind::Count),
    meaning: "items are distinct keys to plan for, and records when counted; the rate is the false-positive rate",
    forms: &[Form::exact(STAGES, ABILITIES), Form::exact(SHARED, ABILITIES)],
    params: &[
        PARAM_M,
        PARAM_K,
        Param::integer("width", 1, 64, "bits per counter; counters stick at the maximum")
            .or(Preset::Integer(32)),
    ],
    ..Facts::FILTER
});

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
            filter.tallies.cells = Counters::new(59, 32);
            assert!(Opener::new().decode(&to_bytes(&filter)).is_err());
        }
    }

    #[test]
    fn shapes_that_no_file_holds_are_refused() {
        for (counters, k) in [(0, 3), (20, 0), (20, 5000), (u64::MAX, 3)] {
            assert!(Conservative::with_stages(counters, k, Hasher::default()).is_err());
            assert!(Conservative::shared(counters, k, Hasher::default()).is_err());
        }
    }

    /// Counts of counters that stick at their maximum are marked.
    #[test]
    fn saturated_counts_are_marked() {
        let mut filter = Conservative::builder().set("m", 60).set("k", 3).set("width", 4).build();
        let filter = filter.as_mut().unwrap();
        filter.insert_times("heavy", 1000);
        filter.insert_times("light", 3);
        assert_eq!(filter.count("heavy"), 15);
        let count = |key: &str| Count::count(filter, key.as_bytes());
        assert_eq!(count("heavy"), Counted::stuck_if(true, 15));
        assert_eq!(count("light"), Counted::about(3));
        let answer = Filter::query(filter, Record::key(b"heavy")).unwrap();
        assert_eq!(answer.detail, Detail::Count(count("heavy")));
    }
}
