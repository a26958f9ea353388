//! Search in encrypted filters through a third party (Bellovin, Cheswick 2004): two exchanges, one with the mediator who
//! turns words under one key into words under another, one with the holder of the documents.
//!
//! ```text
//!   Client (Alice)                          Mediator: the mask, from the holder
//!        │ ── PART: z·B/A, once ─────────────────▶ │   sees words under Alice's key, knows neither key
//!        │ ── WORDS: E_A(W) … ───────────────────▶ │
//!        │ ◀──── WORDS: E_B(W) … ───────────────── │
//!
//!   Reader (Alice)                          Holder: documents, the key B
//!        │ ◀──── SHAPE, MASKED: z·B ────────────── │
//!        │ ── CELLS: of a word, and dummies ─────▶ │   as often as it takes
//!        │ ◀──── BITS: name, bits, name, bits … ── │
//!        │ ── END ───────────────────────────────▶ │
//! ```
//!
//! The holder gives the mask z to the mediator ([`Holder::mask`]) on a way that the reader does not see. What leaks
//! stands in [`encrypted`](crate::secure::encrypted).

use std::fmt;

use zeroize::Zeroizing;

use super::{Frame, List, Outbox, Role, items};
use crate::error::{Error, Result};
use crate::plan::Flat;
use crate::secure::encrypted::{CipherKey, Document, Field, Policy, Ratio, Salted, written};

/// Client to mediator: the client's part of the ratio.
const PART: u8 = 0x50;
/// Client to mediator: words under the client's key. Mediator to client: under the holder's.
const WORDS: u8 = 0x51;
/// Holder to reader: m and k.
const SHAPE: u8 = 0x52;
/// Holder to reader: the holder's key under a mask.
const MASKED: u8 = 0x53;
/// Reader to holder: cells.
const CELLS: u8 = 0x54;
/// Holder to reader: for every document its name and its bits in those cells.
const BITS: u8 = 0x55;
/// Holder to reader: so many documents were told of.
const TOLD: u8 = 0x56;
/// Reader to holder: there are no more words.
const END: u8 = 0x57;

/// Most words in a frame, and most cells asked for at once.
const MOST: usize = 4096;

/// Elements of a frame, all of them squares.
fn words<F: Field>(frame: &Frame) -> Result<Vec<F::Number>> {
    let length = frame.body.len();
    if length == 0 || length > MOST * F::BYTES || !length.is_multiple_of(F::BYTES) {
        return Err(frame.wrong("no words, or too many at once"));
    }
    let read = |bytes| F::read_square(bytes).ok_or_else(|| frame.wrong("not a word under a key"));
    frame.body.chunks_exact(F::BYTES).map(read).collect()
}

/// Alice's side of the exchange with the mediator.
pub struct Client<F: Field> {
    part: Vec<u8>,
    words: Vec<F::Number>,
    turned: Option<Vec<F::Number>>,
    spoken: bool,
}

impl<F: Field> Client<F> {
    /// Words under Alice's key, and the masked key that the holder sent.
    pub fn new(key: &CipherKey<F>, masked: &[u8], plain: &[&[u8]]) -> Result<Self> {
        if plain.is_empty() || plain.len() > MOST {
            return Err(Error::record(format!("1 to {MOST} words at once")));
        }
        let part = key.divide(masked).ok_or_else(|| Error::corrupt(0, "no masked key"))?;
        let words = plain.iter().map(|word| key.encrypt(word)).collect();
        Ok(Self { part, words, turned: None, spoken: false })
    }

    /// The words under the holder's key, once they have come.
    pub fn turned(&self) -> Option<&[F::Number]> {
        self.turned.as_deref()
    }
}

impl<F: Field> fmt::Debug for Client<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("words", &self.words.len()).finish()
    }
}

impl<F: Field> Role for Client<F> {
    const FRAMES: &'static [u8] = &[WORDS];

    fn speak(&mut self, out: &mut Outbox) -> Result<()> {
        if std::mem::replace(&mut self.spoken, true) {
            return Ok(());
        }
        out.frame(PART, &self.part)?;
        out.frame(WORDS, &self.words.iter().flat_map(written::<F>).collect::<Vec<u8>>())
    }

