//! How fast the command reads keys, beside md5sum and sort on the same file, in interleaved rounds.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const LINES: u64 = 50_000_000;
const ROUNDS: usize = 5;

/// Makes a file of lines of 20 digits in the system's folder for temporary files, times all, and prints
/// medians and ratios.
pub fn run() -> Result<(), String> {
    let built =
        Command::new(env!("CARGO")).args(["build", "--release", "-p", "everbloom-cli"]).status();
    if !built.is_ok_and(|status| status.success()) {
        return Err("the command does not build".to_owned());
    }
    let folder = std::env::temp_dir().join("everbloom-throughput");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let outcome = measure(&folder);
    let _ = std::fs::remove_dir_all(&folder);
    outcome
}

fn measure(folder: &Path) -> Result<(), String> {
    write_lines(&folder.join("keys")).map_err(|e| e.to_string())?;
    let command = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/everbloom");
    let command = command.display();
    let jobs = [
        ("md5sum", "md5sum keys".to_owned()),
        ("build", format!("{command} build keys -o keys.evb --kind blocked -n 50M -q")),
        ("check", format!("{command} check keys.evb keys")),
    ];
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); jobs.len()];
    for _ in 0..ROUNDS {
        for ((_, line), times) in jobs.iter().zip(&mut times) {
            times.push(seconds(folder, line)?);
        }
    }
    let sort = seconds(folder, "sort -u keys")?;
    let medians: Vec<f64> = times.into_iter().map(median).collect();
    println!(
        "{LINES} lines of 20 digits, medians of {ROUNDS} interleaved rounds, output thrown away"
    );
    for ((name, _), time) in jobs.iter().zip(&medians) {
        let [to_md5, to_sort] = [medians[0] / time, sort / time];
        println!(
            "{name:<7} {time:>6.2} s   {to_md5:>5.2} x md5sum   {to_sort:>6.1} x LC_ALL=C sort -u"
        );
    }
    println!("{:<7} {sort:>6.2} s   (once)", "sort");
    Ok(())
}

fn write_lines(path: &Path) -> std::io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    // A step that is coprime to 2^64 visits distinct numbers in no order.
    let numbers = (0..LINES).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    for number in numbers {
        writeln!(out, "{number:020}")?;
    }
    out.flush()
}

fn seconds(folder: &Path, line: &str) -> Result<f64, String> {
    let start = Instant::now();
    let status = Command::new("sh")
        .args(["-c", line])
        .current_dir(folder)
        .env("LC_ALL", "C")
        .stdout(Stdio::null())
        .status()
        .map_err(|e| format!("{line}: {e}"))?;
    if !status.success() {
        return Err(format!("{line}: {status}"));
    }
    Ok(start.elapsed().as_secs_f64())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}
