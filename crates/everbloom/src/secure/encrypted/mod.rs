//! Encrypted filters (Bellovin, Cheswick 2004; catalogue §44; S0 ref. 58 §III-W).
//!
//! Alice searches Bob's documents. A third party T stands between them, and none of the three learns what the others
//! know. Words are encrypted by a cipher that commutes, E_K(X) = H(X)^K modulo a safe prime, so that T can turn a word
//! under Alice's key into one under Bob's by the ratio r = B/A, which tells neither key:
//!
//! ```text
//!   setup   Bob ── z·B ──▶ Alice ── z·B/A ──▶ T ◀── z ── Bob        T divides: r = B/A
//!   query   Alice ── E_A(W) ──▶ T ── E_A(W)^r = E_B(W) ──▶ Alice
//!           Alice ── cells of E_B(W), and dummies ──▶ Bob ── those bits of each document ──▶ Alice
//! ```
//!
//! Bob's filters hold the cells of E_B(word). Alice drops the dummies and looks whether all other bits are ones. Words are
//! mapped to squares, so that the Legendre symbol says nothing about them. No false negatives; the rate of false
//! positives is a standard filter's.
//!
//! Three variants of the paper: T may have a list of words under Bob's key, and turn only those (a warrant): a [`Policy`].
//! The paper's other list, of words that T refuses (censorship), holds only where Alice never gets the turned word: she
//! would send E_A(W)^s for a random s, of which no list knows anything, and take the s-th root of the answer. So it is
//! part of the next variant alone
//! ([`Warrant::refusing`](crate::exchange::encrypted::passing::Warrant::refusing)). T may salt the turned word itself and pass its cells on to Bob, so that Alice never
//! holds E_B(W) and each of her queries goes past T:
//!
//! ```text
//!   query   Alice ── E_A(W) ──▶ T ── cells of E_B(W), and T's dummies ──▶ Bob      both get a ticket
//!           Alice ◀── ticket, which of the bits count ── T
//!           Alice ── ticket ──▶ Bob ── those bits of each document ──▶ Alice
//! ```
//!
//! And Bob may leave his filters, under names that say nothing ([`Document::opaque`]), to an index server who does not
//! know B and so cannot tabulate a dictionary.
//!
//! **Leaks**: the encryption is deterministic, so T sees which words repeat. Bob knows B and can tabulate the cells of a
//! whole dictionary, so the query is hidden from him only as far as the dummies confuse him, and the paper's own appendix
//! finds that weak. Alice learns the dummies' bits, too. T and Bob together recover A; T and Alice recover B. E_B(W)
//! itself must never go to Bob, who inverts it. Where T passes queries on, Alice learns neither E_B(W) nor its cells, and
//! T chooses the dummies and knows them, but not the answer; whoever shows a ticket first gets the answer.
//! None of this hides who asks, when, or how often.
//!
//! **Use it** to study the scheme, or if three parties really do not collude. **Don't** if
//! [`private_query`](super::private_query) will do: it needs no third party and hides the query from the server
//! entirely.

mod field;
mod salting;

use std::collections::BTreeSet;
use std::fmt;

pub use field::{Field, Modp2048, Toy};
pub use salting::{Real, Salted};
use zeroize::Zeroizing;

use super::expand::expand;
use super::{Secret, chance};
use crate::parts::KeyPart as _;
use crate::parts::flat_bits::FlatBits;
use crate::variant::prelude::*;

/// A key of the cipher: an odd exponent that can be undone.
#[derive(Clone)]
pub struct CipherKey<F: Field> {
    exponent: Zeroizing<F::Number>,
    inverse: Zeroizing<F::Number>,
}

impl<F: Field> CipherKey<F> {
    /// The key that follows from a secret.
    pub fn derive(secret: &Secret) -> Result<Self> {
        Self::search(|attempt| Ok(secret.prf("encrypted", &[&[attempt]])))
    }

    /// A key from the system's random generator: a mask, used once.
    pub fn random() -> Result<Self> {
        Self::search(|_| chance::bytes())
    }

    fn search(seed: impl Fn(u8) -> Result<Zeroizing<[u8; 32]>>) -> Result<Self> {
        for attempt in 0..=u8::MAX {
            let seed = seed(attempt)?;
            let uniform = Zeroizing::new(expand(&[&seed[..]], b"everbloom encrypted exponent"));
            if let Some(key) = Self::new(F::exponent(&uniform)) {
                return Ok(key);
            }
        }
        Err(Error::new(Kind::Io, "no key follows from this secret"))
    }

    /// This exponent, if it can be undone.
    fn new(exponent: F::Number) -> Option<Self> {
        let inverse = Zeroizing::new(F::inverse(&exponent)?);
        Some(Self { exponent: Zeroizing::new(exponent), inverse })
    }

    /// A word under this key.
    pub fn encrypt(&self, word: &[u8]) -> F::Number {
        F::power(&F::square(&expand(&[word], b"everbloom encrypted word")), &self.exponent)
    }

    /// Bob's part of the ratio for Alice: the key under a mask.
    pub fn masked(&self, mask: &Self) -> Vec<u8> {
        written::<F>(&F::product(&self.exponent, &mask.exponent))
    }

