//! Biometric templates that can be replaced, and why a key must permute (catalogue A66; S3 §III-C \[26\],\[27\],\[54\]).
//!
//! ```text
//!   feature bits, 10 rows × 512 columns           each block of 32 columns fills 1024 bits:
//!   ┌32┬32┬ … ┬32┐                                bit of a column = the column's ten bits, under a key
//!   └──┴──┴ … ┴──┘  16 blocks                     difference of two templates = mean of |a⊕b| / (|a|+|b|)
//! ```
//!
//! A template shows which columns a block has and not where, so that small shifts of the image don't matter and the
//! image can't be drawn from it. A key makes templates of one person in two applications differ, and a stolen one
//! replaceable. With bit errors e the difference is about 1 − (1−e)^10; between different persons it is 0.969.
//!
//! The scheme as published is weak: XOR with a key only moves every bit i to i⊕key, so that trying the 1024 keys links
//! two templates of one person. [`Protection::Permuted`] repairs it: a keyed hash of block and column.

use everbloom::internals::cells::Bits;
use everbloom::internals::hash::Generator;
use everbloom::{Bloom, Hasher, Result, SecretKey};

use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// Columns of ten bits, in sixteen blocks of 32.
pub type Features = [u16; COLUMNS];

/// Columns of a feature matrix.
pub const COLUMNS: usize = 512;
const ROWS: u32 = 10;
const BLOCK: usize = 32;
const CELLS: u64 = 1 << ROWS;

/// How an application's key enters.
#[derive(Clone, Debug)]
pub enum Protection {
    /// Each column XOR the key, as published: **linkable**, for comparison only.
    Xor(u16),
    /// A keyed hash of block and column.
    Permuted(SecretKey),
}

/// A protected template: a filter for each block.
///
/// ```
/// use everbloom::SecretKey;
/// use everbloom_lab::applications::trust::biometrics::{COLUMNS, Protection, Template};
///
/// let mut features = [0; COLUMNS];
/// features.iter_mut().enumerate().for_each(|(i, column)| *column = (i * 37 % 1024) as u16);
/// let key = Protection::Permuted(SecretKey::new([7; 16]));
/// let enrolled = Template::new(&features, &key)?;
/// features[3] ^= 1;
/// let again = Template::new(&features, &key)?;
/// assert!(enrolled.difference(&again) < 0.01);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    blocks: Vec<Bits>,
}

impl Template {
    /// The template of features under a key. Bits beyond the ten rows are left out.
    pub fn new(features: &Features, protection: &Protection) -> Result<Self> {
        let blocks = features.chunks(BLOCK).enumerate().map(|(block, columns)| {
            let columns = columns.iter().map(|column| column & (CELLS as u16 - 1));
            match protection {
                Protection::Xor(key) => {
                    let mut bits = Bits::new(CELLS);
                    columns.for_each(|column| {
                        bits.set(u64::from(column ^ key) % CELLS);
                    });
                    Ok(bits)
                }
                Protection::Permuted(key) => {
                    let mut filter = Bloom::with_shape(CELLS, 1, Hasher::keyed(key.clone()))?;
                    columns.for_each(|column| {
                        filter.insert(&(block as u64, column));
                    });
                    Ok(filter.bits().clone())
                }
            }
        });
        Ok(Self { blocks: blocks.collect::<Result<_>>()? })
    }

    /// How much two templates differ: 0 for equal ones, 1 for those without a bit in common.
    pub fn difference(&self, other: &Self) -> f64 {
        let of = |(a, b): (&Bits, &Bits)| {
            let (both, sum) = (a.ones_in_both(b), a.ones() + b.ones());
            if sum == 0 { 0.0 } else { (sum - 2 * both) as f64 / sum as f64 }
        };
        self.blocks.iter().zip(&other.blocks).map(of).sum::<f64>() / self.blocks.len() as f64
    }

