//! `everbloom diff`: what two sets do not share. Of two lists both sides are played in this process, as two machines
//! would do it, and every byte that would cross the wire is counted; a side may be a saved sketch or filter instead.

mod saved;

use std::collections::HashMap;
use std::io::{BufRead as _, Read as _};
use std::path::Path;

use everbloom::exchange::rateless::{Found, Holder, MAGIC as SKETCH, Seeker, Set, Sketch};
use everbloom::exchange::{Limits, Party, run as exchange};
use everbloom::internals::file::MAGIC as FILTER;
use everbloom::{Error, Filter};
use everbloom_records::{Grammar, KeyType};
use everbloom_report::json::bytes;
use everbloom_report::number::bytes_text;
use serde_json::json;

use super::opened;
use crate::args::{Diff, Text};
use crate::input;
use crate::output::{integer_text, print_bytes, print_json};
use crate::talk::{say, tell};
use crate::{Outcome, Result, Stop, reading};

/// One of the two sets, as it is given.
enum Side {
    /// Keys, which are still to be read.
    List,
    Sketch(Box<Sketch>),
    Filter(Box<dyn Filter>),
}

/// What was found out, of A and of B.
#[derive(Default)]
struct Told {
    /// Keys that one side alone has, as they are printed.
    only: [Vec<Vec<u8>>; 2],
    /// The ids of further ones, whose keys nobody here has.
    ids: [Vec<u64>; 2],
    /// How many more of an id its side has, of multisets.
    times: HashMap<u64, u64>,
    /// Cells with differences that nobody can tell.
    residue: u64,
    keys: [u64; 2],
    /// Bytes that cross a wire, and what sending the smaller list would take, where that is known.
    sent: u64,
    all: Option<u64>,
}

impl Told {
    /// The same with A and B exchanged.
    fn swapped(mut self) -> Self {
        self.only.reverse();
        self.ids.reverse();
        self.keys.reverse();
        self
    }

    /// What follows a key or its id: nothing in a set, and in a multiset how many more there are.
    fn times(&self, id: u64) -> String {
        self.times.get(&id).map_or_else(String::new, |times| format!("\t{times}"))
    }

    fn count(&self) -> usize {
        self.only.iter().map(Vec::len).sum::<usize>() + self.ids.iter().map(Vec::len).sum::<usize>()
    }
}

pub fn run(args: &Diff) -> Result<Outcome> {
    if [&args.a, &args.b].iter().all(|path| path.as_os_str() == "-") {
        return Err(Stop::Error(
            "- and -: stdin can be read only once; give a file for one of them".into(),
        ));
    }
    let told = match (side(args, &args.a)?, side(args, &args.b)?) {
        (Side::List, Side::List) => lists(args)?,
        (Side::Sketch(a), Side::Sketch(b)) => saved::sketches(&a, &b)?,
        (Side::List, Side::Sketch(b)) => saved::list_and_sketch(&args.text, &args.a, &b)?,
        (Side::Sketch(a), Side::List) => saved::list_and_sketch(&args.text, &args.b, &a)?.swapped(),
        (Side::Filter(a), Side::Filter(b)) => saved::filters(&*a, &*b)?,
        (Side::Filter(a), Side::List) => saved::filter_and_list(&args.text, &*a, &args.b)?,
        (Side::List, Side::Filter(b)) => {
            saved::filter_and_list(&args.text, &*b, &args.a)?.swapped()
        }
        (Side::Filter(_), Side::Sketch(_)) | (Side::Sketch(_), Side::Filter(_)) => {
            return Err(saved::unlike());
        }
    };
    report(args, &told)
}

/// What stands at `path`, by its first bytes.
fn side(args: &Diff, path: &Path) -> Result<Side> {
    let named = |e: std::io::Error| Error::from(e).context(path.display());
    let stdin = path == Path::new("-");
    let mut start = Vec::new();
    if stdin {
        start.extend_from_slice(std::io::stdin().lock().fill_buf().map_err(named)?);
    } else if path.is_file() {
        let file = std::fs::File::open(path).map_err(named)?;
        file.take(8).read_to_end(&mut start).map_err(named)?;
    }
    if start.starts_with(&SKETCH) {
        let mut bytes = Vec::new();
        match stdin {
            true => std::io::stdin().read_to_end(&mut bytes).map(|_| ()),
            false => std::fs::read(path).map(|read| bytes = read),
        }
        .map_err(named)?;
        let sketch = Sketch::from_bytes(&bytes).map_err(|e| e.context(path.display()))?;
        return Ok(Side::Sketch(Box::new(sketch)));
    }
    match start.starts_with(&FILTER) && !stdin {
        true => Ok(Side::Filter(opened(path, &args.secret.key_file)?)),
        false => Ok(Side::List),
    }
}

