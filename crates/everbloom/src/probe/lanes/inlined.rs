//! Single calls of a program that is compiled for any x86-64: the vector instructions stand where the call is.
//!
//! Such a program asks at run time what the processor has, and then has to *call* code for it: the compiler
//! puts no AVX into a function without. A call costs as much as the query itself, empties the caller's
//! registers, and keeps loops over keys from overlapping. Written as assembly, a dozen instructions need no
//! call. Loops over many keys gain nothing by it: they are called once (see [`super::many!`]).
//!
//! With AVX-512, only registers from 16 on are touched. A program without AVX has nothing in them, and they
//! cost no transition between old and new instructions. AVX2 has to clear the upper halves behind it.
//! A program compiled *with* AVX might have something there, so that this module is not for it. Processors with AVX-512
//! that lack its multiplication of 52 bits take AVX2: their own instructions for 256 bits were tried and gained nothing.
//!
//! Results are late outputs, which may be given the register of an input: they are written behind the last use of
//! any. With AVX2, to set bits and to tell whether one was zero are two pieces, of which the compiler drops the
//! second one where nobody asks: most who insert a key do not.

use std::arch::asm;

use super::{HALF, LINE, LINE_SALTS, SALTS, avx2::UNPACKED};

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
/// The lanes' constants as unpacking wants them.
static LANES: Aligned<[u32; LINE]> = Aligned(UNPACKED);
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
    /// The instruction set is available.
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
    /// The instruction set is available.
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
    /// The instruction set is available.
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
    /// The instruction set is available.
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

    /// The numbers of the bits in a line's lower and upper four lanes, from `word`, in ymm0 and ymm1; ones in ymm4.
    macro_rules! line_counts {
        ($($then:literal,)* => $($operand:tt)*) => {
            asm!(
                "vmovd xmm0, {word:e}",
                "vpbroadcastd ymm0, xmm0",
                "vpmulld ymm0, ymm0, ymmword ptr [rip + {salts}]",
                "vmovdqa ymm4, ymmword ptr [rip + {one}]",
                "vpxor xmm2, xmm2, xmm2",
                "vpsrld ymm0, ymm0, 26",
                "vpunpckhdq ymm1, ymm0, ymm2",
                "vpunpckldq ymm0, ymm0, ymm2",
                $($then,)*
                "vzeroupper",
                salts = sym LANES,
                one = sym ONE,
                out("xmm0") _,
                out("xmm1") _,
                out("xmm2") _,
                out("xmm4") _,
                $($operand)*
            )
        };
    }

    /// What `setc` has written, which is 0 or 1: else the compiler would ask again.
    #[inline(always)]
    fn as_bool(has: u8) -> bool {
        // SAFETY: the instruction writes nothing else.
        unsafe { std::hint::assert_unchecked(has < 2) };
        has == 1
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
    /// The instruction set is available.
    #[inline(always)]
    pub unsafe fn line_has(line: &[u64; LINE], word: u64) -> bool {
        let has: u8;
        // SAFETY: the line is 64 readable bytes, and so are the constants.
        unsafe {
            // The bits move to the bottoms of their lanes, where one instruction sees all four.
            line_counts!(
                "vmovdqu ymm2, ymmword ptr [{line}]",
                "vmovdqu ymm3, ymmword ptr [{line} + 32]",
                "vpsrlvq ymm0, ymm2, ymm0",
                "vpsrlvq ymm1, ymm3, ymm1",
                "vpand ymm0, ymm0, ymm1",
                "vptest ymm0, ymm4",
                "setc {has}",
                => word = in(reg) word, line = in(reg) line.as_ptr(), has = lateout(reg_byte) has,
                   out("xmm3") _, options(pure, readonly, nostack)
            );
        }
        as_bool(has)
    }

    /// # Safety
    /// The instruction set is available.
    #[inline(always)]
    pub unsafe fn line_set(line: &mut [u64; LINE], word: u64) -> bool {
        // SAFETY: as the caller says.
        let had = unsafe { line_has(line, word) };
        // SAFETY: the line is 64 writable bytes, the constants are as many readable ones.
        unsafe {
            line_counts!(
                "vpsllvq ymm0, ymm4, ymm0",
                "vpsllvq ymm1, ymm4, ymm1",
                "vpor ymm0, ymm0, ymmword ptr [{line}]",
                "vmovdqu ymmword ptr [{line}], ymm0",
                "vpor ymm1, ymm1, ymmword ptr [{line} + 32]",
                "vmovdqu ymmword ptr [{line} + 32], ymm1",
                => word = in(reg) word, line = in(reg) line.as_mut_ptr(),
                   options(nostack, preserves_flags)
            );
        }
        !had
    }

    /// # Safety
    /// The instruction set is available.
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
        as_bool(has)
    }

    /// # Safety
    /// The instruction set is available.
    #[inline(always)]
    pub unsafe fn half_set(half: &mut [u64; HALF], key: u32) -> bool {
        // SAFETY: as the caller says.
        let had = unsafe { half_has(half, key) };
        // SAFETY: the half line is 32 writable bytes, the constants are as many readable ones.
        unsafe {
            half_mask!(
                "vpor ymm1, ymm1, ymm0",
                "vmovdqu ymmword ptr [{half}], ymm1",
                => word = in(reg) key, half = in(reg) half.as_mut_ptr(),
                   options(nostack, preserves_flags)
            );
        }
        !had
    }
}
