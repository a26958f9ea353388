//! Which ones of a filter are cleared again, and how.

use crate::hash::{Digest, Generator};
use crate::parts::KeyPart;
use crate::parts::flat_bits::FlatBits;
use crate::probe::{Coincide, Indices};

/// Which of a troublesome key's k bits is cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Any of them.
    Random,
    /// The one that the fewest members have: argmin v_A.
    MinimumFn,
    /// The one that the most troublesome keys have: argmax v_B.
    MaximumFp,
    /// The one with the least v_A/v_B.
    Ratio,
}

/// How ones are cleared.
#[derive(Clone, Copy, Debug)]
pub enum Clearing {
    /// This many, at random.
    Bits(u64),
    /// This share of them, at random.
    Share(f64),
    /// One for every troublesome key that still passes.
    Selective(Rule),
}

/// Clears `s` of the ones, every choice of them equally likely, in one pass: each one is cleared with the share
/// of those still to be cleared among those still to be seen. Returns how many there were to clear.
pub(super) fn at_random(part: &mut FlatBits, generator: &mut Generator, s: u64) -> u64 {
    let mut ahead = part.bits.ones();
    let cleared = s.min(ahead);
    let (mut wanted, mut at) = (cleared, 0);
    while wanted > 0 && at < part.m() {
        if part.bits.get(at) {
            if generator.below(ahead) < wanted {
                part.bits.reset(at);
                wanted -= 1;
            }
            ahead -= 1;
        }
        at += 1;
    }
    cleared
}

/// Clears a bit of every key of `passing` that still passes; returns how many. Members and troublesome keys per bit
/// are those before any clearing, as in the paper; of equals the lowest bit is taken.
pub(super) fn selectively(
    part: &mut FlatBits,
    generator: &mut Generator,
    rule: Rule,
    members: &[Digest],
    passing: &[Digest],
) -> u64 {
    let [with_a, with_b] = match rule {
        Rule::Random => [false, false],
        Rule::MinimumFn => [true, false],
        Rule::MaximumFp => [false, true],
        Rule::Ratio => [true, true],
    };
    let members = if with_a { users(part, members) } else { Vec::new() };
    let troubles = if with_b { users(part, passing) } else { Vec::new() };
    let a = |i: u64| u64::from(members[i as usize]);
    let b = |i: u64| u64::from(troubles[i as usize]);
    let mut cleared = 0;
    for &digest in passing {
        if !part.contains(digest) {
            continue;
        }
        let mut bits = bits_of(part, digest);
        bits.sort_unstable();
        let chosen = match rule {
            Rule::Random => {
                // Uniform among the k hashes, not among their distinct bits.
                let hashes = part.probe.collect(digest, Coincide::PerHash);
                hashes.get(generator.below(hashes.len() as u64) as usize).copied()
            }
            Rule::MinimumFn => bits.into_iter().min_by_key(|i| a(*i)),
            Rule::MaximumFp => bits.into_iter().min_by_key(|i| std::cmp::Reverse(b(*i))),
            // v_B is never zero, since the key itself counts: quotients compare by products.
            Rule::Ratio => bits.into_iter().min_by(|i, j| (a(*i) * b(*j)).cmp(&(a(*j) * b(*i)))),
        };
        if let Some(bit) = chosen {
            part.bits.reset(bit);
            cleared += 1;
        }
    }
    cleared
}

/// How many of the keys have each bit. Where four billion are not enough, the rest makes no difference.
fn users(part: &FlatBits, keys: &[Digest]) -> Vec<u32> {
    let mut users = vec![0u32; part.m() as usize];
    for i in keys.iter().flat_map(|digest| bits_of(part, *digest)) {
        users[i as usize] = users[i as usize].saturating_add(1);
    }
    users
}

fn bits_of(part: &FlatBits, digest: Digest) -> Indices {
    part.probe.collect(digest, Coincide::Distinct)
}
