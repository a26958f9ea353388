//! Kills the command in the middle of `add`, again and again, and shows that nothing is lost that was acknowledged: on a
//! filter file and on a page store.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Keys of one `add`.
const KEYS: u64 = 200;

/// How many are not killed, to see how long they take.
const LEFT_ALONE: u64 = 5;

/// Kills up to `count` processes for each kind of store.
pub fn run(count: u64) -> Result<(), String> {
    let command = crate::command(crate::Profile::Release)?;
    for (name, build) in [
        ("a filter file", &["--kind", "scalable", "-n", "1k"][..]),
        ("a page store", &["--kind", "forest", "-n", "1M"][..]),
    ] {
        let place = tempfile::tempdir().map_err(|e| e.to_string())?;
        let trial = Trial { command: &command, place: place.path() };
        let tally = trial.run(count, build)?;
        println!(
            "{name}: {} of {count} killed, {} keys acknowledged, {} lost",
            tally.killed, tally.acknowledged, tally.lost
        );
        if tally.lost > 0 {
            return Err(format!("{name}: acknowledged keys are lost"));
        }
    }
    Ok(())
}

struct Trial<'a> {
    command: &'a Path,
    place: &'a Path,
}

#[derive(Default)]
struct Tally {
    killed: u64,
    acknowledged: u64,
    lost: u64,
}

impl Trial<'_> {
    fn everbloom(&self, args: &[&str]) -> Command {
        let mut command = Command::new(self.command);
        command.args(args).current_dir(self.place).stdout(Stdio::piped()).stderr(Stdio::null());
        command
    }

    fn run(&self, count: u64, build: &[&str]) -> Result<Tally, String> {
        let text = |e: std::io::Error| e.to_string();
        fs::write(self.place.join("none"), "").map_err(text)?;
        let mut args = vec!["build", "none", "-o", "f.evb", "-q"];
        args.extend(build);
        if build.contains(&"forest") {
            fs::create_dir(self.place.join("f.evb")).map_err(text)?;
        }
        let built = self.everbloom(&args).status().map_err(text)?;
        if !built.success() {
            return Err(format!("everbloom {}: {built}", args.join(" ")));
        }
        let (mut tally, mut known, mut random) = (Tally::default(), String::new(), 0x2545_F491u64);
        // How long one takes that is left alone; the first few are.
        let mut usual = Duration::ZERO;
        for round in 0..LEFT_ALONE + count {
            let keys: String = (0..KEYS).map(|i| format!("key {}\n", round * KEYS + i)).collect();
            fs::write(self.place.join("keys"), &keys).map_err(text)?;
            let start = Instant::now();
            let mut child =
                self.everbloom(&["add", "f.evb", "keys", "-q"]).spawn().map_err(text)?;
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if round >= LEFT_ALONE {
                sleep(usual.mul_f64((random >> 33) as f64 / f64::from(1u32 << 31) * 1.2));
                if child.try_wait().map_err(text)?.is_none() {
                    child.kill().map_err(text)?;
                }
            }
            let status = child.wait().map_err(text)?;
            if status.success() {
                known += &keys;
                tally.acknowledged += KEYS;
                if round < LEFT_ALONE {
                    usual += start.elapsed() / LEFT_ALONE as u32;
                }
            } else {
                tally.killed += 1;
            }
        }
        fs::write(self.place.join("known"), &known).map_err(text)?;
        let found = self.everbloom(&["check", "f.evb", "known", "-q"]).output().map_err(text)?;
        let found = found.stdout.iter().filter(|byte| **byte == b'\n').count() as u64;
        tally.lost = tally.acknowledged - found;
        Ok(tally)
    }
}
