//! The control groups below which the kubelet puts all pods of a cluster, one in each hierarchy of the machine.
//!
//! Machines have version 1 (a hierarchy for each controller) or version 2 (one hierarchy for all). Only version 1 was ever
//! run with this cluster; version 2 follows the kubelet's sources and is tested on recorded files.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::say;

/// Controllers of version 2 that the kubelet expects in its group, if the machine has them.
const KUBELET: [&str; 5] = ["cpu", "cpuset", "hugetlb", "memory", "pids"];
/// The controllers that a group of version 2 has.
const AVAILABLE: &str = "cgroup.controllers";
/// The controllers that its children have.
const ENABLED: &str = "cgroup.subtree_control";

/// Where the hierarchies of a machine are mounted.
#[derive(Debug, PartialEq, Eq)]
enum Hierarchies {
    /// Version 1, with the unified hierarchy among them where there is one: it has no controllers then, but the container
    /// runtime makes groups in it too.
    V1(Vec<PathBuf>),
    /// Version 2.
    V2(PathBuf),
}

/// Makes a group of that name in each hierarchy. Returns the controllers that this enabled for the groups of the machine,
/// for [`disable`].
pub(crate) fn make(name: &str) -> Result<BTreeSet<String>> {
    match Hierarchies::find()? {
        Hierarchies::V1(mounts) => {
            for mount in mounts {
                make_v1(&mount, name)?;
            }
            Ok(BTreeSet::new())
        }
        Hierarchies::V2(mount) => make_v2(&mount, name),
    }
}

/// Removes the groups of that name, with all groups below them.
pub(crate) fn remove(name: &str) -> Result<()> {
    for mount in Hierarchies::find()?.mounts() {
        let group = mount.join(name);
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

/// Disables controllers that [`make`] enabled. Those that another group has begun to use stay enabled.
pub(crate) fn disable(controllers: &BTreeSet<String>) -> Result<()> {
    if let Hierarchies::V2(mount) = Hierarchies::find()? {
        for controller in controllers {
            if let Err(error) = fs::write(mount.join(ENABLED), format!("-{controller}")) {
                say!("controller {controller} of the control groups stays enabled: {error}");
            }
        }
    }
    Ok(())
}

fn make_v1(mount: &Path, name: &str) -> Result<()> {
    let group = mount.join(name);
    fs::create_dir_all(&group).with_context(|| format!("cannot make {}", group.display()))?;
    // New groups of `cpuset` start without any CPU and memory node.
    for file in ["cpuset.mems", "cpuset.cpus"] {
        if let Ok(value) = fs::read_to_string(mount.join(file)) {
            fs::write(group.join(file), value.trim())?;
        }
    }
    Ok(())
}

fn make_v2(mount: &Path, name: &str) -> Result<BTreeSet<String>> {
    let read = |file: &str| {
        let file = mount.join(file);
        fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))
    };
    let missing = missing(&read(AVAILABLE)?, &read(ENABLED)?);
    // One by one: the kernel refuses all of them if one is refused.
    for controller in &missing {
        fs::write(mount.join(ENABLED), format!("+{controller}")).with_context(|| {
            format!(
                "cannot enable the controller {controller} in {}, which the kubelet needs",
                mount.display()
            )
        })?;
    }
    let group = mount.join(name);
    fs::create_dir_all(&group).with_context(|| format!("cannot make {}", group.display()))?;
    Ok(missing)
}

