//! Payloads on their way into filters.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use everbloom::structured::hierarchical::Hierarchical;
use everbloom::{Bloom, Error, Hasher, Kind, Result};

use super::{Attribution, Window, pieces};

/// Senders of one filter; the library's limit.
const SENDERS: usize = 4096;
/// Bytes of payloads that wait for their filters: beyond it the largest window is closed early.
const HELD: u64 = 256 << 20;
/// Probes of a piece: in a filter that is half full, a foreign one passes with 1/4.
const PROBES: u32 = 2;

/// How large the filters are.
#[derive(Clone, Copy)]
enum Size {
    /// For this rate.
    Rate(f64),
    /// So many bits a key.
    Bits(u64),
}

/// Payloads of a window whose filter is not made yet.
struct Open {
    seconds: (u64, u64),
    keys: u64,
    bytes: u64,
    sent: BTreeMap<Vec<u8>, Vec<Vec<u8>>>,
}

impl Open {
    /// Whether there is room for so many keys of a sender.
    fn takes(&self, keys: u64, sender: &[u8], room: u64) -> bool {
        self.keys.saturating_add(keys) <= room
            && (self.sent.len() < SENDERS || self.sent.contains_key(sender))
    }

    fn payloads(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let sent = self.sent.iter();
        sent.flat_map(|(sender, all)| all.iter().map(|payload| (&sender[..], &payload[..])))
    }

    /// The filter of all pieces, half full.
    fn pieces(&self, block: u64) -> Result<Bloom> {
        let full = |bits: f64| -> Result<Bloom> {
            let mut filter = Bloom::with_shape(bits.max(64.0) as u64, PROBES, Hasher::default())?;
            for (sender, payload) in self.payloads() {
                pieces(payload, block).for_each(|piece| _ = filter.insert(&(sender, piece)));
            }
            Ok(filter)
        };
        // Many pieces occur often. How many differ is told by a first filter that has room for all.
        let first = full((u64::from(PROBES) * self.bytes) as f64)?;
        let throws = -(first.m() as f64) * (-first.bits().fill()).ln_1p();
        full(throws / std::f64::consts::LN_2)
    }
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

/// Takes payloads and their senders, and makes filters of them.
pub struct Collector {
    block: u64,
    /// Keys of a filter.
    room: u64,
    size: Size,
    /// Seconds of a window, if it ends by time.
    every: Option<NonZeroU64>,
    /// Seconds after which a window is forgotten.
    keep: Option<u64>,
    newest: u64,
    /// Bytes of all payloads.
    read: u64,
    /// Windows that were closed, forgotten ones too.
    closed: u64,
    open: Vec<Open>,
    windows: Vec<Window>,
}

impl Collector {
    /// Blocks of `block` bytes (1 to 4096); a new filter after `room` keys; anyone is listed for an excerpt of which
    /// nobody sent a block at this rate at most.
    pub fn new(block: u64, room: u64, rate: f64) -> Result<Self> {
        Self::sized(block, room, Size::Rate(rate))
    }

    /// The filter of the paper alone, with `bits` bits for each key, such as 10. Bytes outside of whole blocks are not
    /// checked.
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

    fn sized(block: u64, room: u64, size: Size) -> Result<Self> {
        let (open, windows, every, keep) = (Vec::new(), Vec::new(), None, None);
        let [newest, read, closed] = [0; 3];
        let room = room.max(1);
        let this = Self { block, room, size, every, keep, newest, read, closed, open, windows };
        // What no filter can be is said before anything is read.
        this.empty(1, 1, block)?;
        Ok(this)
    }

