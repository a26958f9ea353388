//! K letters of ACGT as a number of 2·K bits.

use std::ops::{BitAnd, BitOr, Shl, Shr};

/// The first value of the number is the first letter; A C G T are 0 1 2 3, so that 3 − x is x's complement.
const fn code(letter: u8) -> Option<u8> {
    match letter {
        b'A' | b'a' => Some(0),
        b'C' | b'c' => Some(1),
        b'G' | b'g' => Some(2),
        b'T' | b't' => Some(3),
        _ => None,
    }
}

/// [`code`] of every letter, or [`NONE`]: one load instead of branches that letters decide at random.
const CODES: [u8; 256] = {
    let mut codes = [NONE; 256];
    let mut letter = 0;
    while letter < 256 {
        if let Some(code) = code(letter as u8) {
            codes[letter] = code;
        }
        letter += 1;
    }
    codes
};
const NONE: u8 = 4;

/// An integer that holds a K-mer.
pub(super) trait Holds:
    Copy
    + Ord
    + From<u8>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
    + BitOr<Output = Self>
    + BitAnd<Output = Self>
{
    const ONES: Self;
}

impl Holds for u64 {
    const ONES: u64 = u64::MAX;
}

impl Holds for u128 {
    const ONES: u128 = u128::MAX;
}

/// K-mers that are handed on together.
pub(super) const CHUNK: usize = 512;

/// How K-mers are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Letters {
    /// Letters per K-mer, 2 to 63.
    pub(super) length: u32,
    /// Whether a K-mer and its reverse complement are one.
    pub(super) canonical: bool,
}

impl Letters {
    fn mask(self) -> u128 {
        (1 << (2 * self.length)) - 1
    }

    /// Calls `f` with the K-mers of every run of ACGT, in order, each from the one before it by a shift. Runs
    /// shorter than K have none.
    pub(super) fn each_run(self, sequence: &[u8], mut f: impl FnMut(&[u128])) {
        let mut run = Vec::new();
        for part in sequence.split(|letter| code(*letter).is_none()) {
            run.clear();
            let mut kmer = 0;
            for (i, letter) in part.iter().filter_map(|letter| code(*letter)).enumerate() {
                kmer = (kmer << 2 | u128::from(letter)) & self.mask();
                if i + 1 >= self.length as usize {
                    run.push(kmer);
                }
            }
            if !run.is_empty() {
                f(&run);
            }
        }
    }

    /// Calls `f` with the numbers under which all K-mers are held, in order and in chunks: each comes from the one
    /// before it by a shift, on both strands.
    pub(super) fn each_chunk<T: Holds>(self, sequence: &[u8], mut f: impl FnMut(&[T])) {
        let (zero, last) = (T::from(0), 2 * (self.length - 1));
        let mask = T::ONES >> (8 * size_of::<T>() as u32 - last - 2);
        let (mut kmer, mut reverse, mut letters) = (zero, zero, 0);
        let (mut chunk, mut count) = ([zero; CHUNK], 0);
        for letter in sequence {
            let code = CODES[usize::from(*letter)];
            if code == NONE {
                letters = 0;
                continue;
            }
            kmer = (kmer << 2 | T::from(code)) & mask;
            if self.canonical {
                reverse = reverse >> 2 | T::from(3 - code) << last;
            }
            letters += 1;
            if letters < self.length {
                continue;
            }
            // Never again zero by overflow.
            letters = self.length;
            chunk[count] = if self.canonical { kmer.min(reverse) } else { kmer };
            count += 1;
            if count == CHUNK {
                f(&chunk);
                count = 0;
            }
        }
        if count > 0 {
            f(&chunk[..count]);
        }
    }

    /// The number under which a K-mer is held, and whether that is its reverse complement's.
    pub(super) fn held(self, kmer: u128) -> (u128, bool) {
        if !self.canonical {
            return (kmer, false);
        }
        let reverse = self.reverse_complement(kmer);
        if reverse < kmer { (reverse, true) } else { (kmer, false) }
    }

