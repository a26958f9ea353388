//! The code of a bit array that is plain in memory and entropy-coded in its file.
//!
//! Coded are the gaps between the rarer symbols. If a share p of the bits is set, one independent of the
//! other, a gap g has probability p·q^g with q = 1 − p; and written in binary,
//!
//! ```text
//!   g = Q·2^s + g_{s−1}·2^{s−1} + … + g_0       P(g) = p · (q^{2^s})^Q · Π (q^{2^j})^{g_j}
//! ```
//!
//! is a product. So the digits of a gap are independent coins of known bias, and so is each further step
//! of Q in unary, if s is chosen so that q^{2^s} ≤ ½. An arithmetic coder that is told these biases spends
//! the entropy m·H(p) and a byte, in time that grows with the gaps and not with the m bits: a file that
//! claims a huge and nearly empty array is decoded at once.
//!
//! The coder is a page of integer arithmetic of our own. Crates for the purpose are general (any alphabet,
//! any model) and free to change their streams; this stream stands in files and must not change.

use super::Bits;
use crate::error::Result;
use crate::memory::Words;
use crate::state::{Decoder, Encoder, Role};

impl Bits {
    /// Bits of the array's code: the fewer, the fewer, or the more, of its bits are set.
    pub fn code_bits(&self) -> u64 {
        8 * encode(self).len() as u64
    }

    /// [`State::save`](crate::state::State::save) as a code.
    pub(crate) fn save_coded<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| {
            out.u64("bits", self.len());
            out.u64("ones", self.ones());
            let role = Role::Cells { bits: self.len() };
            out.coded("code", role, self.words().len(), || {
                let bytes = encode(self);
                let word = |chunk: &[u8]| {
                    let mut word = [0; 8];
                    word[..chunk.len()].copy_from_slice(chunk);
                    u64::from_le_bytes(word)
                };
                (bytes.len() as u64, bytes.chunks(8).map(word).collect())
            });
        });
    }

    /// What [`Bits::save_coded`] wrote.
    pub(crate) fn load_coded(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            let (len, ones) = (src.u64("bits")?, src.u64("ones")?);
            let (bytes, words) = src.array("code")?;
            let padded = words.iter().flat_map(|word| word.to_le_bytes());
            if bytes.div_ceil(8) != words.len() as u64
                || padded.clone().skip(bytes as usize).any(|byte| byte != 0)
            {
                return Err(src.corrupt(format!("{name}: {bytes} bytes of code do not end there")));
            }
            // A gap takes at least a bit, so that no claim can keep the decoder busy.
            let gaps = ones.min(len.saturating_sub(ones));
            if ones > len || gaps / 8 > bytes {
                return Err(src.corrupt(format!("{name}: {ones} ones among {len} bits")));
            }
            src.expand(len)?;
            let bits = decode(len, ones, bytes, padded.take(bytes as usize));
            bits.ok_or_else(|| src.corrupt(format!("{name}: not the code of such bits")))
        })
    }
}

/// The biases of a gap's digits, as chances of a one in units of 2⁻³².
///
/// Whole numbers throughout: two machines must agree on them to the last bit.
struct Model {
    /// Of digits 0, 1, …, s − 1.
    digits: Vec<u32>,
    /// Of one more step of 2^s.
    step: u32,
}

impl Model {
    /// For `rare` symbols among `len`, at most half of them and at least one.
    fn new(rare: u64, len: u64) -> Self {
        const UNIT: u64 = 1 << 62;
        let mut power = ((u128::from(len - rare) << 62) / u128::from(len)) as u64;
        let mut digits = Vec::new();
        while power > UNIT / 2 {
            // A digit is one with q^{2^j} against 1 if it is zero.
            digits.push(((u128::from(power) << 32) / u128::from(UNIT + power)) as u32);
            power = ((u128::from(power) * u128::from(power)) >> 62) as u64;
        }
        Self { digits, step: ((power >> 30) as u32).max(1) }
    }
}

