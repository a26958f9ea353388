//! `everbloom top`: the heaviest keys of lines or of a capture.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::PathBuf;

use everbloom::{Error, Kind};
use everbloom_records::Grammar;
use everbloom_report::json::bytes;
use everbloom_report::number::{bytes_text, rate_text};
use everbloom_tools::capture::{self, Flow as Capture};
use everbloom_tools::top::flow_counters::{Flow, FlowCounters};
use everbloom_tools::top::global_iceberg::Collector;
use everbloom_tools::top::heavy_flows::HeavyFlows;
use everbloom_tools::top::iceberg;
use serde_json::{Value, json};

use crate::args::Top;
use crate::input::{self, Passes};
use crate::output::{Output, integer_text};
use crate::talk::say;
use crate::target::{FILTER, Target};
use crate::{Outcome, Result, Stop};

/// Stages and counters of the multistage filter, and the entries of its flow memory.
const STAGES: u32 = 4;
const COUNTERS: u64 = 1 << 16;
const ENTRIES: usize = 1 << 20;
/// Counts are too high by this part of the share at most.
const ERROR: f64 = 0.1;
/// Files with more different keys than this are not read once more.
const MOST_DISTINCT: u64 = 1 << 27;

/// A key that is printed, how often it came at most and at least, and the interval.
struct Line {
    key: Option<Vec<u8>>,
    count: u64,
    at_least: u64,
    interval: Option<u64>,
}

impl Line {
    fn exact(key: Option<Vec<u8>>, count: u64) -> Self {
        Self { key, count, at_least: count, interval: None }
    }
}

/// What is said of all of them.
struct Summary {
    total: u64,
    error: f64,
    exact: bool,
    bytes: u64,
}

pub fn run(args: &Top) -> Result<Outcome> {
    let stdin = [PathBuf::from("-")];
    let files = if args.files.is_empty() { &stdin[..] } else { &args.files };
    let target = targets(args, files)?;
    let target = target.first();
    let (lines, summary) = match (args.at_least, args.exact, args.merge) {
        (Some(threshold), ..) => at_least(args, files, threshold)?,
        (None, true, true) => merge_exact(args, files)?,
        (None, true, false) => exact(args, files)?,
        (None, false, true) => merge(files, target)?,
        (None, false, false) => estimate(args, files, target)?,
    };
    print(args, &lines, &summary)
}

/// The counters to write. Those of sites are read whole before.
fn targets(args: &Top, files: &[PathBuf]) -> Result<Vec<Target>> {
    let Some(path) = &args.output else { return Ok(Vec::new()) };
    let how = (&args.replacing, &args.machine);
    let inputs: &[PathBuf] = if args.merge { &[] } else { files };
    match args.exact {
        true => Target::files(path, &FlowCounters::FILES.map(|name| (name, FILTER)), how, inputs),
        false => Ok(vec![Target::file(path, FILTER, how, inputs)?]),
    }
}

/// Whether the input can be read once more.
fn again(files: &[PathBuf]) -> bool {
    files.iter().all(|path| path.is_file())
}

/// Calls `f` with every key, how often it counts, and its time: the line's number or the packet's second.
fn each(
    args: &Top,
    files: &[PathBuf],
    mut f: impl FnMut(&[u8], u64, u64) -> everbloom::Result<()>,
) -> Result<()> {
    let mut number = 0;
    for path in files {
        if args.pcap {
            let packets = capture::each_packet(input::bytes(path)?, |packet| {
                let weight = if args.bytes { packet.length } else { 1 };
                packet.flow.map_or(Ok(()), |flow| f(&flow.key(), weight, packet.seconds))
            });
            packets.map_err(|e| e.context(path.display()))?;
            continue;
        }
        let grammar = input::grammar(&args.text)?;
        let weigh =
            args.weight.map(|column| input::rows(&args.text.rows, Some(column))).transpose()?;
        let mut lines = input::lines(path, grammar, Passes::Once)?;
        let weigh = weigh.map(|weigh| lines.resolved(weigh)).transpose()?;
        lines.each(|rows, records| {
            rows.iter().zip(records).try_for_each(|(row, record)| {
                number += 1;
                let weight = weigh.map_or(Ok(1), |weigh| weight(&weigh, row))?;
                f(record.key, weight, number)
            })
        })?;
    }
    Ok(())
}

