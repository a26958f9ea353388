//! The tools of the command line as a library: what people install `everbloom` for, without the command.
//!
//! | module | verbs | what it does |
//! |---|---|---|
//! | [`spell`] | `spell` | the words of a text that a dictionary does not have; hyphenation |
//! | [`breach`] | `breach` | passwords that are in a list, or within one edit of one that is |
//! | [`similar`] | `similar` | copied passages among files |
//! | [`known`] | `known` | which files, and which parts of files, are known |
//! | [`kmer`] | `kmer` | the samples that hold a sequence |
//! | [`attribute`] | `attribute` | who sent an excerpt |
//! | [`link`] | `link` | records that are alike, compared by their filters |
//! | [`revoked`] | `revoked` | revoked or valid, exactly, from filters |
//! | [`top`] | `top` | the heaviest keys of a stream, flows of a capture |
//! | [`sync`] | `sync` | what two lists or folders do not share, and its transfer |
//! | [`join`] | `join --estimate` | what a join of two tables on two machines would send |
//! | [`published`] | `publish`, `follow` | filters of lists that change, as versions and deltas |
//!
//! Several of them stand on [`wire`] (what two processes talk over), [`capture`] (packets) and [`chunks`] (pieces of
//! files). What the tools claim is measured by the package `everbloom-lab` of the repository.
#![deny(unsafe_code)]

pub mod attribute;
pub mod breach;
pub mod capture;
pub mod chunks;
pub mod join;
pub mod kmer;
pub mod known;
pub mod link;
pub mod published;
pub mod revoked;
pub mod similar;
pub mod spell;
pub mod sync;
pub mod top;
pub mod wire;
