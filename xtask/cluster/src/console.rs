//! Progress lines for a person at a terminal, each with the seconds since the start.

use std::io::{self, Write};
use std::sync::OnceLock;
use std::time::Instant;

static START: OnceLock<Instant> = OnceLock::new();

/// Starts the clock of the progress lines.
pub fn start() {
    START.get_or_init(Instant::now);
}

/// Returns the seconds since the start.
pub fn elapsed() -> f64 {
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}

/// Prints a progress line. Ignores errors: a closed terminal must not stop a cluster half-way.
pub fn progress(line: &str) {
    let _ = writeln!(io::stderr(), "{:7.1}s  {line}", elapsed());
}

/// Prints a result to standard output, without the clock.
pub fn print(text: &str) {
    let _ = writeln!(io::stdout(), "{text}");
}

/// Prints a progress line, with `format!` arguments.
#[macro_export]
macro_rules! say {
    ($($argument:tt)*) => { $crate::console::progress(&format!($($argument)*)) };
}
