//! Exchanges between two parties: bytes in, bytes out, and no input or output of their own.
//!
//! A [`Session`] is one party's side of an exchange. Whoever drives it (a socket, a server, a test)
//! hands it the bytes that came and sends the bytes it returns, in pieces of any size, until it is done:
//!
//! ```text
//!    socket ──bytes──▶ Party ──frames──▶ Role: what the protocol does with a frame
//!    socket ◀──bytes── Party ◀──frames──
//! ```
//!
//! | exchange | one party | the other |
//! |---|---|---|
//! | [`rateless`]: what do two sets not share? One side learns it, at the least cost | [`rateless::Seeker`] | [`rateless::Holder`] |
//! | [`reconcile`]: the same for both sides | [`reconcile::Seeker`] | [`reconcile::Holder`] |
//! | [`tree`]: which of my keys have you not, roughly? | [`tree::Search`] | [`tree::Summary`] |
//! | [`join`]: which rows of two tables have the same key? | [`join::Left`] | [`join::Right`] |
//! | `search`: which documents have a word, unseen by who keeps them? | `search::Searcher` | `search::Keeper` |
//! | `private`: is my key in the set, neither shown? | `private::Asker` | `private::Owner` |
//! | `encrypted`: the same through a third party who sees neither | `encrypted::Reader`, `encrypted::Client` | `encrypted::Holder`, `encrypted::Mediator` |
//! | … who passes queries on itself | `encrypted::passing::Applicant`, `encrypted::passing::Courier` | `encrypted::passing::Warrant`, `encrypted::passing::Intake` |
//!
//! The last three come with the feature `secure`.
//!
//! Peers are not trusted. Frames are bounded by [`Limits`] and by what was asked for or announced ([`Role::room`]), which
//! their headers are compared with before anything is held. Filters travel as `.evb` bytes through the one decoder, and
//! what a peer says is compared with what is known. Bytes that no honest peer sends are an error, and after an error a
//! session stays failed. What a session can't tell is whether an honest-looking peer leaves something out: whoever needs
//! that to be safe needs signatures.
//!
//! ```
//! use everbloom::exchange::reconcile::{Holder, Seeker, Set};
//! use everbloom::exchange::{Limits, Party, run};
//!
//! let set = |keys: [&str; 3]| keys.iter().fold(Set::new(), |set, key| set.with(key.as_bytes()));
//! let mut here = Party::new(Seeker::new(set(["fig", "oak", "elm"])), Limits::NETWORK);
//! let mut there = Party::new(Holder::new(set(["fig", "oak", "ash"])), Limits::NETWORK);
//! let traffic = run(&mut here, &mut there)?;
//! let found = here.role.found().expect("the exchange is over");
//! assert_eq!((&found.ours[0][..], &found.theirs[0][..]), (&b"elm"[..], &b"ash"[..]));
//! assert!(traffic.total() < 70_000);
//! # Ok::<(), everbloom::Error>(())
//! ```

#[cfg(feature = "secure")]
pub mod encrypted;
mod frame;
pub mod join;
mod list;
mod mixed;
mod party;
#[cfg(feature = "secure")]
pub mod private;
pub mod rateless;
pub mod reconcile;
#[cfg(feature = "secure")]
pub mod search;
pub mod tree;

pub use frame::{Frame, HEADER, Reader};
pub use list::{Due, List, items};
pub use party::{Outbox, Party, Role};

use crate::error::Result;
use crate::state;

/// Upper bounds on what a session takes from its peer, and sends.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Longest body of a frame, in bytes.
    pub frame: u32,
    /// Most bytes received in one session.
    pub total: u64,
    /// What a filter in a frame may be.
    pub filter: state::Limits,
}

impl Limits {
    /// For two parties of one's own.
    pub const LOCAL: Limits =
        Limits { frame: u32::MAX, total: u64::MAX, filter: state::Limits::LOCAL };
    /// For a peer on a network: 128 MiB in all.
    pub const NETWORK: Limits =
        Limits { frame: 128 << 20, total: 128 << 20, filter: state::Limits::NETWORK };
}

/// What a session wants after a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Bytes for the peer; they are sent before anything else is done.
    pub send: Vec<u8>,
    /// Whether the exchange is over for this party. If not, it waits for bytes of its peer.
    pub done: bool,
}

/// One party's side of an exchange.
pub trait Session {
    /// Takes the next bytes of the peer, which may end anywhere. With none at all it returns what the
    /// party has to say unasked: the opening, or what the application gave it since.
    fn receive(&mut self, bytes: &[u8]) -> Result<Step>;

    /// The peer has closed: an error, [`Truncated`](crate::error::Kind::Truncated), unless the exchange
    /// is over.
    fn closed(&self) -> Result<()>;
}

/// Bytes that crossed between two parties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traffic {
    /// Sent by the first party.
    pub a_to_b: u64,
    /// Sent by the second.
    pub b_to_a: u64,
}

impl Traffic {
    /// Both directions together.
    pub fn total(&self) -> u64 {
        self.a_to_b + self.b_to_a
    }

    /// Carries bytes between two parties in this process until neither has anything to say, and counts
    /// them. Returns whether both are done; if not, the application has something to add, or one of them waits for
    /// nothing.
    pub fn carry(&mut self, a: &mut dyn Session, b: &mut dyn Session) -> Result<bool> {
        let (mut from_a, mut from_b) = (a.receive(&[])?, b.receive(&[])?);
        while !(from_a.send.is_empty() && from_b.send.is_empty()) {
            self.a_to_b += from_a.send.len() as u64;
            self.b_to_a += from_b.send.len() as u64;
            (from_a, from_b) = (a.receive(&from_b.send)?, b.receive(&from_a.send)?);
        }
        Ok(from_a.done && from_b.done)
    }
}

/// Plays both parties of an exchange to its end, over pipes in memory.
pub fn run(a: &mut dyn Session, b: &mut dyn Session) -> Result<Traffic> {
    let mut traffic = Traffic::default();
    if !traffic.carry(a, b)? {
        a.closed()?;
        b.closed()?;
    }
    Ok(traffic)
}

#[cfg(test)]
mod tests;
