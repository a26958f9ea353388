//! The mediator passes queries on itself: a warrant server, or one that censors. Three exchanges, in this order:
//!
//! ```text
//!   Courier (mediator)                      Intake (holder)
//!        │ ◀──── SHAPE ─────────────────────────── │   … and the reader hears SHAPE, MASKED of the holder
//!
//!   Applicant (Alice)                       Warrant (mediator)
//!        │ ── PART, WORDS: E_A(W) … ─────────────▶ │   turns the words, and adds dummies of its own to their cells
//!        │ ◀──── SLIP: ticket, which bits count ── │   for each word
//!
//!   Courier (mediator)                      Intake (holder)
//!        │ ── PASSED: ticket, cells … END ───────▶ │
//!        │ ◀──── TAKEN: how many ───────────────── │
//!
//!   Reader (Alice)                          Holder
//!        │ ── TICKET ────────────────────────────▶ │   each once
//!        │ ◀──── BITS … TOLD ───────────────────── │
//! ```
//!
//! Alice never has a word under the holder's key, nor its cells: every query of hers goes past the mediator, and the
//! holder ([`Holder::warranted`](super::Holder::warranted)) answers no others. The mediator does not see the answer. A
//! ticket is 128 random bits; who shows it first gets the answer, so it goes to Alice and to the holder alone.

use std::collections::BTreeMap;
use std::fmt;

use super::{
    Client, END, MOST, Mediator, PART, PASSED, SHAPE, SLIP, TAKEN, WORDS, cells, packed, shape,
    unpacked, written_cells, written_shape,
};
use crate::error::{Error, Result};
use crate::exchange::{Frame, Outbox, Role};
use crate::plan::Flat;
use crate::secure::encrypted::{CipherKey, Field, Listed, Real, Salted, written};
use crate::secure::{Secret, random};

/// What a query is called between the three parties.
pub type Ticket = [u8; 16];

/// Cells requested with a ticket.
pub type Passed = BTreeMap<Ticket, Vec<u64>>;

/// What the mediator gives Alice for a word.
#[derive(Clone)]
pub struct Slip {
    pub(super) ticket: Ticket,
    pub(super) real: Real,
}

impl Slip {
    fn written(&self) -> Vec<u8> {
        let flags = &self.real.0;
        [&self.ticket[..], &(flags.len() as u32).to_le_bytes(), &packed(flags)].concat()
    }

    fn read(frame: &Frame) -> Result<Self> {
        let split = frame.body.split_first_chunk::<16>();
        let split = split.and_then(|(t, rest)| Some((t, rest.split_first_chunk::<4>()?)));
        let (ticket, (len, bits)) = split.ok_or_else(|| frame.wrong("no slip"))?;
        let len = u32::from_le_bytes(*len) as usize;
        let flags = if len > MOST { Vec::new() } else { unpacked(frame, bits, len)? };
        // Without a cell of the word's own every document would match.
        if !flags.contains(&true) {
            return Err(frame.wrong("a slip for no cell, or for too many"));
        }
        Ok(Self { ticket: *ticket, real: Real(flags) })
    }
}

impl fmt::Debug for Slip {
    /// Never prints the ticket.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Slip({:?})", self.real)
    }
}

/// Alice's side of the exchange with a mediator who passes queries on.
pub struct Applicant<F: Field> {
    client: Client<F>,
    slips: Vec<Slip>,
}

impl<F: Field> Applicant<F> {
    /// Words under Alice's key, and the masked key that the holder sent.
    pub fn new(key: &CipherKey<F>, masked: &[u8], plain: &[&[u8]]) -> Result<Self> {
        Ok(Self { client: Client::new(key, masked, plain)?, slips: Vec::new() })
    }

    /// A slip for each word, in order, as far as they have come:
    /// [`Reader::collect`](super::Reader::collect) takes them.
    pub fn slips(&self) -> &[Slip] {
        &self.slips
    }
}

impl<F: Field> fmt::Debug for Applicant<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Applicant").field("slips", &self.slips.len()).finish_non_exhaustive()
    }
}

impl<F: Field> Role for Applicant<F> {
    const FRAMES: &'static [u8] = &[SLIP];

    fn speak(&mut self, out: &mut Outbox) -> Result<()> {
        self.client.speak(out)
    }

    fn hear(&mut self, frame: Frame, _: &mut Outbox) -> Result<()> {
        if !self.client.spoken {
            return Err(frame.wrong("nothing was requested"));
        }
        self.slips.push(Slip::read(&frame)?);
        Ok(())
    }

    fn done(&self) -> bool {
        self.slips.len() == self.client.words.len()
    }
}

/// The mediator's side of the exchange with Alice: turns her words, and keeps them.
pub struct Warrant<F: Field> {
    mediator: Mediator<F>,
    flat: Flat,
    dummies: u32,
    secret: Secret,
    refused: Listed,
    passed: Passed,
}

impl<F: Field> Warrant<F> {
    /// A mediator with its policy, the shape that [`Courier::flat`] heard, and so many dummies for each word, which
    /// follow from a secret of the mediator's own.
    pub fn new(mediator: Mediator<F>, flat: Flat, dummies: u32, secret: Secret) -> Result<Self> {
        if u64::from(flat.k) + u64::from(dummies) > MOST as u64 {
            let message = format!("{} cells and {dummies} dummies: the maximum is {MOST}", flat.k);
            return Err(Error::parameter(message));
        }
        let (refused, passed) = (Listed::default(), Passed::new());
        Ok(Self { mediator, flat, dummies, secret, refused, passed })
    }

