//! What frames hold.

use super::super::Frame;
use crate::error::Result;
use crate::reconciling::rateless::{Symbol, usual_count};

/// Numbers of 8 bytes each.
pub fn numbers(frame: &Frame) -> Result<Vec<u64>> {
    let (numbers, []) = frame.body.as_chunks::<8>() else {
        return Err(frame.wrong("half a number"));
    };
    Ok(numbers.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect())
}

/// The body that [`numbers`] reads.
pub fn body_of(numbers: impl IntoIterator<Item = u64>) -> Vec<u8> {
    numbers.into_iter().flat_map(u64::to_le_bytes).collect()
}

/// Appends cell `index` of a set of `items`: its count as the difference to the usual one, zigzag, seven bits a byte.
pub fn push_symbol(body: &mut Vec<u8>, symbol: &Symbol, items: u64, index: u64) {
    let difference = symbol.count.wrapping_sub(usual_count(items, index));
    let mut zigzag = (difference << 1 ^ difference >> 63) as u64;
    while zigzag >= 0x80 {
        body.push(zigzag as u8 | 0x80);
        zigzag >>= 7;
    }
    body.push(zigzag as u8);
    body.extend_from_slice(&symbol.sum.to_le_bytes());
    body.extend_from_slice(&symbol.check.to_le_bytes());
}

/// Calls `f` with the cells of a frame, the first of which is number `index` of a set of `items`.
pub fn symbols(
    frame: &Frame,
    items: u64,
    mut index: u64,
    mut f: impl FnMut(Symbol) -> Result<()>,
) -> Result<()> {
    let mut rest = frame.body.as_slice();
    while !rest.is_empty() {
        let (symbol, behind) =
            symbol(rest, items, index).ok_or_else(|| frame.wrong("a cell that is cut off"))?;
        f(symbol)?;
        (rest, index) = (behind, index + 1);
    }
    Ok(())
}

/// The first cell in the bytes, number `index` of a set of `items`, and what follows it.
pub fn symbol(bytes: &[u8], items: u64, index: u64) -> Option<(Symbol, &[u8])> {
    let length = bytes.iter().take(10).position(|byte| *byte < 0x80)? + 1;
    let (count, rest) = bytes.split_at(length);
    let number = |zigzag: u64, (i, byte): (usize, &u8)| {
        zigzag | u64::from(byte & 0x7F).checked_shl(7 * i as u32).unwrap_or(0)
    };
    let zigzag = count.iter().enumerate().fold(0u64, number);
    let difference = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
    let (sum, rest) = rest.split_first_chunk()?;
    let (check, rest) = rest.split_first_chunk()?;
    let count = usual_count(items, index).wrapping_add(difference);
    let (sum, check) = (u64::from_le_bytes(*sum), u64::from_le_bytes(*check));
    Some((Symbol { count, sum, check }, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_come_out_as_they_went_in() {
        let counts = [0, 1, -1, 500, -70_000, i64::MAX, i64::MIN];
        let sent: Vec<Symbol> =
            (0..).zip(counts).map(|(i, count)| Symbol { count, sum: i, check: !i }).collect();
        let mut body = Vec::new();
        for (i, symbol) in (3..).zip(&sent) {
            push_symbol(&mut body, symbol, 1000, i);
        }
        let read = |body: &[u8]| {
            let frame = Frame { kind: super::super::CELLS, body: body.to_vec(), at: 0 };
            let mut out = Vec::new();
            symbols(&frame, 1000, 3, |symbol| {
                out.push(symbol);
                Ok(())
            })
            .map(|()| out)
        };
        assert_eq!(read(&body).expect("whole"), sent);
        assert!(read(&body[..body.len() - 1]).is_err());
        assert!(read(&[0x80; 30]).is_err());
    }
}
