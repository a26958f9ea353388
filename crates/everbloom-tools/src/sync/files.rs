//! The contents of files, both ways: first those that the side that began wants, then those that it gives.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{Read as _, Write as _};

use everbloom::exchange::{Frame, List, Outbox, Party, Role, items};
use everbloom::{Error, Kind, Result};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::{Entry, Folder, LIMITS};
use crate::wire::Channel;

/// A list of names.
const WANT: u8 = 0x90;
/// Nothing: those were all names.
const SEND: u8 = 0x91;
/// The hash and the name of the file that follows.
const FILE: u8 = 0x92;
/// The next bytes of it.
const DATA: u8 = 0x93;
/// Nothing: there are no more files.
const END: u8 = 0x94;
/// Nothing: all files have come, and are what they should be.
const CLOSED: u8 = 0x95;

/// Bytes of a file in a frame.
const PIECE: usize = 64 << 10;

/// A file that is coming.
struct Coming {
    entry: Entry,
    file: File,
    hasher: Sha256,
}

/// One side of the exchange of files.
pub struct Exchange<'a> {
    folder: &'a Folder,
    first: bool,
    /// Whether files are taken that were not asked for.
    takes: bool,
    /// What is asked for, by name.
    wanted: BTreeMap<String, [u8; 32]>,
    outgoing: VecDeque<String>,
    leaving: Option<File>,
    coming: Option<Coming>,
    aside: TempDir,
    /// What has come, in the order of its numbers aside.
    came: Vec<String>,
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
    pub fn first(folder: &'a Folder, wants: &[Entry], gives: &[Entry]) -> Result<Self> {
        let wanted = wants.iter().map(|e| (e.name.clone(), e.hash)).collect();
        let outgoing = gives.iter().map(|e| e.name.clone()).collect();
        Self::new(folder, true, wanted, outgoing)
    }

    /// The side that answers, and takes files if it may.
    pub fn second(folder: &'a Folder, takes: bool) -> Result<Self> {
        let second = Self::new(folder, false, BTreeMap::new(), VecDeque::new())?;
        Ok(Self { takes, ..second })
    }

    fn new(
        folder: &'a Folder,
        first: bool,
        wanted: BTreeMap<String, [u8; 32]>,
        outgoing: VecDeque<String>,
    ) -> Result<Self> {
        Ok(Self {
            folder,
            first,
            takes: false,
            wanted,
            outgoing,
            leaving: None,
            coming: None,
            aside: folder.aside()?,
            came: Vec::new(),
            state: State::Start,
        })
    }

    /// Exchanges the files, and moves those that came into place when all are there: their names.
    pub fn run(self, channel: &mut Channel) -> Result<Vec<String>> {
        let mut party = Party::new(self, LIMITS);
        channel.run_with(&mut party, |role| Ok(role.state == State::Sending))?;
        let Self { folder, aside, came, .. } = party.role;
        for (number, name) in came.iter().enumerate() {
            folder.put(name, &aside.path().join(number.to_string()))?;
        }
        Ok(came)
    }

    /// Sends the next piece of a file, the next file, or the end.
    fn send(&mut self, out: &mut Outbox) -> Result<()> {
        if let Some(file) = &mut self.leaving {
            let mut piece = Vec::with_capacity(PIECE);
            file.take(PIECE as u64).read_to_end(&mut piece)?;
            if !piece.is_empty() {
                return out.frame(DATA, &piece);
            }
            self.leaving = None;
        }
        if let Some(name) = self.outgoing.pop_front() {
            let (entry, file) = self.folder.open(&name)?;
            self.leaving = Some(file);
            return out.frame(FILE, &[&entry.hash[..], entry.name.as_bytes()].concat());
        }
        self.state = if self.first { State::Closing } else { State::Receiving };
        out.frame(END, &[])
    }

    fn begin(&mut self, frame: &Frame) -> Result<()> {
        self.complete()?;
        let entry = Entry::of_key(&frame.body)?;
        match self.wanted.remove(&entry.name) {
            Some(hash) if hash == entry.hash => {}
            None if self.takes && !self.came.contains(&entry.name) => {}
            _ if self.first => return Err(frame.wrong("a file that was not asked for")),
            _ => {
                let message = "the other side wants to add files here, and was not allowed to";
                return Err(Error::new(Kind::Unsupported, message));
            }
        }
        self.folder.free(&entry.name)?;
        let file = File::create(self.aside.path().join(self.came.len().to_string()))?;
        self.coming = Some(Coming { entry, file, hasher: Sha256::new() });
        Ok(())
    }

    /// Checks the file that came last.
    fn complete(&mut self) -> Result<()> {
        let Some(Coming { entry, file, hasher }) = self.coming.take() else { return Ok(()) };
        if <[u8; 32]>::from(hasher.finalize()) != entry.hash {
            let message = format!("{}: what came is not what was announced", entry.name);
            return Err(Error::new(Kind::Corrupt { offset: 0 }, message));
        }
        file.sync_all()?;
        self.came.push(entry.name);
        Ok(())
    }
}

impl Role for Exchange<'_> {
    const FRAMES: &'static [u8] = &[WANT, SEND, FILE, DATA, END, CLOSED];

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
                let name = str::from_utf8(name).map_err(|_| frame.wrong("not a name"))?;
                self.outgoing.push_back(name.to_owned());
                Ok(())
            }),
            (State::Start | State::Asked, SEND) if !self.first => {
                self.state = State::Sending;
                Ok(())
            }
            (State::Receiving, FILE) => self.begin(&frame),
            (State::Receiving, DATA) => {
                let coming = self.coming.as_mut();
                let coming = coming.ok_or_else(|| frame.wrong("bytes of no file"))?;
                coming.hasher.update(&frame.body);
                Ok(coming.file.write_all(&frame.body)?)
            }
            (State::Receiving, END) => {
                self.complete()?;
                if !self.wanted.is_empty() {
                    return Err(frame.wrong("files are missing"));
                }
                if self.first {
                    self.state = State::Sending;
                    return Ok(());
                }
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
