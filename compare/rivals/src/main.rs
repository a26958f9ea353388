//! Everbloom beside its rivals: same keys, same target rate, interleaved rounds, medians, ratios.
//!
//! Started by the package around it: `cargo run --release --manifest-path compare/Cargo.toml -- [all|gate]
//! [GROUPS] [SIZES] [--rounds N] [--json FILE]`, or `-- draw PLAIN.json NATIVE.json FOLDER` for pictures of two such files.
//! `-- growth MOST FOLDER` measures queries from a thousand keys up to so many, and draws them; what `growth.txt` in
//! that folder has already is not measured again, so that `growth 0 FOLDER` only draws.
//! `-- threads FOLDER KEYS N` times the installed command with a file of N keys on one core and on more, adds that to `threads.txt`
//! in that folder, prints the medians and draws them; `threads FOLDER` only prints and draws. `collected` does the same for filters
//! that are built of all keys at once, and for `dedupe` and `join`.
//! `all` prints a table of every rival; `gate` the promises of docs/PERFORMANCE.md, and ends non-zero
//! if one is missed. GROUPS are names of [`gate::GROUPS`], by default all; SIZES are numbers of keys, separated by
//! commas, by default each group's own; `--rounds` measures fewer times than usual, for a quick look. A workspace of its own, so that rivals never slow the build.

mod draw;
mod floor;
mod gate;
mod growth;
mod measure;
mod report;
mod strings;
mod subject;
mod threads;

use std::process::ExitCode;

use everbloom::internals::cells::Bits;
use everbloom::internals::hash::HashId;

use threads::Jobs;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Some([verb, plain, native, folder]) = args.first_chunk::<4>()
        && verb == "draw"
    {
        return draw([plain, native], folder);
    }
    if let [verb, threads] = &args[..]
        && verb == "spin"
    {
        return spin(threads);
    }
    if let [verb, folder, keys @ ..] = &args[..]
        && let Some(jobs) = Jobs::named(verb)
    {
        return threads(&jobs, folder, keys.first_chunk().map(|[keys, n]| [&**keys, &**n]));
    }
    match args.first_chunk::<3>() {
        Some([verb, list, asked]) if verb == "clk-files" => return compare_files([list, asked]),
        Some([verb, most, folder]) if verb == "growth" => return growth(most, folder),
        _ => {}
    }
    match Asked::parse(&args) {
        Ok(asked) => compare(&asked),
        Err(word) => {
            let groups: Vec<&str> = gate::GROUPS.iter().map(|group| group.name).collect();
            eprintln!("{word}: not all, gate, a number of keys or one of {}", groups.join(", "));
            ExitCode::from(2)
        }
    }
}

/// What is to be compared.
struct Asked {
    /// Only who takes part in the promises, and whether they are kept.
    gate: bool,
    groups: Vec<&'static gate::Group>,
    sizes: Option<Vec<u64>>,
    json: Option<String>,
}

impl Asked {
    /// From the command line, or the word that means nothing.
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut asked = Self { gate: false, groups: Vec::new(), sizes: None, json: None };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let group = gate::GROUPS.iter().find(|group| group.name == arg);
            let sizes: Option<Vec<u64>> = arg.split(',').map(|n| n.parse().ok()).collect();
            match (arg.as_str(), group, sizes) {
                ("gate", ..) => asked.gate = true,
                ("all", ..) => {}
                ("--json", ..) => asked.json = args.next().cloned(),
                ("--rounds", ..) => {
                    let rounds = args.next().and_then(|n| n.parse().ok()).filter(|n| *n > 0);
                    measure::limit_rounds(rounds.ok_or("--rounds")?);
                }
                (_, Some(group), _) => asked.groups.push(group),
                (_, _, Some(sizes)) => asked.sizes = Some(sizes),
                _ => return Err(arg.clone()),
            }
        }
        if asked.groups.is_empty() {
            asked.groups.extend(gate::GROUPS);
        }
        Ok(asked)
    }
}

