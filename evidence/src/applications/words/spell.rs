//! Spelling and hyphenation (catalogue A1; S1 §3.1): the tool [`everbloom_tools::spell`], tried on words that are made up.

use std::collections::{HashMap, HashSet};

use everbloom::internals::hash::Generator;
use everbloom::internals::theory;
use everbloom::{Bloom, Result};
use everbloom_tools::spell::hyphenate::{Hyphenator, Patterns};
use everbloom_tools::spell::{Dictionary, Source, Speller};

use super::made_up;
use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A1",
    form: Form::Tool("spell"),
    uses: &["bloom"],
    oracle: "the same dictionary in a hash set, and a hyphenator that looks up every word",
    data: "words that are made up, and text made of them with errors; --data takes a word list",
    experiment: Experiment {
        name: "spell",
        source: "S1 §3.1",
        title: "Spelling by a filter of the dictionary, hyphenation by filtered exceptions",
        shows: "No correct word is flagged; misspellings are missed at the filter's rate f, once for each form \
                that is looked up. Hyphenation is the exact one, with a look-up in the table for every exception \
                and for a share f of the other words.",
        run,
    },
};

const RATES: [f64; 3] = [0.1, 0.01, 0.001];

/// A dictionary in lower case, without repetition.
fn dictionary(lab: &Lab) -> Result<Vec<String>> {
    let mut words: HashSet<String> = HashSet::new();
    if let Some(path) = lab.data() {
        let text =
            std::fs::read(path).map_err(|e| everbloom::Error::from(e).context(path.display()))?;
        Source::List(text).each(|word| {
            let fits = word.len() > 2 && word.iter().all(u8::is_ascii_lowercase);
            words.extend(fits.then(|| String::from_utf8_lossy(word).into_owned()));
        });
    }
    let mut random = Generator::new(lab.seed());
    while words.len() < 20_000 {
        let syllables = 2 + random.below(3);
        words.insert(made_up(&mut random, syllables));
    }
    let mut words: Vec<String> = words.into_iter().collect();
    words.sort_unstable();
    Ok(words)
}

/// A word that is not in the dictionary: one of it with a letter replaced and another inserted.
fn misspelled(random: &mut Generator, word: &str, known: &HashSet<Vec<u8>>) -> String {
    loop {
        let mut letters = word.as_bytes().to_vec();
        let at = random.below(letters.len() as u64) as usize;
        letters[at] = b'a' + random.below(26) as u8;
        letters.insert(
            random.below(letters.len() as u64) as usize,
            b"qxyaeiou"[random.below(8) as usize],
        );
        if !known.contains(&letters) {
            return String::from_utf8_lossy(&letters).into_owned();
        }
    }
}

/// The forms in which a word is written, and how many of each are looked up.
fn form(word: &str, form: u64) -> String {
    match form {
        0 => word.to_owned(),
        1 => format!("{}{}", word[..1].to_uppercase(), &word[1..]),
        _ => word.to_uppercase(),
    }
}

/// A place in a text, and the word there.
type Place = (usize, u64, Vec<u8>);

/// Lines of words in all forms, and the truth: where words stand that are in no dictionary.
fn text(
    random: &mut Generator,
    words: &[String],
    known: &HashSet<Vec<u8>>,
) -> (Vec<String>, Vec<Place>) {
    let (mut lines, mut wrong) = (Vec::new(), Vec::new());
    for number in 0..200 {
        let mut line = String::new();
        for _ in 0..10 {
            let word = &words[random.below(words.len() as u64) as usize];
            let bad = random.below(10) == 0;
            let written = if bad { misspelled(random, word, known) } else { word.clone() };
            let mut written = form(&written, random.below(3));
            if random.below(10) == 0 {
                written = format!("{written}-{word}");
            }
            if bad {
                let column = 1 + line.chars().count() as u64 + 1;
                wrong.push((number, column, written.clone().into_bytes()));
            }
            line += ["«", "(", "\""][random.below(3) as usize];
            line += &written;
            line += [" ", ", ", "\u{2014}", " 42nd "][random.below(4) as usize];
        }
        lines.push(line);
    }
    (lines, wrong)
}

fn found<D: Dictionary>(speller: &Speller<D>, lines: &[String]) -> Vec<Place> {
    let mut found = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        speller.line(line.as_bytes(), |u| found.push((number, u.column, u.word.to_vec())));
    }
    found
}

