//! Linkage of records that nobody may show (catalogue A35; S3 §III-C \[55\]; §47 for the encoding, §34 for blocking).
//!
//! ```text
//!   smith, john, 1980 ──▶ pieces ──▶ bits of a filter ──┐ some of the bits, by tables: ──▶ Dice ≥ 0.8 ──▶ pair
//!   smyth, john, 1980 ──▶ pieces ──▶ bits of a filter ──┘ equal in one of them
//! ```
//!
//! Two owners encode their records under a key that both have, and compare filters ([`Clk`]) instead of names. Records
//! with a typing error or two share most pieces, and so most bits. A hundred million pairs are compared in a second; beyond,
//! tables of a few sampled bits each find candidates. Records with d of m bits different agree on s sampled
//! bits with probability (1 − d/m)^s, and as many tables are made as it takes to miss a pair at the threshold with
//! probability 0.01.
//!
//! The filters are not encryption: frequent pieces leave frequent bits. Without the key on both sides they are noise
//! to each other.

mod schema;

use std::collections::{HashMap, HashSet};

use everbloom::internals::cells::Bits;
use everbloom::internals::hash::Generator;
use everbloom::structured::{Clk, clk};
use everbloom::{Hasher, Result, SecretKey};
use everbloom_lab::{Axis, Bound, Experiment, Lab, Report, bound};

pub use schema::{Field, Pieces, Rows, Schema, Weight, header};

use crate::words::made_up_letters;
use crate::{Application, Form, Oracle};

/// Encodes records by a schema, under a key.
///
/// ```
/// use everbloom_apps::trust::link::{Encoder, Linker, Schema};
///
/// let encoder = Encoder::new(Schema::plain(["name", "town"]), None, 0.8)?;
/// let left = [encoder.encode(&["john smith", "rome"])?, encoder.encode(&["eve miller", "oslo"])?];
/// let right = [encoder.encode(&["eve miler", "oslo"])?];
/// let linked = Linker::new(0.8).link(&left, &right);
/// assert_eq!((linked.pairs[0].left, linked.pairs[0].right), (1, 0));
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Encoder {
    schema: Schema,
    list: Clk,
}

impl Encoder {
    /// An encoder; without a key anybody can try names on what it makes.
    pub fn new(schema: Schema, key: Option<SecretKey>, threshold: f64) -> Result<Self> {
        let hasher = key.map_or_else(Hasher::default, Hasher::keyed);
        let rule = clk::Rule { letters: 2, k: 15 };
        let list = Clk::with_rules(schema.bits, &[rule], threshold, hasher)?;
        Ok(Self { schema, list })
    }

    /// The filter of a record: values in the order of the schema's columns.
    pub fn encode<S: AsRef<str>>(&self, values: &[S]) -> Result<Bits> {
        let pieces: Vec<Vec<String>> = self
            .schema
            .fields
            .iter()
            .zip(values)
            .map(|(f, value)| f.pieces(value.as_ref()))
            .collect();
        let all =
            (0..).zip(self.schema.fields.iter().zip(&pieces)).flat_map(|(i, (field, pieces))| {
                let bits = field.bits(pieces.len());
                pieces.iter().map(move |piece| (i, piece.as_bytes(), bits))
            });
        self.list.encode_pieces(all)
    }

    /// The filters of all rows, to be saved and given to the other side.
    pub fn list(&self, rows: &Rows) -> Result<Clk> {
        let mut list = self.list.clone();
        for row in &rows.values {
            list.insert_encoded(self.encode(row)?)?;
        }
        Ok(list)
    }
}

/// Finds pairs of alike filters.
pub struct Linker {
    threshold: f64,
    one_to_one: bool,
    search: Search,
    seed: u64,
}

/// How pairs are sought.
#[derive(Clone, Copy, PartialEq)]
enum Search {
    /// By tables, or all of them where that is no more work.
    Cheaper,
    /// By tables, whatever they cost.
    Tables,
}

/// Two records that match.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The left one, from 0.
    pub left: usize,
    /// The right one.
    pub right: usize,
    /// How alike they are.
    pub dice: f64,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Linked {
    /// The pairs, by their left records.
    pub pairs: Vec<Pair>,
    /// Comparisons that were made.
    pub compared: u64,
    /// Tables that were made.
    pub tables: u64,
    /// Bits sampled for each.
    pub sampled: u64,
}

