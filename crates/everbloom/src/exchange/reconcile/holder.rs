//! The side that answers.

use std::collections::{HashMap, HashSet};
use std::mem;

use super::super::{Frame, List, Outbox, Role, items};
use super::{
    AGAIN, ASK, CELL_BYTES, CELLS, END, Found, OPEN, OURS, ROUNDS, SEEDS, STRATA, Set, THEIRS,
    WANT, cells, finds,
};
use crate::error::{Error, Kind, Result};
use crate::hash::Hasher;
use crate::reconciling::Invertible;

/// The side that answers: it inserts its set into the requested filters.
#[derive(Clone, Debug)]
pub struct Holder {
    set: Set,
    /// The least seed that the other side may open with.
    next: u64,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    /// Waits for a seed.
    Idle,
    /// Works under the seed, and was asked for cells so often; these keys only the other side has.
    Open {
        seed: u64,
        rounds: u32,
        theirs: HashMap<u64, Vec<u8>>,
    },
    Done(Found),
}

finds!(Holder);

impl Holder {
    /// The side that answers, with its keys.
    pub fn new(set: Set) -> Self {
        Self { set, next: 0, state: State::Idle }
    }

    fn open(&mut self, frame: &Frame, out: &mut Outbox) -> Result<()> {
        let seed = frame.number()?;
        if !(self.next..SEEDS).contains(&seed) {
            return Err(frame.wrong("not a seed that is still to be tried"));
        }
        self.next = seed + 1;
        if !self.set.reseed(seed) {
            return out.frame(AGAIN, &[]);
        }
        self.state = State::Open { seed, rounds: 0, theirs: HashMap::new() };
        out.filter(STRATA, &self.set.fill(Invertible::estimator(Hasher::seeded(seed))?))
    }

    fn answer(&self, frame: &Frame, seed: u64, rounds: u32, out: &mut Outbox) -> Result<()> {
        let count = frame.number()?;
        if count > out.filter_bytes() / CELL_BYTES || rounds > ROUNDS {
            return Err(Error::new(
                Kind::LimitExceeded { what: "cells" },
                format!("{count} cells were requested, in round {rounds}"),
            ));
        }
        out.filter(CELLS, &self.set.fill(cells(seed, count)?))
    }

    /// Takes in keys that only the other side has.
    fn note(&self, frame: &Frame, theirs: &mut HashMap<u64, Vec<u8>>) -> Result<()> {
        items(frame, |key| {
            let id = self.set.id(key);
            if self.set.key(id).is_some() || theirs.insert(id, key.to_vec()).is_some() {
                return Err(frame.wrong("a key that we have, or that came before"));
            }
            Ok(())
        })
    }

    /// The end, if both sides believe to share the same keys.
    fn finish(
        &mut self,
        frame: &Frame,
        theirs: HashMap<u64, Vec<u8>>,
        out: &mut Outbox,
    ) -> Result<()> {
        let Some((digest, ids)) = frame.body.split_first_chunk::<16>() else {
            return Err(frame.wrong("no digest"));
        };
        let (ids, []) = ids.as_chunks::<8>() else { return Err(frame.wrong("half an id")) };
        let (mut wanted, mut list, mut ours) = (HashSet::new(), List::default(), Vec::new());
        for id in ids {
            let id = u64::from_le_bytes(*id);
            let key = self.set.key(id).filter(|_| wanted.insert(id));
            let key = key.ok_or_else(|| frame.wrong("it wants a key that we don't have"))?;
            list.push(key);
            ours.push(key.to_vec());
        }
        if *digest != self.set.shared(&wanted) {
            return out.frame(AGAIN, &[]);
        }
        out.list(THEIRS, &mut list)?;
        self.state = State::Done(Found::new(ours, theirs.into_values().collect()));
        out.frame(END, &[])
    }
}

impl Role for Holder {
    const FRAMES: &'static [u8] = &[OPEN, ASK, OURS, WANT];

    fn room(&self, head: &Frame) -> Result<u64> {
        match (&self.state, head.kind) {
            (State::Idle, OPEN) | (State::Open { .. }, ASK) => Ok(8),
            // Nobody announces how many keys only the other side has.
            (State::Open { rounds: 1.., .. }, OURS) => Ok(u64::MAX),
            (State::Open { rounds: 1.., .. }, WANT) => Ok(16 + 8 * self.set.len() as u64),
            _ => Err(head.wrong("out of order")),
        }
    }

    fn speak(&mut self, _: &mut Outbox) -> Result<()> {
        Ok(())
    }

    fn hear(&mut self, frame: Frame, out: &mut Outbox) -> Result<()> {
        match (mem::replace(&mut self.state, State::Idle), frame.kind) {
            (State::Idle, OPEN) => self.open(&frame, out),
            (State::Open { seed, rounds, theirs }, ASK) if theirs.is_empty() => {
                let rounds = rounds + 1;
                self.state = State::Open { seed, rounds, theirs };
                self.answer(&frame, seed, rounds, out)
            }
            (State::Open { seed, rounds: rounds @ 1.., mut theirs }, OURS) => {
                self.note(&frame, &mut theirs)?;
                self.state = State::Open { seed, rounds, theirs };
                Ok(())
            }
            (State::Open { rounds: 1.., theirs, .. }, WANT) => self.finish(&frame, theirs, out),
            _ => Err(frame.wrong("out of order")),
        }
    }

    fn done(&self) -> bool {
        matches!(self.state, State::Done(_))
    }
}
