//! What is said on stderr beside the data: summaries and warnings, silenced by `--quiet`. Errors and
//! refused keys are told in any case.

use std::fmt;
use std::io::{self, Write as _};
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

/// A line on stderr. Whether anybody reads it changes nothing: `eprintln!` would panic where stderr is a
/// pipe that was closed or a disk that is full.
pub fn line(text: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Says it whatever was asked for: errors, refused keys.
macro_rules! tell {
    ($($arg:tt)*) => {
        $crate::talk::line(format_args!($($arg)*))
    };
}
pub(crate) use tell;

/// Says it unless silenced.
macro_rules! say {
    ($($arg:tt)*) => {
        if !$crate::talk::quiet() {
            $crate::talk::line(format_args!($($arg)*));
        }
    };
}
pub(crate) use say;
