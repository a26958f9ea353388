//! Who sent these bytes? Payload attribution (catalogue A25; S0 \[30\]).
//!
//! ```text
//!   payloads of a capture or log ──▶ hierarchical filter: blocks, pairs, pairs of pairs, each with its sender
//!                                ──▶ pieces: every 8 bytes in a row, each with its sender
//!   an excerpt, later            ──▶ every alignment and offset, for every sender ──▶ who may have sent it, when
//! ```
//!
//! A payload of 1000 bytes has 57 keys at blocks of 32 bytes. An excerpt of 2s − 1 bytes or more has a whole block at
//! every alignment, so its sender is always listed. Blocks of two payloads glued together pass block by block, but the
//! pair across the seam passes with f alone.
//!
//! Up to s − 1 bytes at each end of an excerpt are in no whole block. A log of many senders has the same blocks in
//! many lines, so these bytes decide who is meant. The filter of pieces checks them: every 8 bytes of the excerpt must
//! have been sent by the sender, somewhere. A single piece passes by mistake with 1/4, so an end with L foreign bytes
//! passes with 4^−L at most.
//!
//! A [`Collector`] holds payloads until their filter is closed, and then knows how large it has to be: the rate is
//! that of an excerpt for which *anyone* is listed by *any* filter. A filter is closed when it has 4096 senders or a number
//! of keys, or when all payloads were read; or its time window ends there ([`Collector::every`]). Each tells the seconds it
//! is of and lists its own senders, so an answer is who and when, and a window that is old enough is forgotten with all
//! its senders ([`Collector::keeping`]).

mod collect;

use std::path::{Path, PathBuf};

use everbloom::structured::hierarchical::{Hierarchical, Search};
use everbloom::{Bloom, Error, Kind, Result, open_as, save};

pub use collect::{Collector, keys_of};

/// The longest piece that is looked up by itself.
const PIECE: u64 = 8;

/// Who may have sent an excerpt.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// The first and the last second of the filter that tells it.
    pub seconds: (u64, u64),
    /// The sender.
    pub sender: Vec<u8>,
    /// Where in payloads the excerpt may have been, in bytes.
    pub offsets: Vec<u64>,
}

/// A filter and its time.
struct Window {
    seconds: (u64, u64),
    filter: Hierarchical,
    /// Of all pieces of payloads with their senders. None for the filter of the paper, which leaves ends unchecked.
    pieces: Option<Bloom>,
}

/// The pieces of some bytes, in blocks of `block` bytes.
fn pieces(bytes: &[u8], block: u64) -> impl Iterator<Item = &[u8]> {
    bytes.windows(block.clamp(1, PIECE) as usize)
}

impl Window {
    /// Whether the sender has sent every piece of the excerpt.
    fn has_pieces(&self, sender: &[u8], excerpt: &[u8], block: u64) -> bool {
        self.pieces
            .as_ref()
            .is_none_or(|seen| pieces(excerpt, block).all(|piece| seen.contains(&(sender, piece))))
    }
}

/// Filters of payloads and their senders, in which excerpts are found. A [`Collector`] makes them.
///
/// ```
/// use everbloom_tools::attribute::Collector;
///
/// let mut log = Collector::new(16, 1000, 0.001)?;
/// let line = |path: &str| {
///     let browser = "Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0";
///     format!("GET {path} HTTP/1.1 {browser} from https://example.org/pages/links.html").repeat(4)
/// };
/// log.payload(10, b"mallory", line("/cgi-bin/exploit-of-the-day?user=mallory").as_bytes())?;
/// log.payload(11, b"alice", line("/index.html-and-so-on-and-on").as_bytes())?;
/// let seen = log.finish()?;
/// let found = seen.find(b"/cgi-bin/exploit-of-the-day?user=mal")?;
/// assert_eq!(found.len(), 1);
/// assert_eq!((&found[0].sender[..], found[0].offsets[0]), (&b"mallory"[..], 4));
/// assert!(seen.find(b"too short").is_err());
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Attribution {
    block: u64,
    windows: Vec<Window>,
}

