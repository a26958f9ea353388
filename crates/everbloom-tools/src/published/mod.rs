//! Filters of lists that change: published as versions, followed by deltas.
//!
//! ```text
//!   publisher                    a folder, a pipe, a command        follower
//!   list ─▶ filter, version 7 ─▶ latest: version 7, its digest ──▶ has version 5
//!                                5.delta 6.delta 7.delta        ──▶ 6.delta, 7.delta: bits that flipped
//!                                7.full                         ──▶ or all of it
//! ```
//!
//! A delta names the digest (SHA-256) of the file it changes and of the file that comes out, so that none is applied to
//! another base, and damage on the way shows. A publisher that goes back to an older version, or has two files of
//! one version, is refused: somebody may replay an old list to hide what was added to it. Who the publisher *is* has to
//! be told by the way the files come: https, ssh, a signature beside them.

mod feed;
mod follower;
mod rice;
mod update;

pub use feed::{Feed, Latest, Shape};
pub use follower::{Follower, Source, Took};
pub use update::{Digest, MAGIC, Update, digest};

use everbloom::{Error, Kind};

/// The longest file that is followed.
pub const MOST: u64 = 128 << 20;

fn corrupt(what: impl Into<String>) -> Error {
    Error::new(Kind::Corrupt { offset: 0 }, what)
}

#[cfg(test)]
mod tests;
