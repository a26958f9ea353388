//! `everbloom attribute`: who sent an excerpt.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;

use everbloom::Kind;
use everbloom_report::json::bytes;
use everbloom_report::number::bytes_text;
use everbloom_tools::attribute::{Attribution, Collector};
use everbloom_tools::capture;
use serde_json::json;

use crate::args::{AttributeBuild, AttributeFind, AttributeVerb};
use crate::input::{self, Passes};
use crate::output::{Output, integer_text, print_json};
use crate::talk::{say, tell};
use crate::{Outcome, Result, Stop};

pub fn run(verb: &AttributeVerb) -> Result<Outcome> {
    match verb {
        AttributeVerb::Build(args) => build(args),
        AttributeVerb::Find(args) => find(args),
    }
}

fn named(paths: &[PathBuf]) -> Vec<PathBuf> {
    if paths.is_empty() { vec![PathBuf::from("-")] } else { paths.to_vec() }
}

/// Blocks that a filter takes unless told otherwise.
const ITEMS: u64 = 1_000_000;

/// Calls `f` with the time, the sender and the bytes of every payload.
fn each(
    args: &AttributeBuild,
    files: &[PathBuf],
    mut f: impl FnMut(u64, &[u8], &[u8]) -> everbloom::Result<()>,
) -> Result<()> {
    let mut number = 0;
    for path in files {
        if args.pcap {
            let packets = capture::each_packet(input::bytes(path)?, |packet| match packet.flow {
                Some(flow) if !packet.payload.is_empty() => {
                    f(packet.seconds, flow.to_string().as_bytes(), packet.payload)
                }
                _ => Ok(()),
            });
            packets.map_err(|e| e.context(path.display()))?;
            continue;
        }
        let whole = args.text.field.is_none();
        let name = path.as_os_str().as_encoded_bytes();
        input::lines(path, input::grammar(&args.text)?, Passes::Once)?.each(|rows, records| {
            rows.iter().zip(records).try_for_each(|(row, record)| {
                number += 1;
                f(number, if whole { name } else { record.key }, row)
            })
        })?;
    }
    Ok(())
}

fn build(args: &AttributeBuild) -> Result<Outcome> {
    let files = named(&args.files);
    let mut store = Collector::new(args.block, args.items.unwrap_or(ITEMS), args.fpr)?;
    store = args.window.into_iter().fold(store, Collector::every);
    store = args.keep.into_iter().fold(store, Collector::keeping);
    let (mut payloads, mut read, mut short) = (0u64, 0u64, 0u64);
    each(args, &files, |time, sender, payload| {
        payloads += 1;
        read += payload.len() as u64;
        short += u64::from((payload.len() as u64) < args.block);
        store.payload(time, sender, payload)
    })?;
    let store = store.finish()?;
    store.save(&args.output)?;
    if args.machine.json {
        print_json(&json!({
            "folder": args.output.display().to_string(), "payloads": payloads, "short": short,
            "payload_bytes": read, "bytes": store.bytes(),
        }))?;
    }
    say!(
        "{} payloads of {} in {}",
        integer_text(payloads),
        bytes_text(read),
        bytes_text(store.bytes())
    );
    if short > 0 {
        say!(
            "everbloom: {} payloads are shorter than a block and were skipped",
            integer_text(short)
        );
    }
    Ok(if payloads > 0 { Outcome::Some } else { Outcome::None })
}

fn find(args: &AttributeFind) -> Result<Outcome> {
    let store = Attribution::open(&args.folder)?;
    let mut excerpts: Vec<(String, Vec<u8>)> = Vec::new();
    match &args.text {
        Some(text) => excerpts.push((text.clone(), text.clone().into_bytes())),
        None => {
            for path in named(&args.excerpts) {
                let mut content = Vec::new();
                let mut input = input::bytes(&path)?;
                input.read_to_end(&mut content).map_err(everbloom::Error::from)?;
                excerpts.push((path.display().to_string(), content));
            }
        }
    }
    if !store.checks_ends() {
        say!(
            "everbloom: warning: filters of an older version do not check all bytes of an excerpt: build them again"
        );
    }
    let mut out = Output::new();
    let (mut candidates, mut not_judged) = (0u64, 0u64);
    let mut work = || -> everbloom::Result<()> {
        for (name, excerpt) in &excerpts {
            let found = match store.find(excerpt) {
                Err(e) if e.kind() == Kind::BadRecord => {
                    // The others are judged all the same.
                    not_judged += 1;
                    tell!("everbloom: {}", e.context(name));
                    continue;
                }
                found => found.map_err(|e| e.context(name))?,
            };
            for candidate in found {
                candidates += 1;
                let (from, to) = candidate.seconds;
                if args.machine.json {
                    out.json(&json!({
                        "excerpt": name, "sender": bytes(&candidate.sender), "from": from, "to": to,
                        "offsets": candidate.offsets,
                    }))?;
                    continue;
                }
                out.write(|out| {
                    out.write_all(&candidate.sender)?;
                    let first = candidate.offsets.first().copied().unwrap_or(0);
                    writeln!(out, "\t{from}\t{to}\t{first}")
                })?;
            }
        }
        Ok(())
    };
    let done = work();
    let summary = args.machine.json.then(|| {
        json!({
            "excerpts": excerpts.len(), "not_judged": not_judged, "candidates": candidates,
        })
    });
    out.end(done, summary)?;
    if not_judged > 0 {
        let message = format!(
            "excerpts that cannot be judged: {not_judged} of {}; they need {} bytes or more",
            excerpts.len(),
            store.least(),
        );
        return Err(Stop::Error(message));
    }
    Ok(if candidates > 0 { Outcome::Some } else { Outcome::None })
}
