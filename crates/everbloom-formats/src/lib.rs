//! Bloom filters that other software writes: Parquet, Guava, Spark, RedisBloom and more.
//!
//! ```
//! use everbloom::Limits;
//! use everbloom_formats::Format;
//!
//! let guava = Format::named("guava")?;
//! let mut filter = guava.create(1000, 0.01)?;
//! filter.insert("apple")?;
//! let bytes = filter.write()?;
//! // … and any program with Guava in it reads these bytes, as this one does:
//! let again = guava.open_one(&bytes, Limits::NETWORK)?;
//! assert!(again.contains("apple")?);
//! # Ok::<(), everbloom::Error>(())
//! ```
//!
//! [`FORMATS`] is the list: a format is a file in `formats/` and a line there. [`Format::detect`] tells which ones
//! some bytes may be of, [`Format::open`] reads them, [`Format::create`] starts an empty filter that the other
//! software reads once it is written.
//!
//! # What a foreign filter is here
//!
//! Where the library has the hash and the probes of a format, under permanent ids ([`Format::can_convert`]),
//! [`Foreign::to_filter`] makes a filter of the library of the same bits: `bloom`, `split-block`, `blocked` or `cuckoo`, and
//! [`Format::adopt`] goes the other way. Filters of the other formats stay what they are, a [`Foreign`], which is
//! queried, described, filled and written, but has none of the library's further abilities.
//!
//! # Hostile bytes
//!
//! A reader checks every length before it uses it, allocates in proportion to the bytes that are there (their number,
//! and a few hundred bytes for each filter of a file of many; what is packed, up to the limits), and neither panics nor
//! loops on what a file claims. Bytes that contradict themselves are an error, never an empty filter.
//! Most of these formats have no checksum, so a flipped bit among the cells goes unnoticed, as it does in the
//! software they come from.
//!
//! Parquet and ORC files are read by the few dozen lines that find their filters, not by a crate for whole files:
//! such a crate brings decoders for all the data (and minutes of compilation), and this one has to keep the
//! promises above for bytes that nobody vouches for.
#![forbid(unsafe_code)]

mod bits;
mod format;
mod formats;
mod hashes;
mod key;
mod read;

pub use format::{Fit, Foreign, Format, Hints, Part};
pub use formats::{FORMATS, block_filter, cascade};
pub use key::{Key, KeyAs};
