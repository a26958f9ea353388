//! The side that sends cells of its set.

use std::collections::HashSet;
use std::mem;

use super::super::{Due, Frame, List, Outbox, Role, items};
use super::wire::{body_of, numbers, push_symbol};
use super::{
    AGAIN, ALL, CELLS, CLOSED, END, GIVE, GRANT, KEYS, LAST, OPEN, SALTS, SIZES, SKETCH, Set, Sum,
    WANT, sketched,
};
use crate::error::{Error, Kind, Result};
use crate::reconciling::rateless::Coded;

/// The side that answers; it learns nothing of the other's keys but how many there are, and those it is given.
#[derive(Clone, Debug)]
pub struct Holder {
    set: Set,
    /// Whether keys may be given to it, and whether the other side waits until they are stored.
    takes: bool,
    stores: bool,
    /// Salts that were tried.
    tried: u64,
    salt: u64,
    /// Keys and sum of the other side.
    peer: (u64, Sum),
    peer_bytes: u64,
    state: State,
    taken: Vec<Vec<u8>>,
}

#[derive(Clone, Debug)]
enum State {
    Idle,
    /// Sends cells, so many so far.
    Open {
        coded: Box<Coded>,
        sent: u64,
    },
    /// Has sent the keys that the other side lacks, all of its own if that is not known, and takes some.
    Sent {
        lacking: Option<HashSet<u64>>,
        seen: HashSet<u64>,
        due: Due,
    },
    /// Has all that it was given, which is being stored.
    Given,
    /// All of it is stored.
    Stored,
    Done,
}

impl Holder {
    /// The side that answers, with its keys.
    pub fn new(set: Set) -> Self {
        Self {
            set,
            takes: false,
            stores: false,
            tried: 0,
            salt: 0,
            peer: (0, Sum::default()),
            peer_bytes: 0,
            state: State::Idle,
            taken: Vec::new(),
        }
    }

    /// The same, and the other side may give it keys.
    #[must_use]
    pub fn taking(mut self) -> Self {
        self.takes = true;
        self
    }

    /// The same, and the other side hears that the exchange is over when [`Holder::stored`] says so: until then it
    /// must not believe that the keys it gave are safe.
    #[must_use]
    pub fn storing(self) -> Self {
        Self { stores: true, ..self.taking() }
    }

    /// Whether all keys were given, and are to be stored now.
    pub fn to_store(&self) -> Option<&[Vec<u8>]> {
        matches!(self.state, State::Given).then_some(&self.taken)
    }

    /// Says that the keys are stored.
    pub fn stored(&mut self) {
        if matches!(self.state, State::Given) {
            self.state = State::Stored;
        }
    }

    /// How many keys the other side has announced, and how many bytes they are, a line each.
    pub fn other(&self) -> (u64, u64) {
        (self.peer.0, self.peer_bytes)
    }

    /// This side's keys.
    pub fn set(&self) -> &Set {
        &self.set
    }

    /// The keys that the other side gave, when the exchange is over: none of them is in this side's set.
    pub fn taken(&self) -> &[Vec<u8>] {
        if self.done() { &self.taken } else { &[] }
    }

    fn open(&mut self, frame: &Frame, out: &mut Outbox) -> Result<()> {
        let &[salt, keys, bytes, allowance, x, y] = numbers(frame)?.as_slice() else {
            return Err(frame.wrong("not a salt, three sizes and a sum"));
        };
        if keys > bytes {
            return Err(frame.wrong("more keys than bytes"));
        }
        if self.tried == SALTS {
            return Err(frame.wrong("one salt too many"));
        }
        self.tried += 1;
        if !self.set.reseed(salt) {
            return out.frame(AGAIN, &[]);
        }
        (self.salt, self.peer, self.peer_bytes) = (salt, (keys, Sum(x, y)), bytes);
        let mut coded = Coded::new(salt).with_room(self.set.len());
        self.set.ids().for_each(|id| coded.insert(id));
        self.state = State::Open { coded: Box::new(coded), sent: 0 };
        let Sum(x, y) = self.set.sum(salt);
        let mut body = vec![self.set.len() as u64, self.set.bytes(), x, y];
        if sketched(self.set.bytes().min(bytes), allowance) {
            body.extend(self.set.least_ids(SKETCH));
        }
        out.frame(SIZES, &body_of(body))
    }

    fn send_cells(
        &self,
        frame: &Frame,
        coded: &mut Coded,
        sent: u64,
        out: &mut Outbox,
    ) -> Result<u64> {
        let count = frame.number()?;
        // An honest seeker never needs as many cells as this.
        let most = 64 + 8 * (self.set.len() as u64 + (1 << 20));
        let total = sent.saturating_add(count);
        if total > most || count > out.filter_bytes() / 32 {
            return Err(Error::new(
                Kind::LimitExceeded { what: "cells" },
                format!("{count} cells were requested after {sent}"),
            ));
        }
        let mut body = Vec::new();
        for index in sent..total {
            push_symbol(&mut body, &coded.symbol(), self.set.len() as u64, index);
        }
        out.frame(CELLS, &body)?;
        Ok(total)
    }

