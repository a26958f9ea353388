//! A beginning of the stream of cells, kept: whoever gets it later can tell what a set does not share with it.
//!
//! ```text
//!   magic · version · salt · keys · bytes · sum of the set · type of the keys │ cell 0 · cell 1 · … │ CRC32C
//! ```
//!
//! A sketch is sized for the largest difference that it is to tell, not for the set. It holds ids and no keys: of what
//! only the sketched set has, the ids are told.

use std::collections::HashSet;

use super::wire::{push_symbol, symbol};
use super::{SALTS, Set, Sum};
use crate::error::{Error, Kind, Result, agree};
use crate::filter::Difference;
use crate::reconciling::rateless::{Coded, Decoder, Symbol};
use crate::state::{MAJOR, check_features, push_version, u16_at, u32_at, u64_at};

/// The first bytes of a sketch; those of a filter but for one letter.
pub const MAGIC: [u8; 8] = *b"\x89EVS\r\n\x1a\n";

/// Bytes before the name of the key type: the version, six numbers, and the length of the name.
const PREFIX: usize = 20 + 5 * 8 + 1;
const CRC: usize = 4;

/// There are too few cells to list the difference of two sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TooFew {
    /// Cells that there are.
    pub cells: u64,
    /// Keys that differ, about.
    pub differ: u64,
}

/// A set in cells from which another can be subtracted.
///
/// ```
/// use everbloom::exchange::rateless::{Set, Sketch};
///
/// let mut theirs = ["fig", "oak", "ash"].iter().fold(Set::new(), |set, key| set.with(key.as_bytes()));
/// let sketch = Sketch::of(&mut theirs, Sketch::cells_for(4))?;
/// let mut ours = ["fig", "oak", "elm"].iter().fold(Set::new(), |set, key| set.with(key.as_bytes()));
/// let difference = sketch.minus(&mut ours)?.expect("few keys differ");
/// assert_eq!(ours.key(difference.ours[0]), Some(&b"elm"[..]));
/// assert_eq!(difference.theirs.len(), 1);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Sketch {
    /// What the keys' text spelled, by the name that the reader of the keys gave it; empty for plain bytes.
    pub key_type: String,
    salt: u64,
    keys: u64,
    bytes: u64,
    sum: Sum,
    cells: Vec<Symbol>,
}

impl Sketch {
    /// The first `cells` cells of a set.
    pub fn of(set: &mut Set, cells: u64) -> Result<Self> {
        let salt = (0..SALTS).find(|salt| set.reseed(*salt));
        let salt =
            salt.ok_or_else(|| Error::new(Kind::Ambiguous, "keys collide under every salt"))?;
        let mut coded = coded(set, salt);
        Ok(Self {
            key_type: String::new(),
            salt,
            keys: set.len() as u64,
            bytes: set.bytes(),
            sum: set.sum(salt),
            cells: (0..cells).map(|_| coded.symbol()).collect(),
        })
    }

    /// The number of cells that list a difference of this many keys in 999 of 1000 cases.
    pub fn cells_for(difference: u64) -> u64 {
        let d = difference as f64;
        (1.35 * d + 5.0 * d.sqrt() + 12.0).ceil() as u64
    }

    /// Keys of the set.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// The bytes that sending all keys takes, a line each.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The number of cells.
    pub fn cells(&self) -> u64 {
        self.cells.len() as u64
    }

    /// What a set (ours) and the sketched one (theirs) do not share: ids, of which the set knows its own keys.
    pub fn minus(&self, set: &mut Set) -> Result<std::result::Result<Difference, TooFew>> {
        if !set.reseed(self.salt) {
            let message =
                "two keys have one id under the salt of the sketch: compare the lists themselves";
            return Err(Error::new(Kind::Ambiguous, message));
        }
        let decoded = decode(Decoder::new(coded(set, self.salt)), self.cells.iter().copied())?;
        let Ok(difference) = &decoded else { return Ok(decoded) };
        let ours: HashSet<u64> = difference.ours.iter().copied().collect();
        let whole = ours.iter().all(|id| set.key(*id).is_some());
        let (shared, sum) = set.sum_without(&ours, self.salt);
        let fits = shared + difference.theirs.len() as u64 == self.keys;
        // Keys that are known by their ids alone are in no sum.
        let same = !difference.theirs.is_empty() || sum == self.sum;
        if whole && fits && same { Ok(decoded) } else { Err(unlike()) }
    }