/// A pair at the threshold may be missed with this probability.
const MISS: f64 = 0.01;
const MAX_TABLES: f64 = 1000.0;
/// So many pairs take a second or two.
const AT_ONCE: u64 = 200_000_000;

impl Linker {
    /// A linker of records whose Dice coefficient is `threshold` or more, each with one other at the most.
    pub fn new(threshold: f64) -> Self {
        Self { threshold, one_to_one: true, search: Search::Cheaper, seed: 0 }
    }

    /// The same, for all pairs that are alike.
    #[must_use]
    pub fn all_pairs(self) -> Self {
        Self { one_to_one: false, ..self }
    }

    /// Bits to sample, and tables to make, for records of `m` bits of which `ones` are set on average, and with
    /// `far` different from those of an unrelated record.
    fn plan(&self, m: f64, ones: f64, far: f64, records: usize) -> (u64, u64) {
        let near = (1.0 - 2.0 * ones * (1.0 - self.threshold) / m).clamp(0.01, 1.0);
        let apart = (1.0 - far / m).clamp(0.01, 0.99);
        let tables = |s: f64| (MISS.ln() / libm::log1p(-near.powf(s).min(0.9999))).ceil().max(1.0);
        // About one unrelated record for each look into a table.
        let enough = (1.0 / (records.max(2) as f64)).ln() / apart.ln();
        let mut s = enough.ceil().clamp(4.0, 64.0);
        while s > 4.0 && tables(s) > MAX_TABLES {
            s -= 1.0;
        }
        (s as u64, tables(s).min(MAX_TABLES) as u64)
    }

    /// The pairs of two lists of filters of equal length.
    pub fn link(&self, left: &[Bits], right: &[Bits]) -> Linked {
        let all = left.len() as u64 * right.len() as u64;
        let most = match self.search {
            Search::Tables => u64::MAX,
            Search::Cheaper if all <= AT_ONCE => 0,
            Search::Cheaper => all,
        };
        let mut linked =
            self.by_tables(left, right, most).unwrap_or_else(|| self.by_all(left, right));
        if self.one_to_one {
            linked.pairs = best_first(linked.pairs);
        }
        linked.pairs.sort_by_key(|pair| (pair.left, pair.right));
        linked
    }

    /// Every pair compared: none is missed.
    fn by_all(&self, left: &[Bits], right: &[Bits]) -> Linked {
        let ones: Vec<u64> = right.iter().map(Bits::ones).collect();
        let mut pairs = Vec::new();
        for (left, bits) in left.iter().enumerate() {
            clk::each_near(right, &ones, bits, self.threshold, |right, dice| {
                let alike = dice >= self.threshold;
                pairs.extend(alike.then_some(Pair { left, right, dice }));
            });
        }
        let compared = left.len() as u64 * right.len() as u64;
        Linked { pairs, compared, ..Linked::default() }
    }

    /// The pairs that are equal in one of the tables; `None` if that takes more comparisons than `most`.
    fn by_tables(&self, left: &[Bits], right: &[Bits], most: u64) -> Option<Linked> {
        let (Some(first), false, false) = (left.first(), right.is_empty(), most == 0) else {
            return None;
        };
        let mut random = Generator::new(self.seed);
        let m = first.len();
        let all = || left.iter().chain(right);
        let ones = all().map(Bits::ones).sum::<u64>() as f64 / all().count() as f64;
        let mut pick = |from: &[Bits]| random.below(from.len() as u64) as usize;
        let samples: Vec<u64> = (0..256)
            .map(|_| {
                let (a, b) = (&left[pick(left)], &right[pick(right)]);
                a.ones() + b.ones() - 2 * a.ones_in_both(b)
            })
            .collect();
        let far = samples.iter().sum::<u64>() as f64 / samples.len() as f64;
        let (sampled, tables) = self.plan(m as f64, ones, far, right.len());
        let mut linked = Linked { tables, sampled, ..Linked::default() };
        let mut found: HashMap<(usize, usize), f64> = HashMap::new();
        for _ in 0..tables {
            let places: Vec<u64> = (0..sampled).map(|_| random.below(m)).collect();
            let key =
                |bits: &Bits| places.iter().fold(0u64, |key, i| key << 1 | u64::from(bits.get(*i)));
            let mut table: HashMap<u64, Vec<usize>> = HashMap::new();
            (0..).zip(right).for_each(|(j, bits)| table.entry(key(bits)).or_default().push(j));
            for (i, bits) in left.iter().enumerate() {
                for &j in table.get(&key(bits)).into_iter().flatten() {
                    if found.contains_key(&(i, j)) {
                        continue;
                    }
                    linked.compared += 1;
                    let dice = clk::dice(bits, &right[j]);
                    if dice >= self.threshold {
                        found.insert((i, j), dice);
                    }
                }
                if linked.compared > most {
                    return None;
                }
            }
        }
        let pairs = found.into_iter().map(|((left, right), dice)| Pair { left, right, dice });
        linked.pairs = pairs.collect();
        Some(linked)
    }
}

