//! `everbloom diff`: set reconciliation, as two machines would do it. Both sides are played in this
//! process, and every byte that would cross the wire is counted.

use std::path::Path;

use everbloom::exchange::rateless::{Found, Holder, Seeker, Set};
use everbloom::exchange::{Limits, Party, run as exchange};
use everbloom_records::KeyType;
use everbloom_report::json::bytes;
use everbloom_report::number::{bytes_text, integer_text};
use serde_json::json;

use crate::args::Diff;
use crate::input::{self, Passes};
use crate::output::{print_bytes, print_json};
use crate::talk::say;
use crate::{Outcome, Result};

pub fn run(args: &Diff) -> Result<Outcome> {
    let (a, b) = (read(args, &args.a)?, read(args, &args.b)?);
    // The side with fewer bytes answers: at worst it sends all of them.
    let swapped = a.bytes() < b.bytes();
    let (large, small) = if swapped { (b, a) } else { (a, b) };
    let mut large = Party::new(Seeker::new(large), Limits::LOCAL);
    let mut small = Party::new(Holder::new(small), Limits::LOCAL);
    let sent = exchange(&mut large, &mut small)?.total();
    let Found { ours, theirs } = large.role.found().cloned().unwrap_or_default();
    let (large, small) = (large.role.set(), small.role.set());
    if swapped {
        report(args, [small, large], [&theirs, &ours], sent)
    } else {
        report(args, [large, small], [&ours, &theirs], sent)
    }
}

fn read(args: &Diff, path: &Path) -> Result<Set> {
    let mut set = Set::new();
    input::lines(path, input::grammar(&args.text), Passes::Once)?.each(|_, records| {
        records.iter().for_each(|record| set.insert(record.key));
        Ok(())
    })?;
    Ok(set)
}

/// A key as it was typed.
fn typed(args: &Diff, key: &[u8]) -> Vec<u8> {
    match <[u8; 8]>::try_from(key) {
        Ok(bytes) if args.text.key_type == Some(KeyType::U64) => {
            u64::from_le_bytes(bytes).to_string().into_bytes()
        }
        _ => key.to_vec(),
    }
}

fn report(
    args: &Diff,
    [a, b]: [&Set; 2],
    [only_a, only_b]: [&Vec<Vec<u8>>; 2],
    sent: u64,
) -> Result<Outcome> {
    let all = a.bytes().min(b.bytes());
    if args.machine.json {
        let list =
            |keys: &[Vec<u8>]| keys.iter().map(|k| bytes(&typed(args, k))).collect::<Vec<_>>();
        print_json(&json!({
            "only_a": list(only_a), "only_b": list(only_b),
            "keys_a": a.len(), "keys_b": b.len(),
            "bytes_exchanged": sent, "bytes_of_everything": all,
        }))?;
    } else {
        let mut text = Vec::new();
        for (mark, keys) in [(b"< ", only_a), (b"> ", only_b)] {
            for key in keys {
                text.extend_from_slice(mark);
                text.extend_from_slice(&typed(args, key));
                text.push(b'\n');
            }
        }
        print_bytes(&text)?;
    }
    say!(
        "{} and {} keys, {} differ; {} exchanged, sending everything would take {}",
        integer_text(a.len() as u64),
        integer_text(b.len() as u64),
        integer_text((only_a.len() + only_b.len()) as u64),
        bytes_text(sent),
        bytes_text(all),
    );
    Ok(if only_a.is_empty() && only_b.is_empty() { Outcome::Some } else { Outcome::None })
}
