//! The Bloomier filter by xor retrieval (Chazelle, Kilian, Rubinfeld, Tal 2004; Charles, Chellapilla
//! 2008; catalogue §20; S0 §III-G).
//!
//! A function on a fixed set of keys: members get exactly their value, others get "absent", except for
//! a share of 2^−c that gets some value. Every key has three cells; their xor, with a mask of the key's
//! own, is the value beside c zeros. The keys are not stored:
//!
//! ```text
//!               ┌──── segment 0 ────┬──── segment 1 ────┬──── segment 2 ────┐
//!   cells       │     █             │         █         │ █                 │   1.23 per key
//!               └─────│─────────────┴─────────│─────────┴─│─────────────────┘
//!   get x:            └───────── ⊕ ───────────┴───────────┘ ⊕ mask(x)  =  value │ 00…0
//!                                                                         r bits  c bits: not 0? absent
//! ```
//!
//! To build it, the keys are peeled ([`peel`]): in the order found, every key owns a cell that no later
//! one touches, so in reverse order each can set its own cell to make its equation true.
//!
//! The `mutable` form keeps the peeled cell apart from the value: the equations give ι, *which* of the
//! three cells is the key's own (with ι = 3 for nobody's, so that only ¾·2^−c of all others pass), and a
//! second table holds the plain value in that cell, where it can be changed. **Trap:** setting the value of
//! a non-member that passes the check overwrites a member's; only the c check bits stand against that.
//!
//! **Use it** to look up a small value per key of a set that is known in full: 1.23·(r + c) bits a key.
//! **Don't** when keys come or go, which nothing but a new build allows. The check bits are part of the
//! mask here: a random check added to a random mask is a random mask.

use crate::cells::Packed;
use crate::keyvalue::labels::Labels;
use crate::parts::labels::{MAX_LABEL_BYTES, label_of, number, shown};
use crate::plan::MAX_CELLS;
use crate::probe::{Partitioned, Probe};
use crate::solve::{Peeled, peel};
use crate::variant::prelude::*;

/// Every key has a cell in each of three segments.
const SEGMENTS: u64 = 3;
/// The bits of ι, which names a segment.
const OWNER_BITS: u32 = 2;
const MAX_CHECK_BITS: u32 = 62;
/// Nine of ten salts peel (catalogue §20), so not one in 64 does if the keys are at fault.
const ATTEMPTS: u64 = 64;
/// The salt of the mask: beyond the probes, which use the words 0..3.
const MASK: u64 = 1 << 32;

/// A value per key of a fixed set.
#[derive(Clone, Debug, PartialEq)]
pub struct Bloomier {
    head: Head,
    /// Salts the digests: the first under which the keys peel.
    salt: u64,
    probe: Probe,
    check_bits: u32,
    value_bits: u32,
    /// Value and check, or ι and check.
    table: Packed,
    /// The values, in the mutable form.
    values: Option<Packed>,
    /// What the values stand for, if not for themselves as numbers.
    labels: Option<Vec<Vec<u8>>>,
}

state!(Bloomier { head, salt, probe, check_bits, value_bits, table, values, labels });

/// A key on its way into the filter.
struct Entry {
    digest: Digest,
    value: u64,
    /// Where it came from, counted from 1.
    record: u64,
}

/// Cells for `n` keys: ⌈1.23 n⌉ + 32, made a multiple of three (catalogue §20).
pub fn cells_for(n: u64) -> u64 {
    let cells = (u128::from(n) * 123).div_ceil(100) + 32;
    u64::try_from(cells.next_multiple_of(u128::from(SEGMENTS))).unwrap_or(u64::MAX - 3)
}

/// P(present | not a member) with `c` check bits: 2^−c, and ¾ of it where ι must name a segment.
pub fn false_positives(mutable: bool, c: u32) -> f64 {
    libm::exp2(-f64::from(c)) * if mutable { 0.75 } else { 1.0 }
}

