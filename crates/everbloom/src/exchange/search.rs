//! Search in secure indexes (Goh 2003): who keeps the documents finds those with a word, and learns no word.
//!
//! ```text
//!   Searcher: the owner's key               Keeper: no key
//!        │ ── SHAPE, DOCUMENT … SEALED ──────────▶ │   once: blinded filters
//!        │ ── TRAPDOOR … OVER ───────────────────▶ │   one for each query
//!        │ ◀──── NAMES …, COUNT ────────────────── │   for each trapdoor, in order
//! ```
//!
//! What the searcher sends may lie in files for years, so a checksum of it follows. The frames of older versions that
//! have none, FILED and END, are still read.
//!
//! The keeper can't tell a trapdoor from random bytes: those match nothing, but for false positives. The searcher
//! can't tell whether a name was left out or made up; it looks at the documents.

use super::{Frame, List, Outbox, Role, items};
use crate::error::{Error, Result};
use crate::secure::index::{Index, Shape, Trapdoor};

/// Searcher to keeper: what the filters are like.
const SHAPE: u8 = 0x30;
/// Searcher to keeper: a document's filter.
const DOCUMENT: u8 = 0x31;
/// Searcher to keeper, from older versions: so many documents were sent.
const FILED: u8 = 0x32;
/// Searcher to keeper: a trapdoor.
const TRAPDOOR: u8 = 0x33;
/// Searcher to keeper, from older versions: there are no more trapdoors.
const END: u8 = 0x34;
/// Keeper to searcher: names of documents that match.
const NAMES: u8 = 0x35;
/// Keeper to searcher: so many documents matched this trapdoor.
const COUNT: u8 = 0x36;

/// Searcher to keeper: so many documents were sent, and the checksum of the frames that brought them.
const SEALED: u8 = 0x37;
/// Searcher to keeper: there are no more trapdoors, and the checksum of their frames.
const OVER: u8 = 0x38;

/// The CRC-32C of frames: kind, length and body of each.
#[derive(Clone, Copy, Debug, Default)]
struct Seal(u32);

impl Seal {
    fn add(&mut self, kind: u8, body: &[u8]) {
        let header = [&[kind][..], &(body.len() as u32).to_le_bytes()].concat();
        self.0 = crc32c::crc32c_append(crc32c::crc32c_append(self.0, &header), body);
    }

    /// Refuses frames that are not those that were sealed: `body` ends in their checksum.
    fn check<'a>(&self, frame: &'a Frame) -> Result<&'a [u8]> {
        match frame.body.split_last_chunk::<4>() {
            Some((rest, sum)) if *sum == self.0.to_le_bytes() => Ok(rest),
            _ => Err(frame.wrong("the checksum does not fit: what came before it is damaged")),
        }
    }
}

/// More bytes than a document has beside its filter: its name and its id.
const LONGEST_NAME: u64 = 1 << 17;
/// More words than a query has.
const MOST_WORDS: u64 = 1 << 10;

/// The filters of some documents.
#[derive(Clone, Debug)]
pub struct Shelf {
    shape: Shape,
    indexes: Vec<Index>,
}

impl Shelf {
    /// Filters of this shape, none yet.
    pub fn new(shape: Shape) -> Self {
        Self { shape, indexes: Vec::new() }
    }

    /// Adds a document's filter, which [`IndexKey::build`](crate::secure::index::IndexKey::build) made for the same shape.
    pub fn push(&mut self, index: Index) {
        self.indexes.push(index);
    }

    /// What the filters are like.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The filters.
    pub fn indexes(&self) -> &[Index] {
        &self.indexes
    }

    /// Places of the documents that may have the trapdoor's word.
    pub fn search(&self, trapdoor: &Trapdoor) -> impl Iterator<Item = usize> {
        (0..self.indexes.len()).filter(|document| self.indexes[*document].matches(trapdoor))
    }
}

