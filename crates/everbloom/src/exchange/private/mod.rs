//! Private queries (RFC 9497, VOPRF): is a key in the other side's set, when neither shows its keys?
//!
//! ```text
//!   Asker: keys to look up                  Owner: a set, and the function's key
//!        │ ◀──── KEY, FILTER ───────────────────── │   once, for everyone: outputs of the set's keys, as .evb
//!        │ ── ASK …, END ────────────────────────▶ │   a random element for each key
//!        │ ◀──── ANSWER … ──────────────────────── │   evaluated, with a proof for each frame
//!   looks the outputs up at home
//! ```
//!
//! Answers that are not for the elements that were asked for, or not by the key that was published, are errors: a
//! lying owner can refuse, and nothing else. An asker who knows the owner's public key says so
//! ([`Asker::trusting`]); otherwise the key is the one that comes with the filter, and whoever sends both chose both.
//! What leaks stands in [`private_query`](crate::secure::private_query).
//!
//! ```
//! use everbloom::exchange::private::{Asker, Owner, outputs};
//! use everbloom::exchange::{Limits, Party, run};
//! use everbloom::secure::Secret;
//! use everbloom::secure::oprf::{Mode, Ristretto, ServerKey};
//!
//! let key = ServerKey::<Ristretto>::derive(Mode::Verified, &Secret::random()?, b"fruit")?;
//! let filter = outputs(&key, 2, 1e-9, [&b"fig"[..], b"pear"])?;
//! let mut owner = Party::new(Owner::new(key, 100).with_set(filter), Limits::NETWORK);
//! let asker = Asker::<Ristretto>::new(vec![b"fig".to_vec(), b"oak".to_vec()])?;
//! let mut asker = Party::new(asker, Limits::NETWORK);
//! run(&mut owner, &mut asker)?;
//! assert_eq!(asker.role.found(), Some(&[true, false][..]));
//! # Ok::<(), everbloom::Error>(())
//! ```

use std::fmt;

use subtle::ConstantTimeEq;

use super::{Frame, HEADER, Outbox, Role};
use crate::error::{Error, Kind, Result};
use crate::filter::{Filter, Record, Verdict};
use crate::membership::Bloom;
use crate::secure::oprf::{Blinded, Group, Mode, Proof, ServerKey, read_elements, write_elements};
use crate::secure::{Secret, random};

/// Owner to asker: the public key.
const KEY: u8 = 0x40;
/// Owner to asker: a filter of the function's outputs.
const FILTER: u8 = 0x41;
/// Asker to owner: blinded elements.
const ASK: u8 = 0x42;
/// Asker to owner: there are no more.
const END: u8 = 0x43;
/// Owner to asker: evaluated elements and their proof.
const ANSWER: u8 = 0x44;

/// Elements in a frame.
const BATCH: usize = 1024;
/// Length of what tells one exchange from another.
const ONCE: usize = 16;

/// The filter of a set for askers: the function's outputs instead of the keys.
pub fn outputs<'k, G: Group>(
    key: &ServerKey<G>,
    items: u64,
    rate: f64,
    keys: impl IntoIterator<Item = &'k [u8]>,
) -> Result<Bloom> {
    let mut filter = Bloom::with_rate(items.max(1), rate)?;
    for word in keys {
        filter.insert(&key.output(word)?[..]);
    }
    Ok(filter)
}

/// The side that has the set.
pub struct Owner<G: Group> {
    key: ServerKey<G>,
    /// The filter, until it is told.
    set: Option<Bloom>,
    left: u64,
    answered: u64,
    once: Option<[u8; ONCE]>,
    done: bool,
}

impl<G: Group> Owner<G> {
    /// An owner who answers at most this many queries, and whose filter the asker has.
    pub fn new(key: ServerKey<G>, most: u64) -> Self {
        Self { key, set: None, left: most, answered: 0, once: None, done: false }
    }

    /// Sends this filter, of [`outputs`], first.
    #[must_use]
    pub fn with_set(mut self, filter: Bloom) -> Self {
        self.set = Some(filter);
        self
    }

    /// Queries that were answered.
    pub fn answered(&self) -> u64 {
        self.answered
    }

