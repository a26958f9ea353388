//! The code of sorted buckets.

/// Four sorted nibbles, the smallest lowest: C(19,4) of them, in ascending order.
const NIBBLES: [u16; 3876] = {
    let (mut table, mut at, mut word) = ([0; 3876], 0, 0u32);
    while word <= 0xFFFF {
        let [a, b, c, d] = [word & 15, word >> 4 & 15, word >> 8 & 15, word >> 12];
        if a <= b && b <= c && c <= d {
            table[at] = word as u16;
            at += 1;
        }
        word += 1;
    }
    table
};
const CODE_BITS: u32 = 12;

/// The four slots of a bucket, in lanes of `width` bits.
#[inline]
pub(super) fn unpack(code: u64, width: u32) -> u64 {
    let low = width - 4;
    // A code beyond the table is found when a file is read.
    let index = (code & ((1 << CODE_BITS) - 1)) as usize;
    let nibbles = u64::from(NIBBLES[index.min(NIBBLES.len() - 1)]);
    (0..4).fold(0, |lanes, i| {
        let high = nibbles >> (4 * i) & 15;
        let rest = code >> (CODE_BITS + i * low) & ((1 << low) - 1);
        lanes | (high << low | rest) << (i * width)
    })
}

/// The code of four slots in ascending order.
pub(super) fn pack(slots: [u64; 4], width: u32) -> u64 {
    let low = width - 4;
    let (mut nibbles, mut rests) = (0u16, 0u64);
    for (slot, i) in slots.into_iter().zip(0..) {
        nibbles |= ((slot >> low) as u16) << (4 * i);
        rests |= (slot & ((1 << low) - 1)) << (i * low);
    }
    let index = NIBBLES.binary_search(&nibbles).unwrap_or(0) as u64;
    rests << CODE_BITS | index
}

/// Whether a code is that of four slots in ascending order.
pub(super) fn sound(code: u64, width: u32) -> bool {
    let lanes = unpack(code, width);
    let slot = |i: u32| lanes >> (i * width) & ((1 << width) - 1);
    let slots = [slot(0), slot(1), slot(2), slot(3)];
    slots.is_sorted() && pack(slots, width) == code
}