    fn send_keys(
        &mut self,
        keys: &mut List,
        lacking: Option<HashSet<u64>>,
        out: &mut Outbox,
    ) -> Result<()> {
        out.list(KEYS, keys)?;
        // What it lacks it cannot give.
        let shared = lacking.as_ref().map_or(0, |lacking| self.set.len() - lacking.len());
        let due = Due::new(self.peer.0.saturating_sub(shared as u64), self.peer_bytes);
        self.state = State::Sent { lacking, seen: HashSet::new(), due };
        out.frame(END, &[])
    }

    fn wanted(&self, frame: &Frame) -> Result<(List, HashSet<u64>)> {
        let (mut list, mut seen) = (List::default(), HashSet::new());
        for id in numbers(frame)? {
            let key = self.set.key(id).filter(|_| seen.insert(id));
            list.push(key.ok_or_else(|| frame.wrong("it wants a key that we don't have"))?);
        }
        Ok((list, seen))
    }

    fn take(&mut self, frame: &Frame, seen: &mut HashSet<u64>, due: &mut Due) -> Result<()> {
        items(frame, |key| {
            due.take(frame, key)?;
            if self.set.contains(key) || !seen.insert(self.set.id(key)) {
                return Err(frame.wrong("it gives a key that we have"));
            }
            self.taken.push(key.to_vec());
            Ok(())
        })
    }

    fn last(
        &mut self,
        frame: &Frame,
        lacking: Option<HashSet<u64>>,
        out: &mut Outbox,
    ) -> Result<()> {
        let given = match frame.body[..] {
            [given @ (0 | 1)] => given == 1,
            _ => return Err(frame.wrong("neither 0 nor 1")),
        };
        if given && !self.takes {
            return Err(not_allowed());
        }
        if !given && !self.taken.is_empty() {
            return Err(frame.wrong("keys were given all the same"));
        }
        if let Some(lacking) = lacking.filter(|_| given) {
            let (shared, sum) = self.set.sum_without(&lacking, self.salt);
            let taken = Sum::of(self.salt, self.taken.iter().map(Vec::as_slice));
            if (shared + self.taken.len() as u64, sum.plus(taken)) != self.peer {
                return Err(frame.wrong("the given keys are not all of its keys"));
            }
        }
        if self.stores && !self.taken.is_empty() {
            self.state = State::Given;
            return Ok(());
        }
        self.close(out)
    }

    fn close(&mut self, out: &mut Outbox) -> Result<()> {
        self.state = State::Done;
        out.frame(CLOSED, &[])
    }
}

fn not_allowed() -> Error {
    let message = "the other side wants to add keys here, but has no permission";
    Error::new(Kind::Unsupported, message)
}

impl Role for Holder {
    const FRAMES: &'static [u8] = &[OPEN, GRANT, WANT, ALL, GIVE, LAST];

    fn room(&self, head: &Frame) -> Result<u64> {
        match (&self.state, head.kind) {
            (State::Idle, OPEN) => Ok(48),
            (State::Open { .. }, GRANT) => Ok(8),
            (State::Open { .. }, WANT) => Ok(8 * self.set.len() as u64),
            (State::Open { .. }, ALL) => Ok(0),
            (State::Sent { .. }, GIVE) if !self.takes => Err(not_allowed()),
            (State::Sent { due, .. }, GIVE) => Ok(due.room()),
            (State::Sent { .. }, LAST) => Ok(1),
            _ => Err(head.wrong("out of order")),
        }
    }

    fn speak(&mut self, out: &mut Outbox) -> Result<()> {
        if matches!(self.state, State::Stored) { self.close(out) } else { Ok(()) }
    }

    fn hear(&mut self, frame: Frame, out: &mut Outbox) -> Result<()> {
        match (mem::replace(&mut self.state, State::Idle), frame.kind) {
            (State::Idle, OPEN) => self.open(&frame, out),
            (State::Open { mut coded, sent }, GRANT) => {
                let sent = self.send_cells(&frame, &mut coded, sent, out)?;
                self.state = State::Open { coded, sent };
                Ok(())
            }
            (State::Open { .. }, WANT) => {
                let (mut list, lacking) = self.wanted(&frame)?;
                self.send_keys(&mut list, Some(lacking), out)
            }
            (State::Open { .. }, ALL) if frame.body.is_empty() => {
                let mut list = List::default();
                self.set.keys().for_each(|key| _ = list.push(key));
                self.send_keys(&mut list, None, out)
            }
            (State::Sent { lacking, mut seen, mut due }, GIVE) => {
                self.take(&frame, &mut seen, &mut due)?;
                self.state = State::Sent { lacking, seen, due };
                Ok(())
            }
            (State::Sent { lacking, .. }, LAST) => self.last(&frame, lacking, out),
            _ => Err(frame.wrong("out of order")),
        }
    }

    fn done(&self) -> bool {
        matches!(self.state, State::Done)
    }
}
