//! What names claim, tried on tables that are made up.

use std::collections::HashMap;

use everbloom::Result;
use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom;

use super::{Name, NameFilter, NameTrie, Port};
use crate::sim::Zipf;
use crate::{Application, Axis, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound};

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A31",
    form: Form::Component,
    uses: &["bloom"],
    oracle: "a hash table of all prefixes, tried from the longest down",
    data: "18,000 prefixes of 1 to 6 components with 16 ports; requests by Zipf's law, and absent names",
    experiment: Experiment {
        name: "names",
        source: "S3 §III-B [44][45]",
        title: "Look-ups of hierarchical names: NameFilter, and B-prefix with T-suffix",
        shows: "An absent name of 6 components passes NameFilter's first stage with 1 − (1−f)^6 = 0.048, and then \
                gets a wrong port with 1 − (1−f)^16; with filters for 3 components and tries below, it costs 0.024 \
                visits in vain and never has a wrong port.",
        run,
    },
};

const DEPTH: usize = 6;
const EACH: u64 = 3_000;
const PORTS: u64 = 16;
const BITS: f64 = 10.0;
const ABSENT: u64 = 20_000;
const REQUESTS: u64 = 5_000;

/// Prefixes of 1 to 6 components, equally many of each: every longer one extends a shorter one.
fn routes(seed: u64) -> Vec<(String, Port)> {
    let mut random = Generator::new(seed);
    let name = |length: usize, i: u64| {
        let tail: String =
            (1..length).map(|c| format!("/c{}", i.wrapping_mul(31 + c as u64) % 97)).collect();
        format!("/s{i}{tail}")
    };
    (1..=DEPTH)
        .flat_map(|length| (0..EACH).map(move |i| (length, i)))
        .map(|(length, i)| (name(length, i), random.below(PORTS) as Port))
        .collect()
}

struct Seen {
    /// Ours and the twin's, for requests and absent names, of both schemes.
    exact: [Vec<(Option<Port>, Option<Port>)>; 2],
    /// Absent names that pass the first stage, that get a port by filters alone, and visits in vain.
    passed: u64,
    wrong: u64,
    in_vain: u64,
    steps: f64,
    reads: f64,
}

fn try_one(seed: u64, first: usize) -> Result<Seen> {
    let routes = routes(seed);
    let pairs = || routes.iter().map(|(name, port)| (name.as_str(), *port));
    let (filters, tries) = (NameFilter::new(pairs(), BITS)?, NameTrie::new(pairs(), first, BITS)?);
    let exact: HashMap<&str, Port> =
        pairs().map(|(name, port)| (Name::new(name).text, port)).collect();
    let twin = |name: &str| {
        let name = Name::new(name);
        (1..=name.len()).rev().find_map(|length| exact.get(name.prefix(length)).copied())
    };
    let mut random = Generator::new(!seed);
    let mut seen = Seen {
        exact: [Vec::new(), Vec::new()],
        passed: 0,
        wrong: 0,
        in_vain: 0,
        steps: 0.0,
        reads: 0.0,
    };
    let zipf = zipf();
    for i in 0..REQUESTS {
        let (route, _) = &routes[zipf.draw(&mut random)];
        let name = format!("{route}/part/{i}");
        let (port, reads) = filters.confirmed(&name);
        seen.exact[0].push((port, twin(&name)));
        let (port, cost) = tries.traced(&name);
        seen.exact[1].push((port, twin(&name)));
        seen.reads += f64::from(reads) / REQUESTS as f64;
        seen.steps += f64::from(cost.steps) / REQUESTS as f64;
    }
    for i in 0..ABSENT {
        let name = format!("/absent{i}/a/b/c/d/e{i}");
        seen.passed += u64::from(filters.first_stage(&Name::new(&name)).next().is_some());
        seen.wrong += u64::from(filters.port(&name).is_some());
        seen.exact[0].push((filters.confirmed(&name).0, twin(&name)));
        let (port, cost) = tries.traced(&name);
        seen.exact[1].push((port, twin(&name)));
        seen.in_vain += u64::from(cost.in_vain > 0);
    }
    Ok(seen)
}

