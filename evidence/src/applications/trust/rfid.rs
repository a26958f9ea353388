//! Tags that answer differently every time, and a reader that still knows them (catalogue A47; S0 §IV-F \[124\]).
//!
//! ```text
//!   tag:     s ─H─▶ s' ─H─▶ s'' …      answers G(s), G(s'), G(s'') …
//!   reader:  of each tag a filter of its next M answers ──▶ positives: walk that tag's chain to be sure
//! ```
//!
//! Nobody can link two answers of a tag without its state. The reader has all states: it could compute and keep the
//! next M answers of every tag, 16 bytes each, or search all chains for each answer. A filter of ten bits an answer
//! for each tag takes 125 kB for 1000 tags and M = 100, in place of 1.6 MB; an answer then passes 999·f = 8.19
//! wrong filters, whose chains are walked in vain. After an identification the tag's window moves on. A tag that
//! was read more than M times by others is lost, and found again by a search of all chains. The filter adds
//! nothing to unlinkability: that is the tag's.

use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom as theory;
use everbloom::{Bloom, Hasher, Result};
use sha2::{Digest, Sha256};

use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// A tag's state, or an answer.
type Word = [u8; 16];

fn hashed(domain: u8, state: &Word) -> Word {
    let digest = Sha256::new().chain_update([domain]).chain_update(state).finalize();
    let mut word = Word::default();
    word.copy_from_slice(&digest[..16]);
    word
}

/// The state after an answer.
fn step(state: &Word) -> Word {
    hashed(b'H', state)
}

fn answer(state: &Word) -> Word {
    hashed(b'G', state)
}

/// A tag: answers, and moves on.
struct Tag {
    state: Word,
}

impl Tag {
    fn read(&mut self) -> Word {
        let word = answer(&self.state);
        self.state = step(&self.state);
        word
    }
}

/// What the reader keeps of a tag.
struct Known {
    state: Word,
    /// Answers before the window.
    position: u64,
    filter: Bloom,
}

/// A tag, and how many answers it had given before.
type Place = (usize, u64);

/// The reader's table of tags.
struct Reader {
    tags: Vec<Known>,
    window: u64,
    shape: (u64, u32),
    /// Steps along chains, and filters that were positive.
    steps: u64,
    positives: u64,
}

impl Reader {
    fn new(states: &[Word], window: u64, bits_per_answer: f64) -> Result<Self> {
        let m = (window as f64 * bits_per_answer) as u64;
        let shape = (m, theory::best_k(m, window));
        let tags = states.iter().map(|state| Self::known(*state, 0, window, shape));
        Ok(Self { tags: tags.collect::<Result<_>>()?, window, shape, steps: 0, positives: 0 })
    }

    fn known(state: Word, position: u64, window: u64, (m, k): (u64, u32)) -> Result<Known> {
        // A seed of its own for each window: filters of different tags err independently.
        let seed = u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|i| state[i]));
        let mut filter = Bloom::with_shape(m, k, Hasher::seeded(seed))?;
        let mut at = state;
        for _ in 0..window {
            filter.insert(&answer(&at));
            at = step(&at);
        }
        Ok(Known { state, position, filter })
    }

    /// Where in a tag's chain an answer is, at most `far` steps on.
    fn walk(&mut self, tag: usize, word: &Word, far: u64) -> Option<u64> {
        let mut at = self.tags[tag].state;
        for i in 0..far {
            self.steps += 1;
            if answer(&at) == *word {
                return Some(i);
            }
            at = step(&at);
        }
        None
    }

    /// The tag of an answer and the position in its chain, if it is in a window.
    fn identify(&mut self, word: &Word) -> Result<Option<Place>> {
        let mut found = None;
        for tag in 0..self.tags.len() {
            if !self.tags[tag].filter.contains(word) {
                continue;
            }
            self.positives += 1;
            // All positives are walked, so that the work does not tell the tag's place in the table.
            if let Some(i) = self.walk(tag, word, self.window) {
                found = Some((tag, i));
            }
        }
        found.map(|(tag, i)| self.found(tag, i)).transpose()
    }

    /// Moves a tag's window behind what was identified.
    fn found(&mut self, tag: usize, i: u64) -> Result<Place> {
        let position = self.tags[tag].position + i;
        let state = (0..=i).fold(self.tags[tag].state, |state, _| step(&state));
        self.tags[tag] = Self::known(state, position + 1, self.window, self.shape)?;
        Ok((tag, position))
    }

    /// Searches all chains far ahead: for a tag that was lost.
    fn resynchronize(&mut self, word: &Word, far: u64) -> Result<Option<Place>> {
        let place = (0..self.tags.len()).find_map(|tag| Some((tag, self.walk(tag, word, far)?)));
        place.map(|(tag, i)| self.found(tag, i)).transpose()
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A47",
    form: Form::Simulation,
    uses: &["bloom"],
    oracle: "the simulator knows which tag answered, and how often",
    data: "1000 tags with random states, read in random order, some of them by others in between",
    experiment: Experiment {
        name: "rfid",
        source: "S0 §IV-F [124]",
        title: "Tags that answer differently every time, and a reader that still knows them",
        shows: "Every answer within the window is identified, tag and position. Of 1000 tags 8.19 chains are walked in vain, \
                9.2 windows of hashing in place of 500. A tag read too often by others is reported and found again.",
        run,
    },
};

const TAGS: usize = 1000;
const WINDOW: u64 = 100;

#[derive(Default)]
struct Seen {
    pairs: Vec<(Option<Place>, Option<Place>)>,
    in_vain: u64,
    reads: u64,
    steps: u64,
    bits: u64,
    lost: (u64, u64),
    found_again: u64,
}

