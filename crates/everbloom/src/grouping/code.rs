//! The code words of groups: a few ones among Ψ bits, or a number in binary.

use crate::error::{Error, Result};
use crate::state::state;

/// A code word of Ψ bits for each group: with `weight` ones, or with any number of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// Ψ.
    pub bits: u32,
    /// θ, or 0 where weights differ.
    pub weight: u32,
}

state!(Code { bits, weight });

/// Widest code that is read back as a word.
pub(super) const MAX_CODE_BITS: u32 = 64;

/// Pascal's triangle up to 64: codes are ranked at every insertion and query. All fit 64 bits.
static TRIANGLE: [[u64; 65]; 65] = {
    let mut rows = [[0u64; 65]; 65];
    let mut n = 0;
    while n <= 64 {
        rows[n][0] = 1;
        let mut k = 1;
        while k <= n {
            rows[n][k] = rows[n - 1][k - 1] + rows[n - 1][k];
            k += 1;
        }
        n += 1;
    }
    rows
};

/// C(n, k) for n up to 64, and n for k = 1 beyond that.
pub(super) fn choose(n: u32, k: u32) -> u64 {
    let row = TRIANGLE.get(n as usize);
    match row.and_then(|row| row.get(k as usize)) {
        Some(c) => *c,
        None if k == 1 => n.into(),
        None => 0,
    }
}

impl Code {
    /// The shortest code of fixed weight for `groups` groups, and of those the lightest.
    pub fn shortest(groups: u64) -> Self {
        let lightest = |bits| (1..=bits).find(|&w| choose(bits, w) >= groups);
        let found = (1..=MAX_CODE_BITS).find_map(|bits| Some((bits, lightest(bits)?)));
        let (bits, weight) = found.unwrap_or((MAX_CODE_BITS, MAX_CODE_BITS / 2));
        Self { bits, weight }
    }

    /// How many groups have a code.
    pub fn room(&self) -> u64 {
        match self.weight {
            0 => u64::MAX >> (64 - self.bits.clamp(1, 64)),
            weight => choose(self.bits, weight),
        }
    }

    /// The code of group `g`: the number g + 1 in binary, or the g-th subset of `weight` bits in
    /// colexicographic order. For at most 64 bits.
    pub fn word(&self, g: u64) -> u64 {
        if self.weight == 0 {
            return g + 1;
        }
        let (mut rest, mut word) = (g, 0);
        for left in (1..=self.weight).rev() {
            let bit = (0..self.bits).rev().find(|&bit| choose(bit, left) <= rest).unwrap_or(0);
            rest -= choose(bit, left).min(rest);
            word |= 1 << bit;
        }
        word
    }

    /// The group whose code this is.
    pub fn group(&self, word: u64) -> Option<u64> {
        if self.weight == 0 {
            return word.checked_sub(1);
        }
        let ones = (0..self.bits.min(64)).filter(|bit| word >> bit & 1 == 1);
        let rank = (1..).zip(ones).map(|(i, bit)| choose(bit, i)).sum();
        (word.count_ones() == self.weight).then_some(rank)
    }

    /// Calls `f` with the place of every one in the code of group `g`.
    pub(super) fn each(&self, g: u64, mut f: impl FnMut(u64)) {
        // The code of one filter per group, however many there are.
        if self.weight == 1 {
            return f(g);
        }
        let mut rest = self.word(g);
        while rest != 0 {
            f(rest.trailing_zeros().into());
            rest &= rest - 1;
        }
    }

    /// The places of the zeros in the code of group `g`, for at most 64 bits.
    pub(super) fn zeros(&self, g: u64) -> impl Iterator<Item = u64> {
        let word = self.word(g);
        (0..u64::from(self.bits)).filter(move |b| word >> b & 1 == 0)
    }

    fn check(&self) -> Result<()> {
        if self.bits > 0 && self.weight <= self.bits {
            Ok(())
        } else {
            Err(Error::corrupt(0, "corrupt filter: a code of more ones than bits"))
        }
    }
}