fn lists(args: &Diff) -> Result<Told> {
    let grammar = input::grammar(&args.text)?;
    // Each list is read by threads that cut and hash, and by one that puts keys into its set: two of those are at work.
    let read = |path| input::set(path, grammar, Set::new());
    let (a, b) = std::thread::scope(|scope| {
        let a = scope.spawn(|| read(&args.a));
        let b = read(&args.b);
        (a.join().unwrap_or_else(|e| std::panic::resume_unwind(e)), b)
    });
    let (a, b) = (a?, b?);
    // The side with fewer bytes answers: at worst it sends all of them.
    let swapped = a.bytes() < b.bytes();
    let (large, small) = if swapped { (b, a) } else { (a, b) };
    let mut large = Party::new(Seeker::new(large), Limits::LOCAL);
    let mut small = Party::new(Holder::new(small), Limits::LOCAL);
    let sent = exchange(&mut large, &mut small)?.total();
    let Found { ours, theirs } = large.role.found().cloned().unwrap_or_default();
    let (large, small) = (large.role.set(), small.role.set());
    let only = [ours, theirs].map(|keys| typed(grammar.key, keys));
    let keys = [large, small].map(|set| set.len() as u64);
    let told = Told { only, keys, sent, all: Some(small.bytes()), ..Told::default() };
    Ok(if swapped { told.swapped() } else { told })
}

/// Keys as they were typed.
fn typed(key: KeyType, keys: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let typed = |bytes: Vec<u8>| match <[u8; 8]>::try_from(&*bytes) {
        Ok(integer) if key == KeyType::U64 => u64::from_le_bytes(integer).to_string().into_bytes(),
        _ => bytes,
    };
    keys.into_iter().map(typed).collect()
}

/// How the keys of a list are read, beside a side that says what type its own are of.
fn grammar_beside(key_type: &str, text: &Text) -> Result<Grammar> {
    let mut remembered = everbloom::Reading::default();
    key_type.clone_into(&mut remembered.key_type);
    let key_type = Some(reading::key_type(&remembered, text.key_type)?);
    input::grammar(&Text { key_type, ..text.clone() })
}

fn report(args: &Diff, told: &Told) -> Result<Outcome> {
    let Told { only, ids, keys, sent, all, .. } = told;
    let hex = |ids: &Vec<u64>| {
        ids.iter().map(|id| format!("{id:016x}{}", told.times(*id))).collect::<Vec<_>>()
    };
    if args.machine.json {
        let list = |keys: &[Vec<u8>]| keys.iter().map(|key| bytes(key)).collect::<Vec<_>>();
        print_json(&json!({
            "only_a": list(&only[0]), "only_b": list(&only[1]),
            "ids_a": hex(&ids[0]), "ids_b": hex(&ids[1]),
            "keys_a": keys[0], "keys_b": keys[1],
            "bytes_exchanged": sent, "bytes_of_everything": all,
        }))?;
    } else {
        let end = if args.text.rows.null { 0 } else { b'\n' };
        let mut text = Vec::new();
        for (mark, (keys, ids)) in ["<", ">"].into_iter().zip(only.iter().zip(ids)) {
            for key in keys {
                text.extend_from_slice(&[mark.as_bytes(), b" ", key, &[end]].concat());
            }
            for id in hex(ids) {
                text.extend_from_slice(&[mark.as_bytes(), b"? ", id.as_bytes(), &[end]].concat());
            }
        }
        print_bytes(&text)?;
    }
    let all = all.map_or_else(String::new, |all| {
        format!("; sending everything would take {}", bytes_text(all))
    });
    say!(
        "{} and {} keys, {} differ; {} exchanged{all}",
        integer_text(keys[0]),
        integer_text(keys[1]),
        integer_text(told.count() as u64),
        bytes_text(*sent),
    );
    if told.residue > 0 {
        tell!(
            "everbloom: {} cells are left in which further keys differ in how often they occur: build both with a larger \
             -n, or --set form=sums",
            integer_text(told.residue),
        );
    }
    if ids.iter().any(|ids| !ids.is_empty()) {
        say!("`<?` and `>?` are ids of keys that are neither in a given list nor in the cells");
    }
    Ok(if told.count() == 0 && told.residue == 0 { Outcome::Some } else { Outcome::None })
}
