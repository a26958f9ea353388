//! The side that subtracts its own cells and decodes.

use std::collections::HashSet;
use std::mem;

use super::super::{Frame, Outbox, Role, items};
use super::wire::{body_of, numbers, symbols};
use super::{
    AGAIN, ALL, CELL, CELLS, END, Found, GRANT, KEYS, OPEN, SEEDS, SIZES, SKETCH, Set, WANT,
};
use crate::error::{Error, Kind, Result};
use crate::reconciling::rateless::{Coded, Decoder};

/// Cells that are granted at first; later a quarter of what came, so that a fast line does not send many in vain.
const FIRST: u64 = 16;

/// The side that begins, and learns what the sets do not share.
#[derive(Clone, Debug)]
pub struct Seeker {
    set: Set,
    seed: u64,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    Start,
    Opened,
    /// Decodes; `items` of the other side, and cells no more than `most`.
    Decoding {
        decoder: Box<Decoder>,
        items: u64,
        most: u64,
    },
    /// Waits for these keys, and knows which are its own.
    Wanting {
        wanted: HashSet<u64>,
        ours: Vec<Vec<u8>>,
        theirs: Vec<Vec<u8>>,
    },
    /// Waits for all keys; these are as yet its own.
    Comparing {
        ours: HashSet<u64>,
        seen: HashSet<u64>,
        theirs: Vec<Vec<u8>>,
    },
    Done(Found),
}

impl Seeker {
    /// The side that begins, with its keys.
    pub fn new(set: Set) -> Self {
        Self { set, seed: 0, state: State::Start }
    }

    /// This side's keys.
    pub fn set(&self) -> &Set {
        &self.set
    }

    /// What was found, when the exchange is over.
    pub fn found(&self) -> Option<&Found> {
        match &self.state {
            State::Done(found) => Some(found),
            _ => None,
        }
    }

    fn open(&mut self, out: &mut Outbox) -> Result<()> {
        while self.seed < SEEDS && !self.set.reseed(self.seed) {
            self.seed += 1;
        }
        if self.seed >= SEEDS {
            let message = "keys collide under every seed: one side's set is not honest";
            return Err(Error::new(Kind::Ambiguous, message));
        }
        self.state = State::Opened;
        let sizes = [self.seed, self.set.len() as u64, self.set.bytes()];
        out.frame(OPEN, &body_of(sizes))
    }

    fn start(&mut self, frame: &Frame, out: &mut Outbox) -> Result<()> {
        let body = numbers(frame)?;
        let Some((&[items, bytes], sketch)) = body.split_first_chunk() else {
            return Err(frame.wrong("no sizes"));
        };
        if sketch.len() > SKETCH || !sketch.is_sorted() {
            return Err(frame.wrong("not a sketch"));
        }
        let (cells, affordable) = self.cells(items, bytes, sketch);
        if !affordable {
            let ours = self.set.ids().collect();
            self.state = State::Comparing { ours, seen: HashSet::new(), theirs: Vec::new() };
            return out.frame(ALL, &[]);
        }
        let mut coded = Coded::new(self.seed);
        self.set.ids().for_each(|id| coded.insert(id));
        let decoder = Box::new(Decoder::new(coded));
        self.state = State::Decoding { decoder, items, most: cells };
        out.frame(GRANT, &FIRST.min(cells).to_le_bytes())
    }

    /// Cells that may be spent, and whether that is better than taking all keys.
    ///
    /// Without a sketch a tenth of what all keys would take is risked, less what the rest of the exchange takes. With
    /// one, the difference is at most its estimate and six standard deviations, and if even then the cells and the
    /// keys are fewer bytes than all keys, they are spent.
    fn cells(&self, items: u64, bytes: u64, sketch: &[u64]) -> (u64, bool) {
        let risk = (bytes / 10 + 128) / (CELL + 1);
        if bytes < 512 {
            return (0, false);
        }
        if sketch.is_empty() {
            return (risk, risk >= FIRST / 2);
        }
        let (difference, sd) = self.difference(items, sketch);
        let most = difference + 6.0 * sd + 20.0;
        let cells = 1.5 * most + 60.0;
        // Keys of the holder's that are wanted, with their ids.
        let keys = (most / 2.0 + 3.0 * sd) * (bytes as f64 / items.max(1) as f64 + 8.0);
        let cost = cells * (CELL as f64 + 0.1) + keys;
        if cost < bytes as f64 { (cells as u64, true) } else { (risk, cells < risk as f64) }
    }

    /// The size of the difference by the least ids of both, and its standard deviation.
    fn difference(&self, items: u64, sketch: &[u64]) -> (f64, f64) {
        let own = self.set.least_ids(SKETCH);
        let mut both: Vec<u64> = own.iter().chain(sketch).copied().collect();
        both.sort_unstable();
        let shared: HashSet<u64> = both.windows(2).filter(|w| w[0] == w[1]).map(|w| w[0]).collect();
        both.dedup();
        both.truncate(SKETCH.min(own.len()).min(sketch.len()));
        let size = both.len().max(1) as f64;
        // The share of the least ids of the union that both sets have is that of all.
        let alike = both.iter().filter(|id| shared.contains(id)).count() as f64 / size;
        let total = (self.set.len() as u64 + items) as f64;
        let of = |alike: f64| total * (1.0 - alike) / (1.0 + alike);
        let sd = (alike * (1.0 - alike) / size).sqrt() + 1.0 / size;
        (of(alike), of((alike - sd).max(0.0)) - of(alike))
    }

