//! The loglog Bloom filter (catalogue §3; S3 §VI-A; probabilistic counting: Flajolet, Martin 1985, Durand, Flajolet 2003).
//!
//! How often did a key come, in five bits a cell? Every insertion draws random ranks: 1 with probability 1/2, 2 with
//! 1/4, and so on. After f copies the largest rank is about log₂ f, so a cell keeps the largest it has seen. A key has
//! d such counters, for the keys 0‖x … (d−1)‖x, each of them held in k cells that it shares with others:
//!
//! ```text
//!   x comes: ranks 1, 4, 2           0‖x: max(3, 1) max(5, 1)  least 3
//!                                    1‖x: max(1, 4) max(6, 4)  least 4     f̂ = α_d · 2^{(3 + 4 + 2)/3}
//!                                    2‖x: max(2, 2) max(2, 2)  least 2
//! ```
//!
//! The least of the k cells drops what other keys put there, unless all k are hit. The relative error is 1.30/√d. Small
//! counts are told too high: 1.58 on average for one copy, 1.26 times the truth for two, 1.05 for ten.
//!
//! Two filters join by the larger of each two cells, and then speak of the *sum*, since their copies drew ranks of
//! their own. So every place has its own number, the parameter `stream`: under one number all would draw the same
//! ranks, and filters that did are not joined. Halving joins each two cells of one filter.
//!
//! **Slow:** a key has d·k cells instead of k, and an insertion draws a rank for each of its d counters.
//!
//! **Use it** for multiplicities over many orders of magnitude, collected in many places. **Don't** for small
//! counts, for deletion, or when an error of a third (d = 16) is too much.

use crate::cells::Counters;
use crate::error::agree;
use crate::filter::Bound;
use crate::hash::{Generator, mix64};
use crate::parts::several::flat_for;
use crate::plan::{check_cells, k_for_m};
use crate::probe::{Coincide, Probe};
use crate::theory::{bloom as theory, loglog};
use crate::variant::prelude::*;

/// Multiplicities as the largest of random ranks.
///
/// ```
/// let mut meters = everbloom::sketches::LogLog::with_rate(1000, 0.01)?;
/// (0..5000).for_each(|_| _ = meters.insert("tariff 3"));
/// assert!((1500..15_000).contains(&meters.count("tariff 3")));
/// assert_eq!(meters.count("tariff 4"), 0);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LogLog {
    head: Head,
    /// Ranks per key.
    d: u32,
    generator: Generator,
    probe: Probe,
    cells: Counters,
}

state!(LogLog { head, d, generator, probe, cells });

impl LogLog {
    /// A filter of `m` cells of five bits, `d` ranks per key and `k` cells per rank.
    pub fn with_shape(m: u64, k: u32, d: u32, hasher: Hasher) -> Result<Self> {
        empty(&Goal::of(hasher).set("m", m).set("k", k).set("d", d))
    }

    fn check(&self) -> Result<()> {
        if !VARIANT.takes("d", self.d) || !VARIANT.takes("width", self.cells.width()) {
            return Err(Error::corrupt(0, "corrupt filter: not the cells of ranks"));
        }
        self.probe.check_flat(self.cells.len())
    }

