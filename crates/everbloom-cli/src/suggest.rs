//! What to name instead: names like one that is not there, and the need of filters that can what this one cannot.

use everbloom::{Error, Facts, Kind};

/// Names shown at most.
const SHOWN: usize = 3;

/// The end of a message about a name that a list does not have: the names that look like it, else `list`, which
/// says where all of them stand.
pub fn instead<'a>(
    typed: &str,
    names: impl IntoIterator<Item = &'a str>,
    list: impl FnOnce() -> String,
) -> String {
    let typed = typed.to_lowercase();
    // A letter in three may be wrong; two that are swapped count as one.
    let most = (typed.chars().count() / 3).max(1);
    let near = |name: &'a str| {
        let distance = strsim::osa_distance(&typed, name);
        let begun = typed.len() >= 3 && name.starts_with(&typed);
        (begun || distance <= most).then_some((distance, name))
    };
    let mut near: Vec<(usize, &str)> = names.into_iter().filter_map(near).collect();
    near.sort_unstable();
    near.dedup();
    let names: Vec<&str> = near.into_iter().take(SHOWN).map(|(_, name)| name).collect();
    match names.split_last() {
        None => list(),
        Some((only, [])) => format!("did you mean {only}?"),
        Some((last, others)) => format!("did you mean {} or {last}?", others.join(", ")),
    }
}

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

#[cfg(test)]
mod tests {
    use super::instead;

    #[test]
    fn near_names_come_first_and_far_ones_not_at_all() {
        let names = ["bloom", "blocked", "bloom-g", "counting", "spectral"];
        let said = |typed| instead(typed, names, || "none".to_owned());
        assert_eq!(said("blom"), "did you mean bloom?");
        assert_eq!(said("Counitng"), "did you mean counting?");
        assert_eq!(said("blo"), "did you mean bloom, blocked or bloom-g?");
        assert_eq!(said("xyzzy"), "none");
        assert_eq!(said(""), "none");
    }
}
