//! Groups of prime order: the real one, and a toy with which parsers and state machines are tried quickly.

use std::fmt;

use curve25519_dalek::constants::RISTRETTO_BASEPOINT_POINT;
use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::Identity;
use zeroize::Zeroize;

use crate::theory::prime::power;

/// A group of prime order and the encodings of its elements and scalars.
pub trait Group: Clone + Copy + fmt::Debug + 'static {
    /// An element other than the identity, once it is decoded.
    type Element: Copy + PartialEq;
    /// A number modulo the order.
    type Scalar: Copy + PartialEq + Zeroize;

    /// What the standard calls the group and its hash.
    const NAME: &'static str;
    /// Length of an element's encoding.
    const ELEMENT: usize;
    /// Length of a scalar's encoding.
    const SCALAR: usize;

    /// The generator.
    fn generator() -> Self::Element;
    /// An element whose logarithm nobody knows, from uniform bytes.
    fn element(uniform: &[u8; 64]) -> Self::Element;
    /// A scalar from uniform bytes.
    fn scalar(uniform: &[u8; 64]) -> Self::Scalar;
    /// A zero, where a scalar must not be one.
    fn is_zero(scalar: &Self::Scalar) -> bool;
    /// The element, so many times.
    fn mul(element: &Self::Element, scalar: &Self::Scalar) -> Self::Element;
    /// The sum of two elements.
    fn add(a: &Self::Element, b: &Self::Element) -> Self::Element;
    /// r − c·k.
    fn minus(r: &Self::Scalar, c: &Self::Scalar, k: &Self::Scalar) -> Self::Scalar;
    /// 1/s, for s other than 0.
    fn invert(scalar: &Self::Scalar) -> Self::Scalar;
    /// Appends the encoding of an element.
    fn write(element: &Self::Element, out: &mut Vec<u8>);
    /// The element that these bytes are the one encoding of; none for the identity.
    fn read(bytes: &[u8]) -> Option<Self::Element>;
    /// Appends the encoding of a scalar.
    fn write_scalar(scalar: &Self::Scalar, out: &mut Vec<u8>);
    /// The scalar that these bytes are the one encoding of.
    fn read_scalar(bytes: &[u8]) -> Option<Self::Scalar>;
}

/// ristretto255 with SHA-512, as RFC 9497 §4.1 has it.
#[derive(Clone, Copy, Debug)]
pub struct Ristretto;

impl Group for Ristretto {
    type Element = RistrettoPoint;
    type Scalar = Scalar;

    const NAME: &'static str = "ristretto255-SHA512";
    const ELEMENT: usize = 32;
    const SCALAR: usize = 32;

    fn generator() -> RistrettoPoint {
        RISTRETTO_BASEPOINT_POINT
    }

    fn element(uniform: &[u8; 64]) -> RistrettoPoint {
        RistrettoPoint::from_uniform_bytes(uniform)
    }

    fn scalar(uniform: &[u8; 64]) -> Scalar {
        Scalar::from_bytes_mod_order_wide(uniform)
    }

    fn is_zero(scalar: &Scalar) -> bool {
        *scalar == Scalar::ZERO
    }

    fn mul(element: &RistrettoPoint, scalar: &Scalar) -> RistrettoPoint {
        element * scalar
    }

    fn add(a: &RistrettoPoint, b: &RistrettoPoint) -> RistrettoPoint {
        a + b
    }

    fn minus(r: &Scalar, c: &Scalar, k: &Scalar) -> Scalar {
        r - c * k
    }

    fn invert(scalar: &Scalar) -> Scalar {
        scalar.invert()
    }

    fn write(element: &RistrettoPoint, out: &mut Vec<u8>) {
        out.extend_from_slice(element.compress().as_bytes());
    }

    fn read(bytes: &[u8]) -> Option<RistrettoPoint> {
        let element = CompressedRistretto::from_slice(bytes).ok()?.decompress()?;
        Some(element).filter(|element| *element != RistrettoPoint::identity())
    }

    fn write_scalar(scalar: &Scalar, out: &mut Vec<u8>) {
        out.extend_from_slice(scalar.as_bytes());
    }

    fn read_scalar(bytes: &[u8]) -> Option<Scalar> {
        Scalar::from_canonical_bytes(bytes.try_into().ok()?).into()
    }
}

/// The squares modulo the safe prime 2³¹ − 69, written as a group like any other. It hides nothing: a
/// logarithm takes a second. With it, millions of exchanges can be tried.
#[derive(Clone, Copy, Debug)]
pub struct Toy;

/// A safe prime, 2q + 1.
const P: u64 = (1 << 31) - 69;
/// The order of the squares, a prime.
const Q: u64 = (P - 1) / 2;

impl Group for Toy {
    type Element = u32;
    type Scalar = u32;

    const NAME: &'static str = "toy-SHA512";
    const ELEMENT: usize = 4;
    const SCALAR: usize = 4;

    fn generator() -> u32 {
        4
    }

    fn element(uniform: &[u8; 64]) -> u32 {
        // 2 to P − 2, squared: never 0 nor 1.
        let root = crate::state::u64_at(uniform, 0) % (P - 3) + 2;
        (root * root % P) as u32
    }

    fn scalar(uniform: &[u8; 64]) -> u32 {
        (crate::state::u64_at(uniform, 0) % Q) as u32
    }

    fn is_zero(scalar: &u32) -> bool {
        *scalar == 0
    }

    fn mul(element: &u32, scalar: &u32) -> u32 {
        power((*element).into(), (*scalar).into(), P) as u32
    }

    fn add(a: &u32, b: &u32) -> u32 {
        (u64::from(*a) * u64::from(*b) % P) as u32
    }

    fn minus(r: &u32, c: &u32, k: &u32) -> u32 {
        let [r, c, k] = [r, c, k].map(|s| u64::from(*s));
        ((r + Q - c * k % Q) % Q) as u32
    }

    fn invert(scalar: &u32) -> u32 {
        power((*scalar).into(), Q - 2, Q) as u32
    }

    fn write(element: &u32, out: &mut Vec<u8>) {
        out.extend_from_slice(&element.to_le_bytes());
    }

    fn read(bytes: &[u8]) -> Option<u32> {
        let element = u64::from(u32::from_le_bytes(bytes.try_into().ok()?));
        ((2..P).contains(&element) && power(element, Q, P) == 1).then_some(element as u32)
    }

    fn write_scalar(scalar: &u32, out: &mut Vec<u8>) {
        out.extend_from_slice(&scalar.to_le_bytes());
    }

    fn read_scalar(bytes: &[u8]) -> Option<u32> {
        let scalar = u32::from_le_bytes(bytes.try_into().ok()?);
        (u64::from(scalar) < Q).then_some(scalar)
    }
}