fn run(lab: &Lab) -> Result<Report> {
    let words = dictionary(lab)?;
    let known: HashSet<Vec<u8>> = words.iter().map(|w| w.clone().into_bytes()).collect();
    let exact = Speller::with(known.clone());
    let mut oracle = Oracle::default();
    let mut random = Generator::new(!lab.seed());
    let (lines, wrong) = text(&mut random, &words, &known);
    oracle.equal(
        "places of unknown words, by the exact set",
        [(found(&exact, &lines), wrong.clone())],
    );

    let axes = [Axis::log("rate of the filter"), Axis::log("share of misspellings missed")];
    let [x, y] = axes;
    let names = ["in lower case: f", "capitalized: 1 − (1 − f)²", "in capitals: 1 − (1 − f)³"];
    let xs = || (0..=40).map(|i| libm::pow(10.0, -3.2 + 0.06 * f64::from(i)));
    let missed = |f: f64, forms: u64| 1.0 - libm::pow(1.0 - f, forms as f64);
    let mut series: Vec<Series> = (1..)
        .zip(names)
        .map(|(forms, name)| Series::new(name, xs(), |f| missed(f, forms)))
        .collect();
    let list = Source::List(words.join("\n").into_bytes());
    let mut flagged = 0;
    for rate in RATES {
        let speller = Speller::new(std::slice::from_ref(&list), rate)?;
        let places = found(&speller, &lines);
        oracle.none(
            &format!("unknown words that the exact set knows, at {rate}"),
            places.iter().filter(|place| !wrong.contains(place)).count() as u64,
        );
        for word in &words {
            (0..3).for_each(|i| {
                speller.line(form(word, i).as_bytes(), |_| flagged += 1);
            });
        }
        let (m, k) = (speller.words().m() as f64, f64::from(speller.words().k()));
        let throws = k * words.len() as f64;
        let f = theory::bloom::fpr_classic(m, words.len() as f64, k);
        // Filters of the same words differ in their fill.
        let scatter = 4.9 * k * theory::bloom::fill_sd(m, throws) / theory::bloom::fill(m, throws);
        let trials = lab.scaled(40_000);
        for (i, series) in (0..).zip(&mut series) {
            let mut through = trials;
            for _ in 0..trials {
                let word = &words[random.below(words.len() as u64) as usize];
                let bad = form(&misspelled(&mut random, word, &known), i);
                speller.line(bad.as_bytes(), |_| through -= 1);
            }
            let share = missed(f, i + 1);
            let bound = bound::share(share, trials).widened(share, scatter);
            series.point(rate, share, through as f64 / trials as f64, bound);
        }
    }
    oracle.none("correct words that were flagged", flagged);

    let mut hyphenation =
        Rows::new("hyphenation", "Look-ups in the table of exceptions", Axis::linear("look-ups"));
    judge_hyphenation(lab, &words, &mut oracle, &mut hyphenation)?;
    let mut size = Rows::new("size", "The filter of a dictionary", Axis::linear("KiB"));
    let filter = Bloom::with_rate(250_000, 0.001)?;
    let kib = filter.m() as f64 / 8.0 / 1024.0;
    size.row("250 000 words at 0.001", 438.8, kib, Bound::exactly(438.8, 0.06));
    let chart = Chart::new("missed", "Misspellings that are missed", [x, y], series);
    Ok(oracle.report().chart(chart).rows(hyphenation).rows(size))
}

/// The exact twin: looks into the table for every word.
fn exactly(patterns: &Patterns, table: &HashMap<String, Vec<usize>>, word: &str) -> Vec<usize> {
    table.get(word).cloned().unwrap_or_else(|| patterns.points(word))
}

/// Patterns for words that are made up: between a vowel and any consonant, but not before all of them.
fn patterns() -> Result<Patterns> {
    let all = "bcdfghjklmnprstvwz".chars().map(|c| format!("1{c}")).collect::<Vec<_>>().join(" ");
    Patterns::parse(&(all + " 2w 2z a2n"))
}

/// Judges hyphenation with a tenth of the words as exceptions.
fn judge_hyphenation(
    lab: &Lab,
    words: &[String],
    oracle: &mut Oracle,
    rows: &mut Rows,
) -> Result<()> {
    let mut random = Generator::new(lab.seed() ^ 1);
    let mut table: HashMap<String, Vec<usize>> = HashMap::new();
    for word in words {
        if random.below(10) == 0 {
            table.insert(word.clone(), vec![1 + random.below(word.len() as u64 - 1) as usize]);
        }
    }
    let listed: Vec<String> = table.keys().cloned().collect();
    let twin = patterns()?;
    for fpr in [0.1, 0.01, 0.001] {
        let hyphenator = Hyphenator::new(patterns()?, &listed, table.clone(), fpr)?;
        let mut pairs = Vec::new();
        for word in words {
            pairs.push((hyphenator.points(word)?, exactly(&twin, &table, word)));
        }
        oracle.equal(&format!("hyphenations at {fpr}"), pairs);
        let rules = (words.len() - table.len()) as u64;
        let (m, k) = (hyphenator.exceptions().m() as f64, f64::from(hyphenator.exceptions().k()));
        let throws = k * table.len() as f64;
        let f = theory::bloom::fpr_classic(m, table.len() as f64, k);
        let scatter = 4.9 * k * theory::bloom::fill_sd(m, throws) / theory::bloom::fill(m, throws);
        let share = bound::share(f, rules).widened(f, scatter);
        let looks = |f: f64| table.len() as f64 + f * rules as f64;
        let bound = Bound::between(
            looks(share.low.unwrap_or(0.0)).floor(),
            looks(share.high.unwrap_or(1.0)).ceil(),
        );
        let label = format!("exceptions + f·(other words), f = {fpr}");
        rows.row(label, looks(f), hyphenator.looked_up() as f64, bound);
    }
    Ok(())
}
