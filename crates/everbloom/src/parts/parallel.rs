//! Insertion on all cores.

use crate::filter::Lent;
use crate::hash::{Digest, Hasher, Key};
use crate::threads::{WORTH_A_THREAD, available};

/// Keys that are hashed before they are inserted: their digests fit the L2 cache.
const CHUNK: usize = 16 << 10;

/// Splits keys among all cores, which insert into one filter.
pub(crate) fn insert<K: Key + Sync>(filter: &Lent<'_>, hasher: &Hasher, keys: &[K]) {
    let part = keys.len().div_ceil(available()).max(WORTH_A_THREAD);
    std::thread::scope(|scope| {
        for keys in keys.chunks(part) {
            scope.spawn(move || {
                let mut digests: Vec<Digest> = Vec::with_capacity(CHUNK);
                for keys in keys.chunks(CHUNK) {
                    digests.clear();
                    digests.extend(keys.iter().map(|key| hasher.digest(key)));
                    filter.insert_digests(&digests);
                }
            });
        }
    });
}
