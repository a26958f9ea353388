//! `everbloom known`: which files, and which parts of files, are known.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Write as _};
use std::path::{Path, PathBuf};

use everbloom_report::json::bytes;
use everbloom_report::number::bytes_text;
use everbloom_tools::chunks::Cut;
use everbloom_tools::known::{self, Digests, Parts, Sum, each_sum, sha256};
use serde_json::{Value, json};

use crate::args::Known;
use crate::input;
use crate::output::{Output, integer_text};
use crate::talk::say;
use crate::target::{FILTER, Target};
use crate::{Outcome, Result, Stop};

/// Bytes of a content-defined chunk, on average: at least as many as make the filter large enough.
const MEAN: u64 = 256;
/// Bits of a block in the paper's form.
const MD5_BITS: u64 = 16;

/// What was found of a file.
struct Found {
    path: PathBuf,
    parts: Parts,
    /// The name beside its digest, where a list has it.
    listed: Option<Vec<u8>>,
}

fn open(path: &Path) -> everbloom::Result<File> {
    File::open(path).map_err(|e| everbloom::Error::from(e).context(path.display()))
}

pub fn run(args: &Known) -> Result<Outcome> {
    let nothing = args.reference.is_empty() && args.list.is_empty() && args.filter.is_none();
    if nothing || args.targets.is_empty() && args.output.is_none() {
        let message =
            "give what is known with --reference, --list or --filter, and files to examine";
        return Err(Stop::Error(message.to_owned()));
    }
    let (references, targets) = (input::files(&args.reference)?, input::files(&args.targets)?);
    let how = (&args.replacing, &args.machine);
    let inputs = || references.iter().chain(&targets).chain(&args.list).chain(&args.filter);
    let output = args.output.as_deref().map(|path| Target::file(path, FILTER, how, inputs()));
    let parts = filter(args, &references, output.transpose()?)?;
    let mut found = Vec::new();
    for path in targets {
        let seen =
            parts.as_ref().map_or(Ok(Parts::default()), |known| known.parts(open(&path)?))?;
        found.push(Found { path, parts: seen, listed: None });
    }
    if !args.list.is_empty() {
        listed(args, &mut found)?;
    }
    print(args, &found)
}

/// The filter of known parts, built or opened; none where only whole files are known.
fn filter(args: &Known, files: &[PathBuf], output: Option<Target>) -> Result<Option<known::Known>> {
    let cut = args.block.map_or(Cut::Content, Cut::Fixed);
    if let Some(path) = &args.filter {
        return Ok(Some(known::Known::open(path, cut)?));
    }
    if args.reference.is_empty() {
        return Ok(None);
    }
    let mut chunks = 0;
    for path in files {
        let length = open(path)?.metadata().map_err(everbloom::Error::from)?.len();
        let mean = args.block.or(args.md5).map_or(MEAN, u64::from);
        chunks += length.div_ceil(mean.max(1)) + 1;
    }
    let mut known = match args.md5 {
        Some(block) => known::Known::md5((chunks * MD5_BITS).min(1 << 32), block)?,
        None => known::Known::new(chunks.max(1), args.fpr, cut)?,
    };
    for path in files {
        known.add(open(path)?)?;
    }
    if let Some(output) = output {
        output.put(|path| known.save(path))?;
    }
    Ok(Some(known))
}

/// Finds the files that a list has as a whole: by a filter first, then by a second look at the lists.
fn listed(args: &Known, found: &mut [Found]) -> Result<()> {
    let mut wanted: HashMap<Sum, Vec<usize>> = HashMap::new();
    let mut lists = Vec::new();
    for path in &args.list {
        let lines = BufReader::new(input::text(path)?);
        let bytes = std::fs::metadata(path).map_or(1 << 20, |metadata| metadata.len());
        // A line has a digest of 64 digits, two blanks and a name; a packed one less.
        let digests = Digests::read(lines, bytes / 16 + 1);
        lists.push(digests.map_err(|e| e.context(path.display()))?);
    }
    for (number, file) in found.iter().enumerate() {
        let sum = sha256(open(&file.path)?)?;
        if lists.iter().any(|list| list.may_hold(&sum)) {
            wanted.entry(sum).or_default().push(number);
        }
    }
    for path in args.list.iter().filter(|_| !wanted.is_empty()) {
        each_sum(BufReader::new(input::text(path)?), |sum, name| {
            for &number in wanted.get(sum).into_iter().flatten() {
                found[number].listed.get_or_insert_with(|| name.to_vec());
            }
        })?;
    }
    Ok(())
}

fn print(args: &Known, found: &[Found]) -> Result<Outcome> {
    let mut out = Output::new();
    let mut known = 0u64;
    let mut work = || -> everbloom::Result<()> {
        for Found { path, parts, listed } in found {
            let whole = listed.is_some();
            if !whole && parts.known_bytes == 0 {
                continue;
            }
            known += 1;
            let share = if whole { 1.0 } else { parts.known_bytes as f64 / parts.bytes as f64 };
            let name = path.as_os_str().as_encoded_bytes();
            if args.machine.json {
                let listed = listed.as_deref().map_or(Value::Null, bytes);
                out.json(&json!({
                    "file": bytes(name), "share": share, "known_bytes": parts.known_bytes,
                    "bytes": parts.bytes, "listed": listed,
                }))?;
                continue;
            }
            out.write(|out| {
                write!(out, "{share:.2}\t")?;
                out.write_all(name)?;
                if let Some(listed) = listed {
                    out.write_all(b"\t")?;
                    out.write_all(listed)?;
                }
                out.write_all(b"\n")
            })?;
        }
        Ok(())
    };
    let done = work();
    let sum = |f: fn(&Parts) -> u64| found.iter().map(|file| f(&file.parts)).sum::<u64>();
    let (all, of) = (sum(|p| p.bytes), sum(|p| p.known_bytes));
    let summary = args
        .machine
        .json
        .then(|| json!({ "files": found.len(), "known": known, "known_bytes": of, "bytes": all }));
    out.end(done, summary)?;
    say!(
        "{} of {} files known, wholly or in part; {} of {} in known parts",
        integer_text(known),
        integer_text(found.len() as u64),
        bytes_text(of),
        bytes_text(all)
    );
    let built = args.targets.is_empty() && args.output.is_some();
    Ok(if known > 0 || built { Outcome::Some } else { Outcome::None })
}
