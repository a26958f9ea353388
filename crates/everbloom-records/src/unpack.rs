//! Packed input, recognized by its first bytes.

use std::io::{self, Cursor, Read};

/// Bytes that are read once, perhaps on another thread.
pub type Input<'a> = Box<dyn Read + Send + 'a>;

/// A way to pack: the bytes it starts with, and how it is unpacked.
type Packing = (&'static [u8], for<'a> fn(Input<'a>) -> io::Result<Input<'a>>);

const PACKINGS: [Packing; 2] = [
    // gzip: its magic and the only method there is, deflate.
    (&[0x1f, 0x8b, 8], |input| Ok(Box::new(flate2::read::MultiGzDecoder::new(input)))),
    // zstd.
    (&[0x28, 0xb5, 0x2f, 0xfd], |input| {
        let decoder = ruzstd::decoding::StreamingDecoder::new(input);
        Ok(Box::new(decoder.map_err(io::Error::other)?))
    }),
];

/// Unpacks what is packed, and hands everything else through.
pub fn unpacked(mut input: Input<'_>) -> io::Result<Input<'_>> {
    let longest = PACKINGS.iter().map(|(magic, _)| magic.len()).max().unwrap_or(0);
    let mut start = Vec::with_capacity(longest);
    input.by_ref().take(longest as u64).read_to_end(&mut start)?;
    let packing = PACKINGS.iter().find(|(magic, _)| start.starts_with(magic));
    let whole = Box::new(Cursor::new(start).chain(input));
    match packing {
        Some((_, unpack)) => unpack(whole),
        None => Ok(whole),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn read(packed: &[u8]) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        unpacked(Box::new(packed))?.read_to_end(&mut text)?;
        Ok(text)
    }

    #[test]
    fn packed_input_is_unpacked_and_other_input_is_not_touched() {
        use ruzstd::encoding::{CompressionLevel, compress_to_vec};
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(b"a\nb\n").expect("memory");
        let zstd = compress_to_vec(&b"a\nb\n"[..], CompressionLevel::Fastest);
        for packed in [gz.finish().expect("memory"), zstd] {
            assert_eq!(read(&packed).expect("whole"), b"a\nb\n");
            assert!(read(&packed[..packed.len() - 5]).is_err(), "cut off");
        }
        for plain in [&b""[..], b"a", b"\x1f\x8b", b"plain text"] {
            assert_eq!(read(plain).expect("plain"), plain);
        }
    }
}
