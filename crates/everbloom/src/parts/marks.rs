//! Counters whose cells also tell, by marks, whose keys they hold.
//!
//! Each hash of a key brings a mark to its cell: a fingerprint, or an increment of its own. A cell passes a
//! key only if the key's mark can be among those in it.

use smallvec::SmallVec;

use crate::cells::Counters;
use crate::error::{Error, Kind, Result};
use crate::filter::{Answer, Counted, Detail, Fact, Part, Rates, Touched, fact};
use crate::hash::Digest;
use crate::parts::SumPart;
use crate::probe::Probe;
use crate::state::{Decoder, Encoder, Inline, State};

/// Cells that hold marks.
pub(crate) trait MarkCells: State {
    /// Salts the digest for the marks, which must not depend on the cells.
    const SALT: u64;

    /// Why a removal is refused.
    const MISSING: &'static str;

    /// The mark of hash number `j` of a key, from its salted digest.
    fn mark(&self, salted: Digest, j: u64) -> u64;

    /// Whether the cell at `i` may hold a mark.
    fn passes(&self, i: u64, mark: u64) -> bool;

    /// Puts a mark into the cell at `i`.
    fn put(&mut self, i: u64, mark: u64);

    /// Takes a mark out of the cell at `i`; false, and nothing changed, if it cannot be in it. A cell that is
    /// stuck keeps its value.
    fn take(&mut self, i: u64, mark: u64) -> bool;

    /// The share of all pairs of cell and mark that pass.
    fn share(&self) -> f64;

    /// The counters that tell whether a cell is in use.
    fn counters(&self) -> &Counters;

    /// How often the key with these marks was inserted, where the cells can tell.
    fn count(&self, _hits: &[(u64, u64)]) -> Option<Counted> {
        None
    }

    /// Refuses cells of another make; their number is the same.
    fn agree(&self, other: &Self) -> Result<()>;

    /// Adds the marks of as many others.
    fn add(&mut self, other: &Self);

    /// What is to be told of them beside their number.
    fn facts(&self) -> Vec<Fact>;
}

/// m cells with k probes per digest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Marks<C> {
    pub(crate) probe: Probe,
    pub(crate) cells: C,
}

impl<C: MarkCells> Inline for Marks<C> {
    fn save_fields<'a>(&'a self, out: &mut Encoder<'a>) {
        self.probe.save("probe", out);
        self.cells.save("cells", out);
    }

    fn load_fields(src: &mut Decoder<'_>) -> Result<Self> {
        let this = Self { probe: Probe::load("probe", src)?, cells: C::load("cells", src)? };
        this.probe.check_flat(this.m())?;
        Ok(this)
    }
}

/// A key's cells, each with the mark of the hash that points there.
type Hits = SmallVec<[(u64, u64); 16]>;

impl<C: MarkCells> Marks<C> {
    fn m(&self) -> u64 {
        self.cells.counters().len()
    }

    fn hits(&self, digest: Digest) -> Hits {
        let salted = digest.salted(C::SALT);
        let mut hits = Hits::new();
        self.probe.each(digest, |i| {
            let mark = self.cells.mark(salted, hits.len() as u64);
            hits.push((i, mark));
        });
        hits
    }

    /// Puts the key's marks into its cells; true if it was certainly not there.
    pub(crate) fn insert(&mut self, digest: Digest) -> bool {
        let hits = self.hits(digest);
        let there = hits.iter().all(|&(i, mark)| self.cells.passes(i, mark));
        hits.iter().for_each(|&(i, mark)| self.cells.put(i, mark));
        !there
    }

    /// Takes the key's marks out of its cells, or changes nothing.
    pub(crate) fn remove(&mut self, digest: Digest) -> Result<()> {
        let hits = self.hits(digest);
        for (taken, &(i, mark)) in hits.iter().enumerate() {
            if !self.cells.take(i, mark) {
                hits[..taken].iter().for_each(|&(i, mark)| self.cells.put(i, mark));
                return Err(Error::new(Kind::NotDeletable, C::MISSING));
            }
        }
        Ok(())
    }

    /// Whether all of a key's cells pass its marks.
    #[inline]
    pub(crate) fn contains(&self, digest: Digest) -> bool {
        let salted = digest.salted(C::SALT);
        let mut j = 0;
        self.probe.all(digest, |i| {
            let mark = self.cells.mark(salted, j);
            j += 1;
            self.cells.passes(i, mark)
        })
    }

    /// How often a key was inserted, for cells that can tell.
    pub(crate) fn count(&self, digest: Digest) -> Counted {
        self.cells.count(&self.hits(digest)).unwrap_or(Counted::about(0))
    }
}

impl<C: MarkCells> SumPart for Marks<C> {
    /// Refuses cells that cannot be added to these, and names the difference.
    fn agree(&self, other: &Self) -> Result<()> {
        self.probe.agree(&other.probe)?;
        self.cells.agree(&other.cells)
    }

    /// Adds the marks of both.
    fn add(&mut self, other: &Self) {
        self.cells.add(&other.cells);
    }
}

impl<C: MarkCells> Part for Marks<C> {
    fn answer(&self, digest: Digest) -> Answer {
        let count = self.cells.count(&self.hits(digest));
        let detail = count.map_or(Detail::None, Detail::Count);
        Answer::of(self.contains(digest)).with(detail)
    }

    fn fill(&self) -> f64 {
        self.cells.counters().nonzero() as f64 / self.m() as f64
    }

    fn rates(&self) -> Rates {
        Rates::one_sided(libm::pow(self.cells.share(), f64::from(self.probe.k())))
    }

    fn describe(&self) -> Vec<Fact> {
        let mut facts = vec![fact("m", self.m()), fact("k", self.probe.k())];
        facts.extend(self.cells.facts());
        facts.push(fact("saturated", self.cells.counters().saturated()));
        facts
    }

    fn trace(&self, digest: Digest) -> Vec<Touched> {
        let cell = |&(index, mark): &(u64, u64)| Touched {
            index,
            value: self.cells.counters().get(index),
            agrees: self.cells.passes(index, mark),
        };
        self.hits(digest).iter().map(cell).collect()
    }
}