    /// The least difference to another template over all 1024 ways to XOR its positions: the attack on
    /// [`Protection::Xor`]. A shift that is right links two templates of one person under different keys.
    pub fn linked(&self, other: &Self) -> f64 {
        let ones = |bits: &Bits| (0..CELLS).filter(|i| bits.get(*i)).collect::<Vec<u64>>();
        let other: Vec<Vec<u64>> = other.blocks.iter().map(ones).collect();
        let shifted = |shift: u64| {
            let of = |(a, b): (&Bits, &Vec<u64>)| {
                let both = b.iter().filter(|i| a.get(**i ^ shift)).count() as u64;
                let sum = a.ones() + b.len() as u64;
                (sum - 2 * both) as f64 / sum.max(1) as f64
            };
            self.blocks.iter().zip(&other).map(of).sum::<f64>() / self.blocks.len() as f64
        };
        (0..CELLS).map(shifted).fold(1.0, f64::min)
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A66",
    form: Form::Component,
    uses: &["bloom"],
    oracle: "the features themselves: who is who",
    data: "random feature matrices, and the same with bit errors",
    experiment: Experiment {
        name: "biometrics",
        source: "S3 §III-C [26],[27],[54]",
        title: "Biometric templates that can be replaced, and why a key must permute",
        shows: "Templates of one person differ by 0.39 at 5 % bit errors, of two persons by 0.969. Under XOR, the best of 1024 \
                shifts links templates of one person under two keys (0.39 against 0.94); under a keyed hash it does not.",
        run,
    },
};

fn person(random: &mut Generator) -> Features {
    let mut features = [0; COLUMNS];
    features.iter_mut().for_each(|column| *column = random.below(CELLS) as u16);
    features
}

/// The features with each bit wrong at a rate of `errors`.
fn measured(features: &Features, errors: f64, random: &mut Generator) -> Features {
    let mut again = *features;
    for column in &mut again {
        for bit in 0..ROWS {
            *column ^= u16::from(random.unit() < errors) << bit;
        }
    }
    again
}

fn secret(random: &mut Generator) -> SecretKey {
    let both = u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
    SecretKey::new(both.to_le_bytes())
}

fn mean_of(
    lab: &Lab,
    runs: u64,
    one: impl Fn(&mut Generator) -> Result<f64> + Sync,
) -> Result<Vec<f64>> {
    lab.runs(runs, |seed| one(&mut Generator::new(seed)))
}

fn run(lab: &Lab) -> Result<Report> {
    let mut oracle = Oracle::default();
    let runs = lab.scaled(100);
    let law = |e: f64| 1.0 - libm::pow(1.0 - e, 10.0);
    let [x, y] = [Axis::linear("share of wrong bits"), Axis::linear("difference of two templates")];
    let mut series = Series::new("about 1 − (1−e)^10", (0..=25).map(|i| f64::from(i) / 100.0), law);
    // Quoted differences, and the spread of one comparison: 512 columns, each right or wrong.
    let sd = |d: f64| (d * (1.0 - d) / COLUMNS as f64).sqrt();
    for (errors, quoted) in [(0.0, 0.0), (0.02, 0.182), (0.05, 0.390), (0.10, 0.638), (0.20, 0.869)]
    {
        let seen = mean_of(lab, runs, |random| {
            let (features, key) = (person(random), Protection::Xor(random.below(CELLS) as u16));
            let again = measured(&features, errors, random);
            Ok(Template::new(&features, &key)?.difference(&Template::new(&again, &key)?))
        })?;
        let (mean, _) = bound::mean_and_sd(&seen);
        let around = bound::mean(quoted, sd(quoted), runs);
        let slack = Bound::exactly(0.0, if errors == 0.0 { 0.0 } else { 0.004 });
        let add = |a: Option<f64>, b: Option<f64>| Some(a? + b?);
        let around = Bound { low: add(around.low, slack.low), high: add(around.high, slack.high) };
        series.point(errors, quoted, mean, around);
    }
    let title = "Two templates of one person under one key";
    let chart = Chart::new("errors", title, [x, y], [series]);
    let mut rows = Rows::new("persons", "Different persons, one key", Axis::linear("difference"));
    let others = mean_of(lab, runs, |random| {
        let key = Protection::Xor(random.below(CELLS) as u16);
        Ok(Template::new(&person(random), &key)?.difference(&Template::new(&person(random), &key)?))
    })?;
    let (mean, spread) = bound::mean_and_sd(&others);
    rows.row("mean", 0.969, mean, bound::mean(0.969, 0.007, runs).widened(0.969, 0.001));
    rows.row("standard deviation", 0.007, spread, Bound::between(0.004, 0.010));
    let least = others.iter().copied().fold(1.0, f64::min);
    rows.row("least of all", 0.952, least, Bound::between(0.93, 0.965));
    // Who is who, at 5 % errors and a threshold half-way.
    let verdicts = lab.runs(runs, |seed| {
        let random = &mut Generator::new(seed);
        let key = Protection::Permuted(secret(random));
        let (one, two) = (person(random), person(random));
        let enrolled = Template::new(&one, &key)?;
        let own = Template::new(&measured(&one, 0.05, random), &key)?;
        let other = Template::new(&measured(&two, 0.05, random), &key)?;
        let accepts = |t: &Template| enrolled.difference(t) < 0.7;
        Ok([(accepts(&own), true), (accepts(&other), false)])
    })?;
    oracle.equal("persons told apart", verdicts.into_iter().flatten());
    let permuted = mean_of(lab, runs, |random| {
        let features = person(random);
        let mut turned = features;
        turned.chunks_mut(BLOCK).for_each(|block| block.reverse());
        let key = Protection::Xor(random.below(CELLS) as u16);
        Ok(Template::new(&features, &key)?.difference(&Template::new(&turned, &key)?))
    })?;
    let moved = permuted.iter().filter(|d| **d != 0.0).count() as u64;
    oracle.none("templates that change with the order of columns in a block", moved);
    let attack = attack(lab)?;
    Ok(oracle.report().chart(chart).rows(rows).rows(attack).note(
        "Under XOR with a key, templates of one person in two applications can be linked: use the keyed hash. \
         Whoever has its key can still try out features.",
    ))
}

/// Two applications with keys of their own, and somebody who has both templates.
fn attack(lab: &Lab) -> Result<Rows> {
    let runs = lab.scaled(6);
    let mut rows =
        Rows::new("linking", "Best of 1024 shifts between two keys", Axis::linear("difference"));
    type Keys = fn(&mut Generator) -> Protection;
    let xor: Keys = |random| Protection::Xor(random.below(CELLS) as u16);
    let keyed: Keys = |random| Protection::Permuted(secret(random));
    // Walked into with XOR; the repair makes one person look like two.
    let cases = [
        ("XOR, one person", xor, true, 0.395, 0.02),
        ("XOR, two persons", xor, false, 0.942, 0.01),
        ("keyed hash, one person", keyed, true, 0.942, 0.01),
        ("keyed hash, two persons", keyed, false, 0.942, 0.01),
    ];
    for (name, key, same, quoted, sd) in cases {
        let seen = mean_of(lab, runs, |random| {
            let one = person(random);
            let other = if same { measured(&one, 0.05, random) } else { person(random) };
            let (a, b) = (key(random), key(random));
            Ok(Template::new(&one, &a)?.linked(&Template::new(&other, &b)?))
        })?;
        let (mean, _) = bound::mean_and_sd(&seen);
        rows.row(name, quoted, mean, bound::mean(quoted, sd, runs));
    }
    let seen = mean_of(lab, 10 * runs, |random| {
        let (one, key) = (person(random), keyed(random));
        let again = measured(&one, 0.05, random);
        Ok(Template::new(&one, &key)?.difference(&Template::new(&again, &key)?))
    })?;
    let (mean, _) = bound::mean_and_sd(&seen);
    rows.row(
        "keyed hash, one person under one key",
        0.387,
        mean,
        bound::mean(0.387, 0.0216, 10 * runs).widened(0.387, 0.01),
    );
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a66_rough_law_and_empty_columns() {
        let law = |e: f64| 1.0 - libm::pow(1.0 - e, 10.0);
        for (e, quoted) in [(0.02, 0.182), (0.05, 0.390), (0.10, 0.638), (0.20, 0.869)] {
            assert!((law(e) - quoted).abs() < 0.03, "{e}");
        }
        // High bits are not rows.
        let key = Protection::Xor(5);
        let low = Template::new(&[3; COLUMNS], &key).unwrap();
        let high = Template::new(&[3 | 1 << 12; COLUMNS], &key).unwrap();
        assert_eq!(low.difference(&high), 0.0);
        assert_eq!(
            Template::new(&[3; COLUMNS], &Protection::Xor(0xffff)).unwrap().blocks[0].ones(),
            1
        );
    }
}
