//! Search in encrypted filters through a third party (Bellovin, Cheswick 2004): two exchanges, one with the mediator who
//! turns words under one key into words under another, one with the holder of the documents. Where the mediator passes
//! queries on itself there is a third one, between the two ([`passing`]).
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

pub mod passing;
mod reading;

use std::fmt;

pub use reading::{Holder, Reader};
use zeroize::Zeroizing;

use super::{Frame, Outbox, Role};
use crate::error::{Error, Result};
use crate::plan::Flat;
use crate::secure::encrypted::{CipherKey, Field, Policy, Ratio, written};

/// Client to mediator: the client's part of the ratio.
const PART: u8 = 0x50;
/// Client to mediator: words under the client's key. Mediator to client: under the holder's.
const WORDS: u8 = 0x51;
/// Holder to reader, or to mediator: m and k.
const SHAPE: u8 = 0x52;
/// Holder to reader: the holder's key under a mask.
const MASKED: u8 = 0x53;
/// Reader to holder: cells.
const CELLS: u8 = 0x54;
/// Holder to reader: for every document its name and its bits in those cells.
const BITS: u8 = 0x55;
/// Holder to reader: so many documents were told of.
const TOLD: u8 = 0x56;
/// Reader to holder: there are no more words. Mediator to holder: there are no more queries.
const END: u8 = 0x57;
/// Mediator to client: the ticket of a query, and which bits of its answer count.
const SLIP: u8 = 0x58;
/// Mediator to holder: a ticket, and the cells that whoever shows it asks for.
const PASSED: u8 = 0x59;
/// Holder to mediator: so many queries were taken.
const TAKEN: u8 = 0x5A;
/// Reader to holder: the ticket of a query that the mediator passed on.
const TICKET: u8 = 0x5B;

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

/// The body of a frame of [`SHAPE`].
fn written_shape(flat: Flat) -> Vec<u8> {
    [&flat.m.to_le_bytes()[..], &flat.k.to_le_bytes()].concat()
}

/// The shape in a frame.
fn shape(frame: &Frame) -> Result<Flat> {
    let (m, k) = frame.body.split_first_chunk::<8>().unwrap_or((&[0; 8], &[]));
    let k = k.try_into().map_or(0, u32::from_le_bytes);
    Flat::new(u64::from_le_bytes(*m), k).map_err(|e| frame.wrong(&e.to_string()))
}

/// Cells as they are sent.
fn written_cells(cells: &[u64]) -> Vec<u8> {
    cells.iter().flat_map(|cell| cell.to_le_bytes()).collect()
}

/// Cells that are asked for, from a frame.
fn cells(frame: &Frame, bytes: &[u8]) -> Result<Vec<u64>> {
    let (cells, rest) = bytes.as_chunks::<8>();
    let cells: Vec<u64> = cells.iter().map(|cell| u64::from_le_bytes(*cell)).collect();
    // In ascending order and each once: an order of another kind could tell the reader's cells from dummies.
    let ascending = cells.windows(2).all(|pair| pair[0] < pair[1]);
    if !rest.is_empty() || cells.is_empty() || cells.len() > MOST || !ascending {
        return Err(frame.wrong("not a list of cells"));
    }
    Ok(cells)
}

/// Bits as they are sent, the lowest of a byte first.
fn packed(bits: &[bool]) -> Vec<u8> {
    let mut packed = vec![0u8; bits.len().div_ceil(8)];
    bits.iter().enumerate().for_each(|(i, bit)| packed[i / 8] |= u8::from(*bit) << (i % 8));
    packed
}

/// So many bits, from as many bytes as they take.
fn unpacked(frame: &Frame, bytes: &[u8], len: usize) -> Result<Vec<bool>> {
    if bytes.len() != len.div_ceil(8) {
        return Err(frame.wrong("not as many bits as were requested"));
    }
    Ok((0..len).map(|i| bytes[i / 8] >> (i % 8) & 1 == 1).collect())
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

    /// The same, for the words of a warrant.
    pub fn guarded(mask: &[u8], policy: Policy) -> Self {
        Self { mask: Zeroizing::new(mask.to_vec()), policy, ratio: None, done: false }
    }

    /// Takes the client's part of the ratio, then its words: those under the holder's key, if they may be asked for.
    fn turn(&mut self, frame: &Frame) -> Result<Option<Vec<F::Number>>> {
        match (frame.kind, &self.ratio) {
            (PART, None) => {
                let ratio = Ratio::new(&frame.body, &self.mask);
                self.ratio = Some(ratio.ok_or_else(|| frame.wrong("no part of a ratio"))?);
                Ok(None)
            }
            (WORDS, Some(ratio)) => {
                let turned = words::<F>(frame)?;
                let turned: Vec<F::Number> = turned.iter().map(|word| ratio.apply(word)).collect();
                if !turned.iter().all(|word| self.policy.permits::<F>(word)) {
                    return Err(frame.wrong("a word that must not be asked for"));
                }
                self.done = true;
                Ok(Some(turned))
            }
            _ => Err(frame.wrong("the part of the ratio comes first, and once")),
        }
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
        match self.turn(&frame)? {
            Some(turned) => {
                out.frame(WORDS, &turned.iter().flat_map(written::<F>).collect::<Vec<u8>>())
            }
            None => Ok(()),
        }
    }

    fn done(&self) -> bool {
        self.done
    }
}

#[cfg(test)]
mod tests;
