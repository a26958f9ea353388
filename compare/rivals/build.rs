//! Builds the shims around Boost.Bloom and RocksDB's FastLocalBloom, or says why there is none.

use std::path::PathBuf;
use std::process::Command;

use base64::Engine;

fn main() {
    println!("cargo:rerun-if-changed=shim");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-check-cfg=cfg(boost, rocksdb)");
    // Twice each: as a plain build is, and for this processor.
    for (name, folders) in [("boost", boost()), ("rocksdb", rocksdb())] {
        let built = shim(name, "plain", "x86-64", &folders)
            .and_then(|()| shim(name, "native", "native", &folders));
        match built {
            Ok(()) => println!("cargo:rustc-cfg={name}"),
            Err(e) => println!("cargo:warning={name} is left out: no C++ compiler, or {e}"),
        }
    }
}

fn shim(name: &str, kind: &str, machine: &str, folders: &[PathBuf]) -> Result<(), cc::Error> {
    let object = format!("{name}_{kind}");
    let mut build = cc::Build::new();
    build.cpp(true).std("c++20").opt_level(3).flag(format!("-march={machine}")).warnings(false);
    build.define("TABLE", object.as_str()).includes(folders);
    build.define("ROCKSDB_NAMESPACE", format!("{object}_space").as_str());
    build.define("ROCKSDB_PLATFORM_POSIX", None).define("OS_LINUX", None);
    build.file(format!("shim/{name}.cpp")).try_compile(&object)
}

/// Where Boost's headers are, which its package tells in TOML in base64: a list of quoted paths.
fn boost() -> Vec<PathBuf> {
    let told = std::env::var("DEP_BOOST_BLOOM_ZANBIL_INCLUDE").unwrap_or_default();
    let decoded = base64::engine::general_purpose::URL_SAFE.decode(told).unwrap_or_default();
    let text = String::from_utf8_lossy(&decoded).into_owned();
    text.split('"').skip(1).step_by(2).map(PathBuf::from).collect()
}

/// Where RocksDB's sources are: in a package that is downloaded with the features of this one and never built.
fn rocksdb() -> Vec<PathBuf> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let arguments = ["metadata", "--format-version", "1", "--locked", "--all-features"];
    let told = Command::new(cargo).args(arguments).output().map(|output| output.stdout);
    let told: serde_json::Value =
        serde_json::from_slice(&told.unwrap_or_default()).unwrap_or_default();
    let mut packages = told["packages"].as_array().into_iter().flatten();
    let package = packages.find(|package| package["name"] == "librocksdb-sys");
    let manifest = package.and_then(|package| package["manifest_path"].as_str());
    let sources = manifest.map(|manifest| PathBuf::from(manifest).with_file_name("rocksdb"));
    sources.into_iter().flat_map(|sources| [sources.join("include"), sources]).collect()
}
