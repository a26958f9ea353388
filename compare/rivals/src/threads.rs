//! What the command takes for a file of keys on one core and on more.

use std::io::{BufRead as _, Write as _};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::measure::median;

/// Pieces of work that are timed together.
pub struct Jobs {
    /// The name of the files that hold what they took.
    pub name: &'static str,
    /// A name, and the arguments of the command.
    jobs: &'static [(&'static str, &'static [&'static str])],
}

/// What keys go into as they come, and asking for them.
const STREAMED: Jobs = Jobs {
    name: "threads",
    jobs: &[
        ("build bloom", &["build", "KEYS", "-o", "BLOOM", "--kind", "bloom", "-n", "N"]),
        ("check blocked", &["check", "BLOCKED", "KEYS"]),
        ("build blocked", &["build", "KEYS", "-o", "BLOCKED", "--kind", "blocked", "-n", "N"]),
    ],
};

/// Filters that are built of all keys at once, and verbs that remember keys.
const COLLECTED: Jobs = Jobs {
    name: "collected",
    jobs: &[
        ("build bloomier", &["build", "PAIRS", "-o", "COLLECTED", "--kind", "bloomier"]),
        ("dedupe", &["dedupe", "KEYS"]),
        ("join", &["join", "--keys", "KEYS", "KEYS"]),
        ("build ribbon", &["build", "KEYS", "-o", "COLLECTED", "--kind", "ribbon"]),
        ("build binary-fuse", &["build", "KEYS", "-o", "COLLECTED", "--kind", "binary-fuse"]),
    ],
};

impl Jobs {
    /// Those of a name.
    pub fn named(name: &str) -> Option<Self> {
        [STREAMED, COLLECTED].into_iter().find(|jobs| jobs.name == name)
    }
}

/// What shares nothing, and gains as much by cores as the machine has to give: `spin` of this program.
pub const ARITHMETIC: &str = "arithmetic";

/// How much of it: a few seconds of one core.
pub const SPUN: u64 = 1 << 32;

const ROUNDS: usize = 3;

/// A job, and its median of seconds by the number of cores.
pub struct Curve {
    pub name: &'static str,
    pub points: Vec<(u64, f64)>,
}

/// Times the `everbloom` that the system finds, on 1, 2, 4 and so on of its cores, with a file of `n` keys, and adds what
/// it took to the file `kept`.
pub fn measure(jobs: &Jobs, keys: &str, n: &str, kept: &str) -> std::io::Result<()> {
    let mut out = std::fs::OpenOptions::new().create(true).append(true).open(kept)?;
    if jobs.jobs.iter().any(|(_, args)| args.contains(&"PAIRS")) {
        write_pairs(keys)?;
    }
    let most = std::thread::available_parallelism()?.get();
    for _ in 0..ROUNDS {
        for cores in (0..).map(|power| 1 << power).take_while(|cores| *cores <= most) {
            // Backwards: the filter that `check` opens is built first.
            for (name, args) in jobs.jobs.iter().rev() {
                let seconds = run(args, [keys, n], cores)?;
                writeln!(out, "{name}\t{cores}\t{seconds:.2}")?;
            }
            let spin = [&*std::env::current_exe()?.to_string_lossy(), "spin", &cores.to_string()]
                .map(str::to_owned);
            writeln!(out, "{ARITHMETIC}\t{cores}\t{:.2}", timed(&spin, cores)?)?;
        }
    }
    Ok(())
}

fn run(args: &[&str], [keys, n]: [&str; 2], cores: usize) -> std::io::Result<f64> {
    let [bloom, blocked, collected] =
        ["bloom", "blocked", "collected"].map(|kind| format!("{keys}.{kind}.evb"));
    let pairs = pairs_of(keys);
    let args = args.iter().map(|arg| match *arg {
        "KEYS" => keys,
        "N" => n,
        "BLOOM" => &bloom,
        "BLOCKED" => &blocked,
        "COLLECTED" => &collected,
        "PAIRS" => &pairs,
        other => other,
    });
    let words: Vec<String> = std::iter::once("everbloom").chain(args).map(str::to_owned).collect();
    timed(&words, cores)
}

/// Where the keys stand with a value each.
fn pairs_of(keys: &str) -> String {
    format!("{keys}.pairs")
}

/// Gives every key one of sixteen values.
fn write_pairs(keys: &str) -> std::io::Result<()> {
    let text = std::io::BufReader::new(std::fs::File::open(keys)?);
    let mut out = std::io::BufWriter::new(std::fs::File::create(pairs_of(keys))?);
    for (number, line) in text.lines().enumerate() {
        writeln!(out, "{}\t{}", line?, number % 16)?;
    }
    out.flush()
}

/// Seconds that a program takes on the first cores.
fn timed(words: &[String], cores: usize) -> std::io::Result<f64> {
    let (first, start) = (format!("0-{}", cores - 1), Instant::now());
    let mut command = Command::new("taskset");
    command.args(["-c", &first]).args(words);
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    // A filter that knows all keys prints none of them.
    if !status.success() && status.code() != Some(1) {
        return Err(std::io::Error::other(format!("{command:?}: {status}")));
    }
    Ok(start.elapsed().as_secs_f64())
}

/// The medians of what the file says.
pub fn read(jobs: &Jobs, kept: &str) -> std::io::Result<Vec<Curve>> {
    let text = std::fs::read_to_string(kept)?;
    let lines = text.lines().filter_map(|line| {
        let mut fields = line.split('\t');
        let (name, cores) = (fields.next()?, fields.next()?.parse::<u64>().ok()?);
        Some((name, cores, fields.next()?.parse::<f64>().ok()?))
    });
    let lines: Vec<(&str, u64, f64)> = lines.collect();
    let curve = |name: &'static str| {
        let mut cores: Vec<u64> = lines.iter().filter(|l| l.0 == name).map(|l| l.1).collect();
        cores.sort();
        cores.dedup();
        let seconds = |at: u64| lines.iter().filter(move |l| l.0 == name && l.1 == at).map(|l| l.2);
        let points = cores.into_iter().map(|at| (at, median(seconds(at).collect()))).collect();
        Curve { name, points }
    };
    let names = jobs.jobs.iter().map(|(name, _)| *name).chain([ARITHMETIC]);
    Ok(names.map(curve).filter(|curve| !curve.points.is_empty()).collect())
}

/// The medians, a row for every number of cores.
pub fn table(curves: &[Curve]) -> String {
    let names: String = curves.iter().map(|curve| format!(" {} |", curve.name)).collect();
    let mut table = format!("| cores |{names}\n|---:|{}\n", "---:|".repeat(curves.len()));
    for (at, (cores, _)) in curves.first().into_iter().flat_map(|c| &c.points).enumerate() {
        let seconds = curves.iter().filter_map(|curve| curve.points.get(at));
        let seconds: String = seconds.map(|(_, seconds)| format!(" {seconds:.1} s |")).collect();
        table += &format!("| {cores} |{seconds}\n");
    }
    table
}
