//! Many faults in one build. Compiling the library takes far longer than the tests that notice a fault, so the body of
//! a function is written once for every fault in it, and a variable of the environment chooses the body that runs
//! (Untch, Offutt and Harrold, "Mutation analysis using mutant schemata", 1993).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use serde_json::Value;

use crate::tree::{Tree, package};

/// Names the fault that is switched on; none, and the code is as it was.
pub const SWITCH: &str = "EVERBLOOM_FAULT";

/// What the root of a crate gains in the copy.
const FAULTY: &str = r#"
/// Whether this fault is switched on.
#[doc(hidden)]
pub fn faulty(number: usize) -> bool {
    static ON: std::sync::LazyLock<Option<usize>> =
        std::sync::LazyLock::new(|| std::env::var("EVERBLOOM_FAULT").ok()?.parse().ok());
    *ON == Some(number)
}

/// One of two iterators, where a function returns whatever its body makes: with a fault and without.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub enum Either<A, B> {
    Faulty(A),
    Sound(B),
}

impl<A: Iterator, B: Iterator<Item = A::Item>> Iterator for Either<A, B> {
    type Item = A::Item;

    #[inline]
    fn next(&mut self) -> Option<A::Item> {
        match self {
            Self::Faulty(a) => a.next(),
            Self::Sound(b) => b.next(),
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::Faulty(a) => a.size_hint(),
            Self::Sound(b) => b.size_hint(),
        }
    }
}

impl<A: ExactSizeIterator, B: ExactSizeIterator<Item = A::Item>> ExactSizeIterator for Either<A, B> {}
"#;

/// Text of a file and what stands there instead.
#[derive(Clone)]
pub struct Edit {
    pub file: String,
    pub at: Range<usize>,
    pub to: String,
}

/// Writes every edit into the copy, behind a switch of its number, and tells which are there: an edit outside
/// functions, in a constant one, or that does not compile is not. Bodies that the compiler refuses are tried again as
/// iterators, since two bodies of `-> impl Iterator` have two types.
pub fn weave(tree: &Tree, edits: &[Edit]) -> Result<BTreeSet<usize>, String> {
    let roots: BTreeSet<String> = edits.iter().map(|edit| root_of(tree, &edit.file)).collect();
    let mut files: BTreeMap<&str, String> = BTreeMap::new();
    for file in edits.iter().map(|edit| &edit.file).chain(&roots) {
        files.insert(file, tree.read(file)?);
    }
    let mut woven: BTreeSet<usize> = (0..edits.len()).collect();
    let mut iterators = BTreeSet::new();
    loop {
        let mut places = Vec::new();
        for (file, text) in &files {
            let of_file = woven.iter().copied().filter(|i| edits[*i].file == *file);
            let (mut text, branches) = with_switches(file, text, edits, of_file, &iterators)?;
            if roots.contains(*file) {
                text += FAULTY;
            }
            tree.write(file, &text)?;
            places.extend(branches);
        }
        woven = places.iter().map(|place| place.edit).collect();
        let refused = refused(tree, &places)?;
        if refused.is_empty() {
            return Ok(woven);
        }
        let (again, lost): (Vec<usize>, Vec<usize>) =
            refused.into_iter().partition(|edit| !iterators.contains(edit));
        iterators.extend(again);
        woven.retain(|edit| !lost.contains(edit));
    }
}

/// The file that a file's crate begins with.
fn root_of(tree: &Tree, file: &str) -> String {
    let source = file.split_inclusive("/src/").next().unwrap_or_default();
    let library = format!("{source}lib.rs");
    if tree.root().join(&library).is_file() { library } else { format!("{source}main.rs") }
}

/// Where the body with an edit went: a part of a function's new body.
struct Branch<'a> {
    edit: usize,
    file: &'a str,
    at: Range<usize>,
    body: Range<usize>,
}

/// The file with its functions' bodies behind switches.
fn with_switches<'a>(
    file: &'a str,
    text: &str,
    edits: &[Edit],
    numbers: impl Iterator<Item = usize>,
    iterators: &BTreeSet<usize>,
) -> Result<(String, Vec<Branch<'a>>), String> {
    let mut bodies: BTreeMap<usize, (Range<usize>, Vec<usize>)> = BTreeMap::new();
    let all = bodies_of(text).map_err(|e| format!("{file}: {e}"))?;
    for number in numbers {
        let at = &edits[number].at;
        if let Some(body) = all.iter().find(|body| body.start < at.start && at.end < body.end) {
            bodies.entry(body.start).or_insert((body.clone(), Vec::new())).1.push(number);
        }
    }
    let (mut new, mut branches, mut end) = (String::new(), Vec::new(), 0);
    for (body, numbers) in bodies.into_values() {
        new += &text[end..body.start];
        end = body.end;
        let start = new.len();
        new.push('{');
        let first = branches.len();
        let either = numbers.iter().any(|number| iterators.contains(number));
        for number in &numbers {
            let Edit { at, to, .. } = &edits[*number];
            let from = new.len();
            let (before, after) = (&text[body.start..at.start], &text[at.end..body.end]);
            let _ = if either {
                let arm = format!("{{ crate::Either::Faulty({before}{to}{after}) }}");
                write!(new, "if crate::faulty({number}) {arm} else {{ crate::Either::Sound(")
            } else {
                write!(new, "if crate::faulty({number}) {before}{to}{after} else ")
            };
            branches.push(Branch { edit: *number, file, at: from..new.len(), body: 0..0 });
        }
        new += &text[body.clone()];
        if either {
            new += &") }".repeat(numbers.len());
        }
        new.push('}');
        branches[first..].iter_mut().for_each(|branch| branch.body = start..new.len());
    }
    new += &text[end..];
    Ok((new, branches))
}

