//! K-mer filters: what it is worth to ask for the neighbors of a piece, too.

use everbloom::Result;
use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom;
use everbloom::structured::KMer;

use crate::apparatus::classic::Shape;
use crate::apparatus::generalized::steps;
use crate::{Axis, Bound, Chart, Experiment, Lab, Report, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "k-mer",
    source: "S3 §VI-D and D. Pellow et al., Improving Bloom filter performance on sequence data, RECOMB 2016; catalogue §21",
    title: "K-mer filters: one- and two-sided beside plain",
    shows: "A piece of a sequence has neighbors in it that overlap in all letters but one. Asking for one of eight makes a random \
            piece pass far less often, asking on both sides less again, in the same bits. Pieces that differ from a stored one \
            in the last letter only are told apart by both sides alone.",
    run,
};

const PIECES: u64 = 20_000;
const LENGTH: usize = 31;
const QUERIES: u64 = 10_000;

/// Bits per piece.
const RATIOS: [u64; 4] = [3, 4, 6, 8];

/// How many lookups have to pass: the piece, and in each group of candidates one.
#[derive(Clone, Copy)]
struct Form {
    name: &'static str,
    /// For a random piece, and for one whose first letters are all stored.
    groups: [&'static [i32]; 2],
}

const FORMS: [Form; 3] = [
    Form { name: "plain", groups: [&[], &[]] },
    Form { name: "one-sided", groups: [&[8], &[]] },
    Form { name: "two-sided", groups: [&[4, 4], &[4]] },
];

impl Form {
    /// The rate where one lookup passes with `f`.
    fn rate(&self, query: usize, f: f64) -> f64 {
        self.groups[query].iter().fold(f, |rate, count| rate * (1.0 - (1.0 - f).powi(*count)))
    }
}

fn letters(random: &mut Generator, count: usize) -> Vec<u8> {
    (0..count).map(|_| b"ACGT"[random.below(4) as usize]).collect()
}

fn shape(ratio: u64) -> Shape {
    let m = ratio * PIECES;
    Shape { m, n: PIECES, k: bloom::best_k(m, PIECES) }
}

/// The rates of random pieces and of those with another last letter.
fn rates(lab: &Lab, form: &Form, ratio: u64, seed: u64) -> Result<[f64; 2]> {
    let Shape { m, k, .. } = shape(ratio);
    let builder = KMer::builder().items(PIECES).set("m", m).set("k", k).form(form.name);
    let mut filter = builder.set("length", LENGTH as u64).seed(seed).build()?;
    let mut random = Generator::new(seed);
    let sequence = letters(&mut random, PIECES as usize + LENGTH - 1);
    filter.insert(&sequence);
    lab.ask_members(sequence.windows(LENGTH), |piece| filter.contains(*piece));
    let passes = |_: &u64| filter.contains(&letters(&mut random, LENGTH));
    let at_random = (0..QUERIES).filter(passes).count();
    let near = |_: &u64| {
        // Not the first or the last piece: those have no neighbor on one side.
        let at = 1 + random.below(PIECES - 2) as usize;
        let mut piece = sequence[at..at + LENGTH].to_vec();
        let last = b"ACGT".iter().position(|letter| *letter == piece[LENGTH - 1]).unwrap_or(0);
        piece[LENGTH - 1] = b"ACGT"[(last + 1 + random.below(3) as usize) % 4];
        filter.contains(&piece)
    };
    let near = (0..QUERIES).filter(near).count();
    Ok([at_random, near].map(|count| count as f64 / QUERIES as f64))
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(4);
    let mut charts = [Vec::new(), Vec::new()];
    for form in &FORMS {
        let curve = |query: usize| move |ratio: f64| form.rate(query, bloom::fpr_best(ratio));
        let mut series = [0, 1].map(|query| Series::new(form.name, steps(2.5, 8.0), curve(query)));
        for ratio in RATIOS {
            let seen = lab.runs(runs, |seed| rates(lab, form, ratio, seed))?;
            let shape = shape(ratio);
            for (query, series) in series.iter_mut().enumerate() {
                let measured = seen.iter().map(|run| run[query]).sum::<f64>() / runs as f64;
                let expected = form.rate(query, shape.fpr());
                // By the filter's fill, as many times over as lookups have to pass.
                let sd =
                    shape.fpr_sd() * (1 + form.groups[query].len()) as f64 * expected / shape.fpr();
                let bound = bound::rate(expected, sd, runs, QUERIES).widened(expected, 0.01);
                series.point(ratio as f64, expected, measured, bound);
            }
        }
        for (query, (series, chart)) in series.into_iter().zip(&mut charts).enumerate() {
            let mut series = series;
            // A whole k costs up to 4 % a lookup.
            series.follows(curve(query), 0.04 * (1 + form.groups[query].len()) as f64);
            if let (false, Some(plain)) = (form.groups[query].is_empty(), chart.first()) {
                let plain: &Series = plain;
                let of = |series: &Series| series.points[1].verdict;
                let expected = of(&series).predicted / of(plain).predicted;
                let ratio = of(&series).measured / of(plain).measured;
                series.claim(
                    "over plain, at 4 bits",
                    expected,
                    ratio,
                    Bound::exactly(expected, 0.15 * expected),
                );
            }
            chart.push(series);
        }
    }
    let [random, near] = charts;
    let chart = |id: &str, what: &str, series| {
        Chart::new(
            id,
            format!("Rate of {what}, pieces of {LENGTH} letters"),
            [Axis::linear("bits per piece"), Axis::log("false-positive rate")],
            series,
        )
    };
    Ok(Report::default()
        .chart(chart("a", "random pieces", random))
        .chart(chart("b", "pieces with another last letter", near))
        .note(format!(
            "{PIECES} pieces of one random sequence of the letters ACGT. A lookup passes with f: one-sided asks for any of eight \
             neighbors besides, f·(1 - (1 - f)^8), two-sided for one of four on each side. A piece with another last letter has \
             its true neighbor on the left."
        )))
}