/// The fewest check bits that keep [`false_positives`] at or below `p`.
pub fn check_bits_for(mutable: bool, p: f64) -> u32 {
    libm::ceil(libm::log2(false_positives(mutable, 0) / p)).max(0.0) as u32
}

impl Bloomier {
    /// The filter of key–value pairs, values of `value_bits` bits (1 to 64), with `check_bits` check bits;
    /// both together at most 64.
    ///
    /// ```
    /// use everbloom::hash::Hasher;
    /// use everbloom::keyvalue::Bloomier;
    ///
    /// let ports = [("ssh", 22), ("http", 80), ("https", 443)];
    /// let filter = Bloomier::from_values(ports, 9, 20, Hasher::default())?;
    /// assert_eq!(filter.get("http"), Some(80));
    /// assert_eq!(filter.get("gopher"), None);
    /// # Ok::<(), everbloom::error::Error>(())
    /// ```
    pub fn from_values<K: Key>(
        pairs: impl IntoIterator<Item = (K, u64)>,
        value_bits: u32,
        check_bits: u32,
        hasher: Hasher,
    ) -> Result<Self> {
        Self::from_pairs(pairs, value_bits, check_bits, Head::new(hasher, IMMUTABLE))
    }

    /// The same with values that can be [`set`](Bloomier::set), and at most 62 check bits.
    pub fn mutable_from_values<K: Key>(
        pairs: impl IntoIterator<Item = (K, u64)>,
        value_bits: u32,
        check_bits: u32,
        hasher: Hasher,
    ) -> Result<Self> {
        Self::from_pairs(pairs, value_bits, check_bits, Head::new(hasher, MUTABLE))
    }

    fn from_pairs<K: Key>(
        pairs: impl IntoIterator<Item = (K, u64)>,
        value_bits: u32,
        check_bits: u32,
        head: Head,
    ) -> Result<Self> {
        let entry = |(record, (key, value)): (u64, (K, u64))| {
            let digest = head.hasher.digest(&key);
            Entry { digest, value, record }
        };
        let mut entries: Vec<Entry> = (1..).zip(pairs).map(entry).collect();
        let widest = entries.iter().map(|e| bits_of(e.value)).max().unwrap_or(1);
        if !(widest..=64).contains(&value_bits) {
            return Err(Error::parameter(format!(
                "{value_bits} bits a value, {widest} are needed"
            )));
        }
        collapse(&mut entries).map_err(|(first, second)| {
            Error::record(format!("pairs {first} and {second} give one key two values"))
        })?;
        let shape = Shape { check_bits: Some(check_bits), ..Shape::of(head.form == MUTABLE) };
        shape.settle(entries.len() as u64, value_bits)?;
        Self::assemble(head, &entries, value_bits, check_bits, None)
    }

    /// Peels the keys under one salt after another, then solves for the cells.
    fn assemble(
        head: Head,
        entries: &[Entry],
        value_bits: u32,
        check_bits: u32,
        labels: Option<Vec<Vec<u8>>>,
    ) -> Result<Self> {
        let cells = cells_for(entries.len() as u64);
        let mutable = head.form == MUTABLE;
        let width = check_bits + if mutable { OWNER_BITS } else { value_bits };
        let mut filter = Self {
            head: Head { items: entries.len() as u64, ..head },
            salt: 0,
            probe: Probe::Partitioned(Partitioned::new(cells / SEGMENTS, SEGMENTS as u32)),
            check_bits,
            value_bits,
            table: Packed::new(cells, width),
            values: mutable.then(|| Packed::new(cells, value_bits)),
            labels,
        };
        for salt in 0..ATTEMPTS {
            filter.salt = salt;
            let around = |key: usize| filter.cells(entries[key].digest.salted(salt));
            let indices = |key| around(key).map(|cell| cell as usize);
            if let Some(order) = peel(entries.len(), cells as usize, indices) {
                filter.solve(entries, &order);
                return Ok(filter);
            }
        }
        Err(Error::parameter(format!(
            "the keys do not peel under {ATTEMPTS} salts, which chance does not do: \
             build with another seed, or under a secret key if somebody chose them"
        )))
    }

