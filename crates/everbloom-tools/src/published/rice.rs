//! Increasing numbers as their gaps, each in Rice's code: within a few percent of the entropy for random bits.

use everbloom::Result;

use super::corrupt;

/// The number of low bits that suits so many of `all`.
fn parameter(count: usize, all: u64) -> u32 {
    let mean = all as f64 / (count.max(1) as f64);
    // The median gap: ln 2 of the mean.
    (mean * std::f64::consts::LN_2).max(1.0).log2().round().clamp(0.0, 60.0) as u32
}

/// Writes numbers below `all`, in increasing order.
pub fn write(numbers: &[u64], all: u64) -> Vec<u8> {
    let low = parameter(numbers.len(), all);
    let mut out = vec![low as u8];
    let (mut word, mut filled) = (0u8, 0);
    let mut push = |bit: bool| {
        word |= u8::from(bit) << filled;
        filled += 1;
        if filled == 8 {
            out.push(word);
            (word, filled) = (0, 0);
        }
    };
    let mut next = 0;
    for &number in numbers {
        let gap = number - next;
        (0..gap >> low).for_each(|_| push(true));
        push(false);
        (0..low).for_each(|bit| push(gap >> bit & 1 == 1));
        next = number + 1;
    }
    // The last byte, if one was begun: pushing zeros completes it.
    (0..7).for_each(|_| push(false));
    out
}

/// Calls `f` with `count` numbers below `all`.
pub fn read(bytes: &[u8], count: u64, all: u64, mut f: impl FnMut(u64)) -> Result<()> {
    let Some((&low, bytes)) = bytes.split_first().filter(|(low, _)| **low <= 60) else {
        return Err(corrupt("a delta without its code"));
    };
    let mut bits = bytes.iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1));
    let mut bit = || bits.next().ok_or_else(|| corrupt("a delta that is cut off"));
    let mut next = 0u64;
    for _ in 0..count {
        let mut high = 0u64;
        while bit()? {
            high += 1;
        }
        let mut gap = high.checked_mul(1 << low).ok_or_else(|| corrupt("a gap beyond the file"))?;
        for i in 0..low {
            gap |= u64::from(bit()?) << i;
        }
        let number = next.checked_add(gap).filter(|number| *number < all);
        let number = number.ok_or_else(|| corrupt("a bit beyond the file"))?;
        f(number);
        next = number + 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_out_as_they_went_in() {
        for numbers in [vec![], vec![0], vec![7], (0..100).collect(), vec![0, 5, 63, 64, 900, 999]]
        {
            let bytes = write(&numbers, 1000);
            let mut got = Vec::new();
            read(&bytes, numbers.len() as u64, 1000, |n| got.push(n)).unwrap();
            assert_eq!(got, numbers);
            assert!(read(&bytes, 1001, 1000, |_| ()).is_err(), "more than there are");
        }
        assert!(read(&[], 1, 10, |_| ()).is_err() && read(&[61, 0], 1, 10, |_| ()).is_err());
        assert!(read(&[4, 0xFF, 0xFF, 0], 1, 10, |_| ()).is_err(), "beyond the end");
    }
}
