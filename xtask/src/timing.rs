//! Commands timed beside each other: interleaved rounds, medians, and the memory they took.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// What running a command line once showed.
pub struct Run {
    pub seconds: f64,
    /// The largest process of the line, where GNU time is installed.
    pub peak_kib: Option<u64>,
    /// The last line of its output.
    pub says: String,
}

/// Runs a line of bash in the folder, with the environment's plain order of bytes. An exit code of 1 means
/// "nothing found", as with grep.
pub fn run(folder: &Path, line: &str) -> Result<Run, String> {
    let peak = folder.join("peak");
    let timed = Path::new("/usr/bin/time").is_file();
    let mut command = Command::new(if timed { "/usr/bin/time" } else { "bash" });
    if timed {
        command.args(["-q", "-f", "%M", "-o"]).arg(&peak).arg("bash");
    }
    command.args(["-o", "pipefail", "-c", line]).current_dir(folder).env("LC_ALL", "C");
    let start = Instant::now();
    let output = command.output().map_err(|e| format!("{line}: {e}"))?;
    let seconds = start.elapsed().as_secs_f64();
    if !matches!(output.status.code(), Some(0 | 1)) {
        return Err(format!(
            "{line}: {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    let peak_kib = std::fs::read_to_string(peak).ok().and_then(|text| text.trim().parse().ok());
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(Run { seconds, peak_kib, says: text.lines().next_back().unwrap_or_default().to_owned() })
}

/// The middle one.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Whether a program is on the path.
pub fn has(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
    found.is_ok_and(|output| output.status.success())
}
