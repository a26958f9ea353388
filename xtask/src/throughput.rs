//! How fast the command reads lines, beside the tools that one would take otherwise, in interleaved rounds.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::Profile;
use crate::timing::{self, median};

const ROUNDS: usize = 3;
/// What takes more seconds is run once.
const LONG: f64 = 30.0;

/// What is timed: a name, the command, and what does the same without it. `N` stands for the number of lines.
/// Before them stands what some of them need, which is not timed.
const PREPARED: [&str; 2] =
    ["zstd -q keys -o keys.zst", "everbloom build keys -o keys.evb -n N -q"];
const JOBS: [(&str, &str, &[&str]); 10] = [
    ("build", "everbloom build keys -o f.evb -n N -q", &["md5sum keys"]),
    ("build, blocked", "everbloom build keys -o f.evb --kind blocked -n N -q", &["md5sum keys"]),
    ("build, counted first", "everbloom build keys -o f.evb -q", &["md5sum keys", "wc -l keys"]),
    (
        "build from zstd",
        "everbloom build keys.zst -o f.evb -q",
        &["zstd -dc keys.zst | everbloom build - -o f.evb -n N -q", "zstd -dc keys.zst"],
    ),
    ("check", "everbloom check keys.evb others", &["md5sum others"]),
    ("dedupe", "everbloom dedupe keys keys -q", &["sort -u keys keys", AWK]),
    ("dedupe, filters", "everbloom dedupe keys keys -p 0.1% -q", &["sort -u keys keys", AWK]),
    ("dedupe, window", "everbloom dedupe keys keys --window 1M -q", &[AWK]),
    ("diff", "everbloom diff keys others -q", &["comm -3 <(sort keys) <(sort others)"]),
    ("join", "everbloom join keys others -q", &["join <(sort keys) <(sort others)"]),
];
const AWK: &str = "awk '!seen[$0]++' keys keys";

/// Makes files of lines of 20 digits in the system's folder for temporary files, times all, and prints medians and
/// ratios as a table.
pub fn run(lines: u64) -> Result<(), String> {
    let command = crate::command(Profile::Release)?.display().to_string();
    let folder = std::env::temp_dir().join("everbloom-throughput");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let outcome = Bench { folder: &folder, command: &command, lines }.measure();
    let _ = std::fs::remove_dir_all(&folder);
    outcome
}

struct Bench<'a> {
    folder: &'a Path,
    command: &'a str,
    lines: u64,
}

impl Bench<'_> {
    fn measure(&self) -> Result<(), String> {
        // One line in a thousand of the others is not among the keys.
        self.write("keys", 0)
            .and_then(|()| self.write("others", self.lines / 1000))
            .map_err(|e| e.to_string())?;
        for line in PREPARED {
            self.seconds(line)?;
        }
        println!(
            "{} lines of 20 digits, medians of {ROUNDS} interleaved rounds (one round above {LONG} s), output \
             discarded.\n",
            self.lines
        );
        println!(
            "| | command | seconds | compared with | seconds | ratio |\n|---|---|---:|---|---:|---:|"
        );
        for (name, ours, rivals) in JOBS {
            let all: Vec<&str> = std::iter::once(ours).chain(rivals.iter().copied()).collect();
            let mut times: Vec<Vec<f64>> = vec![Vec::new(); all.len()];
            for _ in 0..ROUNDS {
                for (line, times) in all.iter().zip(&mut times) {
                    if times.first().is_none_or(|first| *first < LONG) {
                        times.push(self.seconds(line)?);
                    }
                }
            }
            let medians: Vec<f64> = times.into_iter().map(median).collect();
            for (rival, time) in rivals.iter().zip(&medians[1..]) {
                let (own, ratio) = (medians[0], medians[0] / time);
                println!("| {name} | `{ours}` | {own:.2} | `{rival}` | {time:.2} | {ratio:.2} |");
            }
        }
        Ok(())
    }

    /// Distinct numbers in no order, from number `first` on: the step is coprime to 2^64.
    fn write(&self, name: &str, first: u64) -> std::io::Result<()> {
        let mut out = BufWriter::with_capacity(1 << 20, File::create(self.folder.join(name))?);
        for i in first..first + self.lines {
            writeln!(out, "{:020}", i.wrapping_mul(0x9E37_79B9_7F4A_7C15))?;
        }
        out.flush()
    }

    fn seconds(&self, line: &str) -> Result<f64, String> {
        let line =
            line.replace("everbloom", self.command).replace("-n N", &format!("-n {}", self.lines));
        Ok(timing::run(self.folder, &format!("{line} > /dev/null"))?.seconds)
    }
}
