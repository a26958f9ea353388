//! An oblivious pseudorandom function (RFC 9497): the server's key, the client's input, and neither sees the
//! other's.
//!
//! ```text
//!   client: H(x)^ρ ───── blinded ─────▶ server: its κ-th power, and a proof that κ is the public key's
//!   client: the 1/ρ-th power, H(x)^κ, hashed with x ◀───── evaluated, proof
//! ```
//!
//! The blinded element is a uniformly random one, whatever x is. In mode [`Mode::Verified`] (VOPRF) the client checks
//! a proof (DLEQ, one for a whole batch) that the server used the key whose public half it published; without
//! it a lying server could use any key, and force outputs that no one else has.
//!
//! The group is ristretto255 with SHA-512 ([`Ristretto`]), checked against the test vectors of RFC 9497 A.1.1 and
//! A.1.2. [`Toy`] is a group of 31 bits, to try parsers and state machines.

mod group;
#[cfg(test)]
mod tests;

use std::fmt;

pub use group::{Group, Ristretto, Toy};
use sha2::{Digest, Sha512};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

use super::expand::expand;
use super::{Secret, chance};
use crate::error::{Error, Kind, Result};

/// What the function returns.
pub type Output = Zeroizing<[u8; 64]>;

/// Most elements that one proof is made for: their numbers have two bytes.
pub const MOST: usize = u16::MAX as usize;

/// Whether answers come with a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// None: the client trusts the server to use its key.
    Plain = 0,
    /// A proof that the server used the key that it published.
    Verified = 1,
}

impl Mode {
    /// A domain for hashing: what for, mode and group.
    fn domain<G: Group>(self, purpose: &str) -> Vec<u8> {
        [purpose.as_bytes(), b"OPRFV1-", &[self as u8], b"-", G::NAME.as_bytes()].concat()
    }

    fn element<G: Group>(self, input: &[u8]) -> G::Element {
        G::element(&expand(&[input], &self.domain::<G>("HashToGroup-")))
    }

    fn scalar<G: Group>(self, message: &[u8]) -> G::Scalar {
        G::scalar(&expand(&[message], &self.domain::<G>("HashToScalar-")))
    }
}

/// The parts, each preceded by its length in two bytes.
fn framed(parts: &[&[u8]]) -> Vec<u8> {
    parts.iter().flat_map(|part| [&(part.len() as u16).to_be_bytes()[..], part].concat()).collect()
}

fn encoded<G: Group>(element: &G::Element) -> Vec<u8> {
    let mut out = Vec::with_capacity(G::ELEMENT);
    G::write(element, &mut out);
    out
}

/// The elements, one behind the other.
pub fn write_elements<G: Group>(elements: &[G::Element], out: &mut Vec<u8>) {
    elements.iter().for_each(|element| G::write(element, out));
}

/// The elements that bytes consist of; none if any of them is not the encoding of one.
pub fn read_elements<G: Group>(bytes: &[u8]) -> Option<Vec<G::Element>> {
    let whole = bytes.len().is_multiple_of(G::ELEMENT);
    whole.then(|| bytes.chunks_exact(G::ELEMENT).map(G::read).collect())?
}

/// A scalar other than zero, from the system's random generator.
fn random_scalar<G: Group>() -> Result<G::Scalar> {
    loop {
        let scalar = G::scalar(&*chance::bytes()?);
        if !G::is_zero(&scalar) {
            return Ok(scalar);
        }
    }
}

/// The server's key.
#[derive(Clone)]
pub struct ServerKey<G: Group> {
    mode: Mode,
    secret: Zeroizing<G::Scalar>,
    public: G::Element,
}

impl<G: Group> ServerKey<G> {
    /// The key that RFC 9497 §3.2.1 derives from a secret, for a purpose that is part of the key.
    pub fn derive(mode: Mode, secret: &Secret, purpose: &[u8]) -> Result<Self> {
        Self::derive_from(mode, secret.bytes(), purpose)
    }

