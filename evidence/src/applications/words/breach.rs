//! Passwords that attackers try first (catalogue A2; S0 §IV-E \[106, 107\], S1 §3.1): the tool [`everbloom_tools::breach`],
//! tried.

use std::collections::HashSet;

use everbloom::Result;
use everbloom::internals::hash::Generator;
use everbloom::internals::theory;
use everbloom::prelude::Face as _;
use everbloom_tools::breach::{
    Breached, Builder, Content, Hash, Near, keys_of_word, near_by_neighbors, near_by_tags,
    rate_of_all,
};

use super::made_up;
use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A2",
    form: Form::Tool("breach"),
    uses: &["bloom", "binary-fuse"],
    oracle: "all neighbors of a candidate, looked up in a hash set",
    data: "made-up words of eight letters, and candidates one and two edits away",
    experiment: Experiment {
        name: "breach",
        source: "S0 §IV-E [106, 107], S1 §3.1",
        title: "Passwords within one edit of a word that attackers try",
        shows: "Every candidate within one edit is refused, exhaustively. One two edits away is refused at \
                1 − (1 − f)^18: 16.6 % at f = 0.01, 0.9 % at f = 0.0005. Without tags \"ba\" is refused for \"ab\".",
        run,
    },
};

const RATES: [f64; 2] = [0.01, 0.0005];
const LETTERS: u64 = 8;

/// Whether a candidate of small letters is within one edit of a word: by trying every edit.
fn within_one(words: &HashSet<String>, candidate: &str) -> bool {
    let mut found = false;
    edits(candidate, |edited| found |= words.contains(edited));
    found
}

/// Calls `f` with a word and all words of small letters within one edit of it.
fn edits(word: &str, mut f: impl FnMut(&str)) {
    f(word);
    for i in 0..=word.len() {
        if i < word.len() {
            f(&format!("{}{}", &word[..i], &word[i + 1..]));
        }
        for c in 'a'..='z' {
            f(&format!("{}{c}{}", &word[..i], &word[i..]));
            if i < word.len() {
                f(&format!("{}{c}{}", &word[..i], &word[i + 1..]));
            }
        }
    }
}

/// A word with two letters replaced that is not within one edit of any word, and has no two equal letters in a
/// row: all its look-ups are different.
fn two_edits(random: &mut Generator, words: &[String], known: &HashSet<String>) -> String {
    loop {
        let mut letters = words[random.below(words.len() as u64) as usize].clone().into_bytes();
        for _ in 0..2 {
            letters[random.below(LETTERS) as usize] = b'a' + random.below(26) as u8;
        }
        let candidate = String::from_utf8_lossy(&letters).into_owned();
        if letters.windows(2).all(|pair| pair[0] != pair[1]) && !within_one(known, &candidate) {
            return candidate;
        }
    }
}

/// Deletions without tags, exactly: what the tags prevent.
fn untagged(words: &[&str], candidate: &str) -> bool {
    let less = |word: &str| -> HashSet<String> {
        let shorter = (0..word.len()).map(|i| format!("{}{}", &word[..i], &word[i + 1..]));
        shorter.chain([word.to_owned()]).collect()
    };
    let ours = less(candidate);
    words.iter().any(|word| !less(word).is_disjoint(&ours))
}

