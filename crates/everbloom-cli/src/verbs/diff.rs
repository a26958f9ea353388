//! `everbloom diff`: set reconciliation, as two machines would do it.
//!
//! Both sides are played in this process, and every byte that would cross the wire is counted: A sends
//! its strata; B estimates the difference and asks for cells of that size; A sends them; B subtracts and
//! decodes, and asks again for twice as many where that fails; then both sides exchange the keys behind
//! the ids that were found. Ids are 64-bit, so in the end both sides compare a digest of what they
//! believe to share; should two keys ever have shared an id, everything is done again under another seed.

use std::collections::HashMap;
use std::path::Path;

use everbloom::codec;
use everbloom::filter::Difference;
use everbloom::hash::Hasher;
use everbloom::reconciling::Invertible;
use everbloom::reconciling::invertible::MARGIN;
use everbloom::theory::peeling::cells_for;
use everbloom_records::Grammar;
use everbloom_report::json::bytes;
use everbloom_report::number::{bytes_text, integer_text};
use serde_json::json;

use crate::args::Diff;
use crate::input::{self, Passes};
use crate::output::{print_bytes, print_json};
use crate::talk::say;
use crate::{Outcome, Result, Stop};

/// Cells per id, and how often their number may turn out too small.
const K: u32 = 4;
const FAILURE: f64 = 0.01;

/// A set of keys, by id, and what it takes to send it whole.
struct Side {
    keys: HashMap<u64, Vec<u8>>,
    bytes: u64,
    /// Two different keys of this side have one id: another seed is needed.
    collided: bool,
}

pub fn run(args: &Diff) -> Result<Outcome> {
    for seed in 0..8 {
        let hasher = Hasher::seeded(seed);
        let (a, b) = (read(&args.a, &hasher)?, read(&args.b, &hasher)?);
        if a.collided || b.collided {
            continue;
        }
        let (difference, sent) = reconcile(&a, &b, &hasher)?;
        if shared_digest(&a, &difference.ours) == shared_digest(&b, &difference.theirs) {
            return report(args, &a, &b, &difference, sent);
        }
    }
    Err(Stop::Error("ids collide under eight seeds: the keys were chosen to do so".to_owned()))
}

fn read(path: &Path, hasher: &Hasher) -> Result<Side> {
    let namer = Invertible::with_shape(0, K, hasher.clone());
    let mut side = Side { keys: HashMap::new(), bytes: 0, collided: false };
    input::lines(path, Grammar::default(), Passes::Once)?.each(|_, records| {
        for record in records {
            let id = namer.id(record.key);
            match side.keys.get(&id) {
                Some(there) => side.collided |= there != record.key,
                None => {
                    side.bytes += record.key.len() as u64 + 1;
                    side.keys.insert(id, record.key.to_vec());
                }
            }
        }
        Ok(())
    })?;
    Ok(side)
}

/// The difference, and the bytes that crossed the wire.
fn reconcile(a: &Side, b: &Side, hasher: &Hasher) -> Result<(Difference, u64)> {
    let fill = |mut filter: Invertible, side: &Side| {
        side.keys.keys().for_each(|id| {
            filter.insert_id(*id);
        });
        filter
    };
    let strata = |side: &Side| fill(Invertible::estimator(hasher.clone()), side);
    let theirs = strata(b);
    let mut ours = strata(a);
    let mut sent = codec::to_bytes(&theirs).len() as u64;
    ours.subtract(&theirs)?;
    let estimate = ours.estimate()?;
    let mut size = ((estimate as f64 * MARGIN).ceil() as u64).max(1);
    loop {
        let count = cells_for(size, FAILURE, K).ceil() as u64;
        let cells = |side: &Side| fill(Invertible::with_shape(count, K, hasher.clone()), side);
        let theirs = cells(b);
        sent += 8 + codec::to_bytes(&theirs).len() as u64;
        let mut ours = cells(a);
        ours.subtract(&theirs)?;
        match ours.decode() {
            Ok(difference) => {
                sent += keys_sent(a, &difference.ours) + keys_sent(b, &difference.theirs);
                // B has to be told which ids A wants to hear of, and both compare a digest.
                sent += 8 * difference.theirs.len() as u64 + 16;
                return Ok((difference, sent));
            }
            Err(_) if size < 4 * (a.keys.len() + b.keys.len()) as u64 => size *= 2,
            Err(e) => return Err(e.into()),
        }
    }
}

fn keys_sent(side: &Side, ids: &[u64]) -> u64 {
    ids.iter().filter_map(|id| side.keys.get(id)).map(|key| key.len() as u64 + 1).sum()
}

/// A digest of the keys that a side believes to share: all but its own. A sum, so order does not matter.
fn shared_digest(side: &Side, own: &[u64]) -> (u64, u64) {
    let own: std::collections::HashSet<&u64> = own.iter().collect();
    let hasher = Hasher::seeded(0x5348_4152_4544);
    let shared = side.keys.iter().filter(|(id, _)| !own.contains(id));
    shared
        .map(|(_, key)| hasher.digest(key))
        .fold((0, 0), |(x, y), d| (x.wrapping_add(d.h1), y.wrapping_add(d.h2)))
}

fn report(args: &Diff, a: &Side, b: &Side, difference: &Difference, sent: u64) -> Result<Outcome> {
    let sorted = |side: &Side, ids: &[u64]| {
        let mut keys: Vec<Vec<u8>> =
            ids.iter().filter_map(|id| side.keys.get(id)).cloned().collect();
        keys.sort_unstable();
        keys
    };
    let (only_a, only_b) = (sorted(a, &difference.ours), sorted(b, &difference.theirs));
    let all = a.bytes.min(b.bytes);
    if args.machine.json {
        let list = |keys: &[Vec<u8>]| keys.iter().map(|k| bytes(k)).collect::<Vec<_>>();
        print_json(&json!({
            "only_a": list(&only_a), "only_b": list(&only_b),
            "keys_a": a.keys.len(), "keys_b": b.keys.len(),
            "bytes_exchanged": sent, "bytes_of_everything": all,
        }))?;
    } else {
        let mut text = Vec::new();
        for (mark, keys) in [(b"< ", &only_a), (b"> ", &only_b)] {
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
        integer_text(a.keys.len() as u64),
        integer_text(b.keys.len() as u64),
        integer_text((only_a.len() + only_b.len()) as u64),
        bytes_text(sent),
        bytes_text(all),
    );
    Ok(if only_a.is_empty() && only_b.is_empty() { Outcome::Some } else { Outcome::None })
}
