//! zstd: frames, one after the other, as `cat a.zst b.zst` and parallel packers write them.
//!
//! Unpacked by Rust, so that nothing but Rust is needed to build, or with the feature `libzstd` by the C library, which is
//! several times as fast.

use std::io::{self, Read};

/// The text of all frames.
#[cfg(feature = "libzstd")]
pub fn all_frames<R: Read>(source: R) -> io::Result<impl Read> {
    ::zstd::stream::read::Decoder::new(source)
}

/// The text of all frames.
#[cfg(not(feature = "libzstd"))]
pub fn all_frames<R: Read>(source: R) -> io::Result<impl Read> {
    Ok(frames::Zstd::new(source))
}

#[cfg(not(feature = "libzstd"))]
mod frames;

#[cfg(test)]
mod tests {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    #[test]
    fn every_frame_is_read() {
        let frame = |text: &[u8]| compress_to_vec(text, CompressionLevel::Fastest);
        let text = |packed: &[u8]| -> io::Result<Vec<u8>> {
            let mut text = Vec::new();
            all_frames(packed)?.read_to_end(&mut text).map(|_| text)
        };
        let skipped = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, b'x', b'y', b'z'];
        let large = vec![b'a'; 300_000];
        let all = [frame(b"a\n"), skipped.to_vec(), frame(b""), frame(&large)].concat();
        assert!(text(&all).unwrap() == [b"a\n".to_vec(), large].concat());
        assert!(text(&all[..all.len() - 5]).is_err(), "cut off");
        assert!(text(&[&frame(b"a")[..], b"no frame"].concat()).is_err());
        assert!(text(&[&frame(b"a")[..], &skipped[..9]].concat()).is_err());
    }
}
