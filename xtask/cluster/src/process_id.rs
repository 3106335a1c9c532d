//! Process ids that are safe to keep: an id alone may belong to another process by the time it is used.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

/// A process. Its start time and the boot distinguish it from later processes with the same id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessId {
    id: i32,
    /// In clock ticks after boot.
    started: u64,
    boot: String,
}

impl ProcessId {
    /// Returns the process that has this id now.
    pub(crate) fn of(id: u32) -> Result<Self> {
        let id = i32::try_from(id)?;
        let started = start_time(id).ok_or_else(|| anyhow!("process {id} has ended"))?;
        Ok(Self {
            id,
            started,
            boot: boot(),
        })
    }

    /// Waits until a process has a child, and returns it.
    pub(crate) fn child_of(parent: u32) -> Result<Self> {
        let file = format!("/proc/{parent}/task/{parent}/children");
        let deadline = Instant::now() + Duration::from_secs(5);
        while Instant::now() < deadline {
            let children = fs::read_to_string(&file).unwrap_or_default();
            if let Some(child) = children.split_whitespace().next() {
                return Self::of(child.parse()?);
            }
            thread::sleep(Duration::from_millis(5));
        }
        bail!("process {parent} has no child")
    }

    /// Returns the id.
    pub(crate) fn id(&self) -> i32 {
        self.id
    }

    /// Reports whether the process still runs.
    pub(crate) fn alive(&self) -> bool {
        self.boot == boot() && start_time(self.id) == Some(self.started)
    }

    /// Sends a signal and waits until the process has ended.
    pub(crate) fn end(&self, signal: Signal, limit: Duration) -> Result<()> {
        if !self.alive() {
            return Ok(());
        }
        kill(Pid::from_raw(self.id), signal)?;
        let deadline = Instant::now() + limit;
        while self.alive() {
            if Instant::now() > deadline {
                bail!(
                    "process {} still runs {} s after {signal}",
                    self.id,
                    limit.as_secs()
                );
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// Returns field 22 of `/proc/ID/stat`, counted from the end of the program's name, which may contain spaces. `None` if
/// the process has ended, even if its parent has not waited for it yet.
fn start_time(id: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    if state == "Z" || state == "X" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use nix::sys::signal::Signal;

    use super::ProcessId;

    #[test]
    fn a_process_is_alive_until_it_is_ended() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let id = ProcessId::of(child.id()).unwrap();
        assert!(id.alive());
        id.end(Signal::SIGKILL, Duration::from_secs(5)).unwrap();
        assert!(!id.alive());
        // A process that has ended gets no signal.
        id.end(Signal::SIGKILL, Duration::ZERO).unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_process_with_the_same_id_and_another_start_is_another_process() {
        let mut earlier = ProcessId::of(std::process::id()).unwrap();
        earlier.started -= 1;
        assert!(!earlier.alive());
    }
}
