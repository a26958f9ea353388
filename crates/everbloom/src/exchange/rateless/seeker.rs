//! The side that subtracts its own cells and decodes.

use std::collections::HashSet;
use std::mem;

use super::super::reconcile::finds;
use super::super::{Due, Frame, List, Outbox, Role, items};
use super::wire::{body_of, numbers, symbols};
use super::{
    AGAIN, ALL, ALLOWANCE, CELL, CELLS, CLOSED, END, Found, GIVE, GRANT, KEYS, LAST, LONGEST_CELL,
    OPEN, SALTS, SIZES, SKETCH, Set, Sum, WANT,
};
use crate::error::{Error, Kind, Result};
use crate::reconciling::rateless::{Coded, Decoder};

/// Cells that are granted at first, or as many as the allowance leaves room for; later a quarter of what came, so that
/// a fast line does not send many in vain.
const FIRST: u64 = 16;
/// From so many cells on it is an eighth: another round trip is little then, and the cells in vain are not.
const MANY: u64 = 4096;

/// The side that begins, and learns what the sets do not share.
#[derive(Clone, Debug)]
pub struct Seeker {
    set: Set,
    salt: u64,
    tried: u64,
    allowance: u64,
    gives: bool,
    /// Keys and sum of the other side.
    peer: (u64, Sum),
    peer_bytes: u64,
    cells: Cells,
    state: State,
}

/// How many cells an exchange took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cells {
    /// Until all was decoded.
    pub consumed: u64,
    /// Cells sent, including those granted unnecessarily.
    pub sent: u64,
}

#[derive(Clone, Debug)]
enum State {
    Start,
    Opened,
    /// Decodes, by no more than `most` cells, of which so many were granted and have not come.
    Decoding {
        decoder: Box<Decoder>,
        most: u64,
        due: u64,
    },
    /// Waits for these keys, and knows which are its own.
    Wanting {
        wanted: HashSet<u64>,
        ours: Vec<Vec<u8>>,
        theirs: Vec<Vec<u8>>,
        due: Due,
    },
    /// Waits for all keys; these are as yet its own.
    Comparing {
        ours: HashSet<u64>,
        seen: HashSet<u64>,
        theirs: Vec<Vec<u8>>,
        due: Due,
    },
    /// Knows all, and waits for the other side to close.
    Closing(Found),
    Done(Found),
}

finds!(Seeker);

impl Seeker {
    /// The side that begins, with its keys; the salt is their seed.
    pub fn new(set: Set) -> Self {
        Self {
            salt: set.seed(),
            set,
            tried: 0,
            allowance: ALLOWANCE,
            gives: false,
            peer: (0, Sum::default()),
            peer_bytes: 0,
            cells: Cells::default(),
            state: State::Start,
        }
    }

    /// The same with another salt, which must be unpredictable.
    #[must_use]
    pub fn salted(mut self, salt: u64) -> Self {
        self.salt = salt;
        self
    }

    /// The same, but this many bytes may be spent beyond what the difference needs, by default 256: those of
    /// the sketch and of the first grant. More of them save round trips.
    #[must_use]
    pub fn allowing(mut self, bytes: u64) -> Self {
        self.allowance = bytes;
        self
    }

    /// The same, and the other side is given the keys that it lacks.
    #[must_use]
    pub fn giving(mut self) -> Self {
        self.gives = true;
        self
    }

    /// How many keys the other side has, and how many bytes they are, a line each.
    pub fn other(&self) -> (u64, u64) {
        (self.peer.0, self.peer_bytes)
    }

    /// How many cells it took; none where all keys were sent instead.
    pub fn cells(&self) -> Cells {
        self.cells
    }

    fn open(&mut self, out: &mut Outbox) -> Result<()> {
        while self.tried < SALTS && !self.set.reseed(self.salt) {
            self.next_salt();
        }
        if self.tried >= SALTS {
            let message = "keys collide under every salt: one side's set is manipulated";
            return Err(Error::new(Kind::Ambiguous, message));
        }
        self.state = State::Opened;
        let Sum(x, y) = self.set.sum(self.salt);
        let sizes = [self.salt, self.set.len() as u64, self.set.bytes(), self.allowance, x, y];
        out.frame(OPEN, &body_of(sizes))
    }

    fn next_salt(&mut self) {
        (self.salt, self.tried) = (self.salt.wrapping_add(1), self.tried + 1);
    }

