//! The targets without libFuzzer:
//! `cargo run -p everbloom-fuzz --bin plain -- [SECONDS] [SEED] [TARGET]`.
//!
//! All targets share the time, or the one that is named has all of it; sessions run twice, over the toy group and over the
//! real one. The decoder meets files of every variant (the pinned ones) in which fields, arrays and ids were changed and
//! checksums made right; the foreign readers meet samples, and sketches a sketch, in which bytes were changed, moved and
//! cut off; the others meet random bytes. Prints how many executions each had; a finding is a panic, and the bytes that
//! led to it are saved.

use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{env, fs, panic, process};

use everbloom::internals::hash::Generator;
use everbloom_fuzz::{
    decode, formats, operations, real_sessions, sessions, sketch, sketches, stores, tree::File,
};

fn main() {
    let mut args = env::args().skip(1);
    let seconds: u64 = args.next().and_then(|s| s.parse().ok()).unwrap_or(60);
    let seed: u64 = args.next().and_then(|s| s.parse().ok()).unwrap_or(1);
    let only = args.next();
    let share = Duration::from_secs(seconds) / if only.is_some() { 1 } else { 7 };
    let run = |name: &str, target: fn(&[u8]), input: &mut dyn FnMut() -> Vec<u8>| {
        if only.as_deref().is_none_or(|only| only == name) {
            run(name, share, target, input);
        }
    };
    let seeds = seeds();
    println!("{} files to change, seed {seed}", seeds.len());
    let mut random = Generator::new(seed);
    run("decode", decode, &mut || {
        let mut file = seeds[random.below(seeds.len() as u64) as usize].clone();
        for _ in 0..=random.below(4) {
            file.mutate(&mut random);
        }
        file.bytes()
    });
    let mut random = Generator::new(seed + 1);
    run("operations", operations, &mut || noise(&mut random, 40));
    let mut random = Generator::new(seed + 2);
    run("stores", stores, &mut || noise(&mut random, 24));
    let mut random = Generator::new(seed + 3);
    run("sessions", sessions, &mut || noise(&mut random, 60));
    let mut random = Generator::new(seed + 4);
    run("real sessions", real_sessions, &mut || noise(&mut random, 60));
    let samples = samples();
    println!("{} foreign samples to change", samples.len());
    let mut random = Generator::new(seed + 5);
    run("formats", formats, &mut || {
        let mut bytes = samples[random.below(samples.len() as u64) as usize].clone();
        for _ in 0..=random.below(4) {
            change(&mut bytes, &mut random);
        }
        bytes
    });
    let mut random = Generator::new(seed + 6);
    let whole = sketch();
    run("sketches", sketches, &mut || {
        let mut bytes = whole.clone();
        for _ in 0..=random.below(4) {
            change(&mut bytes, &mut random);
        }
        bytes
    });
}

fn noise(random: &mut Generator, longest: u64) -> Vec<u8> {
    let len = 1 + random.below(longest);
    (0..len).map(|_| random.next_u64() as u8).collect()
}

/// Foreign files, up to a few kilobytes.
fn samples() -> Vec<Vec<u8>> {
    let folder =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../crates/everbloom-formats/tests/samples");
    let mut paths: Vec<PathBuf> = ["", "cassandra", "rust_cascade"]
        .iter()
        .flat_map(|name| fs::read_dir(folder.join(name)).expect("the samples").flatten())
        .map(|entry| entry.path())
        .filter(|path| path.is_file())
        .collect();
    paths.sort();
    let read = |path: &PathBuf| fs::read(path).ok().filter(|bytes| bytes.len() < 50_000);
    paths.iter().filter_map(read).collect()
}

/// A bit, a number, a piece moved, a piece cut off: most often near the ends, where lengths are.
fn change(bytes: &mut Vec<u8>, random: &mut Generator) {
    if bytes.is_empty() {
        return;
    }
    let span = if random.below(2) == 0 { bytes.len().min(64) } else { bytes.len() };
    let mut at = random.below(span as u64) as usize;
    if random.below(4) == 0 {
        at = bytes.len() - 1 - at;
    }
    match random.below(6) {
        0 | 1 => bytes[at] ^= 1 << random.below(8),
        2 => bytes[at] = random.next_u64() as u8,
        3 => {
            let number =
                [0, 1, 0x7f, 0x8000_0000, u64::from(u32::MAX), u64::MAX][random.below(6) as usize];
            let width = 1 << random.below(4);
            let wide = number.to_be_bytes();
            bytes[at..].iter_mut().zip(&wide[8 - width..]).for_each(|(to, from)| *to = *from);
        }
        4 => bytes.truncate(at),
        _ => {
            let piece = bytes[at..].iter().take(16).copied().collect::<Vec<_>>();
            let to = random.below(bytes.len() as u64) as usize;
            bytes.splice(to..to, piece);
        }
    }
}

/// The small pinned files. Those with a table of patterns take a millisecond each to open and are left out.
fn seeds() -> Vec<File> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../crates/everbloom/tests/golden");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the pinned files")
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "evb"))
        .filter(|path| !path.to_string_lossy().contains("patterns"))
        .collect();
    paths.sort();
    let read = |path: &PathBuf| fs::read(path).ok().filter(|bytes| bytes.len() < 8192);
    paths.iter().filter_map(read).filter_map(|bytes| File::parse(&bytes)).collect()
}

fn run(name: &str, time: Duration, target: fn(&[u8]), input: &mut dyn FnMut() -> Vec<u8>) {
    let start = Instant::now();
    let mut executions = 0u64;
    while start.elapsed() < time {
        for _ in 0..64 {
            let data = input();
            if panic::catch_unwind(|| target(&data)).is_err() {
                let path = format!("finding-{}-{executions}", name.replace(' ', "-"));
                let _ = fs::write(&path, &data);
                println!("{name}: a finding after {executions} executions, saved as {path}");
                process::exit(1);
            }
            executions += 1;
        }
    }
    println!("{name}: {executions} executions, 0 findings, {:.0} s", start.elapsed().as_secs_f64());
}
