//! Records of two registers, linked (catalogue A35; S3 §III-C \[55\]): the tool [`everbloom_tools::link`], tried.

use std::collections::HashSet;

use everbloom::internals::cells::Bits;
use everbloom::internals::hash::Generator;
use everbloom::structured::{Clk, clk};
use everbloom::{Hasher, Result};
use everbloom_tools::link::{Linker, MISS, Schema, precision_and_recall};

use crate::applications::words::made_up_letters;
use crate::{Application, Axis, Bound, Experiment, Form, Lab, Oracle, Report, bound};

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A35",
    form: Form::Tool("link"),
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
    let mut dice =
        crate::Rows::new("dice", "Dice coefficients of pairs", Axis::linear("Dice coefficient"));
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

    let linker = || Linker::new(THRESHOLD).with_tables(lab.seed());
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
    let mut quality = crate::Rows::new("quality", "What was linked", Axis::linear("share"));
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
