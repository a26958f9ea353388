//! `everbloom join`: a bloomjoin. The left side sends a filter of its keys; the right side sends back the
//! rows that pass; the left side joins those exactly, so that false positives cost bytes and no rows.

use std::collections::HashMap;
use std::path::Path;

use everbloom::codec;
use everbloom::membership::BlockedBloom;
use everbloom::variant::ValueKind;

use super::print_bytes;
use crate::args::{Join, KeyType};
use crate::quantity::{bytes_text, integer_text};
use crate::records::{Grammar, Lines, Passes, column};
use crate::talk::say;
use crate::{Outcome, Result};

pub fn run(args: &Join) -> Result<Outcome> {
    let delimiter = args.delimiter.unwrap_or(b'\t');
    let (left_field, right_field) = args.field;
    let mut rows: HashMap<Vec<u8>, Vec<Vec<u8>>> = HashMap::new();
    each_row(&args.left, left_field, delimiter, &mut |key, row| {
        rows.entry(key.to_vec()).or_default().push(row.to_vec());
    })?;
    let mut filter = BlockedBloom::with_rate((rows.len() as u64).max(1), args.fpr)?;
    rows.keys().for_each(|key| {
        filter.insert(key);
    });

    let (mut right_bytes, mut sent_bytes, mut in_vain, mut out) = (0u64, 0u64, 0u64, Vec::new());
    let mut joined = 0u64;
    each_row(&args.right, right_field, delimiter, &mut |key, row| {
        right_bytes += row.len() as u64 + 1;
        if !filter.contains(key) {
            return;
        }
        sent_bytes += row.len() as u64 + 1;
        let Some(partners) = rows.get(key) else {
            in_vain += 1;
            return;
        };
        for left in partners {
            out.extend_from_slice(left);
            out.push(delimiter);
            out.extend_from_slice(row);
            out.push(b'\n');
            joined += 1;
        }
    })?;
    print_bytes(&out)?;
    let filter_bytes = codec::to_bytes(&filter).len() as u64;
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
    field: usize,
    delimiter: u8,
    f: &mut dyn FnMut(&[u8], &[u8]),
) -> Result<()> {
    let grammar = Grammar { key: KeyType::Bytes, value: ValueKind::None, end: b'\n', column: None };
    let mut line = 0;
    Lines::new(path, grammar, Passes::Once)?.each(&mut |_, records| {
        for record in records {
            line += 1;
            let key = column(record.key, field as u32, delimiter)
                .map_err(|e| e.context(format!("line {line}")))?;
            f(key, record.key);
        }
        Ok(())
    })?;
    Ok(())
}
