//! Two processes that talk: the sessions of [`everbloom::exchange`] over pipes, child processes and TCP.
//!
//! ```text
//!   here                                            there
//!   sync LIST ssh://host/path ── ssh host ────────▶ sync --stdio path      authentication and encryption are ssh's
//!   sync LIST tcp://host:port ───────────────────▶ sync --listen ADDRESS   neither: for networks one trusts
//!        GREETING ─────────────────────────────────▶
//!        ◀──────────────────────────────── GREETING                        both mean the same work
//!        sessions, one after the other
//! ```
//!
//! A [`Channel`] carries bytes both ways and counts them. Peers are not trusted: frames are bounded by what was announced
//! and by the limits of the session, waiting ends after a time that only bytes prolong, and a peer that lies, stalls,
//! sends garbage or hangs up ends in an error that says so. Whoever fails tells the other side why. What a session brings is used when it is over, so
//! that nothing is written by halves.

mod channel;
mod greeting;
mod place;

pub use channel::Channel;
pub use place::{Listener, Place, Reach, output_of};

/// A number nobody can foresee, for salts.
pub fn salt() -> u64 {
    use std::hash::{BuildHasher as _, Hasher as _, RandomState};
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests;
