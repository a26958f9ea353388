//! A progress bar for input that takes long, where a person watches.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use everbloom_records::Passed;
use indicatif::{ProgressBar, ProgressStyle};

use crate::talk;

/// How long a reading must take before a bar appears: most are over before anybody would read one.
const PATIENCE: Duration = Duration::from_millis(500);

/// Whether there is a bar: a second one would be drawn over it.
static SHOWN: AtomicBool = AtomicBool::new(false);

/// A bar that shows how much of an input was read, how fast, and how long the rest will take.
struct Reading {
    length: Option<u64>,
    read: u64,
    since: Instant,
    bar: Option<ProgressBar>,
    wanted: bool,
}

/// A bar for whoever reads records, which is told of the bytes that pass.
pub fn watch(length: Option<u64>) -> Passed {
    // A bar would run through lines printed on the same terminal.
    let wanted = !talk::quiet() && io::stderr().is_terminal() && !io::stdout().is_terminal();
    let mut reading = Reading { length, read: 0, since: Instant::now(), bar: None, wanted };
    Box::new(move |bytes| reading.show(bytes))
}

impl Reading {
    fn show(&mut self, bytes: u64) {
        self.read += bytes;
        if !self.wanted || self.since.elapsed() < PATIENCE {
            return;
        }
        if self.bar.is_none() && !SHOWN.swap(true, Ordering::Relaxed) {
            self.bar = Some(bar(self.length));
        }
        if let Some(bar) = &self.bar {
            bar.set_position(self.read);
        }
    }
}

fn bar(length: Option<u64>) -> ProgressBar {
    let (bar, template) = match length {
        Some(length) => (
            ProgressBar::new(length),
            "{wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
        ),
        None => (ProgressBar::new_spinner(), "{spinner} {bytes} read, {bytes_per_sec}"),
    };
    bar.with_style(style(template))
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl Drop for Reading {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
            SHOWN.store(false, Ordering::Relaxed);
        }
    }
}
