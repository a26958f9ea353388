//! `everbloom tour`: a walk through what filters do. Every command is run as a visitor would type it, in a folder
//! that is removed afterwards, and what is shown is what it printed.

use std::fmt::Write as _;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;
use std::process::Command;

use everbloom::internals::filter::Filter;
use everbloom_report::number::rate_text;
use everbloom_report::terminal;
use tempfile::TempDir;

use super::{demo, opened};
use crate::output::{integer_text, print};
use crate::{Outcome, Result, Stop};

/// What a chapter is made of.
enum Part {
    /// Told as it stands here.
    Text(&'static str),
    /// Arguments of the command, which is run.
    Run(&'static str),
    /// The cells of the filter of fruits: those of some keys, of all of them, and of some queries.
    Cells { keys: &'static [&'static str], queries: &'static [&'static str] },
    /// How full a filter is.
    Fill(&'static str),
    /// The rate of a filter on its way past its capacity.
    Overflow,
}

use Part::{Cells, Fill, Overflow, Run, Text};

const FRUIT: [&str; 12] = [
    "apple", "apricot", "banana", "cherry", "fig", "grape", "lemon", "mango", "melon", "peach",
    "pear", "plum",
];
const BASKET: [&str; 3] = ["fig", "hammer", "wrench"];

const CHAPTERS: [(&str, &[Part]); 7] = [
    (
        "Build: a set in a few bits",
        &[
            Text(
                "A Bloom filter is an array of bits. A key is hashed to a few positions in it;\n\
                 inserting the key sets the bits there. The key itself is not stored.\n\
                 fruit.txt has the names of twelve fruits, one per line. The false-positive rate\n\
                 is 10 % here (-p 10%). That is too high in practice, but shows something:",
            ),
            Run("build fruit.txt -o fruit.evb -p 10%"),
            Text("These are its bits. Each fruit has set three of them; some bits are shared:"),
            Cells { keys: &FRUIT, queries: &[] },
        ],
    ),
    (
        "Check: certainly not, or maybe",
        &[
            Text("basket.txt has a fig, a hammer and a wrench. Which of them are fruits?"),
            Run("check fruit.evb basket.txt"),
            Text(
                "The fig is there: a filter has no false negatives. The wrench is not, and that\n\
                 is certain. The hammer is a false positive. To see why, look at the bits:",
            ),
            Cells { keys: &[], queries: &BASKET },
            Run("explain fruit.evb wrench"),
            Text(
                "One bit that is not set proves that the wrench was never inserted. The bits of\n\
                 the hammer are all set, but by several fruits.",
            ),
        ],
    ),
    (
        "Fill: how good is it?",
        &[
            Text(
                "A filter knows its fill, and therefore its false-positive rate. The best fill is\n\
                 one half: in a smaller filter too many bits are shared, in a larger one too\n\
                 many are never set.",
            ),
            Run("info fruit.evb"),
            Text(
                "A rate ten times lower costs 4.8 more bits per key, however long the keys are.\n\
                 At 0.1 % the hammer is gone:",
            ),
            Run("build fruit.txt -o strict.evb -p 0.1%"),
            Run("check strict.evb basket.txt"),
        ],
    ),
    (
        "Overflow: more keys than planned",
        &[
            Text(
                "This filter is planned for 100 keys at 1 %. Then 100 more are added, and 800\n\
                 more. No key is refused, but the filter fills up:",
            ),
            Run("build first.txt -o small.evb -n 100 -p 1%"),
            Fill("small.evb"),
            Run("add small.evb next.txt"),
            Fill("small.evb"),
            Run("add small.evb last.txt"),
            Fill("small.evb"),
            Text(
                "A formula predicts the rate, and a measurement agrees (· predicted, ● measured):",
            ),
            Overflow,
            Text(
                "If the number of keys is unknown, use a filter that grows. It keeps its rate by\n\
                 adding a layer whenever the newest one is full:",
            ),
            Run("build last.txt -o grows.evb --kind scalable -n 100 -p 1%"),
        ],
    ),
    (
        "Delete: counters instead of bits",
        &[
            Text(
                "Removing the fig from an array of bits could clear bits of other fruits. It is\n\
                 refused:",
            ),
            Run("remove fruit.evb fig.txt"),
            Text("A counting filter has a small counter instead of each bit:"),
            Run("build fruit.txt -o open.evb --kind counting -p 10%"),
            Run("explain open.evb fig"),
            Run("remove open.evb fig.txt"),
            Run("check open.evb fig.txt"),
            Text("Nothing is printed: the fig is gone, and the other fruits keep their counts."),
        ],
    ),
    (
        "Merge: filters are sets",
        &[
            Text(
                "Two filters of the same shape are merged by an OR of their bits, without the\n\
                 keys. The same -n and -p give the same shape:",
            ),
            Run("build fruit.txt -o a.evb -n 100"),
            Run("build basket.txt -o b.evb -n 100"),
            Run("merge a.evb b.evb -o both.evb"),
            Run("check both.evb basket.txt"),
            Text("From two filters alone, set sizes can be estimated:"),
            Run("estimate a.evb b.evb"),
        ],
    ),
    (
        "From here",
        &[Text(
            "  everbloom plan -n 10M -p 1%                which filter, and how large?\n  \
               everbloom plan -n 10M -p 1% --need delete  … that can remove keys?\n  \
               everbloom catalog                          every variant\n  \
               everbloom help VERB                        all options, with examples\n\
             docs/guide has a page for each task.",
        )],
    ),
];

pub fn run() -> Result<Outcome> {
    let folder = tempfile::tempdir().map_err(|e| failed(&e))?;
    prepare(&folder).map_err(|e| failed(&e))?;
    // Where nobody can press a key, or nobody sees when to, the walk goes on by itself.
    let pauses = io::stdin().is_terminal() && io::stdout().is_terminal();
    for (i, (title, parts)) in CHAPTERS.iter().enumerate() {
        print(&format!("── {} of {}: {title} ──\n\n", i + 1, CHAPTERS.len()))?;
        for part in *parts {
            print(&format!("{}\n", shown(part, folder.path())?))?;
        }
        if pauses && i + 1 < CHAPTERS.len() && !goes_on() {
            break;
        }
    }
    Ok(Outcome::Some)
}

fn failed(e: &dyn std::error::Error) -> Stop {
    Stop::Error(format!("the tour needs a temporary folder: {e}"))
}

/// The files that the chapters speak of.
fn prepare(folder: &TempDir) -> io::Result<()> {
    let write = |name: &str, lines: &[&str]| {
        std::fs::write(folder.path().join(name), lines.join("\n") + "\n")
    };
    write("fruit.txt", &FRUIT)?;
    write("basket.txt", &BASKET)?;
    write("fig.txt", &["fig"])?;
    let numbers: Vec<String> = (1..=1000).map(|i| i.to_string()).collect();
    let numbers: Vec<&str> = numbers.iter().map(String::as_str).collect();
    write("first.txt", &numbers[..100])?;
    write("next.txt", &numbers[100..200])?;
    write("last.txt", &numbers[200..])
}

/// Waits for the visitor; false if that was enough.
fn goes_on() -> bool {
    // A prompt that cannot be written changes nothing.
    let _ = write!(io::stderr(), "── Enter: continue; q, Enter: quit ");
    let mut typed = String::new();
    let read = io::stdin().lock().read_line(&mut typed);
    matches!(read, Ok(1..)) && !typed.trim().eq_ignore_ascii_case("q")
}

/// A part as text that ends a line.
fn shown(part: &Part, folder: &Path) -> Result<String> {
    let open = |name: &str| opened(&folder.join(name), &None);
    Ok(match part {
        Text(text) => format!("{text}\n"),
        Run(arguments) => ran(arguments, folder)?,
        Cells { keys, queries } => cells(&*open("fruit.evb")?, keys, queries),
        Fill(name) => bar(&*open(name)?),
        Overflow => demo::overflow()?,
    })
}

/// Columns of the smallest usual screen, less what output is indented by.
const COLUMNS: usize = 78;

/// A command and what it prints.
fn ran(arguments: &str, folder: &Path) -> Result<String> {
    let itself = std::env::current_exe().map_err(|e| failed(&e))?;
    let mut command = Command::new(itself);
    command.args(arguments.split(' ')).current_dir(folder).env("COLUMNS", COLUMNS.to_string());
    let output = command.output().map_err(|e| failed(&e))?;
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    Ok(format!("  $ everbloom {arguments}\n{}", indented(&(out + err))))
}

fn indented(text: &str) -> String {
    let fits = |line: &str| line.chars().count() <= COLUMNS;
    let whole = |line: &str| if fits(line) { line.to_owned() } else { terminal::wrapped(line, 4) };
    text.lines().map(|line| format!("  {}\n", whole(line))).collect()
}

/// Width of the names in the picture of cells.
const NAME: usize = 9;

/// A line for each key with its cells, one for the whole filter, and one for each query.
fn cells(filter: &dyn Filter, keys: &[&str], queries: &[&str]) -> String {
    let set = places(filter, &FRUIT);
    let row = |name: &str, mark: &dyn Fn(u64) -> char| {
        format!("  {name:>NAME$} {}\n", (0..filter.memory().cells).map(mark).collect::<String>())
    };
    let mut out = String::new();
    for &key in keys {
        let own = places(filter, &[key]);
        out += &row(key, &|cell| if own.contains(&cell) { '●' } else { '·' });
    }
    out += &row("filter", &|cell| if set.contains(&cell) { '█' } else { '·' });
    for &query in queries {
        let own = places(filter, &[query]);
        out += &row(query, &|cell| match (own.contains(&cell), set.contains(&cell)) {
            (true, true) => '●',
            (true, false) => '○',
            _ => '·',
        });
    }
    if !queries.is_empty() {
        let _ = writeln!(out, "  {:>NAME$} ● is set, ○ is not", "");
    }
    out
}

/// The cells that keys are hashed to.
fn places(filter: &dyn Filter, keys: &[&str]) -> Vec<u64> {
    keys.iter().flat_map(|key| filter.trace(key.as_bytes())).map(|cell| cell.index).collect()
}

/// Keys, fill and rate of a filter in a line.
fn bar(filter: &dyn Filter) -> String {
    let fill = filter.fill().unwrap_or(0.0);
    format!(
        "  {:>5} keys ▕{}▏ {:.0} % full, false positives {}\n",
        integer_text(filter.head().items),
        terminal::bar(fill, 30),
        100.0 * fill,
        rate_text(filter.now().passing().unwrap_or(0.0))
    )
}