fn run(lab: &Lab) -> Result<Report> {
    let mut random = Generator::new(lab.seed());
    let mut known = HashSet::new();
    while known.len() < 2_000 {
        known.insert(made_up(&mut random, LETTERS / 2));
    }
    let mut words: Vec<String> = known.iter().cloned().collect();
    words.sort_unstable();
    let mut oracle = Oracle::default();

    let xs = (0..=40).map(|i| libm::pow(10.0, -4.0 + 0.06 * f64::from(i)));
    let mut series = Series::new("1 − (1 − f)^18", xs, |f| rate_of_all(f, 2 * LETTERS + 2));
    let trials = lab.scaled(4_000);
    let far: Vec<String> = (0..trials).map(|_| two_edits(&mut random, &words, &known)).collect();
    for rate in RATES {
        let near = Near::new(&words, rate)?;
        let mut missed = 0;
        for word in words.iter().step_by(words.len() / 100) {
            edits(word, |candidate| missed += u64::from(!near.refuses(candidate)));
        }
        oracle.none(&format!("neighbors of 100 words that pass, f = {rate}"), missed);
        let (m, k) = (near.keys().m() as f64, f64::from(near.keys().k()));
        let keys = near.keys().head().items as f64;
        let f = theory::bloom::fpr_classic(m, keys, k);
        let scatter =
            4.9 * k * theory::bloom::fill_sd(m, k * keys) / theory::bloom::fill(m, k * keys);
        let refused = far.iter().filter(|candidate| near.refuses(candidate)).count();
        let share = rate_of_all(f, 2 * LETTERS + 2);
        let bound = bound::share(share, trials).widened(share, scatter);
        series.point(rate, share, refused as f64 / trials as f64, bound);
    }
    oracle.equal("candidates two edits away, by exact tags", exact_tags(&words, &far, &known));
    let [x, y] = [Axis::log("rate of a look-up"), Axis::log("share refused")];
    let chart =
        Chart::new("refused", "Candidates two edits away that are refused", [x, y], [series]);

    let mut numbers =
        Rows::new("numbers", "A word, and a candidate, of eight letters", Axis::log("count"));
    let (mut inserted, mut probed, mut tried) = (0u32, 0u32, 0u32);
    keys_of_word(b"abcdefgh", |_| inserted += 1);
    near_by_tags(b"abcdefgh", |_| {
        probed += 1;
        false
    });
    near_by_neighbors(b"abcdefgh", |_| {
        tried += 1;
        false
    });
    numbers.row("keys inserted", 17.0, inserted.into(), Bound::exactly(17.0, 0.0));
    numbers.row("look-ups", 18.0, probed.into(), Bound::exactly(18.0, 0.0));
    numbers.row(
        "neighbors of a hash's candidate",
        1608.0,
        tried.into(),
        Bound::exactly(1608.0, 0.0),
    );
    let mut trap =
        Rows::new("trap", "\"ba\", two edits from \"ab\"", Axis::linear("refused (1) or not (0)"));
    let refused = |yes: bool| if yes { 1.0 } else { 0.0 };
    trap.row("without tags", 1.0, refused(untagged(&["ab"], "ba")), Bound::exactly(1.0, 0.0));
    let tagged = Near::new(["ab"], 1e-9)?.refuses("ba");
    trap.row("with tags", 0.0, refused(tagged), Bound::exactly(0.0, 0.0));
    let hashes = hash_list(lab, &words, &far, &mut oracle)?;
    Ok(oracle.report().chart(chart).rows(numbers).rows(hashes).rows(trap))
}

/// Pairs of the tags' answers in an exact set and those of trying every edit, for candidates of all kinds.
fn exact_tags(words: &[String], far: &[String], known: &HashSet<String>) -> Vec<(bool, bool)> {
    let mut keys = HashSet::new();
    for word in words {
        keys_of_word(word.as_bytes(), |key| {
            keys.insert(key.to_vec());
        });
    }
    let near = words
        .iter()
        .step_by(40)
        .flat_map(|w| [format!("{w}s"), w[1..].to_owned(), w.replace('a', "o")]);
    let all = far.iter().cloned().chain(near);
    all.map(|c| (near_by_tags(c.as_bytes(), |key| keys.contains(key)), within_one(known, &c)))
        .collect()
}

/// A set of hashes in a folder, planned for the neighbors of a candidate.
fn hash_list(lab: &Lab, words: &[String], far: &[String], oracle: &mut Oracle) -> Result<Rows> {
    let folder = tempfile::tempdir()?;
    let target = folder.path().join("set");
    let rate = 0.05;
    let mut builder = Builder::new(&target, Content::Hashes { hash: Hash::Sha1, near: true }, 1)?;
    words.iter().try_for_each(|word| builder.password(word.as_bytes()))?;
    builder.finish(&target, rate)?;
    let set = Breached::open(&target)?;
    let (mut missed, mut refused) = (0, 0);
    for word in words.iter().step_by(words.len() / 50) {
        let changed =
            [word.clone(), word[1..].to_owned(), format!("{word}7"), format!("X{}", &word[1..])];
        for candidate in changed {
            missed += u64::from(!set.near(candidate.as_bytes())?);
        }
        missed += u64::from(!set.has(word.as_bytes())?);
    }
    oracle.none("neighbors of hashed words that pass", missed);
    let trials = lab.scaled(200).min(far.len() as u64);
    for candidate in &far[..trials as usize] {
        // Its neighbors among all printed characters are no words either.
        refused += u64::from(set.near(candidate.as_bytes())?);
    }
    let predicted = set.rate(LETTERS, true);
    let mut rows = Rows::new(
        "hashes",
        "A list of hashes, planned for 0.05 of candidates",
        Axis::linear("share refused"),
    );
    let measured = refused as f64 / trials as f64;
    rows.row("two edits away", predicted, measured, bound::share(predicted, trials));
    rows.row("no more than planned", rate, predicted, Bound::at_most(rate));
    Ok(rows)
}
