//! Bytes of any origin: an error or a filter that works, never a panic, a hang or more memory than the bytes explain.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use everbloom::Limits;
use everbloom::internals::hash::Generator;
use everbloom_formats::{FORMATS, Format, Hints, KeyAs};

/// Counts what is allocated, and the most there was at a time.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's allocator does the work; numbers are kept beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn hints() -> Hints {
    let mut hints = Hints::new(Limits::LOCAL.bytes(1 << 20).expanded(1 << 20));
    (hints.k, hints.key) = (Some(7), Some([7; 16]));
    hints
}

/// Opens bytes; a filter that comes out is used in every way. True if one did.
fn exercise(format: &Format, bytes: &[u8]) -> bool {
    let before = NOW.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let opened = format.open_with(bytes, &hints());
    let taken = MOST.load(Ordering::Relaxed) - before;
    let most = 16 * bytes.len() + (1 << 20);
    assert!(taken <= most, "{}: {taken} bytes for {} bytes", format.name, bytes.len());
    let Ok(parts) = opened else { return false };
    // Files of many filters are alike in all of them.
    for mut part in parts.into_iter().take(2) {
        let filter = &mut part.filter;
        let _ = (filter.describe(), filter.fill(), filter.cardinality(), filter.bits());
        let fpr = filter.fpr();
        assert!((0.0..=1.0).contains(&fpr), "{}: a rate of {fpr}", format.name);
        for key in KeyAs::ALL {
            for line in [&b""[..], b"7", b"-1", b"0.5", b"item-7", &[255; 300]] {
                let Ok(key) = key.parse(line) else { continue };
                let found = filter.contains(key.clone());
                assert!(found.is_ok(), "{}: {found:?}", format.name);
            }
        }
        let written = filter.write().expect("every format is written");
        let again = format.open_with(&written, &hints()).expect("what was written is read");
        assert_eq!(again[0].filter.write().expect("written"), written, "{}", format.name);
        for keys in [KeyAs::String, KeyAs::Long] {
            let Ok(ours) = filter.to_filter_of(keys) else { continue };
            if keys == KeyAs::String {
                let says = filter.contains("item-7").unwrap();
                assert_eq!(ours.contains(b"item-7"), says, "{}", format.name);
            }
            if let Ok(again) = format.adopt(&*ours) {
                assert_eq!(again.bits(), filter.bits(), "{}", format.name);
            }
        }
        let _ = filter.insert("item-7");
        if filter.insert("item-8").is_ok() && format.name != "valkey-bloom" {
            assert!(filter.contains("item-8").unwrap(), "{}", format.name);
        }
    }
    true
}

/// The samples, small ones first, and the format of each.
fn samples() -> Vec<(&'static Format, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let mut files = Vec::new();
    for folder in [folder.clone(), folder.join("cassandra"), folder.join("rust_cascade")] {
        files.extend(fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()));
    }
    files.sort();
    let mut out: Vec<(&Format, Vec<u8>)> = Vec::new();
    for path in files.iter().filter(|path| path.is_file()) {
        let bytes = read(path);
        for format in FORMATS.iter().filter(|format| format.open_with(&bytes, &hints()).is_ok()) {
            // What is read as a bare bitset or as anything at all is in other samples, too.
            let sure = Format::detect(&bytes).iter().any(|found| found.name == format.name);
            if sure && bytes.len() < 50_000 {
                out.push((format, bytes.clone()));
            }
        }
    }
    out.sort_by_key(|(_, bytes)| bytes.len());
    out
}

/// A file's bytes; of a SCANDUMP, its chunks.
fn read(path: &Path) -> Vec<u8> {
    let bytes = fs::read(path).expect("a file");
    let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let Some(chunks) = json["chunks"].as_array() else { return bytes };
    let hex = chunks.iter().map(|chunk| chunk[1].as_str().expect("hex"));
    let unhex = |text: &str| {
        let byte = |i: usize| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hex");
        (0..text.len() / 2).map(byte).collect::<Vec<u8>>()
    };
    hex.flat_map(unhex).collect()
}

/// One after the other in one test, since memory is counted for the whole process.
#[test]
fn mutated_samples_neither_panic_nor_take_memory() {
    let samples = samples();
    let formats: std::collections::BTreeSet<_> = samples.iter().map(|(f, _)| f.name).collect();
    assert!(formats.len() + 2 >= FORMATS.len(), "samples of {formats:?} only");
    let mut random = Generator::new(1);
    for (format, bytes) in &samples {
        assert!(exercise(format, bytes), "{}", format.name);
        flips(format, bytes, &mut random);
        truncations(format, bytes, &mut random);
        edits(format, bytes, &mut random);
    }
}

/// One in how many mutations is tried: files of many filters take long, and so do long ones.
fn share(bytes: &[u8]) -> usize {
    1 + bytes.len() / 2048
}

/// Every bit of the first and last bytes, and some between them.
fn flips(format: &Format, bytes: &[u8], random: &mut Generator) {
    let edge = 48.min(bytes.len());
    let middle = (0..16).map(|_| random.below(bytes.len() as u64) as usize);
    let places = (0..edge).chain(bytes.len() - edge..bytes.len());
    for place in places.chain(middle.collect::<Vec<_>>()).step_by(share(bytes)) {
        for bit in 0..8 {
            let mut mutated = bytes.to_vec();
            mutated[place] ^= 1 << bit;
            exercise(format, &mutated);
        }
    }
}

fn truncations(format: &Format, bytes: &[u8], random: &mut Generator) {
    let some = (0..16).map(|_| random.below(bytes.len() as u64) as usize).collect::<Vec<_>>();
    for len in (0..32.min(bytes.len())).chain(some).step_by(share(bytes)) {
        exercise(format, &bytes[..len]);
        exercise(format, &bytes[len..]);
        let mut longer = bytes.to_vec();
        longer.extend_from_slice(&bytes[..len]);
        exercise(format, &longer);
    }
}

/// Numbers that lengths and counts might have, anywhere; every reader meets them.
fn edits(format: &Format, bytes: &[u8], random: &mut Generator) {
    let numbers =
        [0, 1, 7, 0x7f, 0xff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, u64::MAX, 1 << 63, 1 << 40];
    for round in 0..128 / share(bytes) {
        let mut mutated = bytes.to_vec();
        for _ in 0..=random.below(3) {
            let number = numbers[random.below(numbers.len() as u64) as usize];
            let wide =
                if random.below(2) == 0 { number.to_le_bytes() } else { number.to_be_bytes() };
            let width = [1, 2, 4, 8][random.below(4) as usize];
            // Most lengths stand near the ends.
            let near = random.below(2) == 0;
            let span = if near { 64.min(bytes.len()) } else { bytes.len() };
            let mut at = random.below(span as u64) as usize;
            if random.below(4) == 0 {
                at = bytes.len() - 1 - at;
            }
            for (to, from) in mutated[at..].iter_mut().zip(&wide[..width]) {
                *to = *from;
            }
        }
        exercise(format, &mutated);
        if round % 32 == 0 {
            FORMATS.iter().for_each(|format| {
                exercise(format, &mutated);
            });
            Format::detect(&mutated);
        }
    }
}
