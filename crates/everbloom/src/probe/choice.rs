//! The choice among hash groups: which of several sets of cells adds the fewest ones.
//!
//! Groups are told apart by a number that salts the digest, so that any number of them costs no
//! further hashing of the key.

use super::Indices;
use crate::cells::Bits;
use crate::error::{Error, Result};

/// Probes that a search among candidates may take in all: a minute or so.
const MAX_SEARCH: u64 = 1 << 34;

/// Refuses a search among `candidates` candidates of `probes` probes each that would take too long;
/// `name` is the parameter to lower.
pub(crate) fn check_search(name: &str, candidates: u64, probes: u64) -> Result<()> {
    if probes.saturating_mul(candidates) <= MAX_SEARCH {
        return Ok(());
    }
    Err(Error::parameter(format!(
        "{candidates} candidates of {probes} probes each take too long to search: lower {{{name}}} so \
         that there are at most {} candidates, or build for fewer keys",
        MAX_SEARCH / probes.max(1)
    )))
}

/// Sets the cells of the candidate that adds the fewest ones, of equals the first. Says which it was
/// and how many ones it added.
///
/// `cells(c, mark)` calls `mark` with every cell of candidate c. A trial marks cells in the array
/// itself, so that a cell met twice counts once, and takes its marks back before the next one.
#[inline]
pub fn place_fewest(
    bits: &mut Bits,
    candidates: u64,
    cells: impl Fn(u64, &mut dyn FnMut(u64)),
) -> (u64, u64) {
    let (mut chosen, mut fewest) = (0, Indices::new());
    let mut fresh = Indices::new();
    for candidate in 0..candidates {
        fresh.clear();
        cells(candidate, &mut |i| {
            if !bits.get(i) {
                bits.set(i);
                fresh.push(i);
            }
        });
        fresh.iter().for_each(|&i| bits.reset(i));
        if candidate == 0 || fresh.len() < fewest.len() {
            chosen = candidate;
            std::mem::swap(&mut fewest, &mut fresh);
        }
    }
    fewest.iter().for_each(|&i| {
        bits.set(i);
    });
    (chosen, fewest.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_new_cells_win_and_trials_leave_no_trace() {
        let mut bits = Bits::new(100);
        (0..10).for_each(|i| {
            bits.set(i);
        });
        // Three new, two new (one of them twice), two new: the first of the two wins.
        let sets: [&[u64]; 3] = [&[1, 20, 30, 40], &[2, 3, 50, 50, 60], &[4, 70, 80]];
        let placed = place_fewest(&mut bits, 3, |c, mark| {
            sets[c as usize].iter().copied().for_each(mark);
        });
        assert_eq!(placed, (1, 2));
        let ones: Vec<u64> = (10..100).filter(|&i| bits.get(i)).collect();
        assert_eq!(ones, [50, 60]);
        // A candidate that is there already adds nothing.
        let again = place_fewest(&mut bits, 3, |c, mark| {
            sets[c as usize].iter().copied().for_each(mark);
        });
        assert_eq!((again, bits.ones()), ((1, 0), 12));
    }
}
