//! As much of the Thrift compact protocol as a Parquet footer needs.

use everbloom::Result;

use crate::read::Reader;

/// How a value is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Type(u8);

const STOP: u8 = 0;
const BOOLEANS: [u8; 2] = [1, 2];
const BYTE: u8 = 3;
const INTEGERS: [u8; 3] = [4, 5, 6];
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LISTS: [u8; 2] = [9, 10];
const MAP: u8 = 11;
const STRUCT: u8 = 12;

/// Structures inside structures: no deeper, since reading recurses.
const DEEPEST: u32 = 24;

/// Values, one after the other.
#[derive(Clone, Copy)]
pub(super) struct Thrift<'a> {
    pub(super) src: Reader<'a>,
    depth: u32,
}

impl<'a> Thrift<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { src: Reader::new(bytes), depth: 0 }
    }

    fn zigzag(&mut self) -> Result<i64> {
        let value = self.src.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// The integer that a field of type `of` holds.
    pub(super) fn integer(&mut self, of: Type) -> Result<i64> {
        if INTEGERS.contains(&of.0) {
            return self.zigzag();
        }
        Err(self.src.corrupt("a field that should be an integer is not"))
    }

    /// The bytes that a field of type `of` holds.
    pub(super) fn binary(&mut self, of: Type) -> Result<&'a [u8]> {
        if of.0 != BINARY {
            return Err(self.src.corrupt("a field that should be a string is not"));
        }
        let len = self.src.varint()?;
        self.src.take(len)
    }

    /// Calls `f` with the type of every element of the list that a field of type `of` holds; `f` reads the element.
    pub(super) fn list(
        &mut self,
        of: Type,
        mut f: impl FnMut(&mut Self, Type) -> Result<()>,
    ) -> Result<()> {
        if !LISTS.contains(&of.0) {
            return Err(self.src.corrupt("a field that should be a list is not"));
        }
        let head = self.src.u8()?;
        let len = if head >> 4 == 15 { self.src.varint()? } else { u64::from(head >> 4) };
        for _ in 0..len {
            // An element has a byte at least, so that a long list of nothing ends here.
            if self.src.len() == 0 {
                return Err(self.src.corrupt("a list is longer than the file"));
            }
            f(self, Type(head & 15))?;
        }
        Ok(())
    }

    /// Calls `f` with the number and type of every field of the structure that a field of type `of` holds; `f` reads
    /// the field, or passes it to [`Thrift::skip`].
    pub(super) fn fields(
        &mut self,
        of: Type,
        mut f: impl FnMut(&mut Self, i64, Type) -> Result<()>,
    ) -> Result<()> {
        if of.0 != STRUCT {
            return Err(self.src.corrupt("a field that should be a structure is not"));
        }
        if self.depth == DEEPEST {
            return Err(self.src.corrupt("structures inside structures, without an end"));
        }
        self.depth += 1;
        let mut id = 0i64;
        loop {
            let head = self.src.u8()?;
            if head == STOP {
                self.depth -= 1;
                return Ok(());
            }
            let step = i64::from(head >> 4);
            id = if step == 0 { self.zigzag()? } else { id.saturating_add(step) };
            f(self, id, Type(head & 15))?;
        }
    }

    /// [`Thrift::fields`] of the structure that the bytes begin with.
    pub(super) fn root(&mut self, f: impl FnMut(&mut Self, i64, Type) -> Result<()>) -> Result<()> {
        self.fields(Type(STRUCT), f)
    }

    /// Goes over a value that nobody wants.
    pub(super) fn skip(&mut self, of: Type) -> Result<()> {
        match of.0 {
            // In a structure the type is the value; in a list it is a byte.
            kind if BOOLEANS.contains(&kind) => Ok(()),
            BYTE => self.src.u8().map(drop),
            kind if INTEGERS.contains(&kind) => self.src.varint().map(drop),
            DOUBLE => self.src.take(8).map(drop),
            BINARY => self.binary(of).map(drop),
            kind if LISTS.contains(&kind) => self.skip_list(of),
            STRUCT => self.fields(of, |thrift, _, of| thrift.skip(of)),
            // A footer has no maps.
            MAP => Err(self.src.corrupt("a map in a footer")),
            _ => Err(self.src.corrupt("a type that does not exist")),
        }
    }

    fn skip_list(&mut self, of: Type) -> Result<()> {
        if self.depth == DEEPEST {
            return Err(self.src.corrupt("lists inside lists, without an end"));
        }
        self.depth += 1;
        self.list(of, |thrift, of| match of.0 {
            kind if BOOLEANS.contains(&kind) => thrift.src.u8().map(drop),
            _ => thrift.skip(of),
        })?;
        self.depth -= 1;
        Ok(())
    }
}
