//! Packed input, recognized by its first bytes; and input that is no text at all.

use std::io::{self, Cursor, Read};

use crate::ahead::ahead;
use crate::error::{Fault, Result};
use crate::input::Input;
use crate::zstd::all_frames;

/// A way to pack: the bytes it starts with, and how it is unpacked.
type Packing = (&'static [u8], for<'a> fn(Input<'a>) -> io::Result<Input<'a>>);

const PACKINGS: [Packing; 5] = [
    // gzip: its magic and the only method there is, deflate.
    (&[0x1f, 0x8b, 8], |input| Ok(Box::new(flate2::read::MultiGzDecoder::new(input)))),
    // zstd, and what parallel packers write before its first frame.
    (&[0x28, 0xb5, 0x2f, 0xfd], |input| Ok(Box::new(all_frames(input)?))),
    (&[0x50, 0x2a, 0x4d, 0x18], |input| Ok(Box::new(all_frames(input)?))),
    // xz, several streams one after the other, too.
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], |input| {
        Ok(Box::new(lzma_rust2::XzReader::new(input, true)))
    }),
    // bzip2, likewise.
    (b"BZh", |input| Ok(Box::new(bzip2::read::MultiBzDecoder::new(input)))),
];

/// What files start with that are not lines of text, whoever named them so.
const NOT_TEXT: [(&[u8], &str); 10] = [
    (&[0x89, b'E', b'V', b'B'], "a filter file"),
    (&[0x89, b'E', b'V', b'S'], "a sketch of a list"),
    (b"PK\x03\x04", "a zip archive: unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it first"),
    (b"PAR1", "a Parquet file"),
    (b"ORC", "an ORC file"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"%PDF-", "a PDF document"),
    (b"\x7fELF", "a program"),
    (b"\x89PNG\r\n", "a picture"),
];

/// What is worth telling of an input whose lines are taken as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Notice {
    /// Every line ends in a CR, which then belongs to its key.
    CarriageReturns,
    /// There are NUL bytes in lines that end in LF.
    Nul,
    /// Columns stand in quotes, which then belong to the key.
    Quotes,
    /// It began with a byte order mark, which belongs to no line.
    ByteOrderMark,
}

/// What some editors and spreadsheets write before UTF-8.
pub const MARK: &[u8] = b"\xef\xbb\xbf";

/// The first bytes of an input, and all of it.
fn peek(mut input: Input<'_>, length: u64) -> io::Result<(Vec<u8>, Input<'_>)> {
    let mut start = Vec::new();
    input.by_ref().take(length).read_to_end(&mut start)?;
    let whole = Box::new(Cursor::new(start.clone()).chain(input));
    Ok((start, whole))
}

