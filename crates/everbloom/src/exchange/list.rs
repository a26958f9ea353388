//! Lists of byte strings in frames: each preceded by its length, seven bits a byte, low bits first.

use crate::error::Result;

use super::Frame;

/// A body is full from here on. One that holds a single long item is as long as that.
const PIECE: usize = 64 << 10;

/// Byte strings gathered into bodies of frames.
#[derive(Clone, Debug, Default)]
pub struct List {
    bodies: Vec<Vec<u8>>,
}

impl List {
    /// Appends an item; whether a body is full, and worth sending.
    pub fn push(&mut self, item: &[u8]) -> bool {
        self.push_all(&[item])
    }

    /// Appends items that stay in one body.
    pub fn push_all(&mut self, items: &[&[u8]]) -> bool {
        let body = self.open();
        items.iter().for_each(|item| append(body, item));
        self.is_full()
    }

    /// Appends the items of a text that [`append`] wrote: the bodies are those of [`List::push`], item by item.
    pub(super) fn push_list(&mut self, mut text: &[u8]) -> bool {
        while !text.is_empty() {
            let body = self.open();
            let (items, rest) = text.split_at(until_full(text, PIECE - body.len()));
            body.extend_from_slice(items);
            text = rest;
        }
        self.is_full()
    }

    /// The body that takes the next item.
    fn open(&mut self) -> &mut Vec<u8> {
        if self.bodies.last().is_none_or(|body| body.len() >= PIECE) {
            self.bodies.push(Vec::new());
        }
        let last = self.bodies.len() - 1;
        &mut self.bodies[last]
    }

    fn is_full(&self) -> bool {
        self.bodies.first().is_some_and(|body| body.len() >= PIECE)
    }

    /// The bodies that are full. What is not waits for further items, so that bodies do not depend on when this is asked.
    pub(super) fn take_full(&mut self) -> Vec<Vec<u8>> {
        let open = self.bodies.pop_if(|body| body.len() < PIECE);
        std::mem::replace(&mut self.bodies, open.into_iter().collect())
    }

    /// The bodies so far; the list is empty again.
    pub fn take(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.bodies)
    }
}

/// Bytes of the first items of a text that fill so much room.
fn until_full(text: &[u8], room: usize) -> usize {
    let mut bytes = 0;
    while bytes < room
        && let Some((_, rest)) = split(&text[bytes..])
    {
        bytes = text.len() - rest.len();
    }
    if bytes < room { text.len() } else { bytes }
}

/// Calls `f` with the items of a frame's body, in order.
pub fn items<'a>(frame: &'a Frame, mut f: impl FnMut(&'a [u8]) -> Result<()>) -> Result<()> {
    let mut rest = frame.body.as_slice();
    while !rest.is_empty() {
        let (item, behind) = split(rest).ok_or_else(|| frame.wrong("a list that is cut off"))?;
        f(item)?;
        rest = behind;
    }
    Ok(())
}

/// What a peer may still send of the items that it has announced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Due {
    items: u64,
    bytes: u64,
}

impl Due {
    /// So many items, and so many bytes of all of them, a line each.
    pub fn new(items: u64, bytes: u64) -> Self {
        Self { items, bytes }
    }

    /// The longest body that a list of them may have: the length before an item takes one byte, like the end of a
    /// line, or up to four more.
    pub fn room(&self) -> u64 {
        self.bytes.saturating_add(self.items.saturating_mul(4))
    }

    /// Counts an item of a frame: an error if none so long is due.
    pub fn take(&mut self, frame: &Frame, item: &[u8]) -> Result<()> {
        let left = (self.items.checked_sub(1), self.bytes.checked_sub(item.len() as u64 + 1));
        let (Some(items), Some(bytes)) = left else {
            return Err(frame.wrong("more than was announced"));
        };
        *self = Self { items, bytes };
        Ok(())
    }
}

/// Appends an item and its length before it.
pub(super) fn append(body: &mut Vec<u8>, item: &[u8]) {
    let mut length = item.len();
    while length >= 0x80 {
        body.push(length as u8 | 0x80);
        length >>= 7;
    }
    body.push(length as u8);
    body.extend_from_slice(item);
}

/// The items of a text that [`append`] wrote.
pub(super) fn items_of(mut text: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (item, behind) = split(text)?;
        text = behind;
        Some(item)
    })
}

