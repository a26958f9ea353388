//! Files in chunks: with ends that depend on the content, or all of one length.
//!
//! ```text
//!   Content:  … t h e | q u i c k b r o …      an end where the hash of the last 64 bytes begins with eight zeros:
//!   Fixed:    t h e q | u i c k | b r o w |     insert a letter in front, and the ends further on stay or all move
//! ```
//!
//! The ends of content-defined chunks are permanent: whoever stored their digests finds them again. They follow from
//! the table of a gear hash (h ← 2h + table\[byte\], mod 2^64), whose entries are the outputs of SplitMix64 from seed 0.

use std::io::Read;

use everbloom::{Error, Kind, Result};

/// How a file is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Where the content says: chunks of 64 to 1024 bytes, about 300 on average.
    Content,
    /// Into blocks of so many bytes, 1 to 2^20; the last one may be shorter.
    Fixed(u32),
}

/// Bytes of a content-defined chunk.
const LEAST: usize = 64;
const MOST: usize = 1024;
const LONGEST: u32 = 1 << 20;

const GEAR: [u64; 256] = {
    let (mut table, mut i) = ([0; 256], 0);
    while i < 256 {
        let mut z = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        table[i] = z ^ z >> 31;
        i += 1;
    }
    table
};

/// The length of the first chunk of bytes that go on for [`MOST`], or end.
fn first(bytes: &[u8]) -> usize {
    let (mut hash, end) = (0u64, bytes.len().min(MOST));
    for (i, byte) in bytes[..end].iter().enumerate() {
        hash = (hash << 1).wrapping_add(GEAR[usize::from(*byte)]);
        if i + 1 >= LEAST && hash >> 56 == 0 {
            return i + 1;
        }
    }
    end
}

impl Cut {
    /// Calls `f` with every chunk of an input.
    ///
    /// ```
    /// use everbloom_tools::chunks::Cut;
    ///
    /// let mut lengths = Vec::new();
    /// Cut::Fixed(4).each(&b"ten letters"[..], |chunk| {
    ///     lengths.push(chunk.len());
    ///     Ok(())
    /// })?;
    /// assert_eq!(lengths, [4, 4, 3]);
    /// # Ok::<(), everbloom::Error>(())
    /// ```
    pub fn each(self, mut input: impl Read, mut f: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let most = match self {
            Cut::Content => MOST,
            Cut::Fixed(0) => return Err(Error::new(Kind::BadParameter, "blocks of 0 bytes")),
            Cut::Fixed(length) if length > LONGEST => {
                return Err(Error::new(Kind::BadParameter, "blocks have 1 MiB at most"));
            }
            Cut::Fixed(length) => length as usize,
        };
        let (mut bytes, mut start) = (Vec::new(), 0);
        let room = most.max(1 << 16);
        loop {
            if bytes.len() - start < most {
                bytes.drain(..start);
                start = 0;
                (&mut input).take((room + most - bytes.len()) as u64).read_to_end(&mut bytes)?;
            }
            let rest = &bytes[start..];
            let length = match self {
                Cut::Content => first(rest),
                Cut::Fixed(_) => most.min(rest.len()),
            };
            if length == 0 {
                return Ok(());
            }
            f(&rest[..length])?;
            start += length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use everbloom::internals::hash::Generator;

    fn lengths(cut: Cut, bytes: &[u8]) -> Vec<usize> {
        let mut all = Vec::new();
        cut.each(bytes, |chunk| {
            all.push(chunk.len());
            Ok(())
        })
        .unwrap();
        all
    }

    fn random(count: usize) -> Vec<u8> {
        let mut random = Generator::new(1);
        (0..count).map(|_| random.next_u64() as u8).collect()
    }

    /// Permanent: a change here is a new way to cut.
    #[test]
    fn the_ends_are_pinned() {
        assert_eq!((GEAR[0], GEAR[255]), (0xe220_a839_7b1d_cdaf, 0x5a58_32bb_47bc_f19e));
        let bytes: Vec<u8> = (0..3000u64).map(|i| ((i * i * 2_654_435_761) >> 13) as u8).collect();
        let ends = [419, 248, 114, 69, 74, 464, 114, 118, 431, 77, 729, 143];
        assert_eq!(lengths(Cut::Content, &bytes), ends);
        assert_eq!(lengths(Cut::Content, &[7; 2500]), [1024, 1024, 452]);
        assert_eq!(lengths(Cut::Content, b""), [0usize; 0]);
    }

    #[test]
    fn chunks_are_all_of_the_input_whatever_it_is_read_in() {
        let bytes = random(300_000);
        let all = lengths(Cut::Content, &bytes);
        assert_eq!(all.iter().sum::<usize>(), bytes.len());
        let mean = bytes.len() as f64 / all.len() as f64;
        assert!((280.0..340.0).contains(&mean), "{mean}");
        struct Drops<'a>(&'a [u8]);
        impl Read for Drops<'_> {
            fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
                let count = out.len().min(7);
                self.0.read(&mut out[..count])
            }
        }
        let mut slow = Vec::new();
        Cut::Content
            .each(Drops(&bytes), |chunk| {
                slow.push(chunk.len());
                Ok(())
            })
            .unwrap();
        assert_eq!(slow, all);
        assert!(Cut::Fixed(0).each(&b"a"[..], |_| Ok(())).is_err());
    }

    #[test]
    fn a_letter_in_front_moves_few_ends() {
        let bytes = random(100_000);
        let moved = [&b"x"[..], &bytes].concat();
        let (before, after) = (lengths(Cut::Content, &bytes), lengths(Cut::Content, &moved));
        let same = before.iter().rev().zip(after.iter().rev()).take_while(|(a, b)| a == b).count();
        assert!(same + 5 >= before.len(), "{same} of {}", before.len());
    }
}
