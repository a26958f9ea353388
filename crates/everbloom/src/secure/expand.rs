//! Uniform bytes from a message: `expand_message_xmd` of RFC 9380 with SHA-512.

use sha2::{Digest, Sha512};

/// `N` bytes that look random to whoever does not know the message. `dst` says what for; it has at most 255
/// bytes, and `N` is at most 255·64.
pub(super) fn expand<const N: usize>(message: &[&[u8]], dst: &[u8]) -> [u8; N] {
    let blocks = N.div_ceil(64);
    assert!(blocks <= 255 && dst.len() <= 255, "the callers' own constants");
    let tail = |hash: Sha512| hash.chain_update(dst).chain_update([dst.len() as u8]).finalize();
    let mut first = Sha512::new().chain_update([0; 128]);
    message.iter().for_each(|part| first.update(part));
    let first = tail(first.chain_update((N as u16).to_be_bytes()).chain_update([0]));
    let (mut out, mut last) = ([0; N], [0; 64]);
    for (i, chunk) in out.chunks_mut(64).enumerate() {
        let mixed: [u8; 64] = std::array::from_fn(|j| first[j] ^ last[j]);
        last = tail(Sha512::new().chain_update(mixed).chain_update([i as u8 + 1])).into();
        chunk.copy_from_slice(&last[..chunk.len()]);
    }
    out
}
