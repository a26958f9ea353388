//! The modules of a crate and which of them import which, and the circles among siblings.
//!
//! A module is a file or a folder. An import of `super::Name` or `crate::Name` that a `use` declaration there has from a
//! child counts as one from the child. A child may use items that its parent defines itself, and a parent everything
//! of its children: only siblings must not import each other, be it directly or through others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path as FilePath;

use super::scan::{Path, Scan};

/// A module's import of another.
#[derive(Clone)]
pub struct Import {
    pub from: Path,
    pub to: Path,
    /// Where it stands.
    pub file: String,
    pub line: usize,
}

/// The modules of a crate, by their paths from its root.
#[derive(Default)]
pub struct Modules {
    /// Files, by their module.
    files: BTreeMap<Path, String>,
    scans: Vec<(Path, Scan)>,
    /// Those in files and those in braces.
    known: BTreeSet<Path>,
    names: BTreeMap<Path, BTreeMap<String, Path>>,
    /// Those that only tests have.
    tests: BTreeSet<Path>,
}

/// So many `use` declarations are followed from one name to the next; names may go around in circles.
const HOPS: u32 = 8;

impl Modules {
    /// Reads the modules below a crate's `src`; programs in `src/bin` are crates of their own.
    pub fn read(root: &FilePath, source: &str) -> Result<Self, String> {
        let folder = root.join(source);
        let mut texts = Vec::new();
        for path in super::sources(&folder) {
            let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            let place = path.strip_prefix(&folder).unwrap_or(&path).to_path_buf();
            if !place.starts_with("bin") {
                texts.push((format!("{source}/{}", place.display()), module_path(&place), text));
            }
        }
        Self::of(texts)
    }

    /// The modules of files, with their paths and texts.
    fn of(texts: Vec<(String, Path, String)>) -> Result<Self, String> {
        let mut all = Self::default();
        for (file, module, text) in texts {
            let scan = Scan::of(&module, &text).map_err(|e| format!("{file}: {e}"))?;
            all.known.extend(scan.inline.iter().cloned().chain([module.clone()]));
            // A library and a program may share their root.
            for (module, names) in &scan.names {
                let names = names.iter().map(|(name, path)| (name.clone(), path.clone()));
                all.names.entry(module.clone()).or_default().extend(names);
            }
            all.tests.extend(scan.tests.iter().cloned());
            all.files.insert(module.clone(), file);
            all.scans.push((module, scan));
        }
        Ok(all)
    }

    /// The modules at the crate's root, without those that only tests have.
    pub fn top(&self) -> BTreeSet<&str> {
        let shipped = self.files.keys().filter(|module| !self.is_for_tests(module));
        shipped.filter_map(|module| module.first()).map(String::as_str).collect()
    }

    fn is_for_tests(&self, module: &[String]) -> bool {
        (1..=module.len()).any(|n| self.tests.contains(&module[..n]))
    }

    /// Every import of a module from another, outside tests.
    pub fn imports(&self) -> Vec<Import> {
        let mut out = Vec::new();
        for (from, scan) in self.scans.iter().filter(|(module, _)| !self.is_for_tests(module)) {
            for (path, line) in &scan.imports {
                let to = self.in_file(self.resolve(path, HOPS));
                if to != *from {
                    let (from, file) = (from.clone(), self.files[from].clone());
                    out.push(Import { from, to, file, line: *line });
                }
            }
        }
        out
    }

    /// The module that an item is defined in, as far as `use` declarations tell.
    fn resolve(&self, path: &[String], hops: u32) -> Path {
        let mut module = Path::new();
        for (i, name) in path.iter().enumerate() {
            module.push(name.clone());
            if self.known.contains(&module) {
                continue;
            }
            module.pop();
            let stands_for = self.names.get(&module).and_then(|names| names.get(name));
            return match stands_for {
                Some(target) if hops > 0 => {
                    self.resolve(&[&target[..], &path[i + 1..]].concat(), hops - 1)
                }
                _ => module,
            };
        }
        module
    }

    /// The module whose file holds this one.
    fn in_file(&self, mut module: Path) -> Path {
        while !self.files.contains_key(&module) && !module.is_empty() {
            module.pop();
        }
        module
    }
}

/// The modules that a file stands in: `probe/lanes/mod.rs` is `probe`, `lanes`.
fn module_path(place: &FilePath) -> Path {
    let mut path: Path =
        place.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    path.pop_if(|last| last == "mod");
    if path == ["lib"] || path == ["main"] {
        path.pop();
    }
    path
}

