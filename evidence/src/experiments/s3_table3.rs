//! The truth table of a main filter and the filter of all others, over a whole universe.

use everbloom::Result;
use everbloom::internals::hash::{Hasher, mix64};
use everbloom::internals::plan::Flat;
use everbloom::known::Complement;
use everbloom::known::complement::{Conclusion, table_accesses};

use crate::{Axis, Experiment, Grade, Lab, Report, Rows, Said, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s3-table3",
    source: "S3 Table III, §IV-B",
    title: "Truth table of the complement filter",
    shows: "Inside the universe one yes and one no are always right, two noes never come, and only two \
            yeses need the table. Outside of it, nothing but a no of the main filter is certain.",
    run,
};

/// Members are a third of the universe.
const UNIVERSE: u64 = 10_000;
const MEMBERS: u64 = UNIVERSE / 3;
const MAIN: Flat = Flat { m: 8 * MEMBERS, k: 4 };
const COMPLEMENT: Flat = Flat { m: 9 * (UNIVERSE - MEMBERS), k: 5 };

/// The four columns of the table.
const COLUMNS: [&str; 4] =
    ["1, 0: member", "0, 1: no member", "1, 1: ask the table", "0, 0: not in the universe"];

fn column(conclusion: Conclusion) -> usize {
    match conclusion {
        Conclusion::Member => 0,
        Conclusion::NoMember => 1,
        Conclusion::AskTable => 2,
        Conclusion::NotInUniverse => 3,
    }
}

/// How often members, others of the universe and keys outside of it lead to each conclusion, and the
/// rates of the two filters from their fills.
struct Counts {
    seen: [[u64; 4]; 3],
    main: f64,
    complement: f64,
}

fn count(lab: &Lab, seed: u64) -> Result<Counts> {
    let mut filter = Complement::with_shape(MAIN, COMPLEMENT, Hasher::seeded(seed))?;
    let key = |i: u64| mix64(seed ^ i);
    for i in 0..UNIVERSE {
        if i < MEMBERS {
            filter.insert(&key(i));
        } else {
            filter.exclude(&key(i));
        }
    }
    lab.ask_members((0..MEMBERS).map(key), |x| filter.conclude(x) != Conclusion::NoMember);
    let mut seen = [[0; 4]; 3];
    for i in 0..2 * UNIVERSE {
        let group = usize::from(i >= MEMBERS) + usize::from(i >= UNIVERSE);
        seen[group][column(filter.conclude(&key(i)))] += 1;
    }
    Ok(Counts { seen, main: filter.main_fpr(), complement: filter.complement_fpr() })
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(20);
    let counts = lab.runs(runs, |seed| count(lab, seed))?;
    let mean = |f: &dyn Fn(&Counts) -> f64| counts.iter().map(f).sum::<f64>() / runs as f64;
    let (main, complement) = (mean(&|c| c.main), mean(&|c| c.complement));
    let others = UNIVERSE - MEMBERS;
    // For a filter as it is, each non-member passes at the rate of its fill, independently.
    let binomial = |rate: f64, keys: u64| bound::share(rate, keys * runs);
    let mut rows = Rows::new(
        "",
        "Conclusions from main and complement filter",
        Axis::linear("share of the keys"),
    );
    // A rate of zero has a bound of zero.
    let expected = [
        ("members", MEMBERS, [1.0 - complement, 0.0, complement, 0.0]),
        ("others", others, [0.0, 1.0 - main, main, 0.0]),
        (
            "outside",
            UNIVERSE,
            [
                main * (1.0 - complement),
                (1.0 - main) * complement,
                main * complement,
                (1.0 - main) * (1.0 - complement),
            ],
        ),
    ];
    for (group, (name, keys, columns)) in expected.into_iter().enumerate() {
        for (column, predicted) in columns.into_iter().enumerate() {
            let seen = mean(&|c| c.seen[group][column] as f64) / keys as f64;
            let label = format!("{name}: {}", COLUMNS[column]);
            rows.row(label, predicted, seen, binomial(predicted, keys));
        }
    }
    let share = MEMBERS as f64 / UNIVERSE as f64;
    let asked = table_accesses(share, main, complement);
    let seen = mean(&|c| (c.seen[0][2] + c.seen[1][2]) as f64) / UNIVERSE as f64;
    Ok(Report::default()
        .rows(rows)
        .graded(
            Grade::Disproved,
            "S3 §IV-B, complement filter",
            [
                "“the probability of both BFs producing positives converges the summation of the false positive \
                 rate of each BF”",
                "at their mixture, P(member)·f_complement + P(other)·f_main; the sum is an upper bound",
            ],
            Said::Follows(main + complement),
            [asked, seen],
            binomial(asked, UNIVERSE),
        )
        .note(
            "10,000 keys, a third of them members, each asked of every filter; then as many from outside \
             the universe, for which S3's table makes no claim: there a yes of the main filter and a no \
             of the other are no proof of membership.",
        ))
}
