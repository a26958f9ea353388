//! Parallelism, shown by where keys leave their marks.
//!
//! Cells can be looked at in parallel if they fall into parts of which every key touches a fixed number:
//! then a memory and a unit of its own serve each part. Where a filter tells which cells a query looks
//! at, those are taken; else the bits that inserting a single key changes in the filter's file. For each
//! key they are sorted; if the j-th of every key lies before the (j+1)-th of every other, a part ends
//! between the two. So do lanes of words, for positions modulo the word; and banks, of which no key
//! touches any twice.

use everbloom::Result;
use everbloom::internals::file as codec;
use everbloom::internals::file::Opener;

use super::checks::{Outcome, cells, tried};
use super::subject::{PLANNED, Subject};
use crate::Shown;

/// Keys looked at where the filter tells their cells, and where it has to be written for each.
const TRACED: u64 = 2000;
const WRITTEN: u64 = 100;

/// Words whose lanes may be parts, in bits.
const WORDS: [u64; 8] = [32, 64, 128, 256, 512, 1024, 2048, 4096];

/// Most banks tried. Two random cells share one of sixteen often enough to be seen.
const MOST_BANKS: u64 = 16;

pub fn parallelism(subject: &Subject) -> Result<Outcome> {
    let marks = match traced(subject)? {
        Some(marks) => marks,
        None => match written(subject)? {
            Some(marks) => marks,
            None => return unseen("neither queries nor insertions show their cells"),
        },
    };
    let Some((probes, full)) = commonest(&marks) else {
        return unseen("what an insertion changes is more than cells");
    };
    if probes < 2 {
        return tried(false, "one cell per key: nothing to divide");
    }
    let parts = separate(&full, |i| i);
    if parts > 1 {
        return tried(
            true,
            format!("{probes} cells of every key in {parts} parts, as many in each"),
        );
    }
    let lanes = WORDS.map(|word| (separate(&full, |i| i % word), word));
    if let Some((lanes, word)) = lanes.into_iter().max_by_key(|(lanes, _)| *lanes)
        && lanes > 1
    {
        return tried(
            true,
            format!("{probes} cells of every key in {lanes} lanes of a {word}-bit word"),
        );
    }
    let cells = full.iter().flat_map(|m| m.iter()).max().map_or(1, |most| most + 1);
    for banks in probes as u64..=MOST_BANKS {
        // The last cells may not have been touched: sizes are tried up to a hundredth above.
        for size in (cells..=cells + cells / 100).map(|m| m.div_ceil(banks)) {
            let apart = |m: &&Vec<u64>| m.windows(2).all(|w| w[0] / size < w[1] / size);
            if full.iter().all(apart) {
                return tried(
                    true,
                    format!("no two of {probes} cells of a key in one of {banks} banks"),
                );
            }
        }
    }
    tried(false, format!("{probes} cells of a key fall anywhere among those of others"))
}

fn unseen(how: &str) -> Result<Outcome> {
    Ok(Outcome::new(Shown::Unseen, how))
}

/// The number of cells of a key, and the keys that have it. A few touch a cell twice; if most do not
/// have the same number, marks are more than cells: bits of sums, say.
fn commonest(marks: &[Vec<u64>]) -> Option<(usize, Vec<&Vec<u64>>)> {
    let of_length = |n: usize| marks.iter().filter(|m| m.len() == n).collect::<Vec<_>>();
    let most = marks.iter().map(Vec::len).max_by_key(|n| of_length(*n).len())?;
    let keys = of_length(most);
    (keys.len() * 10 >= marks.len() * 7).then_some((most, keys))
}

/// In how many parts the keys' cells fall, seen through `at`.
fn separate(marks: &[&Vec<u64>], at: impl Fn(u64) -> u64) -> usize {
    let sorted: Vec<Vec<u64>> = marks
        .iter()
        .map(|m| {
            let mut places: Vec<u64> = m.iter().map(|i| at(*i)).collect();
            places.sort_unstable();
            places
        })
        .collect();
    let probes = sorted.first().map_or(0, Vec::len);
    let ends = (1..probes).filter(|&j| {
        let before = sorted.iter().map(|places| places[j - 1]).max();
        before < sorted.iter().map(|places| places[j]).min()
    });
    ends.count() + 1
}

/// The cells that queries for members look at, if the filter tells.
fn traced(subject: &Subject) -> Result<Option<Vec<Vec<u64>>>> {
    let keys = subject.members(PLANNED);
    let records = keys.records();
    let filter = subject.build(&records)?;
    if filter.trace(records[0].key).is_empty() {
        return Ok(None);
    }
    let cells = |key: &[u8]| filter.trace(key).iter().map(|t| t.index).collect::<Vec<_>>();
    // Members are looked up in all their cells; of non-members, those are taken that are.
    let all = records.iter().map(|record| cells(record.key).len()).max();
    let others = subject.non_members(TRACED);
    let non_members = others.records();
    let keys = records.iter().chain(&non_members).map(|record| cells(record.key));
    Ok(Some(keys.filter(|cells| Some(cells.len()) == all).map(distinct).collect()))
}

/// The bits of the filter's cells that inserting a key changes, if they stay where they are.
fn written(subject: &Subject) -> Result<Option<Vec<Vec<u64>>>> {
    let keys = subject.members(PLANNED / 16);
    let (first, others) = (keys.records()[0], subject.non_members(WRITTEN));
    // Some filters make room for a group with its first key: if so, one is there before.
    for before in [&[][..], &[first]] {
        let file = codec::to_bytes(&*subject.build(before)?);
        let bare = cells(&file);
        let mut marks = Vec::new();
        for record in others.records() {
            // Opened again for every key: some variants take long to plan.
            let mut filter = Opener::new().decode(&file)?;
            let Some(insert) = filter.as_insert() else { return Ok(None) };
            insert.insert(record)?;
            let file = codec::to_bytes(&*filter);
            let now = cells(&file);
            if now.len() != bare.len() {
                break;
            }
            let changed = now.iter().zip(bare).enumerate().filter(|(_, (a, b))| a != b);
            marks.push(distinct(changed.flat_map(|(i, (a, b))| {
                let bits = a ^ b;
                (0..8).filter(move |j| bits >> j & 1 == 1).map(move |j| 8 * i as u64 + j)
            })));
        }
        if marks.len() == WRITTEN as usize {
            return Ok(Some(marks));
        }
    }
    Ok(None)
}

fn distinct(places: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut places: Vec<u64> = places.into_iter().collect();
    places.sort_unstable();
    places.dedup();
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(slug: &str, form: &str) -> Shown {
        let subject = Subject::new(slug, form, &[], 1).expect(slug);
        parallelism(&subject).expect(slug).shown
    }

    #[test]
    fn parts_are_seen_in_traces_lanes_and_banks() {
        assert_eq!(shown("partitioned", "standard"), Shown::Works);
        assert_eq!(shown("split-block", "parquet"), Shown::Works);
        assert_eq!(shown("banked", "standard"), Shown::Works);
    }

    #[test]
    fn cells_anywhere_are_no_parts() {
        assert_eq!(shown("bloom", "standard"), Shown::Fails);
        assert_eq!(shown("compressed", "standard"), Shown::Fails);
        assert_eq!(shown("two-choices", "standard"), Shown::Fails);
        assert_eq!(shown("fingerprint-counting", "standard"), Shown::Fails);
    }
}
