//! Every Bloom filter, in one library.
//!
//! ```
//! use everbloom::Bloom;
//!
//! let mut seen = Bloom::with_rate(1_000_000, 0.01)?;
//! seen.insert("apple");
//! assert!(seen.contains("apple"));
//! assert!(!seen.contains("pear"));
//! # Ok::<(), everbloom::Error>(())
//! ```
//!
//! # Which type?
//!
#![cfg_attr(feature = "full", doc = include_str!("front.md"))]
#![cfg_attr(
    not(feature = "full"),
    doc = "The documentation of the feature `full` has a table of all types here."
)]
//!
//! A type that takes keys one by one has `with_rate(items, rate)` and `builder()`; one that is built from all
//! its keys at once has `from_keys(keys, rate)`. `insert` and `contains` take any [`Key`]. Every type is a
//! [`Filter`]. [`save`] writes a file, [`open`] and [`open_as`] read it, [`Opener`] maps it, or reads it under
//! limits.
//!
//! Code that picks a variant at run time takes it from [`catalog::VARIANTS`]:
//!
//! ```
//! use everbloom::{Goal, Record, catalog};
//!
//! let variant = catalog::by_slug("blocked").expect("in the list");
//! let filter = variant.build_from(&Goal::new(1000, 0.01), &[Record::key(b"apple")])?;
//! assert!(filter.contains(b"apple"));
//! # Ok::<(), everbloom::Error>(())
//! ```
//!
//! # Features
//!
//! A program compiles what its features name. [`Bloom`] and [`BlockedBloom`] are always there.
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `everyday` | yes | [`SplitBlock`], [`Counting`], [`Cuckoo`], [`Scalable`], [`BinaryFuse`], [`Ribbon`]; `choose` and `dedupe` |
//! | `mmap` | yes | files opened in place, and huge pages for large arrays |
//! | `parallel` | yes | bulk insertion and static builds on all cores |
//! | a family: `membership`, `compact`, `counting`, `fingerprints`, `growing`, `decaying`, `deleting`, `known`, `weighted`, `grouping`, `keyvalue`, `reconciling`, `structured`, `sketches`, `hardware` | no | the module of that name |
//! | `secure` | no | secure indexes, private queries, encrypted filters |
//! | `full` | no | every family, and `secure` |
//! | `serde` | no | filters as bytes inside serde formats |
//!
//! A file whose variant is not compiled in is refused, with the name of the feature.
#![deny(unsafe_code)]
// Mechanisms serve several families. What no family of a build needs is not compiled into it; whether all of it has a
// user, the build of everything tells.
#![cfg_attr(not(feature = "full"), allow(dead_code, unused_imports, unused_macros))]

// Ground floor first: a module imports only what stands above it here. `xtask layers` checks it.
mod cells;
mod disk;
mod error;
mod filter;
mod hash;
mod memory;
mod names;
mod pages;
mod parts;
mod plan;
mod probe;
#[cfg(test)]
mod shared_tests;
mod simd;
#[cfg(feature = "everyday")]
mod solve;
mod state;
mod sys;
mod theory;
mod threads;
mod variant;

#[cfg(feature = "everyday")]
pub mod compact;
#[cfg(feature = "everyday")]
pub mod counting;
#[cfg(feature = "decaying")]
pub mod decaying;
#[cfg(feature = "deleting")]
pub mod deleting;
#[cfg(feature = "everyday")]
pub mod fingerprints;
#[cfg(feature = "grouping")]
pub mod grouping;
#[cfg(feature = "everyday")]
pub mod growing;
#[cfg(feature = "hardware")]
pub mod hardware;
#[cfg(feature = "keyvalue")]
pub mod keyvalue;
#[cfg(feature = "known")]
pub mod known;
pub mod membership;
#[cfg(feature = "reconciling")]
pub mod reconciling;
#[cfg(feature = "secure")]
pub mod secure;
#[cfg(feature = "sketches")]
pub mod sketches;
#[cfg(feature = "structured")]
pub mod structured;
#[cfg(feature = "weighted")]
pub mod weighted;

pub mod catalog;
#[cfg(feature = "everyday")]
pub mod choose;
#[cfg(feature = "everyday")]
pub mod dedupe;
#[cfg(feature = "reconciling")]
pub mod exchange;
mod file;
mod sample;
#[cfg(feature = "serde")]
pub mod serde;