fn compare(asked: &Asked) -> ExitCode {
    println!("instruction set {}", everbloom::instruction_set());
    if asked.groups.iter().any(|group| group.name == "membership") {
        limits();
    }
    let mut all = gate::Measured::default();
    for group in &asked.groups {
        let sizes = asked.sizes.as_deref().unwrap_or(group.sizes);
        let measured = (group.run)(sizes, !asked.gate);
        println!("\n# {}", group.name);
        print!("{}", report::table(&measured.results));
        all.results.extend(measured.results);
        all.lines.extend(measured.lines);
    }
    print!("\n{}", report::gate(&all.lines));
    let mut fine = true;
    if let Some(path) = &asked.json {
        fine &= write(path, &format!("{:#}\n", report::json(&all.results, &all.lines)));
    }
    if asked.gate {
        fine &= all.lines.iter().all(gate::Line::kept);
    }
    if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints the nanoseconds per comparison of two files of filters of 1024 bits, and the number of matches.
fn compare_files(files: [&String; 2]) -> ExitCode {
    let filter = |bytes: &[u8; 128]| {
        let mut bits = Bits::new(1024);
        let set = |i: &u64| bytes[(i / 8) as usize] >> (i % 8) & 1 != 0;
        (0..1024).filter(set).for_each(|i| _ = bits.set(i));
        bits
    };
    let filters = |bytes: Vec<u8>| bytes.as_chunks().0.iter().map(filter).collect::<Vec<Bits>>();
    match files.map(|path| std::fs::read(path).map(filters)) {
        [Ok(list), Ok(asked)] => {
            // The median of five, as on the other side.
            let rounds = (0..5).map(|_| gate::records::comparison(&list, &asked));
            let Some(mut rounds) = rounds.collect::<Option<Vec<_>>>() else {
                return ExitCode::FAILURE;
            };
            rounds.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (ns, matches) = rounds[2];
            println!("{ns} {matches}");
            ExitCode::SUCCESS
        }
        [Err(e), _] | [_, Err(e)] => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

/// Measures filters from a thousand keys on, and draws what a query takes.
fn growth(most: &str, folder: &str) -> ExitCode {
    let Ok(most) = most.parse() else {
        eprintln!("{most}: not a number of keys");
        return ExitCode::from(2);
    };
    let curves = growth::measure(most, &format!("{folder}/growth.txt"));
    let fine = write(&format!("{folder}/growth.svg"), &draw::growth(&curves));
    if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Does the arithmetic that [`threads`] compares with, on so many threads.
fn spin(threads: &str) -> ExitCode {
    match threads.parse() {
        Ok(threads) if threads > 0 => _ = floor::arithmetic(threads, threads::SPUN),
        _ => return ExitCode::from(2),
    }
    ExitCode::SUCCESS
}

/// Measures the command on one core and on more, if it has keys for it; prints and draws what it took.
fn threads(jobs: &Jobs, folder: &str, keys: Option<[&str; 2]>) -> ExitCode {
    let kept = format!("{folder}/{}.txt", jobs.name);
    let measured = keys.map_or(Ok(()), |[keys, n]| threads::measure(jobs, keys, n, &kept));
    match measured.and_then(|()| threads::read(jobs, &kept)) {
        Ok(curves) => {
            print!("{}", threads::table(&curves));
            let fine = write(&format!("{folder}/{}.svg", jobs.name), &draw::threads(&curves));
            if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(e) => {
            eprintln!("{kept}: {e}");
            ExitCode::FAILURE
        }
    }
}

/// Says what the machine can give.
fn limits() {
    println!(
        "a 64-bit key is hashed in {:.2} ns (lane-64), {:.2} ns (xxh3-128)",
        floor::hashing(HashId::Lane64),
        floor::hashing(HashId::Xxh3_128)
    );
    for bytes in [12_500, 1_250_000, 62_500_000, 1 << 30] {
        let [plain, huge] = [false, true].map(|huge| floor::random_lines(bytes, huge));
        println!(
            "random cache lines of {bytes} bytes, prefetched: {plain:.2} ns, with huge pages {huge:.2} ns"
        );
    }
    println!("two threads take {:.2} of one's time for arithmetic", floor::two_threads());
    for (name, there) in [("Boost.Bloom", cfg!(boost)), ("RocksDB", cfg!(rocksdb))] {
        if !there {
            println!("no C++ compiler or no sources when this was built: {name} is left out");
        }
    }
}

/// Draws what two earlier runs measured, a plain one and one for this processor.
fn draw(files: [&String; 2], folder: &str) -> ExitCode {
    let read = |path: &String| {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
        serde_json::from_str(&text).map_err(|e| format!("{path}: {e}"))
    };
    match files.map(read) {
        [Ok(plain), Ok(native)] => {
            let fine = write(&format!("{folder}/rivals.svg"), &draw::queries(&plain, &native))
                & write(&format!("{folder}/space-and-time.svg"), &draw::space_and_time(&plain));
            if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        [Err(e), _] | [_, Err(e)] => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

fn write(path: &str, text: &str) -> bool {
    let written = std::fs::write(path, text);
    if let Err(e) = &written {
        eprintln!("cannot write {path}: {e}");
    }
    written.is_ok()
}
