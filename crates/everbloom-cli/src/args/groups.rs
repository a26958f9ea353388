//! The first screen of help: the verbs in groups, and a longer page for each group.

use std::ffi::OsString;
use std::fmt::Write as _;

use clap::{Command, CommandFactory as _};

use super::Args;

/// Verbs that belong together.
struct Group {
    /// What `everbloom help` takes.
    name: &'static str,
    title: &'static str,
    /// Verbs with a common summary, the most used first.
    rows: &'static [(&'static [&'static str], &'static str)],
}

const GROUPS: &[Group] = &[
    Group {
        name: "filters",
        title: "Filters",
        rows: &[
            (&["build"], "build a filter from a file of keys"),
            (&["check"], "print the lines that may be in a filter"),
            (&["plan"], "rank the variants: which filter, and how large?"),
            (&["info", "explain"], "describe a filter, or its answer for one key"),
            (&["add", "remove"], "add keys to a filter, or remove them"),
            (&["count", "get", "list"], "print counts, values, or the keys a filter can list"),
            (&["age", "scrub"], "let a filter forget, or repair flipped bits"),
        ],
    },
    Group {
        name: "sets",
        title: "Sets and lists",
        rows: &[
            (&["dedupe"], "drop duplicate lines"),
            (&["top"], "print the most frequent lines or flows"),
            (&["diff", "sketch"], "compare two lists, or sketches of them"),
            (&["sync"], "synchronize lists or folders between two machines"),
            (&["join"], "join two tables, or intersect two lists"),
            (&["estimate"], "estimate the sizes of sets from their filters"),
            (&["merge", "intersect", "fold"], "combine filters, or halve one"),
            (&["reshape"], "resize, compact or adapt a filter"),
            (&["publish", "follow"], "distribute a filter of a list that changes"),
        ],
    },
    Group {
        name: "tools",
        title: "Tools",
        rows: &[
            (&["spell"], "check spelling"),
            (&["breach", "revoked"], "find leaked passwords, or revoked serials"),
            (&["link"], "match records of the same people in two CSV files"),
            (
                &["similar", "known", "attribute"],
                "find copies, known files, or who sent an excerpt",
            ),
            (&["kmer"], "search DNA samples"),
            (&["secure"], "look up keys, or search documents, privately"),
            (&["formats", "import", "export"], "read and write filters of other software"),
        ],
    },
    Group {
        name: "study",
        title: "Study",
        rows: &[
            (&["tour", "demo"], "learn what filters do, or compare their rates"),
            (&["catalog", "sample"], "list the variants, or print records to try one"),
            (&["bench"], "measure speed on this machine"),
            (&["completions", "man"], "print a completion script, or the manual page"),
        ],
    },
];

/// The template of the first screen.
pub fn template() -> String {
    let verbs = |row: &(&[&str], &str)| row.0.join(", ");
    let width = GROUPS.iter().flat_map(|group| group.rows).map(|row| verbs(row).len()).max();
    let width = width.unwrap_or(0);
    let mut page =
        "Every Bloom filter, from the command line.\nUsage: everbloom [OPTIONS] VERB\n".to_owned();
    for Group { title, rows, .. } in GROUPS {
        // Writing to a string cannot fail.
        let _ = writeln!(page, "\n{title}");
        for row in *rows {
            let _ = writeln!(page, "  {:<width$}  {}", verbs(row), row.1);
        }
    }
    let names: Vec<_> = GROUPS.iter().map(|group| group.name).collect();
    let _ = write!(
        page,
        "\n`everbloom help VERB` shows options and examples.\n\
         `everbloom help GROUP` shows more about a group: {}.",
        names.join(", ")
    );
    page
}

/// The page that `everbloom help GROUP` prints; nothing if that was not typed.
pub fn page(typed: impl IntoIterator<Item = OsString>) -> Option<String> {
    let typed: Vec<OsString> = typed.into_iter().skip(1).collect();
    let [help, name] = &typed[..] else { return None };
    let group = GROUPS.iter().find(|group| help == "help" && name == group.name)?;
    let (command, mut page) = (Args::command(), format!("{}\n", group.title));
    for verb in group.rows.iter().flat_map(|row| row.0) {
        let about = command.find_subcommand(verb).and_then(Command::get_about);
        let about = about.map(ToString::to_string).unwrap_or_default();
        let _ = write!(page, "\n  {verb}\n      {about}\n");
    }
    page += "\n`everbloom help VERB` shows options and examples.\n";
    Some(page)
}