/// The code of the gaps between the rarer symbols of `bits`: nothing where there is but one symbol.
fn encode(bits: &Bits) -> Vec<u8> {
    let (len, ones) = (bits.len(), bits.ones());
    let rare = ones.min(len - ones);
    if rare == 0 {
        return Vec::new();
    }
    let model = Model::new(rare, len);
    let flip = if ones > rare { u64::MAX } else { 0 };
    let mut out = Writer { low: 0, range: u64::MAX, bytes: Vec::new() };
    let (mut next, mut left) = (0, rare);
    for (at, word) in (0u64..).step_by(64).zip(bits.words()) {
        let mut rest = word ^ flip;
        // The padding of a flipped array is no symbol.
        while rest != 0 && left > 0 {
            let i = at + u64::from(rest.trailing_zeros());
            out.gap(i - next, &model);
            next = i + 1;
            left -= 1;
            rest &= rest - 1;
        }
    }
    out.finish()
}

/// The bits whose code this is; `None` if there are none.
fn decode(len: u64, ones: u64, size: u64, bytes: impl Iterator<Item = u8>) -> Option<Bits> {
    let rare = ones.min(len - ones);
    let flip = ones > rare;
    let mut words = Words::zeroed(len.div_ceil(64) as usize);
    if flip {
        words.make_mut().fill(u64::MAX);
        if let (Some(last), 1..) = (words.make_mut().last_mut(), len % 64) {
            *last >>= 64 - len % 64;
        }
    }
    let mut bits = Bits::from_words(len, words);
    if rare == 0 {
        return (size == 0).then_some(bits);
    }
    let model = Model::new(rare, len);
    let mut src = Reader::new(bytes);
    let mut next = 0u64;
    for _ in 0..rare {
        let i = next.checked_add(src.gap(&model, len - next)?).filter(|i| *i < len)?;
        if flip {
            bits.reset(i);
        } else {
            bits.set(i);
        }
        next = i + 1;
    }
    // The writer ends with one byte for all that was not yet decided.
    (src.shifts + 1 == size).then_some(bits)
}

/// While the range is below this, its first byte is settled but for a carry.
const LEAST: u64 = 1 << 56;

/// An arithmetic coder: an interval that each coin narrows to its share, from which the first bytes are
/// written as they settle.
struct Writer {
    low: u64,
    range: u64,
    bytes: Vec<u8>,
}

impl Writer {
    fn gap(&mut self, gap: u64, model: &Model) {
        for _ in 0..gap >> model.digits.len() {
            self.coin(true, model.step);
        }
        self.coin(false, model.step);
        for (j, bias) in model.digits.iter().enumerate() {
            self.coin(gap >> j & 1 != 0, *bias);
        }
    }

    fn coin(&mut self, one: bool, bias: u32) {
        let ones = (self.range >> 32) * u64::from(bias);
        if one {
            self.range = ones;
        } else {
            self.raise(ones);
            self.range -= ones;
        }
        while self.range < LEAST {
            self.bytes.push((self.low >> 56) as u8);
            self.low <<= 8;
            self.range <<= 8;
        }
    }

    /// Raises the lower end, and carries into the bytes already written.
    fn raise(&mut self, by: u64) {
        let (low, carry) = self.low.overflowing_add(by);
        self.low = low;
        if carry {
            for byte in self.bytes.iter_mut().rev() {
                *byte = byte.wrapping_add(1);
                if *byte != 0 {
                    break;
                }
            }
        }
    }

    /// One byte more, followed by zeros that need not be written, is a number inside the interval.
    fn finish(mut self) -> Vec<u8> {
        self.raise(LEAST - 1);
        self.bytes.push((self.low >> 56) as u8);
        self.bytes
    }
}

/// The writer's steps again, with the distance to the lower end in place of it.
struct Reader<I> {
    above: u64,
    range: u64,
    bytes: I,
    shifts: u64,
}

impl<I: Iterator<Item = u8>> Reader<I> {
    fn new(mut bytes: I) -> Self {
        let mut next = || u64::from(bytes.next().unwrap_or(0));
        let above = (0..8).fold(0, |word, _| word << 8 | next());
        Self { above, range: u64::MAX, bytes, shifts: 0 }
    }