/// The side that has the key: files documents, searches, or both.
#[derive(Debug, Default)]
pub struct Searcher {
    shelf: Option<Shelf>,
    trapdoors: Vec<Trapdoor>,
    spoken: bool,
    /// What was found for the trapdoors so far; the last one is not complete.
    found: Vec<Vec<Vec<u8>>>,
    partial: Vec<Vec<u8>>,
}

impl Searcher {
    /// A searcher with nothing to say yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Files these documents first.
    #[must_use]
    pub fn filing(mut self, shelf: Shelf) -> Self {
        self.shelf = Some(shelf);
        self
    }

    /// Searches for the word of this trapdoor.
    #[must_use]
    pub fn asking(mut self, trapdoor: Trapdoor) -> Self {
        self.trapdoors.push(trapdoor);
        self
    }

    /// Names of the documents that match, for each trapdoor whose answer has come.
    pub fn found(&self) -> &[Vec<Vec<u8>>] {
        &self.found
    }
}

/// Sends frames, then one of the kind `last` with their checksum.
fn send_sealed(
    out: &mut Outbox,
    mut frames: impl Iterator<Item = (u8, Vec<u8>)>,
    last: u8,
    body: &[u8],
) -> Result<()> {
    let mut seal = Seal::default();
    frames.try_for_each(|(kind, body)| {
        seal.add(kind, &body);
        out.frame(kind, &body)
    })?;
    out.frame(last, &[body, &seal.0.to_le_bytes()].concat())
}

impl Role for Searcher {
    const FRAMES: &'static [u8] = &[NAMES, COUNT];

    fn speak(&mut self, out: &mut Outbox) -> Result<()> {
        if std::mem::replace(&mut self.spoken, true) {
            return Ok(());
        }
        if let Some(shelf) = self.shelf.take() {
            let documents = shelf.indexes.iter().map(|index| (DOCUMENT, index.to_bytes()));
            let shape = std::iter::once((SHAPE, shelf.shape.to_bytes().to_vec()));
            let count = (shelf.indexes.len() as u64).to_le_bytes();
            send_sealed(out, shape.chain(documents), SEALED, &count)?;
        }
        let trapdoors = self.trapdoors.iter().map(|trapdoor| (TRAPDOOR, trapdoor.to_bytes()));
        send_sealed(out, trapdoors, OVER, &[])
    }

    fn room(&self, head: &Frame) -> Result<u64> {
        if !self.spoken || self.found.len() == self.trapdoors.len() {
            return Err(head.wrong("nothing was requested"));
        }
        Ok(if head.kind == NAMES { u64::MAX } else { 8 })
    }

    fn hear(&mut self, frame: Frame, _: &mut Outbox) -> Result<()> {
        if frame.kind == NAMES {
            return items(&frame, |name| {
                self.partial.push(name.to_vec());
                Ok(())
            });
        }
        if frame.number()? != self.partial.len() as u64 {
            return Err(frame.wrong("names are missing, or too many"));
        }
        self.found.push(std::mem::take(&mut self.partial));
        Ok(())
    }

    fn done(&self) -> bool {
        self.spoken && self.found.len() == self.trapdoors.len()
    }
}

/// The side that keeps the filters and finds documents.
#[derive(Debug, Default)]
pub struct Keeper {
    shelf: Option<Shelf>,
    filed: bool,
    /// Of the frames since the last one that had a checksum.
    seal: Seal,
    asked: u64,
    /// Trapdoors, counted from 1, and the documents that match them.
    matches: Vec<(u64, usize)>,
    done: bool,
}

impl Keeper {
    /// A keeper who has nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A keeper of documents that were filed before.
    pub fn of(shelf: Shelf) -> Self {
        Self { shelf: Some(shelf), filed: true, ..Self::default() }
    }

    /// The documents that are filed; none before they all have come.
    pub fn into_shelf(self) -> Option<Shelf> {
        self.shelf.filter(|_| self.filed)
    }

