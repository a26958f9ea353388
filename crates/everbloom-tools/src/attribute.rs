//! Who sent these bytes? Payload attribution (catalogue A25; S0 \[30\]).
//!
//! ```text
//!   payloads of a capture or log ──▶ hierarchical filter: blocks, pairs, pairs of pairs, each with its sender
//!   an excerpt, later            ──▶ every alignment and offset, for every sender ──▶ who may have sent it, when
//! ```
//!
//! A payload of 1000 bytes is 57 keys at blocks of 32 bytes, 71 bytes of filter at 10 bits a key: a fourteenth of
//! the payload. An excerpt of 2s − 1 bytes or more holds a whole block at every alignment, so its sender is always
//! listed; another one is listed with (trials)·f^(hits) at most. Blocks of two payloads glued together pass block
//! by block, but the pair across the seam passes with f alone.
//!
//! A filter knows 4096 senders and a number of keys; when it is full the next one begins, or when a time window ends
//! ([`Attribution::every`]). Each tells the seconds it is of and lists its own senders, so an answer is who and when, and
//! a window that is old enough is forgotten with all its senders ([`Attribution::keeping`]).

use std::collections::HashSet;
use std::num::NonZeroU64;
use std::path::Path;

use everbloom::structured::hierarchical::{Hierarchical, Search};
use everbloom::{Error, Kind, Result, open_as, save};

/// Senders of one filter; the library's limit.
const SENDERS: usize = 4096;

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
    keys: u64,
    filter: Hierarchical,
    /// The filter's senders, to look one up.
    senders: HashSet<Vec<u8>>,
}

impl Window {
    /// Whether there is room for so many keys of a sender.
    fn takes(&self, keys: u64, sender: &[u8], room: u64) -> bool {
        (self.keys == 0 || self.keys.saturating_add(keys) <= room)
            && (self.senders.len() < SENDERS || self.senders.contains(sender))
    }
}

/// Payloads and their senders, of which excerpts are found.
///
/// ```
/// use everbloom_tools::attribute::Attribution;
///
/// let mut seen = Attribution::new(8, 1000, 0.001)?;
/// seen.payload(10, b"mallory", b"GET /cgi-bin/exploit?x=0123456789abcdef HTTP/1.1")?;
/// seen.payload(11, b"alice", b"GET /index.html HTTP/1.1 and so on, all harmless")?;
/// let found = seen.find(b"exploit?x=0123456789")?;
/// assert_eq!(found.len(), 1);
/// assert_eq!((&found[0].sender[..], found[0].offsets[0]), (&b"mallory"[..], 13));
/// assert!(seen.find(b"too short").is_err());
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Attribution {
    block: u64,
    /// Keys of a filter.
    room: u64,
    size: Size,
    windows: Vec<Window>,
    /// Seconds of a window, if it ends by time.
    every: Option<NonZeroU64>,
    /// Seconds after which a window is forgotten.
    keep: Option<u64>,
    newest: u64,
}

/// How large the filters are.
#[derive(Clone, Copy)]
enum Size {
    /// For this rate.
    Rate(f64),
    /// So many bits a key.
    Bits(u64),
}

/// Keys of a payload of so many bytes: blocks on all levels.
pub fn keys_of(bytes: u64, block: u64) -> u64 {
    let mut blocks = bytes / block.max(1);
    let mut keys = 0;
    while blocks > 0 {
        keys += blocks;
        blocks /= 2;
    }
    keys
}

impl Attribution {
    /// Blocks of `block` bytes (1 to 4096); a new filter after `room` keys; the shortest excerpts that nobody sent
    /// are found at the rate, for each sender.
    pub fn new(block: u64, room: u64, rate: f64) -> Result<Self> {
        Self::sized(block, room, Size::Rate(rate))
    }

    /// The same with `bits` bits for each key, such as 10.
    pub fn with_bits(block: u64, room: u64, bits: u64) -> Result<Self> {
        Self::sized(block, room, Size::Bits(bits))
    }

    /// The same with windows of so many seconds, from multiples of them on: a payload that comes late goes to the window
    /// of its time.
    #[must_use]
    pub fn every(self, seconds: NonZeroU64) -> Self {
        Self { every: Some(seconds), ..self }
    }

    /// The same, with windows forgotten whose last payload is more than so many seconds older than the newest one.
    #[must_use]
    pub fn keeping(self, seconds: u64) -> Self {
        Self { keep: Some(seconds), ..self }
    }

