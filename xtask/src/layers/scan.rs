//! What one file imports: its `use` declarations and its inline paths to modules of its own crate.
//!
//! Tokens are read, so that text in comments and strings is no path, and one in a macro's body is.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Modules and items from the crate's root to an item: `["cells", "bits", "Bits"]`.
pub type Path = Vec<String>;

/// What a file says about modules.
#[derive(Default)]
pub struct Scan {
    /// The modules written in braces within the file.
    pub inline: BTreeSet<Path>,
    /// The modules that only tests have, in files of their own.
    pub tests: BTreeSet<Path>,
    /// The names that a module's `use` declarations bring into it, and what they stand for.
    pub names: BTreeMap<Path, BTreeMap<String, Path>>,
    /// What is imported, and in which line.
    pub imports: Vec<(Path, usize)>,
}

impl Scan {
    /// Scans the file of a module.
    pub fn of(module: &[String], text: &str) -> Result<Self, String> {
        let tokens: TokenStream = text.parse().map_err(|e| format!("not Rust: {e}"))?;
        let mut scan = Self::default();
        scan.walk(module, tokens, true);
        Ok(scan)
    }

    /// Walks over tokens of a module. `items` says whether they are the module's own items; names that are imported
    /// elsewhere, such as in a function, are not seen by other modules.
    fn walk(&mut self, module: &[String], stream: TokenStream, items: bool) {
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        let mut rest = &tokens[..];
        while let [first, behind @ ..] = rest {
            rest = match (first, behind) {
                (mark, [TokenTree::Group(attribute), ..]) if is(mark, '#') => {
                    if of_tests(attribute.stream()) {
                        self.skip_item(module, &behind[1..])
                    } else {
                        &behind[1..]
                    }
                }
                // `pub(in crate::module)` is no import.
                (word, [TokenTree::Group(scope), ..])
                    if says(word, "pub") && scope.delimiter() == Delimiter::Parenthesis =>
                {
                    &behind[1..]
                }
                (word, [TokenTree::Ident(name), TokenTree::Group(body), ..])
                    if says(word, "mod") && body.delimiter() == Delimiter::Brace =>
                {
                    let inner = [module, &[name.to_string()]].concat();
                    self.walk(&inner, body.stream(), true);
                    self.inline.insert(inner);
                    &behind[2..]
                }
                // `use<'a>` in a type declares nothing.
                (word, [next, ..]) if says(word, "use") && !is(next, '<') => {
                    let end = behind.iter().position(|token| is(token, ';'));
                    let (tree, behind) = behind.split_at(end.unwrap_or(behind.len()));
                    for leaf in leaves(tree, &[]) {
                        self.declare(module, leaf, items);
                    }
                    behind
                }
                (word, behind) if begins(word, behind) => {
                    let (path, line) = inline_path(rest);
                    let length = 3 * path.len() - 2;
                    self.imports.extend(absolute(module, path).map(|path| (path, line)));
                    &rest[length..]
                }
                (TokenTree::Group(group), _) => {
                    self.walk(module, group.stream(), false);
                    behind
                }
                _ => behind,
            };
        }
    }

    /// What stands behind the item, which only tests have.
    fn skip_item<'a>(&mut self, module: &[String], tokens: &'a [TokenTree]) -> &'a [TokenTree] {
        let ends = |token: &TokenTree| match token {
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            token => is(token, ';'),
        };
        let end = tokens.iter().position(ends).map_or(tokens.len(), |at| at + 1);
        let (item, behind) = tokens.split_at(end);
        if let [.., word, TokenTree::Ident(name), mark] = item
            && says(word, "mod")
            && is(mark, ';')
        {
            self.tests.insert([module, &[name.to_string()]].concat());
        }
        behind
    }

    /// Notes a leaf of a `use` declaration.
    fn declare(&mut self, module: &[String], Leaf { path, name, line }: Leaf, items: bool) {
        // Without a keyword in front, a path begins at the module itself, unless it leads into another crate.
        let known = path.first().is_some_and(|first| KEYWORDS.contains(&&first[..]));
        let path = if known { absolute(module, path) } else { Some([module, &path].concat()) };
        let Some(path) = path else { return };
        if items && name != "*" && name != "_" {
            self.names.entry(module.to_vec()).or_default().insert(name, path.clone());
        }
        self.imports.push((path, line));
    }
}

/// What a path into the own crate begins with.
const KEYWORDS: [&str; 3] = ["crate", "super", "self"];

fn is(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

fn says(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == word)
}

/// Whether an attribute keeps its item for tests.
fn of_tests(attribute: TokenStream) -> bool {
    let text = attribute.to_string();
    text.starts_with("cfg") && !text.contains("not") && {
        let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.any(|word| word == "test")
    }
}

/// Whether a path into the own crate begins here.
fn begins(word: &TokenTree, behind: &[TokenTree]) -> bool {
    KEYWORDS.iter().any(|keyword| says(word, keyword))
        && matches!(behind, [a, b, TokenTree::Ident(_), ..] if is(a, ':') && is(b, ':'))
}