    /// Sets, in reverse order of peeling, every key's own cell so that its equation holds.
    fn solve(&mut self, entries: &[Entry], order: &[Peeled]) {
        for &Peeled { key, slot } in order.iter().rev() {
            let Entry { digest, value, .. } = entries[key];
            let digest = digest.salted(self.salt);
            let own = self.cells(digest)[slot];
            let stored = match &mut self.values {
                Some(values) => {
                    values.set(own, value);
                    slot as u64
                }
                None => value,
            };
            // The own cell is still zero, so this is the xor of the other two and the mask.
            let rest = self.equation(digest);
            self.table.set(own, rest ^ stored << self.check_bits);
        }
    }

    fn cells(&self, digest: Digest) -> [u64; SEGMENTS as usize] {
        let mut cells = [0; SEGMENTS as usize];
        let mut slots = cells.iter_mut();
        self.probe.each(digest, |i| {
            if let Some(slot) = slots.next() {
                *slot = i;
            }
        });
        cells
    }

    /// The xor of the key's cells and its mask: for a member, what it stores beside c zeros.
    fn equation(&self, digest: Digest) -> u64 {
        let mask = digest.word(MASK) & self.table.max();
        self.cells(digest).iter().fold(mask, |xor, &cell| xor ^ self.table.get(cell))
    }

    /// What the equation says of the key, if its check bits are right.
    fn stored<K: Key + ?Sized>(&self, key: &K) -> Option<(u64, Digest)> {
        let digest = self.head.hasher.digest(key).salted(self.salt);
        let found = self.equation(digest);
        let checked = found.trailing_zeros() >= self.check_bits;
        // Cells that nobody solved for would let some pass.
        (checked && self.head.items > 0).then_some((found >> self.check_bits, digest))
    }

    /// In the mutable form, the cell that holds the key's value.
    fn own_cell<K: Key + ?Sized>(&self, key: &K) -> Option<u64> {
        let (owner, digest) = self.stored(key)?;
        self.cells(digest).get(owner as usize).copied()
    }

    /// The key's value: a member's for certain, anyone else's with probability 2^−c or less. Where values
    /// stand for labels, the number of the label.
    pub fn get<K: Key + ?Sized>(&self, key: &K) -> Option<u64> {
        let value = match &self.values {
            Some(values) => values.get(self.own_cell(key)?),
            None => self.stored(key)?.0,
        };
        // A number that stands for no label is nobody's value.
        let meant = self.labels.as_ref().is_none_or(|labels| value < labels.len() as u64);
        meant.then_some(value)
    }

    /// Changes a member's value, in the mutable form. The filter cannot tell a member from a non-member
    /// that passes the check: setting that one's value overwrites a member's.
    pub fn set<K: Key + ?Sized>(&mut self, key: &K, value: u64) -> Result<()> {
        let cell = self.settable(key)?;
        if self.label(value).is_none() || bits_of(value) > self.value_bits {
            return Err(Error::record(format!(
                "{value} is no value of this filter, which has {} bits for it: \
                 build with wider {{value-bits}}",
                self.value_bits
            )));
        }
        if let Some(values) = &mut self.values {
            values.set(cell, value);
        }
        Ok(())
    }

    fn settable<K: Key + ?Sized>(&self, key: &K) -> Result<u64> {
        if self.values.is_none() {
            return Err(Error::new(
                Kind::Unsupported,
                "values are part of an immutable filter's equations: build with --set form=mutable",
            ));
        }
        self.own_cell(key).ok_or_else(|| {
            Error::record(
                "the key is not in the filter, whose keys are fixed: build it anew with it",
            )
        })
    }