    fn hear(&mut self, frame: Frame, _: &mut Outbox) -> Result<()> {
        let turned = words::<F>(&frame)?;
        if !self.spoken || turned.len() != self.words.len() {
            return Err(frame.wrong("not as many words as were sent"));
        }
        self.turned = Some(turned);
        Ok(())
    }

    fn done(&self) -> bool {
        self.turned.is_some()
    }
}

/// The third party: knows the ratio of two keys, and neither of them.
pub struct Mediator<F: Field> {
    mask: Zeroizing<Vec<u8>>,
    policy: Policy,
    ratio: Option<Ratio<F>>,
    done: bool,
}

impl<F: Field> Mediator<F> {
    /// With the mask that the holder gave.
    pub fn new(mask: &[u8]) -> Self {
        Self::guarded(mask, Policy::default())
    }

    /// The same, for the words that a policy permits.
    pub fn guarded(mask: &[u8], policy: Policy) -> Self {
        Self { mask: Zeroizing::new(mask.to_vec()), policy, ratio: None, done: false }
    }
}

impl<F: Field> fmt::Debug for Mediator<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mediator").field("done", &self.done).finish_non_exhaustive()
    }
}

impl<F: Field> Role for Mediator<F> {
    const FRAMES: &'static [u8] = &[PART, WORDS];

    fn speak(&mut self, _: &mut Outbox) -> Result<()> {
        Ok(())
    }

    fn hear(&mut self, frame: Frame, out: &mut Outbox) -> Result<()> {
        match (frame.kind, &self.ratio) {
            (PART, None) => {
                let ratio = Ratio::new(&frame.body, &self.mask);
                self.ratio = Some(ratio.ok_or_else(|| frame.wrong("no part of a ratio"))?);
                Ok(())
            }
            (WORDS, Some(ratio)) => {
                let turned = words::<F>(&frame)?;
                let turned: Vec<F::Number> = turned.iter().map(|word| ratio.apply(word)).collect();
                if !turned.iter().all(|word| self.policy.permits::<F>(word)) {
                    return Err(frame.wrong("a word that must not be asked for"));
                }
                self.done = true;
                out.frame(WORDS, &turned.iter().flat_map(written::<F>).collect::<Vec<u8>>())
            }
            _ => Err(frame.wrong("the part of the ratio comes first, and once")),
        }
    }

    fn done(&self) -> bool {
        self.done
    }
}

/// Alice's side of the exchange with the holder.
#[derive(Debug, Default)]
pub struct Reader {
    flat: Option<Flat>,
    masked: Option<Vec<u8>>,
    queue: Vec<Salted>,
    /// Queries that were sent.
    sent: usize,
    found: Vec<Vec<Vec<u8>>>,
    /// Documents told of in the answer that is coming, and those that match.
    told: u64,
    partial: Vec<Vec<u8>>,
    ending: bool,
    ended: bool,
}

impl Reader {
    /// A reader who has heard nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The shape of the filters, once it has come.
    pub fn flat(&self) -> Option<Flat> {
        self.flat
    }

    /// The holder's masked key, once it has come.
    pub fn masked(&self) -> Option<&[u8]> {
        self.masked.as_deref()
    }

    /// Asks for a word's cells, which [`Salted::new`] made for [`Reader::flat`].
    pub fn ask(&mut self, salted: Salted) {
        self.queue.push(salted);
    }

    /// There are no more words.
    pub fn end(&mut self) {
        self.ending = true;
    }

    /// Names of the documents that may have each of the words, as far as answers have come.
    pub fn found(&self) -> &[Vec<Vec<u8>>] {
        &self.found
    }