    /// Alice's part of the ratio for T: what Bob sent, divided by her key.
    pub fn divide(&self, masked: &[u8]) -> Option<Vec<u8>> {
        Some(written::<F>(&F::product(&F::read_exponent(masked)?, &self.inverse)))
    }

    /// The exponent, for T alone if it is a mask.
    pub fn reveal(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(written::<F>(&self.exponent))
    }
}

impl<F: Field> fmt::Debug for CipherKey<F> {
    /// Never prints the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CipherKey(…)")
    }
}

/// What turns words under one key into words under another.
#[derive(Clone)]
pub struct Ratio<F: Field> {
    exponent: Zeroizing<F::Number>,
}

impl<F: Field> Ratio<F> {
    /// From what Alice sent and the mask that Bob sent; none if either is not an exponent that can be undone.
    pub fn new(part: &[u8], mask: &[u8]) -> Option<Self> {
        let inverse = Zeroizing::new(F::inverse(&F::read_exponent(mask)?)?);
        let exponent = F::product(&F::read_exponent(part)?, &inverse);
        Some(Self { exponent: Zeroizing::new(exponent) })
    }

    /// A word under the other key.
    pub fn apply(&self, word: &F::Number) -> F::Number {
        F::power(word, &self.exponent)
    }
}

impl<F: Field> fmt::Debug for Ratio<F> {
    /// Never prints the ratio.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ratio(…)")
    }
}

/// Words under the holder's key.
#[derive(Clone, Default)]
pub(crate) struct Listed(BTreeSet<Vec<u8>>);

impl Listed {
    pub(crate) fn new<F: Field>(words: impl IntoIterator<Item = F::Number>) -> Self {
        Self(words.into_iter().map(|word| written::<F>(&word)).collect())
    }

    pub(crate) fn has<F: Field>(&self, word: &F::Number) -> bool {
        self.0.contains(&written::<F>(word))
    }
}

/// Which words a third party turns: all of them, or those of a warrant. A list of words that are *not* turned would
/// promise nothing: the other side gets them blinded.
#[derive(Clone, Default)]
pub struct Policy {
    warrant: Option<Listed>,
}

impl Policy {
    /// Nothing but these words, under the holder's key. A word that was blinded is none of them.
    pub fn only<F: Field>(words: impl IntoIterator<Item = F::Number>) -> Self {
        Self { warrant: Some(Listed::new::<F>(words)) }
    }

    /// Whether a word may be turned.
    pub fn permits<F: Field>(&self, word: &F::Number) -> bool {
        self.warrant.as_ref().is_none_or(|listed| listed.has::<F>(word))
    }
}

impl fmt::Debug for Policy {
    /// Says how many words there are, and none of them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.warrant {
            Some(Listed(words)) => write!(f, "Policy(only {} words)", words.len()),
            None => f.write_str("Policy(all words)"),
        }
    }
}

/// A number's encoding.
pub fn written<F: Field>(number: &F::Number) -> Vec<u8> {
    let mut out = Vec::with_capacity(F::BYTES);
    F::write(number, &mut out);
    out
}

/// The filter of one of Bob's documents: cells of words under his key.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    name: Vec<u8>,
    bits: FlatBits,
}

impl Document {
    /// A document without words, for a shape that all documents share.
    pub fn new(name: &[u8], flat: Flat) -> Result<Self> {
        Ok(Self { name: name.to_vec(), bits: FlatBits::new(flat)? })
    }

    /// A document whose name only Bob can compute: a PRF output of its own name under his secret.
    pub fn opaque(secret: &Secret, name: &[u8], flat: Flat) -> Result<Self> {
        Self::new(&secret.prf("document", &[name])[..], flat)
    }

    /// Adds a word.
    pub fn insert<F: Field>(&mut self, key: &CipherKey<F>, word: &[u8]) {
        self.bits.insert(digest::<F>(&key.encrypt(word)));
    }

    /// Its name.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// The bits in these cells; none if one is not there.
    pub fn bits(&self, cells: &[u64]) -> Option<Vec<bool>> {
        let inside = cells.iter().all(|cell| *cell < self.bits.m());
        inside.then(|| cells.iter().map(|cell| self.bits.bits.get(*cell)).collect())
    }
}

fn digest<F: Field>(word: &F::Number) -> Digest {
    Hasher::default().digest(&written::<F>(word)[..])
}

/// The list entry.
pub static VARIANT: Variant = Variant::untyped(Facts {
    id: 94,
    slug: "encrypted",
    entry: "§44",
    question: "Is it in somebody else's set, asked through a third party that sees neither side?",
    kind: EntryKind::Protocol,
    name: "Encrypted Bloom filter (Pohlig–Hellman)",
    paper: "S. M. Bellovin, W. R. Cheswick, Privacy-enhanced searches using encrypted Bloom filters, IACR ePrint 2004/022",
    family: "secure",
    needs: &["membership"],
    meaning: "items are the words of a document; the rate is that of documents that match without containing the word",
    reach: 1 << 26,
    ..Facts::FILTER
});
