//! What cannot be done with a filter, and the need that leads to those with which it can.

use everbloom::{Error, Facts, Kind};

/// What can't be done with a filter, and which need leads to those with which it can.
pub fn unable(facts: &Facts, done: &str, need: &str) -> Error {
    let why = match facts.family {
        "growing" => ": each one grows with its own keys; build with -n and --mergeable, or see",
        _ => "; see",
    };
    let message =
        format!("{} filters cannot be {done}{why} `everbloom plan --need {need}`", facts.slug);
    Error::new(Kind::Unsupported, message)
}

/// A filter of this variant cannot do it.
pub fn cannot(slug: &str, what: &str) -> Error {
    Error::new(Kind::Unsupported, format!("a {slug} filter cannot {what}"))
}
