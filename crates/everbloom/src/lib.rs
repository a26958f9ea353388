//! Every Bloom filter, in one library.
//!
//! | I want to know | use |
//! |---|---|
//! | is this key in the set? | [`membership::Bloom`], shared between threads as [`membership::AtomicBloom`] |
//! | … at one cache miss per key | [`membership::BlockedBloom`], shared between threads as [`membership::AtomicBlocked`] |
//! | … with the bits of the Parquet specification | [`membership::SplitBlock`] |
//! | … with rows that fill independently | [`membership::Split`] |
//! | … at one memory access, or a few | [`membership::BloomG`] |
//! | … with one slice of memory per hash | [`membership::PartitionedBloom`], in banks [`membership::Banked`], by one hash value [`membership::OneHash`] |
//! | … in memory whose bits may flip | [`membership::SoftError`] |
//! | … in a set that never changes, in few bits | [`compact::PerfectHash`]; how few there can be: [`theory::bound`] |
//! | … in a filter that someone else may have filled | [`membership::Generalized`] |
//! | … with fewer false positives at equal bits | [`membership::PartitionedHashing`], [`membership::TwoChoices`], [`membership::BestOfN`] |
//! | … and some non-members are known | [`membership::YesNo`], [`membership::Retouched`], [`membership::Optihash`], [`membership::Multistage`], [`membership::Complement`], [`membership::CrossChecking`] |
//! | … sent in as few bits as possible | [`compact::Compressed`], built once [`compact::Golomb`] |
//! | … in a set that never changes, fast or in the fewest bits | [`compact::BinaryFuse`], [`compact::Ribbon`] |
//! | … exactly, in a known universe | [`membership::Egh`] |
//! | … and some keys are likelier than others | [`weighted::MultiClass`], [`membership::Paradox`] |
//! | … and keys have ancestors | [`membership::Ancestors`] |
//! | … and keys also leave | [`counting::Counting`], in half the space [`counting::DLeft`] or [`deleting::Ternary`], now and then [`deleting::Deletable`] |
//! | … and nobody knows how many will come | [`growing::Scalable`] |
//! | … on disk, in a filter larger than memory | [`growing::ForestStore`], its pages in memory [`growing::Forest`] |
//! | was it in this endless stream lately? | [`decaying::Stable`] |
//! | how often did it come? | [`counting::Counting`], without a limit [`counting::Spectral`], [`counting::DynamicCount`] |
//! | how many bytes did it bring? | [`counting::Conservative`] |
//! | which of several sets is it in? | [`grouping::Combinatorial`], [`grouping::LoadBalanced`], [`grouping::Omass`], [`grouping::Matrix`] |
//! | what value does it have? | [`keyvalue::Bloomier`] |
//! | what do two sets not share? | [`reconciling::Invertible`] |
//! | is there anything like it? | [`similarity::DistanceSensitive`] |
//!
//! Every type has `with_rate(items, rate)` or the like, `insert` and `contains` over any
//! [`Key`](hash::Key), and is a [`filter::Filter`]. Files are written by [`codec::save`] and opened by
//! [`codec::Opener`]. Code that picks a variant at run time takes it from [`catalog::VARIANTS`]:
//!
//! ```
//! use everbloom::filter::Record;
//! use everbloom::plan::Goal;
//! use everbloom::variant::Variant;
//!
//! let variant = Variant::by_slug("blocked").expect("in the list");
//! let filter = variant.build_from(&Goal::new(1000, 0.01), &[Record::key(b"apple")])?;
//! assert!(filter.contains(b"apple"));
//! # Ok::<(), everbloom::error::Error>(())
//! ```
#![deny(unsafe_code)]

mod bulk;
pub mod catalog;
pub mod cells;
pub mod choose;
pub mod codec;
pub mod dedupe;
pub mod error;
pub mod exchange;
pub mod filter;
pub mod hash;
pub mod plan;
pub mod probe;
pub mod sample;
pub mod solve;
pub mod structure;
pub mod theory;
pub mod variant;

pub mod compact;
pub mod counting;
pub mod decaying;
pub mod deleting;
pub mod grouping;
pub mod growing;
pub mod keyvalue;
pub mod membership;
pub mod reconciling;
pub mod similarity;
pub mod weighted;

/// The README's example, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The examples of the pages, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
#[doc = include_str!("../../../GUIDE.md")]
struct Pages;