    fn derive_from(mode: Mode, seed: &[u8; 32], purpose: &[u8]) -> Result<Self> {
        let length = u16::try_from(purpose.len())
            .map_err(|_| Error::parameter("a purpose has at most 65535 bytes"))?;
        let dst = mode.domain::<G>("DeriveKeyPair");
        for counter in 0..=u8::MAX {
            let message: [&[u8]; 4] = [seed, &length.to_be_bytes(), purpose, &[counter]];
            let scalar = Zeroizing::new(G::scalar(&Zeroizing::new(expand(&message, &dst))));
            if !G::is_zero(&scalar) {
                let public = G::mul(&G::generator(), &scalar);
                return Ok(Self { mode, secret: scalar, public });
            }
        }
        Err(Error::new(Kind::Io, "no key follows from this secret"))
    }

    /// The public half, by which answers are verified.
    pub fn public(&self) -> G::Element {
        self.public
    }

    /// The function itself, of an input that the server knows.
    pub fn output(&self, input: &[u8]) -> Result<Output> {
        let element = self.mode.element::<G>(checked(input)?);
        Ok(finish::<G>(input, &G::mul(&element, &self.secret)))
    }

    /// The κ-th powers of blinded elements.
    pub fn evaluate(&self, blinded: &[G::Element]) -> Vec<G::Element> {
        blinded.iter().map(|element| G::mul(element, &self.secret)).collect()
    }

    /// The proof that [`ServerKey::evaluate`] used this key.
    pub fn prove(&self, blinded: &[G::Element], evaluated: &[G::Element]) -> Result<Proof<G>> {
        Ok(self.prove_with(Zeroizing::new(random_scalar::<G>()?), blinded, evaluated))
    }

    fn prove_with(
        &self,
        random: Zeroizing<G::Scalar>,
        blinded: &[G::Element],
        evaluated: &[G::Element],
    ) -> Proof<G> {
        let m = self.composite(blinded, evaluated);
        let z = G::mul(&m, &self.secret);
        let (a, b) = (G::mul(&G::generator(), &random), G::mul(&m, &random));
        let c = challenge::<G>(self.mode, [&self.public, &m, &z, &a, &b]);
        Proof { c, s: G::minus(&random, &c, &self.secret) }
    }

    fn composite(&self, blinded: &[G::Element], evaluated: &[G::Element]) -> G::Element {
        let weights = weights::<G>(self.mode, &self.public, blinded, evaluated);
        weighted::<G>(blinded, &weights)
    }
}

impl<G: Group> fmt::Debug for ServerKey<G> {
    /// Never prints the secret half.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerKey").field("mode", &self.mode).finish_non_exhaustive()
    }
}

/// A proof that two lists of elements have the same ratio as the generator and a public key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proof<G: Group> {
    c: G::Scalar,
    s: G::Scalar,
}

impl<G: Group> Proof<G> {
    /// Length of its encoding.
    pub const LENGTH: usize = 2 * G::SCALAR;

    /// Whether the server whose key has this public half evaluated the blinded elements.
    pub fn verify(
        &self,
        public: &G::Element,
        blinded: &[G::Element],
        evaluated: &[G::Element],
    ) -> bool {
        if blinded.len() != evaluated.len() || blinded.len() > MOST {
            return false;
        }
        let mode = Mode::Verified;
        let weights = weights::<G>(mode, public, blinded, evaluated);
        let (m, z) = (weighted::<G>(blinded, &weights), weighted::<G>(evaluated, &weights));
        let sum = |x, y| G::add(&G::mul(x, &self.s), &G::mul(y, &self.c));
        let (a, b) = (sum(&G::generator(), public), sum(&m, &z));
        let expected = challenge::<G>(mode, [public, &m, &z, &a, &b]);
        let [mut ours, mut theirs] = [Vec::new(), Vec::new()];
        G::write_scalar(&expected, &mut ours);
        G::write_scalar(&self.c, &mut theirs);
        ours.ct_eq(&theirs).into()
    }

    /// Appends the encoding: c, s.
    pub fn write(&self, out: &mut Vec<u8>) {
        G::write_scalar(&self.c, out);
        G::write_scalar(&self.s, out);
    }

    /// The proof that these bytes encode.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (c, s) = bytes.split_at_checked(G::SCALAR)?;
        Some(Self { c: G::read_scalar(c)?, s: G::read_scalar(s)? })
    }
}

