//! `everbloom sync`: two lists or folders on two machines.

use std::path::Path;

use everbloom::exchange::rateless::Set;
use everbloom::exchange::{Limits, Party};
use everbloom_records::Grammar;
use everbloom_report::json::bytes;
use everbloom_report::number::{bytes_text, rate_text};
use everbloom_tools::sync::approximate::{Asker, Teller};
use everbloom_tools::sync::{
    Exchange, Folder, LIMITS, Learned, Plan, STREAMED, append, hold, one_line_each, seek, shown,
};
use everbloom_tools::wire::{Channel, Place, salt};
use serde_json::{Value, json};

use super::line::{answering, limits, patience, reach, served, words};
use crate::args::{Sync, Way};
use crate::input;
use crate::output::{integer_text, print_bytes, print_json};
use crate::talk::say;
use crate::{Outcome, Result, Stop};

pub fn run(args: &Sync) -> Result<Outcome> {
    if args.approximate.is_some() && args.list.is_dir() {
        return Err(Stop::Error("--approximate: works with lists, not with folders".to_owned()));
    }
    let Some(place) = &args.place else {
        let bounds = Bounds::of(limits);
        served(&args.line, |channel| answer(args, &args.list, channel, bounds))?;
        return Ok(Outcome::Some);
    };
    match Place::parse(place)? {
        Place::Path(path) => beside(args, &path),
        place => {
            let mut words = words("sync", &args.line);
            let send = args.send.is_some().then_some("--send");
            let approximate = args.approximate.is_some().then_some("--approximate");
            let null = args.null.then_some("-0");
            words.extend([send, approximate, null].into_iter().flatten().map(str::to_owned));
            begin(args, place.connect(&reach(&args.line), &words)?, Bounds::of(limits))
        }
    }
}

/// What the other side may send: of a list, and of files.
#[derive(Clone, Copy)]
struct Bounds {
    list: Limits,
    files: Limits,
}

impl Bounds {
    fn of(limits: impl Fn(Limits) -> Limits) -> Self {
        Self { list: limits(LIMITS), files: limits(STREAMED) }
    }
}

/// Both sides in this process.
fn beside(args: &Sync, path: &Path) -> Result<Outcome> {
    let (here, mut there) = Channel::pair(patience(&args.line))?;
    let bounds = Bounds::of(|_| Limits::LOCAL);
    std::thread::scope(|scope| {
        let far = scope.spawn(move || {
            let done = answering(&mut there, |channel| answer(args, path, channel, bounds));
            drop(there);
            done
        });
        let begun = begin(args, here, bounds);
        // What the far side says was said to this one.
        let answered =
            far.join().unwrap_or_else(|_| Err(Stop::Error("the other side failed".into())));
        begun.and_then(|outcome| answered.map(|()| outcome))
    })
}

fn work(args: &Sync, path: &Path) -> &'static str {
    match (path.is_dir(), args.approximate) {
        (true, _) => "sync folders",
        (false, None) if args.null => "sync records that end in NUL",
        (false, None) => "sync lines",
        (false, Some(_)) if args.null => "sync records that end in NUL approximately",
        (false, Some(_)) => "sync lines approximately",
    }
}

fn read(args: &Sync, path: &Path) -> Result<Set> {
    let grammar = Grammar { end: end(args), ..Grammar::default() };
    input::offers(&["-0"]);
    input::set(path, grammar, Set::seeded(salt()))
}

fn end(args: &Sync) -> u8 {
    if args.null { 0 } else { b'\n' }
}

/// The other side's work.
fn answer(args: &Sync, path: &Path, channel: &mut Channel, bounds: Bounds) -> Result<()> {
    let takes = args.send.is_some();
    if path.is_dir() {
        let folder = Folder::read(path)?;
        channel.greet(work(args, path), false)?;
        let announced = hold(channel, folder.set(), None, bounds.list)?;
        Exchange::second(&folder, takes.then_some(announced)).run(channel, bounds.files)?;
        return Ok(());
    }
    let set = read(args, path)?;
    channel.greet(work(args, path), false)?;
    if args.approximate.is_some() {
        return Ok(channel.run(&mut Party::new(Teller::new(set), bounds.list))?);
    }
    let mut store = |keys: &[Vec<u8>]| append(path, keys, end(args));
    hold(channel, set, takes.then_some(&mut store), bounds.list)?;
    Ok(())
}

/// This side's work.
fn begin(args: &Sync, channel: Channel, bounds: Bounds) -> Result<Outcome> {
    let here = matches!(args.send, Some(Way::Both | Way::Here));
    let there = matches!(args.send, Some(Way::Both | Way::There));
    if args.list.is_dir() {
        return begin_folder(args, channel, [here, there], bounds);
    }
    let set = read(args, &args.list)?;
    match args.approximate {
        Some(bits) => begin_roughly(args, channel, &set, (bits, bounds.list), here),
        None => begin_list(args, channel, set, [here, there], bounds.list),
    }
}

fn begin_list(
    args: &Sync,
    mut channel: Channel,
    set: Set,
    [here, there]: [bool; 2],
    limits: Limits,
) -> Result<Outcome> {
    channel.greet(work(args, &args.list), true)?;
    let learned = seek(&mut channel, set, there, limits)?;
    let traffic = channel.finish()?;
    let (ours, theirs) = (&learned.found.ours, &learned.found.theirs);
    one_line_each(theirs, end(args))?;
    if here {
        append(&args.list, theirs, end(args))?;
    }
    let lists = [ours, theirs].map(|keys| keys.iter().map(Vec::as_slice).collect());
    let moved = [there.then_some(ours.len()), here.then_some(theirs.len())];
    report(args, &learned, lists, &[], moved, [traffic.a_to_b, traffic.b_to_a])
}

