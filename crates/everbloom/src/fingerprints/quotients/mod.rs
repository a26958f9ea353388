//! What the two quotient filters share: fingerprints cut into quotient and remainder, and runs that are read,
//! changed and written as pairs of a remainder and its count. How a count is written in slots is a [`Code`].

mod face;
mod shape;

use std::marker::PhantomData;

use smallvec::SmallVec;

use crate::cells::{Marks, Run, Runs};
use crate::error::{Error, Kind, Result, agree};
use crate::filter::{Answer, Counted, Fact, Part, Rates, Touched, fact, real};
use crate::hash::{Digest, multiply_shift};
use crate::parts::fingerprints::{Outcome, TablePart};
use crate::probe::bulk::FETCH_FROM;
use crate::state::{Decoder, Encoder, Inline, MAX_ITEMS, State};

pub(super) use face::quotients;
pub use shape::Shape;
pub(super) use shape::{FORMS, params};
use shape::{FULLEST, MAX_REMAINDER, MAX_SLOTS, form, range};
#[cfg(test)]
pub(super) use shape::{RANK_SELECT, STATUS_BITS};

/// Salts the digest for the fingerprint.
const FINGERPRINT: u64 = 0x51;

/// How often a remainder is there, in slots.
pub(crate) trait Code {
    /// The fewest bits of a remainder.
    const LEAST: u32;

    /// Up to how many times a remainder just stands there so often.
    const COPIES: u64;

    /// Up to how many slots a run has remainders alone, which rise.
    const PLAIN: u64;

    /// Appends the slots of `count` ≥ 1 times the remainder `x`, which is above those before it.
    fn push(slots: &mut Values, width: u32, x: u64, count: u64);

    /// Slots of `count` copies of a remainder of `width` bits, in the mean over remainders.
    fn slots(width: u32, count: u64) -> f64 {
        // Those whose codes are longer are few and low: 256 show them, and more only bring their mean nearer to one length.
        let remainders = 1 << width.min(8);
        let slots = |x| {
            let mut slots = Values::new();
            Self::push(&mut slots, width, x, count);
            slots.len() as f64
        };
        (0..remainders).map(slots).sum::<f64>() / remainders as f64
    }

    /// The remainder and count that begin at slot `at` of a run, and the slot after them; `None` where no code is.
    fn next(run: &View<'_>, at: u64) -> Option<(u64, u64, u64)>;

    /// Whether the code of a pair that was read at slot `at` is the one that is written.
    fn is_written(run: &View<'_>, at: u64, (x, count): (u64, u64), after: u64) -> bool {
        let mut code = Values::new();
        Self::push(&mut code, run.width(), x, count);
        code.len() as u64 == after - at
            && code.iter().zip(at..).all(|(value, i)| run.get(i) == Some(*value))
    }
}

/// Keys whose runs are prefetched before the first is looked at.
const AHEAD: usize = 64;

/// The slots of one run.
pub(super) type Values = SmallVec<[u64; 16]>;

/// One run, to read.
pub(crate) struct View<'a> {
    runs: &'a Runs,
    run: Run,
}

impl<'a> View<'a> {
    /// A run of these.
    #[inline]
    pub(super) fn new(runs: &'a Runs, run: Run) -> Self {
        Self { runs, run }
    }

    /// The slot at `i`, if the run has so many.
    #[inline]
    pub(super) fn get(&self, i: u64) -> Option<u64> {
        (i < self.run.len).then(|| self.runs.value(self.run, i))
    }

    /// Bits of a slot.
    #[inline]
    pub(super) fn width(&self) -> u32 {
        self.runs.width()
    }
}

/// Remainders and counts, read out of a run; ends at what is no code.
struct Pairs<'a, C> {
    view: View<'a>,
    at: u64,
    code: PhantomData<C>,
}

