//! The Bloom paradox: when not to believe, query or fill a filter (Rottenstreich and Keslassy 2012; catalogue
//! R3; S3 §IV-A).
//!
//! A filter in front of a cache says "yes" to all of its 10⁴ items, and with f = 10⁻³ to 10⁷ of the 10¹⁰
//! others. Of all those it says "yes" to, 99.9 % are not there, so that ignoring the filter would be
//! right more often than believing it. Whether that is so for a key depends on how likely the key was
//! to be a member before the query:
//!
//! ```text
//!   prior p(x)   0 ├──────────────┬────────────────────────────┤ 1
//!                    say no, and    f/(f+α)     query the filter
//!                    don't insert
//! ```
//!
//! α is the cost of a false negative in false positives. Below the threshold, a "yes" is wrong so much
//! more often than right that "no" costs less: p·α < (1 − p)·f.
//!
//! A [`Paradox`] is a policy for any membership filter. *Selective query* answers "no" without
//! looking where the paradox holds; it suits a filter that is already there. *Selective insertion*
//! ([`select`]) does not insert such keys in the first place. Then the filter is emptier, f is lower and
//! so is the threshold, which lets more keys in: going back and forth does not end, but the balance
//! between the two is found by bisection.
//!
//! **Use it** if priors are known and differ by orders of magnitude, as with hot and cold objects. **Don't** if
//! they are guesses: a member below the threshold is a false negative by policy. S3 writes f_p, the share of false
//! positives among the queries made, where the rate f is meant.

use crate::variant::prelude::*;

/// The prior below which the paradox holds, f/(f + α); 0 for a filter that never errs.
pub fn threshold(fpr: f64, alpha: f64) -> f64 {
    if fpr > 0.0 { fpr / (fpr + alpha) } else { 0.0 }
}

/// [`threshold`] of a filter with its best k, 1/(1 + α·2^{c·ln 2}) at c bits an item.
pub fn threshold_at_best_k(bits_per_item: f64, alpha: f64) -> f64 {
    1.0 / (1.0 + alpha * libm::exp2(bits_per_item * std::f64::consts::LN_2))
}

/// How many keys of a universe pass, |T| = |C| + f(|M| − |C|), for |C| members of |M| keys.
pub fn positives(universe: f64, members: f64, fpr: f64) -> f64 {
    members + fpr * (universe - members)
}

/// The share of those that is not there, f(|M| − |C|)/|T| (S3 eq. 4).
pub fn false_share(universe: f64, members: f64, fpr: f64) -> f64 {
    fpr * (universe - members) / positives(universe, members, fpr)
}

/// The policy for a filter of a known rate.
///
/// ```
/// use everbloom::{Bloom, weighted::Paradox};
///
/// let mut cache = Bloom::with_rate(1000, 0.001)?;
/// cache.insert("hot.jpg");
/// let paradox = Paradox::new(0.001, 1.0)?;
/// // One object in a hundred is cached: worth a look. One in a million is not.
/// assert!(paradox.ask(0.01, || cache.contains("hot.jpg"))?);
/// assert!(!paradox.ask(1e-6, || cache.contains("cold.jpg"))?);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paradox {
    fpr: f64,
    alpha: f64,
}

impl Paradox {
    /// For a filter of rate `fpr`, where a false negative costs as much as `alpha` false positives.
    ///
    /// With α = 0 false negatives cost nothing, so that only certain members are reported.
    pub fn new(fpr: f64, alpha: f64) -> Result<Self> {
        if !((0.0..=1.0).contains(&fpr) && (0.0..f64::INFINITY).contains(&alpha)) {
            return Err(Error::parameter(format!(
                "a rate of {fpr} and a cost ratio of {alpha}: the rate must be between 0 and 1, and the cost of a \
                false negative in false positives at least 0"
            )));
        }
        Ok(Self { fpr, alpha })
    }

    /// For a filter as it is now: its rate comes from its real fill, so make a new policy when it has changed.
    /// What it leaves undecided is looked up like a "yes", and so counts as one.
    pub fn of(filter: &dyn Filter, alpha: f64) -> Result<Self> {
        let fpr = filter.now().passing().ok_or_else(|| {
            Error::parameter(format!(
                "a {} filter does not know its false-positive rate, which the policy needs",
                filter.facts().slug
            ))
        })?;
        Self::new(fpr, alpha)
    }

    /// The prior below which keys are reported absent.
    pub fn threshold(&self) -> f64 {
        threshold(self.fpr, self.alpha)
    }

    /// Whether the paradox holds for a key of this prior: p·α < (1 − p)·f.
    pub fn holds(&self, prior: f64) -> Result<bool> {
        if (0.0..=1.0).contains(&prior) {
            Ok(prior * self.alpha < (1.0 - prior) * self.fpr)
        } else {
            Err(Error::record(format!("a prior of {prior}: a probability is between 0 and 1")))
        }
    }

    /// Selective query: what `look` says, or "no" without looking.
    pub fn ask(&self, prior: f64, look: impl FnOnce() -> bool) -> Result<bool> {
        Ok(!self.holds(prior)? && look())
    }

    /// Selective query of a filter of any variant.
    pub fn query(&self, filter: &dyn Filter, record: Record<'_>, prior: f64) -> Result<Answer> {
        if self.holds(prior)? { Ok(Answer::of(false)) } else { filter.query(record) }
    }
}

/// Selective insertion: which keys to insert into a standard filter of this shape, given their priors;
/// the likeliest first, of equals the earlier.
///
/// The number n' of them is the largest with g(n') ≥ n', where g(n') counts the keys for which a filter
/// with n' keys in it is no paradox. g falls as n' rises, so bisection finds it.
pub fn select(priors: &[f64], shape: Flat, alpha: f64) -> Result<Vec<usize>> {
    let mut likeliest: Vec<usize> = (0..priors.len()).collect();
    likeliest.sort_by(|a, b| priors[*b].total_cmp(&priors[*a]));
    let wanted = |n: usize| -> Result<bool> {
        let paradox = Paradox::new(shape.fpr(n as u64), alpha)?;
        // All of the likeliest n are wanted if the last of them is.
        Ok(n == 0 || !paradox.holds(priors[likeliest[n - 1]])?)
    };
    for prior in priors {
        Paradox::new(0.0, alpha)?.holds(*prior)?;
    }
    let (mut low, mut high) = (0, priors.len() + 1);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if wanted(middle)? { low = middle } else { high = middle }
    }
    likeliest.truncate(low);
    Ok(likeliest)
}

/// The list entry.
pub static VARIANT: Variant = Variant::untyped(Facts {
    id: 14,
    slug: "bloom-paradox",
    entry: "R3",
    question: "Is asking the filter worth anything, given how likely a key is to be a member?",
    name: "Bloom paradox: selective query and insertion",
    paper: "O. Rottenstreich, I. Keslassy, The Bloom paradox: when not to use a Bloom filter?, INFOCOM 2012",
    family: "weighted",
    needs: &["membership", "weighted"],
    meaning: "a policy over a filter: keys whose prior is below f/(f + α) are reported absent and not inserted, \
              which makes them false negatives",
    ..Facts::TECHNIQUE
});
