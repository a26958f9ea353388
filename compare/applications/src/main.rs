//! Applications beside what people use now: the same input, the same answers, interleaved rounds, medians.
//!
//! `cargo run --release --manifest-path compare/applications/Cargo.toml`, with
//! `--features minisketch` where libclang is there.

mod prefixes;
mod reconcile;
mod revoked;
mod signatures;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Counts the bytes that are allocated, so that structures can be compared that do not tell their size.
struct Counted;

static LIVE: AtomicU64 = AtomicU64::new(0);

// SAFETY: the system's allocator does the work, with the layouts that it is given.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size() as u64, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counted = Counted;

/// What `make` returns, and the bytes that it holds on to.
fn weighed<T>(make: impl FnOnce() -> T) -> (T, u64) {
    let before = LIVE.load(Ordering::Relaxed);
    let made = make();
    (made, LIVE.load(Ordering::Relaxed) - before)
}

/// Seconds of each rival: the median of interleaved rounds.
fn medians<const N: usize>(rounds: usize, rivals: [&mut dyn FnMut(); N]) -> [f64; N] {
    let mut times = [const { Vec::new() }; N];
    let mut rivals = rivals;
    for _ in 0..rounds {
        for (work, times) in rivals.iter_mut().zip(&mut times) {
            let start = Instant::now();
            work();
            times.push(start.elapsed().as_secs_f64());
        }
    }
    times.map(|mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    })
}

fn main() {
    prefixes::compare();
    signatures::compare();
    reconcile::compare();
    revoked::compare();
}
