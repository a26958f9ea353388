//! What the pages say of the sources holds: which files have `unsafe`, and that imports run one way only: between the floors of the library downwards, and in no crate around in circles.
//!
//! Every `crate::`, `$crate::`, `super::` and `self::` path counts, in a `use` or inline, in a function or a macro;
//! comments and tests do not. At each level of a crate, siblings (files or folders of one folder) must not import each
//! other, directly or through others. Between a module and what stands in it, both ways are fine: a `mod.rs` re-exports
//! its children, and a child may use what its `mod.rs` itself defines.

mod modules;
mod scan;
mod unsafe_code;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::marks;
use modules::{Circle, Import, Modules};

/// A floor: what it is, and its modules. Modules of one floor do not import each other.
struct Floor {
    name: &'static str,
    modules: &'static [&'static str],
}

/// Top down. A module imports only floors below its own.
const FLOORS: &[Floor] = &[
    Floor { name: "over the whole list", modules: &["choose", "dedupe", "exchange", "serde"] },
    Floor { name: "files", modules: &["file", "sample"] },
    Floor { name: "the list", modules: &["catalog"] },
    Floor {
        name: "families",
        modules: &[
            "compact",
            "counting",
            "decaying",
            "deleting",
            "fingerprints",
            "grouping",
            "growing",
            "hardware",
            "keyvalue",
            "known",
            "membership",
            "reconciling",
            "secure",
            "sketches",
            "structured",
            "weighted",
        ],
    },
    Floor { name: "assemblies", modules: &["parts"] },
    Floor { name: "an entry", modules: &["variant"] },
    Floor { name: "sizing", modules: &["plan"] },
    Floor { name: "traits and facts", modules: &["filter"] },
    Floor { name: "mechanisms", modules: &["pages", "solve"] },
    Floor { name: "", modules: &["probe"] },
    Floor { name: "ground", modules: &["cells"] },
    Floor { name: "", modules: &["state"] },
    Floor { name: "", modules: &["memory"] },
    Floor { name: "", modules: &["disk", "hash", "theory"] },
    Floor { name: "", modules: &["simd", "sys", "threads"] },
    Floor { name: "", modules: &["error", "names"] },
];

/// A circle: the folder it is in, and the siblings.
type Known = (&'static str, &'static [&'static str]);

/// Circles that are still to be untied, each with what stands in the wrong one of its files. The list only gets shorter.
const KNOWN: &[Known] = &[];

const LIBRARY: &str = "crates/everbloom/src";

/// Checks every crate, and what pages say of the sources; `--draw` writes it there.
pub fn run(root: &Path, args: &[String]) -> Result<(), String> {
    let drawn = [
        ("DESIGN.md", "floors", picture()),
        ("CONTRIBUTING.md", "unsafe", unsafe_code::list(root)?),
    ];
    for (page, mark, text) in drawn {
        if args.iter().any(|arg| arg == "--draw") {
            marks::write(&root.join(page), mark, &text)?;
        } else if !marks::is_fresh(&root.join(page), mark, &text)? {
            let draw = "cargo run -p xtask -- layers --draw";
            return Err(format!("what {page} says of {mark} is stale: {draw}"));
        }
    }
    let crates = crates(root)?;
    let mut wrong = Vec::new();
    let mut circles = Vec::new();
    for source in &crates {
        let modules = Modules::read(root, source)?;
        let imports = modules.imports();
        if source == LIBRARY {
            wrong.extend(upward(&modules, &imports));
        }
        let placed = |circle: Circle| {
            let names = circle.parent.iter();
            (names.fold(source.clone(), |place, name| format!("{place}/{name}")), circle)
        };
        circles.extend(modules::circles(&imports).into_iter().map(placed));
    }
    wrong.extend(judged(&circles, KNOWN));
    if wrong.is_empty() {
        let (floors, crates, known) = (FLOORS.len(), crates.len(), KNOWN.len());
        println!("{floors} floors of the library, {crates} crates, {known} known circles");
        return Ok(());
    }
    Err(wrong.join("\n"))
}

/// The `src` folder of every crate of the repository.
fn crates(root: &Path) -> Result<Vec<String>, String> {
    let listed =
        crate::output(Command::new("git").args(["ls-files", "*Cargo.toml"]).current_dir(root))?;
    let listed = String::from_utf8_lossy(&listed);
    let sources = listed.lines().map(|file| file.replace("Cargo.toml", "src"));
    Ok(sources.filter(|source| root.join(source).is_dir()).collect())
}

/// The imports between floors of the library that do not run downwards.
fn upward(modules: &Modules, imports: &[Import]) -> Vec<String> {
    let mut out: Vec<String> = modules
        .top()
        .into_iter()
        .filter(|module| floor(module).is_none())
        .map(|module| format!("{LIBRARY}: {module} is on no floor"))
        .collect();
    for Import { from, to, file, line } in imports {
        let Some(here) = from.first() else { continue };
        let there = to.first().map(String::as_str);
        if there == Some(here) || there.and_then(floor) > floor(here) {
            continue;
        }
        let there = there.unwrap_or("the crate's root");
        out.push(format!("{file}:{line}: {here} imports {there}, which is not below it"));
    }
    out
}

/// The circles that are not known, and what is known and no circle anymore.
fn judged(circles: &[(String, Circle)], known: &[Known]) -> Vec<String> {
    let is = |(folder, siblings): &Known, (place, circle): &(String, Circle)| {
        folder == place && circle.siblings.iter().eq(siblings.iter())
    };
    let new = circles.iter().filter(|circle| !known.iter().any(|known| is(known, circle)));
    let stale = known.iter().filter(|known| !circles.iter().any(|circle| is(known, circle)));
    let new = new.map(|(place, Circle { siblings, imports, .. })| {
        let names = siblings.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let lines = imports.iter().map(|Import { to, file, line, .. }| {
            format!("\n  {file}:{line}: imports {}", to.join("::"))
        });
        format!("{place}: a circle of {names}{}", lines.collect::<String>())
    });
    let stale = stale.map(|(folder, siblings)| {
        format!("{folder}: {} are no circle anymore: take them off KNOWN", siblings.join(", "))
    });
    new.chain(stale).collect()
}

fn picture() -> String {
    let mut out = "```\n".to_owned();
    for Floor { name, modules } in FLOORS {
        let mut line = format!("{name:<20}");
        for module in *modules {
            if line.len() + module.len() > 100 {
                out += &format!("{}\n", line.trim_end());
                line = format!("{:<20}", "");
            }
            line += &format!("{module}  ");
        }
        out += &format!("{}\n", line.trim_end());
    }
    out + "```\n"
}

/// Every Rust file below a folder.
pub fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            out.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            out.push(path);
        }
    }
    out.sort();
    out
}

