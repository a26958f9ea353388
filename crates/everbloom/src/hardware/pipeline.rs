//! The clock, the control bits and the queue of an energy-efficient self-adaptive filter
//! ([`Adaptive`](super::Adaptive)): which hash functions are in which stage, and who waits for the second.

use std::collections::VecDeque;

use crate::error::{Error, Result};
use crate::hash::{Digest, Hasher, Key};
use crate::parts::flat_bits::FlatBits;
use crate::state::state;

pub(super) const HIGH: u64 = 2;
pub(super) const PATIENCE: u64 = 8;
pub(super) const ROOM: u64 = 64;
pub(super) const MAX_ROOM: u64 = 1 << 20;

/// When functions change stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// k1, functions that never leave the first stage.
    pub first: u32,
    /// A queue longer than this brings one function into the first stage.
    pub high: u64,
    /// An empty queue for so many ticks sends one out.
    pub patience: u64,
    /// Keys that the queue has room for.
    pub room: u64,
}

state!(Policy { first, high, patience, room });

impl Policy {
    /// The rules of the catalogue, for `first` functions in the first stage: more than 2 waiting, 8 ticks
    /// of rest, room for 64.
    pub fn new(first: u32) -> Self {
        Self { first, high: HIGH, patience: PATIENCE, room: ROOM }
    }

    pub(super) fn check(&self) -> Result<()> {
        let Policy { first, high, patience, room } = *self;
        if first > 0 && patience > 0 && (1..=MAX_ROOM).contains(&room) && high < room {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: a queue that cannot work"))
    }
}

/// A running EABF.
#[derive(Clone, Debug)]
pub struct Pipeline<'a> {
    part: &'a FlatBits,
    hasher: &'a Hasher,
    policy: Policy,
    /// a, functions in stage 1.
    active: u32,
    queue: VecDeque<Waiting>,
    /// Ticks since the queue was last in use.
    idle: u64,
    tickets: u64,
    evaluations: u64,
}

/// A key in the queue, all of whose bits so far are ones.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    ticket: u64,
    digest: Digest,
    /// Functions evaluated: h1 … h_passed.
    passed: u32,
}

/// What happened in a tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tick {
    /// The number under which the query is answered; `None` if there was none, or no room for it.
    pub ticket: Option<u64>,
    /// Queries answered in this tick, by their tickets: at most one of each stage.
    pub answers: Vec<(u64, bool)>,
}

impl<'a> Pipeline<'a> {
    pub(super) fn new(part: &'a FlatBits, hasher: &'a Hasher, policy: Policy) -> Self {
        let (active, queue) = (policy.first, VecDeque::new());
        Self { part, hasher, policy, active, queue, idle: 0, tickets: 0, evaluations: 0 }
    }

    /// One tick of the clock: the first key of the queue gets one of its missing functions, the new query
    /// all of stage 1, and then the policy moves a function or doesn't.
    ///
    /// A query without a ticket was not taken, since the queue was full: offer it again.
    pub fn tick<K: Key + ?Sized>(&mut self, query: Option<&K>) -> Tick {
        let mut answers = Vec::new();
        // Both stages work at once, so what enters the queue now waits for the next tick.
        answers.extend(self.second_stage());
        let ticket = query.and_then(|key| {
            let (ticket, answer) = self.first_stage(self.hasher.digest(key))?;
            answers.extend(answer.map(|present| (ticket, present)));
            Some(ticket)
        });
        self.adapt();
        Tick { ticket, answers }
    }

    /// The ticket, and the answer if stage 1 has it; `None` where the query has to wait outside.
    fn first_stage(&mut self, digest: Digest) -> Option<(u64, Option<bool>)> {
        let whole = self.active == self.part.k();
        if !whole && self.queue.len() as u64 >= self.policy.room {
            return None;
        }
        let ticket = self.tickets;
        self.tickets += 1;
        self.evaluations += u64::from(self.active);
        let bits = &self.part.bits;
        let probe = self.part.probe;
        let passed = probe.all_of_first(self.active, digest, |i| bits.get(i));
        if passed && !whole {
            self.queue.push_back(Waiting { ticket, digest, passed: self.active });
            return Some((ticket, None));
        }
        Some((ticket, Some(passed)))
    }

    /// One more function for the key that waits longest, and its answer if that decides.
    fn second_stage(&mut self) -> Option<(u64, bool)> {
        let waiting = self.queue.front_mut()?;
        let i = self.part.probe.nth(waiting.passed, waiting.digest);
        waiting.passed += 1;
        self.evaluations += 1;
        let one = self.part.bits.get(i);
        let answered = (!one || waiting.passed == self.part.k()).then_some((waiting.ticket, one));
        if answered.is_some() {
            self.queue.pop_front();
        }
        answered
    }

    fn adapt(&mut self) {
        let policy = self.policy;
        if self.queue.len() as u64 > policy.high {
            self.active = (self.active + 1).min(self.part.k());
        }
        self.idle = if self.queue.is_empty() { self.idle + 1 } else { 0 };
        if self.idle == policy.patience {
            self.active = (self.active - 1).max(policy.first);
            self.idle = 0;
        }
    }

    /// Ticks until all that was taken is answered.
    pub fn flush(&mut self) -> Vec<(u64, bool)> {
        let mut answers = Vec::new();
        while !self.queue.is_empty() {
            answers.extend(self.tick::<[u8]>(None).answers);
        }
        answers
    }

    /// Shuts down: the answers that were still to come.
    pub fn finish(mut self) -> Vec<(u64, bool)> {
        self.flush()
    }

    /// a, the functions in stage 1.
    pub fn active(&self) -> u32 {
        self.active
    }

    /// C\[i\] of function `i`, from 1 to k: whether it is in stage 2.
    pub fn control(&self, i: u32) -> bool {
        i > self.active
    }

    /// Keys that wait for stage 2.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Hash functions evaluated so far.
    pub fn evaluations(&self) -> u64 {
        self.evaluations
    }
}
