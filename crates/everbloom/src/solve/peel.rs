//! Peeling: an order in which every key has a cell to itself.
//!
//! Keys are the edges of a hypergraph, each joining K cells. A cell with a single key left is that key's
//! own; taking the key away may leave other cells with a single key, and so on:
//!
//! ```text
//!   a b c       a: cells 0 1 2      cell 0 has only a: peel a      order: a→0, b→1, c→2
//!   ╲│╳│╱       b: cells 1 2 3      then cell 1 only b: peel b     in reverse each key finds its own
//!   0 1 2 3 4   c: cells 2 3 4      then cell 2 only c             cell free and the others settled
//! ```
//!
//! For K = 3 and independent cells it ends with no key left if there are at least 1.2218 cells per key
//! (Molloy 2005; catalogue §18), and gets stuck, in large sets for certain, below.

use crate::memory::prefetch;

/// A key that was peeled: its number, and which of its K cells is its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peeled {
    /// The number of the key.
    pub key: usize,
    /// Which of its cells, 0..K.
    pub slot: usize,
}

/// Bits of a cell that count its keys; the others hold the exclusive or of their numbers.
const COUNT_BITS: u32 = 16;
const COUNT: u64 = (1 << COUNT_BITS) - 1;

/// The order in which keys peel off `cells` cells, or `None` if some never do. `around` has the K cells of each key, all different
/// and below `cells`.
///
/// Each cell holds the number of its keys and the xor of their numbers, so that the single key of a cell is found without
/// lists; both in one word, since words lie all over the memory. First come, first served: who is next is known long before,
/// and its words are on their way. On a stack every step would wait for the one before, three times as long.
///
/// Two keys with the same cells never peel, and more than 65,535 keys of one cell, which chance does not give it, are not tried.
pub fn peel<I: Copy + Into<u64>, const K: usize>(
    around: &[[I; K]],
    cells: usize,
) -> Option<Vec<Peeled>> {
    let index = |cell: I| cell.into() as usize;
    let mut held = vec![0u64; cells];
    for (key, around) in (0u64..).zip(around) {
        for cell in around.map(index) {
            held[cell] = (held[cell] ^ key << COUNT_BITS).wrapping_add(1);
            if held[cell] & COUNT == 0 {
                return None;
            }
        }
    }
    // Cells with a single key, in the order in which they became so. A cell does once, so there are never more than all.
    let mut single = vec![0usize; cells + 1];
    let (mut next, mut last) = (0, 0);
    for (cell, word) in held.iter().enumerate() {
        // Written whether it counts or not: nobody could predict which.
        single[last] = cell;
        last += usize::from(word & COUNT == 1);
    }
    let mut order = Vec::with_capacity(around.len());
    while next < last {
        fetch(&single[next..last], &held, around);
        let own = single[next];
        next += 1;
        // Its last key may have been peeled from another cell since.
        if held[own] & COUNT != 1 {
            continue;
        }
        let key = held[own] >> COUNT_BITS;
        let mut slot = 0;
        for (j, cell) in around[key as usize].map(index).into_iter().enumerate() {
            held[cell] = (held[cell] - 1) ^ key << COUNT_BITS;
            slot |= if cell == own { j } else { 0 };
            single[last] = cell;
            last += usize::from(held[cell] & COUNT == 1);
        }
        order.push(Peeled { key: key as usize, slot });
    }
    (order.len() == around.len()).then_some(order)
}

/// Steps before a cell is looked at, its key, and the cells of that one.
const AHEAD: [usize; 3] = [16, 8, 4];

/// Fetches what the next steps read: a cell with a single key, the key's cells, and these.
#[inline(always)]
fn fetch<I: Copy + Into<u64>, const K: usize>(single: &[usize], held: &[u64], around: &[[I; K]]) {
    let [word, key, cells] = AHEAD.map(|ahead| single.get(ahead));
    // The key of a cell that has none left by then may be any number.
    let key_of = |cell: usize| (held[cell] >> COUNT_BITS) as usize;
    if let Some(cell) = word {
        prefetch(held.as_ptr().wrapping_add(*cell).cast());
    }
    if let Some(cell) = key {
        prefetch(around.as_ptr().wrapping_add(key_of(*cell)).cast());
    }
    if let Some(cells) = cells.and_then(|cell| around.get(key_of(*cell))) {
        for cell in cells {
            prefetch(held.as_ptr().wrapping_add((*cell).into() as usize).cast());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_peels() {
        let cells = [[0u32, 1, 2], [1, 2, 3], [2, 3, 4]];
        let order = peel(&cells, 5).expect("a chain peels");
        // In reverse, no later key's own cell is among an earlier key's.
        let own = |p: &Peeled| cells[p.key][p.slot];
        for (i, peeled) in order.iter().enumerate() {
            assert!(order[i + 1..].iter().all(|later| !cells[later.key].contains(&own(peeled))));
        }
    }

    #[test]
    fn keys_with_the_same_cells_do_not_peel() {
        assert_eq!(peel(&[[0u32, 3, 6]; 2], 9), None);
        // All have cell 0, which would seem to have one when their number begins anew.
        let crowd: Vec<[u32; 3]> =
            (0..=1 << COUNT_BITS).map(|i| [0, 2 * i + 1, 2 * i + 2]).collect();
        assert_eq!(peel(&crowd, 2 * crowd.len() + 1), None);
        assert!(peel(&crowd[2..], 2 * crowd.len() + 1).is_some());
        assert_eq!(peel(&[[0u64; 3]; 0], 9), Some(Vec::new()));
    }
}