    fn start(&mut self, frame: &Frame, out: &mut Outbox) -> Result<()> {
        let body = numbers(frame)?;
        let Some((&[items, bytes, x, y], sketch)) = body.split_first_chunk() else {
            return Err(frame.wrong("no sizes"));
        };
        if sketch.len() > SKETCH || !sketch.is_sorted() {
            return Err(frame.wrong("not a sketch"));
        }
        if items > bytes {
            return Err(frame.wrong("more keys than bytes"));
        }
        (self.peer, self.peer_bytes) = ((items, Sum(x, y)), bytes);
        let (cells, affordable) = self.affordable(items, bytes, sketch);
        if !affordable {
            return self.ask_all(out);
        }
        let mut coded = Coded::new(self.salt).with_room(self.set.len());
        self.set.ids().for_each(|id| coded.insert(id));
        let decoder = Box::new(Decoder::new(coded));
        let first = (self.left(sketch) / (CELL + 1)).max(FIRST);
        self.grant(decoder, cells, first.min(cells), out)
    }

    /// Lets so many further cells come.
    fn grant(
        &mut self,
        decoder: Box<Decoder>,
        most: u64,
        due: u64,
        out: &mut Outbox,
    ) -> Result<()> {
        self.state = State::Decoding { decoder, most, due };
        out.frame(GRANT, &due.to_le_bytes())
    }

    fn ask_all(&mut self, out: &mut Outbox) -> Result<()> {
        let ours = self.set.ids().collect();
        let due = Due::new(self.peer.0, self.peer_bytes);
        self.state = State::Comparing { ours, seen: HashSet::new(), theirs: Vec::new(), due };
        out.frame(ALL, &[])
    }

    /// What is left of the allowance after the sketch and the frames around everything.
    fn left(&self, sketch: &[u64]) -> u64 {
        self.allowance.saturating_sub(8 * sketch.len() as u64 + 192)
    }

    /// Cells that may be spent, and whether that is better than taking all keys.
    ///
    /// Without a sketch a tenth of what the smaller set would take is risked, less what the rest of the exchange takes.
    /// With one, the difference is known to be no larger than a bound, and if even then the cells and the keys are fewer
    /// bytes than all keys, they are spent.
    fn affordable(&self, items: u64, bytes: u64, sketch: &[u64]) -> (u64, bool) {
        let smaller = bytes.min(self.set.bytes());
        let risk = (smaller / 10 + self.left(sketch)) / (CELL + 1);
        if smaller < 512 {
            return (0, false);
        }
        if sketch.is_empty() {
            return (risk, risk >= FIRST / 2);
        }
        let most = self.difference(items, sketch) + 20.0;
        let cells = 1.42 * most + 60.0;
        // Keys of the holder's that are wanted, with their ids.
        let wanted = (most + items as f64 - self.set.len() as f64) / 2.0;
        let keys = wanted.clamp(0.0, items as f64) * (bytes as f64 / items.max(1) as f64 + 8.0);
        let cost = cells * (CELL as f64 + 0.1) + keys;
        if cost < bytes as f64 { (cells as u64, true) } else { (risk, cells < risk as f64) }
    }

    /// What the difference is no larger than, by the least ids of both, but for one case in 30 000 (the upper end of
    /// Wilson's interval at four standard deviations).
    fn difference(&self, items: u64, sketch: &[u64]) -> f64 {
        let own = self.set.least_ids(SKETCH);
        let mut both: Vec<u64> = own.iter().chain(sketch).copied().collect();
        both.sort_unstable();
        let shared: HashSet<u64> = both.windows(2).filter(|w| w[0] == w[1]).map(|w| w[0]).collect();
        both.dedup();
        both.truncate(SKETCH.min(own.len()).min(sketch.len()));
        // The share of the least ids of the union that one set alone has is that of all.
        let (size, z) = (both.len().max(1) as f64, 4.0);
        let alone = both.iter().filter(|id| !shared.contains(id)).count() as f64;
        let spread = z * (alone * (1.0 - alone / size) + z * z / 4.0).sqrt();
        let alone = ((alone + z * z / 2.0 + spread) / (size + z * z)).min(1.0);
        (self.set.len() as u64 + items) as f64 * alone / (2.0 - alone)
    }

    fn decode(
        &mut self,
        frame: &Frame,
        mut decoder: Box<Decoder>,
        [most, mut due]: [u64; 2],
        out: &mut Outbox,
    ) -> Result<()> {
        let mut done = false;
        let mut sent = decoder.symbols();
        symbols(frame, self.peer.0, sent, |symbol| {
            sent += 1;
            due = due.checked_sub(1).ok_or_else(|| frame.wrong("a cell that was not granted"))?;
            // Cells after the one that completes it were granted, and say nothing new.
            if !done {
                done = decoder.push(symbol)?;
            }
            Ok(())
        })?;
        self.cells = Cells { consumed: decoder.symbols(), sent };
        if done {
            return self.want(frame, &decoder, out);
        }
        if due > 0 {
            self.state = State::Decoding { decoder, most, due };
            return Ok(());
        }
        if sent >= most {
            return self.ask_all(out);
        }
        let share = if sent < MANY { 4 } else { 8 };
        let grant = (sent / share).max(FIRST / 2).min(most - sent);
        self.grant(decoder, most, grant, out)
    }

