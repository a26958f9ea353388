//! [`everbloom_fuzz::sketches`] under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| everbloom_fuzz::sketches(data));
