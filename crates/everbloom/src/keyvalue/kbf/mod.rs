//! kBF, a Bloom filter for key–value pairs (Xiong, Yao, Cao, He 2014; catalogue §17; S3 §VI-D).
//!
//! A counting filter whose cells also hold the xor of their keys' values, as codes chosen so that two of them can be
//! told from their xor:
//!
//! ```text
//!   cell = counter · xor of codes E(v) = (v, v³)
//!
//!   insert (x, 5)     │ 1 E(5) │ 0 │ 2 E(5)⊕E(9) │ 3 … │      get x: cell by cell, the values that may be in it
//!   insert (y, 9)     │ 0      │ 1 │ 2 E(5)⊕E(9) │ 1 … │             {5} ∩ {5, 9} ∩ anything = {5}
//! ```
//!
//! A counter of 0 says that the key is not there. A counter of 1 has the value in clear, one of 2 a pair of
//! values ((v, v³) over GF(2^t) is a Sidon set: no two pairs have one sum), others say nothing. A member's value is in
//! the set of every one of its cells. So one value left is the answer; none left shows a non-member; several, or no
//! cell that can be read, leave it unknown (an undecided answer, never a wrong value). At 8 cells a key and k = 4
//! one member in a thousand is unknown, where the counters alone could not read one in 42.
//!
//! Two keys with the same value cancel in a cell (counter 2, code 0): that is unreadable, not the value 0. A
//! counter that reaches its maximum marks a dead cell, which says nothing ever again.
//!
//! Values are numbers below 2^t − 1, or else labels of which there are at most so many. A pair is removed with its
//! value, which may be asked for first; a value is changed in place. Filters of sets that share no key are added,
//! and a filter is halved (a key whose two cells become one cancels there).
//!
//! S3's table says that there are no false negatives, its text that there are; they are the unknown ones here.
//!
//! **Slow:** a query solves an equation over GF(2^t) for every cell that holds two values, and intersects what the
//! cells may hold.
//!
//! **Use it** for changing values of keys that are added and removed, if an occasional "don't know" is acceptable.
//! **Don't** for a fixed set (`bloomier` always knows), or when pairs must be listed (`iblt`).

mod cells;
mod field;

use cells::{CodeCells, Found};
use field::{MAX_T, MIN_T};

use super::entries;
use super::labels::Dictionary;
use crate::filter::Fold;
use crate::parts::labels::{label_of, shown};
use crate::probe::Probe;
use crate::variant::prelude::*;

/// A value per key, in m counters with codes.
///
/// ```
/// use everbloom::keyvalue::{Kbf, Known};
///
/// let mut state = Kbf::with_rate(1000, 0.01)?;
/// state.insert("flow 1", 3)?;
/// state.insert("flow 2", 7)?;
/// assert_eq!(state.get("flow 1"), Known::Value(3));
/// state.update("flow 1", 4)?;
/// assert_eq!(state.get("flow 1"), Known::Value(4));
/// state.remove("flow 1", 4)?;
/// assert_eq!(state.get("flow 1"), Known::Nothing);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Kbf {
    head: Head,
    cells: CodeCells,
    names: Dictionary,
}

state!(Kbf { head, ..cells, ..names });

/// What a filter knows of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// It has this value; where values stand for labels, the number of the label.
    Value(u64),
    /// It is not there.
    Nothing,
    /// It may have one of several values, or any.
    Unknown,
}

