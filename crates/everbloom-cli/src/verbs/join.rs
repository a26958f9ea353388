//! `everbloom join`: a bloomjoin. The left side sends a filter of its keys; the right side sends back the
//! rows that pass; the left side joins those exactly, so that false positives cost bytes and no rows.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::Path;

use everbloom::codec;
use everbloom::membership::BlockedBloom;
use everbloom_records::{Field, Grammar};
use everbloom_report::json::bytes;
use everbloom_report::number::{bytes_text, integer_text};
use serde_json::json;

use crate::args::Join;
use crate::input::{self, Passes};
use crate::output::Output;
use crate::talk::say;
use crate::{Outcome, Result};

pub fn run(args: &Join) -> Result<Outcome> {
    let delimiter = args.delimiter.unwrap_or(b'\t');
    let [left, right] = [args.field.0, args.field.1].map(|n| input::column(n, args.delimiter));
    let mut rows: HashMap<Vec<u8>, Vec<Vec<u8>>> = HashMap::new();
    each_row(&args.left, left, |key, row| {
        rows.entry(key.to_vec()).or_default().push(row.to_vec());
        Ok(())
    })?;
    let mut filter = BlockedBloom::with_rate((rows.len() as u64).max(1), args.fpr)?;
    rows.keys().for_each(|key| {
        filter.insert(key);
    });

    let (mut right_bytes, mut sent_bytes, mut in_vain, mut joined) = (0u64, 0u64, 0u64, 0u64);
    let mut out = Output::new();
    let done = each_row(&args.right, right, |key, row| {
        right_bytes += row.len() as u64 + 1;
        if !filter.contains(key) {
            return Ok(());
        }
        sent_bytes += row.len() as u64 + 1;
        let Some(partners) = rows.get(key) else {
            in_vain += 1;
            return Ok(());
        };
        for left in partners {
            joined += 1;
            if args.machine.json {
                out.json(&json!({ "left": bytes(left), "right": bytes(row) }))?;
            } else {
                out.write(|out| {
                    out.write_all(left)?;
                    out.write_all(&[delimiter])?;
                    out.write_all(row)?;
                    out.write_all(b"\n")
                })?;
            }
        }
        Ok(())
    });
    let filter_bytes = codec::to_bytes(&filter).len() as u64;
    let summary = args.machine.json.then(|| {
        json!({
            "rows": joined,
            "rows_in_vain": in_vain,
            "bytes_exchanged": filter_bytes + sent_bytes,
            "bytes_filter": filter_bytes,
            "bytes_of_everything": right_bytes,
        })
    });
    out.end(done, summary)?;
    say!(
        "{} rows joined; {} exchanged (filter {}, {} rows in vain), sending the right file would take {}",
        integer_text(joined),
        bytes_text(filter_bytes + sent_bytes),
        bytes_text(filter_bytes),
        integer_text(in_vain),
        bytes_text(right_bytes),
    );
    Ok(if joined > 0 { Outcome::Some } else { Outcome::None })
}

fn each_row(
    path: &Path,
    field: Field,
    mut f: impl FnMut(&[u8], &[u8]) -> everbloom::error::Result<()>,
) -> Result<()> {
    let grammar = Grammar { field, ..Grammar::default() };
    Ok(input::lines(path, grammar, Passes::Once)?.each(|rows, records| {
        rows.iter().zip(records).try_for_each(|(row, record)| f(record.key, row))
    })?)
}
