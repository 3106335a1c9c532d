//! Progress lines for a person at a terminal: what happens, and how many seconds after the start.

use std::io::{self, Write};
use std::sync::OnceLock;
use std::time::Instant;

static START: OnceLock<Instant> = OnceLock::new();

/// Starts the clock that every progress line shows.
pub(crate) fn start() {
    START.get_or_init(Instant::now);
}

/// Seconds since the start.
pub(crate) fn elapsed() -> f64 {
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}

/// Prints one progress line. A terminal that went away is no reason to stop half-way.
pub(crate) fn progress(line: &str) {
    let _ = writeln!(io::stderr(), "{:7.1}s  {line}", elapsed());
}

/// Prints output that someone may want to keep: to standard output, without the clock.
pub(crate) fn print(text: &str) {
    let _ = writeln!(io::stdout(), "{text}");
}

/// A progress line with `format!` arguments.
macro_rules! say {
    ($($argument:tt)*) => { $crate::console::progress(&format!($($argument)*)) };
}
pub(crate) use say;