    /// The next gap; `None` where it is `room` or more.
    fn gap(&mut self, model: &Model, room: u64) -> Option<u64> {
        let digits = model.digits.len();
        let mut steps = 0u64;
        while self.coin(model.step) {
            steps += 1;
            if steps > room >> digits {
                return None;
            }
        }
        let ones = model.digits.iter().enumerate();
        let low = ones.fold(0, |low, (j, bias)| low | u64::from(self.coin(*bias)) << j);
        Some(steps << digits | low)
    }

    fn coin(&mut self, bias: u32) -> bool {
        let ones = (self.range >> 32) * u64::from(bias);
        let one = self.above < ones;
        if one {
            self.range = ones;
        } else {
            self.above -= ones;
            self.range -= ones;
        }
        while self.range < LEAST {
            self.above = self.above << 8 | u64::from(self.bytes.next().unwrap_or(0));
            self.range <<= 8;
            self.shifts += 1;
        }
        one
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Generator;

    fn random(len: u64, share: f64, seed: u64) -> Bits {
        let mut coins = Generator::new(seed);
        Bits::with_ones(len, (0..len).filter(|_| coins.unit() < share))
    }

    fn again(bits: &Bits) -> Option<Bits> {
        let code = encode(bits);
        decode(bits.len(), bits.ones(), code.len() as u64, code.into_iter())
    }

    fn entropy(p: f64) -> f64 {
        -p * p.log2() - (1.0 - p) * (1.0 - p).log2()
    }

    #[test]
    fn arrays_of_every_length_and_share_come_back() {
        for len in (1..140).chain([1000, 4096, 10_007]) {
            for share in [0.0, 0.001, 0.1, 0.3, 0.5, 0.7, 0.99, 1.0] {
                let bits = random(len, share, len);
                assert_eq!(again(&bits).as_ref(), Some(&bits), "{len} bits, {share}");
            }
        }
    }

    #[test]
    fn gaps_beside_the_model_come_back_too() {
        // All ones at one end, so that gaps are far from geometric.
        for start in [0, 5000, 9900] {
            let bits = Bits::with_ones(10_000, start..start + 100);
            assert_eq!(again(&bits).as_ref(), Some(&bits), "from {start}");
        }
    }

    #[test]
    fn carries_run_through_the_bytes_before() {
        let mut out = Writer { low: u64::MAX - 5, range: LEAST, bytes: vec![7, 0xff, 0xff] };
        out.raise(6);
        assert_eq!((out.low, &out.bytes[..]), (0, &[8, 0, 0][..]));
    }

    #[test]
    fn the_code_takes_the_entropy() {
        let len = 1_000_000;
        for share in [0.0001, 0.01, 0.134, 0.29, 0.5, 0.8, 0.999] {
            let bits = random(len, share, 1);
            let real = bits.ones() as f64 / len as f64;
            let code = 8.0 * encode(&bits).len() as f64;
            let off = code / (len as f64 * entropy(real)) - 1.0;
            assert!(off.abs() < 0.002 + 64.0 / code, "{share}: {off}");
        }
    }

    #[test]
    fn an_array_of_one_symbol_takes_nothing() {
        for share in [0.0, 1.0] {
            let bits = random(777, share, 0);
            assert!(encode(&bits).is_empty());
            assert_eq!(again(&bits), Some(bits));
        }
    }

    #[test]
    fn streams_that_are_no_code_are_refused_or_decoded_but_never_followed_for_long() {
        let mut noise = Generator::new(3);
        for len in [1u64, 9, 100] {
            for ones in [1u64, 7, 400, 1 << 16] {
                for m in [ones, ones + 1, 3 * ones, 1 << 24] {
                    let bytes: Vec<u8> = (0..len).map(|_| noise.next_u64() as u8).collect();
                    if let Some(bits) = decode(m, ones, len, bytes.into_iter()) {
                        assert_eq!((bits.len(), bits.ones()), (m, ones));
                    }
                }
            }
        }
    }

    /// The stream stands in files: these bytes never change.
    #[test]
    fn the_stream_is_pinned() {
        let bits = Bits::with_ones(100, [3, 14, 15, 92, 65, 35, 89, 79]);
        assert_eq!(encode(&bits), PINNED);
    }

    const PINNED: &[u8] = &[104, 106, 92, 70, 68];
}
