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

pub use schema::{Field, Pieces, Rows, Schema, Weight, header};

/// Encodes records by a schema, under a key.
///
/// ```
/// use everbloom_tools::link::{Encoder, Linker, Schema};
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
pub const MISS: f64 = 0.01;
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

    /// The same by tables, whatever they cost, which draw their bits under this seed.
    #[must_use]
    pub fn with_tables(self, seed: u64) -> Self {
        Self { search: Search::Tables, seed, ..self }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Two registers of the same people: the second with a wrong letter in one field of each.
    fn registers(people: u64) -> (Vec<[String; 3]>, Vec<[String; 3]>) {
        let mut random = Generator::new(7);
        let name = |random: &mut Generator| -> String {
            let letters = 5 + random.below(5);
            (0..letters).map(|_| char::from(b'a' + random.below(26) as u8)).collect()
        };
        let left: Vec<_> = (0..people).map(|_| [(); 3].map(|()| name(&mut random))).collect();
        let mut right = left.clone();
        for record in &mut right {
            let value = &mut record[random.below(3) as usize];
            let at = random.below(value.len() as u64) as usize;
            value.replace_range(at..=at, "x");
        }
        (left, right)
    }

    #[test]
    fn a35_one_edit_is_found_at_0_8_and_each_record_once() {
        let (left, right) = registers(300);
        let encoder = Encoder::new(Schema::plain(["a", "b", "c"]), None, 0.8).unwrap();
        let encode = |records: &[[String; 3]]| -> Vec<Bits> {
            records.iter().map(|r| encoder.encode(r).unwrap()).collect()
        };
        let (left, right) = (encode(&left), encode(&right));
        let tables = Linker::new(0.8).with_tables(0);
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