impl Kbf {
    /// A filter of `m` cells and `k` probes, with values below 2^`value_bits` − 1 and counters of 4 bits.
    pub fn with_shape(m: u64, k: u32, value_bits: u32, hasher: Hasher) -> Result<Self> {
        let goal = Goal { items: Some(1), ..Goal::of(hasher) };
        let goal = goal.set("m", m).set("k", k).set("value-bits", value_bits);
        let (shape, head) = crate::variant::settle::<Self>(&goal)?;
        Self::empty(&shape, head)
    }

    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Shape { flat: Flat { m, k }, counter_bits, t } = *shape;
        let cells = CodeCells::new(Probe::over(m, k), counter_bits, t)?;
        Ok(Self { head, cells, names: Dictionary::default() })
    }

    /// Inserts a pair. Refused, with nothing changed, if the value is too large. A key that is already present then
    /// has two values, which hide each other.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K, value: u64) -> Result<Seen> {
        let element = self.element(value)?;
        let digest = self.head.hasher.digest(key);
        self.head.count(1);
        Ok(Seen::new_if(self.cells.insert(digest, element)))
    }

    /// What is known of a key.
    pub fn get<K: Key + ?Sized>(&self, key: &K) -> Known {
        match self.cells.find(self.head.hasher.digest(key)) {
            Found::Value(element) => Known::Value(u64::from(element) - 1),
            Found::Nothing => Known::Nothing,
            Found::Unknown => Known::Unknown,
        }
    }

    /// Removes a pair that was inserted. Refused, with nothing changed, if the key is not there or shows another
    /// value.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K, value: u64) -> Result<()> {
        let element = self.element(value)?;
        match self.get(key) {
            Known::Unknown => {}
            Known::Value(found) if found == value => {}
            _ => {
                let message = "the key is not in the filter, or has another value";
                return Err(Error::new(Kind::NotDeletable, message));
            }
        }
        let digest = self.head.hasher.digest(key);
        self.cells.remove(digest, element);
        self.head.count_off();
        Ok(())
    }

    /// Changes the value of a key. Refused, with nothing changed, if its value is not known, or the key is not there.
    pub fn update<K: Key + ?Sized>(&mut self, key: &K, value: u64) -> Result<()> {
        let new = self.element(value)?;
        let old = self.known(key)?;
        let old = self.element(old)?;
        let digest = self.head.hasher.digest(key);
        self.cells.replace(digest, old, new);
        Ok(())
    }

    /// The value of a key that has to have one.
    fn known<K: Key + ?Sized>(&self, key: &K) -> Result<u64> {
        match self.get(key) {
            Known::Value(value) => Ok(value),
            Known::Nothing => Err(Error::new(Kind::NotDeletable, "the key is not in the filter")),
            Known::Unknown => Err(Error::new(
                Kind::Ambiguous,
                "the key's value is hidden by other keys: remove it together with its value",
            )),
        }
    }

    /// Adds the pairs of a filter that shares no key with this one.
    pub fn join(&mut self, other: &Self) -> Result<()> {
        self.head.agree(&other.head)?;
        self.cells.agree(&other.cells)?;
        if self.names != other.names {
            return Err(Error::new(
                Kind::Incompatible { what: "labels" },
                "the labels of the two filters are numbered differently: build both with all labels, in the same order",
            ));
        }
        self.cells.add(&other.cells);
        self.head.count(other.head.items);
        Ok(())
    }

    /// Half the cells: same pairs, more of them unknown. Keys whose cells meet leave traces when they are removed.
    pub fn halve(&self) -> Result<Self> {
        Ok(Self { cells: self.cells.halved()?, ..self.clone() })
    }

    /// The label of a value: a number is its own label.
    pub fn label(&self, value: u64) -> Option<Vec<u8>> {
        self.names.label(value)
    }

    /// The field's element of a value: all but 0.
    fn element(&self, value: u64) -> Result<u32> {
        let most = (1u64 << self.cells.t()) - 2;
        if value <= most {
            return Ok(value as u32 + 1);
        }
        Err(Error::record(format!(
            "a value of {value} is above the maximum, {most}: build with wider {{value-bits}}"
        )))
    }

    /// The value of a label, which joins the others if it is new and there is room.
    fn value_of(&mut self, label: &[u8]) -> Result<u64> {
        if self.head.items == 0 && crate::parts::labels::number(label).is_none() {
            self.names.name();
        }
        let t = self.cells.t();
        let full = self.names.len().is_some_and(|len| len + 1 >= 1 << t);
        if full && !self.names.has(label) {
            return Err(Error::record(format!(
                "{} would be one label too many for {t} bits: build with wider {{value-bits}}",
                shown(label)
            )));
        }
        self.names.number(label, t)
    }

    fn check(&self) -> Result<()> {
        if self.names.len().is_none_or(|len| len < 1 << self.cells.t()) {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: more labels than values"))
    }
}

