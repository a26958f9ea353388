//! The tables "which type?" are made from the list: the front page of the library, the page of all types, and the guide's.
//!
//! `EVERBLOOM_PAGES=write cargo test -p everbloom --test front` writes them; look at the difference before it is committed.

use std::fmt::Write;
use std::path::Path;

use everbloom::Variant;
use everbloom::catalog::{self, VARIANTS};

/// What the front page shows, in its order: the entry to take first for each need. Everything else is one page further.
const FRONT: &[&str] = &[
    "bloom",
    "blocked",
    "split-block",
    "counting",
    "cuckoo",
    "quotient",
    "scalable",
    "binary-fuse",
    "ribbon",
    "stable",
    "windowed",
    "yes-no",
    "weighted",
    "generalized",
    "ranges",
    "forest",
    "compressed",
    "combinatorial",
    "bloomier",
    "iblt",
    "invertible",
    "count-min",
    "hyperloglog",
    "top-k",
    "locality-sensitive",
];

/// The type of an entry, as a link of the documentation.
fn link(variant: &Variant) -> String {
    match variant.type_name() {
        Some(name) => format!("[`{0}::{name}`](crate::{0}::{name})", variant.family),
        None => format!("{} ({})", variant.name, variant.kind.name()),
    }
}

fn front() -> String {
    let mut page = "| question | type |\n|---|---|\n".to_owned();
    for slug in FRONT {
        let variant = catalog::by_slug(slug).expect("in the list");
        writeln!(page, "| {} | {} |", variant.question, link(variant)).expect("text");
    }
    page + "\n[All types](crate::types), by family.\n"
}

/// Every entry, by family; the cells of a row are what `row` makes of it.
fn by_family(heading: &str, header: &str, row: impl Fn(&Variant) -> String) -> String {
    let mut families: Vec<&str> = VARIANTS.iter().map(|variant| variant.family).collect();
    families.sort_unstable();
    families.dedup();
    let mut page = String::new();
    for family in families {
        let columns = header.matches('|').count() - 1;
        write!(page, "\n{heading} {family}\n\n{header}\n|{}\n", "---|".repeat(columns))
            .expect("text");
        for variant in VARIANTS.iter().filter(|variant| variant.family == family) {
            writeln!(page, "{}", row(variant)).expect("text");
        }
    }
    page
}

fn types() -> String {
    by_family("##", "| question | type | slug | entry |", |variant| {
        let (question, link) = (variant.question, link(variant));
        format!("| {question} | {link} | `{}` | {} |", variant.slug, variant.entry)
    })
}

fn guide() -> String {
    by_family("###", "| question | take |", |variant| {
        format!("| {} | `{}` |", variant.question, variant.slug)
    })
}

/// Compares a page with what it should say, or writes it.
fn check(path: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("EVERBLOOM_PAGES").is_some_and(|what| what == "write") {
        return std::fs::write(path, expected).expect("written");
    }
    let page = std::fs::read_to_string(&path).expect("a page");
    assert!(
        page == expected,
        "{} is stale: run this test under EVERBLOOM_PAGES=write",
        path.display()
    );
}

#[test]
fn the_front_page_is_short_and_fresh() {
    assert!(FRONT.len() <= 25);
    check("src/front.md", &front());
}

#[test]
fn the_page_of_all_types_is_fresh() {
    check("src/types.md", &types());
}

#[test]
fn the_table_of_the_guide_is_fresh() {
    const MARKS: [&str; 2] = ["<!-- questions -->\n", "<!-- /questions -->\n"];
    let path = "../../docs/guide/choosing.md";
    let page =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("a page");
    let (before, rest) = page.split_once(MARKS[0]).expect("the table begins");
    let (_, after) = rest.split_once(MARKS[1]).expect("the table ends");
    check(path, &format!("{before}{}{}\n{}{after}", MARKS[0], guide(), MARKS[1]));
}

#[test]
fn every_entry_asks_a_question_of_its_own() {
    let mut questions: Vec<&str> = VARIANTS.iter().map(|variant| variant.question).collect();
    for question in &questions {
        assert!(question.ends_with('?') && question.len() <= 100, "{question:?}");
    }
    questions.sort_unstable();
    let twice: Vec<_> = questions.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(twice.is_empty(), "{twice:?}");
}