fn floor(module: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.modules.contains(&module))
}

#[cfg(test)]
mod tests {
    use super::modules::tests::modules;
    use super::*;

    fn found(file: &str, text: &str) -> usize {
        let root = ("lib.rs", "pub use membership::Bloom;");
        let files =
            ["probe/mod.rs", "filter.rs", "membership.rs", "variant.rs", "error.rs", "file.rs"];
        let mut files: Vec<_> = files.iter().map(|file| (*file, "")).chain([root]).collect();
        files.push(("cells/mod.rs", ""));
        files.retain(|(name, _)| *name != file);
        files.push((file, text));
        let modules = modules(&files);
        upward(&modules, &modules.imports()).len()
    }

    #[test]
    fn upward_and_sideways_paths_are_found() {
        assert_eq!(found("cells/bits.rs", "use crate::probe::Ring;\n"), 1);
        assert_eq!(found("cells/bits.rs", "fn f() { crate::filter::touched() }\n"), 1);
        assert_eq!(found("cells/mod.rs", "use super::probe::Ring;\n"), 1);
        assert_eq!(found("filter/face.rs", "macro_rules! m { () => { $crate::variant::X } }\n"), 1);
        assert_eq!(found("counting/d_left/mod.rs", "use crate::membership::Bloom;\n"), 1);
        assert_eq!(
            found("cells/bits.rs", "use crate::{error::Result, file::{Opener, save}};\n"),
            2
        );
        assert_eq!(found("cells/bits.rs", "use crate::Bloom;\n"), 1);
        assert_eq!(found("nowhere.rs", ""), 1);
    }

    #[test]
    fn downward_paths_and_tests_pass() {
        assert_eq!(found("probe/lanes/mod.rs", "use super::Ring;\nuse crate::cells::Bits;\n"), 0);
        assert_eq!(found("probe/lanes/avx2.rs", "use super::super::Ring;\n"), 0);
        let tests = "#[cfg(test)]\nmod tests {\n    use crate::variant::X;\n}\n";
        assert_eq!(found("cells/bits.rs", tests), 0);
    }

    #[test]
    fn circles_are_known_one_by_one_and_only_while_they_are_there() {
        let modules = modules(&[("a.rs", "use crate::b::B;"), ("b.rs", "use crate::a::A;")]);
        let circles: Vec<(String, Circle)> = modules::circles(&modules.imports())
            .into_iter()
            .map(|circle| ("src".to_owned(), circle))
            .collect();
        let said = judged(&circles, &[]);
        assert_eq!(said, ["src: a circle of a, b\n  a.rs:1: imports b\n  b.rs:1: imports a"]);
        assert!(judged(&circles, &[("src", &["a", "b"])]).is_empty());
        assert_eq!(judged(&circles, &[("src", &["a", "c"])]).len(), 2);
    }
}