    /// The same, without the words of this list: a mediator that censors. Alice can blind such a word, but then the cells
    /// of another one are asked for, and she never gets a word that she could unblind.
    #[must_use]
    pub fn refusing(self, words: impl IntoIterator<Item = F::Number>) -> Self {
        Self { refused: Listed::new::<F>(words), ..self }
    }

    /// The queries to pass on: [`Courier::pass`].
    pub fn passed(&self) -> &Passed {
        &self.passed
    }
}

impl<F: Field> fmt::Debug for Warrant<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Warrant").field("queries", &self.passed.len()).finish_non_exhaustive()
    }
}

impl<F: Field> Role for Warrant<F> {
    const FRAMES: &'static [u8] = &[PART, WORDS];

    fn speak(&mut self, _: &mut Outbox) -> Result<()> {
        Ok(())
    }

    fn hear(&mut self, frame: Frame, out: &mut Outbox) -> Result<()> {
        let turned = self.mediator.turn(&frame)?.unwrap_or_default();
        if turned.iter().any(|word| self.refused.has::<F>(word)) {
            return Err(frame.wrong("a word that must not be asked for"));
        }
        for word in turned {
            let named = written::<F>(&word);
            let salted = Salted::new::<F>(self.flat, &word, self.dummies, (&self.secret, &named))?;
            let slip = Slip { ticket: random()?, real: salted.real };
            out.frame(SLIP, &slip.written())?;
            self.passed.insert(slip.ticket, salted.cells);
        }
        Ok(())
    }

    fn done(&self) -> bool {
        self.mediator.done
    }
}

/// The mediator's side of the exchange with the holder.
#[derive(Default)]
pub struct Courier {
    flat: Option<Flat>,
    passed: Passed,
    ending: bool,
    /// Queries that were sent, once all were.
    sent: Option<u64>,
    taken: bool,
}

impl Courier {
    /// A courier who has heard nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The shape of the filters, once it has come.
    pub fn flat(&self) -> Option<Flat> {
        self.flat
    }

    /// Passes queries on, and no more after these.
    pub fn pass(&mut self, passed: &Passed) {
        self.passed.clone_from(passed);
        self.ending = true;
    }
}

impl fmt::Debug for Courier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Courier").field("queries", &self.passed.len()).finish_non_exhaustive()
    }
}

impl Role for Courier {
    const FRAMES: &'static [u8] = &[SHAPE, TAKEN];

    fn speak(&mut self, out: &mut Outbox) -> Result<()> {
        if !self.ending || self.flat.is_none() || self.sent.is_some() {
            return Ok(());
        }
        for (ticket, cells) in &self.passed {
            out.frame(PASSED, &[&ticket[..], &written_cells(cells)].concat())?;
        }
        self.sent = Some(self.passed.len() as u64);
        out.frame(END, &[])
    }

    fn hear(&mut self, frame: Frame, _: &mut Outbox) -> Result<()> {
        match (frame.kind, self.flat, self.sent) {
            (SHAPE, None, _) => self.flat = Some(shape(&frame)?),
            (TAKEN, _, Some(sent)) if frame.number()? == sent => self.taken = true,
            _ => return Err(frame.wrong("the shape comes first, then as many as were sent")),
        }
        Ok(())
    }

    fn done(&self) -> bool {
        self.taken
    }
}

/// The holder's side of the exchange with the mediator.
pub struct Intake {
    flat: Flat,
    passed: Passed,
    spoken: bool,
    done: bool,
}

impl Intake {
    /// For filters of this shape.
    pub fn new(flat: Flat) -> Self {
        Self { flat, passed: Passed::new(), spoken: false, done: false }
    }

    /// The queries that were passed on, for [`Holder::expect`](super::Holder::expect): none until the mediator has
    /// said that these are all.
    pub fn passed(&mut self) -> Passed {
        if self.done { std::mem::take(&mut self.passed) } else { Passed::new() }
    }
}

impl fmt::Debug for Intake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Intake").field("queries", &self.passed.len()).finish_non_exhaustive()
    }
}

impl Role for Intake {
    const FRAMES: &'static [u8] = &[PASSED, END];

    fn speak(&mut self, out: &mut Outbox) -> Result<()> {
        if std::mem::replace(&mut self.spoken, true) {
            return Ok(());
        }
        out.frame(SHAPE, &written_shape(self.flat))
    }

    fn hear(&mut self, frame: Frame, out: &mut Outbox) -> Result<()> {
        if frame.kind == END {
            frame.bare()?;
            self.done = true;
            return out.frame(TAKEN, &(self.passed.len() as u64).to_le_bytes());
        }
        let ticket = frame.body.split_first_chunk::<16>();
        let (ticket, rest) = ticket.ok_or_else(|| frame.wrong("no ticket"))?;
        let cells = cells(&frame, rest)?;
        if cells.last().is_some_and(|last| *last >= self.flat.m) {
            return Err(frame.wrong("a cell that is not there"));
        }
        if self.passed.len() >= MOST || self.passed.insert(*ticket, cells).is_some() {
            return Err(frame.wrong("a ticket that came before, or too many queries"));
        }
        Ok(())
    }

    fn done(&self) -> bool {
        self.done
    }
}
