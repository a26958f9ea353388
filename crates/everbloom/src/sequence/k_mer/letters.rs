//! K letters of ACGT as a number of 2·K bits.

/// The first value of the number is the first letter; A C G T are 0 1 2 3, so that 3 − x is x's complement.
fn code(letter: u8) -> Option<u8> {
    match letter {
        b'A' | b'a' => Some(0),
        b'C' | b'c' => Some(1),
        b'G' | b'g' => Some(2),
        b'T' | b't' => Some(3),
        _ => None,
    }
}

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
    fn other_letters_split_a_sequence() {
        let letters = Letters { length: 3, canonical: false };
        let mut runs = Vec::new();
        letters.each_run(b"acgtNGG-TTTn", |run| runs.push(run.len()));
        assert_eq!(runs, [2, 1]);
    }
}