/// Siblings that import each other, directly or through others.
pub struct Circle {
    /// The module they stand in.
    pub parent: Path,
    pub siblings: BTreeSet<String>,
    /// An import for each pair of siblings.
    pub imports: Vec<Import>,
}

/// The circles among siblings, anywhere in a crate.
pub fn circles(imports: &[Import]) -> Vec<Circle> {
    let mut by_parent: BTreeMap<&[String], BTreeMap<(&str, &str), &Import>> = BTreeMap::new();
    for import in imports {
        let Import { from, to, .. } = import;
        let common = from.iter().zip(to).take_while(|(a, b)| a == b).count();
        if let (Some(a), Some(b)) = (from.get(common), to.get(common)) {
            by_parent.entry(&from[..common]).or_default().entry((a, b)).or_insert(import);
        }
    }
    let mut out = Vec::new();
    for (parent, edges) in by_parent {
        let mut left: BTreeSet<&str> = edges.keys().map(|(a, _)| *a).collect();
        while let Some(first) = left.pop_first() {
            let reached = reach(first, edges.keys().copied());
            let back = reach(first, edges.keys().map(|(a, b)| (*b, *a)));
            let circle: BTreeSet<&str> = reached.intersection(&back).copied().collect();
            if circle.is_empty() {
                continue;
            }
            left.retain(|name| !circle.contains(name));
            let within =
                edges.iter().filter(|((a, b), _)| circle.contains(a) && circle.contains(b));
            out.push(Circle {
                parent: parent.to_vec(),
                imports: within.map(|(_, import)| (*import).clone()).collect(),
                siblings: circle.into_iter().map(str::to_owned).collect(),
            });
        }
    }
    out
}

/// What can be reached along edges; the start itself only if a way leads back to it.
fn reach<'a>(
    start: &'a str,
    edges: impl Iterator<Item = (&'a str, &'a str)> + Clone,
) -> BTreeSet<&'a str> {
    let (mut found, mut open) = (BTreeSet::new(), vec![start]);
    while let Some(at) = open.pop() {
        open.extend(edges.clone().filter(|(a, b)| *a == at && found.insert(*b)).map(|(_, b)| b));
    }
    found
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// The modules of files below `src`.
    pub fn modules(files: &[(&str, &str)]) -> Modules {
        let text = |(file, text): &(&str, &str)| {
            ((*file).to_owned(), module_path(FilePath::new(file)), (*text).to_owned())
        };
        Modules::of(files.iter().map(text).collect()).expect("Rust")
    }

    /// The circles, as `parent: a b`.
    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let circles = circles(&modules(files).imports());
        let text = |Circle { parent, siblings, .. }: Circle| {
            let siblings: Vec<String> = siblings.into_iter().collect();
            format!("{}: {}", parent.join("::"), siblings.join(" "))
        };
        circles.into_iter().map(text).collect()
    }

    #[test]
    fn a_planted_circle_is_found() {
        let direct = [("a.rs", "use crate::b::B;"), ("b.rs", "fn f() { super::a::A }")];
        assert_eq!(found(&direct), [": a b"]);
        let through = [
            ("f/mod.rs", "mod a; mod b; mod c; mod d;"),
            ("f/a.rs", "use super::b::B;"),
            ("f/b/mod.rs", ""),
            ("f/b/inner.rs", "use crate::f::c;"),
            ("f/c.rs", "use super::a; use super::d;"),
            ("f/d.rs", ""),
        ];
        assert_eq!(found(&through), ["f: a b c"]);
    }

    #[test]
    fn a_name_counts_as_one_of_the_module_that_has_it() {
        let root = ("lib.rs", "mod a; mod b; pub use b::B as C;");
        assert_eq!(
            found(&[root, ("a.rs", "use super::C;"), ("b.rs", "use crate::a::A;")]),
            [": a b"]
        );
        let around = ("lib.rs", "pub use c::c; pub use self::d as c;");
        assert_eq!(found(&[around, ("a.rs", "use crate::c;")]), [""; 0]);
    }

    #[test]
    fn parents_and_tests_make_no_circle() {
        let parent = [
            ("f/mod.rs", "mod a; mod b; pub use a::A; pub struct Own;"),
            ("f/a.rs", "use super::{Own, b::B};"),
            ("f/b.rs", "use super::Own;\n#[cfg(test)]\nmod tests { use super::super::a::A; }"),
        ];
        assert_eq!(found(&parent), [""; 0]);
        let tests = [
            ("a.rs", "#[cfg(test)]\nmod many;"),
            ("a/many.rs", "use crate::b::B;"),
            ("b.rs", "use crate::a::A;"),
        ];
        assert_eq!(found(&tests), [""; 0]);
    }
}