    fn learn(&mut self, frame: &Frame) -> Result<()> {
        match (frame.kind, self.flat, &self.masked) {
            (SHAPE, None, None) => {
                let (m, k) = frame.body.split_first_chunk::<8>().unwrap_or((&[0; 8], &[]));
                let k = k.try_into().map_or(0, u32::from_le_bytes);
                let flat = Flat::new(u64::from_le_bytes(*m), k);
                self.flat = Some(flat.map_err(|e| frame.wrong(&e.to_string()))?);
            }
            (MASKED, Some(_), None) => self.masked = Some(frame.body.clone()),
            _ => return Err(frame.wrong("the shape comes first, then the key, each once")),
        }
        Ok(())
    }

    fn take(&mut self, frame: &Frame) -> Result<()> {
        let asked = self.queue[..self.sent].get(self.found.len());
        let salted = asked.ok_or_else(|| frame.wrong("nothing was asked for"))?;
        if frame.kind == TOLD {
            if frame.number()? != self.told {
                return Err(frame.wrong("documents are missing, or too many"));
            }
            self.told = 0;
            self.found.push(std::mem::take(&mut self.partial));
            return Ok(());
        }
        let (mut name, cells) = (None, salted.cells.len());
        items(frame, |item| {
            let Some(name) = name.take() else {
                name = Some(item);
                return Ok(());
            };
            if item.len() != cells.div_ceil(8) {
                return Err(frame.wrong("not as many bits as were asked for"));
            }
            let bits: Vec<bool> = (0..cells).map(|i| item[i / 8] >> (i % 8) & 1 == 1).collect();
            self.told += 1;
            if salted.matches(&bits) {
                self.partial.push(name.to_vec());
            }
            Ok(())
        })?;
        name.map_or(Ok(()), |_| Err(frame.wrong("a document without bits")))
    }
}

impl Role for Reader {
    const FRAMES: &'static [u8] = &[SHAPE, MASKED, BITS, TOLD];

    fn speak(&mut self, out: &mut Outbox) -> Result<()> {
        if self.masked.is_none() || self.ended {
            return Ok(());
        }
        for salted in &self.queue[self.sent..] {
            let cells: Vec<u8> = salted.cells.iter().flat_map(|cell| cell.to_le_bytes()).collect();
            out.frame(CELLS, &cells)?;
        }
        self.sent = self.queue.len();
        if self.ending {
            self.ended = true;
            out.frame(END, &[])?;
        }
        Ok(())
    }

    fn hear(&mut self, frame: Frame, _: &mut Outbox) -> Result<()> {
        if [SHAPE, MASKED].contains(&frame.kind) { self.learn(&frame) } else { self.take(&frame) }
    }

    fn done(&self) -> bool {
        self.ended && self.found.len() == self.queue.len()
    }
}

/// The side that has documents.
pub struct Holder<F: Field> {
    flat: Flat,
    documents: Vec<Document>,
    masked: Vec<u8>,
    /// An index server has none.
    mask: Option<CipherKey<F>>,
    spoken: bool,
    done: bool,
}

impl<F: Field> Holder<F> {
    /// Documents of one shape, whose words are under this key.
    pub fn new(key: &CipherKey<F>, flat: Flat, documents: Vec<Document>) -> Result<Self> {
        let mask = CipherKey::random()?;
        let holder = Self::index(key.masked(&mask), flat, documents);
        Ok(Self { mask: Some(mask), ..holder })
    }

    /// An index server: it has the documents, and the key only under a mask that it does not know.
    pub fn index(masked: Vec<u8>, flat: Flat, documents: Vec<Document>) -> Self {
        Self { flat, documents, masked, mask: None, spoken: false, done: false }
    }

    /// The mask, for the mediator alone; empty where it is known elsewhere.
    pub fn mask(&self) -> Zeroizing<Vec<u8>> {
        self.mask.as_ref().map(CipherKey::reveal).unwrap_or_default()
    }
}

impl<F: Field> fmt::Debug for Holder<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Holder").field("documents", &self.documents.len()).finish_non_exhaustive()
    }
}

impl<F: Field> Role for Holder<F> {
    const FRAMES: &'static [u8] = &[CELLS, END];

    fn speak(&mut self, out: &mut Outbox) -> Result<()> {
        if std::mem::replace(&mut self.spoken, true) {
            return Ok(());
        }
        out.frame(SHAPE, &[&self.flat.m.to_le_bytes()[..], &self.flat.k.to_le_bytes()].concat())?;
        out.frame(MASKED, &self.masked)
    }

