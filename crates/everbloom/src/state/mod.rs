//! State ⇄ bytes: the tree that files are made of. FORMAT.md draws every byte.
//!
//! A filter states its fields once, with `state!`; encoding, decoding, equality and the memory report
//! follow from that statement. The decoder allocates nothing that is not there, and runs every part's own
//! check of cross-field invariants.

mod outline;
mod tag;
mod tree;

pub(crate) use tree::{Context, Payload, too_large};
pub use tree::{Decoder, Encoder, Memory, Role};

/// More items than any filter is ever given; a file that claims more is corrupt.
pub const MAX_ITEMS: u64 = 1 << 62;

/// Files and stores of another major version are refused.
pub const MAJOR: u16 = 1;
/// Those of a newer minor version are read.
pub const MINOR: u16 = 0;
/// The required feature of files that say how their keys were read.
pub(crate) const READING: u32 = 1;
/// The required features that this build knows.
const FEATURES: u32 = READING;

/// Magic, version and features: the first 20 bytes of a file or a manifest.
pub(crate) fn push_version(magic: [u8; 8], required: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&magic);
    out.extend_from_slice(&MAJOR.to_le_bytes());
    out.extend_from_slice(&MINOR.to_le_bytes());
    out.extend_from_slice(&required.to_le_bytes());
    out.extend_from_slice(&[0; 4]); // optional features: none yet
}

/// Refuses a file or a manifest that needs what this build does not have.
pub(crate) fn check_features(bytes: &[u8]) -> Result<()> {
    let unknown = u32_at(bytes, 12) & !FEATURES;
    if unknown == 0 {
        return Ok(());
    }
    Err(Error::new(
        Kind::UnsupportedFeature,
        format!("the file needs features {unknown:#x}, which this build does not have"),
    ))
}

/// Upper bounds on what a decoder accepts.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum file length, in bytes.
    pub bytes: u64,
    /// Maximum bytes for arrays that are longer in memory than in the file; `None` for the larger of
    /// 256 MiB and 32 times the file's length.
    pub expanded: Option<u64>,
    /// Whether a filter must not be fuller than its items explain: a filter of all ones says "present" to
    /// everything, and an honest one is never that full.
    pub explained: bool,
}

impl Limits {
    /// For your own files: any length and fill.
    pub const LOCAL: Limits = Limits { bytes: u64::MAX, expanded: None, explained: false };
    /// For bytes from a network: 128 MiB, expanded or not, and no fuller than their items explain.
    pub const NETWORK: Limits =
        Limits { bytes: 128 << 20, expanded: Some(128 << 20), explained: true };

    /// The same limits, with this many bytes for expanded data.
    #[must_use]
    pub fn expanded(self, bytes: u64) -> Self {
        Self { expanded: Some(bytes), ..self }
    }

    /// The same limits, for files of at most this many bytes.
    #[must_use]
    pub fn bytes(self, bytes: u64) -> Self {
        Self { bytes, ..self }
    }

    /// What a file of `length` bytes may expand to.
    pub fn expanded_for(&self, length: u64) -> u64 {
        self.expanded.unwrap_or(length.saturating_mul(32).max(256 << 20))
    }
}

/// The two bytes at `at`, which must be there.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap_or_default())
}

/// The four bytes at `at`, which must be there.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap_or_default())
}

/// The eight bytes at `at`, which must be there.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default())
}

use crate::error::{Error, Kind, Result};
use crate::hash::Generator;

/// A part of a filter's state: a scalar, an array of cells, or a group of those.
#[allow(unnameable_types, reason = "sealed: only types of this crate implement it")]
pub trait State: Sized {
    /// Writes this part under `name`.
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>);

    /// Reads the part that was written under `name`.
    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self>;
}