fn try_one(seed: u64, bits: f64, reads: u64) -> Result<Seen> {
    let mut random = Generator::new(seed);
    let states: Vec<Word> = (0..TAGS)
        .map(|_| {
            (u128::from(random.next_u64()) << 64 | u128::from(random.next_u64())).to_le_bytes()
        })
        .collect();
    let mut reader = Reader::new(&states, WINDOW, bits)?;
    let mut tags: Vec<Tag> = states.iter().map(|state| Tag { state: *state }).collect();
    let mut count = vec![0u64; TAGS];
    let mut seen = Seen { bits: reader.tags.iter().map(|t| t.filter.m()).sum(), ..Seen::default() };
    for _ in 0..reads {
        let tag = random.below(TAGS as u64) as usize;
        // Others have read it up to half a window in between.
        let unseen = random.below(WINDOW / 2);
        (0..unseen).for_each(|_| _ = tags[tag].read());
        let word = tags[tag].read();
        let truth = Some((tag, count[tag] + unseen));
        count[tag] += unseen + 1;
        seen.pairs.push((reader.identify(&word)?, truth));
    }
    (seen.in_vain, seen.reads, seen.steps) = (reader.positives - reads, reads, reader.steps);
    // Walked into: more than a window of reads by others.
    let tag = random.below(TAGS as u64) as usize;
    (0..2 * WINDOW).for_each(|_| _ = tags[tag].read());
    let word = tags[tag].read();
    seen.lost = (u64::from(reader.identify(&word)?.is_none()), 1);
    let found = reader.resynchronize(&word, 4 * WINDOW)?;
    seen.found_again = u64::from(found == Some((tag, count[tag] + 2 * WINDOW)));
    let next = tags[tag].read();
    seen.pairs.push((reader.identify(&next)?, Some((tag, count[tag] + 2 * WINDOW + 1))));
    Ok(seen)
}

fn run(lab: &Lab) -> Result<Report> {
    let (runs, reads) = (lab.scaled(1), 60);
    let mut oracle = Oracle::default();
    let rate = |bits: f64| {
        let m = bits * WINDOW as f64;
        let k = theory::best_k(m as u64, WINDOW);
        theory::fpr_exact(m as u64, WINDOW, k)
    };
    let [x, y] = [Axis::linear("bits an answer"), Axis::log("chains walked in vain")];
    let xs = (4..=16).map(f64::from);
    let mut series = Series::new("999·f", xs, |b| (TAGS - 1) as f64 * rate(b));
    let mut rows = Rows::new("work", "For a read", Axis::log("share or factor"));
    for bits in [6.0, 8.0, 10.0] {
        let seen = lab.runs(runs, |seed| try_one(seed, bits, reads))?;
        let f = rate(bits);
        let sum = |of: &dyn Fn(&Seen) -> u64| seen.iter().map(of).sum::<u64>();
        let all = sum(&|s| s.reads);
        let in_vain = sum(&|s| s.in_vain) as f64 / all as f64;
        let others = (TAGS - 1) as f64;
        let around = bound::share(f, all * (TAGS as u64 - 1)).widened(f, 0.05);
        let each = |share: Option<f64>| share.map(|s| s * others);
        series.point(
            bits,
            others * f,
            in_vain,
            Bound { low: each(around.low), high: each(around.high) },
        );
        if bits == 10.0 {
            // Windows of steps: wrong chains to their ends, the right one to the answer, a quarter of a window on.
            let steps = sum(&|s| s.steps) as f64 / (all * WINDOW) as f64;
            let expected = others * f + 0.25;
            let slack = others * (each(around.high).unwrap_or(0.0) / others - f) + 0.1;
            rows.row("chain steps, in windows", expected, steps, Bound::exactly(expected, slack));
            rows.row(
                "chain steps by a search of all chains, in windows",
                TAGS as f64 / 2.0,
                TAGS as f64 / 2.0,
                Bound::at_least(10.0 * steps),
            );
            let table = (16 * 8 * WINDOW) as f64 * TAGS as f64;
            let ratio = table / seen[0].bits as f64;
            rows.row(
                "memory of all answers over that of the filters",
                12.8,
                ratio,
                Bound::exactly(12.8, 0.01),
            );
        }
        let lost = sum(&|s| s.lost.0);
        rows.row(
            format!("{bits} bits: lost tags reported"),
            1.0,
            lost as f64 / runs as f64,
            Bound::exactly(1.0, 0.0),
        );
        let again = sum(&|s| s.found_again);
        rows.row(
            format!("{bits} bits: lost tags found again"),
            1.0,
            again as f64 / runs as f64,
            Bound::exactly(1.0, 0.0),
        );
        oracle.equal(
            &format!("tags and positions at {bits} bits"),
            seen.into_iter().flat_map(|s| s.pairs),
        );
    }
    let title = "Chains walked in vain for a read";
    let chart = Chart::new("in-vain", title, [x, y], [series]);
    Ok(oracle.report().chart(chart).rows(rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a47_memory_and_work() {
        let f = theory::fpr_asymptotic(10.0, 1.0, 7.0);
        assert!((999.0 * f - 8.19).abs() < 0.005, "{f}");
        // Walks in windows: the wrong ones and at most one whole window for the right one.
        assert!(999.0 * f + 1.0 < 9.2);
        assert_eq!(1000 * 100 * 10 / 8, 125_000);
        assert_eq!(1000 * 100 * 16, 1_600_000);
    }
}
