//! How the cost of a query grows with the number of keys: flagships beside their rivals, from a thousand keys up to
//! as many as are asked for, or as there is memory for.

use std::collections::{BTreeSet, HashMap};
use std::io::Write as _;

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

/// Keys from which on filling takes longest.
const FAR: u64 = 100_000_000;

/// Bytes per key that the keys themselves, a filter and what its builder needs take, at most.
const BYTES_PER_KEY: u64 = 64;

/// Measures what `kept`, a file, does not say yet, and adds it there: filters of hundreds of millions of keys take
/// minutes to fill, and a run that was ended goes on.
pub fn measure(most: u64, kept: &str) -> Vec<Panel> {
    let mut known = read(kept);
    let caches = caches_of(kept);
    let most = most.min(available().map_or(u64::MAX, |bytes| bytes / BYTES_PER_KEY));
    // Twice as many each time, and then four times as many; and what is there already.
    let next = |n: &u64| Some(if *n < FAR { n * 2 } else { n * 4 });
    let sizes = std::iter::successors(Some(1000), next).take_while(|n| *n < most);
    let before = known.keys().map(|(_, items)| *items);
    let sizes: BTreeSet<u64> = sizes.chain([most]).chain(before).filter(|n| *n > 0).collect();
    let mut panel = |(title, names): &(&'static str, &[&'static str])| {
        let rivals: Vec<Rival> = names.iter().map(|name| rival(name)).collect();
        let mut curves: Vec<Curve> =
            rivals.iter().map(|rival| Curve { name: rival.name, points: Vec::new() }).collect();
        for &items in &sizes {
            let is_known = |rival: &Rival| known.contains_key(&(rival.name.to_owned(), items));
            let all = items > most || rivals.iter().all(is_known);
            let keys: Vec<u64> = (0..if all { 0 } else { items }).map(mix64).collect();
            let asked = if all { Vec::new() } else { queries(&keys) };
            for (rival, curve) in rivals.iter().zip(&mut curves) {
                let point = (rival.name.to_owned(), items);
                if !known.contains_key(&point) && items <= most {
                    let Some(mut subject) = (rival.make)(items, RATE) else { continue };
                    subject.fill(&keys);
                    let ns = query(&*subject, &asked);
                    add(kept, &point, ns);
                    known.insert(point.clone(), ns);
                }
                let Some(&ns) = known.get(&point) else { continue };
                println!("{:<40} {:>6} keys {ns:>8.2} ns", rival.name, size(items));
                curve.points.push((items, ns));
            }
        }
        let bits_per_key = bits_per_key(&rivals[0]);
        let step = |(name, bytes): (String, u64)| (name, bytes as f64 * 8.0 / bits_per_key);
        Panel { title, curves, steps: caches.iter().cloned().map(step).collect() }
    };
    let mut panels: Vec<Panel> = PANELS.iter().map(&mut panel).collect();
    panels.iter_mut().for_each(|panel| panel.curves.retain(|curve| !curve.points.is_empty()));
    panels.retain(|panel| !panel.curves.is_empty());
    panels
}

/// Bits per key, which hardly depend on how many there are.
fn bits_per_key(rival: &Rival) -> f64 {
    let keys: Vec<u64> = (0..100_000).map(mix64).collect();
    let bits = (rival.make)(keys.len() as u64, RATE).map(|mut subject| {
        subject.fill(&keys);
        subject.bits()
    });
    bits.unwrap_or(0) as f64 / keys.len() as f64
}

/// A filter and its number of keys, and nanoseconds of a query.
type Known = HashMap<(String, u64), f64>;

/// What was measured before.
fn read(kept: &str) -> Known {
    let text = std::fs::read_to_string(kept).unwrap_or_default();
    let point = |line: &str| {
        let mut fields = line.split('\t');
        let (name, items) = (fields.next()?.to_owned(), fields.next()?.parse().ok()?);
        Some(((name, items), fields.next()?.parse().ok()?))
    };
    text.lines().filter_map(point).collect()
}

/// The caches of the machine that was measured, which need not be the one that draws.
fn caches_of(kept: &str) -> Vec<(String, u64)> {
    let text = std::fs::read_to_string(kept).unwrap_or_default();
    let before: Vec<(String, u64)> = text
        .lines()
        .filter_map(|line| line.strip_prefix("cache ")?.split_once('\t'))
        .filter_map(|(name, bytes)| Some((name.to_owned(), bytes.parse().ok()?)))
        .collect();
    if !before.is_empty() {
        return before;
    }
    let caches = caches();
    caches.iter().for_each(|(name, bytes)| line(kept, &format!("cache {name}\t{bytes}")));
    caches
}

fn add(kept: &str, (name, items): &(String, u64), ns: f64) {
    line(kept, &format!("{name}\t{items}\t{ns:.2}"));
}

fn line(kept: &str, text: &str) {
    let file = std::fs::OpenOptions::new().create(true).append(true).open(kept);
    if let Err(e) = file.and_then(|mut file| writeln!(file, "{text}")) {
        eprintln!("{kept}: {e}");
    }
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
