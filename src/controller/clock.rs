//! The time of day, which a test can set.
//!
//! Durations are measured with [`tokio::time::Instant`], which a test can pause.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

/// A source of the time of day.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// Returns the clock of the system.
    pub fn system() -> Self {
        Self::new(Timestamp::now)
    }

    /// Makes a clock of a function.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Returns the time.
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}
