//! Packages as users download them: the library compiles from its own, without the repository around it.

use std::fs;
use std::process::Command;

use crate::root;

/// Packs every crate that is published, then compiles the library from its package: without features, with the default
/// ones and with all.
pub fn run() -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root().join("target"), Into::into);
    // The crates need each other, and none of them is in a registry yet: they are packed together and not compiled here.
    let pack = ["package", "--workspace", "--quiet", "--no-verify", "--allow-dirty", "--locked"];
    succeed(Command::new("cargo").args(pack).current_dir(root()))?;
    let packed =
        target.join("package").join(format!("everbloom-{}.crate", env!("CARGO_PKG_VERSION")));
    succeed(Command::new("tar").arg("-xzf").arg(&packed).current_dir(folder.path()))?;
    let library = folder.path().join(format!("everbloom-{}", env!("CARGO_PKG_VERSION")));
    for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE", "src/lib.rs"] {
        if !library.join(file).is_file() {
            return Err(format!("the package of the library has no {file}"));
        }
    }
    let manifest = library.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).map_err(|e| e.to_string())?;
    fs::write(&manifest, format!("{text}\n[workspace]\n")).map_err(|e| e.to_string())?;
    for features in [&["--no-default-features"][..], &[], &["--features", "full"]] {
        let mut check = Command::new("cargo");
        check.args(["check", "--quiet", "--lib"]).args(features).current_dir(&library);
        succeed(check.env("CARGO_TARGET_DIR", target.join("unpacked")))?;
    }
    println!("the library compiles from its package of {} kB", size(&packed)? / 1000);
    Ok(())
}

fn size(path: &std::path::Path) -> Result<u64, String> {
    fs::metadata(path).map(|meta| meta.len()).map_err(|e| format!("{}: {e}", path.display()))
}

fn succeed(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)))
}
