//! Single calls of a program that is compiled for any x86-64: the vector instructions stand where the call is.
//!
//! Such a program asks at run time what the processor has, and then has to *call* code for it: the compiler
//! puts no AVX into a function without. A call costs as much as the query itself, empties the caller's
//! registers, and keeps loops over keys from overlapping. Written as assembly, a dozen instructions need no
//! call. Loops over many keys gain nothing by it: they are called once (see [`super::many!`]).
//!
//! With AVX-512, only registers from 16 on are touched. A program without AVX has nothing in them, and they
//! cost no transition between old and new instructions. AVX2 has to clear the upper halves behind it.
//! A program compiled *with* AVX might have something there, so that this module is not for it.
//!
//! Results are late outputs, which may be given the register of an input: they are written behind the last use of
//! any.

use std::arch::asm;

use super::{HALF, LINE, LINE_SALTS, SALTS};

/// Constants that stand alone in a cache line.
#[repr(align(64))]
struct Aligned<T>(T);

/// A lane's constant times a word has its six top bits where a multiplication of 52 bits hands them out.
static SHIFTED: Aligned<[u64; LINE]> = Aligned({
    let (mut shifted, mut lane) = ([0; LINE], 0);
    while lane < LINE {
        shifted[lane] = (LINE_SALTS[lane] as u64) << 26;
        lane += 1;
    }
    shifted
});
static LANES: Aligned<[u32; LINE]> = Aligned(LINE_SALTS);
static HALVES: Aligned<[u32; LINE]> = Aligned(SALTS);
static ONE: Aligned<[u64; LINE]> = Aligned([1; LINE]);
static ONE_32: Aligned<[u32; LINE]> = Aligned([1; LINE]);

pub(super) mod avx512 {
    use super::*;

    /// A line's mask, from `word`, in zmm16.
    macro_rules! line_mask {
        ($($then:literal,)* => $($operand:tt)*) => {
            asm!(
                "vpbroadcastd zmm16, {word:e}",
                "vpxord zmm17, zmm17, zmm17",
                "vpmadd52huq zmm17, zmm16, zmmword ptr [rip + {salts}]",
                "vmovdqa64 zmm16, zmmword ptr [rip + {one}]",
                "vprolvq zmm16, zmm16, zmm17",
                $($then,)*
                "kmovb {missing:e}, k1",
                salts = sym SHIFTED,
                one = sym ONE,
                out("xmm16") _,
                out("xmm17") _,
                out("k1") _,
                $($operand)*
            )
        };
    }

    /// A half line's mask, from `word`, in ymm16.
    macro_rules! half_mask {
        ($($then:literal,)* => $($operand:tt)*) => {
            asm!(
                "vpbroadcastd ymm16, {word:e}",
                "vpmulld ymm16, ymm16, ymmword ptr [rip + {salts}]",
                "vpsrld ymm16, ymm16, 27",
                "vmovdqa32 ymm17, ymmword ptr [rip + {one}]",
                "vpsllvd ymm16, ymm17, ymm16",
                $($then,)*
                "kmovb {missing:e}, k1",
                salts = sym HALVES,
                one = sym ONE_32,
                out("xmm16") _,
                out("xmm17") _,
                out("k1") _,
                $($operand)*
            )
        };
    }

    /// # Safety
    /// The instruction set is there.
    #[inline(always)]
    pub unsafe fn line_has(line: &[u64; LINE], word: u64) -> bool {
        let missing: u32;
        // SAFETY: the line and the constants are 64 readable bytes.
        unsafe {
            line_mask!(
                "vptestnmq k1, zmm16, zmmword ptr [{line}]",
                => word = in(reg) word, line = in(reg) line.as_ptr(), missing = lateout(reg) missing,
                   options(pure, readonly, nostack, preserves_flags)
            );
        }
        missing == 0
    }

    /// # Safety
    /// The instruction set is there.
    #[inline(always)]
    pub unsafe fn line_set(line: &mut [u64; LINE], word: u64) -> bool {
        let missing: u32;
        // SAFETY: the line is 64 writable bytes, the constants are as many readable ones.
        unsafe {
            line_mask!(
                "vmovdqu64 zmm17, zmmword ptr [{line}]",
                "vptestnmq k1, zmm17, zmm16",
                "vporq zmm17, zmm17, zmm16",
                "vmovdqu64 zmmword ptr [{line}], zmm17",
                => word = in(reg) word, line = in(reg) line.as_mut_ptr(), missing = lateout(reg) missing,
                   options(nostack, preserves_flags)
            );
        }
        missing != 0
    }

    /// # Safety
    /// The instruction set is there.
    #[inline(always)]
    pub unsafe fn half_has(half: &[u64; HALF], key: u32) -> bool {
        let missing: u32;
        // SAFETY: the half line and the constants are 32 readable bytes.
        unsafe {
            half_mask!(
                "vptestnmd k1, ymm16, ymmword ptr [{half}]",
                => word = in(reg) key, half = in(reg) half.as_ptr(), missing = lateout(reg) missing,
                   options(pure, readonly, nostack, preserves_flags)
            );
        }
        missing == 0
    }