/// Decompresses compressed input on its own thread, refuses input that is not text, and passes everything else
/// through.
pub fn unpacked(input: Input<'static>) -> Result<Input<'static>> {
    Ok(opened(input)?.text)
}

/// The same text without the byte order mark at its start, and whether there was one.
pub fn unmarked(text: Input<'_>) -> io::Result<(Input<'_>, bool)> {
    let (start, whole) = peek(text, MARK.len() as u64)?;
    if start != MARK {
        return Ok((whole, false));
    }
    let mut whole = whole;
    whole.read_exact(&mut [0; MARK.len()])?;
    Ok((whole, true))
}

/// An input that was looked at.
pub struct Opened {
    /// Its text.
    pub text: Input<'static>,
    /// Whether a second pass would cost as much as the first, since it has to unpack again.
    pub packed: bool,
}

/// [`unpacked`], and whether anything was compressed.
pub fn opened(input: Input<'static>) -> Result<Opened> {
    let (start, whole) = peek(input, 16)?;
    if let Some((_, what)) = NOT_TEXT.iter().find(|(magic, _)| start.starts_with(magic)) {
        return Err(Fault::NotText { what }.into());
    }
    // "BZh" alone may be the start of a word; a digit and the start of a block follow where it is bzip2.
    let blocks = [0x31, 0x41, 0x59, 0x26, 0x53, 0x59];
    let fits = |magic: &[u8]| {
        start.starts_with(magic) && (magic != b"BZh" || start.get(4..10) == Some(&blocks[..]))
    };
    match PACKINGS.iter().find(|(magic, _)| fits(magic)) {
        Some((_, unpack)) => Ok(Opened { text: ahead(unpack(whole)?)?, packed: true }),
        None => Ok(Opened { text: whole, packed: false }),
    }
}

/// Reports anything unusual about the first lines of a text. Of lines that are cut into columns, it is
/// told what separates these.
pub fn examined<'a>(
    input: Input<'a>,
    end: u8,
    delimiter: Option<u8>,
    mut tell: impl FnMut(Notice),
) -> io::Result<Input<'a>> {
    let (start, whole) = peek(input, 4096)?;
    if end != 0 && start.contains(&0) {
        tell(Notice::Nul);
    }
    let mut lines =
        start.split_inclusive(|byte| *byte == b'\n').filter(|l| l.ends_with(b"\n")).peekable();
    if end == b'\n' && lines.peek().is_some() && lines.all(|line| line.ends_with(b"\r\n")) {
        tell(Notice::CarriageReturns);
    }
    let quoted = |delimiter: u8| {
        let mut columns = start.split(|byte| *byte == delimiter || *byte == end);
        columns
            .any(|column| column.len() > 1 && column.starts_with(b"\"") && column.ends_with(b"\""))
    };
    if delimiter.is_some_and(quoted) {
        tell(Notice::Quotes);
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn read(packed: &[u8]) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        unpacked(Box::new(Cursor::new(packed.to_vec())))?.read_to_end(&mut text)?;
        Ok(text)
    }

    /// `printf 'a\nb\n' | xz`.
    const XZ: [u8; 60] = [
        0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x04, 0xe6, 0xd6, 0xb4, 0x46, 0x02, 0x00, 0x21,
        0x01, 0x16, 0x00, 0x00, 0x00, 0x74, 0x2f, 0xe5, 0xa3, 0x01, 0x00, 0x03, 0x61, 0x0a, 0x62,
        0x0a, 0x00, 0x44, 0x8e, 0x2c, 0xb5, 0xad, 0xa0, 0xcd, 0xac, 0x00, 0x01, 0x1c, 0x04, 0x6f,
        0x2c, 0x9c, 0xc1, 0x1f, 0xb6, 0xf3, 0x7d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x04, 0x59, 0x5a,
    ];

    #[test]
    fn text_is_told_from_what_is_none() {
        assert!(matches!(
            read(b"\x89EVB\r\n\x1a\n").map_err(|e| e.to_string()),
            Err(e) if e.contains("a filter file")
        ));
        assert_eq!(read(b"BZhang\n").expect("a name"), b"BZhang\n");
        let notices = |text: &'static [u8], end: u8| {
            let mut told = Vec::new();
            let mut input = examined(Box::new(text), end, Some(b','), |notice| told.push(notice))
                .expect("text");
            let mut whole = Vec::new();
            input.read_to_end(&mut whole).expect("text");
            assert_eq!(whole, text);
            told
        };
        assert_eq!(notices(b"a\r\nb\r\nc", b'\n'), [Notice::CarriageReturns]);
        assert_eq!(notices(b"a\r\nb\n", b'\n'), []);
        assert_eq!(notices(b"a\0b\n", b'\n'), [Notice::Nul]);
        assert_eq!(notices(b"a\0b\0", 0), []);
        assert_eq!(notices(b"", b'\n'), []);
        assert_eq!(notices(b"5\",\"\na,\"b c\",d\n", b'\n'), [Notice::Quotes]);
        assert_eq!(notices(b"5\",\"\n\"a,b\n", b'\n'), []);
    }

    #[test]
    fn a_mark_is_taken_off_the_start_alone() {
        for (text, rest, mark) in [
            (&b"\xef\xbb\xbfa\n"[..], &b"a\n"[..], true),
            (b"\xef\xbb\xbf\xef\xbb\xbf", b"\xef\xbb\xbf", true),
            (b"\xef\xbb\xbf", b"", true),
            (b"\xef\xbb", b"\xef\xbb", false),
            (b"a\xef\xbb\xbf", b"a\xef\xbb\xbf", false),
            (b"", b"", false),
        ] {
            let (mut input, marked) = unmarked(Box::new(text)).expect("text");
            let mut left = Vec::new();
            input.read_to_end(&mut left).expect("text");
            assert_eq!((&left[..], marked), (rest, mark));
        }
    }

    #[test]
    fn packed_input_is_unpacked_and_other_input_is_not_touched() {
        use ruzstd::encoding::{CompressionLevel, compress_to_vec};
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(b"a\nb\n").expect("memory");
        let zstd = compress_to_vec(&b"a\nb\n"[..], CompressionLevel::Fastest);
        let mut bz = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        bz.write_all(b"a\nb\n").expect("memory");
        for packed in
            [gz.finish().expect("memory"), zstd, bz.finish().expect("memory"), XZ.to_vec()]
        {
            assert_eq!(read(&packed).expect("whole"), b"a\nb\n");
            assert!(read(&packed[..packed.len() - 5]).is_err(), "cut off");
        }
        for plain in [&b""[..], b"a", b"\x1f\x8b", b"plain text"] {
            assert_eq!(read(plain).expect("plain"), plain);
        }
    }
}
