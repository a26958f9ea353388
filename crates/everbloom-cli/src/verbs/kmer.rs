//! `everbloom kmer`: an index of K-mers over many samples.

use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};

use everbloom_report::Table;
use everbloom_report::json::bytes;
use everbloom_report::number::{bytes_text, rate_text};
use everbloom_tools::kmer::{Found, Group, Index, New, Shape, each_sequence};
use serde_json::{Value, json};

use crate::args::{KmerAdd, KmerBuild, KmerInfo, KmerQuery, KmerVerb};
use crate::input;
use crate::output::{Output, integer_text, print, print_json};
use crate::talk::say;
use crate::target::{KMERS, Target};
use crate::{Outcome, Result, Stop};

pub fn run(verb: &KmerVerb) -> Result<Outcome> {
    match verb {
        KmerVerb::Build(args) => build(args),
        KmerVerb::Add(args) => add(args),
        KmerVerb::Query(args) => query(args),
        KmerVerb::Info(args) => info(args),
    }
}

/// Samples by the names of their files.
fn samples(paths: &[PathBuf]) -> Result<Vec<New<'_>>> {
    let sample = |path: &PathBuf| {
        if !path.is_file() {
            // It is read twice: for its size, and for its K-mers.
            return Err(Stop::Error(format!(
                "{}: is not a file; a sample must be a file",
                path.display()
            )));
        }
        let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        let path = path.clone();
        let open = move || input::text(&path).map(|input| -> Box<dyn Read + Send> { input });
        Ok(New { name, open: Box::new(open) })
    };
    paths.iter().map(sample).collect()
}

fn build(args: &KmerBuild) -> Result<Outcome> {
    let shape = Shape::new(args.length, args.fpr)?;
    let how = (&args.replacing, &args.machine);
    let target = Target::file(&args.output, KMERS, how, &args.samples)?;
    let samples = samples(&args.samples)?;
    target.put(|path| Index::build(path, shape, &samples))?;
    told(&args.output, args.machine.json)
}

fn add(args: &KmerAdd) -> Result<Outcome> {
    let how = (&args.replacing, &args.machine);
    let target = Target::file(&args.index, KMERS, how, &args.samples)?;
    let samples = samples(&args.samples)?;
    target.put(|path| Index::add(path, &samples))?;
    told(&args.index, args.machine.json)
}

/// What an index is after it was written.
fn told(path: &Path, json: bool) -> Result<Outcome> {
    let index = Index::open(path)?;
    if json {
        print_json(&report(path, &index)?)?;
    }
    let count: usize = index.groups().iter().map(|group| group.samples.len()).sum();
    say!(
        "{}: samples {}, groups of equal size {}, {}",
        path.display(),
        integer_text(count as u64),
        index.groups().len(),
        bytes_text(length(path)?)
    );
    Ok(Outcome::Some)
}

fn length(path: &Path) -> Result<u64> {
    Ok(std::fs::metadata(path).map_err(everbloom::Error::from)?.len())
}

fn report(path: &Path, index: &Index) -> Result<Value> {
    let shape = index.shape();
    let group = |group: &Group| {
        let samples: Vec<Value> = group
            .samples
            .iter()
            .map(|sample| {
                let rate = group.rate(sample, shape.probes);
                json!({ "name": sample.name, "kmers": sample.kmers, "fpr_now": rate })
            })
            .collect();
        json!({ "rows": group.rows, "samples": samples })
    };
    Ok(json!({
        "file": path.display().to_string(),
        "bytes": length(path)?,
        "letters": shape.length,
        "probes": shape.probes,
        "fpr": shape.rate,
        "groups": index.groups().iter().map(group).collect::<Vec<_>>(),
    }))
}

fn info(args: &KmerInfo) -> Result<Outcome> {
    let index = Index::open(&args.index)?;
    if args.machine.json {
        print_json(&report(&args.index, &index)?)?;
        return Ok(Outcome::Some);
    }
    let shape = index.shape();
    let rows = index.groups().iter().flat_map(|group| {
        group.samples.iter().map(|sample| {
            let rate = rate_text(group.rate(sample, shape.probes));
            [sample.name.clone(), integer_text(sample.kmers), integer_text(group.rows), rate]
        })
    });
    let table = Table::new(4, ["sample", "K-mers", "rows", "fpr"]).rows(rows);
    print(&format!(
        "K-mers of {} letters, {} probes, {}\n\n{}",
        shape.length,
        shape.probes,
        bytes_text(length(&args.index)?),
        table.terminal()
    ))?;
    Ok(Outcome::Some)
}

fn query(args: &KmerQuery) -> Result<Outcome> {
    let mut index = Index::open(&args.index)?;
    let stdin = [PathBuf::from("-")];
    let files = if args.queries.is_empty() { &stdin[..] } else { &args.queries };
    let mut out = Output::new();
    let (mut queries, mut short, mut hits, mut rows) = (0u64, 0u64, 0u64, 0u64);
    let mut work = || -> everbloom::Result<()> {
        for path in files {
            let read = each_sequence(input::text(path)?, |id, letters| {
                let found = index.query(letters, args.threshold)?;
                queries += 1;
                short += u64::from(found.kmers == 0);
                hits += found.hits.len() as u64;
                rows += found.rows;
                print_hits(&mut out, id, &found, args.machine.json)
            });
            read.map_err(|e| e.context(path.display()))?;
        }
        Ok(())
    };
    let done = work();
    let summary = args.machine.json.then(
        || json!({ "queries": queries, "without_kmers": short, "hits": hits, "rows_read": rows }),
    );
    out.end(done, summary)?;
    say!(
        "{} queries, {} hits; {} rows read",
        integer_text(queries),
        integer_text(hits),
        integer_text(rows)
    );
    if short > 0 {
        say!(
            "everbloom: warning: {} queries have no {} letters in a row",
            integer_text(short),
            index.shape().length
        );
    }
    Ok(if hits > 0 { Outcome::Some } else { Outcome::None })
}

fn print_hits(out: &mut Output, id: &[u8], found: &Found, json: bool) -> everbloom::Result<()> {
    for hit in &found.hits {
        if json {
            out.json(&json!({
                "query": bytes(id), "sample": hit.sample, "has": hit.has, "kmers": found.kmers,
                "found": hit.found, "expected": hit.expected, "chance": hit.chance,
            }))?;
            continue;
        }
        out.write(|out| {
            out.write_all(id)?;
            let (has, expected) = (hit.has, hit.expected);
            writeln!(
                out,
                "\t{}\t{has:.0}\t{}\t{}\t{expected:.1}",
                hit.sample, found.kmers, hit.found
            )
        })?;
    }
    Ok(())
}
