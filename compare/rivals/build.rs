//! Builds the shim around Boost.Bloom, or says that there is no C++ compiler for it.

use base64::Engine;

fn main() {
    println!("cargo:rerun-if-changed=shim/boost.cpp");
    println!("cargo:rustc-check-cfg=cfg(boost)");
    // The package tells where its headers are in TOML in base64: a list of quoted paths.
    let told = std::env::var("DEP_BOOST_BLOOM_ZANBIL_INCLUDE").unwrap_or_default();
    let decoded = base64::engine::general_purpose::URL_SAFE.decode(told).unwrap_or_default();
    let text = String::from_utf8_lossy(&decoded).into_owned();
    let folders: Vec<&str> = text.split('"').skip(1).step_by(2).collect();
    // Twice: as a plain build is, and for this processor.
    let shim = |name: &str, machine: &str| {
        let mut build = cc::Build::new();
        build.cpp(true).std("c++17").opt_level(3).flag(format!("-march={machine}"));
        build.define("TABLE", name).includes(folders.clone());
        build.file("shim/boost.cpp").try_compile(name)
    };
    let built = shim("boost_plain", "x86-64").and_then(|()| shim("boost_native", "native"));
    match built {
        Ok(()) => println!("cargo:rustc-cfg=boost"),
        Err(e) => println!("cargo:warning=Boost.Bloom is left out: no C++ compiler, or {e}"),
    }
}