impl<C: Code> Iterator for Pairs<'_, C> {
    type Item = (u64, u64);

    #[inline]
    fn next(&mut self) -> Option<(u64, u64)> {
        if self.at >= self.view.run.len {
            return None;
        }
        let (x, count, after) = C::next(&self.view, self.at)?;
        self.at = after;
        Some((x, count))
    }
}

/// A multiset of fingerprints in runs.
#[derive(Debug)]
pub(crate) struct Table<C> {
    pub(super) runs: Runs,
    code: PhantomData<C>,
}

impl<C> Clone for Table<C> {
    fn clone(&self) -> Self {
        Self { runs: self.runs.clone(), code: PhantomData }
    }
}

impl<C> PartialEq for Table<C> {
    fn eq(&self, other: &Self) -> bool {
        self.runs == other.runs
    }
}

impl<C: Code> Inline for Table<C> {
    fn save_fields<'a>(&'a self, out: &mut Encoder<'a>) {
        self.runs.save("runs", out);
    }

    fn load_fields(src: &mut Decoder<'_>) -> Result<Self> {
        let table = Self { runs: Runs::load("runs", src)?, code: PhantomData };
        table.check()?;
        Ok(table)
    }
}

impl<C: Code> Table<C> {
    pub(super) fn new(shape: &Shape) -> Result<Self> {
        let runs = Runs::try_new(shape.marks, shape.slots, shape.remainder)?;
        Ok(Self { runs, code: PhantomData })
    }

