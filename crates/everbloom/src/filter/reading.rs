//! How the text of keys was read.

use crate::error::{Result, agree};
use crate::state::{Decoder, Encoder, State};

/// What a filter's keys are, where they are not whole lines as bytes. A filter that is queried with keys read
/// in another way would answer wrongly without a word; so files remember it, and front ends obey it or refuse.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reading {
    /// The type of key that a text spells, such as `u64`; empty if a key is the bytes of its text.
    pub key_type: String,
    /// What separates a key from its ancestors, where those were inserted too; else empty.
    pub ancestors: String,
    /// Whether ASCII letters were folded to lower case.
    pub fold_case: bool,
}

/// The longest text in a reading.
const LONGEST: usize = 64;

impl Reading {
    /// Whether keys are the bytes of their text.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Refuses filters whose keys were read differently.
    pub(crate) fn agree(&self, other: &Reading) -> Result<()> {
        fn shown(text: &str) -> &str {
            if text.is_empty() { "none" } else { text }
        }
        agree("key type", shown(&self.key_type), shown(&other.key_type))?;
        agree("ancestors", shown(&self.ancestors), shown(&other.ancestors))?;
        agree("case folding", self.fold_case, other.fold_case)
    }
}

impl State for Reading {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| {
            out.bytes("key_type", self.key_type.as_bytes());
            out.bytes("ancestors", self.ancestors.as_bytes());
            out.u64("fold_case", self.fold_case.into());
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            let mut text = |name| {
                let bytes = src.bytes(name)?;
                let text = std::str::from_utf8(bytes).ok().filter(|text| text.len() <= LONGEST);
                text.map(str::to_owned)
                    .ok_or_else(|| src.corrupt(format!("{name} is no short text")))
            };
            let (key_type, ancestors) = (text("key_type")?, text("ancestors")?);
            let fold_case = match src.u64("fold_case")? {
                0 => false,
                1 => true,
                other => return Err(src.corrupt(format!("fold_case is {other}"))),
            };
            let reading = Self { key_type, ancestors, fold_case };
            if reading.is_plain() {
                return Err(src.corrupt("keys that are read plainly need no reading"));
            }
            Ok(reading)
        })
    }
}