    pub(super) fn reverse_complement(self, kmer: u128) -> u128 {
        let mut rest = !kmer;
        let mut out = 0;
        for _ in 0..self.length {
            out = out << 2 | rest & 3;
            rest >>= 2;
        }
        out
    }

    /// The four K-mers that can stand one letter to the left.
    pub(super) fn left(self, kmer: u128) -> [u128; 4] {
        [0u128, 1, 2, 3].map(|letter| kmer >> 2 | letter << (2 * (self.length - 1)))
    }

    /// The four K-mers that can stand one letter to the right.
    pub(super) fn right(self, kmer: u128) -> [u128; 4] {
        [0u128, 1, 2, 3].map(|letter| (kmer << 2 | letter) & self.mask())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kmers(letters: Letters, sequence: &[u8]) -> Vec<u128> {
        let mut all = Vec::new();
        letters.each_run(sequence, |run| all.extend_from_slice(run));
        all
    }

    #[test]
    fn rolling_is_packing_every_window_anew() {
        for length in [2, 5, 31, 32, 33, 63] {
            let letters = Letters { length, canonical: true };
            let text: Vec<u8> = (0..200u32).map(|i| b"ACGT"[(i * i / 7 % 4) as usize]).collect();
            let rolled = kmers(letters, &text);
            assert_eq!(rolled.len(), 201 - length as usize);
            for (window, kmer) in text.windows(length as usize).zip(&rolled) {
                assert_eq!(kmers(letters, window), [*kmer]);
                let turned: Vec<u8> =
                    window.iter().rev().map(|b| b"TGCA"[usize::from(code(*b).unwrap())]).collect();
                assert_eq!(letters.reverse_complement(*kmer), kmers(letters, &turned)[0]);
                assert_eq!(letters.reverse_complement(letters.reverse_complement(*kmer)), *kmer);
            }
            for pair in rolled.windows(2) {
                assert!(letters.right(pair[0]).contains(&pair[1]));
                assert!(letters.left(pair[1]).contains(&pair[0]));
            }
        }
    }

    #[test]
    fn chunks_are_what_runs_are_held_under() {
        let text: Vec<u8> = (0..3000u32).map(|i| b"ACGTacgtN"[(i * i / 7 % 9) as usize]).collect();
        let all: Vec<u8> = text.iter().map(|b| if *b == b'N' { b'C' } else { *b }).collect();
        for (length, canonical) in [(2, false), (5, true), (31, true), (32, true), (32, false)] {
            let letters = Letters { length, canonical };
            for text in [&text, &all] {
                let mut held: Vec<u64> = Vec::new();
                letters.each_chunk(text, |chunk: &[u64]| held.extend(chunk));
                let runs = kmers(letters, text).into_iter().map(|kmer| letters.held(kmer).0);
                assert!(runs.eq(held.iter().map(|kmer| u128::from(*kmer))), "{length}");
                let mut wide: Vec<u128> = Vec::new();
                letters.each_chunk(text, |chunk: &[u128]| wide.extend(chunk));
                assert!(
                    wide.iter().eq(held.iter().map(|k| u128::from(*k)).collect::<Vec<_>>().iter())
                );
            }
        }
        let letters = Letters { length: 63, canonical: true };
        let mut wide: Vec<u128> = Vec::new();
        letters.each_chunk(&all, |chunk: &[u128]| wide.extend(chunk));
        assert!(kmers(letters, &all).into_iter().map(|kmer| letters.held(kmer).0).eq(wide));
    }

    #[test]
    fn other_letters_split_a_sequence() {
        let letters = Letters { length: 3, canonical: false };
        let mut runs = Vec::new();
        letters.each_run(b"acgtNGG-TTTn", |run| runs.push(run.len()));
        assert_eq!(runs, [2, 1]);
    }
}
