//! Checksums of hostile bytes, which plain mutations die at.

/// The bytes with all checksums made right again, where the lengths still make sense.
pub fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.len() < 84 {
        return bytes;
    }
    let word = |bytes: &[u8], at: usize| {
        u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default()) as usize
    };
    let (tree, payload) = (word(&bytes, 56), word(&bytes, 64));
    let Some(crc_at) = tree.checked_add(80).filter(|at| *at <= bytes.len() - 4) else {
        return bytes;
    };
    let crc = crc32c::crc32c(&bytes[..crc_at]);
    bytes[crc_at..crc_at + 4].copy_from_slice(&crc.to_le_bytes());
    let start = (crc_at + 4).next_multiple_of(64);
    let Some(end) = start.checked_add(payload).filter(|end| *end <= bytes.len()) else {
        return bytes;
    };
    let sums: Vec<u32> = bytes[start..end].chunks(64 << 10).map(crc32c::crc32c).collect();
    for (i, sum) in sums.into_iter().enumerate() {
        let at = end + 4 * i;
        if at + 4 <= bytes.len() {
            bytes[at..at + 4].copy_from_slice(&sum.to_le_bytes());
        }
    }
    bytes
}