/// The bodies of a file's functions, braces included; of nested ones, the outermost.
fn bodies_of(text: &str) -> Result<Vec<Range<usize>>, String> {
    let mut bodies = Vec::new();
    let stream = text.parse().map_err(|e| format!("not Rust: {e}"))?;
    collect(stream, &mut bodies);
    Ok(bodies)
}

fn collect(stream: TokenStream, bodies: &mut Vec<Range<usize>>) {
    // A function's name tells it from a type such as `fn(u64)`.
    let (mut keyword, mut named) = (false, false);
    for tree in stream {
        match tree {
            TokenTree::Ident(word) if word == "fn" => keyword = true,
            TokenTree::Ident(_) if keyword => (keyword, named) = (false, true),
            // The name may be a macro's parameter.
            TokenTree::Punct(mark) if mark.as_char() == '$' => {}
            TokenTree::Punct(mark) if mark.as_char() == ';' => named = false,
            TokenTree::Group(group) if named && group.delimiter() == Delimiter::Brace => {
                bodies.push(group.span().byte_range());
                named = false;
            }
            TokenTree::Group(group) => {
                keyword = false;
                if !named {
                    collect(group.stream(), bodies);
                }
            }
            _ => keyword = false,
        }
    }
}

/// The edits that the compiler does not take.
fn refused(tree: &Tree, branches: &[Branch]) -> Result<BTreeSet<usize>, String> {
    let crates = branches.iter().map(|branch| package(tree.root(), branch.file));
    let crates = crates.collect::<Result<BTreeSet<String>, _>>()?;
    let mut args = vec!["check", "--all-features", "--keep-going", "--message-format=json"];
    args.extend(crates.iter().flat_map(|name| ["-p", name.as_str()]));
    let output = tree.cargo(&args)?;
    if output.status.success() {
        return Ok(BTreeSet::new());
    }
    let mut refused = BTreeSet::new();
    let mut messages = String::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(Value::Object(line)) = serde_json::from_str(line) else { continue };
        let Some(message) = line.get("message").filter(|m| m["level"] == "error") else { continue };
        messages += message["rendered"].as_str().unwrap_or_default();
        for span in message["spans"].as_array().into_iter().flatten() {
            blame(span, branches, &mut refused);
        }
    }
    if refused.is_empty() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the copy does not compile: {messages}{errors}"));
    }
    Ok(refused)
}

/// The edit whose branch an error points into, or all edits of the body if it is in none; what a macro expanded to is
/// followed to where it was written.
fn blame(span: &Value, branches: &[Branch], refused: &mut BTreeSet<usize>) {
    let position = |name: &str| span[name].as_u64().unwrap_or(0) as usize;
    let (start, end) = (position("byte_start"), position("byte_end"));
    let within = |range: &Range<usize>| range.start <= start && end <= range.end;
    let here = branches.iter().filter(|branch| span["file_name"] == branch.file);
    let body: Vec<_> = here.filter(|branch| within(&branch.body)).collect();
    let exact = body.iter().filter(|branch| within(&branch.at)).map(|branch| branch.edit);
    let before = refused.len();
    refused.extend(exact);
    if refused.len() == before {
        refused.extend(body.iter().map(|branch| branch.edit));
    }
    if !span["expansion"].is_null() {
        blame(&span["expansion"]["span"], branches, refused);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_those_of_named_functions() {
        let text = "const A: fn(u8) = f;\nfn é(x: [u8; 2]) -> u8 { g({ 1 }) }\n\
                    trait T { fn h(); fn i() { fn j() {} } }\nmacro_rules! m { () => { fn $k() { 2 } } }";
        let bodies = bodies_of(text).expect("Rust");
        let found: Vec<_> = bodies.iter().map(|body| &text[body.clone()]).collect();
        assert_eq!(found, ["{ g({ 1 }) }", "{ fn j() {} }", "{ 2 }"]);
    }

    #[test]
    fn every_edit_has_a_branch() {
        let text = "const A: u8 = 1;\nfn f() -> u8 { 1 + 2 }\n";
        let edit = |at: Range<usize>, to: &str| Edit { file: "lab.rs".into(), at, to: to.into() };
        let plus = text.find('+').expect("a sum");
        let edits = [edit(14..15, "2"), edit(plus..plus + 1, "-"), edit(plus..plus + 1, "*")];
        let weave = |iterators: &[usize]| {
            with_switches("lab.rs", text, &edits, 0..3, &iterators.iter().copied().collect())
        };
        let (new, branches) = weave(&[]).expect("Rust");
        let switched = "fn f() -> u8 {if crate::faulty(1) { 1 - 2 } else \
                        if crate::faulty(2) { 1 * 2 } else { 1 + 2 }}\n";
        assert_eq!(new, format!("const A: u8 = 1;\n{switched}"));
        assert_eq!(branches.iter().map(|branch| branch.edit).collect::<Vec<_>>(), [1, 2]);
        assert!(branches.iter().all(|branch| new[branch.body.clone()].ends_with("}}")));
        let (new, _) = weave(&[2]).expect("Rust");
        let either = "if crate::faulty(2) { crate::Either::Faulty({ 1 * 2 }) } else \
                      { crate::Either::Sound({ 1 + 2 }) }) }}\n";
        assert!(new.ends_with(either), "{new}");
    }
}
