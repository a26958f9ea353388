//! The hierarchical filter: pairs of blocks are remembered too, so that blocks of several payloads do not make another.

use everbloom::Result;
use everbloom::internals::hash::Generator;
use everbloom::structured::Hierarchical;

use crate::{Axis, Chart, Experiment, Lab, Report, Rows, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "hierarchical",
    source: "S0 §III-E and K. Shanmugasundaram et al., Payload attribution via hierarchical Bloom filters, CCS 2004; \
             catalogue §23",
    title: "The hierarchical filter: foreign excerpts and splices",
    shows: "An excerpt of four blocks must be found seven times, not four: f⁷ instead of f⁴. Two blocks of different payloads, \
            put side by side, pass every time where blocks are remembered alone, and with f where pairs are, too.",
    run,
};

const BLOCK: usize = 4;
/// Payloads of four blocks, seven keys each.
const PAYLOADS: u64 = 1500;
const BITS: u64 = 28_000;
const QUERIES: u64 = 40_000;
const BLOCKS: [usize; 4] = [1, 2, 3, 4];

/// How often an excerpt of so many blocks, from the beginning of a payload on, is looked up.
fn lookups(blocks: usize) -> usize {
    std::iter::successors(Some(blocks), |left| Some(left / 2)).take_while(|left| *left > 0).sum()
}

/// What one filter lets pass.
struct Passed {
    /// f, the rate of one look-up.
    lookup: f64,
    /// Excerpts of one to four blocks: with all levels, and block by block.
    excerpts: [[f64; 2]; 4],
    /// Splices of two payloads: with all levels, and block by block.
    splices: [f64; 2],
}

fn text(random: &mut Generator) -> Vec<u8> {
    random.next_u64().to_le_bytes().into_iter().chain(random.next_u64().to_le_bytes()).collect()
}

/// Whether the excerpt passes at the beginning: with all levels, and block by block.
fn passes(filter: &Hierarchical, excerpt: &[u8]) -> [bool; 2] {
    let at = |part: &[u8], place: usize| filter.contains_at(b"", part, place as u64) == Some(true);
    let mut blocks = excerpt.chunks(BLOCK).enumerate();
    [at(excerpt, 0), blocks.all(|(i, block)| at(block, i * BLOCK))]
}

fn measured(lab: &Lab, seed: u64) -> Result<Passed> {
    let built = Hierarchical::builder().set("m", BITS).set("k", 2).set("block", BLOCK as u64);
    let mut filter = built.seed(seed).build()?;
    let mut random = Generator::new(seed);
    let payloads: Vec<Vec<u8>> = (0..PAYLOADS).map(|_| text(&mut random)).collect();
    for payload in &payloads {
        filter.insert(payload)?;
    }
    lab.ask_members(payloads.iter(), |payload| filter.contains_at(b"", *payload, 0) == Some(true));
    let share = |count: u64, of: u64| count as f64 / of as f64;
    let mut excerpts = [[0; 2]; 4];
    for _ in 0..QUERIES {
        let foreign = text(&mut random);
        for (blocks, passed) in BLOCKS.into_iter().zip(&mut excerpts) {
            let pass = passes(&filter, &foreign[..blocks * BLOCK]);
            passed.iter_mut().zip(pass).for_each(|(sum, pass)| *sum += u64::from(pass));
        }
    }
    let mut splices = [0; 2];
    for pair in payloads.windows(2) {
        let spliced = [&pair[0][..BLOCK], &pair[1][BLOCK..2 * BLOCK]].concat();
        let pass = passes(&filter, &spliced);
        splices.iter_mut().zip(pass).for_each(|(sum, pass)| *sum += u64::from(pass));
    }
    Ok(Passed {
        lookup: filter.lookup_rate(),
        excerpts: excerpts.map(|both| both.map(|passed| share(passed, QUERIES))),
        splices: splices.map(|passed| share(passed, PAYLOADS - 1)),
    })
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(8);
    let seen = lab.runs(runs, |seed| measured(lab, seed))?;
    let mean = |of: &dyn Fn(&Passed) -> f64| seen.iter().map(of).sum::<f64>() / runs as f64;
    // Filters differ by a hair in their fill: the mean of powers is not the power of the mean.
    let power = |hits: usize| mean(&|run| run.lookup.powi(hits as i32));
    let mut series = Vec::new();
    for (i, name) in ["all levels", "block by block"].into_iter().enumerate() {
        let hits = |blocks: usize| if i == 0 { lookups(blocks) } else { blocks };
        let curve = BLOCKS.map(|blocks| (blocks as f64, power(hits(blocks)))).to_vec();
        let mut one = Series { name: name.into(), curve, ..Series::default() };
        for (j, blocks) in BLOCKS.into_iter().enumerate() {
            let expected = power(hits(blocks));
            let passed = mean(&|run| run.excerpts[j][i]);
            one.point(blocks as f64, expected, passed, bound::share(expected, runs * QUERIES));
        }
        one.follows(|blocks| power(hits(blocks as usize)), 0.0);
        series.push(one);
    }
    let mut rows = Rows::new(
        "b",
        "Two blocks of different payloads, side by side",
        Axis::linear("share that passes"),
    );
    let trials = runs * (PAYLOADS - 1);
    rows.row("all levels", power(1), mean(&|run| run.splices[0]), bound::share(power(1), trials));
    let alone = mean(&|run| run.splices[1]);
    rows.row("block by block", 1.0, alone, crate::Bound::exactly(1.0, 0.0));
    Ok(Report::default()
        .chart(Chart::new("a", "Foreign excerpts whose place is known", [Axis::linear("blocks of the excerpt"), Axis::log("share that passes")], series))
        .rows(rows)
        .note(format!(
            "f, the rate of one look-up, is {:.3}: far more than one would plan for, so that seven in a row are seen at all.",
            power(1)
        )))
}