/// Returns the kubelet's controllers that the machine has, but not enabled.
fn missing(available: &str, enabled: &str) -> BTreeSet<String> {
    let available: BTreeSet<&str> = available.split_whitespace().collect();
    let enabled: BTreeSet<&str> = enabled.split_whitespace().collect();
    KUBELET
        .into_iter()
        .filter(|controller| available.contains(controller) && !enabled.contains(controller))
        .map(str::to_owned)
        .collect()
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

impl Hierarchies {
    fn find() -> Result<Self> {
        Self::parse(&fs::read_to_string("/proc/self/mounts")?)
    }

    /// Reads the lines of `/proc/self/mounts`: device, target, type, options.
    fn parse(mounts: &str) -> Result<Self> {
        let (mut v1, mut v2) = (Vec::new(), Vec::new());
        for line in mounts.lines() {
            let mut fields = line.split(' ').skip(1);
            let (Some(target), Some(kind)) = (fields.next(), fields.next()) else {
                continue;
            };
            // A container on this machine may have mounts of its own elsewhere.
            if !Path::new(target).starts_with("/sys/fs/cgroup") {
                continue;
            }
            match kind {
                "cgroup" => v1.push(PathBuf::from(target)),
                "cgroup2" => v2.push(PathBuf::from(target)),
                _ => {}
            }
        }
        if !v1.is_empty() {
            v1.append(&mut v2);
            return Ok(Self::V1(v1));
        }
        match v2.pop() {
            Some(mount) => Ok(Self::V2(mount)),
            None => bail!("no control groups are mounted at /sys/fs/cgroup"),
        }
    }

    fn mounts(self) -> Vec<PathBuf> {
        match self {
            Self::V1(mounts) => mounts,
            Self::V2(mount) => vec![mount],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A virtual machine with version 1, and the unified hierarchy beside it.
    const V1: &str = "\
proc /proc proc rw,nosuid,nodev,noexec,relatime 0 0
tmpfs /sys/fs/cgroup tmpfs rw,relatime,mode=755 0 0
cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu 0 0
cgroup /sys/fs/cgroup/cpuset cgroup rw,relatime,cpuset 0 0
cgroup /sys/fs/cgroup/systemd cgroup rw,relatime,name=systemd 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0
";
    /// A distribution with systemd and version 2.
    const V2: &str = "\
sysfs /sys sysfs rw,nosuid,nodev,noexec,relatime 0 0
cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nodev,noexec,relatime,nsdelegate,memory_recursiveprot 0 0
cgroup2 /var/lib/machines/a/sys/fs/cgroup cgroup2 rw,relatime 0 0
";

    #[test]
    fn version_1_has_a_hierarchy_for_each_controller() {
        let expected = ["cpu", "cpuset", "systemd", "unified"]
            .map(|name| Path::new("/sys/fs/cgroup").join(name))
            .to_vec();
        assert_eq!(Hierarchies::parse(V1).unwrap(), Hierarchies::V1(expected));
    }

    #[test]
    fn version_2_has_one_hierarchy() {
        let expected = Hierarchies::V2(PathBuf::from("/sys/fs/cgroup"));
        assert_eq!(Hierarchies::parse(V2).unwrap(), expected);
    }

    #[test]
    fn a_machine_without_control_groups_is_refused() {
        let error = Hierarchies::parse("proc /proc proc rw 0 0\n").unwrap_err();
        assert!(error.to_string().contains("no control groups"), "{error}");
    }

    #[test]
    fn only_controllers_that_the_kubelet_needs_and_the_machine_has_are_enabled() {
        // Debian 12 and Fedora 40, as systemd leaves them.
        let available = "cpuset cpu io memory hugetlb pids rdma misc\n";
        assert_eq!(
            missing(available, "cpu memory pids\n"),
            BTreeSet::from(["cpuset", "hugetlb"].map(str::to_owned))
        );
        assert_eq!(
            missing("cpuset cpu io memory pids\n", "cpuset cpu io memory pids\n"),
            BTreeSet::new()
        );
        assert_eq!(
            missing("cpu memory\n", "\n"),
            BTreeSet::from(["cpu", "memory"].map(str::to_owned))
        );
    }

    #[test]
    fn a_group_of_version_1_gets_the_processors_of_its_parent() {
        let mount = tempfile::tempdir().unwrap();
        fs::write(mount.path().join("cpuset.cpus"), "0-1\n").unwrap();
        fs::write(mount.path().join("cpuset.mems"), "0\n").unwrap();
        make_v1(mount.path(), "group").unwrap();
        assert_eq!(
            fs::read_to_string(mount.path().join("group/cpuset.cpus")).unwrap(),
            "0-1"
        );
    }

    #[test]
    fn a_group_of_version_2_is_made_after_its_controllers_are_enabled() {
        let mount = tempfile::tempdir().unwrap();
        fs::write(mount.path().join(AVAILABLE), "cpuset cpu io memory pids\n").unwrap();
        fs::write(mount.path().join(ENABLED), "cpu memory pids\n").unwrap();
        let enabled = make_v2(mount.path(), "group").unwrap();
        assert_eq!(enabled, BTreeSet::from(["cpuset".to_owned()]));
        assert_eq!(fs::read_to_string(mount.path().join(ENABLED)).unwrap(), "+cpuset");
        assert!(mount.path().join("group").is_dir());
    }
}