    /// The first and the last second of each window, and how many senders it lists.
    pub fn windows(&self) -> impl Iterator<Item = ((u64, u64), usize)> + '_ {
        self.windows.iter().map(|window| (window.seconds, window.filter.senders().count()))
    }

    /// The filter of each window.
    pub fn filters(&self) -> impl Iterator<Item = &Hierarchical> + '_ {
        self.windows.iter().map(|window| &window.filter)
    }

    fn sized(block: u64, room: u64, size: Size) -> Result<Self> {
        let (windows, every, keep, newest) = (Vec::new(), None, None, 0);
        let this = Self { block, room: room.max(1), size, windows, every, keep, newest };
        // What no filter can be is said before anything is read.
        this.empty()?;
        Ok(this)
    }

    fn empty(&self) -> Result<Hierarchical> {
        let filter = Hierarchical::builder().items(self.room).set("block", self.block);
        match self.size {
            Size::Rate(rate) => filter.rate(rate).build(),
            Size::Bits(bits) => filter.memory(self.room.saturating_mul(bits).div_ceil(8)).build(),
        }
    }

    /// Takes in a payload of a sender, of at most 1 MiB. One without a whole block leaves nothing, nor does one that is
    /// older than what is kept.
    pub fn payload(&mut self, second: u64, sender: &[u8], payload: &[u8]) -> Result<()> {
        let keys = keys_of(payload.len() as u64, self.block);
        if keys == 0 {
            return Ok(());
        }
        self.newest = self.newest.max(second);
        let oldest = self.keep.map_or(0, |keep| self.newest.saturating_sub(keep));
        self.windows.retain(|window| window.seconds.1 >= oldest);
        if second < oldest {
            return Ok(());
        }
        let open = self.open_at(second).filter(|i| self.windows[*i].takes(keys, sender, self.room));
        let open = match open {
            Some(open) => open,
            None => {
                let (filter, senders) = (self.empty()?, HashSet::new());
                self.windows.push(Window { seconds: (second, second), keys: 0, filter, senders });
                self.windows.len() - 1
            }
        };
        let window = &mut self.windows[open];
        window.filter.insert_from(sender, payload)?;
        window.keys += keys;
        window.seconds = (window.seconds.0.min(second), window.seconds.1.max(second));
        if !window.senders.contains(sender) {
            window.senders.insert(sender.to_vec());
        }
        Ok(())
    }

    /// The newest window that a second belongs to.
    fn open_at(&self, second: u64) -> Option<usize> {
        match self.every {
            Some(every) => self.windows.iter().rposition(|w| w.seconds.0 / every == second / every),
            None => self.windows.len().checked_sub(1),
        }
    }

    /// Who may have sent the excerpt, and where it was. Refused if it is shorter than 2s − 1 bytes, for blocks of s.
    pub fn find(&self, excerpt: &[u8]) -> Result<Vec<Candidate>> {
        let least = 2 * self.block - 1;
        if (excerpt.len() as u64) < least {
            let message = format!(
                "an excerpt of {} bytes need not hold a whole block: {least} do",
                excerpt.len()
            );
            return Err(Error::new(Kind::BadRecord, message));
        }
        let mut found = Vec::new();
        for window in &self.windows {
            for sender in window.filter.senders() {
                if let Search::At(offsets) = window.filter.find_from(sender, excerpt)
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
        let filters = self.windows.iter().map(|window| &window.filter as &dyn everbloom::Filter);
        filters.map(|filter| filter.memory().total() / 8).sum()
    }

    /// Writes the filters into a folder, a file each, named for their seconds.
    pub fn save(&self, folder: impl AsRef<Path>) -> Result<()> {
        let folder = folder.as_ref();
        std::fs::create_dir_all(folder)?;
        if std::fs::read_dir(folder)?.next().is_some() {
            let message = "the folder is not empty: name a new one";
            return Err(Error::new(Kind::BadParameter, message).context(folder.display()));
        }
        for (number, window) in self.windows.iter().enumerate() {
            let (from, to) = window.seconds;
            save(
                &window.filter,
                folder.join(format!("{number:06}-{from}-{to}-{}.evb", self.block)),
            )?;
        }
        Ok(())
    }

    /// The filters that [`Attribution::save`] wrote.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref();
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .map_err(|e| Error::from(e).context(folder.display()))?
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| name.ends_with(".evb"))
            .collect();
        names.sort();
        let (windows, size) = (Vec::new(), Size::Rate(0.01));
        let mut this =
            Self { block: 0, room: 1, size, windows, every: None, keep: None, newest: 0 };
        for name in names {
            let numbers: Vec<u64> =
                name.trim_end_matches(".evb").split('-').filter_map(|n| n.parse().ok()).collect();
            let [_, from, to, block] = numbers[..] else {
                let message = format!("{name}: not a file that `attribute build` wrote");
                return Err(Error::new(Kind::NotOurs, message).context(folder.display()));
            };
            this.block = block;
            let filter: Hierarchical = open_as(folder.join(&name))?;
            let senders = filter.senders().map(<[u8]>::to_vec).collect();
            this.windows.push(Window { seconds: (from, to), keys: 0, filter, senders });
        }
        if this.windows.is_empty() || this.block == 0 {
            let message = "no filters in this folder: make it with `attribute build`";
            return Err(Error::new(Kind::NotOurs, message).context(folder.display()));
        }
        Ok(this)
    }
}