    /// A filter for so many keys of so many senders, and payloads of up to so many bytes. Shares of the rate go to all
    /// filters, 1/2, 1/6, 1/12 and so on: however many there will be, they add up to no more than all of it.
    fn empty(&self, keys: u64, senders: usize, longest: u64) -> Result<Hierarchical> {
        let filter = Hierarchical::builder().items(keys).set("block", self.block);
        match self.size {
            Size::Rate(rate) => {
                let number = (self.closed + 1) as f64;
                let share = rate / (number * (number + 1.0)) / senders as f64;
                filter.set("longest", longest).rate(share).build()
            }
            Size::Bits(bits) => filter.memory(keys.saturating_mul(bits).div_ceil(8)).build(),
        }
    }

    /// Takes in a payload of a sender, of at most 1 MiB. One without a whole block leaves nothing, nor does one that is
    /// older than what is kept.
    pub fn payload(&mut self, second: u64, sender: &[u8], payload: &[u8]) -> Result<()> {
        self.read += payload.len() as u64;
        let keys = keys_of(payload.len() as u64, self.block);
        if keys == 0 {
            return Ok(());
        }
        self.newest = self.newest.max(second);
        let oldest = self.keep.map_or(0, |keep| self.newest.saturating_sub(keep));
        self.windows.retain(|window| window.seconds.1 >= oldest);
        self.open.retain(|open| open.seconds.1 >= oldest);
        if second < oldest {
            return Ok(());
        }
        let at = self.open_at(second, keys, sender)?;
        let open = &mut self.open[at];
        open.seconds = (open.seconds.0.min(second), open.seconds.1.max(second));
        open.keys += keys;
        open.bytes += payload.len() as u64;
        open.sent.entry(sender.to_vec()).or_default().push(payload.to_vec());
        self.relieve()
    }

    /// The open window that a second belongs to, with room for so many keys of a sender. A full one is closed.
    fn open_at(&mut self, second: u64, keys: u64, sender: &[u8]) -> Result<usize> {
        let found = match self.every {
            Some(every) => self.open.iter().position(|w| w.seconds.0 / every == second / every),
            None => self.open.len().checked_sub(1),
        };
        if let Some(at) = found {
            if self.open[at].takes(keys, sender, self.room) {
                return Ok(at);
            }
            self.close(at)?;
        }
        let sent = BTreeMap::new();
        self.open.push(Open { seconds: (second, second), keys: 0, bytes: 0, sent });
        Ok(self.open.len() - 1)
    }

    /// Closes the largest window if too many bytes wait.
    fn relieve(&mut self) -> Result<()> {
        if self.open.iter().map(|open| open.bytes).sum::<u64>() <= HELD {
            return Ok(());
        }
        let largest = (0..self.open.len()).max_by_key(|at| self.open[*at].bytes);
        largest.map_or(Ok(()), |at| self.close(at))
    }

    fn close(&mut self, at: usize) -> Result<()> {
        let open = self.open.remove(at);
        let longest = open.payloads().map(|(_, payload)| payload.len() as u64).max();
        let mut filter = self.empty(open.keys, open.sent.len(), longest.unwrap_or(1))?;
        for (sender, payload) in open.payloads() {
            filter.insert_from(sender, payload)?;
        }
        let pieces = match self.size {
            Size::Rate(_) => Some(open.pieces(self.block)?),
            Size::Bits(_) => None,
        };
        self.closed += 1;
        self.windows.push(Window { seconds: open.seconds, filter, pieces });
        Ok(())
    }

    /// The filters of all payloads. Refused if they are larger than the payloads, which might be kept instead.
    pub fn finish(mut self) -> Result<Attribution> {
        while !self.open.is_empty() {
            self.close(0)?;
        }
        self.windows.sort_by_key(|window| window.seconds);
        let made = Attribution { block: self.block, windows: self.windows };
        let bytes = made.bytes();
        if matches!(self.size, Size::Rate(_)) && bytes > self.read {
            let message = format!(
                "the summary would take {bytes} bytes for {} bytes of payloads: use larger blocks or a \
                 higher {{rate}}, or keep the payloads",
                self.read
            );
            return Err(Error::new(Kind::BadParameter, message));
        }
        Ok(made)
    }
}
