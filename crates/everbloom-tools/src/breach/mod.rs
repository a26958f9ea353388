//! Passwords that attackers try first (catalogue A2; S0 §IV-E [106, 107], S1 §3.1; Manber and Wu 1994).
//!
//! ```text
//!   word w      ──▶ W:w   D:(w less a letter)   Sᵢ:(w less letter i)        17 keys for 8 letters
//!   candidate c ──▶ W:c   D:c   W:(c less a letter)   Sᵢ:(c less letter i)  18 look-ups
//! ```
//!
//! A candidate is refused if it is a word or within one edit of one: none of those passes, and others are
//! refused at 1 − (1 − f)¹⁸ for a look-up's rate f. The tags are needed: with untagged deletions "ba" is refused
//! for "ab", which is two edits away. A list that has hashes only has nothing to tag; there the candidate's
//! neighbors are tried, 1 608 of one of eight characters, and the rate of a look-up is planned for that.
//!
//! [`Near`] is the dictionary with tags; [`Breached`] is a set of any size on disk, built from a pipe in bounded
//! memory. Passwords are answered for on this machine, and overwritten in memory after their use.

mod near;
mod shards;

pub use near::{
    Near, keys_of_word, near_by_neighbors, near_by_tags, neighbors, rate_of_all, rate_of_one,
};
pub use shards::{Breached, Builder, Built, Content, Hash};