/// States a struct's fields, in file order: `state!(Bloom { head, probe, bits })`.
///
/// The struct also has `fn check(&self) -> Result<()>`, which the decoder runs on what it has read:
/// the invariants that hold between fields. A field marked `..` is a part that is stated without a group of
/// its own, so that a struct may be cut into parts without changing its bytes:
/// `state!(Bloom { head, ..flat })`; the part is declared by `state!(inline Rows { probe, rows })`, or, where it
/// is one field of another name, by `state!(inline Residues as parts)`; fields
/// that stand after the parts follow a semicolon: `state!(Deletable { head, ..flat; collided })`. Where nothing
/// has to hold between fields that check themselves, `state!(plain Bloom { head, ..flat })` leaves the check out.
macro_rules! state {
    (plain inline $type:ident $fields:tt) => {
        $crate::state::state!(@unchecked $type);
        $crate::state::state!(inline $type $fields);
    };
    (plain $type:ident $fields:tt) => {
        $crate::state::state!(@unchecked $type);
        $crate::state::state!($type $fields);
    };
    (@unchecked $type:ident) => {
        impl $type {
            fn check(&self) -> $crate::error::Result<()> {
                Ok(())
            }
        }
    };
    (inline $type:ty as $name:ident) => {
        impl $crate::state::Inline for $type {
            fn save_fields<'a>(&'a self, out: &mut $crate::state::Encoder<'a>) {
                $crate::state::State::save(self, stringify!($name), out);
            }

            fn load_fields(src: &mut $crate::state::Decoder<'_>) -> $crate::error::Result<Self> {
                $crate::state::State::load(stringify!($name), src)
            }
        }
    };
    (inline $type:ty { $($field:ident),+ $(,)? }) => {
        impl $crate::state::Inline for $type {
            fn save_fields<'a>(&'a self, out: &mut $crate::state::Encoder<'a>) {
                $($crate::state::State::save(&self.$field, stringify!($field), out);)+
            }

            fn load_fields(src: &mut $crate::state::Decoder<'_>) -> $crate::error::Result<Self> {
                $(let $field = $crate::state::State::load(stringify!($field), src)?;)+
                let this = Self { $($field),+ };
                this.check()?;
                Ok(this)
            }
        }
    };
    ($type:ty {
        $($field:ident),* $(,)? $(..$part:ident),* $(,)? $(; $($last:ident),+ $(,)?)?
    }) => {
        impl $crate::state::State for $type {
            fn save<'a>(&'a self, name: &'static str, out: &mut $crate::state::Encoder<'a>) {
                out.group(name, |out| {
                    $($crate::state::State::save(&self.$field, stringify!($field), out);)*
                    $($crate::state::Inline::save_fields(&self.$part, out);)*
                    $($($crate::state::State::save(&self.$last, stringify!($last), out);)+)?
                });
            }

            fn load(
                name: &'static str,
                src: &mut $crate::state::Decoder<'_>,
            ) -> $crate::error::Result<Self> {
                src.group(name, |src| {
                    $(let $field = $crate::state::State::load(stringify!($field), src)?;)*
                    $(let $part = $crate::state::Inline::load_fields(src)?;)*
                    $($(let $last = $crate::state::State::load(stringify!($last), src)?;)+)?
                    let this = Self { $($field,)* $($part,)* $($($last),+)? };
                    this.check()?;
                    Ok(this)
                })
            }
        }
    };
}
pub(crate) use state;

/// A part whose fields are stored in the group of its owner.
pub trait Inline: Sized {
    /// Writes the fields.
    fn save_fields<'a>(&'a self, out: &mut Encoder<'a>);

    /// Reads the fields.
    fn load_fields(src: &mut Decoder<'_>) -> Result<Self>;
}

impl State for u64 {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.u64(name, *self);
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.u64(name)
    }
}

impl State for u32 {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.u64(name, u64::from(*self));
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        let value = src.u64(name)?;
        value.try_into().map_err(|_| src.corrupt(format!("{name} is {value}, beyond 32 bits")))
    }
}

impl State for f64 {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.f64(name, *self);
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.f64(name)
    }
}

impl State for Vec<u8> {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.bytes(name, self);
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.bytes(name).map(<[u8]>::to_vec)
    }
}

impl State for Generator {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.u64(name, self.state());
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.u64(name).map(Generator::new)
    }
}

impl<T: State> State for Vec<T> {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.list(name, self);
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.list(name)
    }
}

impl<T: State> State for Option<T> {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.list(name, self.as_slice());
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        let mut list = src.list(name)?;
        let value = list.pop();
        if list.is_empty() { Ok(value) } else { Err(src.corrupt(format!("{name} occurs twice"))) }
    }
}