    fn want(&mut self, frame: &Frame, decoder: &Decoder, out: &mut Outbox) -> Result<()> {
        let difference = decoder.difference();
        let (own, other) = (difference.ours.len(), difference.theirs.len());
        if (self.set.len() + other) as u64 != self.peer.0.saturating_add(own as u64) {
            return Err(frame.wrong("the cells do not fit the sizes of the sets"));
        }
        let own = |id: &u64| self.set.key(*id).map(<[u8]>::to_vec);
        let ours: Option<Vec<_>> = difference.ours.iter().map(own).collect();
        let ours = ours.ok_or_else(|| frame.wrong("it lists a key of ours that we don't have"))?;
        if difference.theirs.iter().any(|id| self.set.key(*id).is_some()) {
            return Err(frame.wrong("it lists a key of theirs that we have"));
        }
        out.frame(WANT, &body_of(difference.theirs.iter().copied()))?;
        let wanted: HashSet<u64> = difference.theirs.into_iter().collect();
        let due = Due::new(wanted.len() as u64, self.peer_bytes);
        self.state = State::Wanting { wanted, ours, theirs: Vec::new(), due };
        Ok(())
    }

    /// All is known: the other side's set, made of what is shared and what is its own, has the sum it announced.
    fn conclude(&mut self, frame: &Frame, found: Found, out: &mut Outbox) -> Result<()> {
        let ids: HashSet<u64> = found.ours.iter().map(|key| self.set.id(key)).collect();
        let (shared, sum) = self.set.sum_without(&ids, self.salt);
        let theirs = Sum::of(self.salt, found.theirs.iter().map(Vec::as_slice));
        if (shared + found.theirs.len() as u64, sum.plus(theirs)) != self.peer {
            return Err(frame.wrong("the keys do not have the announced sum"));
        }
        if self.gives {
            let mut list = List::default();
            found.ours.iter().for_each(|key| _ = list.push(key));
            out.list(GIVE, &mut list)?;
        }
        self.state = State::Closing(found);
        out.frame(LAST, &[self.gives.into()])
    }
}

impl Role for Seeker {
    const FRAMES: &'static [u8] = &[SIZES, AGAIN, CELLS, KEYS, END, CLOSED];

    fn room(&self, head: &Frame) -> Result<u64> {
        match (&self.state, head.kind) {
            (State::Opened, SIZES) => Ok(8 * (4 + SKETCH as u64)),
            (State::Opened, AGAIN) | (State::Closing(_), CLOSED) => Ok(0),
            (State::Decoding { due, .. }, CELLS) => Ok(due.saturating_mul(LONGEST_CELL)),
            (State::Wanting { due, .. } | State::Comparing { due, .. }, KEYS) => Ok(due.room()),
            (State::Wanting { .. } | State::Comparing { .. }, END) => Ok(0),
            _ => Err(head.wrong("out of order")),
        }
    }

    fn speak(&mut self, out: &mut Outbox) -> Result<()> {
        if matches!(self.state, State::Start) { self.open(out) } else { Ok(()) }
    }

    fn hear(&mut self, frame: Frame, out: &mut Outbox) -> Result<()> {
        match (mem::replace(&mut self.state, State::Start), frame.kind) {
            (State::Opened, SIZES) => self.start(&frame, out),
            (State::Opened, AGAIN) if frame.body.is_empty() => {
                self.next_salt();
                self.open(out)
            }
            (State::Decoding { decoder, most, due }, CELLS) if !frame.body.is_empty() => {
                self.decode(&frame, decoder, [most, due], out)
            }
            (State::Wanting { mut wanted, ours, mut theirs, mut due }, KEYS) => {
                items(&frame, |key| due.take(&frame, key))?;
                self.set.take_wanted(&frame, &mut wanted, &mut theirs)?;
                self.state = State::Wanting { wanted, ours, theirs, due };
                Ok(())
            }
            (State::Wanting { wanted, ours, theirs, .. }, END)
                if wanted.is_empty() && frame.body.is_empty() =>
            {
                self.conclude(&frame, Found::new(ours, theirs), out)
            }
            (State::Comparing { mut ours, mut seen, mut theirs, mut due }, KEYS) => {
                items(&frame, |key| {
                    due.take(&frame, key)?;
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
                self.state = State::Comparing { ours, seen, theirs, due };
                Ok(())
            }
            (State::Comparing { ours, theirs, .. }, END) if frame.body.is_empty() => {
                let ours = ours.iter().filter_map(|id| self.set.key(*id)).map(<[u8]>::to_vec);
                let found = Found::new(ours.collect(), theirs);
                self.conclude(&frame, found, out)
            }
            (State::Closing(found), CLOSED) if frame.body.is_empty() => {
                self.state = State::Done(found);
                Ok(())
            }
            _ => Err(frame.wrong("out of order")),
        }
    }

    fn done(&self) -> bool {
        matches!(self.state, State::Done(_))
    }
}
