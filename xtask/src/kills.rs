//! Kills the command while it changes a filter, again and again, and shows that nothing is lost that was acknowledged: by
//! `add`, `remove`, `age` and `merge`, in a filter file and in a page store.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Keys of one change.
const KEYS: u64 = 200;

/// How many are not killed, to see how long they take.
const LEFT_ALONE: u64 = 5;

/// What is killed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    Add,
    AddToPages,
    Remove,
    Age,
    Merge,
}

impl Verb {
    const ALL: [Verb; 5] = [Verb::Add, Verb::AddToPages, Verb::Remove, Verb::Age, Verb::Merge];

    fn name(self) -> &'static str {
        match self {
            Verb::Add => "add to a filter file",
            Verb::AddToPages => "add to a page store",
            Verb::Remove => "remove",
            Verb::Age => "age",
            Verb::Merge => "merge",
        }
    }

    /// How the filter is built.
    fn kind(self) -> &'static str {
        match self {
            Verb::Add => "--kind scalable -n 1k",
            Verb::AddToPages => "--kind forest -n 1M",
            Verb::Remove => "--kind counting -p 1e-9",
            Verb::Age => "--kind windowed -n 10k",
            Verb::Merge => "-n 1M -p 1e-9",
        }
    }

    /// The change of a round, whose keys are in a file and in a filter.
    fn line(self) -> &'static str {
        match self {
            Verb::Add | Verb::AddToPages => "add f.evb keys",
            Verb::Remove => "remove f.evb keys",
            Verb::Age => "age f.evb 1",
            Verb::Merge => "merge f.evb keys.evb -o f.evb",
        }
    }
}

/// Kills up to `count` processes for each verb.
pub fn run(count: u64) -> Result<(), String> {
    let command = crate::command(crate::Profile::Release)?;
    for verb in Verb::ALL {
        let place = tempfile::tempdir().map_err(|e| e.to_string())?;
        let trial = Trial { command: &command, place: place.path(), verb };
        let tally = trial.run(count)?;
        let name = verb.name();
        println!(
            "{name}: {} of {count} killed, {} changes acknowledged, {} lost",
            tally.killed, tally.acknowledged, tally.lost
        );
        if tally.lost > 0 {
            return Err(format!("{name}: acknowledged changes are lost"));
        }
        if tally.files > 1 {
            return Err(format!("{name}: {} page files are left", tally.files));
        }
    }
    Ok(())
}

struct Trial<'a> {
    command: &'a Path,
    place: &'a Path,
    verb: Verb,
}

#[derive(Default)]
struct Tally {
    killed: u64,
    /// Keys, or ticks.
    acknowledged: u64,
    lost: u64,
    /// Page files that are left.
    files: usize,
}

fn text(e: std::io::Error) -> String {
    e.to_string()
}

/// The keys of some rounds.
fn keys(rounds: impl IntoIterator<Item = u64>) -> String {
    let numbers = rounds.into_iter().flat_map(|round| round * KEYS..(round + 1) * KEYS);
    numbers.map(|number| format!("key {number}\n")).collect()
}

impl Trial<'_> {
    fn everbloom(&self, line: &str) -> Command {
        let mut command = Command::new(self.command);
        command.args(line.split(' ')).arg("-q").current_dir(self.place);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        command
    }

    /// Runs a command that must succeed; what it prints.
    fn done(&self, line: &str) -> Result<Vec<u8>, String> {
        let output = self.everbloom(line).output().map_err(text)?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(format!("everbloom {line}: {}", output.status)),
        }
    }

    fn write(&self, name: &str, keys: &str) -> Result<(), String> {
        fs::write(self.place.join(name), keys).map_err(text)
    }

    fn run(&self, count: u64) -> Result<Tally, String> {
        let rounds = 0..LEFT_ALONE + count;
        let before = if self.verb == Verb::Remove { keys(rounds.clone()) } else { String::new() };
        self.write("before", &before)?;
        if self.verb == Verb::AddToPages {
            fs::create_dir(self.place.join("f.evb")).map_err(text)?;
        }
        self.done(&format!("build before -o f.evb {}", self.verb.kind()))?;
        let (mut tally, mut known, mut random) = (Tally::default(), Vec::new(), 0x2545_F491u64);
        // How long one takes that is left alone; the first few are.
        let mut usual = Duration::ZERO;
        for round in rounds {
            self.write("keys", &keys([round]))?;
            if self.verb == Verb::Merge {
                self.done("build keys -o keys.evb --like f.evb")?;
            }
            let start = Instant::now();
            let mut child = self.everbloom(self.verb.line()).spawn().map_err(text)?;
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if round >= LEFT_ALONE {
                sleep(usual.mul_f64((random >> 33) as f64 / f64::from(1u32 << 31) * 1.2));
                if child.try_wait().map_err(text)?.is_none() {
                    child.kill().map_err(text)?;
                }
            }
            let status = child.wait().map_err(text)?;
            if status.success() {
                known.push(round);
                if round < LEFT_ALONE {
                    usual += start.elapsed() / LEFT_ALONE as u32;
                }
            } else {
                tally.killed += 1;
            }
        }
        let changes = if self.verb == Verb::Age { 1 } else { KEYS };
        tally.acknowledged = known.len() as u64 * changes;
        tally.lost = self.lost(known)?;
        // Whoever changes it next removes what the killed ones have left.
        self.everbloom(self.verb.line()).output().map_err(text)?;
        let names = fs::read_dir(self.place.join("f.evb")).into_iter().flatten().flatten();
        // One that was killed before it could list its file has written nothing to it.
        let pages = |entry: &fs::DirEntry| {
            let begun = entry.metadata().is_ok_and(|meta| meta.len() > 0);
            begun && entry.file_name().to_string_lossy().starts_with("pages-")
        };
        tally.files = names.filter(pages).count();
        Ok(tally)
    }

    /// Changes that were acknowledged in these rounds and are not there.
    fn lost(&self, known: Vec<u64>) -> Result<u64, String> {
        if self.verb == Verb::Age {
            return Ok((known.len() as u64).saturating_sub(self.time()?));
        }
        let all = known.len() as u64 * KEYS;
        self.write("known", &keys(known))?;
        let found = self.everbloom("check f.evb known -c").output().map_err(text)?;
        let found = String::from_utf8_lossy(&found.stdout).trim().parse::<u64>();
        let found = found.map_err(|e| format!("everbloom check: {e}"))?;
        Ok(if self.verb == Verb::Remove { found } else { all - found })
    }

    /// The clock of a filter that forgets.
    fn time(&self) -> Result<u64, String> {
        let info = self.done("info f.evb --json")?;
        let info: serde_json::Value = serde_json::from_slice(&info).map_err(|e| e.to_string())?;
        info["shape"]["time"].as_u64().ok_or_else(|| "everbloom info: no time".to_owned())
    }
}