/// The number in a column of a line.
fn weight(grammar: &Grammar, row: &[u8]) -> everbloom::Result<u64> {
    let text = grammar.key_text(row).map_err(everbloom_records::Error::from)?;
    let number = std::str::from_utf8(&text).ok().and_then(|text| text.trim().parse().ok());
    number.ok_or_else(|| {
        let text = String::from_utf8_lossy(&text);
        let message =
            format!("{text:?} is not a whole number; choose another column with --weight");
        Error::new(Kind::BadRecord, message)
    })
}

fn sketch(args: &Top) -> Result<iceberg::Top> {
    Ok(iceberg::Top::new(args.share, args.share * ERROR)?)
}

/// By a sketch; where the files can be read again its candidates are counted.
fn estimate(
    args: &Top,
    files: &[PathBuf],
    target: Option<&Target>,
) -> Result<(Vec<Line>, Summary)> {
    let mut top = sketch(args)?;
    each(args, files, |key, weight, _| top.add(key, weight))?;
    if let Some(target) = target {
        target.put(|path| top.save(path))?;
    }
    if !again(files) {
        return estimated(&top);
    }
    let mut recount = top.recount()?;
    each(args, files, |key, weight, _| {
        recount.add(key, weight);
        Ok(())
    })?;
    let lines = recount.counts().into_iter().map(|(key, count)| Line::exact(Some(key), count));
    let summary = Summary { total: top.total(), error: 0.0, exact: true, bytes: top.bytes() };
    Ok((lines.collect(), summary))
}

fn estimated(top: &iceberg::Top) -> Result<(Vec<Line>, Summary)> {
    let error = top.error();
    let lines = top.candidates()?.into_iter().map(|(key, count)| {
        let at_least = count.saturating_sub(error as u64);
        Line { key: Some(key), count, at_least, interval: None }
    });
    let summary = Summary { total: top.total(), error, exact: false, bytes: top.bytes() };
    Ok((lines.collect(), summary))
}

fn merge(files: &[PathBuf], target: Option<&Target>) -> Result<(Vec<Line>, Summary)> {
    let mut sites = files.iter().map(iceberg::Top::open);
    let mut all = sites.next().ok_or_else(|| Stop::Error("no files to merge".to_owned()))??;
    for (site, path) in sites.zip(&files[1..]) {
        all.merge(&site?).map_err(|e| e.context(path.display()))?;
    }
    if let Some(target) = target {
        target.put(|path| all.save(path))?;
    }
    estimated(&all)
}

/// By cells that are read back: more and more of them where the files can be read again.
fn exact(args: &Top, files: &[PathBuf]) -> Result<(Vec<Line>, Summary)> {
    let again = again(files);
    let mut distinct = args.distinct;
    loop {
        let mut counters = FlowCounters::new(distinct)?;
        // Whoever cannot read the input again has the sketch to fall back on.
        let mut fallback = if again { None } else { Some(sketch(args)?) };
        let mut total = 0u64;
        each(args, files, |key, weight, _| {
            total = total.saturating_add(weight);
            if let Some(top) = &mut fallback {
                top.add(key, weight)?;
            }
            counters.add(key, weight)
        })?;
        match (counters.decode(), fallback) {
            (Ok(mut flows), _) => {
                if let Some(folder) = &args.output {
                    counters.save(folder)?;
                }
                if again {
                    name(args, files, &counters, &mut flows)?;
                }
                return Ok(decoded(flows, total, counters.bytes()));
            }
            (Err(e), _) if e.kind() != Kind::Undecodable => return Err(e.into()),
            (Err(_), None) if distinct < MOST_DISTINCT => distinct *= 4,
            (Err(e), None) => return Err(e.into()),
            (Err(_), Some(top)) => {
                say!(
                    "everbloom: warning: more than about {} distinct keys, so these are estimates; give a larger -n",
                    integer_text(distinct)
                );
                return estimated(&top);
            }
        }
    }
}

fn decoded(flows: Vec<Flow>, total: u64, bytes: u64) -> (Vec<Line>, Summary) {
    let lines = flows.into_iter().map(|flow| Line::exact(flow.key, flow.count)).collect();
    (lines, Summary { total, error: 0.0, exact: true, bytes })
}

/// Looks for the keys of flows that the cells hold as ids alone, in a second pass.
fn name(args: &Top, files: &[PathBuf], counters: &FlowCounters, flows: &mut [Flow]) -> Result<()> {
    let wanted = flows.iter().take(args.keys as usize).filter(|flow| flow.key.is_none());
    let mut ids: HashMap<u64, Option<Vec<u8>>> = wanted.map(|flow| (flow.id, None)).collect();
    if ids.is_empty() {
        return Ok(());
    }
    each(args, files, |key, _, _| {
        if let Some(found @ None) = ids.get_mut(&counters.id(key)) {
            *found = Some(key.to_vec());
        }
        Ok(())
    })?;
    for flow in flows.iter_mut().filter(|flow| flow.key.is_none()) {
        flow.key = ids.remove(&flow.id).flatten();
    }
    Ok(())
}