#[cfg(feature = "everyday")]
pub use compact::{BinaryFuse, Ribbon};
#[cfg(feature = "everyday")]
pub use counting::Counting;
#[cfg(feature = "decaying")]
pub use decaying::Stable;
pub use disk::Wait;
pub use error::{Error, Kind, Result};
pub use file::{Access, Inspection, Opener, Update, open, open_as, save, to_bytes, write_to};
pub use filter::{
    Ability, Answer, Bound, Counted, Detail, Difference, Differences, EntryKind, Fact, FactValue,
    Facts, Filter, Form, Head, MergeLaw, Number, Parts, Rates, Reading, Record, Seen, Setting,
    Touched, Value, Verdict,
};
#[cfg(feature = "everyday")]
pub use fingerprints::Cuckoo;
#[cfg(feature = "everyday")]
pub use growing::Scalable;
pub use hash::{Element, HashId, HashKey, Hasher, Key, SecretKey};
#[cfg(feature = "keyvalue")]
pub use keyvalue::Bloomier;
#[cfg(feature = "everyday")]
pub use membership::SplitBlock;
pub use membership::{BlockedBloom, Bloom};
pub use memory::use_global_allocator;
pub use plan::{Expect, Flat, Goal, Load};
#[cfg(feature = "reconciling")]
pub use reconciling::Invertible;
pub use simd::instruction_set;
pub use state::{Limits, Memory};
pub use variant::{Builder, Inputs, Listed, Mapped, Source, Variant};

/// Every entry of the list, by family.
#[cfg_attr(feature = "full", doc = include_str!("types.md"))]
pub mod types {}

/// What filters are made of, where their methods show it: arrays of cells, digests, probe schemes.
pub mod raw {
    pub use crate::cells::Bits;
    #[cfg(feature = "families")]
    pub use crate::cells::{Code, Elias, Fading, Layers, Levels, Marked, Signed, Sum, Xor};
    #[cfg(feature = "everyday")]
    pub use crate::cells::{Counters, Packed};
    pub use crate::filter::{Lent, LentCells, Part, Saved};
    pub use crate::hash::Digest;
    pub use crate::pages::PageIo;
    pub use crate::probe::Scheme;
    pub use crate::theory::blocked::Loads;
}

/// What most programs use: `use everbloom::prelude::*;`.
pub mod prelude {
    pub use crate::filter::{Age, Count, Estimate, Filter, Fold, Insert, Intersect, List, Lookup};
    pub use crate::filter::{Assign, Bulk, BulkInsert, Face, Merge, Reconcile, Remove};
    pub use crate::{
        Answer, BlockedBloom, Bloom, Error, Goal, Key, Opener, Record, Seen, Verdict, open,
        open_as, save,
    };
    #[cfg(feature = "everyday")]
    pub use crate::{BinaryFuse, Counting, Cuckoo, Ribbon, Scalable, SplitBlock};
}

/// Mechanisms, for the other crates of this workspace alone: undocumented, and outside semantic versioning.
#[cfg(feature = "full")]
#[doc(hidden)]
pub mod internals {
    /// Ranges, settings, abilities and what else the list says.
    pub mod filter {
        pub use crate::filter::*;
    }
    pub mod cells {
        pub use crate::cells::*;
    }
    pub mod disk {
        pub use crate::disk::*;
    }
    pub mod file {
        pub use crate::file::*;
    }
    pub mod hash {
        pub use crate::hash::*;
    }
    pub mod memory {
        pub use crate::memory::*;
    }
    pub mod pages {
        pub use crate::pages::*;
    }
    pub mod plan {
        pub use crate::plan::*;
    }
    pub mod probe {
        pub use crate::probe::*;
    }
    pub mod sample {
        pub use crate::sample::*;
    }
    pub mod solve {
        pub use crate::solve::*;
    }
    pub mod state {
        pub use crate::state::*;
    }
    pub mod theory {
        pub use crate::theory::*;
    }
    pub mod variant {
        pub use crate::variant::*;
    }
}

/// The examples of the pages, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
#[doc = include_str!("../../../docs/guide/rust.md")]
struct Pages;