    /// # Safety
    /// The instruction set is there.
    #[inline(always)]
    pub unsafe fn half_set(half: &mut [u64; HALF], key: u32) -> bool {
        let missing: u32;
        // SAFETY: the half line is 32 writable bytes, the constants are as many readable ones.
        unsafe {
            half_mask!(
                "vmovdqu32 ymm17, ymmword ptr [{half}]",
                "vptestnmd k1, ymm17, ymm16",
                "vpord ymm17, ymm17, ymm16",
                "vmovdqu32 ymmword ptr [{half}], ymm17",
                => word = in(reg) key, half = in(reg) half.as_mut_ptr(), missing = lateout(reg) missing,
                   options(nostack, preserves_flags)
            );
        }
        missing != 0
    }
}

pub(super) mod avx2 {
    use super::*;

    /// The masks of a line's lower and upper four lanes, from `word`, in ymm1 and ymm0; its bits in ymm2 and ymm3.
    macro_rules! line_masks {
        ($($then:literal,)* => $($operand:tt)*) => {
            asm!(
                "vmovd xmm0, {word:e}",
                "vpbroadcastd ymm0, xmm0",
                "vpmulld ymm0, ymm0, ymmword ptr [rip + {salts}]",
                "vmovdqa ymm4, ymmword ptr [rip + {one}]",
                "vmovdqu ymm2, ymmword ptr [{line}]",
                "vmovdqu ymm3, ymmword ptr [{line} + 32]",
                "vpsrld ymm0, ymm0, 26",
                "vpmovzxdq ymm1, xmm0",
                "vextracti128 xmm0, ymm0, 1",
                "vpmovzxdq ymm0, xmm0",
                "vpsllvq ymm1, ymm4, ymm1",
                "vpsllvq ymm0, ymm4, ymm0",
                $($then,)*
                "vzeroupper",
                salts = sym LANES,
                one = sym ONE,
                out("xmm0") _,
                out("xmm1") _,
                out("xmm2") _,
                out("xmm3") _,
                out("xmm4") _,
                $($operand)*
            )
        };
    }

    /// A half line's mask, from `word`, in ymm0, and its bits in ymm1.
    macro_rules! half_mask {
        ($($then:literal,)* => $($operand:tt)*) => {
            asm!(
                "vmovd xmm0, {word:e}",
                "vpbroadcastd ymm0, xmm0",
                "vpmulld ymm0, ymm0, ymmword ptr [rip + {salts}]",
                "vmovdqa ymm2, ymmword ptr [rip + {one}]",
                "vmovdqu ymm1, ymmword ptr [{half}]",
                "vpsrld ymm0, ymm0, 27",
                "vpsllvd ymm0, ymm2, ymm0",
                $($then,)*
                "vzeroupper",
                salts = sym HALVES,
                one = sym ONE_32,
                out("xmm0") _,
                out("xmm1") _,
                out("xmm2") _,
                $($operand)*
            )
        };
    }

    /// # Safety
    /// The instruction set is there.
    #[inline(always)]
    pub unsafe fn line_has(line: &[u64; LINE], word: u64) -> bool {
        let has: u8;
        // SAFETY: the line is 64 readable bytes, and so are the constants.
        unsafe {
            line_masks!(
                "vpandn ymm1, ymm2, ymm1",
                "vpandn ymm0, ymm3, ymm0",
                "vpor ymm0, ymm0, ymm1",
                "vptest ymm0, ymm0",
                "setz {has}",
                => word = in(reg) word, line = in(reg) line.as_ptr(), has = lateout(reg_byte) has,
                   options(pure, readonly, nostack)
            );
        }
        has != 0
    }

    /// # Safety
    /// The instruction set is there.
    #[inline(always)]
    pub unsafe fn line_set(line: &mut [u64; LINE], word: u64) -> bool {
        let had: u8;
        // SAFETY: the line is 64 writable bytes, the constants are as many readable ones.
        unsafe {
            line_masks!(
                "vpor ymm4, ymm2, ymm1",
                "vmovdqu ymmword ptr [{line}], ymm4",
                "vpor ymm4, ymm3, ymm0",
                "vmovdqu ymmword ptr [{line} + 32], ymm4",
                "vpandn ymm1, ymm2, ymm1",
                "vpandn ymm0, ymm3, ymm0",
                "vpor ymm0, ymm0, ymm1",
                "vptest ymm0, ymm0",
                "setz {had}",
                => word = in(reg) word, line = in(reg) line.as_mut_ptr(), had = lateout(reg_byte) had,
                   options(nostack)
            );
        }
        had == 0
    }

    /// # Safety
    /// The instruction set is there.
    #[inline(always)]
    pub unsafe fn half_has(half: &[u64; HALF], key: u32) -> bool {
        let has: u8;
        // SAFETY: the half line is 32 readable bytes, and so are the constants.
        unsafe {
            half_mask!(
                "vptest ymm1, ymm0",
                "setc {has}",
                => word = in(reg) key, half = in(reg) half.as_ptr(), has = lateout(reg_byte) has,
                   options(pure, readonly, nostack)
            );
        }
        has != 0
    }

    /// # Safety
    /// The instruction set is there.
    #[inline(always)]
    pub unsafe fn half_set(half: &mut [u64; HALF], key: u32) -> bool {
        let had: u8;
        // SAFETY: the half line is 32 writable bytes, the constants are as many readable ones.
        unsafe {
            half_mask!(
                "vptest ymm1, ymm0",
                "vpor ymm1, ymm1, ymm0",
                "vmovdqu ymmword ptr [{half}], ymm1",
                "setc {had}",
                => word = in(reg) key, half = in(reg) half.as_mut_ptr(), had = lateout(reg_byte) had,
                   options(nostack)
            );
        }
        had == 0
    }
}
