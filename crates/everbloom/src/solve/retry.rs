//! Systems of random equations have a solution under most seeds; whoever solves one tries until one has.

use crate::hash::Generator;

/// Seeds that are tried at most. Of a hundred at least one works, unless the keys are at fault.
pub const ATTEMPTS: u64 = 100;

/// What `attempt` makes of the first seed that it makes something of: `seed`, then what `seeds` gives. It is also
/// told the number of the attempt, from 1, and may draw from `seeds` itself.
pub fn retry<T>(
    mut seed: u64,
    seeds: &mut Generator,
    mut attempt: impl FnMut(u64, u64, &mut Generator) -> Option<T>,
) -> Option<T> {
    for number in 1..=ATTEMPTS {
        let solved = attempt(seed, number, seeds);
        if solved.is_some() {
            return solved;
        }
        seed = seeds.next_u64();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_tried_in_order_until_one_works() {
        let mut expected = Generator::new(0);
        let mut tried = Vec::new();
        let found = retry(7, &mut Generator::new(0), |seed, number, _| {
            tried.push(seed);
            (number == 3).then_some(number)
        });
        assert_eq!(
            (found, &tried[..]),
            (Some(3), &[7, expected.next_u64(), expected.next_u64()][..])
        );
        tried.clear();
        let never = retry(7, &mut Generator::new(0), |seed, _, _| {
            tried.push(seed);
            None::<()>
        });
        assert_eq!((never, tried.len() as u64), (None, ATTEMPTS));
    }
}
