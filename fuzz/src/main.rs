//! The targets without libFuzzer: `cargo run --release --manifest-path fuzz/Cargo.toml --bin plain -- [SECONDS] [SEED]`.
//!
//! Every target gets a fifth of the time, sessions twice: over the toy group and over the real one. The decoder meets files of every variant (the pinned ones) in which
//! fields, arrays and ids were changed and checksums made right; the others meet random bytes. Prints how
//! many executions each had; a finding is a panic, and the bytes that led to it are saved.

use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{env, fs, panic, process};

use everbloom::internals::hash::Generator;
use everbloom_fuzz::{decode, operations, real_sessions, sessions, stores, tree::File};

fn main() {
    let mut args = env::args().skip(1);
    let seconds: u64 = args.next().and_then(|s| s.parse().ok()).unwrap_or(60);
    let seed: u64 = args.next().and_then(|s| s.parse().ok()).unwrap_or(1);
    let share = Duration::from_secs(seconds) / 5;
    let seeds = seeds();
    println!("{} files to change, seed {seed}", seeds.len());
    let mut random = Generator::new(seed);
    run("decode", share, decode, || {
        let mut file = seeds[random.below(seeds.len() as u64) as usize].clone();
        for _ in 0..=random.below(4) {
            file.mutate(&mut random);
        }
        file.bytes()
    });
    let mut random = Generator::new(seed + 1);
    run("operations", share, operations, || noise(&mut random, 40));
    let mut random = Generator::new(seed + 2);
    run("stores", share, stores, || noise(&mut random, 24));
    let mut random = Generator::new(seed + 3);
    run("sessions", share, sessions, || noise(&mut random, 60));
    let mut random = Generator::new(seed + 4);
    run("real sessions", share, real_sessions, || noise(&mut random, 60));
}

fn noise(random: &mut Generator, longest: u64) -> Vec<u8> {
    let len = 1 + random.below(longest);
    (0..len).map(|_| random.next_u64() as u8).collect()
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

fn run(name: &str, time: Duration, target: fn(&[u8]), mut input: impl FnMut() -> Vec<u8>) {
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