/// The most alike pairs, each record in one at the most.
fn best_first(mut pairs: Vec<Pair>) -> Vec<Pair> {
    pairs.sort_by(|a, b| b.dice.total_cmp(&a.dice).then((a.left, a.right).cmp(&(b.left, b.right))));
    let (mut left, mut right) = (HashSet::new(), HashSet::new());
    pairs.retain(|pair| {
        let free = !left.contains(&pair.left) && !right.contains(&pair.right);
        free && left.insert(pair.left) && right.insert(pair.right)
    });
    pairs
}

/// Precision and recall of what was found, given the pairs that are true.
pub fn precision_and_recall<T: Eq + std::hash::Hash>(
    found: &HashSet<T>,
    truth: &HashSet<T>,
) -> (f64, f64) {
    let right = found.intersection(truth).count() as f64;
    (right / found.len().max(1) as f64, right / truth.len().max(1) as f64)
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A35",
    form: Form::Tool,
    uses: &["clk"],
    oracle: "all pairs, compared one by one",
    data: "records of three random names of 5 to 9 letters, and the same with one typing error",
    experiment: Experiment {
        name: "link",
        source: "S3 §III-C [55]",
        title: "Records of two registers, linked by their filters",
        shows: "Records with a typing error have a Dice coefficient of 0.94, unrelated ones of 0.25. Nearly all true \
                pairs are found, comparing a small part of all pairs. Under two keys nothing is found.",
        run,
    },
};

const M: u64 = 1000;
const K: u32 = 10;
const THRESHOLD: f64 = 0.8;

type Record = [String; 3];

/// A word with one letter inserted, deleted or replaced.
fn mistyped(random: &mut Generator, word: &str) -> String {
    loop {
        let mut letters = word.as_bytes().to_vec();
        let at = random.below(letters.len() as u64) as usize;
        let letter = b'a' + random.below(26) as u8;
        match random.below(3) {
            0 => letters.insert(at, letter),
            1 => drop(letters.remove(at)),
            _ => letters[at] = letter,
        }
        if letters != word.as_bytes() {
            return String::from_utf8_lossy(&letters).into_owned();
        }
    }
}

/// Registers with the same people: the second with a typing error in one field of each.
fn registers(random: &mut Generator, people: u64) -> (Vec<Record>, Vec<Record>) {
    let left: Vec<Record> = (0..people)
        .map(|_| {
            [(); 3].map(|()| {
                let letters = 5 + random.below(5);
                made_up_letters(random, letters)
            })
        })
        .collect();
    let mut right = left.clone();
    for record in &mut right {
        let field = random.below(3) as usize;
        record[field] = mistyped(random, &record[field]);
    }
    (left, right)
}

/// All fields in one filter, pieces of different fields alike, as the entry's numbers have them.
fn shared(list: &Clk, record: &Record) -> Result<Bits> {
    let field = &Schema::plain(["any"]).fields[0];
    let pieces: Vec<String> = record.iter().flat_map(|value| field.pieces(value)).collect();
    list.encode_pieces(pieces.iter().map(|piece| (0, piece.as_bytes(), K)))
}

