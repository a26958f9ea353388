//! Which vector instructions are used: the best that the processor has, or fewer where the environment says so.
//!
//! `EVERBLOOM_SIMD=scalar` and `EVERBLOOM_SIMD=avx2` keep a process to the plain code or to AVX2, for tests and for
//! finding out what an instruction set is worth. Answers and files are the same whichever is used. A program
//! compiled for a processor that has more (`-C target-cpu`) takes what it was compiled for.

use std::sync::atomic::{AtomicU8, Ordering};

const UNKNOWN: u8 = 0;
const SCALAR: u8 = 1;
pub(crate) const AVX2: u8 = 2;
pub(crate) const AVX512: u8 = 3;

/// Detected once: `is_x86_feature_detected` is an instruction or two for each feature, and single calls would
/// need six.
static LEVEL: AtomicU8 = AtomicU8::new(UNKNOWN);

#[inline]
fn level() -> u8 {
    match LEVEL.load(Ordering::Relaxed) {
        UNKNOWN => detect(),
        level => level,
    }
}

/// The level, or another number as long as nobody has asked for it: for single calls, to which every comparison counts.
#[cfg(all(target_arch = "x86_64", not(target_feature = "avx"), not(miri)))]
#[inline(always)]
pub(crate) fn known() -> u8 {
    LEVEL.load(Ordering::Relaxed)
}

/// Whether there is AVX-512. Its own level is asked for first: what most queries meet is one comparison then.
#[inline]
fn is_avx512() -> bool {
    let known = LEVEL.load(Ordering::Relaxed);
    known == AVX512 || known == UNKNOWN && detect() == AVX512
}

#[cold]
#[inline(never)]
fn detect() -> u8 {
    let allowed = match std::env::var("EVERBLOOM_SIMD").as_deref() {
        Ok("scalar") => SCALAR,
        Ok("avx2") => AVX2,
        _ => u8::MAX,
    };
    let level = best().min(allowed);
    LEVEL.store(level, Ordering::Relaxed);
    level
}

#[cfg(target_arch = "x86_64")]
fn best() -> u8 {
    use std::arch::is_x86_feature_detected;
    let avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512ifma")
        && is_x86_feature_detected!("avx512bitalg");
    // The others came with the same processors, or before.
    let avx2 = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt");
    let avx2 = if avx2 { AVX2 } else { SCALAR };
    if avx512 { AVX512 } else { avx2 }
}

#[cfg(not(target_arch = "x86_64"))]
fn best() -> u8 {
    AVX2
}

/// Whether there is what modules for AVX-512 are compiled for: the parts that multiply 52 bits and pick bits out
/// of words came with the first generation that does not slow down for vectors of 512.
#[inline]
pub(crate) fn has_avx512() -> bool {
    let compiled_for = cfg!(all(
        target_feature = "avx512f",
        target_feature = "avx512bw",
        target_feature = "avx512dq",
        target_feature = "avx512vl",
        target_feature = "avx512ifma",
        target_feature = "avx512bitalg"
    ));
    compiled_for || is_avx512()
}

/// Whether the ones of eight words are counted by one instruction, beside what [`has_avx512`] asks for.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn has_popcount_of_eight() -> bool {
    has_avx512() && std::arch::is_x86_feature_detected!("avx512vpopcntdq")
}

/// Whether there are vectors of 256 bits, and instructions that count ones and spread bits; on 64-bit ARM, whether NEON may be used, which is always there.
#[inline]
pub(crate) fn has_avx2() -> bool {
    cfg!(target_feature = "avx2") || level() >= AVX2
}

/// A word, in a register for general use: what the compiler can't see through, it does not compute several of at once.
///
/// Left to itself it hashes four keys in vector registers of AVX2, where 64-bit products are made of three smaller ones and
/// 128-bit ones are taken out and put back: that takes longer than one key after the other.
#[inline(always)]
pub(crate) fn in_register(word: u64) -> u64 {
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    let word = {
        let mut word = word;
        // SAFETY: no instruction, only a comment.
        #[allow(unsafe_code)]
        unsafe {
            std::arch::asm!("/* {word} */", word = inout(reg) word, options(pure, nomem, nostack, preserves_flags));
        }
        word
    };
    word
}

/// The name of the instruction set in use: `scalar`, `avx2`, `avx512` or `neon`.
pub fn instruction_set() -> &'static str {
    match () {
        () if cfg!(target_arch = "aarch64") && has_avx2() => "neon",
        () if !cfg!(target_arch = "x86_64") => "scalar",
        () if has_avx512() => "avx512",
        () if has_avx2() => "avx2",
        () => "scalar",
    }
}
