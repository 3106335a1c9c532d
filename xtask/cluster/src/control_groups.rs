//! The control groups below which the kubelet puts all pods of a cluster, one in each hierarchy of the machine.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// Makes a group of that name in each hierarchy.
pub(crate) fn make(name: &str) -> Result<()> {
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

/// Removes the groups of that name, with all groups below them.
pub(crate) fn remove(name: &str) -> Result<()> {
    for hierarchy in hierarchies()? {
        let group = hierarchy.join(name);
        // The kernel releases the last processes a moment after they have ended.
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

/// Lists where the hierarchies are mounted: those of version 1, which the kubelet uses, and the unified one, in which the
/// container runtime makes groups too.
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