    /// The form that marks runs like this table.
    pub(super) fn form(&self) -> &'static str {
        form(self.runs.marks())
    }

    /// R.
    pub(super) fn range(&self) -> u128 {
        range(self.runs.slots(), self.runs.width())
    }

    /// The fingerprint of a key, as its quotient and its remainder.
    #[inline]
    fn split(&self, digest: Digest) -> (u64, u64) {
        // R is below 2⁶⁴, as every shape that is taken has it.
        self.cut(multiply_shift(digest.word(FINGERPRINT), self.range() as u64))
    }

    #[inline]
    fn cut(&self, h: u64) -> (u64, u64) {
        let width = self.runs.width();
        (h >> width, h & ((1 << width) - 1))
    }

    #[inline]
    fn pairs(&self, run: Run) -> Pairs<'_, C> {
        Pairs { view: View::new(&self.runs, run), at: 0, code: PhantomData }
    }

    /// The quotient's run, where in it a remainder begins or would begin, and its count.
    #[inline]
    fn find(&self, (quotient, x): (u64, u64)) -> (Run, u64, u64) {
        let run = self.runs.run(quotient);
        let mut pairs = self.pairs(run);
        loop {
            let at = pairs.at;
            match pairs.next() {
                Some((other, _)) if other < x => {}
                Some((other, count)) if other == x => return (run, at, count),
                Some(_) => return (run, at, 0),
                None => return (run, run.len, 0),
            }
        }
    }

    #[inline]
    fn count_of(&self, place: (u64, u64)) -> u64 {
        self.find(place).2
    }

    #[inline]
    fn has(&self, (quotient, x): (u64, u64)) -> bool {
        match self.runs.seems(quotient, x) {
            Some((false, _)) => false,
            // A slot may be a part of a count.
            Some((true, len)) if len <= C::PLAIN => true,
            _ => self.has_otherwise((quotient, x)),
        }
    }

    #[inline(never)]
    fn has_otherwise(&self, (quotient, x): (u64, u64)) -> bool {
        let rising = C::PLAIN == u64::MAX;
        if rising { self.runs.holds(quotient, x) } else { self.count_of((quotient, x)) > 0 }
    }

    #[inline]
    pub(super) fn contains(&self, digest: Digest) -> bool {
        self.has(self.split(digest))
    }

    /// Writes for each digest whether its key may be a member: a large table is prefetched.
    pub(super) fn contains_all(&self, digests: &[Digest], found: &mut [bool]) {
        for (digests, found) in digests.chunks(AHEAD).zip(found.chunks_mut(AHEAD)) {
            let places = self.fetched(digests);
            for (place, found) in places.iter().zip(found) {
                *found = self.has(*place);
            }
        }
    }

    /// Quotients and remainders of at most [`AHEAD`] digests, whose runs are on their way from a large table.
    fn fetched(&self, digests: &[Digest]) -> [(u64, u64); AHEAD] {
        let large = self.runs.bits() >= FETCH_FROM;
        let mut places = [(0, 0); AHEAD];
        for (place, digest) in places.iter_mut().zip(digests) {
            *place = self.split(*digest);
            if large {
                self.runs.prefetch(place.0);
            }
        }
        places
    }

    /// How often the fingerprint is there: too high only if another key has the same one.
    pub(super) fn count(&self, digest: Digest) -> Counted {
        Counted::about(self.count_of(self.split(digest)))
    }

    /// Every fingerprint with its count, in order.
    pub(super) fn fingerprints(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let width = self.runs.width();
        let all =
            self.runs.iter().flat_map(|(q, run)| self.pairs(run).map(move |(x, c)| (q, x, c)));
        all.map(move |(quotient, x, count)| (quotient << width | x, count))
    }

    /// Number of different fingerprints.
    pub(super) fn distinct(&self) -> u64 {
        self.fingerprints().count() as u64
    }

    /// Insertions less removals.
    pub(super) fn items(&self) -> u64 {
        self.fingerprints().fold(0, |sum, (_, count)| sum.saturating_add(count))
    }

    /// Writes another count of a remainder; refused, with nothing changed, if there is no room for it.
    fn set(&mut self, (quotient, x): (u64, u64), count: u64) -> Result<()> {
        let run = self.runs.run(quotient);
        let (mut slots, mut written, width) = (Values::new(), count == 0, self.runs.width());
        for (other, held) in self.pairs(run) {
            if !written && other >= x {
                C::push(&mut slots, width, x, count);
                written = true;
            }
            if other != x {
                C::push(&mut slots, width, other, held);
            }
        }
        if !written {
            C::push(&mut slots, width, x, count);
        }
        if slots.len() as u64 > run.len + self.runs.free() {
            return Err(full(&self.runs));
        }
        self.runs.replace(quotient, &slots);
        Ok(())
    }

    /// Counts a fingerprint `times` more times; true if it was not there.
    pub(super) fn insert_times(&mut self, digest: Digest, times: u64) -> Result<bool> {
        self.raise(self.split(digest), times)
    }

    fn raise(&mut self, (quotient, x): (u64, u64), times: u64) -> Result<bool> {
        let (run, at, held) = self.find((quotient, x));
        let count = held.checked_add(times).filter(|count| *count <= MAX_ITEMS);
        let count = count.ok_or_else(|| full(&self.runs))?;
        if count > C::COPIES || times != 1 {
            self.set((quotient, x), count)?;
        } else if self.runs.free() > 0 {
            self.runs.insert(quotient, run, at, x);
        } else {
            return Err(full(&self.runs));
        }
        Ok(held == 0)
    }

    /// Counts a fingerprint once less.
    pub(super) fn remove(&mut self, digest: Digest) -> Result<()> {
        self.remove_times(digest, 1)
    }

    /// Counts a fingerprint `times` less. Refused if it is not there so often.
    pub(super) fn remove_times(&mut self, digest: Digest, times: u64) -> Result<()> {
        let place = self.split(digest);
        let (run, at, held) = self.find(place);
        let count = held.checked_sub(times).ok_or_else(|| {
            let message = if held == 0 {
                "the key is not in the filter: its run does not hold its fingerprint".to_owned()
            } else {
                format!("the key's fingerprint is there {held} times, not {times}")
            };
            Error::new(Kind::NotDeletable, message)
        })?;
        if held <= C::COPIES && times == 1 {
            self.runs.remove(place.0, run, at);
            return Ok(());
        }
        // A smaller count never takes more slots.
        self.set(place, count)
    }

    /// Slots that fingerprints take in a table with remainders of `width` bits.
    fn needed(fingerprints: impl Iterator<Item = (u64, u64)>, width: u32) -> u64 {
        let mask = (1 << width) - 1;
        let length = |(h, count): (u64, u64)| {
            let mut slots = Values::new();
            C::push(&mut slots, width, h & mask, count);
            slots.len() as u64
        };
        fingerprints.map(length).sum()
    }

    /// The table of these fingerprints, in order, in `slots` slots with remainders of `width` bits.
    fn rebuilt(
        &self,
        slots: u64,
        width: u32,
        fingerprints: impl Iterator<Item = (u64, u64)>,
    ) -> Result<Self> {
        let runs = Runs::try_new(self.runs.marks(), slots, width)?;
        let mut table = Self { runs, code: PhantomData };
        let mut run = (0, Values::new());
        for (h, count) in fingerprints {
            let (quotient, x) = table.cut(h);
            if quotient != run.0 {
                table.runs.replace(run.0, &run.1);
                run = (quotient, Values::new());
            }
            C::push(&mut run.1, width, x, count);
            if run.1.len() as u64 > table.runs.free() {
                return Err(full(&table.runs));
            }
        }
        table.runs.replace(run.0, &run.1);
        Ok(table)
    }

    /// The same fingerprints in twice the slots, with remainders a bit shorter.
    pub(super) fn doubled(&self) -> Result<Self> {
        let (slots, width) = (self.runs.slots(), self.runs.width());
        if width <= C::LEAST || slots > MAX_SLOTS / 2 {
            return Err(Error::new(
                Kind::CapacityExceeded,
                format!("remainders of {width} bits cannot give bits to more slots"),
            ));
        }
        self.rebuilt(2 * slots, width - 1, self.fingerprints())
    }

    /// The same fingerprints in half the slots, with remainders a bit longer.
    pub(super) fn halved(&self) -> Result<Self> {
        let (slots, width) = (self.runs.slots(), self.runs.width());
        let least = if self.runs.marks() == Marks::RankSelect { Runs::BLOCK } else { 2 };
        if !(slots / 2).is_multiple_of(least) || width == MAX_REMAINDER {
            let message = format!("{slots} slots with remainders of {width} bits cannot be halved");
            return Err(Error::new(Kind::Unsupported, message));
        }
        self.rebuilt(slots / 2, width + 1, self.fingerprints())
    }

    /// Refuses tables whose fingerprints differ.
    pub(super) fn agree(&self, other: &Self) -> Result<()> {
        agree("fingerprints", self.range(), other.range())
    }

    /// The fingerprints of both, from one end to the other; in more slots where these would be too full.
    pub(super) fn merged(&self, other: &Self) -> Result<Self> {
        let (mut slots, mut width) = (self.runs.slots(), self.runs.width());
        let both = || merge(self.fingerprints(), other.fingerprints());
        let crowded =
            |slots: u64, width: u32| Self::needed(both(), width) as f64 > FULLEST * slots as f64;
        while crowded(slots, width) && width > C::LEAST && slots <= MAX_SLOTS / 2 {
            (slots, width) = (2 * slots, width - 1);
        }
        self.rebuilt(slots, width, both())
    }

    /// Every run is a code of rising remainders, and the shortest one.
    fn check(&self) -> Result<()> {
        let (slots, width) = (self.runs.slots(), self.runs.width());
        let known = width >= C::LEAST
            && width <= MAX_REMAINDER
            && slots <= 2 * MAX_SLOTS
            && slots.ilog2() + width <= 63;
        let coded = |(_, run): (u64, Run)| {
            let (mut pairs, mut before, mut at) = (self.pairs(run), None, 0);
            while let Some((x, count)) = pairs.next() {
                let rising = before.replace(x).is_none_or(|before| before < x);
                let written = C::is_written(&pairs.view, at, (x, count), pairs.at);
                if !(rising && written && count <= MAX_ITEMS) {
                    return false;
                }
                at = pairs.at;
            }
            at == run.len
        };
        if known && self.runs.iter().all(coded) {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: runs that are no code of fingerprints"))
    }
}