    /// The label that a value stands for: a number stands for itself.
    pub fn label(&self, value: u64) -> Option<Vec<u8>> {
        match &self.labels {
            Some(labels) => labels.get(usize::try_from(value).ok()?).cloned(),
            None => Some(value.to_string().into_bytes()),
        }
    }

    /// How many salts were tried until the keys peeled.
    pub fn attempts(&self) -> u64 {
        self.salt.saturating_add(1)
    }

    /// Number of cells, those of the second table not counted.
    pub fn m(&self) -> u64 {
        self.table.len()
    }

    fn check(&self) -> Result<()> {
        let wrong = |what: &str| Err(Error::corrupt(0, format!("corrupt filter: {what}")));
        self.probe.check(self.table.len())?;
        if !matches!(self.probe, Probe::Partitioned(_)) || u64::from(self.probe.k()) != SEGMENTS {
            return wrong("not the probes of a Bloomier filter");
        }
        let mutable = self.head.form == MUTABLE;
        let stored = if mutable { OWNER_BITS } else { self.value_bits };
        if !(1..=64).contains(&self.value_bits)
            || self.check_bits.checked_add(stored) != Some(self.table.width())
        {
            return wrong("values and checks do not fill the cells");
        }
        let second = self.values.as_ref().map(|values| (values.len(), values.width()));
        if second != mutable.then_some((self.table.len(), self.value_bits)) {
            return wrong("the table of values does not fit the form");
        }
        let most = 1u128 << self.value_bits;
        if self.labels.as_ref().is_some_and(|labels| labels.len() as u128 > most) {
            return wrong("more labels than values");
        }
        Ok(())
    }
}

/// Bits that hold `value`, at least 1.
fn bits_of(value: u64) -> u32 {
    (u64::BITS - value.leading_zeros()).max(1)
}

/// Leaves one entry for each key, in order of the digests; or the records that give one key, or two keys
/// of one digest, different values. Equal digests would never peel.
fn collapse(entries: &mut Vec<Entry>) -> std::result::Result<(), (u64, u64)> {
    entries.sort_unstable_by_key(|e| (e.digest.h1, e.digest.h2, e.record));
    let clash =
        |pair: &&[Entry]| pair[0].digest == pair[1].digest && pair[0].value != pair[1].value;
    if let Some(pair) = entries.windows(2).find(clash) {
        return Err((pair[0].record, pair[1].record));
    }
    entries.dedup_by_key(|e| e.digest);
    Ok(())
}

/// Names the two records that contradict each other; they are read once more, since only digests are kept.
fn conflict(inputs: &mut Inputs<'_>, first: u64, second: u64) -> Error {
    let (mut line, mut keys, mut labels) = (0, Vec::new(), Vec::new());
    let read = inputs.records.batches(&mut |batch| {
        for record in batch {
            line += 1;
            if line == first || line == second {
                keys.push(shown(record.key));
                labels.push(label_of(record).map(shown)?);
            }
        }
        Ok(())
    });
    match (read, &keys[..], &labels[..]) {
        (Ok(()), [key, same], [a, b]) if key == same => Error::record(format!(
            "records {first} and {second}: the key {key} has the labels {a} and {b}, \
             but a key has one value: leave one of the records out"
        )),
        (Ok(()), [key, other], _) => Error::record(format!(
            "records {first} and {second}: the keys {key} and {other} have one digest: \
             build with another seed"
        )),
        (Err(e), ..) => e,
        _ => Error::record(format!("records {first} and {second} give one key two labels")),
    }
}

/// What the goal says of the cells; their number and the width of values come with the records.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    mutable: bool,
    /// By hand or from the rate; else as many as there is room for.
    check_bits: Option<u32>,
    /// At least this many.
    value_bits: Option<u32>,
    room: u64,
    rate: Option<f64>,
}

impl Shape {
    fn of(mutable: bool) -> Self {
        Self { mutable, check_bits: None, value_bits: None, room: MAX_CELLS, rate: None }
    }

