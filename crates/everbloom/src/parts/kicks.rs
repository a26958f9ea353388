//! Bounded kicks with roll-back: how tables make room for an entry whose places are all taken.
//!
//! The entry takes somebody's place; whoever was there moves to another place of its own, throwing out the next
//! one if that is taken, too, and so on. If the last one finds no place after so many kicks, they are
//! undone in reverse order: a refused insertion changes nothing.
//!
//! ```text
//!   x ──▶ [a]      a ──▶ [b]      b ──▶ [ ]   free: done
//!                                 b ──▶ [c] … too many: [c] [b] [a] are put back, x is refused
//! ```

use smallvec::SmallVec;

/// A table whose entries can be moved between places.
pub(crate) trait Nests {
    /// What is moved.
    type Entry;
    /// A slot of the table.
    type Slot: Copy;

    /// Puts an entry into a free slot of one of its places, of those it was not just thrown `from`; hands it back
    /// if they are all taken.
    fn settle(&mut self, entry: Self::Entry, from: Option<Self::Slot>) -> Option<Self::Entry>;

    /// The slot that an entry takes from another one, in one of the places where it could not settle; `kick`
    /// counts from 0.
    fn victim(&mut self, entry: &Self::Entry, from: Option<Self::Slot>, kick: u32) -> Self::Slot;

    /// Writes an entry over another one, which is returned; also the slot where the entry is now. Undone by
    /// swapping the other one back into that slot.
    fn swap(&mut self, slot: Self::Slot, entry: Self::Entry) -> (Self::Slot, Self::Entry);
}

/// Puts an entry into a table with at most `most` kicks; hands it back, with the table as it was, if that is not
/// enough.
pub(crate) fn insert<N: Nests>(nests: &mut N, entry: N::Entry, most: u32) -> Option<N::Entry> {
    let mut homeless = nests.settle(entry, None)?;
    let mut path: SmallVec<[N::Slot; 16]> = SmallVec::new();
    for kick in 0..most {
        let from = path.last().copied();
        let slot = nests.victim(&homeless, from, kick);
        let (landed, out) = nests.swap(slot, homeless);
        path.push(landed);
        homeless = nests.settle(out, Some(landed))?;
    }
    while let Some(slot) = path.pop() {
        homeless = nests.swap(slot, homeless).1;
    }
    Some(homeless)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers in slots of which each has two: x mod m and x/m mod m.
    struct Pairs {
        slots: Vec<Option<u64>>,
        kicks: u32,
    }

    impl Pairs {
        fn places(&self, x: u64) -> [usize; 2] {
            let m = self.slots.len();
            [x as usize % m, x as usize / m % m]
        }
    }

    impl Nests for Pairs {
        type Entry = u64;
        type Slot = usize;

        fn settle(&mut self, x: u64, _from: Option<usize>) -> Option<u64> {
            for place in self.places(x) {
                if self.slots[place].is_none() {
                    self.slots[place] = Some(x);
                    return None;
                }
            }
            Some(x)
        }

        fn victim(&mut self, x: &u64, from: Option<usize>, _kick: u32) -> usize {
            let [a, b] = self.places(*x);
            if from == Some(a) { b } else { a }
        }

        fn swap(&mut self, slot: usize, x: u64) -> (usize, u64) {
            self.kicks += 1;
            (slot, self.slots[slot].replace(x).expect("only entries are thrown out"))
        }
    }

    #[test]
    fn entries_move_or_nothing_changes() {
        let (mut taken, mut refused, mut moved) = (0, 0, 0);
        for seed in 0..200u64 {
            let mut pairs = Pairs { slots: vec![None; 16], kicks: 0 };
            let mut inside = Vec::new();
            for i in 0..14 {
                let x = crate::hash::mix64(seed << 32 | i) % 256;
                let (before, kicks) = (pairs.slots.clone(), pairs.kicks);
                match insert(&mut pairs, x, 20) {
                    None => {
                        inside.push(x);
                        taken += 1;
                        moved += pairs.kicks - kicks;
                    }
                    Some(back) => {
                        assert_eq!((back, &pairs.slots), (x, &before));
                        assert_eq!(pairs.kicks - kicks, 40, "twenty there, twenty back");
                        refused += 1;
                    }
                }
                let mut held: Vec<u64> = pairs.slots.iter().flatten().copied().collect();
                held.sort_unstable();
                inside.sort_unstable();
                assert_eq!(held, inside);
            }
        }
        assert!(taken > 1000 && refused > 100 && moved > 500, "{taken} {refused} {moved}");
    }
}
