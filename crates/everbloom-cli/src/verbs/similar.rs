//! `everbloom similar`: copied passages among files.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use everbloom_records::{Input, watched};
use everbloom_report::json::bytes;
use everbloom_report::number::bytes_text;
use everbloom_tools::chunks::Cut;
use everbloom_tools::similar::{self, BITS};
use serde_json::json;
use std::io::Write as _;

use crate::args::Similar;
use crate::input;
use crate::output::{Output, integer_text};
use crate::talk::say;
use crate::{Outcome, Result, Stop, progress};

pub fn run(args: &Similar) -> Result<Outcome> {
    let cut = args.block.map_or(Cut::Content, Cut::Fixed);
    let files = input::files(&args.paths)?;
    similar::check_number(files.len())?;
    // Every file is read twice before pairs are compared: one bar for all of it.
    let length: u64 = files.iter().filter_map(|path| path.metadata().ok()).map(|m| m.len()).sum();
    let bar = Arc::new(Mutex::new(progress::watch(Some(2 * length))));
    let open = |path: &Path| -> everbloom::Result<Input<'static>> {
        let file =
            File::open(path).map_err(|e| everbloom::Error::from(e).context(path.display()))?;
        let bar = Arc::clone(&bar);
        let passed = move |bytes| {
            if let Ok(mut bar) = bar.lock() {
                bar(bytes);
            }
        };
        Ok(watched(Box::new(file), Box::new(passed)))
    };
    // All rows have as many bits as the file with the most chunks needs.
    let mut most = 1;
    for path in &files {
        let mut chunks = 0;
        cut.each(open(path)?, |_| {
            chunks += 1;
            Ok(())
        })?;
        most = most.max(chunks);
    }
    let room = args.memory / files.len().max(1) as u64;
    let m = (BITS * most).max(1024).min(room.max(64));
    let mut all = similar::Similar::new(m, cut)?;
    let name = |path: &Path| path.as_os_str().as_encoded_bytes().to_vec();
    for path in &files {
        all.add(&name(path), open(path)?)?;
    }
    if !(0.0..=1.0).contains(&args.at_least) {
        return Err(Stop::Error("--at-least: give a share between 0 and 1".to_owned()));
    }
    let named: HashMap<Vec<u8>, &PathBuf> = files.iter().map(|path| (name(path), path)).collect();
    let pairs = all.pairs(args.at_least, |name| open(named[name]))?;
    drop(bar);
    let mut out = Output::new();
    let mut work = || -> everbloom::Result<()> {
        for pair in &pairs {
            if args.machine.json {
                let [a, b] = [&pair.a, &pair.b].map(|name| bytes(name));
                out.json(&json!({ "a": a, "b": b, "chunks": pair.shared, "share": pair.share }))?;
                continue;
            }
            out.write(|out| {
                out.write_all(&pair.a)?;
                out.write_all(b"\t")?;
                out.write_all(&pair.b)?;
                writeln!(out, "\t{}\t{:.2}", pair.shared, pair.share)
            })?;
        }
        Ok(())
    };
    let done = work();
    let memory = files.len() as u64 * m / 8;
    let summary = args.machine.json.then(|| {
        json!({ "files": files.len(), "pairs": pairs.len(), "bytes": memory, "too_full": all.too_full() })
    });
    out.end(done, summary)?;
    say!(
        "{} files, {} pairs; {}",
        integer_text(files.len() as u64),
        integer_text(pairs.len() as u64),
        bytes_text(memory)
    );
    if all.too_full() {
        say!(
            "everbloom: some rows are nearly full, so more pairs were compared chunk by chunk: more --memory is faster"
        );
    }
    Ok(if pairs.is_empty() { Outcome::None } else { Outcome::Some })
}
