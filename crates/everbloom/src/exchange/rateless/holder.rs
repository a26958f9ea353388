//! The side that sends cells of its set.

use std::collections::HashSet;
use std::mem;

use super::super::{Frame, List, Outbox, Role};
use super::wire::{body_of, numbers, push_symbol};
use super::{AGAIN, ALL, CELLS, END, GRANT, KEYS, OPEN, SEEDS, SIZES, SKETCH, SKETCHED, Set, WANT};
use crate::error::{Error, Kind, Result};
use crate::reconciling::rateless::Coded;

/// The side that answers; it learns nothing of the other's keys but how many there are.
#[derive(Clone, Debug)]
pub struct Holder {
    set: Set,
    /// The least seed that the other side may open with.
    next: u64,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    Idle,
    /// Sends cells, so many so far.
    Open {
        coded: Box<Coded>,
        sent: u64,
    },
    Done,
}

impl Holder {
    /// The side that answers, with its keys.
    pub fn new(set: Set) -> Self {
        Self { set, next: 0, state: State::Idle }
    }

    /// This side's keys.
    pub fn set(&self) -> &Set {
        &self.set
    }

    fn open(&mut self, frame: &Frame, out: &mut Outbox) -> Result<()> {
        let &[seed, _, bytes] = numbers(frame)?.as_slice() else {
            return Err(frame.wrong("not a seed and two sizes"));
        };
        if !(self.next..SEEDS).contains(&seed) {
            return Err(frame.wrong("not a seed that is still to be tried"));
        }
        self.next = seed + 1;
        if !self.set.reseed(seed) {
            return out.frame(AGAIN, &[]);
        }
        let mut coded = Coded::new(seed);
        self.set.ids().for_each(|id| coded.insert(id));
        self.state = State::Open { coded: Box::new(coded), sent: 0 };
        let mut body = vec![self.set.len() as u64, self.set.bytes()];
        if self.set.bytes().min(bytes) >= SKETCHED {
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
                format!("{count} cells were asked for after {sent}"),
            ));
        }
        let mut body = Vec::new();
        for index in sent..total {
            push_symbol(&mut body, &coded.symbol(), self.set.len() as u64, index);
        }
        out.frame(CELLS, &body)?;
        Ok(total)
    }

    fn send_keys(&mut self, keys: &mut List, out: &mut Outbox) -> Result<()> {
        out.list(KEYS, keys)?;
        self.state = State::Done;
        out.frame(END, &[])
    }

    fn wanted(&self, frame: &Frame) -> Result<List> {
        let (mut list, mut seen) = (List::default(), HashSet::new());
        for id in numbers(frame)? {
            let key = self.set.key(id).filter(|_| seen.insert(id));
            list.push(key.ok_or_else(|| frame.wrong("it wants a key that we don't have"))?);
        }
        Ok(list)
    }
}

impl Role for Holder {
    const FRAMES: &'static [u8] = &[OPEN, GRANT, WANT, ALL];

    fn speak(&mut self, _: &mut Outbox) -> Result<()> {
        Ok(())
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
                let mut list = self.wanted(&frame)?;
                self.send_keys(&mut list, out)
            }
            (State::Open { .. }, ALL) if frame.body.is_empty() => {
                let mut list = List::default();
                self.set.keys().for_each(|key| _ = list.push(key));
                self.send_keys(&mut list, out)
            }
            _ => Err(frame.wrong("out of order")),
        }
    }

    fn done(&self) -> bool {
        matches!(self.state, State::Done)
    }
}
