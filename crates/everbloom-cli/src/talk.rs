//! What is said on stderr beside the data: summaries and warnings, silenced by `--quiet`. Errors and
//! refused keys are told in any case.

use std::sync::atomic::{AtomicBool, Ordering};

static QUIET: AtomicBool = AtomicBool::new(false);

/// Silences all talk from here on.
pub fn hush() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Whether talk is silenced.
pub fn quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// As `eprintln!`, unless silenced.
macro_rules! say {
    ($($arg:tt)*) => {
        if !$crate::talk::quiet() {
            eprintln!($($arg)*);
        }
    };
}
pub(crate) use say;
