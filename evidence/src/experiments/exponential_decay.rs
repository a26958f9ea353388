//! Exponentially decaying filters: how far away an object is heard.

use everbloom::Result;
use everbloom::grouping::ExponentialDecay;
use everbloom::grouping::exponential_decay::{expected_ones, noise};
use everbloom::internals::filter::Filter as _;

use crate::{Axis, Chart, Experiment, Lab, Report, Rows, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "exponential-decay",
    source: "S0 §IV-B and A. Kumar, J. Xu, E. Zegura, Efficient and scalable query routing for unstructured peer-to-peer \
             networks, INFOCOM 2005; catalogue §41",
    title: "Exponentially decaying filters: ones by hops",
    shows: "A node passes on half of the ones that it was told, so that an object has 32, 16, 8, 4, 2 of its 32 bits after one to five \
            hops; a query follows the larger number. Where a tenth of the bits are other nodes' anyway, three hops stand out \
            (10.4 against 3.2), and five do not.",
    run,
};

const K: u32 = 32;
const DECAY: f64 = 2.0;
const OBJECTS: u64 = 100;
const HOPS: u32 = 6;
/// So many bits that objects do not meet, and shares of ones that others have set.
const BITS: u64 = 1 << 20;
const BACKGROUND: [f64; 2] = [0.0, 0.1];
/// From so many ones on an object is heard.
const HEARD: u64 = 10;
const OTHERS: u64 = 20_000;

/// Mean ones of an object after each hop, then the share of other keys that are heard behind the last.
fn measured(lab: &Lab, background: f64, seed: u64) -> Result<(Vec<f64>, f64)> {
    let built = ExponentialDecay::builder().set("m", BITS).set("k", u64::from(K));
    let empty = built.set("decay", DECAY).seed(seed).build()?;
    let mut own = empty.clone();
    (0..OBJECTS).for_each(|key| _ = own.insert(&key));
    lab.ask_members(0..OBJECTS, |key| own.ones(key) == u64::from(K));
    // What other nodes told: keys of their own, up to the share of ones.
    let mut others = empty.clone();
    let mut key = 1u64 << 40;
    while others.fill().unwrap_or(1.0) < background {
        others.insert(&key);
        key += 1;
    }
    let mut told = own.advertise(&[], 0)?;
    let mut ones = Vec::new();
    for hop in 0..HOPS {
        let mut heard = others.clone();
        heard.union(&told)?;
        let sum: u64 = (0..OBJECTS).map(|key| heard.ones(&key)).sum();
        ones.push(sum as f64 / OBJECTS as f64);
        told = empty.advertise(&[&told], u64::from(hop) + 1)?;
    }
    let loud = (1u64 << 50..).take(OTHERS as usize).filter(|key| others.ones(key) >= HEARD).count();
    Ok((ones, loud as f64 / OTHERS as f64))
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(10);
    let mut series = Vec::new();
    let mut rows = Rows::new(
        "b",
        "Other keys that seem to be heard: ten ones and more",
        Axis::linear("share of keys"),
    );
    for fill in BACKGROUND {
        let seen = lab.runs(runs, |seed| measured(lab, fill, seed))?;
        let curve =
            (1..=HOPS).map(|hop| (f64::from(hop), expected_ones(K.into(), DECAY, hop, fill)));
        let name =
            if fill == 0.0 { "nothing else".into() } else { format!("{fill} ones by others") };
        let mut one = Series { name, curve: curve.collect(), ..Series::default() };
        for hop in 1..=HOPS {
            let expected = expected_ones(K.into(), DECAY, hop, fill);
            let mean = seen.iter().map(|run| run.0[hop as usize - 1]).sum::<f64>() / runs as f64;
            // Bits of an object are drawn one by one: a share of k ones.
            let share = expected / f64::from(K);
            let trials = runs * OBJECTS * u64::from(K);
            let bound =
                bound::share(share, trials).widened(share, 0.01).map(|share| share * f64::from(K));
            one.point(hop.into(), expected, mean, bound);
        }
        one.follows(|hop| expected_ones(K.into(), DECAY, hop as u32, fill), 0.01);
        series.push(one);
        let loud = seen.iter().map(|run| run.1).sum::<f64>() / runs as f64;
        let expected = noise(K, fill, HEARD);
        let bound = bound::share(expected, runs * OTHERS).widened(expected, 0.05);
        rows.row(format!("{fill} ones by others"), expected, loud, bound);
    }
    Ok(Report::default()
        .chart(Chart::new("a", format!("Ones of an object among its {K} bits, of which each hop keeps half"), [Axis::linear("hops to the object"), Axis::linear("ones")], series))
        .rows(rows)
        .note("What was received fades with every hop, a node's own objects do not. Beyond 1 + log2 k hops nothing is left."))
}
