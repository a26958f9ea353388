//! The invertible Bloom lookup table (Goodrich, Mitzenmacher 2011; catalogue §18; S3 §VI-D).
//!
//! A table of key–value pairs in fixed space, from which every pair can be read back as long as there are not too
//! many at that moment, however many there were in between. A pair is added to one cell in each of k segments:
//!
//! ```text
//!   cell = count · xor of the pairs · xor of the pairs' checks
//!
//!   +(x,7) +(y,3)   │ +1 x,7 │   –   │ +2 x⊕y │ +1 y,3 │  –  │ …
//!   get x             ↑ pure and x: 7            get z: an empty cell, or a pure one of another key: not there
//!   −(w,5)          │ +1 x,7 │ −1 w,5 │ +1 x⊕y⊕w │ …          the last has a count of 1, but no check that fits
//! ```
//!
//! A cell is *pure* if its count is ±1 and its check is that of the pair it holds. Looking up a key ends at the
//! first cell of its k that is empty or pure; if there is none, the table cannot tell (an undecided answer), unlike
//! [`list`](Iblt::list), which takes pure pairs out of a copy until all cells are empty. Listing works, nearly
//! always, above c·n cells for n pairs (c = 1.2218, 1.2949, 1.4249, 1.5697, 1.7189 for k = 3 to 7), and nearly never
//! below. Then most lookups are undecided: at k = 3 a member's with (1 − e^{−kn/m})^k, 0.47 at m = 2n and
//! 0.15 at m = 4n. Set `m` by hand where keys are looked up one by one.
//!
//! Pairs may be deleted before they are inserted: counts go below zero and come back. Deleting what never was
//! there leaves cells with a count of 1 that hold a mixture; without the checks (the paper's simple form) a lookup
//! would return garbage. The check is over key *and* value, so that deleting a key under another value is seen,
//! too. A key that is inserted twice cancels in the xor: its cells stay unreadable until it is deleted once. And
//! what was inserted at one place can be subtracted at another: what is listed is then the difference, with sides.
//! A key that has different values on the two sides is in the same cells with both, and cannot be listed: make what
//! changes part of the key (a version, a time).
//!
//! Keys and values have any length up to one that is fixed for the table: all cells have room for the longest.
//!
//! **Use it** to send which pairs were added and removed between two versions of a large map, or to store a set
//! that is large at times and small whenever it is read. **Don't** for plain lookups (`bloomier`), for sets of ids
//! (`invertible`), or if there are duplicates.

mod shape;

use smallvec::SmallVec;

pub use shape::Shape;

use crate::filter::{Difference, List};
use crate::parts::labels::shown;
use crate::parts::sum_cells::{CHECK, Place, SumCells, param_k};
use crate::variant::prelude::*;

/// Key–value pairs in cells that can be read back, subtracted and deleted from. It is planned for the pairs in it
/// when it is listed, and for the share of all listings that fail.
///
/// ```
/// use everbloom::keyvalue::{Got, Iblt};
///
/// let mut ours = Iblt::with_rate(100, 0.01)?;
/// let mut theirs = ours.clone();
/// for (name, port) in [("ssh", "22"), ("http", "80")] {
///     ours.insert(name, port.as_bytes())?;
/// }
/// assert_eq!(ours.get("http")?, Got::Value(b"80".to_vec()));
/// assert_eq!(ours.get("gopher")?, Got::Nothing);
///
/// theirs.insert("ssh", b"22")?;
/// theirs.insert("gopher", b"70")?;
/// ours.subtract(&theirs)?;
/// let changes = ours.list()?;
/// assert_eq!(changes.inserted, [(b"http".to_vec(), b"80".to_vec())]);
/// assert_eq!(changes.deleted, [(b"gopher".to_vec(), b"70".to_vec())]);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Iblt {
    head: Head,
    /// The longest key and the longest value.
    key_bytes: u64,
    value_bytes: u64,
    sums: SumCells,
}

state!(Iblt { head, key_bytes, value_bytes, ..sums });

/// What a table says of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Got {
    /// It has this value.
    Value(Vec<u8>),
    /// It is not there.
    Nothing,
    /// It was deleted, with this value, once more often than inserted; or is the other side's.
    Deleted(Vec<u8>),
    /// Other pairs hide it: only a listing can tell.
    Undecided,
}

