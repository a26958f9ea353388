//! A linear model over the bytes of keys, in whole numbers: every machine trains the same weights and finds the same
//! scores.

use crate::cells::Packed;
use crate::error::{Error, Result};
use crate::hash::mix64;
use crate::state::state;

/// One weight for each feature, in 1/256 of a natural logarithm, and one that every key has.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Model {
    /// 0 for bytes, 1 for pairs of bytes.
    pairs: u32,
    /// Numbers of 32 bits with a sign; none where there is no model.
    weights: Packed,
}

state!(Model { pairs, weights });

/// What a key is made of, for the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Features {
    Bytes,
    /// Neighboring bytes, hashed.
    Pairs,
}

impl Features {
    fn count(self) -> usize {
        match self {
            Features::Bytes => 256,
            Features::Pairs => 1024,
        }
    }

    /// Calls `f` with the number of each feature that the key has, as often as it has it; the last one is everybody's.
    fn each(self, key: &[u8], mut f: impl FnMut(usize)) {
        match self {
            Features::Bytes => key.iter().for_each(|byte| f(usize::from(*byte))),
            Features::Pairs => key.windows(2).for_each(|pair| {
                let pair = u64::from(pair[0]) << 8 | u64::from(pair[1]);
                f((mix64(pair ^ PAIRS) >> 54) as usize);
            }),
        }
        f(self.count());
    }

    /// The bits of a model.
    pub(super) fn bits(self) -> u64 {
        32 * (self.count() as u64 + 1)
    }
}

const PAIRS: u64 = 0x7061_6972_7300_0001;

/// Keys in memory, to be gone through several times.
#[derive(Debug, Default)]
pub(super) struct Keys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Keys {
    pub(super) fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn get(&self, i: usize) -> &[u8] {
        let start = i.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[i]]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|i| self.get(i))
    }
}

impl Model {
    /// No model: every key scores zero.
    pub(super) fn none() -> Self {
        Self { pairs: 0, weights: Packed::new(0, 32) }
    }

    pub(super) fn is_none(&self) -> bool {
        self.weights.is_empty()
    }

    fn features(&self) -> Features {
        if self.pairs == 0 { Features::Bytes } else { Features::Pairs }
    }

    fn of(features: Features, weights: impl Iterator<Item = i64>) -> Self {
        let mut packed = Packed::new(features.count() as u64 + 1, 32);
        for (i, weight) in (0..).zip(weights) {
            let weight = weight.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
            packed.set(i, u64::from(weight as u32));
        }
        Self { pairs: u32::from(features == Features::Pairs), weights: packed }
    }

    /// The weight of a feature.
    pub(super) fn weight(&self, feature: usize) -> i32 {
        self.weights.get(feature as u64) as u32 as i32
    }

    /// The sum of the weights of a key's features.
    pub(super) fn score(&self, key: &[u8]) -> i64 {
        let mut score = 0;
        if !self.is_none() {
            self.features().each(key, |feature| score += i64::from(self.weight(feature)));
        }
        score
    }

    /// Naive Bayes: round(256·(ln P⁺ − ln P⁻)) for each feature, counted with one more of each.
    pub(super) fn naive_bayes(features: Features, members: &Keys, others: &Keys) -> Self {
        let count = |keys: &Keys| {
            let mut counts = vec![1u64; features.count() + 1];
            keys.iter().for_each(|key| features.each(key, |feature| counts[feature] += 1));
            counts
        };
        let (plus, minus) = (count(members), count(others));
        // What everybody has tells nothing.
        let total = |counts: &[u64]| counts[..features.count()].iter().sum::<u64>() as f64;
        let (all_plus, all_minus) = (total(&plus), total(&minus));
        let weight = |i: usize| {
            let share = |counts: &[u64], all: f64| libm::log(counts[i] as f64 / all);
            libm::round(256.0 * (share(&plus, all_plus) - share(&minus, all_minus))) as i64
        };
        Self::of(features, (0..features.count()).map(weight).chain([0]))
    }

    /// Logistic regression by gradient steps in fixed point, through both sets by turns.
    pub(super) fn logistic(features: Features, members: &Keys, others: &Keys) -> Self {
        let sigmoid = Sigmoid::new();
        // In 1/65536 of a natural logarithm.
        let mut weights = vec![0i64; features.count() + 1];
        let rounds = members.len().max(others.len());
        for epoch in 0..EPOCHS {
            for i in 0..rounds {
                for (keys, wanted) in [(members, ONE), (others, 0)] {
                    if keys.len() == 0 {
                        continue;
                    }
                    let key = keys.get(i % keys.len());
                    let mut sum = 0;
                    features.each(key, |feature| sum += weights[feature]);
                    let step = (wanted - sigmoid.at(sum)) >> (FIRST_STEP + epoch);
                    features.each(key, |feature| weights[feature] += step);
                }
            }
        }
        Self::of(features, weights.into_iter().map(|weight| weight >> 8))
    }

    fn check(&self) -> Result<()> {
        let known = self.pairs <= 1 && self.weights.width() == 32;
        let count = self.features().count() as u64 + 1;
        if known && (self.weights.len() == count || (self.is_none() && self.pairs == 0)) {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: a model of no such features"))
    }
}

const EPOCHS: u32 = 4;
/// The first steps are a sixteenth of the error, later ones half as long with every epoch.
const FIRST_STEP: u32 = 4;
const ONE: i64 = 1 << 16;

/// 1/(1 + e^−x) at whole multiples of 1/64 up to 8 on either side, in 1/65536.
struct Sigmoid(Vec<i64>);

impl Sigmoid {
    fn new() -> Self {
        let at = |i: i32| libm::round(ONE as f64 / (1.0 + libm::exp(-f64::from(i) / 64.0))) as i64;
        Self((-512..=512).map(at).collect())
    }

    fn at(&self, x: i64) -> i64 {
        self.0[((x >> 10).clamp(-512, 512) + 512) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(letters: &[&str]) -> Keys {
        let mut keys = Keys::default();
        letters.iter().for_each(|key| keys.push(key.as_bytes()));
        keys
    }

    /// To the last bit: the weights decide what a file means.
    #[test]
    fn weights_are_what_they_are_everywhere() {
        let (members, others) = (keys(&["aab", "ab", "a"]), keys(&["bcc", "c"]));
        let model = Model::naive_bayes(Features::Bytes, &members, &others);
        // a: 5 of 262 and 1 of 260; b: 3 and 2; c: 1 and 4.
        let weight = |byte: u8| model.weight(byte.into());
        assert_eq!((weight(b'a'), weight(b'b'), weight(b'c'), weight(b'x')), (410, 102, -357, -2));
        assert_eq!(model.score(b"abc"), 410 + 102 - 357);
        for features in [Features::Bytes, Features::Pairs] {
            let model = Model::logistic(features, &members, &others);
            assert!(model.score(b"aab") > 0 && model.score(b"bcc") < 0);
        }
        assert_eq!(Model::none().score(b"abc"), 0);
    }

    #[test]
    fn sigmoids_are_odd_and_bounded() {
        let sigmoid = Sigmoid::new();
        assert_eq!(sigmoid.at(0), ONE / 2);
        assert_eq!(sigmoid.at(ONE) + sigmoid.at(-ONE), ONE);
        assert_eq!(sigmoid.at(ONE), 47_911);
        assert!(sigmoid.at(i64::MAX) <= ONE && sigmoid.at(i64::MIN) >= 0);
    }
}
