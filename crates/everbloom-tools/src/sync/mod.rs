//! Two lists, or two folders, on two machines: what do they not share, and the transfer of it.
//!
//! ```text
//!   here                                              there
//!   greeting: "sync lines" ────────────────────────▶  the same
//!   the exchange of [`everbloom::exchange::rateless`]: exact, at the cost of the difference
//!   folders: names wanted ─────────────────────────▶
//!            ◀──────────────────────────────── files  of announced sizes, checked by their SHA-256, kept aside
//!            files ────────────────────────────────▶
//!            ◀─────────────────────────────── closed  they are in place there
//! ```
//!
//! An entry of a folder is a file's name and the hash of its content, or the name of a folder below it. Files keep their
//! modes and times. A name with different contents on the two sides is told and left alone. An [`approximate`] exchange
//! takes one message and misses a few.

pub mod approximate;
mod aside;
mod files;
mod folder;
mod stamp;

use std::fs::OpenOptions;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use everbloom::exchange::rateless::{Cells, Found, Holder, Seeker, Set};
use everbloom::exchange::{Limits, Party};
use everbloom::{Error, Kind, Result};

pub use files::Exchange;
pub use folder::{Entry, Folder, Plan, shown};

use crate::wire::Channel;

/// Bytes that a sync may spend beyond what the difference needs: sketch and first grant.
pub const ALLOWANCE: u64 = 4096;

/// What a peer on a network may send of a list, all of which is held in memory.
pub const LIMITS: Limits = Limits::NETWORK;

/// What a peer on a network may send of files or rows, which go to the disk as they come.
pub const STREAMED: Limits = Limits { total: 64 << 30, ..Limits::NETWORK };

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
pub fn seek(channel: &mut Channel, set: Set, give: bool, limits: Limits) -> Result<Learned> {
    let here = (set.len() as u64, set.bytes());
    let seeker = Seeker::new(set).allowing(ALLOWANCE);
    let mut party = Party::new(if give { seeker.giving() } else { seeker }, limits);
    channel.run(&mut party)?;
    let (there, cells) = (party.role.other(), party.role.cells());
    let found = party.role.found().cloned().unwrap_or_default();
    Ok(Learned { found, here, there, cells })
}

/// Stores keys that were given.
pub type Store<'a> = dyn FnMut(&[Vec<u8>]) -> Result<()> + 'a;

/// The other side of [`seek`], which is given keys if it can store them. The side that gives them hears that the exchange
/// is over when they are stored. Keys and bytes of the other side's list.
pub fn hold(
    channel: &mut Channel,
    set: Set,
    store: Option<&mut Store<'_>>,
    limits: Limits,
) -> Result<(u64, u64)> {
    let holder = Holder::new(set);
    let Some(store) = store else {
        let mut party = Party::new(holder, limits);
        channel.run(&mut party)?;
        return Ok(party.role.other());
    };
    let mut party = Party::new(holder.storing(), limits);
    channel.run_with(&mut party, |holder| {
        let Some(keys) = holder.to_store() else { return Ok(false) };
        store(keys)?;
        holder.stored();
        Ok(true)
    })?;
    Ok(party.role.other())
}

/// Beginnings of packed files, which lines can't be appended to.
const PACKED: [&[u8]; 4] = [&[0x1F, 0x8B], &[0x28, 0xB5, 0x2F, 0xFD], &[0xFD, b'7', b'z'], b"BZh"];

/// Refuses keys that would be more than one line.
pub fn one_line_each(keys: &[Vec<u8>], end: u8) -> Result<()> {
    match keys.iter().find(|key| key.contains(&end)) {
        None => Ok(()),
        Some(key) => {
            let message = format!("a key of {} bytes that is more than one line", key.len());
            Err(Error::new(Kind::BadRecord, message))
        }
    }
}

/// Appends lines to a file: all of them or none. Lines that other processes append meanwhile are kept, since nothing
/// is replaced.
pub fn append(path: &Path, keys: &[Vec<u8>], end: u8) -> Result<()> {
    if keys.is_empty() {
        return Ok(());
    }
    let name = |e: Error| e.context(path.display());
    one_line_each(keys, end).map_err(name)?;
    let mut text: Vec<u8> = keys.iter().flat_map(|key| [key.as_slice(), &[end]].concat()).collect();
    let mut work = || -> Result<()> {
        let mut list = OpenOptions::new().read(true).append(true).open(path)?;
        let mut start = Vec::new();
        (&list).take(4).read_to_end(&mut start)?;
        if PACKED.iter().any(|magic| start.starts_with(magic)) {
            let message = "the list is packed: unpack it to have lines added";
            return Err(Error::new(Kind::Unsupported, message));
        }
        let length = list.seek(SeekFrom::End(0))?;
        if length > 0 {
            let mut last = [end];
            list.seek(SeekFrom::Start(length - 1))?;
            list.read_exact(&mut last)?;
            if last != [end] {
                text.insert(0, end);
            }
        }
        append_bytes(&mut list, &text)
    };
    work().map_err(name)
}

/// Appends bytes by one call, so that what others append comes before or after. If the disk has no room for all of them,
/// those that were written are taken back, unless something has come behind them.
fn append_bytes(list: &mut std::fs::File, text: &[u8]) -> Result<()> {
    let before = list.metadata()?.len();
    let mut written = 0;
    let mut write = || -> io::Result<()> {
        while written < text.len() {
            match list.write(&text[written..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => written += count,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        list.sync_data()
    };
    let done = write();
    if done.is_err() && list.metadata()?.len() == before + written as u64 {
        list.set_len(before)?;
    }
    Ok(done?)
}

#[cfg(test)]
mod tests;
