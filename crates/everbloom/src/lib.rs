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
//! | I want to know | use |
//! |---|---|
//! | is this key in the set? | [`Bloom`], shared between threads as [`membership::AtomicBloom`] |
//! | … at one cache miss per key | [`BlockedBloom`], shared between threads as [`membership::AtomicBlocked`] |
//! | … with the bits of the Parquet specification | [`SplitBlock`] |
//! | … with rows that fill independently | [`membership::Split`] |
//! | … at one memory access, or a few | [`membership::BloomG`], fingerprints in d words read at once [`fingerprints::DLeftReassign`] |
//! | … with one slice of memory per hash | [`membership::PartitionedBloom`], in banks [`hardware::Banked`], by one hash value [`membership::OneHash`] |
//! | … in memory whose bits may flip | [`hardware::SoftError`] |
//! | … in a set that never changes, fast or in the fewest bits | [`BinaryFuse`], [`Ribbon`], [`compact::PerfectHash`] |
//! | … in a filter that someone else may have filled | [`membership::Generalized`] |
//! | … with fewer false positives at equal bits | [`membership::PartitionedHashing`], [`membership::TwoChoices`], [`membership::BestOfN`] |
//! | … and some non-members are known | [`known::YesNo`], [`known::Retouched`], [`known::Optihash`], [`known::Multistage`], [`known::Complement`], [`known::CrossChecking`] |
//! | … and members look unlike what is asked for | [`known::Learned`] |
//! | … sent in as few bits as possible | [`compact::Compressed`], built once [`compact::Golomb`] |
//! | … exactly, in a known universe | [`membership::Egh`] |
//! | … and some keys are likelier than others | [`weighted::MultiClass`], [`weighted::Paradox`] |
//! | … and some are queried more often than others | [`weighted::WeightedBloom`], in whole numbers of probes [`weighted::Popularity`] |
//! | … and keys have ancestors | [`membership::Ancestors`] |
//! | … and keys are removed again | [`Counting`], in half the space [`counting::DLeft`] or [`deleting::Ternary`], now and then [`deleting::Deletable`] |
//! | … and nobody knows how many keys will come | [`Scalable`]; some are removed again [`growing::ParBf`], [`growing::Dynamic`]; an index is at hand [`growing::DynamicArray`] |
//! | … in a quarter of the space, at a rate below 3 % | [`fingerprints::Cuckoo`], without hashing fingerprints [`fingerprints::SimplifiedCuckoo`] |
//! | … and nobody knows how many keys will come | [`Scalable`], removing them again [`fingerprints::DynamicCuckoo`] |
//! | … in a quarter to half of the space of counters | [`fingerprints::Cuckoo`], without hashing fingerprints [`fingerprints::SimplifiedCuckoo`] |
//! | … and nobody knows how many keys will come | [`Scalable`], removing them again [`fingerprints::DynamicCuckoo`], a bucket at a time [`fingerprints::ConsistentCuckoo`] |
//! | … in front of a table, and the same absent keys are asked for again | [`fingerprints::AdaptiveCuckoo`] |
//! | … and filters are merged, doubled or listed without their keys | [`fingerprints::Quotient`], of keys that repeat [`fingerprints::CountingQuotient`] |
//! | … in the fewest bits that removal allows | [`fingerprints::PaghPaghRao`] |
//! | … and nobody knows how many keys will come | [`Scalable`], and they go again [`fingerprints::Elastic`] |
//! | which number from 0 to n − 1 does a key of a fixed set have? | [`keyvalue::BloomingTree`] |
//! | … on disk, in a filter larger than memory | [`growing::ForestStore`], its pages in memory [`growing::Forest`] |
//! | was it in this endless stream lately? | [`Stable`] |
//! | … among the last W arrivals, without a miss | [`decaying::Decaying`] |
//! | … among the last distinct keys | [`decaying::ActiveActive`], with one query [`decaying::DoubleBuffer`] |
//! | … in the last few epochs | [`decaying::Forgetful`] |
//! | … and every key has a life of its own | [`decaying::Windowed`], in ticks that fade [`decaying::TemporalCounting`] |
//! | how often did it come lately? | [`decaying::TimeDecaying`] |
//! | was it in this endless stream lately? | [`Stable`]; flows that end unannounced [`deleting::VariableLength`] |
//! | how often did it come? | [`Counting`], without a limit [`counting::Spectral`], [`counting::DynamicCount`] |
//! | … about, in bits that are only set, or over many orders of magnitude | [`sketches::SpaceCode`], [`sketches::AdaptiveCounting`], [`sketches::LogLog`] |
//! | how many bytes did it bring? | [`sketches::Conservative`] |
//! | how much, in an endless stream with deletions, and which keys are heavy? | [`sketches::CountMin`] |
//! | which of several sets is it in? | [`grouping::Combinatorial`], [`grouping::LoadBalanced`], [`grouping::Omass`], [`grouping::Matrix`] |
//! | what value does it have? | [`Bloomier`], one of a few [`keyvalue::Cascade`], of keys that come and go [`keyvalue::Kbf`] |
//! | … in a store larger than memory | [`keyvalue::BloomStore`], its pages in memory [`keyvalue::BloomStoreImage`] |
//! | … and which pairs came and went? | [`keyvalue::Iblt`] |
//! | … and keys are removed, one filter per set | [`grouping::FilterBank`] |
//! | how many hops away is it, and through which neighbor? | [`grouping::Attenuated`], [`grouping::ExponentialDecay`] |
//! | what value does it have? | [`Bloomier`], one that changes [`keyvalue::StateMachines`] |
//! | what value does it have? | [`Bloomier`] |
//! | which of these nodes is its parent in the tree? | [`keyvalue::Relations`] |
//! | what value does it have? | [`Bloomier`], exactly, for keys that come and go [`keyvalue::FastHashTable`] |
//! | what do two sets not share? | [`Invertible`] |
//! | is it a piece of these sequences of letters? | [`structured::KMer`] |
//! | who sent a payload with these bytes in it? | [`structured::Hierarchical`] |
//! | in which area is this point? | [`structured::Areas`] |
//! | does this id have a value in this range? | [`structured::Ranges`] |
//! | is there anything like it? | [`structured::DistanceSensitive`], among vectors [`structured::LocalitySensitive`] |
//! | … and how near is it? | [`structured::MultiGranularity`] |
//! | … among records with typing errors | [`structured::Clk`] |
//! | is there an item with these attributes, or some of them? | [`structured::ParallelAttributes`] |
//! | … exactly, when the keys are listed later | [`sketches::CounterBraids`] |
//! | how many different keys came? | [`sketches::HyperLogLog`] |
//! | which keys come most often? | [`sketches::TopK`] |
//! | which of several sets is it in? | [`grouping::Combinatorial`], [`grouping::LoadBalanced`], [`grouping::Omass`], [`grouping::Matrix`], of two or few sets [`grouping::Shifting`] |
//! | what do two sets not share? | [`Invertible`], two multisets [`reconciling::InvertibleCounting`] |
//! | what do two sets not share? | [`Invertible`], roughly and in one message [`exchange::tree`] |
//! | is it in somebody else's set, and neither shows its keys? | `exchange::private`, with the feature `secure` |
//! | … asked through a third party who sees neither side's keys | `exchange::encrypted`, with the feature `secure` |
//! | which documents have a word, found by who must not know it? | `secure::index`, with the feature `secure` |
//! | is there anything like it? | [`structured::DistanceSensitive`] |
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
//! | feature | default | what it brings |
//! |---|---|---|
//! | `mmap` | yes | files opened in place, and huge pages for large arrays |
//! | `parallel` | yes | bulk insertion and static builds on all cores |
//! | `secure` | no | secure indexes, private queries, encrypted filters: what does not show its keys |
//! | `serde` | no | filters as bytes inside serde formats |
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
    Ability, Answer, Bound, Counted, Detail, Difference, EntryKind, Fact, FactValue, Facts, Filter,
    Form, Head, MergeLaw, Number, Parts, Rates, Reading, Record, Seen, Setting, Touched, Value,
    Verdict,
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
pub use variant::{Builder, Inputs, Listed, Source, Variant};

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
