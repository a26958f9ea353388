//! The contents of files, both ways: first those that the side that began wants, then those that it gives.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fs::File;
use std::io::{Read as _, Write as _};

use everbloom::exchange::{Due, Frame, Limits, List, Outbox, Party, Role, items};
use everbloom::{Error, Kind, Result};
use sha2::{Digest as _, Sha256};

use super::aside::Aside;
use super::folder::{Outgoing, shown};
use super::stamp::Stamp;
use super::{Entry, Folder};
use crate::wire::Channel;

/// A list of names.
const WANT: u8 = 0x90;
/// Nothing: those were all names.
const SEND: u8 = 0x91;
/// The next bytes of a file.
const DATA: u8 = 0x93;
/// Nothing: there are no more files.
const END: u8 = 0x94;
/// Nothing: all files are in place.
const CLOSED: u8 = 0x95;
/// The size, the stamp, the hash and the name of the file that follows, or of a folder.
const FILE: u8 = 0x96;

/// Bytes of a file in a frame.
const PIECE: usize = 64 << 10;

/// The longest name in a frame: no system opens longer ones.
const NAME: u64 = 4096;

/// A file that is coming.
struct Coming {
    entry: Entry,
    stamp: Stamp,
    /// Bytes that are still to come.
    left: u64,
    /// None for a folder.
    file: Option<File>,
    hasher: Sha256,
}

/// One side of the exchange of files.
pub struct Exchange<'a> {
    folder: &'a Folder,
    first: bool,
    /// What else may come that was not asked for: entries that the other side has announced.
    given: Option<Due>,
    /// What is asked for, by name.
    wanted: BTreeMap<String, [u8; 32]>,
    /// What the other side may still ask for, names in a list.
    askable: Due,
    outgoing: VecDeque<String>,
    /// The file that is sent, and how many bytes of it are not yet.
    leaving: Option<(File, u64)>,
    coming: Option<Coming>,
    /// Bytes of files that may still be announced.
    room: u64,
    aside: Option<Aside>,
    /// What has come, in the order of its numbers aside.
    came: Vec<(Entry, Stamp)>,
    names: HashSet<String>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Start,
    Asked,
    Sending,
    Receiving,
    Closing,
    Done,
}

impl<'a> Exchange<'a> {
    /// The side that began: it wants some files and gives others.
    pub fn first(folder: &'a Folder, wants: &[Entry], gives: &[Entry]) -> Self {
        let wanted = wants.iter().map(|e| (e.name.clone(), e.hash)).collect();
        let outgoing = gives.iter().map(|e| e.name.clone()).collect();
        Self { first: true, wanted, outgoing, ..Self::new(folder) }
    }

    /// The side that answers. It takes files if it may: as many as the other side has announced, keys and bytes.
    pub fn second(folder: &'a Folder, takes: Option<(u64, u64)>) -> Self {
        let given = takes.map(|(keys, bytes)| Due::new(keys, bytes));
        Self { given, ..Self::new(folder) }
    }

    fn new(folder: &'a Folder) -> Self {
        let (names, bytes) = folder.names();
        Self {
            folder,
            first: false,
            given: None,
            wanted: BTreeMap::new(),
            askable: Due::new(names, bytes),
            outgoing: VecDeque::new(),
            leaving: None,
            coming: None,
            room: 0,
            aside: None,
            came: Vec::new(),
            names: HashSet::new(),
            state: State::Start,
        }
    }

    /// Takes no more bytes of files than these limits say, by what is announced of them.
    #[must_use]
    pub(super) fn taking_at_most(self, limits: &Limits) -> Self {
        Self { room: limits.total, ..self }
    }

    /// Exchanges the files under these limits, and moves those that came into place when all are there: their names.
    pub fn run(self, channel: &mut Channel, limits: Limits) -> Result<Vec<String>> {
        let mut party = Party::new(self.taking_at_most(&limits), limits);
        channel.run_with(&mut party, |role| Ok(role.state == State::Sending))?;
        if party.role.first {
            party.role.put_in_place()?;
        }
        Ok(party.role.came.into_iter().map(|(entry, _)| entry.name).collect())
    }

