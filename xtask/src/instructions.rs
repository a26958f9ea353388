//! Instructions per operation of the flagship filters, counted by callgrind.
//!
//! Counts do not depend on what else the machine does. Every operation is run with so many keys and with
//! twice as many: the difference is what so many operations take. What making the keys takes, the operation
//! `nothing`, is taken off. Callgrind knows no AVX-512, so that the AVX2 path is what runs.

use std::process::Command;

const COUNT: u64 = 100_000;

pub fn run() -> Result<(), String> {
    let build = ["build", "--release", "--quiet", "-p", "everbloom-bench", "--bin", "operations"];
    let built = Command::new("cargo").args(build).status().map_err(|e| format!("cargo: {e}"))?;
    if !built.success() {
        return Err("the bench does not compile".into());
    }
    let program = "target/release/operations";
    let list = Command::new(program).arg("list").output().map_err(|e| format!("{program}: {e}"))?;
    let names = String::from_utf8_lossy(&list.stdout).into_owned();
    let per_key = |name: &str| -> Result<f64, String> {
        let (once, twice) = (counted(program, name, COUNT)?, counted(program, name, 2 * COUNT)?);
        Ok((twice - once) as f64 / COUNT as f64)
    };
    let nothing = per_key("nothing")?;
    println!("{:<34} {:>12}", "operation", "instructions");
    for name in names.lines().filter(|name| *name != "nothing") {
        println!("{name:<34} {:>12.1}", per_key(name)? - nothing);
    }
    Ok(())
}

/// Instructions of one run.
fn counted(program: &str, name: &str, count: u64) -> Result<u64, String> {
    let valgrind = ["--tool=callgrind", "--callgrind-out-file=/dev/null"];
    let mut run = Command::new("valgrind");
    run.args(valgrind).args([program, name, &count.to_string()]);
    let out = run.output().map_err(|e| format!("valgrind: {e}; is it installed?"))?;
    let said = String::from_utf8_lossy(&out.stderr);
    let total = said.lines().find_map(|line| line.split("Collected :").nth(1));
    let total = total.and_then(|text| text.trim().replace(',', "").parse().ok());
    total.ok_or_else(|| format!("{name}: valgrind did not say how many instructions: {said}"))
}
