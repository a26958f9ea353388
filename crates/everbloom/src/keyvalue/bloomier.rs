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
//! To build it, the keys are peeled: in the order found, every key owns a cell that no later
//! one touches, so in reverse order each can set its own cell to make its equation true.
//!
//! The `mutable` form keeps the peeled cell apart from the value: the equations give ι, *which* of the
//! three cells is the key's own (with ι = 3 for nobody's, so that only ¾·2^−c of all others pass), and a
//! second table holds the plain value in that cell, where it can be changed. **Trap:** setting the value of
//! a non-member that passes the check overwrites a member's; only the c check bits protect from that.
//!
//! **Slow:** building peels all keys, in several passes over them and over cells that lie all over the array.
//!
//! **Use it** to look up a small value per key of a set that is fully known: 1.23·(r + c) bits per key. **Don't**
//! when keys are inserted or deleted later, which needs a new build. The check bits are part of the mask here: a
//! random check added to a random mask is a random mask.

use crate::keyvalue::entries::{self, Entry, collapse};
use crate::keyvalue::labels::{Dictionary, bits_of};
use crate::keyvalue::xor_cells::{MAX_CHECK_BITS, OWNER_BITS, XorCells};
pub use crate::keyvalue::xor_cells::{cells_for, check_bits_for, false_positives};
use crate::plan::MAX_CELLS;
use crate::variant::prelude::*;

/// A value per key of a fixed set.
#[derive(Clone, Debug, PartialEq)]
pub struct Bloomier {
    head: Head,
    cells: XorCells,
    names: Dictionary,
}

state!(Bloomier { head, ..cells, ..names });

