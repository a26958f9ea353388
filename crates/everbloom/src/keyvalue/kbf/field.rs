//! Encodings of values of which any two can be told from their xor.
//!
//! A value v ≠ 0 of GF(2^t) is encoded as (v, v³). From s₁ = a + b and s₃ = a³ + b³ of two different values follows
//! ab = s₃/s₁ + s₁², so that a and b are the roots of z² + s₁z + ab.

/// The field of 2^t elements, as polynomials over two modulo an irreducible one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    t: u32,
}

pub(super) const MIN_T: u32 = 2;
pub(super) const MAX_T: u32 = 16;

/// An irreducible polynomial of each degree from [`MIN_T`] to [`MAX_T`]. Files rely on them.
const IRREDUCIBLE: [u32; 15] = [
    0b111,
    0b1011,
    0b1_0011,
    0b10_0101,
    0b100_0011,
    0b1000_0011,
    0x11B,
    0x211,
    0x409,
    0x805,
    0x1009,
    0x201B,
    0x4021,
    0x8003,
    0x1_002B,
];

impl Field {
    /// The field of 2^t elements, t from [`MIN_T`] to [`MAX_T`].
    pub(super) fn new(t: u32) -> Self {
        Self { t: t.clamp(MIN_T, MAX_T) }
    }

    fn product(self, a: u32, b: u32) -> u32 {
        let poly = IRREDUCIBLE[(self.t - MIN_T) as usize];
        let (mut a, mut out) = (a, 0);
        for bit in 0..self.t {
            if b >> bit & 1 != 0 {
                out ^= a;
            }
            a <<= 1;
            if a >> self.t & 1 != 0 {
                a ^= poly;
            }
        }
        out
    }

    fn cube(self, a: u32) -> u32 {
        self.product(a, self.product(a, a))
    }

    /// 1/a = a^{2^t − 2}, for a ≠ 0.
    fn inverse(self, a: u32) -> u32 {
        let (mut power, mut out) = (a, 1);
        for _ in 1..self.t {
            power = self.product(power, power);
            out = self.product(out, power);
        }
        out
    }

    /// A root of z² + z = c, if there is one; the other is one more. Squaring and adding are linear over bits, so that
    /// this is a system of t equations.
    fn half(self, c: u32) -> Option<u32> {
        let (mut rows, mut rest, mut root) = ([(0u32, 0u32); MAX_T as usize], c, 0);
        let mut known = 0;
        for bit in 0..self.t {
            let z = 1 << bit;
            let (mut image, mut source) = (self.product(z, z) ^ z, z);
            for (row, from) in &rows[..known] {
                if image ^ row < image {
                    image ^= row;
                    source ^= from;
                }
            }
            if image != 0 {
                rows[known] = (image, source);
                known += 1;
                // Largest leading bit first, so that a later row never brings back an earlier one's.
                rows[..known].sort_unstable_by_key(|row| std::cmp::Reverse(row.0));
            }
        }
        for (row, from) in &rows[..known] {
            if rest ^ row < rest {
                rest ^= row;
                root ^= from;
            }
        }
        (rest == 0).then_some(root)
    }

    /// The encoding of a value, 2t bits.
    pub(super) fn code(self, value: u32) -> u64 {
        u64::from(value) << self.t | u64::from(self.cube(value))
    }

    /// The value of an encoding, if it is one.
    pub(super) fn single(self, code: u64) -> Option<u32> {
        let value = (code >> self.t) as u32;
        (value != 0 && self.code(value) == code).then_some(value)
    }

    /// The two different values whose encodings add up to this, if there are such; the smaller first.
    pub(super) fn pair(self, code: u64) -> Option<(u32, u32)> {
        let (sum, cubes) = ((code >> self.t) as u32, (code & ((1 << self.t) - 1)) as u32);
        if sum == 0 {
            return None;
        }
        let product = self.product(cubes, self.inverse(sum)) ^ self.product(sum, sum);
        // With z = sum·y: y² + y = ab/sum².
        let inverse = self.inverse(sum);
        let y = self.half(self.product(product, self.product(inverse, inverse)))?;
        let a = self.product(sum, y);
        let b = a ^ sum;
        (a != 0 && b != 0).then(|| (a.min(b), a.max(b)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_polynomials_are_irreducible() {
        let degree = |p: u32| 31 - p.leading_zeros();
        for (t, poly) in (MIN_T..).zip(IRREDUCIBLE) {
            assert_eq!(degree(poly), t);
            for divisor in 2u32..1 << (t / 2 + 1) {
                let mut rest = poly;
                while rest != 0 && degree(rest) >= degree(divisor) {
                    rest ^= divisor << (degree(rest) - degree(divisor));
                }
                assert_ne!(rest, 0, "{poly:b} by {divisor:b}");
            }
        }
    }

    #[test]
    fn inverses_and_roots() {
        for t in MIN_T..=MAX_T {
            let field = Field::new(t);
            let step = if t > 10 { 97 } else { 1 };
            for a in (1..1u32 << t).step_by(step) {
                assert_eq!(field.product(a, field.inverse(a)), 1, "{t} {a}");
                let c = field.product(a, a) ^ a;
                let root = field.half(c).unwrap();
                assert!(root == a || root == a ^ 1, "{t} {a}: {root}");
            }
            let solvable = (0..1u32 << t.min(10)).filter(|c| field.half(*c).is_some()).count();
            assert!(t > 10 || solvable == 1 << (t - 1), "half of all have roots");
        }
    }

    /// A Sidon set: every pair is told by its sum.
    #[test]
    fn pairs_are_told_by_their_sum() {
        for t in MIN_T..=8 {
            let field = Field::new(t);
            for a in 1..1u32 << t {
                assert_eq!(field.single(field.code(a)), Some(a));
                for b in a + 1..1 << t {
                    assert_eq!(field.pair(field.code(a) ^ field.code(b)), Some((a, b)), "{t}");
                }
            }
            assert_eq!((field.pair(0), field.single(0)), (None, None));
        }
        let field = Field::new(16);
        for (a, b) in [(1, 2), (7, 65_535), (300, 40_000)] {
            assert_eq!(field.pair(field.code(a) ^ field.code(b)), Some((a, b)));
        }
    }
}
