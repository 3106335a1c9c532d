//! Removes a cluster, in whatever state a start or an earlier removal stopped.

use std::fs;
use std::time::Duration;

use anyhow::{Result, bail};
use nix::sys::signal::Signal;

use crate::namespaces::Namespaces;
use crate::state::State;
use crate::{cache, interrupt, machine};

/// What remains of a cluster's folder.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    Nothing,
    Logs,
}

/// Removes the cluster of a name, complete or not. Reports whether there was one.
pub fn down(name: &str) -> Result<bool> {
    let state = State::of(name)?;
    let exists = state.folder.exists();
    remove(&state, Keep::Nothing)?;
    Ok(exists)
}

/// Ends a cluster's processes, restores the machine and removes the cluster's folder. Does not stop when interrupted.
pub(crate) fn remove(state: &State, keep: Keep) -> Result<()> {
    interrupt::shielded(|| {
        if !state.folder.exists() {
            return Ok(());
        }
        end_processes(state)?;
        machine::restore(state)?;
        refuse_mounts(state)?;
        match keep {
            Keep::Nothing => cache::remove(&state.folder),
            Keep::Logs => remove_all_but_logs(state),
        }
    })
}

fn end_processes(state: &State) -> Result<()> {
    let record = state.load()?.unwrap_or_default();
    if let Some(forward) = &record.forward {
        forward.end(Signal::SIGKILL, Duration::from_secs(5))?;
    }
    match record.init {
        Some(init) => Namespaces::of(init).end(),
        None => Ok(()),
    }
}

/// Fails when something is mounted in the folder: removing it would remove that too.
fn refuse_mounts(state: &State) -> Result<()> {
    let folder = state.folder.display();
    let inside = format!(" {folder}/");
    let mounts = fs::read_to_string("/proc/self/mounts")?;
    match mounts.lines().find(|line| line.contains(&inside)) {
        Some(mount) => bail!("{folder} is not removed, since something is mounted in it: {mount}"),
        None => Ok(()),
    }
}

fn remove_all_but_logs(state: &State) -> Result<()> {
    for entry in fs::read_dir(&state.folder)? {
        let path = entry?.path();
        if path == state.logs() || path == state.audit_log() {
            continue;
        }
        if path.is_dir() {
            fs::remove_dir_all(&path)?;
        } else {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}
