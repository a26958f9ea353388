//! Looking a hash up: whether its cells add up to its fingerprint, for every width of cells and number of them
//! to a key.

use super::shape::Geometry;
use crate::cells::{Fields, Packed, View};
use crate::hash::Digest;
use crate::memory::prefetch;

/// The fraction bits of √7.
const FINGERPRINT: u64 = 0xA54F_F53A_5F1D_36F1;

/// The fingerprint of a hash, `r` bits: the leading ones of a product, on which all bits of the hash have
/// a say, whereas cells depend on certain bits each.
#[inline]
pub(super) fn fingerprint(hash: u64, r: u32) -> u64 {
    hash.wrapping_mul(FINGERPRINT) >> (64 - r)
}

/// Whether the cells of a hash add up to its fingerprint. The empty filter has no cells, so nothing does.
#[inline]
pub(super) fn agree<const A: usize>(
    cells: &(impl Fields + ?Sized),
    around: [usize; A],
    hash: u64,
    r: u32,
) -> bool {
    let mut sum = fingerprint(hash, r);
    for cell in around {
        let Some(value) = cells.at(cell) else { return false };
        sum ^= value;
    }
    sum == 0
}

/// [`agree`] for three cells, in parts or in one as they are `PARTED`, without a check at each whether it is there.
///
/// # Safety
/// There is a cell for all that `geometry` makes of any hash.
#[inline(always)]
#[allow(unsafe_code)]
pub(super) unsafe fn agree_on_three<const PARTED: bool, T: Copy + Into<u64>>(
    geometry: &Geometry,
    cells: &[T],
    hash: u64,
    r: u32,
) -> bool {
    let hash = scalar(hash);
    // SAFETY: the caller says so.
    let cell = |at: usize| -> u64 { unsafe { *cells.get_unchecked(at) }.into() };
    let [a, b, c] =
        if PARTED { geometry.around_parted::<3>(hash) } else { geometry.around_from::<3>(0, hash) };
    fingerprint(hash, r) ^ cell(a) ^ cell(b) == cell(c)
}

/// The same word, of which the compiler knows nothing: it would do loops over keys by vector instructions, of
/// which there are none for most of the work, and spend a third of the time on moving words there and back.
#[inline(always)]
#[allow(unsafe_code)]
#[allow(unused_mut)]
fn scalar(mut word: u64) -> u64 {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    // SAFETY: no instruction at all.
    unsafe {
        std::arch::asm!("/* {0} */", inout(reg) word, options(pure, nomem, nostack, preserves_flags));
    }
    word
}

/// Compiles the code for every width of cells and number of them to a key, both constants where possible.
macro_rules! with_cells {
    ($arity:expr, $view:expr, |$cells:ident, $r:ident, $a:ident| $code:expr) => {
        match ($arity, $view) {
            (3, View::Bytes($cells)) => with_cells!($cells, $r = 8, $a = 3, $code),
            (3, View::Shorts($cells)) => with_cells!($cells, $r = 16, $a = 3, $code),
            (3, View::Any($cells)) => with_cells!($cells, $r = $cells.width(), $a = 3, $code),
            (_, View::Bytes($cells)) => with_cells!($cells, $r = 8, $a = 4, $code),
            (_, View::Shorts($cells)) => with_cells!($cells, $r = 16, $a = 4, $code),
            (_, View::Any($cells)) => with_cells!($cells, $r = $cells.width(), $a = 4, $code),
        }
    };
    ($cells:ident, $r:ident = $bits:expr, $a:ident = $arity:literal, $code:expr) => {{
        const $a: usize = $arity;
        let $r = $bits;
        $code
    }};
}
pub(super) use with_cells;

/// Keys whose cells are prefetched together.
const AHEAD: usize = 32;

/// Arrays of fewer words, 2 MiB, stay in the L1 and L2 caches, where prefetching costs more than it saves.
const FETCH_FROM: usize = 1 << 18;

/// Whether many keys are looked up faster by prefetching their cells; so they are where there are parts.
pub(super) fn worth_fetching(geometry: &Geometry, cells: &Packed) -> bool {
    geometry.gap > 0 || cells.words().len() >= FETCH_FROM
}

/// Writes for each digest whether its key agrees, hashed by `hash`. In an array that the near caches do not
/// hold, all cells of some keys are prefetched before the first is looked at.
pub(super) fn agree_all(
    geometry: &Geometry,
    cells: &Packed,
    hash: impl Fn(Digest) -> u64,
    digests: &[Digest],
    found: &mut [bool],
) {
    with_cells!(geometry.arity, cells.view(), |fields, r, A| {
        if !worth_fetching(geometry, cells) {
            for (digest, found) in digests.iter().zip(found) {
                let hash = hash(*digest);
                *found = agree(fields, geometry.around_from::<A>(0, hash), hash, r);
            }
            return;
        }
        let start = cells.words().as_ptr().cast::<u8>();
        let mut coming = [([0; A], 0); AHEAD];
        for (digests, found) in digests.chunks(AHEAD).zip(found.chunks_mut(AHEAD)) {
            for ((around, hashed), digest) in coming.iter_mut().zip(digests) {
                *hashed = hash(*digest);
                *around = geometry.around::<A>(*hashed);
                for cell in around {
                    prefetch(start.wrapping_add(*cell * r as usize / 8));
                }
            }
            for (found, (around, hash)) in found.iter_mut().zip(coming) {
                *found = agree(fields, around, hash, r);
            }
        }
    });
}