impl Bloomier {
    /// The filter of key–value pairs, values of `value_bits` bits (1 to 64), with `check_bits` check bits;
    /// both together at most 64.
    ///
    /// ```
    /// use everbloom::{Bloomier, Hasher};
    ///
    /// let ports = [("ssh", 22), ("http", 80), ("https", 443)];
    /// let filter = Bloomier::from_values(ports, 9, 20, Hasher::default())?;
    /// assert_eq!(filter.get("http"), Some(80));
    /// assert_eq!(filter.get("gopher"), None);
    /// # Ok::<(), everbloom::Error>(())
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
                "{value_bits} bits per value, but {widest} are needed"
            )));
        }
        collapse(&mut entries).map_err(|(first, second)| {
            Error::record(format!("pairs {first} and {second} give the same key two values"))
        })?;
        let mutable = head.form == MUTABLE;
        let shape = Shape { check_bits: Some(check_bits), ..Shape::of(mutable) };
        shape.settle(entries.len() as u64, value_bits)?;
        let cells = XorCells::of(&entries, mutable, value_bits, check_bits)?;
        Ok(Self::assemble(head, &entries, cells, Dictionary::default()))
    }

    fn assemble(head: Head, entries: &[Entry], cells: XorCells, names: Dictionary) -> Self {
        Self { head: Head { items: entries.len() as u64, ..head }, cells, names }
    }

    /// The key's value: a member's for certain, anyone else's with probability 2^−c or less. Where values
    /// stand for labels, the number of the label.
    pub fn get<K: Key + ?Sized>(&self, key: &K) -> Option<u64> {
        // Cells that nobody solved for would let some pass.
        if self.head.items == 0 {
            return None;
        }
        let value = self.cells.value(self.head.hasher.digest(key))?;
        // A number that stands for no label is no key's value.
        self.names.means(value).then_some(value)
    }

    /// Changes a member's value, in the mutable form. The filter cannot distinguish a member from a non-member that
    /// passes the check: setting the value of such a key overwrites a member's.
    pub fn set<K: Key + ?Sized>(&mut self, key: &K, value: u64) -> Result<()> {
        let cell = self.settable(key)?;
        if !self.names.means(value) || bits_of(value) > self.cells.value_bits {
            return Err(Error::record(format!(
                "{value} does not fit the {} bits of a value: build with wider {{value-bits}}",
                self.cells.value_bits
            )));
        }
        self.cells.assign(cell, value);
        Ok(())
    }

    fn settable<K: Key + ?Sized>(&self, key: &K) -> Result<u64> {
        if self.head.form != MUTABLE {
            return Err(Error::unsupported(
                "the values of an immutable filter cannot change: use form mutable",
            ));
        }
        let members = self.head.items > 0;
        let cell = members.then(|| self.cells.own_cell(self.head.hasher.digest(key))).flatten();
        cell.ok_or_else(|| {
            Error::record(
                "the key is not in the filter, whose keys are fixed: rebuild the filter with it",
            )
        })
    }

    /// The label of a value: a number is its own label.
    pub fn label(&self, value: u64) -> Option<Vec<u8>> {
        self.names.label(value)
    }

    /// How many salts were tried until the keys peeled.
    pub fn attempts(&self) -> u64 {
        self.cells.salt.saturating_add(1)
    }

    /// Number of cells, those of the second table not counted.
    pub fn m(&self) -> u64 {
        self.cells.table.len()
    }

    fn check(&self) -> Result<()> {
        let wrong = |what: &str| Err(Error::corrupt(0, format!("corrupt filter: {what}")));
        if self.cells.mutable() != (self.head.form == MUTABLE) {
            return wrong("the table of values does not fit the form");
        }
        if self.names.len().is_some_and(|len| len > 1 << self.cells.value_bits) {
            return wrong("more labels than values");
        }
        Ok(())
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
                "{c} check bits and {beside} others do not fit 64: use a {{rate}} of at least \
                 {:e}, or for {most} {{check-bits}}",
                false_positives(self.mutable, most)
            )));
        }
        let bits = cells.saturating_mul(u64::from(other + c));
        if bits > self.room {
            return Err(Error::parameter(format!(
                "{n} keys with values of {r} bits and {c} check bits need {} bytes, \
                 more than {}: give more {{memory}} or a higher {{rate}}",
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
        let (entries, names) = entries::read(&head.hasher, inputs)?;
        let widest = entries.iter().map(|e| bits_of(e.value)).max().unwrap_or(1);
        let value_bits = widest.max(shape.value_bits.unwrap_or(1));
        let (check_bits, _) = shape.settle(entries.len() as u64, value_bits)?;
        let rate = shape.rate.unwrap_or_else(|| false_positives(shape.mutable, check_bits));
        let head = Head { fpr: Some(rate).filter(|p| *p < 1.0), ..head };
        let cells = XorCells::of(&entries, shape.mutable, value_bits, check_bits)?;
        Ok(Self::assemble(head, &entries, cells, names))
    }
}

face!(Bloomier: Lookup, Assign);

impl Filter for Bloomier {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let value = self.get(record.key).and_then(|value| self.label(value));
        Ok(value.map_or(Answer::of(false), |v| Answer::of(true).with(Detail::Value(v))))
    }

    fn now(&self) -> Rates {
        let mutable = self.cells.mutable();
        // Chazelle's |R|/2^Q: in the immutable form, numbers without a label show a non-member too.
        let meant = match self.names.len() {
            Some(labels) if !mutable => {
                labels as f64 * libm::exp2(-f64::from(self.cells.value_bits))
            }
            _ => 1.0,
        };
        let members = if self.head.items == 0 { 0.0 } else { 1.0 };
        Rates::one_sided(members * meant * false_positives(mutable, self.cells.check_bits))
    }

    fn describe(&self) -> Vec<Fact> {
        let labels = self.names.len().map(|labels| labels.to_string());
        vec![
            fact("m", self.m()),
            fact("value bits", self.cells.value_bits),
            fact("check bits", self.cells.check_bits),
            text("labels", labels.unwrap_or_else(|| "numbers".to_owned())),
            fact("attempts", self.attempts()),
        ]
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        self.cells.trace(self.head.hasher.digest(key))
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
        let number = self.names.number(value, self.cells.value_bits)?;
        Bloomier::set(self, key, number)
    }
}

const IMMUTABLE: &str = "immutable";
const MUTABLE: &str = "mutable";

const ABILITIES: &[Ability] = &[Ability::Lookup];

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Bloomier>(Facts {
    id: 6,
    slug: "bloomier",
    entry: "§20",
    question: "What value does this key of a fixed set have?",
    name: "Bloomier filter",
    paper: "B. Chazelle, J. Kilian, R. Rubinfeld, A. Tal, The Bloomier filter: an efficient data structure for static support lookup tables, SODA 2004; D. Charles, K. Chellapilla, Bloomier filters: a second look, ESA 2008",
    family: "keyvalue",
    needs: &["values", "groups", "static"],
    input: Input::valued(ValueKind::Label),
    meaning: "items are the keys read, whatever was planned; the rate is that of non-members that get \
              a value",
    forms: &[Form::exact(IMMUTABLE, ABILITIES), Form::exact(MUTABLE, ABILITIES)],
    params: &[
        Param::integer(
            "value-bits",
            1,
            64,
            "bits per value, at least; by default what the largest value needs",
        ),
        Param::integer(
            "check-bits",
            0,
            MAX_CHECK_BITS as u64,
            "bits that distinguish members from non-members",
        ),
    ],
    ..Facts::COLLECTED
});
