//! Text out: the only place that writes to the terminal. Colours appear on a terminal only, and not under `NO_COLOR`.

use std::fmt::Display;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Exit {
    /// All is well.
    Good = 0,
    /// Something was refused.
    Refused = 1,
    /// Something could not be read.
    Unreadable = 2,
}

/// What is wrong.
pub(super) const BAD: Style = AnsiColor::Red.on_default().bold();
/// What should be known.
pub(super) const WARN: Style = AnsiColor::Yellow.on_default();
/// What is well.
pub(super) const GOOD: Style = AnsiColor::Green.on_default();
/// Where something stands.
pub(super) const PLACE: Style = Style::new().bold();
/// What is said beside the matter.
pub(super) const DIM: Style = Style::new().dimmed();

/// Puts a text into a style.
pub(super) fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Writes to standard output. A reader that has gone away is no error.
pub(super) fn out(text: impl Display) -> io::Result<()> {
    forgive_broken_pipe(write!(anstream::stdout().lock(), "{text}"))
}

/// Writes a line to standard error.
pub(super) fn err(text: impl Display) -> io::Result<()> {
    forgive_broken_pipe(writeln!(anstream::stderr().lock(), "{text}"))
}

fn forgive_broken_pipe(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
