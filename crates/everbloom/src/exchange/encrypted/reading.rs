//! The exchange between who searches and who has the documents.

use std::fmt;

use zeroize::Zeroizing;

use super::passing::{Passed, Slip, Ticket};
use super::{
    BITS, CELLS, END, MASKED, SHAPE, TICKET, TOLD, cells, packed, shape, unpacked, written_cells,
    written_shape,
};
use crate::error::Result;
use crate::exchange::{Frame, List, Outbox, Role, items};
use crate::plan::Flat;
use crate::secure::encrypted::{CipherKey, Document, Field, Real, Salted};

/// A query as it is sent, and which bits of its answer count.
struct Query {
    kind: u8,
    body: Vec<u8>,
    real: Real,
}

impl fmt::Debug for Query {
    /// Says how many cells there are, and not which.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Query({:?})", self.real)
    }
}

/// Alice's side of the exchange with the holder.
#[derive(Debug, Default)]
pub struct Reader {
    flat: Option<Flat>,
    masked: Option<Vec<u8>>,
    queue: Vec<Query>,
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
        let body = written_cells(&salted.cells);
        self.queue.push(Query { kind: CELLS, body, real: salted.real });
    }

    /// Asks for the answer to a query that the mediator passed on.
    pub fn collect(&mut self, slip: &Slip) {
        let (body, real) = (slip.ticket.to_vec(), slip.real.clone());
        self.queue.push(Query { kind: TICKET, body, real });
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
            (SHAPE, None, None) => self.flat = Some(shape(frame)?),
            (MASKED, Some(_), None) => self.masked = Some(frame.body.clone()),
            _ => return Err(frame.wrong("the shape comes first, then the key, each once")),
        }
        Ok(())
    }

    fn take(&mut self, frame: &Frame) -> Result<()> {
        let asked = self.queue[..self.sent].get(self.found.len());
        let query = asked.ok_or_else(|| frame.wrong("nothing was requested"))?;
        if frame.kind == TOLD {
            if frame.number()? != self.told {
                return Err(frame.wrong("documents are missing, or too many"));
            }
            self.told = 0;
            self.found.push(std::mem::take(&mut self.partial));
            return Ok(());
        }
        let mut name = None;
        items(frame, |item| {
            let Some(name) = name.take() else {
                name = Some(item);
                return Ok(());
            };
            let bits = unpacked(frame, item, query.real.0.len())?;
            self.told += 1;
            if query.real.matches(&bits) {
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
        for query in &self.queue[self.sent..] {
            out.frame(query.kind, &query.body)?;
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
    /// Queries that the mediator passed on, where all of them come from it.
    passed: Option<Passed>,
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
        Self { flat, documents, masked, mask: None, passed: None, spoken: false, done: false }
    }

    /// The same, with answers only to what the mediator passes on: [`Holder::expect`].
    #[must_use]
    pub fn warranted(self) -> Self {
        Self { passed: Some(Passed::new()), ..self }
    }

    /// Takes queries that the mediator passed on. Each is answered once, to the holder of its ticket.
    pub fn expect(&mut self, passed: Passed) {
        self.passed.get_or_insert_default().extend(passed);
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
    const FRAMES: &'static [u8] = &[CELLS, TICKET, END];

    fn speak(&mut self, out: &mut Outbox) -> Result<()> {
        if std::mem::replace(&mut self.spoken, true) {
            return Ok(());
        }
        out.frame(SHAPE, &written_shape(self.flat))?;
        out.frame(MASKED, &self.masked)
    }

    fn hear(&mut self, frame: Frame, out: &mut Outbox) -> Result<()> {
        if frame.kind == END {
            frame.bare()?;
            self.done = true;
            return Ok(());
        }
        let cells = match (frame.kind, &mut self.passed) {
            (TICKET, Some(passed)) => {
                let ticket = Ticket::try_from(&frame.body[..]).ok();
                let cells = ticket.and_then(|ticket| passed.remove(&ticket));
                cells.ok_or_else(|| frame.wrong("a ticket of no query, or used before"))?
            }
            (CELLS, None) => cells(&frame, &frame.body)?,
            _ => return Err(frame.wrong("either all queries come from the mediator, or none")),
        };
        let mut list = List::default();
        for document in &self.documents {
            let bits =
                document.bits(&cells).ok_or_else(|| frame.wrong("a cell that is not there"))?;
            // A name and its bits stay in one frame: a list is cut between two pushes.
            list.push_all(&[document.name(), &packed(&bits)]);
        }
        out.list(BITS, &mut list)?;
        out.frame(TOLD, &(self.documents.len() as u64).to_le_bytes())
    }

    fn done(&self) -> bool {
        self.done
    }
}