    /// What was found: the trapdoors, counted from 1, and the names of documents that match them.
    pub fn matches(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let indexes = self.shelf.as_ref().map_or(&[][..], |shelf| &shelf.indexes);
        self.matches.iter().map(|(query, document)| (*query, indexes[*document].name()))
    }

    fn file(&mut self, frame: &Frame) -> Result<()> {
        if frame.kind != SEALED {
            self.seal.add(frame.kind, &frame.body);
        }
        match (frame.kind, &mut self.shelf) {
            (SHAPE, None) => {
                let shape = Shape::parse(&frame.body).map_err(|e| frame.wrong(&e.to_string()))?;
                self.shelf = Some(Shelf::new(shape));
            }
            (DOCUMENT, Some(shelf)) => {
                let index = Index::parse(shelf.shape, &frame.body);
                shelf.indexes.push(index.map_err(|e| frame.wrong(&e.to_string()))?);
            }
            (FILED, Some(shelf)) if frame.number()? == shelf.indexes.len() as u64 => {
                self.filed = true;
            }
            (SEALED, Some(shelf)) => {
                let count = self.seal.check(frame)?;
                self.filed = count == (shelf.indexes.len() as u64).to_le_bytes();
                if !self.filed {
                    return Err(frame.wrong("documents are missing, or too many"));
                }
            }
            _ => return Err(frame.wrong("documents are missing, or out of order")),
        }
        if self.filed {
            self.seal = Seal::default();
        }
        Ok(())
    }
}

impl Role for Keeper {
    const FRAMES: &'static [u8] = &[SHAPE, DOCUMENT, FILED, TRAPDOOR, END, SEALED, OVER];

    fn speak(&mut self, _: &mut Outbox) -> Result<()> {
        Ok(())
    }

    fn room(&self, head: &Frame) -> Result<u64> {
        Ok(match (head.kind, &self.shelf) {
            (SHAPE, _) => 20,
            (DOCUMENT, Some(shelf)) => shelf.shape.m() / 8 + LONGEST_NAME,
            (FILED, _) => 8,
            (SEALED, _) => 12,
            (OVER, _) => 4,
            (TRAPDOOR, Some(shelf)) => u64::from(shelf.shape.r()) * 32 * MOST_WORDS,
            _ => 0,
        })
    }

    fn hear(&mut self, frame: Frame, out: &mut Outbox) -> Result<()> {
        let Some(shelf) = self.shelf.as_ref().filter(|_| self.filed) else {
            return self.file(&frame);
        };
        match frame.kind {
            TRAPDOOR => {
                let r = shelf.shape.r();
                let trapdoor =
                    Trapdoor::parse(r, &frame.body).map_err(|e| frame.wrong(&e.to_string()))?;
                self.asked += 1;
                self.seal.add(TRAPDOOR, &frame.body);
                let (mut names, mut count) = (List::default(), 0u64);
                for document in shelf.search(&trapdoor) {
                    count += 1;
                    names.push(shelf.indexes[document].name());
                    self.matches.push((self.asked, document));
                }
                out.list(NAMES, &mut names)?;
                out.frame(COUNT, &count.to_le_bytes())
            }
            END if frame.body.is_empty() => {
                self.done = true;
                Ok(())
            }
            OVER if self.seal.check(&frame)?.is_empty() => {
                self.done = true;
                Ok(())
            }
            _ => Err(frame.wrong("a trapdoor or the end comes here")),
        }
    }

    fn done(&self) -> bool {
        self.done
    }
}