    /// What the set of another sketch (ours) and the one of this (theirs) do not share, as ids.
    pub fn minus_sketch(&self, ours: &Sketch) -> Result<std::result::Result<Difference, TooFew>> {
        agree("salt", ours.salt, self.salt)?;
        let cells = self.cells.iter().zip(&ours.cells).map(|(theirs, ours)| theirs.minus(*ours));
        let decoded = decode(Decoder::new(Coded::new(self.salt)), cells)?;
        let Ok(Difference { ours: left, theirs: right }) = &decoded else { return Ok(decoded) };
        let fits =
            self.keys.checked_add(left.len() as u64) == ours.keys.checked_add(right.len() as u64);
        let equal = left.is_empty() && right.is_empty();
        if fits && (!equal || ours.sum == self.sum) { Ok(decoded) } else { Err(unlike()) }
    }

    /// The file of the sketch, as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        push_version(MAGIC, 0, &mut out);
        let Sum(x, y) = self.sum;
        let numbers = [self.salt, self.keys, self.bytes, x, y];
        numbers.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
        let name = &self.key_type.as_bytes()[..self.key_type.len().min(255)];
        out.push(name.len() as u8);
        out.extend_from_slice(name);
        for (index, symbol) in (0..).zip(&self.cells) {
            push_symbol(&mut out, symbol, self.keys, index);
        }
        let crc = crc32c::crc32c(&out);
        out.extend_from_slice(&crc.to_le_bytes());
        out
    }

    /// The sketch in the bytes of a file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        if !bytes.starts_with(&MAGIC) {
            return Err(Error::new(Kind::NotOurs, "this is not a sketch"));
        }
        let cut_off = || Error::new(Kind::Truncated, "the sketch is cut off");
        let body = bytes.len().checked_sub(CRC).filter(|end| *end >= PREFIX).ok_or_else(cut_off)?;
        let major = u16_at(bytes, MAGIC.len());
        if major != MAJOR {
            let message =
                format!("version {major} of a sketch, but this build reads version {MAJOR}");
            return Err(Error::new(Kind::UnsupportedVersion, message));
        }
        if crc32c::crc32c(&bytes[..body]) != u32_at(bytes, body) {
            let message = "corrupt sketch: the checksum does not match, or it is cut off";
            return Err(Error::corrupt(body as u64, message));
        }
        check_features(bytes)?;
        let [salt, keys, size, x, y] = [20, 28, 36, 44, 52].map(|at| u64_at(bytes, at));
        let corrupt =
            || Error::corrupt(PREFIX as u64, "corrupt sketch: not a name and whole cells");
        let rest = &bytes[PREFIX..body];
        let (name, mut rest) =
            rest.split_at_checked(usize::from(bytes[PREFIX - 1])).ok_or_else(corrupt)?;
        let key_type = String::from_utf8(name.to_vec()).map_err(|_| corrupt())?;
        let mut cells = Vec::new();
        while !rest.is_empty() {
            let (cell, behind) = symbol(rest, keys, cells.len() as u64).ok_or_else(corrupt)?;
            cells.push(cell);
            rest = behind;
        }
        Ok(Self { key_type, salt, keys, bytes: size, sum: Sum(x, y), cells })
    }
}

fn coded(set: &Set, salt: u64) -> Coded {
    let mut coded = Coded::new(salt).with_room(set.len());
    set.ids().for_each(|id| coded.insert(id));
    coded
}

fn decode(
    mut decoder: Decoder,
    cells: impl Iterator<Item = Symbol>,
) -> Result<std::result::Result<Difference, TooFew>> {
    for cell in cells {
        if decoder.push(cell)? {
            return Ok(Ok(decoder.difference()));
        }
    }
    Ok(Err(TooFew { cells: decoder.symbols(), differ: decoder.estimate().ceil() as u64 }))
}

