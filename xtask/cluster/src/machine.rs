//! What a cluster changes on the machine itself, and how that is restored: kernel settings that the kubelet writes and no
//! namespace holds, and control groups ([`control_groups`]).

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::control_groups;
use crate::state::State;

/// Kernel settings that the kubelet changes at its start.
const SETTINGS: [&str; 6] = [
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
];

/// The kernel settings before the first cluster, and the clusters that are up. All clusters of the machine share it: the first
/// one records the settings, the last one restores them.
#[derive(Default, Serialize, Deserialize)]
struct Ledger {
    settings: BTreeMap<String, String>,
    /// Controllers of the control groups that clusters have enabled.
    #[serde(default)]
    controllers: BTreeSet<String>,
    clusters: BTreeSet<PathBuf>,
}

const LEDGER: &str = "/run/trainer-clusters.json";
const LEDGER_LOCK: &str = "/run/trainer-clusters.lock";

/// Prepares the machine for a cluster.
pub(crate) fn prepare(state: &State) -> Result<()> {
    with_ledger(|ledger| {
        if ledger.clusters.is_empty() {
            for setting in SETTINGS {
                // The kubelet cannot change a setting that this kernel lacks.
                if let Ok(value) = fs::read_to_string(Path::new("/proc/sys").join(setting)) {
                    ledger
                        .settings
                        .insert(setting.to_owned(), value.trim().to_owned());
                }
            }
        }
        ledger.clusters.insert(state.folder.clone());
        ledger.controllers.extend(control_groups::make(&state.cgroup())?);
        Ok(())
    })
}

/// Restores the machine after a cluster's processes have ended.
pub(crate) fn restore(state: &State) -> Result<()> {
    control_groups::remove(&state.cgroup())?;
    with_ledger(|ledger| {
        if ledger.clusters.remove(&state.folder) && ledger.clusters.is_empty() {
            for (setting, value) in &ledger.settings {
                fs::write(Path::new("/proc/sys").join(setting), value)
                    .with_context(|| format!("cannot restore kernel setting {setting}={value}"))?;
            }
            control_groups::disable(&ledger.controllers)?;
        }
        Ok(())
    })
}

/// Changes the ledger while no other cluster does.
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