/// The first item, and what is behind it.
pub(super) fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut length = 0u64;
    // Five bytes hold the length of any frame.
    for (i, &byte) in bytes.iter().enumerate().take(5) {
        length |= u64::from(byte & 0x7F) << (7 * i);
        if byte < 0x80 {
            return bytes[i + 1..].split_at_checked(usize::try_from(length).ok()?);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &[u8]) -> Result<Vec<Vec<u8>>> {
        let frame = Frame { kind: 0x10, body: body.to_vec(), at: 0 };
        let mut out = Vec::new();
        items(&frame, |item| {
            out.push(item.to_vec());
            Ok(())
        })?;
        Ok(out)
    }

    #[test]
    fn items_come_out_as_they_went_in() {
        let sent: Vec<Vec<u8>> =
            [0, 1, 127, 128, 0, 16_383, 16_384, 70_000, 3].map(|length| vec![9; length]).into();
        let mut list = List::default();
        let full: Vec<bool> = sent.iter().map(|item| list.push(item)).collect();
        let bodies = list.take();
        assert_eq!(full, [false, false, false, false, false, false, false, true, true]);
        assert_eq!(bodies.len(), 2, "the last item begins a new body");
        let got: Vec<_> = bodies.iter().flat_map(|body| read(body).expect("a list")).collect();
        assert_eq!(got, sent);
        assert!(list.take().is_empty());
    }

    #[test]
    fn bodies_that_are_not_full_wait() {
        let mut list = List::default();
        assert!(!list.push(b"few") && list.take_full().is_empty());
        assert!(list.push(&vec![1; PIECE]) && list.push(b"more"));
        assert_eq!(list.take_full(), [[&b"\x03few\x80\x80\x04"[..], &[1; PIECE]].concat()]);
        assert!(list.take_full().is_empty() && !list.push(b""));
        assert_eq!(list.take(), [b"\x04more\0"]);
    }

    #[test]
    fn items_of_a_text_fill_bodies_as_one_by_one() {
        let lengths = (0..30_000usize).map(|i| i * i % 37 + usize::from(i == 9000) * 3 * PIECE);
        let (mut one, mut all) = (List::default(), List::default());
        let mut text = Vec::new();
        for (i, length) in lengths.enumerate() {
            let full = one.push(&vec![1; length]);
            append(&mut text, &vec![1; length]);
            // Texts of any length, some of them empty.
            if i % 1000 == 0 {
                assert_eq!(all.push_list(&text), full, "{i}");
                text.clear();
                all.push_list(&text);
            }
        }
        all.push_list(&text);
        let bodies = all.take();
        assert!(bodies.len() > 5 && bodies == one.take());
    }

    #[test]
    fn no_more_is_taken_than_was_announced() {
        let frame = Frame { kind: 0x10, body: Vec::new(), at: 0 };
        let items: Vec<Vec<u8>> = [0, 127, 128, 16_384, 2_097_152].map(|n| vec![1; n]).into();
        let bytes = items.iter().map(|item| item.len() as u64 + 1).sum();
        let mut list = List::default();
        items.iter().for_each(|item| _ = list.push(item));
        let sent: usize = list.take().iter().map(Vec::len).sum();
        let mut due = Due::new(5, bytes);
        assert!(sent as u64 <= due.room());
        assert!(items.iter().all(|item| due.take(&frame, item).is_ok()));
        assert_eq!(due, Due::default());
        assert!(due.take(&frame, b"").is_err());
        assert!(Due::new(1, 3).take(&frame, b"abc").is_err(), "longer than announced");
        assert!(Due::new(0, 300).take(&frame, b"abc").is_err(), "one too many");
        assert_eq!(Due::new(u64::MAX, u64::MAX).room(), u64::MAX);
    }

    #[test]
    fn lists_that_are_cut_off_are_errors() {
        assert_eq!(read(&[]).expect("empty"), Vec::<Vec<u8>>::new());
        for body in
            [&[1][..], &[0x80], &[2, 7], &[0, 5], &[0xFF; 9], &[0x80, 0x80, 0x80, 0x80, 0x80, 0]]
        {
            assert!(read(body).is_err(), "{body:?}");
        }
    }
}
