//! What a cluster changes on the machine itself, and how it is put back: control groups, and kernel settings that the
//! kubelet writes and no namespace holds.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::state::State;

/// Kernel settings that the kubelet sets at its start.
const SETTINGS: [&str; 6] = [
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
];

/// The settings before the first cluster came, and the clusters since then. It is shared by all clusters of the machine:
/// the first one notes the settings, the last one puts them back.
#[derive(Default, Serialize, Deserialize)]
struct Ledger {
    settings: BTreeMap<String, String>,
    clusters: BTreeSet<PathBuf>,
}

const LEDGER: &str = "/run/trainer-clusters.json";
const LEDGER_LOCK: &str = "/run/trainer-clusters.lock";

/// Prepares the machine for a cluster.
pub(super) fn take(state: &State) -> Result<()> {
    with_ledger(|ledger| {
        if ledger.clusters.is_empty() {
            for setting in SETTINGS {
                // A setting that this kernel lacks is one that the kubelet cannot change.
                if let Ok(value) = fs::read_to_string(Path::new("/proc/sys").join(setting)) {
                    ledger
                        .settings
                        .insert(setting.to_owned(), value.trim().to_owned());
                }
            }
        }
        ledger.clusters.insert(state.folder.clone());
        Ok(())
    })?;
    make_control_groups(&state.cgroup())
}

/// Puts the machine back after a cluster's processes have ended.
pub(super) fn give_back(state: &State) -> Result<()> {
    with_ledger(|ledger| {
        if ledger.clusters.remove(&state.folder) && ledger.clusters.is_empty() {
            for (setting, value) in &ledger.settings {
                fs::write(Path::new("/proc/sys").join(setting), value)
                    .with_context(|| format!("cannot put back kernel setting {setting}={value}"))?;
            }
        }
        Ok(())
    })?;
    remove_control_groups(&state.cgroup())
}

fn with_ledger(change: impl FnOnce(&mut Ledger) -> Result<()>) -> Result<()> {
    let lock = File::create(LEDGER_LOCK).with_context(|| format!("cannot write {LEDGER_LOCK}"))?;
    lock.lock()?;
    let mut ledger: Ledger = match fs::read_to_string(LEDGER) {
        Ok(text) => serde_json::from_str(&text).with_context(|| format!("{LEDGER} is damaged"))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ledger::default(),
        Err(error) => return Err(error).with_context(|| format!("cannot read {LEDGER}")),
    };
    change(&mut ledger)?;
    if ledger.clusters.is_empty() {
        let _ = fs::remove_file(LEDGER);
    } else {
        fs::write(LEDGER, serde_json::to_string_pretty(&ledger)?)?;
    }
    Ok(())
}

/// One control group a hierarchy, below which the kubelet puts all pods.
fn make_control_groups(name: &str) -> Result<()> {
    for hierarchy in hierarchies()? {
        let group = hierarchy.join(name);
        fs::create_dir_all(&group).with_context(|| format!("cannot make {}", group.display()))?;
        // New groups of `cpuset` start without any CPU and memory node.
        for file in ["cpuset.mems", "cpuset.cpus"] {
            if let Ok(value) = fs::read_to_string(hierarchy.join(file)) {
                fs::write(group.join(file), value.trim())?;
            }
        }
    }
    Ok(())
}

fn remove_control_groups(name: &str) -> Result<()> {
    for hierarchy in hierarchies()? {
        let group = hierarchy.join(name);
        // The kernel lets go of the last processes a moment after they have ended.
        let mut tries = 0;
        while group.is_dir() && remove_group(&group).is_err() {
            tries += 1;
            if tries > 50 {
                bail!("control group {} cannot be removed", group.display());
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
    Ok(())
}

fn remove_group(group: &Path) -> io::Result<()> {
    for entry in fs::read_dir(group)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_group(&entry.path())?;
        }
    }
    fs::remove_dir(group)
}

/// Where the control group hierarchies are mounted: those of version 1, which the kubelet uses, and with them the unified
/// one, in which the container runtime makes groups too.
fn hierarchies() -> Result<Vec<PathBuf>> {
    let mounts = fs::read_to_string("/proc/self/mounts")?;
    let found: Vec<(&str, &str)> = mounts
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ');
            let (target, kind) = (fields.nth(1)?, fields.next()?);
            (target.starts_with("/sys/fs/cgroup/") && kind.starts_with("cgroup")).then_some((target, kind))
        })
        .collect();
    if !found.iter().any(|(_, kind)| *kind == "cgroup") {
        bail!("this machine has control groups of version 2 only; the cluster is made for version 1 so far");
    }
    Ok(found
        .into_iter()
        .map(|(target, _)| PathBuf::from(target))
        .collect())
}