    /// Check bits and bits in all for `n` keys with values of `r` bits, if they fit.
    fn settle(&self, n: u64, r: u32) -> Result<(u32, u64)> {
        let cells = cells_for(n);
        let beside = if self.mutable { OWNER_BITS } else { r };
        let other = if self.mutable { r + OWNER_BITS } else { r };
        let most = MAX_CHECK_BITS.min(64 - beside);
        let c = self.check_bits.unwrap_or_else(|| {
            let room = (self.room / cells).saturating_sub(other.into());
            room.clamp(1, most.max(1).into()) as u32
        });
        if c > most {
            return Err(Error::parameter(format!(
                "{c} check bits beside {beside} others do not fit 64: ask for a rate of at least \
                 {:e}, or for {most} check bits",
                false_positives(self.mutable, most)
            )));
        }
        let bits = cells.saturating_mul(u64::from(other + c));
        if bits > self.room {
            return Err(Error::parameter(format!(
                "{n} keys with values of {r} bits and {c} check bits need {} bytes, \
                 more than {}: give more --memory or a higher rate",
                bits.div_ceil(8),
                self.room / 8
            )));
        }
        Ok((c, bits))
    }
}

impl Plan for Bloomier {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let mutable = request.form() == MUTABLE;
        let by_hand = request.integer("check-bits").map(|c| c as u32);
        let (rate, room) = (request.goal_fpr(), request.goal_bits());
        // Memory without a rate buys the best rate; nothing at all, the default one.
        let rate = rate.or((room.is_none() && by_hand.is_none()).then(|| request.fpr()));
        let shape = Shape {
            check_bits: by_hand.or(rate.map(|p| check_bits_for(mutable, p))),
            value_bits: request.integer("value-bits").map(|r| r as u32),
            room: room.unwrap_or(MAX_CELLS).min(MAX_CELLS),
            rate,
            ..Shape::of(mutable)
        };
        // What does not fit a single key does not wait for the records to be refused.
        shape.settle(0, shape.value_bits.unwrap_or(1))?;
        Ok(shape)
    }

    /// Known where `value-bits` is set: the values, which decide how wide the cells are, are not part of
    /// a load.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (c, bits) = shape.settle(load.distinct, shape.value_bits?).ok()?;
        let fpr = if load.distinct == 0 { 0.0 } else { false_positives(shape.mutable, c) };
        Some(Expect::one_sided(fpr, bits, None))
    }
}

impl Create for Bloomier {
    fn create(shape: &Shape, head: Head, inputs: &mut Inputs<'_>) -> Result<Self> {
        let (mut entries, mut labels): (Vec<Entry>, _) = (Vec::new(), Labels::default());
        inputs.records.batches(&mut |batch| {
            for record in batch {
                let line = entries.len() as u64 + 1;
                let value = label_of(record).and_then(|label| {
                    labels.value(label, entries.iter_mut().map(|e| &mut e.value))
                });
                let value = value.map_err(|e| e.context(format!("record {line}")))?;
                let digest = head.hasher.digest(record.key);
                entries.push(Entry { digest, value, record: line });
            }
            Ok(())
        })?;
        collapse(&mut entries).map_err(|(first, second)| conflict(inputs, first, second))?;
        let labels = labels.sorted(entries.iter_mut().map(|e| &mut e.value));
        let widest = entries.iter().map(|e| bits_of(e.value)).max().unwrap_or(1);
        let value_bits = widest.max(shape.value_bits.unwrap_or(1));
        let (check_bits, _) = shape.settle(entries.len() as u64, value_bits)?;
        let rate = shape.rate.unwrap_or_else(|| false_positives(shape.mutable, check_bits));
        let head = Head { fpr: Some(rate).filter(|p| *p < 1.0), ..head };
        Self::assemble(head, &entries, value_bits, check_bits, labels)
    }
}

face!(Bloomier: Lookup, Assign);

