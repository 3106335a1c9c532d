//! Ctrl-C and friends: the task stops at its next wait, and cleans up after itself.
//!
//! A signal only sets a flag. Everything that waits (a child process, a condition in the cluster) asks [`check`]
//! and gives up with an error, so the ordinary clean-up paths run. Those run [`shielded`]: a second Ctrl-C does not
//! leave a half-removed cluster behind.

use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::{Result, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

static RAISED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
static SHIELDS: AtomicUsize = AtomicUsize::new(0);

/// Catches the signals from now on.
pub(crate) fn catch() -> Result<()> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&RAISED))?;
    }
    Ok(())
}

/// Whether the task was asked to stop, and may stop here.
pub(crate) fn raised() -> bool {
    RAISED.load(Ordering::SeqCst) && SHIELDS.load(Ordering::SeqCst) == 0
}

/// Fails when the task was asked to stop.
pub(crate) fn check() -> Result<()> {
    if raised() {
        bail!("interrupted");
    }
    Ok(())
}

/// Runs a clean-up to its end, whatever is signalled meanwhile.
pub(crate) fn shielded<T>(clean_up: impl FnOnce() -> T) -> T {
    struct Shield;
    impl Drop for Shield {
        fn drop(&mut self) {
            SHIELDS.fetch_sub(1, Ordering::SeqCst);
        }
    }
    SHIELDS.fetch_add(1, Ordering::SeqCst);
    let _shield = Shield;
    clean_up()
}
