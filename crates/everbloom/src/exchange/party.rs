//! What all sessions share: frames in, frames out, order, failure.

use super::{Frame, Limits, List, Reader, Session, Step};
use crate::error::{Error, Kind, Result};
use crate::file::{Opener, to_bytes};
use crate::filter::Filter;

/// What one side of a protocol does with frames. The bytes around them are [`Party`]'s.
pub trait Role {
    /// The types of the frames it takes.
    const FRAMES: &'static [u8];

    /// The longest body that a frame of this type may have now, or why none may come. It is asked before the body has
    /// come, so that nothing is held that the peer has no reason to send. The limits of the session hold besides.
    fn room(&self, head: &Frame) -> Result<u64> {
        let _ = head;
        Ok(u64::MAX)
    }

    /// Says what there is to say unasked, if anything.
    fn speak(&mut self, out: &mut Outbox) -> Result<()>;

    /// Takes a frame of the peer and answers it.
    fn hear(&mut self, frame: Frame, out: &mut Outbox) -> Result<()>;

    /// Whether the exchange is over for this side.
    fn done(&self) -> bool;
}

/// Frames on their way out, and the limits both ways.
#[derive(Clone, Debug)]
pub struct Outbox {
    limits: Limits,
    bytes: Vec<u8>,
}

impl Outbox {
    /// Sends a frame.
    pub fn frame(&mut self, kind: u8, body: &[u8]) -> Result<()> {
        Frame::write(&mut self.bytes, kind, body, &self.limits)
    }

    /// Sends a filter.
    pub fn filter(&mut self, kind: u8, filter: &dyn Filter) -> Result<()> {
        self.frame(kind, &to_bytes(filter))
    }

    /// Sends a list, in as many frames as it takes.
    pub fn list(&mut self, kind: u8, list: &mut List) -> Result<()> {
        list.take().iter().try_for_each(|body| self.frame(kind, body))
    }

    /// Sends what of a list fills frames.
    pub(super) fn list_so_far(&mut self, kind: u8, list: &mut List) -> Result<()> {
        list.take_full().iter().try_for_each(|body| self.frame(kind, body))
    }

    /// Decodes filters of the peer.
    pub fn opener(&self) -> Opener {
        Opener::new().limits(self.limits.filter)
    }

    /// The maximum size of a filter in bytes, in either direction.
    pub fn filter_bytes(&self) -> u64 {
        self.limits.filter.bytes.min(self.limits.frame.into())
    }
}

/// A [`Role`] as a [`Session`]: one side of an exchange, ready for bytes.
#[derive(Clone, Debug)]
pub struct Party<R> {
    /// What this side does and has found out.
    pub role: R,
    reader: Reader,
    out: Outbox,
    failed: bool,
}

impl<R: Role> Party<R> {
    /// A party at the beginning of an exchange.
    pub fn new(role: R, limits: Limits) -> Self {
        let out = Outbox { limits, bytes: Vec::new() };
        Self { role, reader: Reader::new(R::FRAMES, limits), out, failed: false }
    }

    fn step(&mut self, bytes: &[u8]) -> Result<()> {
        self.reader.push(bytes)?;
        while let Some(frame) = self.reader.frame(|head| match self.role.done() {
            true => Err(head.wrong("the exchange is over")),
            false => self.role.room(head),
        })? {
            self.role.hear(frame, &mut self.out)?;
        }
        self.role.speak(&mut self.out)
    }
}

impl<R: Role> Session for Party<R> {
    fn receive(&mut self, bytes: &[u8]) -> Result<Step> {
        if self.failed {
            return Err(Error::new(Kind::Unsupported, "the exchange has failed before"));
        }
        self.step(bytes).inspect_err(|_| self.failed = true)?;
        Ok(Step { send: std::mem::take(&mut self.out.bytes), done: self.role.done() })
    }

    fn closed(&self) -> Result<()> {
        if self.role.done() && !self.failed {
            return Ok(());
        }
        Err(Error::new(Kind::Truncated, "the other side ended before the exchange was over"))
    }
}
