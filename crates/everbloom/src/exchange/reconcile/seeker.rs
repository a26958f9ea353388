//! The side that subtracts and decodes.

use std::collections::HashSet;
use std::mem;

use super::super::{Frame, List, Outbox, Role};
use super::{
    AGAIN, ASK, BESIDE, CELL_BYTES, CELLS, END, Found, K, OPEN, OURS, SEEDS, STRATA, STRATA_BYTES,
    Set, THEIRS, WANT, cells, finds,
};
use crate::error::{Error, Kind, Result};
use crate::filter::{Difference, Face};
use crate::hash::Hasher;
use crate::reconciling::Invertible;
use crate::reconciling::invertible::MARGIN;
use crate::theory::peeling::cells_for;

/// How often the cells that are asked for may turn out too few.
const FAILURE: f64 = 0.01;

/// The side that begins: it requests filters of the other's set, and decodes them.
#[derive(Clone, Debug)]
pub struct Seeker {
    set: Set,
    seed: u64,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    Start,
    /// Asked for strata.
    Opened,
    /// Asked for `count` cells, enough for a difference of `size`; one of `most` is beyond both sets.
    Asked {
        count: u64,
        size: u64,
        most: u64,
    },
    /// Told which ids are wanted, and not answered yet.
    Wanting {
        wanted: HashSet<u64>,
        ours: Vec<Vec<u8>>,
        theirs: Vec<Vec<u8>>,
    },
    Done(Found),
}

finds!(Seeker);

impl Seeker {
    /// The side that begins, with its keys.
    pub fn new(set: Set) -> Self {
        Self { set, seed: 0, state: State::Start }
    }

    /// Begins under the first seed, from this one on, under which no two keys of this side collide.
    fn open(&mut self, out: &mut Outbox) -> Result<()> {
        while self.seed < SEEDS && !self.set.reseed(self.seed) {
            self.seed += 1;
        }
        if self.seed == SEEDS {
            return Err(Error::new(
                Kind::Ambiguous,
                format!("ids collide under {SEEDS} seeds: the keys were chosen on purpose"),
            ));
        }
        self.state = State::Opened;
        out.frame(OPEN, &self.seed.to_le_bytes())
    }

    fn estimate(&mut self, frame: &Frame, out: &mut Outbox) -> Result<()> {
        let theirs: Invertible = out.opener().decode_as(&frame.body)?;
        let mut ours = self.set.fill(Invertible::estimator(Hasher::seeded(self.seed))?);
        ours.subtract(&theirs)?;
        let size = (ours.estimate()? as f64 * MARGIN).ceil() as u64;
        let both = (self.set.len() as u64).saturating_add(theirs.head().items);
        self.ask(size.max(1), both.saturating_mul(4), out)
    }

    fn ask(&mut self, size: u64, most: u64, out: &mut Outbox) -> Result<()> {
        let count = cells_for(size, FAILURE, K).ceil() as u64;
        if count > out.filter_bytes() / CELL_BYTES {
            return Err(Error::new(
                Kind::LimitExceeded { what: "cells" },
                format!(
                    "a difference of about {size} keys needs more bytes than a filter may have"
                ),
            ));
        }
        self.state = State::Asked { count, size, most };
        out.frame(ASK, &count.to_le_bytes())
    }

    fn decode(&mut self, frame: &Frame, count: u64, out: &mut Outbox) -> Result<Difference> {
        // As many cells are allocated here as came, not as many as the other side made us ask for.
        if (frame.body.len() as u64) < count / u64::from(K) * u64::from(K) * CELL_BYTES {
            return Err(frame.wrong("fewer cells than were requested"));
        }
        let theirs: Invertible = out.opener().decode_as(&frame.body)?;
        let mut ours = self.set.fill(cells(self.seed, count)?);
        ours.subtract(&theirs)?;
        ours.decode()
    }

    fn want(&mut self, difference: Difference, frame: &Frame, out: &mut Outbox) -> Result<()> {
        let (mut list, mut ours) = (List::default(), Vec::new());
        for id in &difference.ours {
            let key = self.set.key(*id);
            let key =
                key.ok_or_else(|| frame.wrong("it lists a key of ours that we don't have"))?;
            list.push(key);
            ours.push(key.to_vec());
        }
        if difference.theirs.iter().any(|id| self.set.key(*id).is_some()) {
            return Err(frame.wrong("it lists a key of theirs that we have"));
        }
        out.list(OURS, &mut list)?;
        let own: HashSet<u64> = difference.ours.into_iter().collect();
        let mut body = self.set.shared(&own).to_vec();
        difference.theirs.iter().for_each(|id| body.extend_from_slice(&id.to_le_bytes()));
        out.frame(WANT, &body)?;
        let wanted = difference.theirs.into_iter().collect();
        self.state = State::Wanting { wanted, ours, theirs: Vec::new() };
        Ok(())
    }
}

impl Role for Seeker {
    const FRAMES: &'static [u8] = &[STRATA, AGAIN, CELLS, THEIRS, END];

    fn room(&self, head: &Frame) -> Result<u64> {
        match (&self.state, head.kind) {
            (State::Opened, STRATA) => Ok(STRATA_BYTES),
            (State::Opened | State::Wanting { .. }, AGAIN) => Ok(0),
            (State::Asked { count, .. }, CELLS) => {
                Ok(count.saturating_mul(CELL_BYTES).saturating_add(BESIDE))
            }
            // As many keys as are wanted, of any length.
            (State::Wanting { .. }, THEIRS) => Ok(u64::MAX),
            (State::Wanting { .. }, END) => Ok(0),
            _ => Err(head.wrong("out of order")),
        }
    }

    fn speak(&mut self, out: &mut Outbox) -> Result<()> {
        if matches!(self.state, State::Start) { self.open(out) } else { Ok(()) }
    }

    fn hear(&mut self, frame: Frame, out: &mut Outbox) -> Result<()> {
        match (mem::replace(&mut self.state, State::Start), frame.kind) {
            (State::Opened, STRATA) => self.estimate(&frame, out),
            (State::Opened | State::Wanting { .. }, AGAIN) if frame.body.is_empty() => {
                self.seed += 1;
                self.open(out)
            }
            (State::Asked { count, size, most }, CELLS) => match self.decode(&frame, count, out) {
                Ok(difference) => self.want(difference, &frame, out),
                Err(e) if e.kind() == Kind::Undecodable && size < most => {
                    self.ask(2 * size, most, out)
                }
                Err(e) => Err(e),
            },
            (State::Wanting { mut wanted, ours, mut theirs }, THEIRS) => {
                self.set.take_wanted(&frame, &mut wanted, &mut theirs)?;
                self.state = State::Wanting { wanted, ours, theirs };
                Ok(())
            }
            (State::Wanting { wanted, ours, theirs }, END)
                if wanted.is_empty() && frame.body.is_empty() =>
            {
                self.state = State::Done(Found::new(ours, theirs));
                Ok(())
            }
            _ => Err(frame.wrong("out of order")),
        }
    }

    fn done(&self) -> bool {
        matches!(self.state, State::Done(_))
    }
}