/// Cells and probes, bits per counter, and bits per value.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    flat: Flat,
    counter_bits: u32,
    t: u32,
}

impl Shape {
    fn bits(&self, m: f64) -> f64 {
        m * f64::from(self.counter_bits + 2 * self.t) + libm::exp2(f64::from(self.t))
    }
}

/// P(a non-member gets a value) and P(its value is unknown), for `n` keys in `m` cells with one of `v` values each,
/// all alike: as the real cells tell it, with Poisson's numbers of keys per cell.
pub fn expected_rates(m: f64, n: f64, k: f64, v: f64) -> (f64, f64) {
    let load = k * n / m;
    let empty = libm::exp(-load);
    let (one, two) = (load * empty, load * load / 2.0 * empty);
    // A pair of equal values cannot be read.
    let pair = 2.0 * two / (v * v);
    let dumb = (1.0 - empty - one - two * (1.0 - 1.0 / v)).max(0.0);
    let all = |share: f64| libm::pow(share + dumb, k);
    let several = v * (v - 1.0) / 2.0 * (all(pair) - all(0.0));
    let some = v * (all(one / v + (v - 1.0) * pair) - all(0.0));
    ((some - 2.0 * several).max(0.0), several + all(0.0))
}

impl Plan for Kbf {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let [counter_bits, t] =
            request.wholes(["counter-bits", "value-bits"]).map(|number| number as u32);
        let shape = Shape { flat: Flat { m: 1, k: 1 }, counter_bits, t };
        let flat = Flat::plan_sized(request, |m, _, _| shape.bits(m))?;
        Ok(Shape { flat, ..shape })
    }

    /// For values that are all equally frequent.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let Flat { m, k } = shape.flat;
        let values = libm::exp2(f64::from(shape.t)) - 1.0;
        let (fpr, undecided) = expected_rates(m as f64, load.distinct as f64, k.into(), values);
        let cell = u64::from(shape.counter_bits + 2 * shape.t);
        let bits = m.saturating_mul(cell).saturating_add(1 << shape.t);
        let fill = Some(shape.flat.fill(load.distinct));
        Some(Expect { undecided, ..Expect::one_sided(fpr, bits, fill).probing(k) })
    }
}

impl Create for Kbf {
    fn create(shape: &Shape, head: Head, inputs: &mut Inputs<'_>) -> Result<Self> {
        let (entries, names) = entries::read(&head.hasher, inputs)?;
        let mut filter = Self { names, ..Self::empty(shape, head)? };
        filter.check().map_err(|_| {
            Error::parameter(
                "there are more labels than value bits can hold: build with wider {value-bits}",
            )
        })?;
        for entry in entries {
            let element = filter.element(entry.value)?;
            filter.cells.insert(entry.digest, element);
            filter.head.count(1);
        }
        Ok(filter)
    }
}

face!(Kbf: Insert, Remove, Lookup, Assign, Merge, Fold);

impl Kbf {
    /// An empty filter for `items` keys, of whose non-members a share of `fpr` meets no empty cell.
    pub fn with_rate(items: u64, fpr: f64) -> Result<Self> {
        let (shape, head) = crate::variant::settle::<Self>(&Goal::new(items, fpr))?;
        Self::empty(&shape, head)
    }
}