impl Attribution {
    /// The first and the last second of each window, and how many senders it lists.
    pub fn windows(&self) -> impl Iterator<Item = ((u64, u64), usize)> + '_ {
        self.windows.iter().map(|window| (window.seconds, window.filter.senders().count()))
    }

    /// The filter of each window.
    pub fn filters(&self) -> impl Iterator<Item = &Hierarchical> + '_ {
        self.windows.iter().map(|window| &window.filter)
    }

    /// The length of the shortest excerpts that can be judged: 2s − 1 bytes for blocks of s.
    pub fn least(&self) -> u64 {
        2 * self.block - 1
    }

    /// Who may have sent the excerpt, and where it was. Refused if it is too short to be judged.
    pub fn find(&self, excerpt: &[u8]) -> Result<Vec<Candidate>> {
        let least = self.least();
        if (excerpt.len() as u64) < least {
            let message = format!(
                "cannot be judged: an excerpt of {} bytes need not have a whole block, give {least} bytes or more",
                excerpt.len()
            );
            return Err(Error::new(Kind::BadRecord, message));
        }
        let mut found = Vec::new();
        for window in &self.windows {
            for sender in window.filter.senders() {
                if window.has_pieces(sender, excerpt, self.block)
                    && let Search::At(offsets) = window.filter.find_from(sender, excerpt)
                    && !offsets.is_empty()
                {
                    let (seconds, sender) = (window.seconds, sender.to_vec());
                    found.push(Candidate { seconds, sender, offsets });
                }
            }
        }
        found.sort();
        Ok(found)
    }

    /// Bytes of the filters.
    pub fn bytes(&self) -> u64 {
        let bytes = |filter: &dyn everbloom::Filter| filter.memory().total() / 8;
        let both = |window: &Window| {
            bytes(&window.filter) + window.pieces.as_ref().map_or(0, |pieces| bytes(pieces))
        };
        self.windows.iter().map(both).sum()
    }

    /// Writes the filters into a folder, one or two files for each window, named for their seconds.
    pub fn save(&self, folder: impl AsRef<Path>) -> Result<()> {
        let folder = folder.as_ref();
        std::fs::create_dir_all(folder)?;
        if std::fs::read_dir(folder)?.next().is_some() {
            let message = "the folder is not empty: name a new one";
            return Err(Error::new(Kind::BadParameter, message).context(folder.display()));
        }
        for (number, window) in self.windows.iter().enumerate() {
            let (from, to) = window.seconds;
            let path = folder.join(format!("{number:06}-{from}-{to}-{}.evb", self.block));
            save(&window.filter, &path)?;
            window.pieces.as_ref().map_or(Ok(()), |pieces| save(pieces, beside(&path)))?;
        }
        Ok(())
    }

    /// The filters that [`Attribution::save`] wrote.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref();
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .map_err(|e| Error::from(e).context(folder.display()))?
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| name.ends_with(".evb") && !name.ends_with(PIECES))
            .collect();
        names.sort();
        let mut this = Self { block: 0, windows: Vec::new() };
        for name in names {
            let numbers: Vec<u64> =
                name.trim_end_matches(".evb").split('-').filter_map(|n| n.parse().ok()).collect();
            let [_, from, to, block @ 1..=u64::MAX] = numbers[..] else {
                let message = format!("{name}: not a file that `attribute build` wrote");
                return Err(Error::new(Kind::NotOurs, message).context(folder.display()));
            };
            this.block = block;
            let path = folder.join(&name);
            let pieces = beside(&path);
            let pieces = if pieces.exists() { Some(open_as(pieces)?) } else { None };
            let filter = open_as(path)?;
            this.windows.push(Window { seconds: (from, to), filter, pieces });
        }
        if this.windows.is_empty() {
            let message = "no filters in this folder: make it with `attribute build`";
            return Err(Error::new(Kind::NotOurs, message).context(folder.display()));
        }
        Ok(this)
    }

    /// Whether all bytes of an excerpt are checked: not by filters of older versions.
    pub fn checks_ends(&self) -> bool {
        self.windows.iter().all(|window| window.pieces.is_some())
    }
}

/// How the names of files of pieces end.
const PIECES: &str = ".pieces.evb";

/// The file of the pieces beside a filter.
fn beside(path: &Path) -> PathBuf {
    path.with_extension(&PIECES[1..])
}

#[cfg(test)]
mod tests;
