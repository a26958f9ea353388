//! The state tree: named fields in the parameter section, word arrays in the payload.
//!
//! A field is a tag, a name and a value; groups and lists carry their length in bytes, so a reader
//! that knows nothing of a variant can still print its tree. Arrays stand in the tree as lengths only;
//! their words follow each other in the payload, each starting on a 64-byte boundary.

use std::any::Any;
use std::borrow::Cow;

use super::State;
use super::outline::outline;
use super::tag::Tag;
use crate::error::{Error, Kind, Result};
use crate::memory::{HUGE_FROM, Mapping, Words, check_room};

/// What an array is for, in the memory report.
#[allow(unnameable_types, reason = "part of a sealed trait")]
#[derive(Clone, Copy, Debug)]
pub enum Role {
    /// The filter's cells, this many bits without padding.
    Cells {
        /// Bits that carry information.
        bits: u64,
    },
    /// Everything that helps: directories, dictionaries, offsets.
    Auxiliary,
}

/// Bits a filter occupies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Memory {
    /// Bits of cells, padding not counted.
    pub cells: u64,
    /// Bits of everything else: scalars, dictionaries, padding.
    pub auxiliary: u64,
}

impl Memory {
    /// Cells and auxiliary bits together.
    pub fn total(&self) -> u64 {
        self.cells + self.auxiliary
    }
}

/// Collects a filter's tree, and borrows its arrays.
#[allow(unnameable_types, reason = "part of a sealed trait")]
#[derive(Default)]
pub struct Encoder<'a> {
    pub(crate) tree: Vec<u8>,
    pub(crate) arrays: Vec<Cow<'a, [u64]>>,
    memory: Memory,
    /// Only the memory is asked for, so that arrays need not be coded.
    measuring: bool,
    /// Arrays large enough for huge pages, and those of them that have some.
    large: u64,
    huge: u64,
}

impl<'a> Encoder<'a> {
    /// An encoder for [`Encoder::memory`] alone, which codes no array.
    pub(crate) fn measuring() -> Self {
        Self { measuring: true, ..Self::default() }
    }

    fn field(&mut self, tag: Tag, name: &'static str) {
        debug_assert!(name.len() < 256);
        self.tree.push(tag as u8);
        self.tree.push(name.len() as u8);
        self.tree.extend_from_slice(name.as_bytes());
    }

    fn scalar(&mut self, tag: Tag, name: &'static str, bits: u64) {
        self.field(tag, name);
        self.tree.extend_from_slice(&bits.to_le_bytes());
        self.memory.auxiliary += 64;
    }

    /// Writes a number.
    pub fn u64(&mut self, name: &'static str, value: u64) {
        self.scalar(Tag::U64, name, value);
    }

    /// Writes a real number, bit for bit.
    pub fn f64(&mut self, name: &'static str, value: f64) {
        self.scalar(Tag::F64, name, value.to_bits());
    }

    /// Writes a short byte string.
    pub fn bytes(&mut self, name: &'static str, value: &[u8]) {
        self.field(Tag::Bytes, name);
        self.length(value.len());
        self.tree.extend_from_slice(value);
        self.memory.auxiliary += 8 * value.len() as u64;
    }

    /// Writes an array of `len` elements held in `words`.
    pub fn array(&mut self, name: &'static str, role: Role, len: u64, words: &'a Words) {
        self.stored(name, len, Cow::Borrowed(words));
        self.held(role, words.len());
        self.large += u64::from(words.len() * 8 >= HUGE_FROM);
        self.huge += u64::from(words.huge());
    }

    /// Writes an array of `held` words as what `code` makes of it: in memory it is the array, in the file
    /// the code, of which `len` elements count.
    pub fn coded(
        &mut self,
        name: &'static str,
        role: Role,
        held: usize,
        code: impl FnOnce() -> (u64, Vec<u64>),
    ) {
        let (len, words) = if self.measuring { (0, Vec::new()) } else { code() };
        self.stored(name, len, Cow::Owned(words));
        self.held(role, held);
    }

    fn stored(&mut self, name: &'static str, len: u64, words: Cow<'a, [u64]>) {
        self.field(Tag::Array, name);
        self.tree.extend_from_slice(&len.to_le_bytes());
        self.tree.extend_from_slice(&(words.len() as u64).to_le_bytes());
        self.arrays.push(words);
    }

    fn held(&mut self, role: Role, words: usize) {
        let cells = match role {
            Role::Cells { bits } => bits,
            Role::Auxiliary => 0,
        };
        self.memory.cells += cells;
        self.memory.auxiliary += 64 * words as u64 - cells;
    }

    /// Writes the fields that `write` adds as one group.
    pub fn group(&mut self, name: &'static str, write: impl FnOnce(&mut Self)) {
        let at = self.begin(Tag::Group, name, None);
        write(self);
        self.end(at);
    }