impl Filter for Bloomier {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let value = self.get(record.key).and_then(|value| self.label(value));
        Ok(value.map_or(Answer::of(false), |v| Answer::of(true).with(Detail::Value(v))))
    }

    fn fill(&self) -> Option<f64> {
        None
    }

    fn now(&self) -> Rates {
        let mutable = self.values.is_some();
        // Chazelle's |R|/2^Q: in the immutable form, numbers without a label show a non-member too.
        let meant = match &self.labels {
            Some(labels) if !mutable => {
                labels.len() as f64 * libm::exp2(-f64::from(self.value_bits))
            }
            _ => 1.0,
        };
        let members = if self.head.items == 0 { 0.0 } else { 1.0 };
        Rates::one_sided(members * meant * false_positives(mutable, self.check_bits))
    }

    fn describe(&self) -> Vec<Fact> {
        let labels = self.labels.as_ref().map(|labels| labels.len().to_string());
        vec![
            fact("m", self.m()),
            fact("value bits", self.value_bits),
            fact("check bits", self.check_bits),
            text("labels", labels.unwrap_or_else(|| "numbers".to_owned())),
            fact("attempts", self.attempts()),
        ]
    }
}

impl Lookup for Bloomier {
    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        Bloomier::get(self, key).and_then(|value| self.label(value))
    }
}

impl Assign for Bloomier {
    /// A label that is new joins the dictionary while its number fits the values' bits.
    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.settable(key)?;
        let Some(labels) = &mut self.labels else {
            let number = number(value).ok_or_else(|| {
                Error::record(format!("{} is no number, as all the labels are", shown(value)))
            })?;
            return Bloomier::set(self, key, number);
        };
        // Labels are classes, few enough to look through.
        let known = labels.iter().position(|label| label == value);
        let number = known.unwrap_or(labels.len()) as u64;
        if bits_of(number) > self.value_bits {
            return Err(Error::record(format!(
                "{} would be label {number}, more than {} bits can tell apart: \
                 build with a wider --set value-bits",
                shown(value),
                self.value_bits
            )));
        }
        if known.is_none() {
            let bytes: usize = labels.iter().map(Vec::len).sum();
            if bytes + value.len() > MAX_LABEL_BYTES {
                return Err(Error::record(format!(
                    "the labels would take more than {MAX_LABEL_BYTES} bytes"
                )));
            }
            labels.push(value.to_vec());
        }
        Bloomier::set(self, key, number)
    }
}

const IMMUTABLE: &str = "immutable";
const MUTABLE: &str = "mutable";

const ABILITIES: &[Ability] = &[Ability::Lookup];

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 6,
        slug: "bloomier",
        entry: "§20",
        name: "Bloomier filter",
        paper: "B. Chazelle, J. Kilian, R. Rubinfeld, A. Tal, The Bloomier filter: an efficient data structure for static support lookup tables, SODA 2004; D. Charles, K. Chellapilla, Bloomier filters: a second look, ESA 2008",
        family: "keyvalue",
        needs: &["values", "groups", "static"],
        input: Input::valued(ValueKind::Label),
        meaning: "items are the keys read, whatever was planned; the rate is that of non-members that get \
                  a value",
        forms: &[
            Form { name: IMMUTABLE, abilities: ABILITIES, false_negatives: FalseNegatives::Never },
            Form { name: MUTABLE, abilities: ABILITIES, false_negatives: FalseNegatives::Never },
        ],
        params: &[
            Param {
                name: "value-bits",
                range: Range::Integer(1, 64),
                default: Preset::Planned,
                help: "bits per value, at least; by default what the largest value needs",
            },
            Param {
                name: "check-bits",
                range: Range::Integer(0, MAX_CHECK_BITS as u64),
                default: Preset::Planned,
                help: "bits that tell members from others",
            },
        ],
        build: Build::Collected,
        ..Facts::FILTER
    },
    ops: Ops::of::<Bloomier>(),
};
