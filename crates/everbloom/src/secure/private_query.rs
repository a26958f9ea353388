//! Private queries by an oblivious function (catalogue §45; S0 ref. 59 §III-W; RFC 9497).
//!
//! A server holds a set and gives its filter to everyone, but what is inside are not the keys: for each key x it is the
//! output of a function F(κ, x) that only the server, with its key κ, can compute. Who wants to know whether x
//! is in the set has F(κ, x) computed without showing x, and looks it up in the filter at home:
//!
//! ```text
//!   server: filter of F(κ, x) for all x  ───────────────▶ client
//!   client: H(x)^ρ, a random element     ───────────────▶ server
//!   client: F(κ, x) ◀── H(x)^{ρκ} and a proof that κ is the published key's
//!           filter has F(κ, x)?
//! ```
//!
//! The function is [`oprf`](super::oprf), the sessions are [`exchange::private`](crate::exchange::private). Without the proof a lying server could
//! compute with another key and force "absent"; so answers that do not prove the key are errors. No false
//! negatives; the rate of false positives is the filter's.
//!
//! **Leaks**: the client learns the filter's size and fill, so about how many keys there are, and can look up every x
//! whose F(κ, x) it has in later filters under the same key. The server learns how many queries there are, and
//! from whom. A client can test as many guesses as it is given answers: bound them
//! ([`Owner::new`](crate::exchange::private::Owner::new) takes a limit).
//!
//! **Use it** for lists that neither side may show, such as leaked passwords or contacts. **Don't** if the server
//! may learn which keys are queried: a plain filter costs a thousand times less.

use crate::variant::prelude::*;

/// The list entry.
pub static VARIANT: Variant = Variant::untyped(Facts {
    id: 95,
    slug: "private-query",
    entry: "§45",
    question: "Is it in somebody else's set, when neither side shows its keys?",
    kind: EntryKind::Protocol,
    name: "Private query by an oblivious function",
    paper: "R. Nojima, Y. Kadobayashi, Cryptographically secure Bloom-filters, Transactions on Data Privacy 2(2), \
            2009; A. Davidson, A. Faz-Hernandez, N. Sullivan, C. A. Wood, Oblivious pseudorandom functions \
            (OPRFs) using prime-order groups, RFC 9497, 2023",
    family: "secure",
    needs: &["membership"],
    meaning: "items are keys of the server's set, the rate is the false-positive rate (`everbloom secure query`)",
    reach: 1 << 26,
    ..Facts::FILTER
});