/// Every pair of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Pairs inserted, in order of their keys.
    pub inserted: Vec<(Vec<u8>, Vec<u8>)>,
    /// Pairs deleted that were not inserted, in order of their keys.
    pub deleted: Vec<(Vec<u8>, Vec<u8>)>,
}

/// The lengths of key and value, the key, the value, and zeros: what is added to cells.
type Content = SmallVec<[u64; 8]>;

/// Bytes of the two lengths.
const LENGTHS: usize = 4;

/// Words that hold a pair.
fn words(key_bytes: u64, value_bytes: u64) -> u64 {
    (LENGTHS as u64 + key_bytes + value_bytes).div_ceil(8)
}

impl Iblt {
    /// A table of `cells` cells in `k` segments (3 to 7) of ⌊cells/k⌋.
    pub fn with_shape(cells: u64, k: u32, hasher: Hasher) -> Result<Self> {
        empty(&Goal::of(hasher).set("m", cells).set("k", k))
    }

    /// Inserts a pair. Refused, with nothing changed, if key or value is longer than those of the table.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K, value: &[u8]) -> Result<Seen> {
        let content = key.with_bytes(|key| self.content(key, value))?;
        self.head.count(1);
        Ok(Seen::new_if(self.add(&content, 1)))
    }

    /// Deletes a pair, which may be inserted later, too.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K, value: &[u8]) -> Result<()> {
        let content = key.with_bytes(|key| self.content(key, value))?;
        self.add(&content, -1);
        self.head.count_off();
        Ok(())
    }

    /// The value of a key, if its own cells determine it: never a wrong one. Refused if the key is longer than those
    /// of the table.
    pub fn get<K: Key + ?Sized>(&self, key: &K) -> Result<Got> {
        key.with_bytes(|key| {
            self.check_length("key-bytes", key, self.key_bytes)?;
            Ok(self.look_up(key))
        })
    }

    fn look_up(&self, key: &[u8]) -> Got {
        let mut got = Got::Undecided;
        self.sums.probe.all(self.head.hasher.digest(key), |i| {
            if self.sums.cells.get(i).is_empty() {
                got = Got::Nothing;
            } else if let Some((_, cell)) = self.sums.pure(i, |content| self.place(content)) {
                got = match pair_of(cell.content, self.key_bytes, self.value_bytes) {
                    Some((found, value)) if found == key && cell.count > 0 => Got::Value(value),
                    Some((found, value)) if found == key => Got::Deleted(value),
                    _ => Got::Nothing,
                };
            }
            got == Got::Undecided
        });
        got
    }

    /// Every pair, or an error if there are too many to list; the table is unchanged.
    pub fn list(&self) -> Result<Listing> {
        let mut all = Listing::default();
        let left = self.sums.clone().drain(
            |content| self.place(content),
            |content, sign| {
                let side = if sign > 0 { &mut all.inserted } else { &mut all.deleted };
                side.extend(pair_of(content, self.key_bytes, self.value_bytes));
            },
        );
        all.inserted.sort_unstable();
        all.deleted.sort_unstable();
        // A hostile file may hold the same pair more than once.
        let once = |side: &[(Vec<u8>, Vec<u8>)]| side.windows(2).all(|pair| pair[0] != pair[1]);
        if left.used() == 0 && once(&all.inserted) && once(&all.deleted) {
            return Ok(all);
        }
        // Lengths and bytes of equal keys cancel: bytes 0 and 1, and those behind both lengths.
        let nameless = |content: &[u64]| content[0] & 0xFF_0000_FFFF == 0;
        let message = if left.repeated(nameless) {
            "a key is in the table more than once, which hides it and others: remove the pairs that were added twice, or \
             build the table again with each key once"
                .to_owned()
        } else {
            let m = self.m();
            format!(
                "{m} cells are too few to list the pairs: retry with twice the cells, on both sides"
            )
        };
        Err(Error::new(Kind::Undecodable, message))
    }

    /// Subtracts another table's cells. Pairs of both cancel; the rest that was not inserted here counts as deleted.
    /// Items become those of this side minus those of the other, at least 0.
    pub fn subtract(&mut self, other: &Iblt) -> Result<()> {
        self.combine(other, -1)?;
        self.head.items = self.head.items.saturating_sub(other.head.items);
        Ok(())
    }

    fn combine(&mut self, other: &Iblt, sign: i64) -> Result<()> {
        self.head.agree(&other.head)?;
        crate::error::agree("key bytes", self.key_bytes, other.key_bytes)?;
        crate::error::agree("value bytes", self.value_bytes, other.value_bytes)?;
        self.sums.probe.agree(&other.sums.probe)?;
        self.sums.cells.combine(&other.sums.cells, sign);
        Ok(())
    }

    /// Number of cells.
    pub fn m(&self) -> u64 {
        self.sums.cells.len()
    }

    fn add(&mut self, content: &[u64], count: i64) -> bool {
        self.place(content).is_some_and(|place| self.sums.add(place, content, count))
    }

    /// Where a pair is: its cells by the key, its check by all of it. None for words that are no pair.
    fn place(&self, content: &[u64]) -> Option<Place> {
        let bytes: SmallVec<[u8; 64]> =
            content.iter().flat_map(|word| word.to_le_bytes()).collect();
        let (key, _) = split(&bytes, self.key_bytes, self.value_bytes)?;
        let digest = self.head.hasher.digest(key);
        Some(Place { digest, check: self.head.hasher.digest(&bytes[..]).word(CHECK) })
    }

    fn content(&self, key: &[u8], value: &[u8]) -> Result<Content> {
        self.check_length("key-bytes", key, self.key_bytes)?;
        self.check_length("value-bytes", value, self.value_bytes)?;
        let mut bytes = SmallVec::<[u8; 64]>::new();
        bytes.extend_from_slice(&(key.len() as u16).to_le_bytes());
        bytes.extend_from_slice(&(value.len() as u16).to_le_bytes());
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(value);
        bytes.resize(8 * words(self.key_bytes, self.value_bytes) as usize, 0);
        let word = |word: &[u8]| u64::from_le_bytes(word.try_into().unwrap_or_default());
        Ok(bytes.chunks_exact(8).map(word).collect())
    }

    fn check_length(&self, param: &str, bytes: &[u8], most: u64) -> Result<()> {
        if bytes.len() as u64 <= most {
            return Ok(());
        }
        Err(Error::record(format!(
            "{} has {} bytes, and a cell of this table has room for {most}: build with more {{{param}}}",
            shown(bytes),
            bytes.len()
        )))
    }

    fn check(&self) -> Result<()> {
        let lengths = VARIANT.takes("key-bytes", self.key_bytes)
            && VARIANT.takes("value-bytes", self.value_bytes)
            && self.sums.cells.width() == words(self.key_bytes, self.value_bytes);
        if lengths {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: cells that do not fit their keys and values"))
    }
}