    fn hear(&mut self, frame: Frame, out: &mut Outbox) -> Result<()> {
        if frame.kind == END {
            self.done = true;
            return if frame.body.is_empty() {
                Ok(())
            } else {
                Err(frame.wrong("an end with a body"))
            };
        }
        let (cells, rest) = frame.body.as_chunks::<8>();
        let cells: Vec<u64> = cells.iter().map(|cell| u64::from_le_bytes(*cell)).collect();
        // In ascending order and each once: an order of another kind could tell the reader's cells from dummies.
        let ascending = cells.windows(2).all(|pair| pair[0] < pair[1]);
        if !rest.is_empty() || cells.is_empty() || cells.len() > MOST || !ascending {
            return Err(frame.wrong("not a list of cells"));
        }
        let mut list = List::default();
        for document in &self.documents {
            let bits =
                document.bits(&cells).ok_or_else(|| frame.wrong("a cell that is not there"))?;
            let mut packed = vec![0u8; bits.len().div_ceil(8)];
            bits.iter().enumerate().for_each(|(i, bit)| packed[i / 8] |= u8::from(*bit) << (i % 8));
            // A name and its bits stay in one frame: a list is cut between two pushes.
            list.push_all(&[document.name(), &packed]);
        }
        out.list(BITS, &mut list)?;
        out.frame(TOLD, &(self.documents.len() as u64).to_le_bytes())
    }

    fn done(&self) -> bool {
        self.done
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Limits, Party, Session, run};
    use super::*;
    use crate::secure::Secret;
    use crate::secure::encrypted::{Modp2048, Toy};

    type Small = Toy<2_147_483_579>;

    const FLAT: Flat = Flat { m: 2000, k: 10 };

    fn key<F: Field>(byte: u8) -> CipherKey<F> {
        CipherKey::derive(&Secret::new([byte; 32])).expect("a key")
    }

    fn party<R: Role>(role: R) -> Party<R> {
        Party::new(role, Limits::NETWORK)
    }

    fn holder<F: Field>() -> Party<Holder<F>> {
        let documents = [("trees", ["oak", "elm"]), ("food", ["fig", "oak"])];
        let documents = documents.map(|(name, words)| {
            let mut document = Document::new(name.as_bytes(), FLAT).expect("a filter");
            words.iter().for_each(|word| document.insert(&key::<F>(2), word.as_bytes()));
            document
        });
        party(Holder::new(&key(2), FLAT, documents.into()).expect("random"))
    }

    fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        Frame::write(&mut out, kind, body, &Limits::NETWORK).expect("small");
        out
    }

    fn found<F: Field>() {
        let (alice, secret) = (key::<F>(1), Secret::new([1; 32]));
        let (mut holder, mut reader) = (holder::<F>(), party(Reader::new()));
        let setup = holder.receive(&[]).expect("a setup").send;
        reader.receive(&setup).expect("a setup");
        let plain = [&b"oak"[..], b"fig", b"nothing"];
        let masked = reader.role.masked().expect("told").to_vec();
        let mut client = party(Client::new(&alice, &masked, &plain).expect("words"));
        let mut mediator = party(Mediator::<F>::new(&holder.role.mask()));
        run(&mut client, &mut mediator).expect("honest");
        for (word, plain) in client.role.turned().expect("done").iter().zip(plain) {
            assert!(*word == key::<F>(2).encrypt(plain));
            let flat = reader.role.flat().expect("told");
            reader.role.ask(Salted::new::<F>(flat, word, 20, (&secret, plain)).expect("cells"));
        }
        reader.role.end();
        let asked = reader.receive(&[]).expect("cells").send;
        let answers = holder.receive(&asked).expect("bits");
        assert!(answers.done && reader.receive(&answers.send).expect("names").done);
        let found = reader.role.found();
        assert_eq!(found[0], [&b"trees"[..], b"food"]);
        assert_eq!((&found[1][..], found[2].len()), (&[b"food".to_vec()][..], 0));
        assert!(reader.receive(&answers.send).is_err(), "replayed");
    }

    #[test]
    fn words_are_found_through_a_third_party() {
        found::<Small>();
        found::<Modp2048>();
    }

    #[test]
    fn a_mediator_turns_what_its_list_permits() {
        let bob = key::<Small>(2);
        let listed = || [&b"oak"[..], b"elm"].map(|word| bob.encrypt(word));
        let mut reader = party(Reader::new());
        let mut holder = holder::<Small>();
        reader.receive(&holder.receive(&[]).expect("a setup").send).expect("a setup");
        let masked = reader.role.masked().expect("told");
        let turns = |policy: Policy, plain: &[&[u8]]| {
            assert!(!format!("{policy:?}").contains('['));
            let mut client = party(Client::new(&key::<Small>(1), masked, plain).expect("words"));
            let mut mediator = party(Mediator::<Small>::guarded(&holder.role.mask(), policy));
            run(&mut client, &mut mediator).is_ok()
        };
        assert!(turns(Policy::only::<Small>(listed()), &[b"oak", b"elm"]), "a warrant");
        assert!(!turns(Policy::only::<Small>(listed()), &[b"oak", b"fig"]));
        assert!(turns(Policy::except::<Small>(listed()), &[b"fig"]));
        assert!(!turns(Policy::except::<Small>(listed()), &[b"fig", b"elm"]), "censored");
        assert!(turns(Policy::default(), &[b"fig", b"oak"]));
    }

    #[test]
    fn an_index_server_knows_neither_names_nor_the_key() {
        let (bob, secret) = (key::<Small>(2), Secret::new([2; 32]));
        let mask = CipherKey::random().expect("random");
        let document = |name: &[u8], word: &[u8]| {
            let mut document = Document::opaque(&secret, name, FLAT).expect("a filter");
            document.insert(&bob, word);
            document
        };
        let documents = vec![document(b"trees", b"oak"), document(b"food", b"fig")];
        let names: Vec<Vec<u8>> = documents.iter().map(|d| d.name().to_vec()).collect();
        assert!(names.iter().all(|name| name.len() == 32) && names[0] != names[1]);
        let index = Holder::<Small>::index(bob.masked(&mask), FLAT, documents);
        assert!(index.mask().is_empty());
        let (mut index, mut reader) = (party(index), party(Reader::new()));
        reader.receive(&index.receive(&[]).expect("a setup").send).expect("a setup");
        let masked = reader.role.masked().expect("told").to_vec();
        let mut client = party(Client::new(&key::<Small>(1), &masked, &[b"fig"]).expect("a word"));
        run(&mut client, &mut party(Mediator::<Small>::new(&mask.reveal()))).expect("honest");
        let word = client.role.turned().expect("done")[0];
        let salted = Salted::new::<Small>(FLAT, &word, 9, (&Secret::new([1; 32]), b"fig"));
        let salted = salted.expect("cells");
        assert!(format!("{salted:?}").ends_with(" cells)"), "not which are the word's");
        reader.role.ask(salted);
        reader.role.end();
        run(&mut reader, &mut index).expect("honest");
        assert_eq!(reader.role.found(), [vec![names[1].clone()]]);
        // Bob tells whose name that is.
        assert_eq!(Document::opaque(&secret, b"food", FLAT).expect("a filter").name(), names[1]);
    }

    #[test]
    fn a_mediator_refuses_what_is_no_word() {
        let (mut reader, mut holder) = (party(Reader::new()), holder::<Small>());
        reader.receive(&holder.receive(&[]).expect("a setup").send).expect("a setup");
        let masked = reader.role.masked().expect("told");
        let mut client = party(Client::new(&key::<Small>(1), masked, &[b"oak"]).expect("a word"));
        let sent = client.receive(&[]).expect("a part and a word").send;
        let hears = |bytes: &[u8]| {
            party(Mediator::<Small>::new(&holder.role.mask())).receive(bytes).map(|step| step.done)
        };
        assert!(matches!(hears(&sent), Ok(true)));
        let part = &sent[..9];
        for wrong in [
            frame(WORDS, &[4, 0, 0, 0]),
            [part, part].concat(),
            [part, &frame(WORDS, &[])].concat(),
            [part, &frame(WORDS, &[4, 0, 0])].concat(),
            [part, &frame(WORDS, &[0; 4])].concat(),
            [part, &frame(WORDS, &[1, 0, 0, 0])].concat(),
            [part, &frame(WORDS, &[0xFF; 4])].concat(),
            [part, &frame(WORDS, &[4, 0, 0, 0].repeat(MOST + 1))].concat(),
            frame(PART, &[2, 0, 0, 0]),
            frame(PART, &[0xFF; 4]),
            frame(PART, &[3, 0, 0]),
            [&sent[..], &frame(WORDS, &[4, 0, 0, 0])].concat(),
        ] {
            assert!(hears(&wrong).is_err(), "{wrong:?}");
        }
        assert!(party(Mediator::<Small>::new(&[2, 0, 0, 0])).receive(&sent).is_err(), "no mask");
        for wrong in [frame(WORDS, &[4, 0, 0, 0, 4, 0, 0, 0]), frame(WORDS, &[0; 4])] {
            let mut client =
                party(Client::new(&key::<Small>(1), masked, &[b"oak"]).expect("a word"));
            client.receive(&[]).expect("a word");
            assert!(client.receive(&wrong).is_err());
        }
        assert!(Client::new(&key::<Small>(1), &[2, 0, 0, 0], &[b"oak"]).is_err());
        assert!(Client::new(&key::<Small>(1), masked, &[]).is_err());
    }

    #[test]
    fn a_holder_refuses_cells_that_are_not_there() {
        let cells = |cells: &[u64]| -> Vec<u8> {
            frame(CELLS, &cells.iter().flat_map(|cell| cell.to_le_bytes()).collect::<Vec<u8>>())
        };
        assert!(holder::<Small>().receive(&cells(&[0, 1999])).is_ok());
        for wrong in [
            cells(&[]),
            cells(&[2000]),
            cells(&[7, 7]),
            cells(&[8, 7]),
            cells(&(0..=MOST as u64).collect::<Vec<_>>()),
            frame(CELLS, &[0; 7]),
            frame(END, &[0]),
            [frame(END, &[]), frame(END, &[])].concat(),
        ] {
            assert!(holder::<Small>().receive(&wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_reader_refuses_what_was_not_asked_for() {
        let setup = holder::<Small>().receive(&[]).expect("a setup").send;
        let salted = || {
            let (word, secret) = (key::<Small>(2).encrypt(b"oak"), Secret::new([1; 32]));
            Salted::new::<Small>(FLAT, &word, 0, (&secret, b"oak")).expect("cells")
        };
        let bits = salted().cells.len().div_ceil(8);
        let document = |bits: usize| {
            let mut list = List::default();
            list.push_all(&[b"name", &vec![0xFF; bits]]);
            frame(BITS, &list.take().concat())
        };
        let told = |count: u64| frame(TOLD, &count.to_le_bytes());
        let hears = |bytes: &[u8]| {
            let mut reader = party(Reader::new());
            reader.receive(&setup).expect("a setup");
            reader.role.ask(salted());
            reader.role.end();
            reader.receive(&[]).expect("cells");
            reader.receive(bytes).map(|step| step.done)
        };
        assert!(matches!(hears(&[document(bits), told(1)].concat()), Ok(true)));
        for wrong in [
            [document(bits), told(2)].concat(),
            [document(bits + 1), told(1)].concat(),
            [document(bits), told(1), told(0)].concat(),
            frame(BITS, b"\x04name"),
            frame(BITS, b"\x09name"),
            frame(TOLD, &[0; 7]),
            setup.clone(),
        ] {
            assert!(hears(&wrong).is_err(), "{wrong:?}");
        }
        for wrong in [frame(SHAPE, &[0; 12]), frame(SHAPE, &[0xFF; 11]), frame(MASKED, &[3])] {
            assert!(party(Reader::new()).receive(&wrong).is_err());
        }
    }
}