/// The path at the head of these tokens, and its line.
fn inline_path(tokens: &[TokenTree]) -> (Path, usize) {
    let mut path = vec![tokens[0].to_string()];
    let mut rest = &tokens[1..];
    while let [a, b, TokenTree::Ident(name), behind @ ..] = rest
        && is(a, ':')
        && is(b, ':')
    {
        path.push(name.to_string());
        rest = behind;
    }
    (path, tokens[0].span().start().line)
}

/// A path from the crate's root; nothing if it leads out of the crate.
fn absolute(module: &[String], path: Path) -> Option<Path> {
    let mut base = module.to_vec();
    let mut names = path.into_iter().peekable();
    while let Some(word) = names.next_if(|name| KEYWORDS.contains(&&name[..])) {
        match &word[..] {
            "crate" => base.clear(),
            "super" => _ = base.pop()?,
            _ => {}
        }
    }
    base.extend(names);
    Some(base)
}

/// What one leaf of a `use` declaration imports, and under which name; `*` for everything.
struct Leaf {
    path: Path,
    name: String,
    line: usize,
}

/// The leaves of a tree of a `use` declaration, behind what stands in front of it.
fn leaves(tokens: &[TokenTree], front: &[String]) -> Vec<Leaf> {
    let mut path = front.to_vec();
    let mut renamed = None;
    let mut rest = tokens;
    while let [token, behind @ ..] = rest {
        rest = behind;
        match token {
            TokenTree::Group(list) => {
                let list: Vec<TokenTree> = list.stream().into_iter().collect();
                let parts = list.split(|token| is(token, ','));
                return parts.flat_map(|part| leaves(part, &path)).collect();
            }
            TokenTree::Ident(word) if word == "as" => renamed = behind.first(),
            TokenTree::Ident(_) if renamed.is_some() => {}
            // `{self}` behind a module is the module.
            TokenTree::Ident(word) if word == "self" && !path.is_empty() => {}
            TokenTree::Ident(word) => path.push(word.to_string()),
            _ => {}
        }
    }
    let Some(last) = tokens.last() else { return Vec::new() };
    let name = match renamed {
        Some(name) => name.to_string(),
        None if is(last, '*') => "*".to_owned(),
        None => path.last().cloned().unwrap_or_default(),
    };
    vec![Leaf { path, name, line: last.span().start().line }]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The imports of a file `a/b.rs`, and their lines.
    fn imports(text: &str) -> Vec<(String, usize)> {
        let scan = Scan::of(&["a".to_owned(), "b".to_owned()], text).expect("Rust");
        scan.imports.into_iter().map(|(path, line)| (path.join("::"), line)).collect()
    }

    fn is_import(text: &str, path: &str) {
        assert!(
            imports(text).iter().any(|(found, _)| found == path),
            "{text}: {:?}",
            imports(text)
        );
    }

    #[test]
    fn paths_are_found_wherever_they_stand() {
        is_import("use crate::c::D;", "c::D");
        is_import("use super::c::D;", "a::c::D");
        is_import("use super::super::c::D;", "c::D");
        is_import("use self::c::D;", "a::b::c::D");
        is_import("use crate::{c::{self, D as E}, f::*};", "c");
        is_import("use crate::{c::{self, D as E}, f::*};", "c::D");
        is_import("use crate::{c::{self, D as E}, f::*};", "f");
        is_import("fn f() { crate::c::d() }", "c::d");
        is_import("macro_rules! m { () => { $crate::c::X } }", "c::X");
        is_import("mod inner { use super::super::c; }", "a::c");
        is_import("fn f<'a>() -> impl Sized + use<'a> { g(super::c::D) }", "a::c::D");
        is_import("fn f(x: impl for<'a> Fn(&'a super::c::D)) {}", "a::c::D");
        assert_eq!(imports("\n\nfn f() { super::d::e::f() }"), [("a::d::e::f".to_owned(), 3)]);
    }

    #[test]
    fn comments_strings_and_tests_are_none() {
        assert_eq!(imports("//! [`X`](crate::c::X)\n/// crate::c\nfn f() { \"crate::c::X\" }"), []);
        assert_eq!(imports("#[cfg(test)]\nmod tests { use crate::c::X; }"), []);
        assert_eq!(imports("#[cfg(all(test, unix))]\nuse crate::c::X;"), []);
        assert_eq!(imports("pub(in crate::c) fn f() { self.g(crate) }"), []);
        is_import("#[cfg(test)]\nmod tests;\n#[cfg(not(test))]\nuse crate::c::X;", "c::X");
        let scan = Scan::of(&[], "#[cfg(test)]\n#[rustfmt::skip]\nmod many;\n").expect("Rust");
        assert_eq!(scan.tests, BTreeSet::from([vec!["many".to_owned()]]));
    }

    #[test]
    fn names_are_those_of_modules_alone() {
        let text = "pub use c::D as E;\nfn f() { use c::F; }\nmod inner { use crate::c::G; }";
        let scan = Scan::of(&[], text).expect("Rust");
        let names = |module: &[String]| scan.names[module].keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&[]), ["E"]);
        assert_eq!(names(&["inner".to_owned()]), ["G"]);
    }
}