fn run(lab: &Lab) -> Result<Report> {
    let people = lab.scaled(1_000).min(4_000);
    let mut random = Generator::new(lab.seed());
    let (left, right) = registers(&mut random, people);
    let rule = [clk::Rule { letters: 2, k: K }];
    let list = Clk::with_rules(M, &rule, THRESHOLD, Hasher::seeded(lab.seed()))?;
    let encode = |records: &[Record]| {
        records.iter().map(|r| shared(&list, r)).collect::<Result<Vec<Bits>>>()
    };
    let (ours, theirs) = (encode(&left)?, encode(&right)?);

    let mut same: Vec<f64> = ours.iter().zip(&theirs).map(|(a, b)| clk::dice(a, b)).collect();
    same.sort_by(f64::total_cmp);
    let other: Vec<f64> =
        ours.iter().zip(theirs.iter().skip(1)).map(|(a, b)| clk::dice(a, b)).collect();
    let [(near, near_sd), (far, far_sd)] = [&same, &other].map(|values| bound::mean_and_sd(values));
    let mut dice = everbloom_lab::Rows::new(
        "dice",
        "Dice coefficients of pairs",
        Axis::linear("Dice coefficient"),
    );
    // The entry's own numbers are means of 1000 pairs, printed with three digits.
    let simulated = |value: f64, sd: f64| {
        bound::mean(value, sd * 2f64.sqrt(), 1_000.min(people)).widened(value, 0.002)
    };
    dice.row("one typing error, mean", 0.940, near, simulated(0.940, near_sd));
    let fifth = same[same.len() / 20];
    dice.row("… 5th percentile", 0.913, fifth, Bound::exactly(0.913, 0.01));
    // The tolerance of §47: how the names were drawn is not known.
    dice.row("unrelated, mean", 0.254, far, Bound::exactly(0.254, 0.02));
    let most = other.iter().copied().fold(0.0, f64::max);
    dice.row("… the most, below the threshold", 0.468, most, Bound::at_most(THRESHOLD));
    let pieces = |record: &Record| -> HashSet<String> {
        let field = &Schema::plain(["any"]).fields[0];
        record.iter().flat_map(|value| field.pieces(value)).collect()
    };
    let by_pieces = |a: &Record, b: &Record| {
        let (a, b) = (pieces(a), pieces(b));
        let [a, b, both] = [a.len(), b.len(), a.intersection(&b).count()].map(|n| n as f64);
        clk::expected_dice(M as f64, K.into(), a, b, both)
    };
    let expected = |shift: usize| {
        let pairs = left.iter().zip(right.iter().skip(shift));
        pairs.map(|(a, b)| by_pieces(a, b)).sum::<f64>() / (left.len() - shift) as f64
    };
    for (what, shift, mean, sd) in
        [("one typing error", 0, near, near_sd), ("unrelated", 1, far, far_sd)]
    {
        let label = format!("{what}, by the pieces that they share");
        let expected = expected(shift);
        dice.row(label, expected, mean, bound::mean(expected, sd, people).widened(expected, 0.03));
    }
    let strange = Clk::with_rules(M, &rule, THRESHOLD, Hasher::seeded(!lab.seed()))?;
    let noise: Vec<f64> = left
        .iter()
        .zip(&ours)
        .map(|(r, bits)| Ok(clk::dice(&shared(&strange, r)?, bits)))
        .collect::<Result<_>>()?;
    let (noise, noise_sd) = bound::mean_and_sd(&noise);
    let fill = ours.iter().map(Bits::fill).sum::<f64>() / ours.len() as f64;
    dice.row(
        "the same record under two keys: chance",
        fill,
        noise,
        bound::mean(fill, noise_sd, people).widened(fill, 0.01),
    );

    let linker = || Linker { seed: lab.seed(), search: Search::Tables, ..Linker::new(THRESHOLD) };
    let found = linker().all_pairs().link(&ours, &theirs);
    let pairs: HashSet<(usize, usize)> = found.pairs.iter().map(|p| (p.left, p.right)).collect();
    let mut exact = HashSet::new();
    for (i, a) in ours.iter().enumerate() {
        exact.extend(
            (0..).zip(&theirs).filter(|(_, b)| clk::dice(a, b) >= THRESHOLD).map(|(j, _)| (i, j)),
        );
    }
    let mut oracle = Oracle::default();
    oracle.none("pairs that all comparisons do not find", pairs.difference(&exact).count() as u64);
    let missed = exact.difference(&pairs).count() as f64;
    let truth: HashSet<(usize, usize)> = (0..people as usize).map(|i| (i, i)).collect();
    let linked = linker().link(&ours, &theirs);
    let linked: HashSet<(usize, usize)> = linked.pairs.iter().map(|p| (p.left, p.right)).collect();
    let (precision, recall) = precision_and_recall(&linked, &truth);
    let mut quality = everbloom_lab::Rows::new("quality", "What was linked", Axis::linear("share"));
    quality.row("recall", 0.95, recall, Bound::at_least(0.95));
    quality.row("precision", 0.95, precision, Bound::at_least(0.95));
    let planned = bound::share(MISS, exact.len() as u64);
    let share = missed / exact.len() as f64;
    quality.row("alike pairs missed by the tables", MISS, share, Bound { low: None, ..planned });
    let compared = found.compared as f64 / (people * people) as f64;
    quality.row("pairs compared, of all", 0.05, compared, Bound::at_most(0.05));
    let simulated = "The entry's numbers are of another simulation; what unrelated records share by chance depends on \
                     how its names were drawn, so its mean is compared within 0.02, and the pieces predict ours.";
    Ok(oracle.report().rows(dice).rows(quality).note(simulated).note(format!(
        "{} tables of {} bits; {} comparisons instead of {}.",
        found.tables,
        found.sampled,
        found.compared,
        people * people
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a35_one_edit_is_found_at_0_8_and_each_record_once() {
        let mut random = Generator::new(7);
        let (left, right) = registers(&mut random, 300);
        let encoder = Encoder::new(Schema::plain(["a", "b", "c"]), None, 0.8).unwrap();
        let encode = |records: &[Record]| -> Vec<Bits> {
            records.iter().map(|r| encoder.encode(r).unwrap()).collect()
        };
        let (left, right) = (encode(&left), encode(&right));
        let tables = Linker { search: Search::Tables, ..Linker::new(0.8) };
        let linked = tables.link(&left, &right);
        let found: HashSet<_> = linked.pairs.iter().map(|p| (p.left, p.right)).collect();
        let (precision, recall) = precision_and_recall(&found, &(0..300).map(|i| (i, i)).collect());
        assert!(precision >= 0.95 && recall >= 0.95, "{precision} {recall}");
        assert!(linked.compared < 300 * 300 / 10, "{}", linked.compared);
        // Tables that cost more than all pairs are given up; all pairs have at least those of the tables.
        assert!(tables.by_tables(&left, &right, linked.compared).is_some());
        assert!(tables.by_tables(&left, &right, linked.compared - 1).is_none());
        let all = Linker::new(0.8).link(&left, &right);
        assert!(all.compared == 300 * 300 && linked.pairs.iter().all(|p| all.pairs.contains(p)));
    }

    #[test]
    fn nothing_is_linked_to_nothing_and_keys_must_agree() {
        assert!(Linker::new(0.8).link(&[], &[]).pairs.is_empty());
        let key = |byte| Some(SecretKey::new([byte; 16]));
        let schema = || Schema::plain(["a", "b", "c"]);
        let record = ["johannes", "gutenberg", "mainz"];
        let one = Encoder::new(schema(), key(1), 0.8).unwrap().encode(&record).unwrap();
        let two = Encoder::new(schema(), key(2), 0.8).unwrap().encode(&record).unwrap();
        assert!(clk::dice(&one, &two) < 0.6);
        let one = [one];
        assert_eq!(Linker::new(0.8).link(&one, &one).pairs.len(), 1);
    }

    #[test]
    fn the_best_pair_wins() {
        let pair = |left, right, dice| Pair { left, right, dice };
        let pairs = vec![pair(0, 0, 0.8), pair(0, 1, 0.9), pair(1, 1, 0.85), pair(1, 0, 0.81)];
        assert_eq!(best_first(pairs), [pair(0, 1, 0.9), pair(1, 0, 0.81)]);
        assert_eq!(
            precision_and_recall(&HashSet::from([1, 2]), &HashSet::from([2, 3, 4, 5])),
            (0.5, 0.25)
        );
    }
}