    /// Inserts a key, again if already present.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.head.digest(key);
        let (cells, mut new) = (&mut self.cells, false);
        for j in 0..u64::from(self.d) {
            // One rank for all k cells: with ranks of their own the least of them would be too low.
            let rank = u64::from(self.generator.next_u64().trailing_zeros()) + 1;
            self.probe.each(digest.salted(j), |i| {
                let held = cells.get(i);
                new |= held == 0;
                if rank > held {
                    cells.set(i, rank);
                }
            });
        }
        self.head.count(1);
        Seen::new_if(new)
    }

    /// Whether the key may have been inserted.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.has(self.head.digest(key))
    }

    fn has(&self, digest: Digest) -> bool {
        let any = |j: u64| self.probe.all(digest.salted(j), |i| self.cells.get(i) != 0);
        (0..self.d.into()).all(any)
    }

    /// How often the key was inserted, about; 0 only if it never was.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.estimate(key).round() as u64
    }

    /// How often the key was inserted, about: α_d·2^{mean of its ranks}.
    pub fn estimate<K: Key + ?Sized>(&self, key: &K) -> f64 {
        self.estimate_of(self.head.digest(key)).0
    }

    /// The estimate, and whether cells are stuck at the largest rank.
    fn estimate_of(&self, digest: Digest) -> (f64, bool) {
        let (mut sum, mut stuck) = (0, false);
        for j in 0..u64::from(self.d) {
            let mut least = u64::MAX;
            self.probe.each(digest.salted(j), |i| least = least.min(self.cells.get(i)));
            if least == 0 {
                return (0.0, false);
            }
            sum += least;
            stuck |= least == self.cells.max();
        }
        let d = f64::from(self.d);
        ((loglog::alpha(d) * libm::exp2(sum as f64 / d)).max(1.0), stuck)
    }

    /// Takes the larger of each two cells: the filter of both multisets together. Refused if both drew their ranks from
    /// one stream: then a key's copies here and there have the same ranks, and count once.
    pub fn join(&mut self, other: &LogLog) -> Result<()> {
        self.head.agree(&other.head)?;
        agree("d", self.d, other.d)?;
        agree("cell width", self.cells.width(), other.cells.width())?;
        self.probe.agree(&other.probe)?;
        let most = self.head.items.max(other.head.items).saturating_mul(self.d.into());
        if self.head.items == 0 {
            // What comes next must not draw the other's ranks again.
            self.generator = other.generator.clone();
        } else if other.head.items > 0 && self.generator.is_near(&other.generator, most) {
            return Err(Error::new(
                Kind::Incompatible { what: "stream" },
                "both filters drew the same ranks, so that copies in both would count once: build one of them with \
                 another {stream}",
            ));
        }
        for (i, rank) in (0..).zip(other.cells.iter()) {
            if rank > self.cells.get(i) {
                self.cells.set(i, rank);
            }
        }
        self.head.count(other.head.items);
        Ok(())
    }

    /// The filter at half the size: the larger of each two cells.
    pub fn fold(&self) -> Result<LogLog> {
        let (probe, pairing) = self.probe.fold()?;
        let mut cells = Counters::try_new(probe.m(), self.cells.width())?;
        for (i, rank) in (0..).zip(self.cells.iter()) {
            let to = pairing.joined(i, probe.m());
            cells.set(to, rank.max(cells.get(to)));
        }
        Ok(Self { probe, cells, ..self.clone() })
    }

    fn fpr(&self) -> f64 {
        let used = self.cells.nonzero() as f64 / self.cells.len() as f64;
        libm::pow(used, f64::from(self.d) * f64::from(self.probe.k()))
    }
}

/// Cells, probes per rank, ranks, bits per cell, and where ranks are drawn from.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    flat: Flat,
    d: u32,
    width: u32,
    stream: u64,
}

impl Plan for LogLog {
    type Shape = Shape;

    /// As a standard filter of d·n keys: a rank is wrong as often as a key would be there.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let [d, width] = request.wholes(["d", "width"]).map(|number| number as u32);
        let stream = request.whole("stream");
        let k_set = request.integer(PARAM_K.name).map(|k| k as u32);
        if let Some(m) = request.integer(PARAM_M.name) {
            let k = k_for_m(request, |n| theory::best_k(m, n.saturating_mul(d.into())))?;
            return Ok(Shape { flat: Flat { m, k }, d, width, stream });
        }
        let cells = |n: u64, p: f64| {
            let (m, k) = match k_set {
                None => {
                    let Flat { m, k } = flat_for(n, p);
                    (m as f64, k)
                }
                Some(k) => {
                    let load = -libm::log1p(-libm::pow(p, 1.0 / f64::from(k)));
                    (f64::from(k) * n as f64 / load, k)
                }
            };
            // Even, so that it folds.
            (2.0 * (0.5 * m * f64::from(d)).ceil(), k)
        };
        let (n, p) = request.items_and_rate(|n, p| cells(n, p).0 * f64::from(width))?;
        let (m, k) = cells(n, p);
        check_cells(n, p, m)?;
        Ok(Shape { flat: Flat { m: m as u64, k }, d, width, stream })
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let Flat { m, k } = shape.flat;
        let probes = f64::from(k) * f64::from(shape.d);
        let (m, throws) = (m as f64, load.distinct as f64 * probes);
        let fill = (theory::fill(m, throws), theory::fill_sd(m, throws));
        let bits = shape.flat.m.saturating_mul(shape.width.into());
        Some(Expect::one_sided(libm::pow(fill.0, probes), bits, Some(fill)).probing(k))
    }
}