/// Key and value in the bytes of a content, if it is one: lengths within bounds, and nothing but zeros behind.
fn split(bytes: &[u8], key_bytes: u64, value_bytes: u64) -> Option<(&[u8], &[u8])> {
    let length = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    let (key, value) = (length(0), length(2));
    let (start, end) = (LENGTHS + key, LENGTHS + key + value);
    let fits = key as u64 <= key_bytes && value as u64 <= value_bytes;
    let canonical = fits && bytes.get(end..)?.iter().all(|byte| *byte == 0);
    canonical.then(|| (&bytes[LENGTHS..start], &bytes[start..end]))
}

fn pair_of(content: &[u64], key_bytes: u64, value_bytes: u64) -> Option<(Vec<u8>, Vec<u8>)> {
    let bytes: SmallVec<[u8; 64]> = content.iter().flat_map(|word| word.to_le_bytes()).collect();
    split(&bytes, key_bytes, value_bytes).map(|(key, value)| (key.to_vec(), value.to_vec()))
}

impl Stream for Iblt {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Shape { slice, k, key_bytes, value_bytes, rate } = *shape;
        let sums = SumCells::new(slice, k, words(key_bytes, value_bytes))?;
        // The target is a rate of failed listings, which only the plan knows.
        Ok(Self { head: Head { fpr: rate, ..head }, key_bytes, value_bytes, sums })
    }
}

face!(Iblt: Insert, Remove, Lookup, Assign, Merge, Reconcile, List);
planned!(Iblt: "A table that lists `items` pairs, and fails to in a share of `fpr` of all cases.");