impl<C: Code> TablePart for Table<C> {
    fn insert(&mut self, digest: Digest) -> Result<bool> {
        self.insert_times(digest, 1)
    }

    fn insert_all(&mut self, digests: &[Digest]) -> Outcome {
        for (chunk, digests) in digests.chunks(AHEAD).enumerate() {
            let places = self.fetched(digests);
            for (i, place) in places[..digests.len()].iter().enumerate() {
                self.raise(*place, 1).map_err(|e| (chunk * AHEAD + i, e))?;
            }
        }
        Ok(())
    }
}

/// Two sequences in order as one; what is in both has both counts.
fn merge<'a>(
    a: impl Iterator<Item = (u64, u64)> + 'a,
    b: impl Iterator<Item = (u64, u64)> + 'a,
) -> impl Iterator<Item = (u64, u64)> + 'a {
    let (mut a, mut b) = (a.peekable(), b.peekable());
    std::iter::from_fn(move || match (a.peek().copied(), b.peek().copied()) {
        (Some((x, _)), Some((y, _))) if x < y => a.next(),
        (Some((x, _)), Some((y, _))) if y < x => b.next(),
        (Some((x, c)), Some((_, d))) => {
            a.next();
            b.next();
            Some((x, c.saturating_add(d).min(MAX_ITEMS)))
        }
        (one, _) => {
            if one.is_some() {
                a.next()
            } else {
                b.next()
            }
        }
    })
}