    /// Writes a sequence of parts.
    pub fn list<T: State>(&mut self, name: &'static str, parts: &'a [T]) {
        let at = self.begin(Tag::List, name, Some(parts.len()));
        for part in parts {
            part.save("", self);
        }
        self.end(at);
    }

    /// Begins a field whose length in bytes is not known yet; says where it will stand.
    fn begin(&mut self, tag: Tag, name: &'static str, count: Option<usize>) -> usize {
        self.field(tag, name);
        count.into_iter().for_each(|count| self.length(count));
        let at = self.tree.len();
        self.length(0);
        at
    }

    /// Writes the length of what was added since [`Encoder::begin`].
    fn end(&mut self, at: usize) {
        let len = (self.tree.len() - at - 4) as u32;
        self.tree[at..at + 4].copy_from_slice(&len.to_le_bytes());
    }

    fn length(&mut self, len: usize) {
        // Trees are parameters, not data: a dictionary of 4 GiB would have to be an array.
        debug_assert!(len <= u32::MAX as usize);
        self.tree.extend_from_slice(&(len as u32).to_le_bytes());
    }

    /// Names and kinds of the fields that were written, in order.
    pub fn outline(&self) -> String {
        outline(&self.tree)
    }

    /// The memory of what was written.
    pub fn memory(&self) -> Memory {
        self.memory
    }

    /// Whether all arrays that are large enough for huge pages have them, and there is one.
    pub fn huge_pages(&self) -> bool {
        self.large > 0 && self.huge == self.large
    }
}