impl Filter for Iblt {
    /// A key longer than those of the table is not there.
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(match self.get(record.key).unwrap_or(Got::Nothing) {
            Got::Value(value) => Answer::of(true).with(Detail::Value(value)),
            Got::Nothing => Answer::of(false),
            Got::Deleted(value) => Answer::of(false).with(Detail::Value(value)),
            Got::Undecided => Answer { verdict: Verdict::Undecided, detail: Detail::None },
        })
    }

    fn fill(&self) -> Option<f64> {
        Some(self.sums.used() as f64 / self.m() as f64)
    }

    fn now(&self) -> Rates {
        let hides = |i: u64| {
            let pure = || self.sums.pure(i, |content| self.place(content)).is_some();
            !self.sums.cells.get(i).is_empty() && !pure()
        };
        Rates { undecided: Some(self.sums.in_all(hides)), ..Rates::one_sided(0.0) }
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("m", self.m()),
            fact("k", self.sums.probe.k()),
            fact("key bytes", self.key_bytes),
            fact("value bytes", self.value_bytes),
        ]
    }

    /// The count of each of the key's cells; pure cells of the key itself speak for it.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let mut out = Vec::new();
        self.sums.probe.each(self.head.hasher.digest(key), |index| {
            let cell = self.sums.cells.get(index);
            let own =
                self.sums.pure(index, |content| self.place(content)).is_some_and(|(_, cell)| {
                    pair_of(cell.content, self.key_bytes, self.value_bytes)
                        .is_some_and(|p| p.0 == key)
                });
            out.push(Touched { index, value: cell.count.unsigned_abs(), agrees: own });
        });
        out
    }
}

/// The value of a record; without one, the empty value.
fn value_of<'a>(record: &Record<'a>) -> Result<Option<&'a [u8]>> {
    match record.value {
        None => Ok(None),
        Some(Value::Bytes(value) | Value::Label(value)) => Ok(Some(value)),
        Some(_) => Err(Error::record("the value of the key must be bytes")),
    }
}

impl Insert for Iblt {
    /// A pair that is there stays as it is. Refused if the key has another value, since two would hide each other.
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        let value = value_of(&record)?.unwrap_or_default();
        match self.get(record.key)? {
            Got::Value(held) if held == value => Ok(Seen::Maybe),
            Got::Value(_) => Err(Error::record("the key is in the table with another value")),
            Got::Deleted(held) if held != value => Err(Error::record(
                "the key is in the table as deleted, with another value: insert it with that value first",
            )),
            _ => Iblt::insert(self, record.key, value),
        }
    }
}

impl Assign for Iblt {
    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        match self.get(key)? {
            Got::Value(held) => {
                // What is too long is refused before anything changes.
                self.content(key, value)?;
                Iblt::remove(self, key, &held)?;
                Iblt::insert(self, key, value).map(drop)
            }
            Got::Nothing | Got::Deleted(_) => Err(absent()),
            Got::Undecided => Err(hidden()),
        }
    }
}

fn absent() -> Error {
    Error::new(Kind::NotDeletable, "the key is not in the table")
}

fn hidden() -> Error {
    Error::new(
        Kind::Ambiguous,
        "the key's value is hidden by other pairs: remove the pair, as KEY, a TAB and the value",
    )
}

impl Remove for Iblt {
    /// Without a value, the one that the key's cells show is deleted.
    fn remove(&mut self, record: Record<'_>) -> Result<()> {
        if let Some(value) = value_of(&record)? {
            return Iblt::remove(self, record.key, value);
        }
        match self.get(record.key)? {
            Got::Value(value) => Iblt::remove(self, record.key, &value),
            Got::Nothing | Got::Deleted(_) => Err(absent()),
            Got::Undecided => Err(hidden()),
        }
    }
}

impl Lookup for Iblt {
    /// Undecided keys have no value here; [`Filter::query`] tells them from those that are not there.
    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        match Iblt::get(self, key) {
            Ok(Got::Value(value)) => Some(value),
            _ => None,
        }
    }
}

impl Merge for Iblt {
    /// The cells add up like multisets; but a key of both tables could not be read back.
    fn law(&self) -> MergeLaw {
        MergeLaw::Disjoint
    }

    fn merge(&mut self, other: &dyn Filter) -> Result<()> {
        let other: &Self = other.as_same()?;
        self.combine(other, 1)?;
        self.head.count(other.head.items);
        Ok(())
    }
}

impl List for Iblt {
    /// Pairs inserted are present, pairs deleted are absent, each with its value.
    fn list(&self, f: &mut dyn FnMut(&[u8], Answer)) -> Result<()> {
        let Listing { inserted, deleted } = Iblt::list(self)?;
        for (pairs, present) in [(inserted, true), (deleted, false)] {
            for (key, value) in pairs {
                f(&key, Answer::of(present).with(Detail::Value(value)));
            }
        }
        Ok(())
    }
}