fn full(runs: &Runs) -> Error {
    Error::new(
        Kind::CapacityExceeded,
        format!(
            "the {} slots are full (one must stay empty): build the filter for more {{items}}, or double it",
            runs.slots()
        ),
    )
}

impl<C: Code> Part for Table<C> {
    fn answer(&self, digest: Digest) -> Answer {
        Answer::counted(self.count(digest))
    }

    fn fill(&self) -> f64 {
        self.runs.used() as f64 / self.runs.slots() as f64
    }

    /// A non-member passes exactly if its fingerprint is one of those inside.
    fn rates(&self) -> Rates {
        Rates::one_sided(self.distinct() as f64 / self.range() as f64)
    }

    fn describe(&self) -> Vec<Fact> {
        let longest = self.runs.iter().map(|(_, run)| run.len).max().unwrap_or(0);
        vec![
            fact("slots", self.runs.slots()),
            fact("remainder", self.runs.width()),
            real("load", self.fill()),
            fact("longest run", longest),
        ]
    }

    /// The slots of the quotient's run, and which of them hold the remainder.
    fn trace(&self, digest: Digest) -> Vec<Touched> {
        let (quotient, x) = self.split(digest);
        let (run, slots) = (self.runs.run(quotient), self.runs.slots());
        if run.len == 0 {
            return vec![Touched { index: quotient, value: 0, agrees: false }];
        }
        let there = self.has((quotient, x));
        let slot = |(i, value): (u64, u64)| Touched {
            index: (run.start + i) % slots,
            value,
            agrees: there && value == x,
        };
        (0..).zip(self.runs.values(run)).map(slot).collect()
    }
}

/// Refuses `more` items than can be counted.
pub(super) fn countable(items: u64, more: u64) -> Result<()> {
    if more <= MAX_ITEMS - items.min(MAX_ITEMS) {
        return Ok(());
    }
    let message = format!("cannot count more than {MAX_ITEMS} items in total");
    Err(Error::new(Kind::CapacityExceeded, message))
}