/// The weights that make one pair of elements of many (RFC 9497 §2.2.1).
fn weights<G: Group>(
    mode: Mode,
    public: &G::Element,
    blinded: &[G::Element],
    evaluated: &[G::Element],
) -> Vec<G::Scalar> {
    let seed = framed(&[&encoded::<G>(public), &mode.domain::<G>("Seed-")]);
    let seed = framed(&[&Sha512::digest(seed)]);
    let pairs = blinded.iter().zip(evaluated).enumerate();
    let weight = |(i, (c, d)): (usize, (&G::Element, &G::Element))| {
        let pair = framed(&[&encoded::<G>(c), &encoded::<G>(d)]);
        mode.scalar::<G>(&[&seed[..], &(i as u16).to_be_bytes(), &pair, b"Composite"].concat())
    };
    pairs.map(weight).collect()
}

/// The sum of elements times their weights; the generator for none at all, which no one asks for.
fn weighted<G: Group>(elements: &[G::Element], weights: &[G::Scalar]) -> G::Element {
    let mut terms = elements.iter().zip(weights).map(|(element, weight)| G::mul(element, weight));
    let first = terms.next().unwrap_or_else(G::generator);
    terms.fold(first, |sum, term| G::add(&sum, &term))
}

fn challenge<G: Group>(mode: Mode, elements: [&G::Element; 5]) -> G::Scalar {
    let elements = elements.map(encoded::<G>);
    let mut message = framed(&elements.each_ref().map(Vec::as_slice));
    message.extend_from_slice(b"Challenge");
    mode.scalar::<G>(&message)
}

/// An input and what hides it: a scalar that is used once.
pub struct Blinded<G: Group> {
    blind: Zeroizing<G::Scalar>,
    element: G::Element,
}

impl<G: Group> Blinded<G> {
    /// The input under a random blind.
    pub fn new(mode: Mode, input: &[u8]) -> Result<Self> {
        Self::with(mode, input, Zeroizing::new(random_scalar::<G>()?))
    }

    /// The input under a blind that follows from a secret, a number that is never used again under it, and the
    /// place of the input: anyone who has both can blind again, and so unblind, later.
    pub fn derived(
        mode: Mode,
        input: &[u8],
        (secret, once): (&Secret, &[u8; 16]),
        place: u64,
    ) -> Result<Self> {
        for attempt in 0..=u8::MAX {
            let half =
                |half: u8| secret.prf("blind", &[once, &place.to_le_bytes(), &[attempt, half]]);
            let mut uniform = Zeroizing::new([0; 64]);
            uniform[..32].copy_from_slice(&*half(0));
            uniform[32..].copy_from_slice(&*half(1));
            let blind = Zeroizing::new(G::scalar(&uniform));
            if !G::is_zero(&blind) {
                return Self::with(mode, input, blind);
            }
        }
        Err(Error::new(Kind::Io, "no blind follows from this secret"))
    }

    fn with(mode: Mode, input: &[u8], blind: Zeroizing<G::Scalar>) -> Result<Self> {
        let element = G::mul(&mode.element::<G>(checked(input)?), &blind);
        Ok(Self { blind, element })
    }

    /// What the server sees.
    pub fn element(&self) -> G::Element {
        self.element
    }

    /// The function's output, from the server's answer.
    pub fn finish(&self, input: &[u8], evaluated: &G::Element) -> Output {
        finish::<G>(input, &G::mul(evaluated, &Zeroizing::new(G::invert(&self.blind))))
    }
}

impl<G: Group> fmt::Debug for Blinded<G> {
    /// Never prints the blind.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Blinded(…)")
    }
}

/// The hash of an input and its unblinded element.
fn finish<G: Group>(input: &[u8], element: &G::Element) -> Output {
    let mut element = encoded::<G>(element);
    let mut message = framed(&[input, &element]);
    message.extend_from_slice(b"Finalize");
    let output = Zeroizing::new(Sha512::digest(&message).into());
    message.zeroize();
    element.zeroize();
    output
}

/// Inputs have their length in two bytes.
fn checked(input: &[u8]) -> Result<&[u8]> {
    if u16::try_from(input.len()).is_ok() {
        return Ok(input);
    }
    Err(Error::record(format!("a key of {} bytes: the maximum is 65535", input.len())))
}
