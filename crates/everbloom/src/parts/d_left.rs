//! d-left placement: one bucket in each of d tables, the item goes to the emptiest, of equals the leftmost.

use crate::error::{Error, Kind, Result};
use crate::solve::least_loaded;

/// Which of d buckets with these loads takes an item; refused if they all hold `room` items.
pub(crate) fn choose(loads: &[u64], room: u64) -> Result<usize> {
    let chosen = least_loaded(loads.iter().copied()).filter(|chosen| loads[*chosen] < room);
    chosen.ok_or_else(|| {
        Error::new(
            Kind::CapacityExceeded,
            format!(
                "all {} buckets of the key are full: build the filter for more \
                 {{items}}, or with a lower {{load}}",
                loads.len()
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_emptiest_and_leftmost_takes_it() {
        assert_eq!(choose(&[3, 1, 2, 1], 4).ok(), Some(1));
        assert_eq!(choose(&[4, 4, 3], 4).ok(), Some(2));
        for full in [&[4, 4][..], &[]] {
            assert_eq!(choose(full, 4).map_err(|e| e.kind()), Err(Kind::CapacityExceeded));
        }
    }
}