    /// Moves what came into place; folders get their times when everything is in them.
    fn put_in_place(&mut self) -> Result<()> {
        let mut made = Vec::new();
        for (number, (entry, stamp)) in self.came.iter().enumerate() {
            if !entry.is_folder() {
                let from = self.aside.as_ref().map(|aside| aside.path(number));
                from.map_or(Ok(()), |from| self.folder.put(&entry.name, &from))?;
            } else if self.folder.make(&entry.name)? {
                made.push((&entry.name, *stamp));
            }
        }
        // The innermost first: one that may not be entered comes behind what is in it.
        made.sort_by(|a, b| b.0.cmp(a.0));
        made.into_iter().try_for_each(|(name, stamp)| self.folder.stamp(name, stamp))
    }

    /// Sends the next piece of a file, the next file, or the end.
    fn send(&mut self, out: &mut Outbox) -> Result<()> {
        if let Some((file, left)) = self.leaving.as_mut().filter(|(_, left)| *left > 0) {
            let mut piece = Vec::with_capacity(PIECE);
            file.take((PIECE as u64).min(*left)).read_to_end(&mut piece)?;
            if piece.is_empty() {
                let message = "a file became shorter while it was sent: try again";
                return Err(Error::new(Kind::Io, message));
            }
            *left -= piece.len() as u64;
            return out.frame(DATA, &piece);
        }
        self.leaving = None;
        if let Some(name) = self.outgoing.pop_front() {
            let Outgoing { entry, stamp, size, file } = self.folder.open(&name)?;
            self.leaving = Some((file, size));
            let head = [&size.to_le_bytes()[..], &stamp.to_bytes(), &entry.key()].concat();
            return out.frame(FILE, &head);
        }
        self.state = if self.first { State::Closing } else { State::Receiving };
        out.frame(END, &[])
    }

    fn begin(&mut self, frame: &Frame) -> Result<()> {
        self.complete()?;
        let wrong = || frame.wrong("not a file");
        let (size, rest) = frame.body.split_first_chunk().ok_or_else(wrong)?;
        let (stamp, key) = rest.split_first_chunk().ok_or_else(wrong)?;
        let (size, stamp) = (u64::from_le_bytes(*size), Stamp::parse(stamp).ok_or_else(wrong)?);
        let entry = Entry::of_key(key)?;
        match (self.wanted.remove(&entry.name), &mut self.given) {
            (Some(hash), _) if hash == entry.hash => {}
            (None, Some(due)) if !self.names.contains(&entry.name) => due.take(frame, key)?,
            _ if self.first => return Err(frame.wrong("a file that was not asked for")),
            _ => return Err(not_allowed()),
        }
        if entry.is_folder() && size > 0 {
            return Err(wrong());
        }
        let room = self.room.checked_sub(size).ok_or_else(|| {
            let message =
                format!("{size} bytes, where {} more are taken: {{limit}} takes more", self.room);
            Error::new(Kind::LimitExceeded { what: "total" }, message).context(entry.shown())
        });
        self.room = room?;
        self.folder.free(&entry.name)?;
        let file = if entry.is_folder() {
            None
        } else {
            let aside = match &mut self.aside {
                Some(aside) => aside,
                none => none.insert(self.folder.aside()?),
            };
            Some(File::create(aside.path(self.came.len()))?)
        };
        self.coming = Some(Coming { entry, stamp, left: size, file, hasher: Sha256::new() });
        Ok(())
    }

    fn data(&mut self, frame: &Frame) -> Result<()> {
        let coming = self.coming.as_mut().ok_or_else(|| frame.wrong("bytes of no file"))?;
        let left = coming.left.checked_sub(frame.body.len() as u64);
        coming.left = left.ok_or_else(|| frame.wrong("more bytes than were announced"))?;
        coming.hasher.update(&frame.body);
        coming.file.as_mut().map_or(Ok(()), |file| Ok(file.write_all(&frame.body)?))
    }

