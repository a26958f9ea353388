//! `everbloom diff`: set reconciliation, as two machines would do it. Both sides are played in this
//! process, and every byte that would cross the wire is counted.

use std::path::Path;

use everbloom::exchange::reconcile::{Found, Holder, Seeker, Set};
use everbloom::exchange::{Limits, Party, run as exchange};
use everbloom_records::Grammar;
use everbloom_report::json::bytes;
use everbloom_report::number::{bytes_text, integer_text};
use serde_json::json;

use crate::args::Diff;
use crate::input::{self, Passes};
use crate::output::{print_bytes, print_json};
use crate::talk::say;
use crate::{Outcome, Result};

pub fn run(args: &Diff) -> Result<Outcome> {
    let mut a = Party::new(Seeker::new(read(&args.a)?), Limits::LOCAL);
    let mut b = Party::new(Holder::new(read(&args.b)?), Limits::LOCAL);
    let sent = exchange(&mut a, &mut b)?.total();
    let found = a.role.found().cloned().unwrap_or_default();
    report(args, a.role.set(), b.role.set(), &found, sent)
}

fn read(path: &Path) -> Result<Set> {
    let mut set = Set::new();
    input::lines(path, Grammar::default(), Passes::Once)?.each(|_, records| {
        records.iter().for_each(|record| set.insert(record.key));
        Ok(())
    })?;
    Ok(set)
}

/// What it takes to send a set whole, a line a key.
fn whole(set: &Set) -> u64 {
    set.keys().map(|key| key.len() as u64 + 1).sum()
}

fn report(args: &Diff, a: &Set, b: &Set, found: &Found, sent: u64) -> Result<Outcome> {
    let (only_a, only_b) = (&found.ours, &found.theirs);
    let all = whole(a).min(whole(b));
    if args.machine.json {
        let list = |keys: &[Vec<u8>]| keys.iter().map(|k| bytes(k)).collect::<Vec<_>>();
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
                text.extend_from_slice(key);
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
