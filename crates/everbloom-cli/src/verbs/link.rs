//! `everbloom link`: records of two tables, compared by filters of their pieces.

use std::collections::HashSet;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use everbloom::Error;
use everbloom::structured::Clk;
use everbloom_records::Grammar;
use everbloom_tools::link::{Encoder, Linker, Pair, Rows, Schema, header, precision_and_recall};
use serde_json::{Value, json};

use crate::args::Link;
use crate::input::{self, Passes};
use crate::output::{Output, integer_text, print_json};
use crate::talk::say;
use crate::target::{FILTER, Target};
use crate::{Outcome, Result, Stop};

/// One side: its filters, and what its rows are called.
struct Side {
    list: Clk,
    names: Vec<String>,
}

pub fn run(args: &Link) -> Result<Outcome> {
    if args.key_file.is_none() {
        say!("no --key-file: anyone who gets the filters can test names against them");
    }
    let how = (&args.replacing, &args.machine);
    let inputs = || [&args.left].into_iter().chain(&args.schema).chain(&args.key_file);
    let target = args.output.as_deref().map(|path| Target::file(path, FILTER, how, inputs()));
    let target = target.transpose()?;
    let left = side(args, &args.left)?;
    if let (Some(target), Some(output)) = (target, &args.output) {
        target.save(&left.list)?;
        let rows = left.names.len() as u64;
        if args.machine.json {
            print_json(&json!({ "records": rows }))?;
        }
        say!("{}: filters of {} records", output.display(), integer_text(rows));
        return Ok(Outcome::Some);
    }
    let Some(right) = &args.right else {
        return Err(Stop::Error("give a second file to link".to_owned()));
    };
    let right = side(args, right)?;
    let mut linker = Linker::new(args.threshold);
    if args.all {
        linker = linker.all_pairs();
    }
    let (ours, theirs) = (left.list.rows(), right.list.rows());
    if let (Some(a), Some(b)) = (ours.first(), theirs.first())
        && a.len() != b.len()
    {
        return Err(Stop::Error(format!(
            "filters of {} and {} bits cannot be compared: encode both with the same schema",
            a.len(),
            b.len()
        )));
    }
    let linked = linker.link(ours, theirs);
    let name = |pair: &Pair| (left.names[pair.left].as_str(), right.names[pair.right].as_str());
    let quality = match &args.evaluate {
        Some(path) => {
            let truth = truth(path)?;
            let found: HashSet<(&str, &str)> = linked.pairs.iter().map(name).collect();
            let truth: HashSet<(&str, &str)> = truth.iter().map(|(l, r)| (&**l, &**r)).collect();
            Some(precision_and_recall(&found, &truth))
        }
        None => None,
    };
    let mut out = Output::new();
    let written = linked.pairs.iter().try_for_each(|pair| {
        let (left, right) = name(pair);
        if args.machine.json {
            return out.json(&json!({ "left": left, "right": right, "dice": pair.dice }));
        }
        out.write(|out| writeln!(out, "{left}\t{right}\t{:.4}", pair.dice))
    });
    let all = ours.len() as u64 * theirs.len() as u64;
    let summary = args.machine.json.then(|| {
        let number = |value: Option<f64>| value.map_or(Value::Null, Value::from);
        json!({
            "pairs": linked.pairs.len(), "compared": linked.compared, "of": all,
            "precision": number(quality.map(|q| q.0)), "recall": number(quality.map(|q| q.1)),
        })
    });
    out.end(written, summary)?;
    let judged = quality.map_or(String::new(), |(precision, recall)| {
        format!("; precision {precision:.4}, recall {recall:.4}")
    });
    say!(
        "{} pairs; {} of {} compared{judged}",
        integer_text(linked.pairs.len() as u64),
        integer_text(linked.compared),
        integer_text(all),
    );
    Ok(if linked.pairs.is_empty() { Outcome::None } else { Outcome::Some })
}

/// A table that is encoded here, or filters that its owner has encoded.
fn side(args: &Link, path: &Path) -> Result<Side> {
    let fail = |e: Error| e.context(path.display());
    let open = || File::open(path).map_err(|e| fail(e.into()));
    let start = std::fs::File::open(path).and_then(|mut file| {
        let mut start = [0; 4];
        std::io::Read::read(&mut file, &mut start).map(|_| start)
    });
    if start.map_err(|e| fail(e.into()))? == [0x89, b'E', b'V', b'B'] {
        let list: Clk = input::opener(&args.key_file)?.open_as(path)?;
        let names = (1..=list.rows().len()).map(|i| i.to_string()).collect();
        return Ok(Side { list, names });
    }
    let schema = match &args.schema {
        Some(schema) => {
            let json =
                std::fs::read(schema).map_err(|e| Error::from(e).context(schema.display()))?;
            Schema::parse(&json).map_err(|e| e.context(schema.display()))?
        }
        None => {
            // The columns of the left file are those of both.
            let left =
                File::open(&args.left).map_err(|e| Error::from(e).context(args.left.display()))?;
            let names = header(left).map_err(|e| e.context(args.left.display()))?;
            let id =
                |name: &&String| args.id.as_ref().is_none_or(|id| !name.eq_ignore_ascii_case(id));
            Schema::plain(names.iter().filter(id))
        }
    };
    input::say_mark(path)?;
    let rows: Rows = schema.read(open()?, args.id.as_deref()).map_err(fail)?;
    let encoder = Encoder::new(schema, input::secret_key(&args.key_file)?, args.threshold)?;
    Ok(Side { list: encoder.list(&rows)?, names: rows.names })
}

/// The pairs of a file, `LEFT,RIGHT` a line.
fn truth(path: &Path) -> Result<Vec<(String, String)>> {
    let mut pairs = Vec::new();
    input::lines(path, Grammar::default(), Passes::Once)?.each(|_, records| {
        for record in records {
            let line = String::from_utf8_lossy(record.key);
            let pair = line.split_once(',').ok_or_else(|| {
                let message = format!("{line:?} is not a pair; write LEFT,RIGHT");
                Error::new(everbloom::Kind::BadRecord, message)
            })?;
            pairs.push((pair.0.trim().to_owned(), pair.1.trim().to_owned()));
        }
        Ok(())
    })?;
    Ok(pairs)
}
