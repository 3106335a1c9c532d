//! Ctrl-C and other signals: the process stops at its next wait, and cleans up.
//!
//! A signal only sets a flag. Everything that waits (for a child process, for a condition in the cluster) calls [`check`]
//! and fails, so the ordinary clean-up runs. Clean-up is [`shielded`]: a second Ctrl-C does not leave a cluster
//! half-removed.

use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::{Result, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

static RAISED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
static SHIELDS: AtomicUsize = AtomicUsize::new(0);

/// Catches the signals from now on.
pub fn catch() -> Result<()> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&RAISED))?;
    }
    Ok(())
}

/// Reports whether the process was asked to stop, and may.
pub fn raised() -> bool {
    RAISED.load(Ordering::SeqCst) && SHIELDS.load(Ordering::SeqCst) == 0
}

/// Fails if the process was asked to stop.
pub fn check() -> Result<()> {
    if raised() {
        bail!("interrupted");
    }
    Ok(())
}

/// Runs a clean-up to its end, without regard to signals.
pub fn shielded<T>(clean_up: impl FnOnce() -> T) -> T {
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
