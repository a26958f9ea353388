//! Frames: what the bytes between two parties are cut into.
//!
//! ```text
//!   │ type: 1 byte │ length: 4 bytes, little-endian │ body: length bytes │
//! ```
//!
//! Types are permanent and append-only: 0x00 tells that a side has failed, 0x01 to 0x0F are greetings, then sixteen for
//! each exchange: 0x10 to 0x1F reconciliation, 0x20 to
//! 0x2F join, 0x30 to 0x3F search, 0x40 to 0x4F private queries, 0x50 to 0x5F encrypted filters, 0x60 to 0x6F rateless
//! reconciliation, 0x70 to 0x7F reconciliation trees. A changed body is a new type, so a peer of another version is noticed by its first frame.

use super::Limits;
use crate::error::{Error, Kind, Result};

/// The type that is part of every exchange: the other side has failed, and says why.
pub const FAILED: u8 = 0x00;
/// The longest reason that is read.
const REASON: usize = 1000;

/// Bytes before the body.
pub const HEADER: usize = 5;

/// One frame, received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its type.
    pub kind: u8,
    /// Its body.
    pub body: Vec<u8>,
    /// Where it begins among all bytes received, for errors.
    pub at: u64,
}

impl Frame {
    /// Appends a frame to `out`, unless its body is longer than the limits allow.
    pub fn write(out: &mut Vec<u8>, kind: u8, body: &[u8], limits: &Limits) -> Result<()> {
        let fits = u32::try_from(body.len()).ok().filter(|length| *length <= limits.frame);
        let length = fits.ok_or_else(|| too_long(body.len() as u64, limits))?;
        out.push(kind);
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(body);
        Ok(())
    }

    /// The frame that reports an error to the peer.
    pub fn failed(error: &Error) -> Vec<u8> {
        let reason: String = error.to_string().chars().take(REASON / 4).collect();
        let mut out = vec![FAILED];
        out.extend_from_slice(&(reason.len() as u32).to_le_bytes());
        out.extend_from_slice(reason.as_bytes());
        out
    }

    /// The error of a frame that says what no honest peer would.
    pub fn wrong(&self, what: &str) -> Error {
        Error::corrupt(self.at, format!("frame {:#04x} at byte {}: {what}", self.kind, self.at))
    }

    /// The body as one number.
    pub fn number(&self) -> Result<u64> {
        let bytes = self.body.as_slice().try_into();
        bytes.map(u64::from_le_bytes).map_err(|_| self.wrong("its body is not one number"))
    }

    /// Refuses a body, where the kind says it all.
    pub fn bare(&self) -> Result<()> {
        if self.body.is_empty() { Ok(()) } else { Err(self.wrong("an end with a body")) }
    }
}

fn too_long(length: u64, limits: &Limits) -> Error {
    Error::new(
        Kind::LimitExceeded { what: "frame" },
        format!("a frame of {length} bytes, longer than the limit of {}", limits.frame),
    )
}

/// The other side's reason, without what would move a terminal's cursor.
fn reason(body: &[u8]) -> Error {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let text: String = String::from_utf8_lossy(body).chars().map(plain).collect();
    Error::new(Kind::Unsupported, format!("the other side says: {text}"))
}

/// Cuts received bytes into frames. Type and length are checked as soon as they arrive; a body is held as it comes.
#[derive(Clone, Debug)]
pub struct Reader {
    known: &'static [u8],
    limits: Limits,
    /// Bytes that came and are in no frame yet.
    buffer: Vec<u8>,
    /// Bytes of the buffer that were cut, and of those before the buffer.
    taken: usize,
    before: u64,
    /// A frame whose body is not complete, and the length of that.
    coming: Option<(Frame, usize)>,
}

impl Reader {
    /// A reader of frames of the types `known`.
    pub fn new(known: &'static [u8], limits: Limits) -> Self {
        Self { known, limits, buffer: Vec::new(), taken: 0, before: 0, coming: None }
    }

