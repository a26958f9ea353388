//! `everbloom publish` and `everbloom follow`: filters of lists that change.

use std::io::{self, Read as _};
use std::path::Path;
use std::time::Duration;

use everbloom::Error;
use everbloom::exchange::rateless::Set;
use everbloom_records::Grammar;
use everbloom_report::number::bytes_text;
use everbloom_tools::published::{Feed, Follower, MOST, Shape, Source, Took};
use serde_json::json;

use crate::args::{Follow, Publish};
use crate::input;
use crate::output::{integer_text, print_json};
use crate::talk::say;
use crate::target::{FOLLOWED, LATEST, Target, UPDATE};
use crate::{Outcome, Result, Stop};

pub fn publish(args: &Publish) -> Result<Outcome> {
    let how = (&args.replacing, &args.machine);
    let _latest = Target::files(&args.output, &[(Feed::LATEST, LATEST)], how, [&args.list])?;
    let feed = Feed::of(&args.output);
    let latest = feed.latest()?;
    let next = Feed::names(latest.as_ref().map_or(1, |latest| latest.version + 1));
    let next = next.each_ref().map(|name| (name.as_str(), UPDATE));
    let _next = Target::files(&args.output, &next, how, [&args.list])?;
    let keys = input::set(&args.list, Grammar::default(), Set::new())?;
    let held = latest.map(|latest| latest.shape);
    let shape = shape(args, held, keys.len() as u64)?;
    let bytes = shape.build(keys.keys())?;
    let published = feed.publish(&shape, &bytes)?;
    let version = feed.latest()?.map_or(0, |latest| latest.version);
    let delta = published.and_then(|(_, delta)| delta);
    if args.machine.json {
        print_json(&json!({
            "version": version, "changed": published.is_some(), "keys": keys.len(),
            "capacity": shape.capacity, "rate": shape.rate, "format": shape.format,
            "bytes": bytes.len(), "bytes_delta": delta,
        }))?;
    }
    match published {
        None => {
            say!("nothing changed since version {version}");
            return Ok(Outcome::None);
        }
        Some(_) => say!(
            "version {version}: {} keys in {}{}",
            integer_text(keys.len() as u64),
            bytes_text(bytes.len() as u64),
            delta.map_or(String::new(), |delta| format!(", {} as a delta", bytes_text(delta))),
        ),
    }
    Ok(Outcome::Some)
}

/// The shape of the version before, unless something else was asked for or the list has outgrown it.
fn shape(args: &Publish, held: Option<Shape>, keys: u64) -> Result<Shape> {
    let format = args.format.map(|format| format.name.to_owned());
    if let (Some(held), Some(format)) = (&held, &format)
        && held.format != *format
    {
        let message =
            format!("the feed has format {}: use another folder for {format}", held.format);
        return Err(Stop::Error(message));
    }
    let rate = args.fpr.or(held.as_ref().map(|held| held.rate)).unwrap_or(0.01);
    let kept = held.as_ref().map(|held| held.capacity).filter(|capacity| *capacity >= keys);
    let capacity = args.items.or(kept).unwrap_or((keys + keys / 2).max(100));
    let format = format.or(held.map(|held| held.format)).unwrap_or_else(|| "evb".to_owned());
    Ok(Shape { format, capacity, rate })
}

/// How a feed on another machine is followed: by the program that fetches its files.
fn elsewhere(feed: &str) -> Stop {
    let base = feed.trim_end_matches('/');
    let fetch = match feed.strip_prefix("ssh://").and_then(|rest| rest.split_once('/')) {
        Some((host, path)) => format!("ssh {host} cat /{}/\"$1\"", path.trim_end_matches('/')),
        None => format!("curl -fsS {base}/\"$1\""),
    };
    Stop::Error(format!(
        "{feed}: everbloom opens no connections to feeds: name the command that fetches a file, --fetch '{fetch}'"
    ))
}

pub fn follow(args: &Follow) -> Result<Outcome> {
    if let (None, Some(feed)) = (&args.fetch, &args.feed)
        && feed.to_str().is_some_and(|feed| feed.contains("://"))
    {
        return Err(elsewhere(&feed.to_string_lossy()));
    }
    let how = (&args.replacing, &args.machine);
    let target = Target::file(&args.output, FOLLOWED, how, &args.feed)?;
    let took = target.put(|path| refreshed(args, path))?;
    if args.machine.json {
        print_json(&json!({
            "from": took.from, "version": took.to, "deltas": took.deltas, "whole": took.whole,
            "bytes": took.bytes,
        }))?;
    }
    let how =
        if took.whole { "the whole filter".to_owned() } else { format!("{} deltas", took.deltas) };
    let bytes = bytes_text(took.bytes);
    if took.deltas == 0 && !took.whole {
        say!("version {} is the latest", took.to);
        return Ok(Outcome::None);
    }
    say!("version {}, from {}: {how}, {bytes}", took.to, took.from);
    Ok(Outcome::Some)
}

/// Takes what is new.
fn refreshed(args: &Follow, path: &Path) -> everbloom::Result<Took> {
    let mut follower = Follower::open(path)?;
    match (&args.fetch, &args.feed) {
        (Some(line), _) => {
            let (line, patience) = (line.clone(), Duration::from_secs(args.timeout));
            follower.refresh(&Source::Command { line, patience })
        }
        (None, Some(feed)) if feed != Path::new("-") => {
            follower.refresh(&Source::Folder(feed.clone()))
        }
        _ => {
            let mut updates = Vec::new();
            let read = io::stdin().lock().take(4 * MOST).read_to_end(&mut updates);
            read.map_err(|e| Error::from(e).context("cannot read stdin"))?;
            follower.take(&updates)
        }
    }
}
