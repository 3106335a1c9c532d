//! Output: the only module that writes to the terminal. Colours appear on a terminal only, and not with `NO_COLOR`.

use std::fmt::Display;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

/// The exit status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Exit {
    /// Everything is allowed.
    Good = 0,
    /// Something was refused.
    Refused = 1,
    /// Something could not be read.
    Unreadable = 2,
}

/// Style of errors.
pub(super) const BAD: Style = AnsiColor::Red.on_default().bold();
/// Style of warnings.
pub(super) const WARN: Style = AnsiColor::Yellow.on_default();
/// Style of success.
pub(super) const GOOD: Style = AnsiColor::Green.on_default();
/// Style of paths and titles.
pub(super) const PLACE: Style = Style::new().bold();
/// Style of comments.
pub(super) const DIM: Style = Style::new().dimmed();

/// Returns a text in a style.
pub(super) fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Writes to standard output. A closed pipe is not an error.
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