    fn answer(&mut self, frame: &Frame, out: &mut Outbox) -> Result<()> {
        let (once, elements) = frame
            .body
            .split_first_chunk::<ONCE>()
            .filter(|(_, elements)| (1..=BATCH * G::ELEMENT).contains(&elements.len()))
            .ok_or_else(|| frame.wrong("no queries, or too many at once"))?;
        if self.once.is_some_and(|first| first != *once) {
            return Err(frame.wrong("queries of another exchange"));
        }
        let asked = (elements.len() / G::ELEMENT) as u64;
        // Before anything is computed: an element costs far more than its bytes.
        self.left = self.left.checked_sub(asked).ok_or_else(|| {
            Error::new(Kind::LimitExceeded { what: "queries" }, "more queries than are answered")
        })?;
        let blinded = read_elements::<G>(elements)
            .ok_or_else(|| frame.wrong("a query that is no element of the group"))?;
        (self.once, self.answered) = (Some(*once), self.answered + asked);
        let evaluated = self.key.evaluate(&blinded);
        let mut body = once.to_vec();
        write_elements::<G>(&evaluated, &mut body);
        self.key.prove(&blinded, &evaluated)?.write(&mut body);
        out.frame(ANSWER, &body)
    }
}

impl<G: Group> fmt::Debug for Owner<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owner").field("left", &self.left).field("done", &self.done).finish()
    }
}

impl<G: Group> Role for Owner<G> {
    const FRAMES: &'static [u8] = &[ASK, END];

    fn speak(&mut self, out: &mut Outbox) -> Result<()> {
        let Some(filter) = self.set.take() else { return Ok(()) };
        let mut key = Vec::new();
        G::write(&self.key.public(), &mut key);
        out.frame(KEY, &key)?;
        out.filter(FILTER, &filter)
    }

    fn room(&self, head: &Frame) -> Result<u64> {
        Ok(if head.kind == ASK { (ONCE + BATCH * G::ELEMENT) as u64 } else { 0 })
    }

    fn hear(&mut self, frame: Frame, out: &mut Outbox) -> Result<()> {
        if frame.kind == ASK {
            return self.answer(&frame, out);
        }
        if !frame.body.is_empty() {
            return Err(frame.wrong("an end with a body"));
        }
        self.done = true;
        Ok(())
    }

    fn done(&self) -> bool {
        self.done
    }
}

/// The side that has keys to look up.
pub struct Asker<G: Group> {
    keys: Vec<Vec<u8>>,
    secret: Secret,
    once: [u8; ONCE],
    trusted: Option<Vec<u8>>,
    public: Option<G::Element>,
    filter: Option<Box<dyn Filter>>,
    /// What was asked for, in the order of the keys.
    asked: Vec<Blinded<G>>,
    spoken: bool,
    found: Vec<bool>,
}

impl<G: Group> Asker<G> {
    /// An asker whose blinds are random, and forgotten with it.
    pub fn new(keys: Vec<Vec<u8>>) -> Result<Self> {
        Ok(Self::resumed(keys, Secret::random()?, random()?))
    }

    /// An asker whose blinds follow from a secret and a number that was not used before under it: to ask now
    /// and take the answers later, in another process, which is made in the same way from the same keys.
    pub fn resumed(keys: Vec<Vec<u8>>, secret: Secret, once: [u8; ONCE]) -> Self {
        Self {
            keys,
            secret,
            once,
            trusted: None,
            public: None,
            filter: None,
            asked: Vec::new(),
            spoken: false,
            found: Vec::new(),
        }
    }

    /// Takes answers by this public key alone.
    #[must_use]
    pub fn trusting(mut self, public: Vec<u8>) -> Self {
        self.trusted = Some(public);
        self
    }

    /// The owner's public key, once it has come.
    pub fn public(&self) -> Option<Vec<u8>> {
        self.public.as_ref().map(|public| {
            let mut out = Vec::new();
            G::write(public, &mut out);
            out
        })
    }

    /// Whether each of the keys may be in the set, once all answers have come.
    pub fn found(&self) -> Option<&[bool]> {
        Some(&self.found[..]).filter(|_| self.done())
    }

