//! Message passing: how much did each key add to cells that hold only sums? (Lu, Montanari, Prabhakar, Dharmapurikar,
//! Kabbani 2008; catalogue §8.)
//!
//! Keys and cells send each other bounds, back and forth. A cell tells a key what is left of its sum if the others took what
//! they claim; a key tells a cell the least, or in the next round the largest, of what its other cells left:
//!
//! ```text
//!   cells:    9     4     6          x ∈ {9, 4}: at most 4.   y ∈ {9, 6}: at most 6.   z ∈ {4, 6}
//!            ╱ ╲   ╱ ╲   ╱ ╲         then x ≥ 9 − 6 = 3, …  upper and lower bounds close in
//!           x   y x   z z   y        on each other; where they meet, the answer is exact
//! ```

/// Bounds of what each key added, and after how many rounds they stood still.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Not more than the truth.
    pub lower: Vec<u64>,
    /// Not less.
    pub upper: Vec<u64>,
    /// Rounds.
    pub rounds: u32,
}

impl Bounds {
    /// Whether upper and lower bounds have met everywhere, so that they are the truth.
    pub fn exact(&self) -> bool {
        self.lower == self.upper
    }
}

/// No honest instance above the threshold takes that long.
const MOST_ROUNDS: u32 = 2000;

/// Solves for the keys' parts in `sums`, where `places` has the `k` ≥ 2 distinct cells of each key, one key after the other,
/// and every key added at least `least`.
///
/// Bounds of odd rounds are upper and fall, those of even rounds are lower and rise; it ends when they meet, or when two
/// rounds in a row changed nothing.
pub fn solve(sums: &[u64], places: &[usize], k: usize, least: u64) -> Bounds {
    let keys = places.len() / k;
    let least = clamped(least);
    // What key i tells its j-th cell, and the sum of what all keys tell a cell.
    let mut told = vec![0i64; places.len()];
    let (mut lower, mut upper) = (vec![least; keys], vec![i64::MAX; keys]);
    let mut rounds = 0;
    let mut still = 0;
    while rounds < MOST_ROUNDS && still < 2 && lower != upper {
        rounds += 1;
        let odd = rounds % 2 == 1;
        let mut claimed = vec![0i64; sums.len()];
        for (cell, told) in places.iter().zip(&told) {
            claimed[*cell] = claimed[*cell].saturating_add(*told);
        }
        let mut changed = false;
        for key in 0..keys {
            let own = key * k..(key + 1) * k;
            let left = |at: usize| {
                let cell = places[at];
                let others = claimed[cell].saturating_sub(told[at]);
                clamped(sums[cell]).saturating_sub(others).max(least)
            };
            let heard: Vec<i64> = own.clone().map(left).collect();
            let best = |skip: Option<usize>| {
                let others =
                    heard.iter().enumerate().filter(|(j, _)| Some(*j) != skip).map(|(_, m)| *m);
                if odd { others.min() } else { others.max() }.unwrap_or(least)
            };
            let bound = if odd { &mut upper[key] } else { &mut lower[key] };
            changed |= *bound != best(None);
            *bound = best(None);
            for (j, at) in own.enumerate() {
                told[at] = best(Some(j));
            }
        }
        still = if changed { 0 } else { still + 1 };
    }
    let whole = |bounds: Vec<i64>| bounds.into_iter().map(|b| b.max(0).cast_unsigned()).collect();
    Bounds { lower: whole(lower), upper: whole(upper), rounds }
}

fn clamped(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_is_solved_and_a_tangle_is_not() {
        // x = 3, y = 6 in cell 0; x and z = 1 in cell 1; z and y in a cell of their own.
        let bounds = solve(&[9, 4, 6, 1], &[0, 1, 0, 2, 1, 3], 2, 1);
        assert!(bounds.exact());
        assert_eq!(bounds.upper, [3, 6, 1]);
        // Two keys with the same cells cannot be told apart.
        let bounds = solve(&[9, 9], &[0, 1, 0, 1], 2, 1);
        assert!(!bounds.exact());
        assert!(bounds.lower.iter().zip(&bounds.upper).all(|(l, u)| l <= u), "{bounds:?}");
    }
}
