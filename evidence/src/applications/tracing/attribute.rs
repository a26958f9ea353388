//! Who sent these bytes? (catalogue A25; S0 \[30\]): the tool [`everbloom_tools::attribute`], tried.

use std::collections::HashMap;

use everbloom::internals::hash::Generator;
use everbloom::{Error, Kind, Result};
use everbloom_tools::attribute::{Collector, keys_of};

use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A25",
    form: Form::Tool("attribute"),
    uses: &["hierarchical"],
    oracle: "a search through all payloads",
    data: "random payloads of 1000 bytes of many senders; excerpts of them, and splices of two",
    experiment: Experiment {
        name: "attribute",
        source: "S0 [30]",
        title: "Who sent these bytes? Payload attribution",
        shows: "The true sender is always listed, and false ones as rarely as trials·senders·f^hits says. 57, 26 and \
                11 keys for a payload of 1000 bytes, a 14th, 31st and 73rd of its bytes. A splice of two real \
                payloads passes block by block and is refused as a whole.",
        run,
    },
};

const PAYLOAD: usize = 1000;
const BLOCK: u64 = 32;
const SENDERS_TRIED: u64 = 20;
/// Bytes of excerpts that nobody sent.
const NOBODYS: usize = 100;

fn payloads(seed: u64, count: u64) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut random = Generator::new(seed);
    let payload = |random: &mut Generator| (0..PAYLOAD).map(|_| random.next_u64() as u8).collect();
    (0..count)
        .map(|i| (format!("host {}", i % SENDERS_TRIED).into_bytes(), payload(&mut random)))
        .collect()
}

struct Seen {
    missed: u64,
    /// Wrong senders of excerpts that somebody sent, and senders of excerpts that nobody sent.
    wrong: u64,
    nobody: u64,
    /// Splices whose blocks all pass by themselves, and those that are found as a whole.
    splices: [u64; 2],
    rate: f64,
}

fn try_one(seed: u64, excerpts: u64) -> Result<Seen> {
    let store = payloads(seed, 200);
    let keys = 200 * keys_of(PAYLOAD as u64, BLOCK);
    let mut seen = Collector::with_bits(BLOCK, keys, 10)?;
    store.iter().try_for_each(|(sender, payload)| seen.payload(0, sender, payload))?;
    let seen = seen.finish()?;
    let filter = seen.filters().next().ok_or_else(|| Error::new(Kind::BadRecord, "no filter"))?;
    let rate = filter.lookup_rate();
    let mut random = Generator::new(!seed);
    let mut counts = Seen { missed: 0, wrong: 0, nobody: 0, splices: [0; 2], rate };
    for _ in 0..excerpts {
        let (sender, payload) = &store[random.below(200) as usize];
        // Not of the bytes behind the last whole block, which are left out.
        let at = random.below(992 - 150) as usize;
        let excerpt = &payload[at..at + 150];
        // The exact twin.
        let truth: HashMap<&[u8], u64> = store
            .iter()
            .filter_map(|(s, p)| {
                let place = p.windows(150).position(|part| part == excerpt)?;
                Some((&s[..], place as u64))
            })
            .collect();
        let found = seen.find(excerpt)?;
        let right = found.iter().find(|c| c.sender == *sender && c.offsets.contains(&(at as u64)));
        counts.missed += u64::from(right.is_none());
        counts.wrong += found.iter().filter(|c| !truth.contains_key(&c.sender[..])).count() as u64;
        let other: Vec<u8> = (0..NOBODYS).map(|_| random.next_u64() as u8).collect();
        counts.nobody += seen.find(&other)?.len() as u64;
        // Two blocks of one payload of a sender, then two of another of the same, at their offsets.
        let [a, b] = [0, 1].map(|i| &store[(random.below(100) + 100 * i) as usize / 20 * 20].1);
        let splice = [&a[128..160], &b[160..192]].concat();
        let block =
            |at: usize| filter.contains_at(b"host 0", &splice[at..at + 32], 128 + at as u64);
        counts.splices[0] += u64::from(block(0) == Some(true) && block(32) == Some(true));
        counts.splices[1] += u64::from(filter.contains_at(b"host 0", &splice, 128) == Some(true));
    }
    Ok(counts)
}