fn merge_exact(args: &Top, folders: &[PathBuf]) -> Result<(Vec<Line>, Summary)> {
    if args.output.is_some() {
        let message = "-o with --exact --merge: not supported; keep the folders of the sites and merge them again";
        return Err(Stop::Error(message.to_owned()));
    }
    let (mut collector, mut bytes) = (Collector::default(), 0);
    for folder in folders {
        let site = FlowCounters::open(folder)?;
        bytes += site.bytes();
        collector.add(&site).map_err(|e| e.context(folder.display()))?;
    }
    let flows = collector.heavy(0)?;
    let total = flows.iter().fold(0u64, |sum, flow| sum.saturating_add(flow.count));
    Ok(decoded(flows, total, bytes))
}

/// By a multistage filter, interval by interval.
fn at_least(args: &Top, files: &[PathBuf], threshold: u64) -> Result<(Vec<Line>, Summary)> {
    let mut flows = HeavyFlows::new(threshold, STAGES, COUNTERS, ENTRIES)?;
    let (mut lines, mut first, mut current, mut total) = (Vec::new(), None, 0, 0u64);
    let end = |flows: &mut HeavyFlows, lines: &mut Vec<Line>, interval: u64| {
        let heavy = flows.end_interval()?;
        lines.extend(heavy.into_iter().map(|heavy| Line {
            key: Some(heavy.flow),
            count: heavy.at_most,
            at_least: heavy.at_least,
            interval: args.every.map(|_| interval),
        }));
        Ok::<(), Error>(())
    };
    each(args, files, |key, weight, time| {
        if let Some(length) = args.every {
            let start = *first.get_or_insert(time);
            let interval = time.saturating_sub(start) / length.max(1);
            if interval > current {
                end(&mut flows, &mut lines, current)?;
                current = interval;
            }
        }
        total = total.saturating_add(weight);
        flows.packet(key, weight)
    })?;
    end(&mut flows, &mut lines, current)?;
    let exact = lines.iter().all(|line| line.at_least == line.count);
    let bytes = 8 * COUNTERS * u64::from(STAGES);
    Ok((lines, Summary { total, error: 0.0, exact, bytes }))
}

fn print(args: &Top, lines: &[Line], summary: &Summary) -> Result<Outcome> {
    let shown = if args.at_least.is_some() { lines.len() } else { args.keys as usize };
    let mut out = Output::new();
    let mut printed = 0u64;
    let mut work = || -> everbloom::Result<()> {
        for line in lines.iter().take(shown) {
            printed += 1;
            let key = line.key.as_deref().map(|key| text(args, key));
            if args.machine.json {
                let key = key.as_deref().map_or(Value::Null, bytes);
                out.json(&json!({
                    "key": key, "count": line.count, "at_least": line.at_least, "interval": line.interval,
                }))?;
                continue;
            }
            out.write(|out| {
                if let Some(interval) = line.interval {
                    write!(out, "{interval}\t")?;
                }
                out.write_all(key.as_deref().unwrap_or(b"(no name)"))?;
                writeln!(out, "\t{}", line.count)
            })?;
        }
        Ok(())
    };
    let done = work();
    let Summary { total, error, exact, bytes } = summary;
    let json = args.machine.json.then(|| {
        json!({ "total": total, "printed": printed, "exact": exact, "error": error, "bytes": bytes })
    });
    out.end(done, json)?;
    let counts = match (exact, args.at_least) {
        (true, _) => "counts are exact".to_owned(),
        (false, Some(_)) => "counts are upper bounds".to_owned(),
        (false, None) => format!(
            "counts are too high by at most {}, except for one key in a thousand",
            integer_text(*error as u64)
        ),
    };
    let missed = if args.exact || args.at_least.is_some() {
        String::new()
    } else {
        format!("; every key with {} of the total is found", rate_text(args.share))
    };
    say!("{} in all; {counts}{missed}; {}", integer_text(*total), bytes_text(*bytes));
    Ok(if printed > 0 { Outcome::Some } else { Outcome::None })
}

/// A key as it is printed: a flow in words.
fn text(args: &Top, key: &[u8]) -> Vec<u8> {
    match Capture::from_key(key).filter(|_| args.pcap) {
        Some(flow) => flow.to_string().into_bytes(),
        None => key.to_vec(),
    }
}
