//! Insertion on all cores.

use std::panic::resume_unwind;

use crate::cells::Bits;
use crate::threads::{WORTH_A_THREAD, available};

/// Splits keys among all cores and unites what comes of it with `bits`, exactly. `fill` sets the cells of
/// its part of the keys in an array of zeros as large.
pub(crate) fn on_all_cores<K: Sync>(
    bits: &mut Bits,
    keys: &[K],
    fill: impl Fn(&[K], Bits) -> Bits + Sync,
) {
    let cores = available();
    let part = keys.len().div_ceil(cores).max(WORTH_A_THREAD);
    let (len, fill) = (bits.len(), &fill);
    std::thread::scope(|scope| {
        let start = |keys| scope.spawn(move || fill(keys, Bits::new(len)));
        let workers: Vec<_> = keys.chunks(part).map(start).collect();
        for worker in workers {
            // A worker that panicked has told why; there is nothing to save.
            bits.union(&worker.join().unwrap_or_else(|e| resume_unwind(e)));
        }
    });
}