impl Stream for LogLog {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Shape { flat: Flat { m, k }, d, width, stream } = *shape;
        let generator = Generator::new(mix64(mix64(head.hasher.seed() ^ COINS) ^ stream));
        Ok(Self {
            head,
            d,
            generator,
            probe: Probe::over(m, k),
            cells: Counters::try_new(m, width)?,
        })
    }
}

face!(LogLog: Insert, Count, Merge, Fold);
planned!(LogLog: "A filter for `items` distinct keys, of whose ranks a share of `fpr` is raised by other keys.");
keyed!(LogLog: Insert, Fold);

impl Count for LogLog {
    fn count(&self, key: &[u8]) -> Counted {
        let (count, stuck) = self.estimate_of(self.head.digest(key));
        let bound = if stuck { Bound::Saturated } else { Bound::Estimate };
        Counted { bound, ..Counted::about(count.round() as u64) }
    }
}

impl Merge for LogLog {
    fn law(&self) -> MergeLaw {
        MergeLaw::Multiset
    }

    fn merge(&mut self, other: &dyn Filter) -> Result<()> {
        self.join(other.as_same()?)
    }
}

impl Filter for LogLog {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::counted(Count::count(self, record.key)))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.cells.nonzero() as f64 / self.cells.len() as f64)
    }

    fn now(&self) -> Rates {
        Rates::one_sided((self.fpr() + self.head.collisions()).min(1.0))
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("m", self.cells.len()),
            fact("k", self.probe.k()),
            fact("d", self.d),
            fact("width", self.cells.width()),
            real("error", 1.30 / f64::from(self.d).sqrt()),
        ]
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let digest = self.head.digest(key);
        let cells = |j: u64| {
            let indices = self.probe.collect(digest.salted(j), Coincide::PerHash);
            touched(&indices, |i| self.cells.get(i))
        };
        (0..self.d.into()).flat_map(cells).collect()
    }
}

const COINS: u64 = 0x1061_06BF;

/// The list entry.
pub static VARIANT: Variant = Variant::of::<LogLog>(Facts {
    id: 61,
    slug: "loglog",
    entry: "§3",
    question: "About how often did it come, over many orders of magnitude?",
    name: "Loglog Bloom filter",
    paper: "M. Durand, P. Flajolet, Loglog counting of large cardinalities, ESA 2003, in a Bloom filter of multisets \
            (S3 §VI-A, its references 113 and 116)",
    family: "sketches",
    needs: &["membership", "count", "merge", "fold"],
    meaning: "items are distinct keys to plan for, and insertions when counted; the rate is that of ranks raised by \
              other keys",
    forms: &[Form::exact(
        "standard",
        &[Ability::Insert, Ability::Count, Ability::Merge, Ability::Fold],
    )
    .counting(Counts::Around)],
    params: &[
        PARAM_M,
        PARAM_K,
        Param::integer("d", 2, 1024, "ranks per key: the relative error is 1.30/√d")
            .or(Preset::Integer(16)),
        Param::integer(
            "stream",
            0,
            u32::MAX as u64,
            "number of this site: filters to be joined need different ranks",
        )
        .or(Preset::Integer(0)),
        Param::integer("width", 1, 6, "bits per cell: five reach 2^31 copies")
            .or(Preset::Integer(5)),
    ],
    reach: 100_000,
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Opener, to_bytes};

    #[test]
    fn cells_that_hold_no_ranks_are_refused() {
        let mut filter = LogLog::with_shape(500, 2, 4, Hasher::default()).unwrap();
        filter.insert("key");
        let back: LogLog = Opener::new().decode_as(&to_bytes(&filter)).unwrap();
        assert_eq!(back, filter);
        for forged in [
            LogLog { d: 1, ..filter.clone() },
            LogLog { cells: Counters::new(500, 7), ..filter.clone() },
            LogLog { cells: Counters::new(499, 5), ..filter.clone() },
        ] {
            assert!(Opener::new().decode(&to_bytes(&forged)).is_err());
        }
    }

    #[test]
    fn the_largest_rank_sticks_and_says_so() {
        let mut filter = LogLog::builder().items(10).rate(0.01).set("width", 1).build().unwrap();
        filter.insert("key");
        assert_eq!(Count::count(&filter, b"key").bound, Bound::Saturated);
        assert_eq!(Count::count(&filter, b"other").whole(), 0);
    }
}