    /// Takes further bytes; [`Reader::frame`] gives the frames they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.buffer.drain(..self.taken);
        self.before += self.taken as u64;
        self.taken = 0;
        let total = self.before + self.buffer.len() as u64 + bytes.len() as u64;
        if total > self.limits.total {
            return Err(Error::new(
                Kind::LimitExceeded { what: "total" },
                format!(
                    "the other side sends more than {} bytes: {{limit}} takes more",
                    self.limits.total
                ),
            ));
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// The next frame, if all of it has come. `room` is told the type, before there is a body: it says how long the
    /// body may be, or refuses the frame.
    pub fn frame(&mut self, room: impl FnOnce(&Frame) -> Result<u64>) -> Result<Option<Frame>> {
        let Some((mut frame, length)) = self.begun(room)? else { return Ok(None) };
        let waiting = &self.buffer[self.taken..];
        let more = waiting.len().min(length - frame.body.len());
        frame.body.extend_from_slice(&waiting[..more]);
        self.taken += more;
        if frame.body.len() < length {
            self.coming = Some((frame, length));
            return Ok(None);
        }
        if frame.kind == FAILED { Err(reason(&frame.body)) } else { Ok(Some(frame)) }
    }

    /// The frame whose body comes next, and the length of that.
    fn begun(
        &mut self,
        room: impl FnOnce(&Frame) -> Result<u64>,
    ) -> Result<Option<(Frame, usize)>> {
        if let Some(coming) = self.coming.take() {
            return Ok(Some(coming));
        }
        let waiting = &self.buffer[self.taken..];
        let at = self.before + self.taken as u64;
        let Some(&kind) = waiting.first() else { return Ok(None) };
        if kind != FAILED && !self.known.contains(&kind) {
            return Err(Error::new(
                Kind::UnsupportedFeature,
                format!("frame {kind:#04x} at byte {at} is not part of this exchange"),
            ));
        }
        let Some(&[_, a, b, c, d]) = waiting.first_chunk() else { return Ok(None) };
        let (frame, length) =
            (Frame { kind, body: Vec::new(), at }, u32::from_le_bytes([a, b, c, d]));
        if length > self.limits.frame || kind == FAILED && length as usize > REASON {
            return Err(too_long(length.into(), &self.limits));
        }
        let room = if kind == FAILED { REASON as u64 } else { room(&frame)? };
        if u64::from(length) > room {
            let message = format!("{length} bytes, where at most {room} are due");
            return Err(frame.wrong(&message));
        }
        self.taken += HEADER;
        Ok(Some((frame, length as usize)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[u8] = &[0x10, 0x22];
    const SMALL: Limits = Limits { frame: 100, total: 1000, ..Limits::NETWORK };

    fn any(_: &Frame) -> Result<u64> {
        Ok(u64::MAX)
    }

    fn kind_of(error: Option<Error>) -> Option<Kind> {
        error.map(|e| e.kind())
    }

    #[test]
    fn frames_come_out_as_they_went_in_however_they_are_cut() {
        let bodies: [&[u8]; 4] = [b"", b"a", &[7; 100], b"end"];
        let mut bytes = Vec::new();
        for body in bodies {
            Frame::write(&mut bytes, 0x22, body, &SMALL).expect("fits");
        }
        for piece in 1..=bytes.len() {
            let mut reader = Reader::new(KNOWN, SMALL);
            let mut got = Vec::new();
            for piece in bytes.chunks(piece) {
                reader.push(piece).expect("within the limits");
                while let Some(frame) = reader.frame(any).expect("frames") {
                    assert_eq!(bytes[frame.at as usize], frame.kind);
                    got.push(frame.body);
                }
            }
            assert_eq!(got, bodies, "in pieces of {piece}");
        }
    }

    #[test]
    fn long_frames_are_refused_before_their_bodies_are_held() {
        let mut out = Vec::new();
        let refused = Frame::write(&mut out, 0x10, &[0; 101], &SMALL).err();
        assert_eq!(kind_of(refused), Some(Kind::LimitExceeded { what: "frame" }));
        assert!(out.is_empty());
        for length in [101, u32::MAX] {
            let mut reader = Reader::new(KNOWN, SMALL);
            reader.push(&[0x10]).expect("a byte");
            reader.push(&length.to_le_bytes()).expect("a length");
            let refused = reader.frame(any).err();
            assert_eq!(kind_of(refused), Some(Kind::LimitExceeded { what: "frame" }));
            assert!(reader.buffer.capacity() < 100);
        }
        // A long body that is allowed is held as it comes.
        let mut reader = Reader::new(KNOWN, Limits::NETWORK);
        reader.push(&[0x10, 0, 0, 0, 8]).expect("a header");
        assert!(matches!(reader.frame(any), Ok(None)) && reader.buffer.capacity() < 100);
    }

    #[test]
    fn bodies_longer_than_what_is_due_are_refused_at_their_headers() {
        let mut reader = Reader::new(KNOWN, Limits::NETWORK);
        reader.push(&[0x10, 8, 0, 0, 0, 1, 0x22, 9, 0, 0, 0]).expect("a frame and a header");
        assert!(matches!(reader.frame(|_| Ok(8)), Ok(None)), "the body has not come");
        reader.push(&[0; 7]).expect("its end");
        // A frame is measured once, by what was due when it began.
        assert!(matches!(reader.frame(|_| Ok(0)), Ok(Some(frame)) if frame.body.len() == 8));
        let mut reader = Reader::new(KNOWN, Limits::NETWORK);
        reader.push(&[0x22, 9, 0, 0, 0]).expect("a header");
        let refused = reader.frame(|frame| Ok(u64::from(frame.kind == 0x22) * 8)).err();
        assert_eq!(kind_of(refused), Some(Kind::Corrupt { offset: 0 }));
    }

    #[test]
    fn unknown_types_are_refused_at_their_first_byte() {
        let mut reader = Reader::new(KNOWN, SMALL);
        reader.push(&[0x11]).expect("a byte");
        assert_eq!(kind_of(reader.frame(any).err()), Some(Kind::UnsupportedFeature));
    }

    #[test]
    fn the_reason_of_a_peer_that_failed_is_told() {
        let bytes = Frame::failed(&Error::record("no \x1b[2J room"));
        let mut reader = Reader::new(KNOWN, SMALL);
        reader.push(&bytes).expect("within the limits");
        let told = reader.frame(any).expect_err("it failed").to_string();
        assert_eq!(told, "the other side says: no  [2J room");
        let mut reader = Reader::new(KNOWN, Limits::NETWORK);
        reader.push(&[FAILED, 0, 0, 1, 0]).expect("a header");
        let long = reader.frame(any).err();
        assert_eq!(kind_of(long), Some(Kind::LimitExceeded { what: "frame" }));
    }

    #[test]
    fn endless_bytes_come_to_an_end() {
        let mut reader = Reader::new(KNOWN, SMALL);
        let mut frame = Vec::new();
        Frame::write(&mut frame, 0x10, &[1; 95], &SMALL).expect("fits");
        for _ in 0..10 {
            reader.push(&frame).expect("1000 bytes are allowed");
            assert!(matches!(reader.frame(any), Ok(Some(_))));
        }
        let refused = reader.push(&[0x10]).err();
        assert_eq!(kind_of(refused), Some(Kind::LimitExceeded { what: "total" }));
    }
}
