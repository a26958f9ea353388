//! Two lists, or two folders, on two machines: what do they not share, and the transfer of it.
//!
//! ```text
//!   here                                              there
//!   greeting: "sync lines" ────────────────────────▶  the same
//!   the exchange of [`everbloom::exchange::rateless`]: exact, at the cost of the difference
//!   folders: names wanted ─────────────────────────▶
//!            ◀──────────────────────────────── files  checked by their SHA-256, kept aside
//!            files ────────────────────────────────▶
//!   both sides move what came into place
//! ```
//!
//! An entry of a folder is a file's name and the hash of its content. A name with different contents on the two sides
//! is told and left alone. An [`approximate`] exchange takes one message and miss a few.

pub mod approximate;
mod files;
mod folder;

use std::path::Path;

use everbloom::exchange::rateless::{Cells, Found, Holder, Seeker, Set};
use everbloom::exchange::{Limits, Party};
use everbloom::internals::disk::replace;
use everbloom::{Error, Kind, Result};

pub use files::Exchange;
pub use folder::{Entry, Folder, Plan};

use crate::wire::Channel;

/// Bytes that a sync may spend beyond what the difference needs: sketch and first grant.
pub const ALLOWANCE: u64 = 4096;

/// What peers may send: lists of any length, in frames that are bounded.
pub const LIMITS: Limits = Limits { total: u64::MAX, ..Limits::NETWORK };

/// What this side learned.
#[derive(Clone, Debug)]
pub struct Learned {
    /// What only one side has.
    pub found: Found,
    /// Keys and bytes of this side's list.
    pub here: (u64, u64),
    /// Keys and bytes of the other's.
    pub there: (u64, u64),
    /// Cells that it took.
    pub cells: Cells,
}

/// Learns what the two lists do not share; with `give` the other side is given what it lacks. The set's seed should be
/// one that nobody can foresee ([`salt`](crate::wire::salt)).
pub fn seek(channel: &mut Channel, set: Set, give: bool) -> Result<Learned> {
    let here = (set.len() as u64, set.bytes());
    let seeker = Seeker::new(set).allowing(ALLOWANCE);
    let mut party = Party::new(if give { seeker.giving() } else { seeker }, LIMITS);
    channel.run(&mut party)?;
    let (there, cells) = (party.role.other(), party.role.cells());
    let found = party.role.found().cloned().unwrap_or_default();
    Ok(Learned { found, here, there, cells })
}

/// The other side of [`seek`]: what it was given, if it takes something.
pub fn hold(channel: &mut Channel, set: Set, take: bool) -> Result<Vec<Vec<u8>>> {
    let holder = Holder::new(set);
    let mut party = Party::new(if take { holder.taking() } else { holder }, LIMITS);
    channel.run(&mut party)?;
    Ok(party.role.taken().to_vec())
}

/// Beginnings of packed files, which lines can't be appended to.
const PACKED: [&[u8]; 4] = [&[0x1F, 0x8B], &[0x28, 0xB5, 0x2F, 0xFD], &[0xFD, b'7', b'z'], b"BZh"];

/// Appends lines to a file: all of them or none.
pub fn append(path: &Path, keys: &[Vec<u8>], end: u8) -> Result<()> {
    if keys.is_empty() {
        return Ok(());
    }
    let name = |e: Error| e.context(path.display());
    let old = std::fs::read(path).map_err(|e| name(e.into()))?;
    if PACKED.iter().any(|magic| old.starts_with(magic)) {
        let message = "the list is packed: unpack it to have lines added";
        return Err(name(Error::new(Kind::Unsupported, message)));
    }
    if let Some(key) = keys.iter().find(|key| key.contains(&end)) {
        let message = format!("a key of {} bytes that is more than one line", key.len());
        return Err(name(Error::new(Kind::BadRecord, message)));
    }
    replace(path, |out| {
        out.write_all(&old)?;
        if old.last().is_some_and(|byte| *byte != end) {
            out.write_all(&[end])?;
        }
        keys.iter().try_for_each(|key| {
            out.write_all(key)?;
            out.write_all(&[end])
        })
    })
    .map_err(|e| name(e.into()))
}

#[cfg(test)]
mod tests;
