//! Imports of the library run downwards only: the floors, as data, and the check that holds the sources to them.
//!
//! Every `crate::`, `$crate::` and `super::` path counts, in a `use` or inline, in a function or a macro;
//! comments and tests do not.

use std::fs;
use std::path::{Path, PathBuf};

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
            "alternates",
            "compact",
            "counting",
            "decaying",
            "deleting",
            "grouping",
            "growing",
            "hardware",
            "hostile",
            "keyvalue",
            "known",
            "membership",
            "reconciling",
            "secure",
            "sequence",
            "similarity",
            "spatial",
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

/// Where the picture of DESIGN.md begins and ends.
const MARKS: [&str; 2] = ["<!-- floors -->\n", "<!-- /floors -->\n"];

/// Checks the library and the picture in DESIGN.md; `--draw` puts the picture there.
pub fn run(root: &Path, args: &[String]) -> Result<(), String> {
    let page = root.join("DESIGN.md");
    let text = fs::read_to_string(&page).map_err(|e| format!("{}: {e}", page.display()))?;
    let drawn = with_picture(&text)?;
    if args.iter().any(|arg| arg == "--draw") {
        fs::write(&page, &drawn).map_err(|e| format!("{}: {e}", page.display()))?;
    } else if drawn != text {
        return Err("DESIGN.md's picture is stale: cargo run -p xtask -- layers --draw".to_owned());
    }
    let folder = root.join("crates/everbloom/src");
    let mut upward = Vec::new();
    for path in sources(&folder) {
        let place = path.strip_prefix(&folder).unwrap_or(&path).to_path_buf();
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        upward.extend(violations(&module_path(&place), &text).into_iter().map(|(line, what)| {
            format!("crates/everbloom/src/{}:{line}: {what}", place.display())
        }));
    }
    if upward.is_empty() {
        println!("imports run downwards only: {} floors", FLOORS.len());
        return Ok(());
    }
    Err(format!("{} upward paths:\n{}", upward.len(), upward.join("\n")))
}

fn with_picture(text: &str) -> Result<String, String> {
    let [start, end] = MARKS;
    let parts = text.split_once(start).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(end)?;
        Some((before, after))
    });
    let (before, after) = parts.ok_or("DESIGN.md has no place for the picture of the floors")?;
    Ok(format!("{before}{start}{}{end}{after}", picture()))
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

/// The modules that a file stands in: `probe/lanes/mod.rs` is `probe`, `lanes`.
fn module_path(place: &Path) -> Vec<String> {
    let mut path: Vec<String> =
        place.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    path.pop_if(|last| last == "mod" || last == "lib");
    path
}

fn floor(module: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.modules.contains(&module))
}

/// The paths of a file that lead up or sideways, with their lines.
fn violations(file: &[String], text: &str) -> Vec<(usize, String)> {
    let Some(here) = file.first() else { return Vec::new() };
    if file.iter().any(|module| module == "tests" || module.ends_with("_tests")) {
        return Vec::new();
    }
    let Some(own) = floor(here) else {
        return vec![(1, format!("{here} is on no floor"))];
    };
    let code = without_comments_and_tests(text);
    let mut out = Vec::new();
    for (at, start) in starts(&code) {
        let Some(targets) = targets(file, &code[at..], start) else { continue };
        for target in targets.iter().filter(|target| *target != here) {
            let line = code[..at].matches('\n').count() + 1;
            match floor(target) {
                Some(there) if there > own => {}
                Some(_) => {
                    out.push((line, format!("{here} imports {target}, which is not below it")))
                }
                None => out.push((line, format!("{here} imports {target}, which is no module"))),
            }
        }
    }
    out
}

/// How a path begins.
#[derive(Clone, Copy)]
enum Start {
    Crate,
    Super,
}

/// Where paths begin: behind `crate::` and `$crate::`, and at `super::`.
fn starts(code: &str) -> Vec<(usize, Start)> {
    let word = |at: usize| {
        code[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
    };
    let crates = code.match_indices("crate::").filter(|(at, _)| !word(*at));
    let supers = code.match_indices("super::").filter(|(at, _)| !word(*at));
    crates
        .map(|(at, found)| (at + found.len(), Start::Crate))
        .chain(supers.map(|(at, _)| (at, Start::Super)))
        .collect()
}

/// The modules of the crate's root that a path leads to; none if it stays inside.
fn targets(file: &[String], path: &str, start: Start) -> Option<Vec<String>> {
    let mut rest = path;
    if let Start::Super = start {
        let mut depth = file.len();
        while let Some(after) = rest.strip_prefix("super::") {
            depth = depth.checked_sub(1)?;
            rest = after;
        }
        if depth > 0 {
            return None;
        }
    }
    let name = |text: &str| {
        text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>()
    };
    match rest.strip_prefix('{') {
        Some(list) => Some(top_level(list).iter().map(|item| name(item.trim_start())).collect()),
        None => Some(vec![name(rest)]),
    }
}

/// The items of a list in braces, not those of lists inside it.
fn top_level(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut out) = (0, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                if !list[start..at].trim().is_empty() {
                    out.push(&list[start..at]);
                }
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    out
}

/// The code with comments and the module of tests blanked out; lines stay where they are.
fn without_comments_and_tests(text: &str) -> String {
    let ends = ["#[cfg(test)]\nmod ", "#[cfg(test)]\npub(crate) mod "].map(|mark| text.find(mark));
    let code = &text[..ends.into_iter().flatten().min().unwrap_or(text.len())];
    code.lines().map(|line| line.split("//").next().unwrap_or("").to_owned() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(place: &str, text: &str) -> usize {
        violations(&module_path(Path::new(place)), text).len()
    }

    #[test]
    fn upward_and_sideways_paths_are_found_wherever_they_stand() {
        assert_eq!(found("cells/bits.rs", "use crate::probe::Ring;\n"), 1);
        assert_eq!(found("cells/bits.rs", "fn f() { crate::filter::touched() }\n"), 1);
        assert_eq!(found("cells/mod.rs", "use super::probe::Ring;\n"), 1);
        assert_eq!(found("cells/bits.rs", "use super::super::probe::Ring;\n"), 1);
        assert_eq!(found("filter/face.rs", "macro_rules! m { () => { $crate::variant::X } }\n"), 1);
        assert_eq!(found("counting/d_left/mod.rs", "use crate::membership::Bloom;\n"), 1);
        assert_eq!(
            found("cells/bits.rs", "use crate::{error::Result, file::{Opener, save}};\n"),
            1
        );
        assert_eq!(found("cells/bits.rs", "use crate::Bloom;\n"), 1);
        assert_eq!(found("nowhere.rs", ""), 1);
    }

    #[test]
    fn downward_paths_comments_and_tests_pass() {
        assert_eq!(found("probe/lanes/mod.rs", "use super::Ring;\nuse crate::cells::Bits;\n"), 0);
        assert_eq!(found("probe/lanes/avx2.rs", "use super::super::Ring;\n"), 0);
        assert_eq!(found("cells/bits.rs", "//! See [`Ring`](crate::probe::Ring).\n"), 0);
        let tests = "#[cfg(test)]\nmod tests {\n    use crate::catalog::VARIANTS;\n}\n";
        assert_eq!(found("cells/bits.rs", tests), 0);
        assert_eq!(found("membership/many_tests.rs", "use crate::catalog::VARIANTS;\n"), 0);
    }
}
