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

/// A key that was peeled: its number, and which of its K cells is its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peeled {
    /// The number of the key.
    pub key: usize,
    /// Which of its cells, 0..K.
    pub slot: usize,
}

/// The order in which `keys` keys peel off `cells` cells, or `None` if some never do.
///
/// `cells_of` tells the K cells of a key, all different and below `cells`, and the same whenever it is
/// asked: they are not stored. Each cell holds the number of its keys and the xor of their numbers, so
/// that the single key of a cell is found without lists. Two keys with the same cells never peel.
pub fn peel<const K: usize>(
    keys: usize,
    cells: usize,
    cells_of: impl Fn(usize) -> [usize; K],
) -> Option<Vec<Peeled>> {
    let (mut degree, mut xor) = (vec![0u32; cells], vec![0usize; cells]);
    for key in 0..keys {
        for cell in cells_of(key) {
            degree[cell] += 1;
            xor[cell] ^= key;
        }
    }
    let mut single: Vec<usize> = (0..cells).filter(|&cell| degree[cell] == 1).collect();
    let mut order = Vec::with_capacity(keys);
    while let Some(own) = single.pop() {
        // Its last key may have been peeled from another cell since.
        if degree[own] != 1 {
            continue;
        }
        let key = xor[own];
        let around = cells_of(key);
        let slot = around.iter().position(|&cell| cell == own)?;
        order.push(Peeled { key, slot });
        for cell in around {
            degree[cell] -= 1;
            xor[cell] ^= key;
            if degree[cell] == 1 {
                single.push(cell);
            }
        }
    }
    (order.len() == keys).then_some(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_peels() {
        let cells = [[0, 1, 2], [1, 2, 3], [2, 3, 4]];
        let order = peel(3, 5, |key| cells[key]).expect("a chain peels");
        // In reverse, no later key's own cell is among an earlier key's.
        let own = |p: &Peeled| cells[p.key][p.slot];
        for (i, peeled) in order.iter().enumerate() {
            assert!(order[i + 1..].iter().all(|later| !cells[later.key].contains(&own(peeled))));
        }
    }

    #[test]
    fn keys_with_the_same_cells_do_not_peel() {
        assert_eq!(peel(2, 9, |_| [0, 3, 6]), None);
        assert_eq!(peel(0, 9, |_| [0, 3, 6]), Some(Vec::new()));
    }
}