fn begin_folder(
    args: &Sync,
    mut channel: Channel,
    [here, there]: [bool; 2],
    bounds: Bounds,
) -> Result<Outcome> {
    let folder = Folder::read(&args.list)?;
    if folder.skipped() > 0 {
        say!("{} links, special files or names of temporary files are skipped", folder.skipped());
    }
    channel.greet(work(args, &args.list), true)?;
    let learned = seek(&mut channel, folder.set(), false, bounds.list)?;
    let plan = folder.plan(&learned.found)?;
    let Plan { here: ours, there: theirs, differ } = &plan;
    let wants = if here { &theirs[..] } else { &[] };
    let gives = if there { &ours[..] } else { &[] };
    let came = Exchange::first(&folder, wants, gives).run(&mut channel, bounds.files)?;
    let traffic = channel.finish()?;
    let printed = |name: &str| printed(args, name);
    let names = [ours, theirs].map(|all| all.iter().map(|entry| printed(&entry.name)).collect());
    let [ours, theirs]: &[Vec<String>; 2] = &names;
    let lists = [ours, theirs].map(|all| all.iter().map(String::as_bytes).collect());
    let differ: Vec<String> = differ.iter().map(|name| printed(name)).collect();
    let moved = [there.then_some(gives.len()), here.then_some(came.len())];
    report(args, &learned, lists, &differ, moved, [traffic.a_to_b, traffic.b_to_a])
}

/// A name as it is printed: as it is where JSON or a NUL says where it ends.
fn printed(args: &Sync, name: &str) -> String {
    if args.null || args.machine.json { name.to_owned() } else { shown(name) }
}

fn begin_roughly(
    args: &Sync,
    mut channel: Channel,
    set: &Set,
    (bits, limits): (u64, Limits),
    here: bool,
) -> Result<Outcome> {
    channel.greet(work(args, &args.list), true)?;
    let bytes = if bits == 0 { (set.len() as u64).max(64) } else { bits.div_ceil(8) };
    let mut party = Party::new(Asker::new(set, bytes, set.seed())?, limits);
    channel.run(&mut party)?;
    let traffic = channel.finish()?;
    let (missing, withheld) = (party.role.missing(), party.role.withheld());
    one_line_each(missing, end(args))?;
    if here {
        append(&args.list, missing, end(args))?;
    }
    if args.machine.json {
        print_json(&json!({
            "only_there": missing.iter().map(|key| self::bytes(key)).collect::<Vec<_>>(),
            "keys_here": set.len(), "rate_withheld": withheld,
            "bytes_sent": traffic.a_to_b, "bytes_received": traffic.b_to_a,
            "taken": here.then_some(missing.len()),
        }))?;
    } else {
        print_bytes(&marked(b"> ", missing.iter().map(Vec::as_slice), end(args)))?;
    }
    say!(
        "{} keys here, {} more there; about {} of the missing keys were not found; {} sent, {} received",
        integer_text(set.len() as u64),
        integer_text(missing.len() as u64),
        rate_text(withheld),
        bytes_text(traffic.a_to_b),
        bytes_text(traffic.b_to_a),
    );
    Ok(if missing.is_empty() || here { Outcome::Some } else { Outcome::None })
}

fn marked<'a>(mark: &[u8], keys: impl Iterator<Item = &'a [u8]>, end: u8) -> Vec<u8> {
    keys.flat_map(|key| [mark, key, &[end]].concat()).collect()
}

/// What was found; what was sent and taken, where that was asked for; bytes sent and received.
fn report(
    args: &Sync,
    learned: &Learned,
    [ours, theirs]: [Vec<&[u8]>; 2],
    differ: &[String],
    [sent, taken]: [Option<usize>; 2],
    [out, back]: [u64; 2],
) -> Result<Outcome> {
    let everything = learned.here.1.min(learned.there.1);
    if args.machine.json {
        let list = |keys: &[&[u8]]| -> Vec<Value> { keys.iter().map(|key| bytes(key)).collect() };
        print_json(&json!({
            "only_here": list(&ours), "only_there": list(&theirs), "differ": differ,
            "keys_here": learned.here.0, "keys_there": learned.there.0,
            "sent": sent, "taken": taken, "cells": learned.cells.consumed,
            "bytes_sent": out, "bytes_received": back, "bytes_of_everything": everything,
        }))?;
    } else {
        let end = end(args);
        let mut text = marked(b"< ", ours.iter().copied(), end);
        text.extend(marked(b"> ", theirs.iter().copied(), end));
        text.extend(marked(b"! ", differ.iter().map(String::as_bytes), end));
        print_bytes(&text)?;
    }
    say!(
        "{} and {} {}, {} differ; {} sent, {} received; sending the smaller list would take {}",
        integer_text(learned.here.0),
        integer_text(learned.there.0),
        if args.list.is_dir() { "files and folders" } else { "keys" },
        integer_text((ours.len() + theirs.len() + differ.len()) as u64),
        bytes_text(out),
        bytes_text(back),
        bytes_text(everything),
    );
    let settled = args.send.is_some() || ours.is_empty() && theirs.is_empty();
    Ok(if settled && differ.is_empty() { Outcome::Some } else { Outcome::None })
}