const FIRST: [usize; 3] = [2, 3, 4];

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(2);
    let mut oracle = Oracle::default();
    let m = (EACH as f64 * BITS) as u64;
    let f = bloom::fpr_exact(m, EACH, bloom::best_k(m, EACH));
    let passes = |f: f64, lengths: f64| 1.0 - libm::pow(1.0 - f, lengths);
    let mut stage = Series::new("NameFilter: 1 − (1−f)^6", (1..=6).map(f64::from), |_| {
        passes(f, DEPTH as f64)
    });
    let mut tries =
        Series::new("first b components: 1 − (1−f)^b", (1..=6).map(f64::from), |b| {
            passes(f, b)
        });
    let mut rows = Rows::new(
        "forwards",
        "Absent names, and what requests cost",
        Axis::linear("as the row says"),
    );
    // Filters of 30,000 bits differ by 2 % in their rates.
    let bound_of = |p: f64| bound::share(p, runs * ABSENT).widened(p, 0.05);
    for first in FIRST {
        let seen = lab.runs(runs, |seed| try_one(seed, first))?;
        let share = |count: &dyn Fn(&Seen) -> u64| {
            seen.iter().map(count).sum::<u64>() as f64 / (runs * ABSENT) as f64
        };
        let expected = passes(f, first as f64);
        tries.point(first as f64, expected, share(&|s| s.in_vain), bound_of(expected));
        if first == 3 {
            let all = passes(f, DEPTH as f64);
            stage.point(DEPTH as f64, all, share(&|s| s.passed), bound_of(all));
            let n = EACH * DEPTH as u64 / PORTS;
            let m = (n as f64 * BITS).ceil() as u64;
            let port = passes(bloom::fpr_exact(m, n, bloom::best_k(m, n)), PORTS as f64);
            // Each of the six lengths gives another prefix to the ports.
            let wrong = passes(f * port, DEPTH as f64);
            let bound = bound::share(wrong, runs * ABSENT).widened(wrong, 0.1);
            rows.row(
                "wrong ports by NameFilter's filters alone (trap)",
                wrong,
                share(&|s| s.wrong),
                bound,
            );
            let mean = |f: &dyn Fn(&Seen) -> f64| seen.iter().map(f).sum::<f64>() / runs as f64;
            // Requests have two components more than their route: longer prefixes may pass, and are read in vain.
            let more = asked_mean(|length| (DEPTH - length).min(2) as f64);
            let (reads, sd) = (1.0 + f * more, (f * more).sqrt());
            let bound = bound::mean(reads, sd, runs * REQUESTS).widened(f * more, 0.05);
            rows.row(
                "table reads for a request, NameFilter confirmed",
                reads,
                mean(&|s| s.reads),
                bound,
            );
            let steps = asked_mean(|length| length.saturating_sub(3) as f64);
            let squares = asked_mean(|length| (length.saturating_sub(3) as f64).powi(2));
            let bound = bound::mean(steps, (squares - steps * steps).sqrt(), runs * REQUESTS);
            rows.row("trie steps for a request, b = 3", steps, mean(&|s| s.steps), bound);
        }
        let [mut filters, mut walked] = [Vec::new(), Vec::new()];
        for s in seen {
            let [a, b] = s.exact;
            filters.extend(a);
            walked.extend(b);
        }
        if first == 3 {
            oracle.equal("ports, NameFilter confirmed by its table", filters);
        }
        oracle.equal(&format!("ports, filters for {first} components and tries"), walked);
    }
    let chart = Chart::new(
        "absent",
        "Absent names of 6 components that the filters let pass (10 bits a prefix)",
        [Axis::linear("components in filters"), Axis::linear("share of names")],
        [stage, tries],
    );
    let mut random = Generator::new(lab.seed());
    let popular = zipf();
    let asked = (0..REQUESTS).map(|_| 1 + popular.draw(&mut random) / EACH as usize);
    let b = NameTrie::components_for(asked, 0.8);
    Ok(oracle.report().chart(chart).rows(rows).note(format!(
        "With filters for {b} components, four fifths of the requests are answered without a walk in a trie."
    )))
}

/// The mean over requests of what depends on the length of their route: routes stand in the order of their length.
fn asked_mean(f: impl Fn(usize) -> f64) -> f64 {
    let zipf = zipf();
    (0..DEPTH * EACH as usize).map(|rank| zipf.share(rank) * f(1 + rank / EACH as usize)).sum()
}

/// How popular routes are: short ones first.
fn zipf() -> Zipf {
    Zipf::new(DEPTH * EACH as usize, 0.9)
}
