//! How the cost of a query grows with the number of keys: flagships beside their rivals, from a thousand keys up to
//! as many as are asked for, or as there is memory for.

use everbloom::internals::hash::mix64;

use crate::gate::size;
use crate::measure::{median, per_key};
use crate::subject::{Rival, Subject, rival};

/// Filters of one kind, ours first.
pub struct Panel {
    pub title: &'static str,
    pub curves: Vec<Curve>,
    /// Caches, and from how many keys on our filter is larger.
    pub steps: Vec<(String, f64)>,
}

/// A filter, and the nanoseconds of a query by the number of keys.
pub struct Curve {
    pub name: &'static str,
    pub points: Vec<(u64, f64)>,
}

const PANELS: [(&str, &[&str]); 4] = [
    (
        "bloom",
        &["everbloom bloom", "everbloom bloom, batch", "fastbloom + foldhash", "Boost classic"],
    ),
    (
        "blocked",
        &[
            "everbloom blocked",
            "everbloom blocked, batch",
            "sbbf-rs-safe + foldhash",
            "Boost fast_multiblock32<8>",
            "RocksDB FastLocalBloom",
        ],
    ),
    ("split-block", &["everbloom split-block", "everbloom split-block, batch", "parquet Sbbf"]),
    ("binary-fuse", &["everbloom binary-fuse", "xorf BinaryFuse8/16"]),
];

const RATE: f64 = 0.01;
const ROUNDS: usize = 5;
/// Queries of a round, half of them for members.
const QUERIES: u64 = 1 << 20;

/// Keys from which on no filter is in a cache, so that curves are smooth.
const FAR: u64 = 100_000_000;

/// Bytes per key that the keys themselves, a filter and what its builder needs take, at most.
const BYTES_PER_KEY: u64 = 64;

pub fn measure(most: u64) -> Vec<Panel> {
    let most = most.min(available().map_or(u64::MAX, |bytes| bytes / BYTES_PER_KEY));
    // Twice as many each time, and four times as many where filling takes longest.
    let next = |n: &u64| Some(if *n < FAR { n * 2 } else { n * 4 });
    let sizes = std::iter::successors(Some(1000), next).take_while(|n| *n < most);
    let sizes: Vec<u64> = sizes.chain([most]).collect();
    let panel = |(title, names): &(&'static str, &[&'static str])| {
        let rivals: Vec<Rival> = names.iter().map(|name| rival(name)).collect();
        let mut curves: Vec<Curve> =
            rivals.iter().map(|rival| Curve { name: rival.name, points: Vec::new() }).collect();
        let mut bits_per_key = 8.0;
        for &items in &sizes {
            let keys: Vec<u64> = (0..items).map(mix64).collect();
            let asked = queries(&keys);
            for (rival, curve) in rivals.iter().zip(&mut curves) {
                let Some(mut subject) = (rival.make)(items, RATE) else { continue };
                subject.fill(&keys);
                let ns = query(&*subject, &asked);
                println!("{:<40} {:>6} keys {ns:>8.2} ns", rival.name, size(items));
                curve.points.push((items, ns));
                if rival.name == names[0] {
                    bits_per_key = subject.bits() as f64 / items as f64;
                }
            }
        }
        let step = |(name, bytes): (String, u64)| (name, bytes as f64 * 8.0 / bits_per_key);
        Panel { title, curves, steps: caches().into_iter().map(step).collect() }
    };
    PANELS.iter().map(panel).collect()
}

/// Members at random places and non-members, by turns.
fn queries(keys: &[u64]) -> Vec<u64> {
    let query = |i: u64| match i % 2 {
        0 => keys[(mix64(i) % keys.len() as u64) as usize],
        _ => mix64(1 << 50 | i),
    };
    (0..QUERIES).map(query).collect()
}

fn query(subject: &dyn Subject, asked: &[u64]) -> f64 {
    median((0..ROUNDS).map(|_| per_key(QUERIES, || subject.count(asked)).0).collect())
}

/// Bytes of memory that can be had, where the system tells.
fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? * 1024)
}

/// The caches of data and their bytes, where the system tells.
fn caches() -> Vec<(String, u64)> {
    let cache = |i: u32| {
        let read = |file: &str| {
            let path = format!("/sys/devices/system/cpu/cpu0/cache/index{i}/{file}");
            std::fs::read_to_string(path).map(|text| text.trim().to_owned()).ok()
        };
        let (kind, level, size) = (read("type")?, read("level")?, read("size")?);
        let bytes = size.strip_suffix('K')?.parse::<u64>().ok()? * 1024;
        (kind != "Instruction").then_some((format!("L{level}"), bytes))
    };
    (0..5).filter_map(cache).collect()
}