impl Reconcile for Iblt {
    fn minus(&self, other: &dyn Filter) -> Result<Box<dyn Filter>> {
        let mut difference = self.clone();
        difference.subtract(other.as_same()?)?;
        Ok(Box::new(difference))
    }

    /// The ids of the keys.
    fn decode(&self) -> Result<Difference> {
        let Listing { inserted, deleted } = self.list()?;
        let ids = |pairs: Vec<(Vec<u8>, Vec<u8>)>| {
            let mut ids: Vec<u64> = pairs.iter().map(|(key, _)| self.id_of(key)).collect();
            ids.sort_unstable();
            ids
        };
        Ok(Difference { ours: ids(inserted), theirs: ids(deleted) })
    }

    fn estimate(&self) -> Result<u64> {
        let Listing { inserted, deleted } = self.list()?;
        Ok((inserted.len() + deleted.len()) as u64)
    }

    fn id_of(&self, key: &[u8]) -> u64 {
        self.head.hasher.digest(key).word(ID)
    }
}

/// The salt of ids: beyond the probes and the check.
const ID: u64 = 2 << 32;

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Iblt>(Facts {
    id: 74,
    slug: "iblt",
    entry: "§18",
    question: "Which pairs of key and value came and went?",
    name: "Invertible Bloom lookup table",
    paper: "M. T. Goodrich, M. Mitzenmacher, Invertible Bloom lookup tables, Allerton 2011",
    family: "keyvalue",
    needs: &["values", "delete", "reconcile"],
    input: Input::valued(ValueKind::Bytes),
    meaning: "items are the pairs inside when they are listed; the rate is that of failed listings",
    forms: &[Form::exact_while(
        FORM,
        &[
            Ability::Insert,
            Ability::Remove,
            Ability::Lookup,
            Ability::Merge,
            Ability::Reconcile,
            Ability::List,
        ],
        "only pairs that were inserted are deleted; members hidden by other pairs are undecided",
    )],
    params: &[
        PARAM_M,
        param_k("number of segments, one cell per pair in each", 3),
        Param::integer("key-bytes", 1, 4096, "length of the longest key").or(Preset::Integer(16)),
        Param::integer("value-bytes", 0, 65_535, "length of the longest value")
            .or(Preset::Integer(12)),
    ],
    reach: 1_000_000,
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_tests::lies_are_refused;

    #[test]
    fn files_whose_cells_do_not_fit_are_refused() {
        let mut table = Iblt::with_shape(30, 3, Hasher::default()).unwrap();
        table.insert("key", b"value").unwrap();
        let lies: [fn(&mut Iblt); 4] = [
            |t| t.key_bytes = 0,
            |t| t.key_bytes = 32,
            |t| t.value_bytes = u64::MAX,
            |t| t.sums = SumCells::new(10, 3, 1).unwrap(),
        ];
        lies_are_refused(&table, lies);
    }

    #[test]
    fn what_is_too_long_is_refused_and_changes_nothing() {
        let mut table = Iblt::with_shape(30, 3, Hasher::default()).unwrap();
        let before = table.clone();
        for (key, value) in [(&[b'k'; 17][..], &b""[..]), (b"k", &[b'v'; 13])] {
            assert_eq!(table.insert(key, value).unwrap_err().kind(), Kind::BadRecord);
            assert_eq!(table.remove(key, value).unwrap_err().kind(), Kind::BadRecord);
        }
        assert_eq!(table, before);
        assert!(table.get(&[b'k'; 17][..]).is_err());
        assert_eq!(table.query(Record::key(&[b'k'; 17])).unwrap(), Answer::of(false));
    }

    /// Contents are pairs in one spelling only.
    #[test]
    fn other_words_are_no_pair() {
        let table = Iblt::with_shape(30, 3, Hasher::default()).unwrap();
        let content = table.content(b"key", b"value").unwrap();
        assert!(table.place(&content).is_some());
        let last = content.len() - 1;
        for (at, xor) in [(last, 1 << 63), (0, 1 << 8), (0, 1 << 24), (0, 0xFFFF)] {
            let mut other = content.clone();
            other[at] ^= xor;
            assert!(table.place(&other).is_none(), "{at} {xor:x}");
        }
    }
}