#[cfg(test)]
mod tests {
    use everbloom::internals::hash::Generator;

    use super::*;

    /// Senders, and random payloads of 1000 bytes of theirs.
    fn payloads(seed: u64, count: u64) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut random = Generator::new(seed);
        let payload = |random: &mut Generator| (0..1000).map(|_| random.next_u64() as u8).collect();
        (0..count).map(|i| (format!("host {i}").into_bytes(), payload(&mut random))).collect()
    }

    #[test]
    fn full_filters_are_followed_by_others_and_come_back_from_their_folder() {
        let mut seen = Attribution::new(16, 100, 0.0001).unwrap();
        let all = payloads(3, 10);
        for (second, (sender, payload)) in all.iter().enumerate() {
            seen.payload(second as u64, sender, payload).unwrap();
        }
        seen.payload(0, b"nobody", b"short").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seen");
        seen.save(&path).unwrap();
        assert!(seen.save(&path).is_err(), "there are filters already");
        let back = Attribution::open(&path).unwrap();
        for (second, (sender, payload)) in all.iter().enumerate() {
            let found = back.find(&payload[100..200]).unwrap();
            let right = found.iter().find(|c| c.sender == *sender).unwrap();
            assert!((right.seconds.0..=right.seconds.1).contains(&(second as u64)));
            assert_eq!(right.offsets[0], 100);
            assert_eq!(found, seen.find(&payload[100..200]).unwrap());
        }
        assert!(seen.windows.len() > 5 && seen.bytes() > 0);
        assert!(Attribution::open(folder.path()).is_err());
        assert!(Attribution::new(0, 100, 0.01).is_err());
    }

    /// Windows by time: an answer names the window of each sending and its senders alone, payloads that come late go to
    /// their own, and windows that are too old are gone.
    #[test]
    fn a25_answers_are_hosts_and_time_windows() {
        let hour = NonZeroU64::new(3600).unwrap();
        let mut seen = Attribution::new(16, 10_000, 1e-6).unwrap().every(hour).keeping(7200);
        let all = payloads(5, 4);
        let [worm, other, late, last] = [0, 1, 2, 3].map(|i| &all[i].1[..]);
        seen.payload(100, b"ann", worm).unwrap();
        seen.payload(3599, b"bob", other).unwrap();
        seen.payload(3600, b"bob", worm).unwrap();
        seen.payload(3000, b"eve", late).unwrap();
        let list = |seen: &Attribution| seen.windows().collect::<Vec<_>>();
        assert_eq!(list(&seen), [((100, 3599), 3), ((3600, 3600), 1)]);
        let who = |seen: &Attribution, excerpt: &[u8]| -> Vec<((u64, u64), Vec<u8>)> {
            let found = seen.find(excerpt).unwrap().into_iter();
            found.map(|candidate| (candidate.seconds, candidate.sender)).collect()
        };
        let excerpt = &worm[200..300];
        let twice = [((100, 3599), b"ann".to_vec()), ((3600, 3600), b"bob".to_vec())];
        assert_eq!(who(&seen, excerpt), twice);
        assert_eq!(who(&seen, &late[50..150]), [((100, 3599), b"eve".to_vec())]);
        // The first window's last payload is 7200 seconds old, then more.
        seen.payload(3599 + 7200, b"ann", last).unwrap();
        assert_eq!(who(&seen, excerpt), twice);
        seen.payload(3600 + 7200, b"ann", last).unwrap();
        assert_eq!(list(&seen).len(), 3, "the second window, and two of the last payload");
        assert_eq!(who(&seen, excerpt), twice[1..]);
        assert!(who(&seen, &late[50..150]).is_empty(), "forgotten with all its senders");
        seen.payload(3000, b"eve", late).unwrap();
        assert!(who(&seen, &late[50..150]).is_empty(), "too late");
    }
}