    fn learn(&mut self, frame: &Frame, out: &Outbox) -> Result<()> {
        match (frame.kind, &self.public, &self.filter) {
            (KEY, None, _) => {
                let known = self.trusted.as_ref();
                if known.is_some_and(|key| !bool::from(key.ct_eq(&frame.body))) {
                    return Err(frame.wrong("not the trusted public key"));
                }
                let public = G::read(&frame.body);
                self.public = Some(public.ok_or_else(|| frame.wrong("no public key"))?);
            }
            (FILTER, Some(_), None) => self.filter = Some(out.opener().decode(&frame.body)?),
            _ => return Err(frame.wrong("the key must come first, then the filter, each once")),
        }
        Ok(())
    }

    fn take(&mut self, frame: &Frame) -> Result<()> {
        let (Some(public), Some(filter)) = (&self.public, &self.filter) else {
            return Err(frame.wrong("nothing was requested"));
        };
        let (at, most) = (self.found.len(), self.asked.len());
        let batch = &self.asked[at..most.min(at + BATCH)];
        let length = ONCE + batch.len() * G::ELEMENT + Proof::<G>::LENGTH;
        if batch.is_empty() || frame.body.len() != length {
            return Err(frame.wrong("not as many answers as there were queries"));
        }
        let (once, rest) = frame.body.split_at(ONCE);
        if once != self.once {
            return Err(frame.wrong("answers of another exchange"));
        }
        let (elements, proof) = rest.split_at(batch.len() * G::ELEMENT);
        let evaluated = read_elements::<G>(elements)
            .ok_or_else(|| frame.wrong("an answer that is no element of the group"))?;
        let blinded: Vec<G::Element> = batch.iter().map(Blinded::element).collect();
        let proven =
            Proof::<G>::read(proof).is_some_and(|p| p.verify(public, &blinded, &evaluated));
        if !proven {
            return Err(frame.wrong("the answers are not proved to be by the published key"));
        }
        for ((key, blinded), evaluated) in self.keys[at..].iter().zip(batch).zip(&evaluated) {
            let output = blinded.finish(key, evaluated);
            let answer = filter.query(Record::key(&output[..]))?;
            self.found.push(answer.verdict != Verdict::Absent);
        }
        Ok(())
    }
}

impl<G: Group> fmt::Debug for Asker<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (keys, found) = (self.keys.len(), self.found.len());
        f.debug_struct("Asker").field("keys", &keys).field("answered", &found).finish()
    }
}

impl<G: Group> Role for Asker<G> {
    const FRAMES: &'static [u8] = &[KEY, FILTER, ANSWER];

    fn speak(&mut self, out: &mut Outbox) -> Result<()> {
        if self.filter.is_none() || std::mem::replace(&mut self.spoken, true) {
            return Ok(());
        }
        let blind = |(place, key): (usize, &Vec<u8>)| {
            let under = (&self.secret, &self.once);
            Blinded::derived(Mode::Verified, key, under, place as u64)
        };
        self.asked = self.keys.iter().enumerate().map(blind).collect::<Result<_>>()?;
        for batch in self.asked.chunks(BATCH) {
            let elements: Vec<G::Element> = batch.iter().map(Blinded::element).collect();
            let mut body = self.once.to_vec();
            write_elements::<G>(&elements, &mut body);
            out.frame(ASK, &body)?;
        }
        out.frame(END, &[])
    }

    fn room(&self, head: &Frame) -> Result<u64> {
        Ok(match head.kind {
            KEY => G::ELEMENT as u64,
            ANSWER => (ONCE + BATCH * G::ELEMENT + Proof::<G>::LENGTH) as u64,
            _ => u64::MAX,
        })
    }

    fn hear(&mut self, frame: Frame, out: &mut Outbox) -> Result<()> {
        if frame.kind == ANSWER { self.take(&frame) } else { self.learn(&frame, out) }
    }

    fn done(&self) -> bool {
        self.spoken && self.found.len() == self.keys.len()
    }
}

/// An identifier of the exchange of these queries, as [`Asker::resumed`] takes it.
pub fn once_of(queries: &[u8]) -> Result<[u8; ONCE]> {
    let once = queries.get(HEADER..HEADER + ONCE).filter(|_| queries[0] == ASK);
    once.and_then(|once| once.try_into().ok())
        .ok_or_else(|| Error::new(Kind::NotOurs, "these are no private queries"))
}

#[cfg(test)]
mod tests;