    /// Checks the file that came last.
    fn complete(&mut self) -> Result<()> {
        let Some(Coming { entry, stamp, left, file, hasher }) = self.coming.take() else {
            return Ok(());
        };
        if let Some(file) = file {
            if left > 0 || <[u8; 32]>::from(hasher.finalize()) != entry.hash {
                let message = "what came is not what was announced";
                let error = Error::new(Kind::Corrupt { offset: 0 }, message);
                return Err(error.context(entry.shown()));
            }
            stamp.put(&file)?;
            file.sync_all()?;
        }
        self.names.insert(entry.name.clone());
        self.came.push((entry, stamp));
        Ok(())
    }
}

fn not_allowed() -> Error {
    let message = "the other side wants to add files here, and was not allowed to";
    Error::new(Kind::Unsupported, message)
}

impl Role for Exchange<'_> {
    const FRAMES: &'static [u8] = &[WANT, SEND, FILE, DATA, END, CLOSED];

    fn room(&self, head: &Frame) -> Result<u64> {
        match (self.state, head.kind) {
            (State::Start | State::Asked, WANT) if !self.first => Ok(self.askable.room()),
            (State::Start | State::Asked, SEND) if !self.first => Ok(0),
            (State::Receiving, FILE) if self.wanted.is_empty() && self.given.is_none() => {
                Err(if self.first {
                    head.wrong("a file that was not asked for")
                } else {
                    not_allowed()
                })
            }
            (State::Receiving, FILE) => Ok(8 + Stamp::BYTES as u64 + 32 + NAME),
            (State::Receiving, DATA) => {
                let left = self.coming.as_ref().map_or(0, |coming| coming.left);
                Ok(left.min(PIECE as u64))
            }
            (State::Receiving, END) | (State::Closing, CLOSED) => Ok(0),
            _ => Err(head.wrong("out of order")),
        }
    }

    fn speak(&mut self, out: &mut Outbox) -> Result<()> {
        match self.state {
            State::Start if self.first => {
                let mut list = List::default();
                self.wanted.keys().for_each(|name| _ = list.push(name.as_bytes()));
                out.list(WANT, &mut list)?;
                self.state = State::Receiving;
                out.frame(SEND, &[])
            }
            State::Start => {
                self.state = State::Asked;
                Ok(())
            }
            State::Sending => self.send(out),
            _ => Ok(()),
        }
    }

    fn hear(&mut self, frame: Frame, out: &mut Outbox) -> Result<()> {
        match (self.state, frame.kind) {
            (State::Start | State::Asked, WANT) if !self.first => items(&frame, |name| {
                self.askable.take(&frame, name)?;
                let name = str::from_utf8(name).map_err(|_| frame.wrong("not a name"))?;
                self.outgoing.push_back(name.to_owned());
                Ok(())
            }),
            (State::Start | State::Asked, SEND) if !self.first => {
                self.state = State::Sending;
                Ok(())
            }
            (State::Receiving, FILE) => self.begin(&frame),
            (State::Receiving, DATA) => self.data(&frame),
            (State::Receiving, END) => {
                self.complete()?;
                if let Some(name) = self.wanted.keys().next() {
                    return Err(frame.wrong("files are missing").context(shown(name)));
                }
                if self.first {
                    self.state = State::Sending;
                    return Ok(());
                }
                // Whoever gave them hears that it is over when they are safe.
                self.put_in_place()?;
                self.state = State::Done;
                out.frame(CLOSED, &[])
            }
            (State::Closing, CLOSED) => {
                self.state = State::Done;
                Ok(())
            }
            _ => Err(frame.wrong("out of order")),
        }
    }

    fn done(&self) -> bool {
        self.state == State::Done
    }
}
