//! A digest of the sources that results depend on: the library's, the tools' and the lab's. Results carry it, so that
//! those of older sources can be told.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut digest = 0xCBF2_9CE4_8422_2325;
    for folder in ["../crates/everbloom/src", "../crates/everbloom-tools/src", "src"] {
        let folder = here.join(folder);
        println!("cargo:rerun-if-changed={}", folder.display());
        add(&folder, &mut digest);
    }
    println!("cargo:rustc-env=EVERBLOOM_SOURCES={digest:016x}");
}

/// Adds every file below a folder, in the order of their names, by FNV-1a.
fn add(folder: &Path, digest: &mut u64) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            add(&path, digest);
        } else if path.extension().is_some_and(|end| end == "rs") {
            for byte in fs::read(&path).unwrap_or_default() {
                *digest = (*digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
            }
        }
    }
}