fn run(lab: &Lab) -> Result<Report> {
    let (runs, excerpts) = (lab.scaled(4), 60);
    let seen = lab.runs(runs, |seed| try_one(seed, excerpts))?;
    let sum = |f: &dyn Fn(&Seen) -> u64| seen.iter().map(f).sum::<u64>();
    let mut oracle = Oracle::default();
    oracle.none("true senders that were not listed", sum(&|s| s.missed));

    let (count, f) = (runs * excerpts, seen[0].rate);
    let all = count as f64;
    let mut rows = Rows::new("wrong", "Senders listed by mistake", Axis::linear("per excerpt"));
    // An excerpt of 150 bytes holds three blocks at the worst alignment, and one pair of them at least.
    let limit = (BLOCK * 31 * SENDERS_TRIED) as f64 * libm::pow(f, 4.0);
    let most = Bound { low: None, ..bound::share(limit, count) };
    rows.row("of 150 bytes that somebody else sent", limit, sum(&|s| s.wrong) as f64 / all, most);
    // Of 100 bytes, two blocks at most alignments; every second place of them is that of a pair.
    let hits: f64 = (0..BLOCK)
        .map(|alignment| {
            let blocks = (NOBODYS as u64 - alignment) / BLOCK;
            let places = (32 - blocks - u64::from(alignment > 0)) as f64;
            let pair = libm::pow(f, 2.0) * (1.0 + f) / 2.0;
            places * if blocks == 2 { pair } else { libm::pow(f, 4.0) }
        })
        .sum();
    let senders = SENDERS_TRIED as f64;
    let expected = senders * -libm::expm1(-hits);
    // Filters differ in f, which is squared here.
    let around = bound::mean(expected, expected.sqrt(), count).widened(expected, 0.1);
    rows.row("of 100 bytes that nobody sent", expected, sum(&|s| s.nobody) as f64 / all, around);
    let mut splices = Rows::new("splices", "Splices of two payloads", Axis::linear("share"));
    let label = "trap: block by block";
    splices.row(label, 1.0, sum(&|s| s.splices[0]) as f64 / all, Bound::exactly(1.0, 0.0));
    let through = sum(&|s| s.splices[1]) as f64 / all;
    splices.row("as a whole", f, through, bound::share(f, count));

    let factor =
        |block: f64| PAYLOAD as f64 / (10.0 * keys_of(PAYLOAD as u64, block as u64) as f64 / 8.0);
    let mut series =
        Series::new("1000 bytes : bits of its keys", [16.0, 32.0, 64.0, 128.0], factor);
    for block in [32, 64, 128] {
        let mut store = Collector::with_bits(block, 200 * keys_of(PAYLOAD as u64, block), 10)?;
        let sent = payloads(lab.seed(), 200);
        sent.iter().try_for_each(|(sender, payload)| store.payload(0, sender, payload))?;
        let store = store.finish()?;
        let (times, measured) =
            (factor(block as f64), (200 * PAYLOAD) as f64 / store.bytes() as f64);
        // The names of the senders make it a little larger.
        series.point(block as f64, times, measured, Bound::between(0.9 * times, times));
    }
    let chart = Chart::new(
        "space",
        "How many times less space than the payloads, at 10 bits a key",
        [Axis::log("bytes of a block"), Axis::linear("times less")],
        [series],
    );
    Ok(oracle.report().chart(chart).rows(rows).rows(splices))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a25_keys_and_bytes_of_a_payload() {
        for (block, keys, bytes, times) in
            [(32, 57, 71.25, 14), (64, 26, 32.5, 31), (128, 11, 13.75, 73)]
        {
            assert_eq!(keys_of(1000, block), keys);
            assert_eq!(10.0 * keys as f64 / 8.0, bytes);
            assert_eq!((1000.0 / bytes).round() as u64, times);
        }
        assert_eq!(keys_of(31, 32), 0);
    }
}
