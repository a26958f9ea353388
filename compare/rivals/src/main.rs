//! Everbloom beside its rivals: same keys, same target rate, interleaved rounds, medians, ratios.
//!
//! Started by the package around it: `cargo run --release --manifest-path compare/Cargo.toml -- [all|gate]
//! [SIZES] [--json FILE]`, or `-- draw PLAIN.json NATIVE.json FOLDER` for pictures of two such files. `all` prints a table of every rival; `gate` the promises of docs/PERFORMANCE.md, and ends non-zero
//! if one is missed. SIZES are numbers of keys, by default 10000,1000000,50000000. A workspace of its own,
//! so that rivals never slow the build.

mod draw;
mod floor;
mod gate;
mod measure;
mod report;
mod strings;
mod subject;

use std::process::ExitCode;

use everbloom::internals::hash::HashId;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1));
    if let Some([verb, plain, native, folder]) = args.first_chunk::<4>()
        && verb == "draw"
    {
        return draw([plain, native], folder);
    }
    let only_gate = args.iter().any(|a| a == "gate");
    let given: Option<Vec<u64>> =
        args.iter().find_map(|a| a.split(',').map(|n| n.parse().ok()).collect());
    let sizes = given.unwrap_or_else(|| vec![10_000, 1_000_000, 50_000_000]);

    println!(
        "instruction set {}; a 64-bit key is hashed in {:.2} ns (lane-64), {:.2} ns (xxh3-128)",
        everbloom::instruction_set(),
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
    if cfg!(not(boost)) {
        println!("no C++ compiler when this was built: Boost.Bloom is left out");
    }

    let all = |_| subject::RIVALS.to_vec();
    let rivals = if only_gate { gate::rivals } else { all };
    let mut results = Vec::new();
    for case in gate::cases(&sizes) {
        results.extend(measure::run(&rivals(case.items), case));
    }
    print!("{}", report::table(&results));
    let lines = gate::lines(&results, &sizes);
    print!("\n{}", report::gate(&lines));
    let mut fine = true;
    if let Some(path) = option("--json") {
        fine &= write(path, &format!("{:#}\n", report::json(&results, &lines)));
    }
    if only_gate {
        fine &= lines.iter().all(gate::Line::kept);
    }
    if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
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