/// Documents that [`Searcher::filing`] put into bytes, as a keeper reads them.
pub fn read_shelf(bytes: &[u8], limits: super::Limits) -> Result<Shelf> {
    let mut keeper = super::Party::new(Keeper::new(), limits);
    super::Session::receive(&mut keeper, bytes)?;
    super::Session::closed(&keeper)?;
    let missing = || Error::new(crate::error::Kind::Truncated, "there are no documents");
    keeper.role.into_shelf().ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use super::super::{Limits, Party, Session, run};
    use super::*;
    use crate::secure::Secret;
    use crate::secure::index::IndexKey;

    fn key() -> IndexKey {
        IndexKey::new(&Secret::new([9; 32]), 20)
    }

    fn shelf() -> Shelf {
        let mut shelf = Shelf::new(Shape::for_rate(20, 1e-6).expect("a shape"));
        for (name, words) in [("trees", ["oak", "elm"]), ("food", ["fig", "oak"])] {
            let words = words.iter().map(|word| word.as_bytes());
            shelf.push(key().build(shelf.shape(), name.as_bytes(), words).expect("small"));
        }
        shelf
    }

    fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        Frame::write(&mut out, kind, body, &Limits::NETWORK).expect("small");
        out
    }

    #[test]
    fn words_are_found_without_being_told() {
        let words = ["oak", "fig", "nothing"];
        let asking = |s: Searcher, word: &&str| s.asking(key().trapdoor(word.as_bytes()));
        let searcher = words.iter().fold(Searcher::new().filing(shelf()), asking);
        let mut searcher = Party::new(searcher, Limits::NETWORK);
        let mut keeper = Party::new(Keeper::new(), Limits::NETWORK);
        let sent = searcher.receive(&[]).expect("an opening").send;
        for word in ["oak", "elm", "fig", "nothing"] {
            assert!(!sent.windows(word.len()).any(|w| w == word.as_bytes()), "{word}");
        }
        let answer = keeper.receive(&sent).expect("an honest exchange");
        assert!(answer.done && searcher.receive(&answer.send).expect("answers").done);
        let found = searcher.role.found();
        assert_eq!(found[0], [&b"trees"[..], b"food"]);
        assert_eq!(found[1], [&b"food"[..]]);
        assert!(found[2].is_empty());
    }

    #[test]
    fn filed_documents_are_searched_later() {
        let mut filing = Party::new(Searcher::new().filing(shelf()), Limits::LOCAL);
        let file = filing.receive(&[]).expect("documents");
        assert!(file.done);
        let shelf = read_shelf(&file.send, Limits::LOCAL).expect("as they were filed");
        assert_eq!(shelf.indexes().len(), 2);
        let searcher = Searcher::new().asking(key().trapdoor(b"elm"));
        let mut searcher = Party::new(searcher, Limits::NETWORK);
        run(&mut searcher, &mut Party::new(Keeper::of(shelf), Limits::NETWORK)).expect("honest");
        assert_eq!(searcher.role.found(), [[b"trees"]]);
        for length in 0..file.send.len() {
            assert!(read_shelf(&file.send[..length], Limits::LOCAL).is_err(), "{length}");
        }
    }

    /// Files of filters and of trapdoors lie about: a match lost to a bit that turned over would not be noticed.
    #[test]
    fn every_bit_that_turns_over_is_noticed() {
        let asking = |s: Searcher, word: &str| s.asking(key().trapdoor(word.as_bytes()));
        let filed = Party::new(Searcher::new().filing(shelf()), Limits::LOCAL).receive(&[]);
        let asked = Party::new(asking(Searcher::new(), "elm"), Limits::LOCAL).receive(&[]);
        let (filed, asked) = (filed.expect("documents").send, asked.expect("a trapdoor").send);
        let matches = |filed: &[u8], asked: &[u8]| -> Result<usize> {
            let mut keeper =
                Party::new(Keeper::of(read_shelf(filed, Limits::LOCAL)?), Limits::LOCAL);
            keeper.receive(asked)?;
            keeper.closed()?;
            Ok(keeper.role.matches().count())
        };
        assert!(matches!(matches(&filed, &asked), Ok(1)));
        let turned = |bytes: &[u8], bit: usize| {
            let mut bytes = bytes.to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            bytes
        };
        for bit in 0..8 * filed.len() {
            assert!(
                read_shelf(&turned(&filed, bit), Limits::LOCAL).is_err(),
                "bit {bit} of filters"
            );
        }
        for bit in 0..8 * asked.len() {
            assert!(matches(&filed, &turned(&asked, bit)).is_err(), "bit {bit} of a trapdoor");
        }
    }

    #[test]
    fn a_query_of_several_words_finds_the_documents_that_have_all() {
        let both = key().trapdoor(b"oak").and(key().trapdoor(b"fig"));
        assert_eq!(shelf().search(&both).collect::<Vec<_>>(), [1]);
        let searcher = Searcher::new().asking(both.clone()).asking(key().trapdoor(b"oak"));
        let mut searcher = Party::new(searcher, Limits::NETWORK);
        run(&mut searcher, &mut Party::new(Keeper::of(shelf()), Limits::NETWORK)).expect("honest");
        assert_eq!(searcher.role.found()[0], [b"food"]);
        assert_eq!(searcher.role.found()[1].len(), 2);
        assert!(Trapdoor::parse(20, &both.to_bytes()).is_ok());
        assert!(Trapdoor::parse(19, &both.to_bytes()).is_err());
    }

    #[test]
    fn lies_that_can_be_seen_are_errors() {
        let heard = |bytes: &[u8]| {
            let searcher = Searcher::new().asking(key().trapdoor(b"elm"));
            let mut searcher = Party::new(searcher, Limits::NETWORK);
            searcher.receive(&[]).expect("a trapdoor");
            searcher.receive(bytes).map(|step| step.done)
        };
        let one = frame(COUNT, &1u64.to_le_bytes());
        assert!(heard(&one).is_err(), "a name is missing");
        let (name, none) = (frame(NAMES, b"\x03elm"), frame(COUNT, &0u64.to_le_bytes()));
        assert!(heard(&[&name[..], &none].concat()).is_err(), "a name too many");
        assert!(matches!(heard(&[&name[..], &one].concat()), Ok(true)));
        assert!(heard(&[&none[..], &none].concat()).is_err(), "an answer too many, or replayed");
        assert!(heard(&frame(NAMES, b"\x09elm")).is_err(), "a list that is cut off");
        assert!(heard(&frame(COUNT, &[0; 7])).is_err());
    }

    #[test]
    fn a_keeper_refuses_what_does_not_fit() {
        let shape = frame(SHAPE, &shelf().shape().to_bytes());
        let document = frame(DOCUMENT, &shelf().indexes()[0].to_bytes());
        let filed = |count: u64| frame(FILED, &count.to_le_bytes());
        let hears = |pieces: &[&[u8]]| {
            let mut keeper = Party::new(Keeper::new(), Limits::NETWORK);
            keeper.receive(&pieces.concat()).map(|step| step.send)
        };
        assert!(hears(&[&shape, &document, &filed(1), &frame(END, &[])]).is_ok(), "older files");
        for wrong in [
            &[&document[..]][..],
            &[&filed(0)],
            &[&shape, &shape],
            &[&shape, &document, &filed(2)],
            &[&shape, &frame(TRAPDOOR, &[0; 640])],
            &[&shape, &filed(0), &document],
            &[&shape, &filed(0), &frame(TRAPDOOR, &[0; 639])],
            &[&shape, &filed(0), &frame(TRAPDOOR, &[0; 672])],
            &[&shape, &filed(0), &frame(END, &[0])],
            &[&shape, &filed(0), &frame(END, &[]), &frame(END, &[])],
            &[&frame(SHAPE, &[0xFF; 20])],
            &[&shape, &frame(DOCUMENT, &[0xFF; 3])],
        ] {
            assert!(hears(wrong).is_err(), "{wrong:?}");
        }
        // The same trapdoor twice is no error: that both are equal is what the keeper learns.
        let trapdoor = frame(TRAPDOOR, &key().trapdoor(b"oak").to_bytes());
        let twice = hears(&[&shape, &document, &filed(1), &trapdoor, &trapdoor]).expect("matches");
        assert_eq!(twice[..twice.len() / 2], twice[twice.len() / 2..]);
    }
}
