//! Arithmetic modulo a safe prime p: elements modulo p, exponents modulo p − 1.

use std::fmt;

use crypto_bigint::modular::{FixedMontyForm, FixedMontyParams};
use crypto_bigint::{NonZero, Odd, U2048, Uint};
use zeroize::Zeroize;

use crate::theory::prime::power;

/// Elements and exponents modulo a safe prime. Both are numbers of the same length.
pub trait Field: Clone + Copy + fmt::Debug + 'static {
    /// An element or an exponent.
    type Number: Copy + PartialEq + Zeroize;

    /// Length of a number's encoding.
    const BYTES: usize;

    /// A square other than 0 and 1, from uniform bytes.
    fn square(uniform: &[u8; 288]) -> Self::Number;
    /// An odd exponent from uniform bytes.
    fn exponent(uniform: &[u8; 288]) -> Self::Number;
    /// The power of an element.
    fn power(base: &Self::Number, exponent: &Self::Number) -> Self::Number;
    /// The product of two exponents.
    fn product(a: &Self::Number, b: &Self::Number) -> Self::Number;
    /// The exponent that undoes this one, if one does.
    fn inverse(exponent: &Self::Number) -> Option<Self::Number>;
    /// Appends a number's encoding.
    fn write(number: &Self::Number, out: &mut Vec<u8>);
    /// The square, other than 0 and 1, that these bytes are the one encoding of.
    fn read_square(bytes: &[u8]) -> Option<Self::Number>;
    /// The exponent that can be undone, that these bytes are the one encoding of.
    fn read_exponent(bytes: &[u8]) -> Option<Self::Number>;
}

/// The 2048-bit prime of RFC 3526, group 14.
#[derive(Clone, Copy, Debug)]
pub struct Modp2048;

const P: Odd<U2048> = Odd::<U2048>::from_be_hex(
    "ffffffffffffffffc90fdaa22168c234c4c6628b80dc1cd129024e088a67cc74\
     020bbea63b139b22514a08798e3404ddef9519b3cd3a431b302b0a6df25f1437\
     4fe1356d6d51c245e485b576625e7ec6f44c42e9a637ed6b0bff5cb6f406b7ed\
     ee386bfb5a899fa5ae9f24117c4b1fe649286651ece45b3dc2007cb8a163bf05\
     98da48361c55d39a69163fa8fd24cf5f83655d23dca3ad961c62f356208552bb\
     9ed529077096966d670c354e4abc9804f1746c08ca18217c32905e462e36ce3b\
     e39e772c180e86039b2783a2ec07a28fb5c55df06f4c52c9de2bcbf695581718\
     3995497cea956ae515d2261898fa051015728e5a8aacaa68ffffffffffffffff",
);

const PARAMS: FixedMontyParams<{ U2048::LIMBS }> = FixedMontyParams::new_vartime(P);

/// p − 1.
fn order() -> NonZero<U2048> {
    NonZero::new(P.get().wrapping_sub(&U2048::ONE)).unwrap_or(NonZero::ONE)
}

/// The bytes, 32 more than a number has, modulo `n`: so many that no remainder is likelier than others.
fn reduced(uniform: &[u8; 288], n: &NonZero<U2048>) -> U2048 {
    type Wide = Uint<{ U2048::LIMBS + 256 / crypto_bigint::Limb::BITS as usize }>;
    Wide::from_le_slice(uniform).rem(n)
}

fn number(bytes: &[u8]) -> Option<U2048> {
    (bytes.len() == Modp2048::BYTES).then(|| U2048::from_le_slice(bytes))
}

fn powered(base: &U2048, exponent: &U2048) -> U2048 {
    FixedMontyForm::new(base, &PARAMS).pow(exponent).retrieve()
}

impl Field for Modp2048 {
    type Number = U2048;

    const BYTES: usize = 256;

    fn square(uniform: &[u8; 288]) -> U2048 {
        // 0, 1 and p − 1 come up once in 2²⁰⁴⁶ times.
        powered(&reduced(uniform, P.as_nz_ref()), &U2048::from(2u32))
    }

    fn exponent(uniform: &[u8; 288]) -> U2048 {
        reduced(uniform, &order()) | U2048::ONE
    }

    fn power(base: &U2048, exponent: &U2048) -> U2048 {
        powered(base, exponent)
    }

    fn product(a: &U2048, b: &U2048) -> U2048 {
        a.mul_mod(b, &order())
    }

    fn inverse(exponent: &U2048) -> Option<U2048> {
        exponent.invert_mod(&order()).into_option()
    }

    fn write(number: &U2048, out: &mut Vec<u8>) {
        let words = number.as_words().iter();
        out.extend(words.flat_map(|word| word.to_le_bytes()));
    }

    fn read_square(bytes: &[u8]) -> Option<U2048> {
        let element = number(bytes)?;
        let half = order().get().wrapping_shr(1);
        let inside = element > U2048::ONE && element < P.get();
        (inside && powered(&element, &half) == U2048::ONE).then_some(element)
    }

    fn read_exponent(bytes: &[u8]) -> Option<U2048> {
        let exponent = number(bytes).filter(|exponent| *exponent < order().get())?;
        Self::inverse(&exponent).map(|_| exponent)
    }
}

/// A safe prime of at most 31 bits: for tests, and to try parsers and state machines. It hides nothing.
#[derive(Clone, Copy, Debug)]
pub struct Toy<const Q: u64>;

impl<const Q: u64> Toy<Q> {
    const ORDER: u64 = Q - 1;

    fn uniform(uniform: &[u8; 288]) -> u64 {
        crate::state::u64_at(uniform, 0)
    }
}

impl<const Q: u64> Field for Toy<Q> {
    type Number = u64;

    const BYTES: usize = 4;

    fn square(uniform: &[u8; 288]) -> u64 {
        let root = Self::uniform(uniform) % (Q - 3) + 2;
        root * root % Q
    }

    fn exponent(uniform: &[u8; 288]) -> u64 {
        (Self::uniform(uniform) % Self::ORDER) | 1
    }

    fn power(base: &u64, exponent: &u64) -> u64 {
        power(*base, *exponent, Q)
    }

    fn product(a: &u64, b: &u64) -> u64 {
        a * b % Self::ORDER
    }

    /// By Euler: the units modulo 2q are (q − 1) many, for a prime q.
    fn inverse(exponent: &u64) -> Option<u64> {
        let inverse = power(*exponent, Self::ORDER / 2 - 2, Self::ORDER);
        (Self::product(exponent, &inverse) == 1).then_some(inverse)
    }

    fn write(number: &u64, out: &mut Vec<u8>) {
        out.extend_from_slice(&(*number as u32).to_le_bytes());
    }

    fn read_square(bytes: &[u8]) -> Option<u64> {
        let element = u64::from(u32::from_le_bytes(bytes.try_into().ok()?));
        let square = (2..Q).contains(&element) && power(element, Self::ORDER / 2, Q) == 1;
        square.then_some(element)
    }

    fn read_exponent(bytes: &[u8]) -> Option<u64> {
        let exponent = u64::from(u32::from_le_bytes(bytes.try_into().ok()?));
        (exponent < Self::ORDER && Self::inverse(&exponent).is_some()).then_some(exponent)
    }
}
