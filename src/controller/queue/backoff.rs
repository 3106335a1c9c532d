//! How soon a job is tried again after an error.
//!
//! No client. Counts the errors of each job in a row; a success or the end of the job forgets them. A change of the
//! job, its JobSet or its runtime does not wait for this: the job is tried at once.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::controller::error::{Class, Error};

/// Shortest delay.
const FIRST: Duration = Duration::from_millis(200);
/// Longest delay while the API server has trouble, which passes for all jobs at once.
const LONGEST_OUTAGE: Duration = Duration::from_secs(30);
/// Longest delay otherwise.
const LONGEST: Duration = Duration::from_secs(300);

/// Errors in a row, by object.
#[derive(Debug)]
pub(crate) struct Backoff<K>(Mutex<HashMap<K, Row>>);

/// Errors in a row.
#[derive(Debug, Default)]
struct Row {
    count: u32,
    /// What the last one said.
    text: String,
}

impl<K> Default for Backoff<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Hash + Eq + Clone> Backoff<K> {
    /// Counts an error and returns when to try again; `None` for a permanent error.
    pub(crate) fn after(&self, key: &K, error: &Error) -> Option<Duration> {
        let class = error.class();
        if class == Class::Impossible {
            self.forget(key);
            return None;
        }
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let row = counts.entry(key.clone()).or_default();
        row.count = row.count.saturating_add(1);
        row.text = error.text();
        let mut delay = delay(class, row.count);
        if matches!(error, Error::KindMissing { .. }) {
            // Most kinds are not watched, so nothing else shows that this one is there now.
            delay = delay.min(LONGEST_OUTAGE);
        }
        let delay = spread(delay, key, row.count);
        Some(delay.max(error.retry_after().unwrap_or_default()))
    }

    /// Returns the number of errors in a row.
    pub(crate) fn count(&self, key: &K) -> u32 {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.get(key).map_or(0, |row| row.count)
    }

    /// Reports whether the last error had the same text.
    pub(crate) fn repeats(&self, key: &K, text: &str) -> bool {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.get(key).is_some_and(|row| row.text == text)
    }

    /// Forgets the errors of an object.
    pub(crate) fn forget(&self, key: &K) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

fn delay(class: Class, count: u32) -> Duration {
    let longest = match class {
        Class::Unavailable | Class::Conflict => LONGEST_OUTAGE,
        Class::Leaving => return LONGEST,
        _ => LONGEST,
    };
    FIRST
        .saturating_mul(2_u32.saturating_pow(count.saturating_sub(1)))
        .min(longest)
}

/// Takes up to a fifth off, by object and count, so that jobs that failed together are not tried together.
fn spread<K: Hash>(delay: Duration, key: &K, count: u32) -> Duration {
    let mut hasher = DefaultHasher::new();
    (key, count).hash(&mut hasher);
    let thousandths = u32::try_from(hasher.finish() % 200).unwrap_or_default();
    delay.saturating_sub(delay / 1000 * thousandths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::k8s::problem::{Problem, Reason};

    fn problem(reason: Reason) -> Error {
        Error::Refused(Problem::new(reason, "spec", "no").into())
    }

    #[test]
    fn delays_double_up_to_a_limit() {
        assert_eq!(delay(Class::Invalid, 1), FIRST);
        assert_eq!(delay(Class::Invalid, 4), FIRST * 8);
        assert_eq!(delay(Class::Invalid, 1000), LONGEST);
        assert_eq!(delay(Class::Unavailable, 1000), LONGEST_OUTAGE);
    }

    #[test]
    fn a_permanent_error_is_not_tried_again() {
        let backoff = Backoff::default();
        assert_eq!(backoff.after(&"a", &problem(Reason::Unsupported)), None);
    }

    #[test]
    fn a_success_starts_over() {
        let backoff = Backoff::default();
        for _ in 0..9 {
            backoff.after(&"a", &problem(Reason::NotFound));
        }
        assert_eq!(backoff.count(&"a"), 9);
        assert!(backoff.repeats(&"a", &problem(Reason::NotFound).text()));
        backoff.forget(&"a");
        assert!(backoff.after(&"a", &problem(Reason::NotFound)).unwrap() <= FIRST);
    }

    #[test]
    fn jobs_that_fail_together_are_spread() {
        let delays: std::collections::BTreeSet<_> = (0..50).map(|i| spread(LONGEST, &i, 1)).collect();
        assert!(delays.len() > 25, "{delays:?}");
        assert!(delays.iter().all(|d| *d > LONGEST * 4 / 5 && *d <= LONGEST));
    }
}