/// Two keys with one id, or cells that were made up.
fn unlike() -> Error {
    Error::new(Kind::Ambiguous, "the cells do not fit the sizes and sums of the sets")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(keys: std::ops::Range<u32>) -> Set {
        keys.fold(Set::new(), |set, i| set.with(&i.to_le_bytes()))
    }

    #[test]
    fn sketches_tell_differences_of_the_size_they_are_made_for() {
        // Of 900 differences about one is allowed to be missed; keys differ from trial to trial.
        let mut missed = 0;
        for d in [1u32, 2, 5, 10, 30, 100, 300, 1000, 3000] {
            let trials = if d > 500 { 20 } else { 160 };
            for trial in 0..trials {
                let start = trial * 100_000;
                let sketch =
                    Sketch::of(&mut set(start + 1..start + 51), Sketch::cells_for(d.into()));
                let mut ours = set(start + 1..start + 51 + d);
                match sketch.and_then(|sketch| sketch.minus(&mut ours)).expect("honest cells") {
                    Ok(found) => {
                        assert_eq!((found.ours.len(), found.theirs.len()), (d as usize, 0))
                    }
                    Err(_) => missed += 1,
                }
            }
        }
        assert!(missed <= 6, "{missed} differences were not told");
    }

    #[test]
    fn too_few_cells_tell_about_how_many_keys_differ() {
        for (d, cells) in [(100u32, 50u64), (1000, 100), (1000, 1000), (50_000, 200)] {
            let mut sum = 0.0;
            for trial in 0..10 {
                let start = trial * 1_000_000;
                let sketch =
                    Sketch::of(&mut set(start..start + 300 + d / 2), cells).expect("cells");
                let mut ours = set(start + d / 2..start + 300 + d);
                let few = sketch.minus(&mut ours).expect("honest cells").expect_err("too few");
                assert_eq!(few.cells, cells);
                sum += few.differ as f64 / f64::from(d);
            }
            assert!((0.8..1.25).contains(&(sum / 10.0)), "{d} by {cells}: {}", sum / 10.0);
        }
    }

    #[test]
    fn sketches_are_compared_without_the_sets() {
        let [a, b] =
            [set(0..1000), set(7..1003)].map(|mut set| Sketch::of(&mut set, 60).expect("cells"));
        let found = b.minus_sketch(&a).expect("alike").expect("enough cells");
        assert_eq!((found.ours.len(), found.theirs.len()), (7, 3));
        assert!(a.minus_sketch(&a).expect("alike").expect("enough cells").ours.is_empty());
        let other = Sketch { salt: 1, ..a.clone() };
        assert_eq!(
            other.minus_sketch(&a).map_err(|e| e.kind()),
            Err(Kind::Incompatible { what: "salt" })
        );
        let lying = Sketch { keys: 999, ..a.clone() };
        assert!(lying.minus_sketch(&b).is_err());
        let lying = Sketch { sum: Sum(1, 2), ..a.clone() };
        assert!(lying.minus_sketch(&a).is_err() && lying.minus(&mut set(0..1000)).is_err());
    }

    #[test]
    fn files_are_whole_or_refused() {
        let sketch = Sketch::of(&mut set(0..100), 20).expect("cells");
        let sketch = Sketch { key_type: "u64".to_owned(), ..sketch };
        let bytes = sketch.to_bytes();
        assert_eq!(Sketch::from_bytes(&bytes).expect("a sketch"), sketch);
        for at in 0..bytes.len() {
            assert!(Sketch::from_bytes(&bytes[..at]).is_err(), "cut off at {at}");
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << bit;
                assert!(Sketch::from_bytes(&flipped).is_err(), "bit {bit} of byte {at}");
            }
        }
        assert!(Sketch::from_bytes(&[&bytes[..], &[0]].concat()).is_err());
        // Whatever stands in fields under a right checksum is an error or a sketch, and no panic.
        for at in 8..bytes.len() - CRC {
            let mut forged = bytes[..bytes.len() - CRC].to_vec();
            forged[at] = 0xFF;
            let crc = crc32c::crc32c(&forged).to_le_bytes();
            forged.extend_from_slice(&crc);
            if let Ok(forged) = Sketch::from_bytes(&forged) {
                let _ = (forged.minus(&mut set(0..110)), sketch.minus_sketch(&forged));
            }
        }
    }
}