/// Where a decoder finds the words of arrays.
#[derive(Clone, Copy)]
pub(crate) enum Payload<'a> {
    /// Bytes to copy from.
    Bytes(&'a [u8]),
    /// A privately mapped file and the payload's offset in it.
    Map(&'a Mapping, usize),
}

/// What the floors above hand a decoder for their own use; the tree passes it on unopened.
pub(crate) type Context = Box<dyn Any>;

/// The error of what would expand beyond a limit.
pub(crate) fn too_large(bytes: u64, limit: u64) -> Error {
    Error::new(
        Kind::LimitExceeded { what: "expanded" },
        format!(
            "the filter expands to {bytes} bytes, more than the limit of {limit} or the memory of this machine: \
            raise the {{limit}} if you trust the file"
        ),
    )
}

/// Reads a tree back. Every read names the field it expects; anything else is corruption.
#[allow(unnameable_types, reason = "part of a sealed trait")]
pub struct Decoder<'a> {
    tree: &'a [u8],
    at: usize,
    /// Offset of the tree in the file, for messages.
    base: u64,
    payload: Payload<'a>,
    payload_len: usize,
    payload_at: usize,
    /// Bytes that coded arrays may still grow to.
    expanded: u64,
    context: Context,
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(
        tree: &'a [u8],
        base: u64,
        payload: Payload<'a>,
        payload_len: usize,
        expanded: u64,
        context: Context,
    ) -> Self {
        Self { tree, at: 0, base, payload, payload_len, payload_at: 0, expanded, context }
    }

    /// What was handed over with the tree.
    pub(crate) fn context(&mut self) -> &mut dyn Any {
        &mut *self.context
    }

    /// Puts another context in place of the one there is, which is returned.
    pub(crate) fn swap_context(&mut self, context: Context) -> Context {
        std::mem::replace(&mut self.context, context)
    }

    /// An error at the place that was read last.
    pub fn corrupt(&self, message: impl Into<String>) -> Error {
        Error::corrupt(self.base + self.at as u64, format!("corrupt filter: {}", message.into()))
    }

    /// An error for something a newer build may know.
    pub fn unsupported(&self, what: impl std::fmt::Display) -> Error {
        let message =
            format!("the file uses {what}, which this build does not support: update everbloom");
        Error::new(Kind::UnsupportedFeature, message)
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(len).filter(|&end| end <= self.tree.len());
        let end = end.ok_or_else(|| self.corrupt("the state tree ends early"))?;
        let bytes = &self.tree[self.at..end];
        self.at = end;
        Ok(bytes)
    }

    fn word(&mut self) -> Result<u64> {
        let bytes = self.take(8)?;
        Ok(u64::from_le_bytes(bytes.try_into().unwrap_or_default()))
    }

    fn length(&mut self) -> Result<usize> {
        let bytes = self.take(4)?;
        Ok(u32::from_le_bytes(bytes.try_into().unwrap_or_default()) as usize)
    }

    fn field(&mut self, tag: Tag, name: &'static str) -> Result<()> {
        let head = self.take(2)?;
        let (found_tag, len) = (head[0], usize::from(head[1]));
        let found = self.take(len)?;
        if found_tag == tag as u8 && found == name.as_bytes() {
            Ok(())
        } else {
            let found = String::from_utf8_lossy(found).into_owned();
            Err(self.corrupt(format!("expected field {name:?}, found {found:?}")))
        }
    }

    /// Reads a number.
    pub fn u64(&mut self, name: &'static str) -> Result<u64> {
        self.field(Tag::U64, name)?;
        self.word()
    }

    /// Reads a number that is not zero.
    pub fn positive(&mut self, name: &'static str) -> Result<u64> {
        match self.u64(name)? {
            0 => Err(self.corrupt(format!("{name} is zero"))),
            value => Ok(value),
        }
    }

    /// Reads a real number, bit for bit.
    pub fn f64(&mut self, name: &'static str) -> Result<f64> {
        self.field(Tag::F64, name)?;
        self.word().map(f64::from_bits)
    }

    /// Reads a short byte string.
    pub fn bytes(&mut self, name: &'static str) -> Result<&'a [u8]> {
        self.field(Tag::Bytes, name)?;
        let len = self.length()?;
        self.take(len)
    }

    /// Reads an array: its number of elements, and its words.
    pub fn array(&mut self, name: &'static str) -> Result<(u64, Words)> {
        self.field(Tag::Array, name)?;
        let (len, words) = (self.word()?, self.word()?);
        let bytes = usize::try_from(words).ok().and_then(|w| w.checked_mul(8));
        let end = bytes.and_then(|b| self.payload_at.checked_add(b));
        let (Some(bytes), Some(end)) = (bytes, end.filter(|&e| e <= self.payload_len)) else {
            return Err(self.corrupt(format!("{name}: {words} words do not fit the payload")));
        };
        let start = self.payload_at;
        // The payload is whole lines, so that the gap is there.
        self.payload_at = end.next_multiple_of(64);
        let gap = match self.payload {
            Payload::Bytes(all) => &all[end..self.payload_at],
            Payload::Map(map, base) => &map.bytes()[base + end..base + self.payload_at],
        };
        if gap.iter().any(|byte| *byte != 0) {
            return Err(self.corrupt(format!("the gap behind {name} is not zero")));
        }
        let words = match self.payload {
            Payload::Bytes(all) => Words::from_le_bytes(&all[start..end]),
            // SAFETY: the mapping is private to this decoder, arrays lie one behind the other, and what a
            // decoder reads beside them is the tree.
            #[allow(unsafe_code)]
            Payload::Map(map, base) => unsafe { Words::in_file(map, base + start, bytes / 8) },
        };
        Ok((len, words))
    }

    /// Asks for room for the `bits` bits that a coded array declares, before it is decoded: within
    /// [`Limits::expanded`](super::Limits), over all coded arrays of a file.
    pub fn expand(&mut self, bits: u64) -> Result<()> {
        let left = self.expanded.checked_sub(bits.div_ceil(8));
        let Some(left) = left.filter(|_| check_room(bits).is_ok()) else {
            return Err(too_large(bits.div_ceil(8), self.expanded));
        };
        self.expanded = left;
        Ok(())
    }

    /// Reads a group whose fields `read` takes, all of them.
    pub fn group<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let end = self.begin(Tag::Group, name)?;
        let value = read(self)?;
        self.end(name, end)?;
        Ok(value)
    }

    /// Reads a sequence of parts.
    pub fn list<T: State>(&mut self, name: &'static str) -> Result<Vec<T>> {
        let (count, end) = self.begin_list(name)?;
        // Nothing is reserved, so a lying count ends at the first part that is not there.
        let mut parts = Vec::new();
        for _ in 0..count {
            parts.push(T::load("", self)?);
        }
        self.end(name, end)?;
        Ok(parts)
    }

    /// Begins to read a field that carries its length; says where it ends.
    fn begin(&mut self, tag: Tag, name: &'static str) -> Result<usize> {
        self.field(tag, name)?;
        self.sized(name)
    }

    /// Begins to read a list; says how many parts it has, and where it ends.
    fn begin_list(&mut self, name: &'static str) -> Result<(usize, usize)> {
        self.field(Tag::List, name)?;
        Ok((self.length()?, self.sized(name)?))
    }

    fn sized(&mut self, name: &'static str) -> Result<usize> {
        let len = self.length()?;
        let end = self.at.checked_add(len).filter(|&end| end <= self.tree.len());
        end.ok_or_else(|| self.corrupt(format!("{name} ends early")))
    }

    /// Refuses a field that was not read to its end.
    fn end(&self, name: &'static str, end: usize) -> Result<()> {
        if self.at == end {
            return Ok(());
        }
        let message = format!("{name} ends at byte {end} of the tree, its fields at {}", self.at);
        Err(self.corrupt(message))
    }

    /// Checks that tree and payload were used up.
    pub(crate) fn finish(self) -> Result<()> {
        if self.at != self.tree.len() {
            return Err(self.corrupt("bytes follow the state tree"));
        }
        if self.payload_at != self.payload_len {
            return Err(self.corrupt("the payload is longer than the arrays in it"));
        }
        Ok(())
    }
}
