//! Filters and exchanges that do not show their keys.
//!
//! | who must not learn what | use |
//! |---|---|
//! | who chooses the keys: which cells they touch | [`keyed`] |
//! | who stores an index: the words of the documents | [`SecureIndex`](index::Index) |
//! | who holds the set: the keys that are looked up; who asks: the other keys of the set | [`oprf`] with [`exchange::private`](crate::exchange::private) |
//! | two who do not trust each other, with a third between them | [`encrypted`] |
//!
//! What each of them leaks all the same stands in its essay and in SECURITY.md.

mod chance;
pub mod encrypted;
mod expand;
pub mod index;
pub mod keyed;
pub mod oprf;
pub mod private_query;
mod secret;

pub use secret::Secret;

/// So many bytes from the system's random generator.
pub fn random<const N: usize>() -> crate::error::Result<[u8; N]> {
    chance::bytes().map(|bytes| *bytes)
}
