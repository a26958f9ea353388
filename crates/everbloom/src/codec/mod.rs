//! State ⇄ bytes: the `.evb` file. FORMAT.md draws every byte.
//!
//! A filter states its fields once, with `state!`; encoding, decoding, equality and the memory report
//! follow from that statement. There is one decoder for every way in ([`Opener`]): it checks magic,
//! version, length and checksums in that order, allocates nothing that is not there, and then runs the
//! variant's own check of cross-field invariants.

mod file;
pub mod pages;
mod tree;

pub use file::{Access, Inspection, Limits, MAGIC, MAJOR, MINOR, Opener, save, to_bytes};
pub use tree::{Decoder, Encoder, Memory, Role};

use crate::error::Result;
use crate::hash::Generator;

/// A part of a filter's state: a scalar, an array of cells, or a group of those.
pub trait State: Sized {
    /// Writes this part under `name`.
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>);

    /// Reads the part that was written under `name`.
    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self>;
}

/// States a struct's fields, in file order: `state!(Bloom { head, probe, bits })`.
///
/// The struct also has `fn check(&self) -> Result<()>`, which the decoder runs on what it has read:
/// the invariants that hold between fields.
macro_rules! state {
    ($type:ty { $($field:ident),+ $(,)? }) => {
        impl $crate::codec::State for $type {
            fn save<'a>(&'a self, name: &'static str, out: &mut $crate::codec::Encoder<'a>) {
                out.group(name, |out| {
                    $($crate::codec::State::save(&self.$field, stringify!($field), out);)+
                });
            }

            fn load(
                name: &'static str,
                src: &mut $crate::codec::Decoder<'_>,
            ) -> $crate::error::Result<Self> {
                src.group(name, |src| {
                    $(let $field = $crate::codec::State::load(stringify!($field), src)?;)+
                    let this = Self { $($field),+ };
                    this.check()?;
                    Ok(this)
                })
            }
        }
    };
}
pub(crate) use state;

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
        if list.is_empty() { Ok(value) } else { Err(src.corrupt(format!("{name} is there twice"))) }
    }
}