impl Filter for Kbf {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(match self.get(record.key) {
            Known::Nothing => Answer::of(false),
            Known::Unknown => Answer { verdict: Verdict::Undecided, detail: Detail::None },
            Known::Value(value) => match self.label(value) {
                Some(label) => Answer::of(true).with(Detail::Value(label)),
                None => Answer::of(true),
            },
        })
    }

    fn fill(&self) -> Option<f64> {
        Some(self.cells.counters.nonzero() as f64 / self.cells.counters.len() as f64)
    }

    fn now(&self) -> Rates {
        let (fpr, undecided) = self.cells.rates();
        Rates { undecided: Some(undecided), ..Rates::one_sided(fpr) }
    }

    fn describe(&self) -> Vec<Fact> {
        let labels = self.names.len().map(|labels| labels.to_string());
        vec![
            fact("m", self.cells.counters.len()),
            fact("k", self.cells.probe.k()),
            fact("value bits", self.cells.t()),
            fact("counter bits", self.cells.counters.width()),
            text("labels", labels.unwrap_or_else(|| "numbers".to_owned())),
            fact("dead cells", self.cells.counters.saturated()),
        ]
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        self.cells.trace(self.head.hasher.digest(key))
    }
}

impl Insert for Kbf {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        let value = self.value_of(label_of(&record)?)?;
        Kbf::insert(self, record.key, value)
    }
}

impl Remove for Kbf {
    /// Without a value, the one that the key's cells show.
    fn remove(&mut self, record: Record<'_>) -> Result<()> {
        let value = match record.value {
            None => self.known(record.key)?,
            Some(_) => self.value_of(label_of(&record)?)?,
        };
        Kbf::remove(self, record.key, value)
    }
}

impl Lookup for Kbf {
    /// Unknown values have none here; [`Filter::query`] tells them from keys that are not there.
    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        match Kbf::get(self, key) {
            Known::Value(value) => self.label(value),
            _ => None,
        }
    }
}

impl Assign for Kbf {
    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.known(key)?;
        let value = self.value_of(value)?;
        self.update(key, value)
    }
}

impl Merge for Kbf {
    fn law(&self) -> MergeLaw {
        MergeLaw::Disjoint
    }

    fn merge(&mut self, other: &dyn Filter) -> Result<()> {
        self.join(other.as_same()?)
    }
}

impl Fold for Kbf {
    fn fold(&self) -> Result<Box<dyn Filter>> {
        Ok(Box::new(self.halve()?))
    }
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Kbf>(Facts {
    id: 73,
    slug: "kbf",
    entry: "§17",
    question: "What value does this key have, when keys and values come and go?",
    name: "kBF",
    paper: "S. Xiong, Y. Yao, Q. Cao, T. He, kBF: a Bloom filter for key-value storage with an application on \
            approximate state machines, INFOCOM 2014",
    family: "keyvalue",
    needs: &["values", "groups", "delete", "fold"],
    input: Input::valued(ValueKind::Label),
    meaning: "items are pairs; the rate is that of non-members without an empty cell, most of which are detected",
    forms: &[Form::exact_while(
        FORM,
        &[Ability::Insert, Ability::Remove, Ability::Lookup, Ability::Merge, Ability::Fold],
        "only pairs that were inserted are removed; members whose values are hidden by others are undecided",
    )],
    params: &[
        PARAM_M,
        PARAM_K,
        Param::integer("value-bits", MIN_T as u64, MAX_T as u64, "bits per value, t")
            .or(Preset::Integer(8)),
        Param::integer("counter-bits", 2, 16, "bits per counter; a full one is dead")
            .or(Preset::Integer(4)),
    ],
    ..Facts::COLLECTED
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::{Bits, Counters};
    use crate::shared_tests::lies_are_refused;

    #[test]
    fn files_whose_codes_do_not_fit_are_refused() {
        let mut filter = Kbf::with_shape(60, 3, 4, Hasher::default()).unwrap();
        (0..10u64).for_each(|key| _ = filter.insert(&key, key).unwrap());
        let lies: [fn(&mut Kbf); 4] = [
            |f| f.cells.counters = Counters::new(59, 4),
            |f| f.cells.valid = Bits::new(32),
            |f| _ = f.cells.valid.set(0),
            |f| f.cells.codes = crate::cells::Packed::new(60, 7),
        ];
        lies_are_refused(&filter, lies);
    }
}
