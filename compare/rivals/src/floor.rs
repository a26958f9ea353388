//! What the machine can give: random cache lines in flight, with and without huge pages, and hashing.

use std::hint::black_box;

use cpu_time::ThreadTime;
use everbloom::internals::hash::{HashId, Hasher, mix64};

use crate::measure::{median, wall};

/// Lines prefetched of their use; more did not help on any machine tried.
const AHEAD: usize = 32;
const LOOKS: usize = 4_000_000;
const ROUNDS: usize = 5;

/// Nanoseconds per random cache line of an array of so many bytes, every line prefetched: nothing
/// that touches a line per key is faster.
pub fn random_lines(bytes: usize, huge: bool) -> f64 {
    let lines = (bytes / 64).max(1);
    let mut map = memmap2::MmapMut::map_anon(lines * 64).expect("memory");
    let advice = if huge { memmap2::Advice::HugePage } else { memmap2::Advice::NoHugePage };
    let _ = map.advise(advice);
    map.iter_mut().step_by(64).for_each(|byte| *byte = 1);
    let places: Vec<u32> = (0..LOOKS as u64 + AHEAD as u64)
        .map(|i| ((u128::from(mix64(i)) * lines as u128) >> 64) as u32)
        .collect();
    let rounds = (0..ROUNDS).map(|_| {
        let start = ThreadTime::now();
        let mut sum = 0u64;
        for i in 0..LOOKS {
            prefetch(&map[places[i + AHEAD] as usize * 64]);
            sum += u64::from(map[places[i] as usize * 64]);
        }
        black_box(sum);
        start.elapsed().as_nanos() as f64 / LOOKS as f64
    });
    median(rounds.collect())
}

fn prefetch(at: &u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing that the program can see, and never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(at).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Nanoseconds that so many threads take together for some arithmetic in registers, which shares nothing.
pub fn arithmetic(threads: u64, count: u64) -> f64 {
    let some = |n: u64| black_box((0..black_box(n)).fold(0, |sum, i| sum ^ mix64(i)));
    let work = || some(count / threads);
    wall(|| std::thread::scope(|s| (0..threads).for_each(|_| drop(s.spawn(work)))))
}

/// Does some work on the first two cores that this program may use, with all threads that it starts.
pub fn on_two_cores(work: impl FnOnce() + Send) {
    let pinned = || {
        #[cfg(target_os = "linux")]
        if let Ok(all) = rustix::thread::sched_getaffinity(None) {
            let mut two = rustix::thread::CpuSet::new();
            let cores = (0..rustix::thread::CpuSet::MAX_CPU).filter(|core| all.is_set(*core));
            cores.take(2).for_each(|core| two.set(core));
            // Where that is not allowed, it runs on all.
            _ = rustix::thread::sched_setaffinity(None, &two);
        }
        work();
    };
    std::thread::scope(|scope| drop(scope.spawn(pinned)));
}

/// Time that two threads take for arithmetic, as a share of what one takes: a half on two cores,
/// more where they are two threads of one core.
pub fn two_threads() -> f64 {
    let share = |_| arithmetic(2, 1 << 23) / arithmetic(1, 1 << 23);
    median((0..2 * ROUNDS).map(share).collect())
}

/// Nanoseconds to hash a 64-bit integer.
pub fn hashing(id: HashId) -> f64 {
    let hasher = Hasher::with_id(id, 0).expect("an unkeyed hash");
    let rounds = (0..ROUNDS).map(|_| {
        let start = ThreadTime::now();
        let sum = (0..LOOKS as u64).fold(0u64, |sum, key| {
            let digest = hasher.digest(&key);
            sum ^ digest.h1 ^ digest.h2
        });
        black_box(sum);
        start.elapsed().as_nanos() as f64 / LOOKS as f64
    });
    median(rounds.collect())
}