    fn decode(
        &mut self,
        frame: &Frame,
        mut decoder: Box<Decoder>,
        (items, most): (u64, u64),
        out: &mut Outbox,
    ) -> Result<()> {
        let mut done = false;
        symbols(frame, items, decoder.symbols(), |symbol| {
            // Cells after the one that completes it were granted, and say nothing new.
            if !done {
                done = decoder.push(symbol)?;
            }
            Ok(())
        })?;
        if done {
            return self.want(frame, &decoder, items, out);
        }
        let so_far = decoder.symbols();
        if so_far >= most {
            let ours = self.set.ids().collect();
            self.state = State::Comparing { ours, seen: HashSet::new(), theirs: Vec::new() };
            return out.frame(ALL, &[]);
        }
        let grant = (so_far / 4).max(FIRST / 2).min(most - so_far);
        self.state = State::Decoding { decoder, items, most };
        out.frame(GRANT, &grant.to_le_bytes())
    }

    fn want(
        &mut self,
        frame: &Frame,
        decoder: &Decoder,
        items: u64,
        out: &mut Outbox,
    ) -> Result<()> {
        let difference = decoder.difference();
        let (own, other) = (difference.ours.len(), difference.theirs.len());
        if (self.set.len() + other) as u64 != items.saturating_add(own as u64) {
            return Err(frame.wrong("the cells do not fit the sizes of the sets"));
        }
        let own = |id: &u64| self.set.key(*id).map(<[u8]>::to_vec);
        let ours: Option<Vec<_>> = difference.ours.iter().map(own).collect();
        let ours = ours.ok_or_else(|| frame.wrong("it lists a key of ours that we don't have"))?;
        if difference.theirs.iter().any(|id| self.set.key(*id).is_some()) {
            return Err(frame.wrong("it lists a key of theirs that we have"));
        }
        out.frame(WANT, &body_of(difference.theirs.iter().copied()))?;
        let wanted = difference.theirs.into_iter().collect();
        self.state = State::Wanting { wanted, ours, theirs: Vec::new() };
        Ok(())
    }
}

impl Role for Seeker {
    const FRAMES: &'static [u8] = &[SIZES, AGAIN, CELLS, KEYS, END];

    fn speak(&mut self, out: &mut Outbox) -> Result<()> {
        if matches!(self.state, State::Start) { self.open(out) } else { Ok(()) }
    }

    fn hear(&mut self, frame: Frame, out: &mut Outbox) -> Result<()> {
        match (mem::replace(&mut self.state, State::Start), frame.kind) {
            (State::Opened, SIZES) => self.start(&frame, out),
            (State::Opened, AGAIN) if frame.body.is_empty() => {
                self.seed += 1;
                self.open(out)
            }
            (State::Decoding { decoder, items, most }, CELLS) if !frame.body.is_empty() => {
                self.decode(&frame, decoder, (items, most), out)
            }
            (State::Wanting { mut wanted, ours, mut theirs }, KEYS) => {
                items(&frame, |key| {
                    if !wanted.remove(&self.set.id(key)) {
                        return Err(frame.wrong("a key that was not asked for"));
                    }
                    theirs.push(key.to_vec());
                    Ok(())
                })?;
                self.state = State::Wanting { wanted, ours, theirs };
                Ok(())
            }
            (State::Wanting { wanted, ours, theirs }, END)
                if wanted.is_empty() && frame.body.is_empty() =>
            {
                self.state = State::Done(Found::new(ours, theirs));
                Ok(())
            }
            (State::Comparing { mut ours, mut seen, mut theirs }, KEYS) => {
                items(&frame, |key| {
                    let id = self.set.id(key);
                    if !seen.insert(id) {
                        return Err(frame.wrong("a key that came before"));
                    }
                    // Another key with this id is as different as any.
                    if self.set.key(id) == Some(key) {
                        ours.remove(&id);
                    } else {
                        theirs.push(key.to_vec());
                    }
                    Ok(())
                })?;
                self.state = State::Comparing { ours, seen, theirs };
                Ok(())
            }
            (State::Comparing { ours, theirs, .. }, END) if frame.body.is_empty() => {
                let ours = ours.iter().filter_map(|id| self.set.key(*id)).map(<[u8]>::to_vec);
                self.state = State::Done(Found::new(ours.collect(), theirs));
                Ok(())
            }
            _ => Err(frame.wrong("out of order")),
        }
    }

    fn done(&self) -> bool {
        matches!(self.state, State::Done(_))
    }
}
