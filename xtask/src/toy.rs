//! A toy variant, flat bits with another probe: one file, one line in the list, one `mod` line; everything else
//! follows.

use crate::tree::{Tree, failed_tests};

const FAMILY: &str = "crates/everbloom/src/membership/mod.rs";
const LIST: &str = "crates/everbloom/src/catalog.rs";
const FILE: &str = "crates/everbloom/src/membership/toy.rs";

/// Adds the toy to a copy of the tree, then builds, lists, saves, asks and tests it.
pub fn run() -> Result<(), String> {
    let tree = Tree::copy("toy")?;
    let toy = include_str!("toy_variant.rs.txt");
    let own = toy.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("//"));
    let entry = toy.lines().skip_while(|line| !line.contains("static VARIANT")).count();
    let length = own.count() - entry;
    require(length < 60, &format!("it takes {length} lines beside its essay and its entry"))?;
    tree.write(FILE, toy)?;
    let family = tree.read(FAMILY)?;
    tree.write(FAMILY, format!("{family}\npub mod toy;\n"))?;
    let list = tree.read(LIST)?;
    let end = list.find("\n}\n\n/// The entry with this id").ok_or("the list has no end")?;
    let line = "    9999 \"toy\" is membership::toy;";
    let list = format!("{}\n{line}{}", &list[..end], &list[end..]);
    tree.write(LIST, &list)?;

    let listed = tree.cargo(&["run", "--quiet", "--", "catalog", "--json"])?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    require(listed.contains("\"slug\": \"toy\""), "the catalog lists it")?;
    let page = tree.cargo(&["run", "--quiet", "--", "catalog", "--markdown"])?;
    let page = String::from_utf8_lossy(&page.stdout).into_owned();
    require(page.contains("## toy"), "CATALOG.md has a section and measured rates for it")?;
    let file = tree.root().join("toy.evb").display().to_string();
    let built =
        tree.cargo(&["run", "--quiet", "--", "build", "README.md", "-o", &file, "--kind", "toy"])?;
    require(built.status.success(), "the command line builds and saves it")?;
    let asked = tree.cargo(&["run", "--quiet", "--", "check", &file, "README.md"])?;
    let lines = tree.read("README.md")?.lines().count();
    let found = String::from_utf8_lossy(&asked.stdout).lines().count();
    require(found == lines, "the command line opens it and finds every member")?;
    let tests = tree.cargo_with(
        &[("EVERBLOOM_ONLY", "toy")],
        &[
            "test",
            "-p",
            "everbloom",
            "--color",
            "never",
            "--test",
            "conformance",
            "--test",
            "hostile",
            "--test",
            "golden",
            "--test",
            "model",
            "--test",
            "pins",
        ],
    )?;
    let failed = failed_tests(&tests);
    require(tests.status.success(), &format!("the tests pick it up and pass {failed:?}"))?;
    let pins = tree.root().join("crates/everbloom/tests/golden/toy-sum-boundary.evb");
    require(pins.exists(), "its files are pinned")
}

fn require(holds: bool, what: &str) -> Result<(), String> {
    println!("{} {what}", if holds { "yes:" } else { "NO: " });
    if holds { Ok(()) } else { Err(what.to_owned()) }
}
