//! Process 1 of a cluster's namespaces: sets up mounts and network, then waits for orphaned processes to end.
//!
//! It is this program under an internal command, since the set-up is a dozen system calls in a fixed order.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::wait::wait;

use crate::namespaces::{READY, Setup};
use crate::network::NODE_ADDRESS;
use crate::process::Task;

/// The internal command.
pub(crate) const COMMAND: &str = "cluster-init";

/// Folders that the cluster's programs use by fixed names. In the namespaces they are empty at first.
pub(crate) const OWN_FOLDERS: [&str; 3] = ["/run", "/var/lib", "/var/log"];

/// Sets the namespaces up, prints [`READY`], and runs until it is ended.
pub(crate) fn run(setup: &str) -> Result<()> {
    let setup: Setup = serde_json::from_str(setup)?;
    show_own_network_in_sys(&setup.scratch)?;
    for folder in OWN_FOLDERS {
        mount(
            Some("tmpfs"),
            folder,
            Some("tmpfs"),
            MsFlags::empty(),
            Some("mode=755"),
        )
        .with_context(|| format!("cannot mount {folder}"))?;
    }
    for folder in ["/run/lock", "/run/netns", "/var/log/containers"] {
        fs::create_dir_all(folder)?;
    }
    for (source, target) in &setup.binds {
        fs::create_dir_all(target)?;
        bind(source, target)?;
    }
    // The kubelet and the containers must see each other's mounts.
    mount(
        None::<&str>,
        "/",
        None::<&str>,
        MsFlags::MS_REC | MsFlags::MS_SHARED,
        None::<&str>,
    )?;
    set_up_network()?;
    let mut output = io::stdout();
    writeln!(output, "{READY}")?;
    output.flush()?;
    loop {
        // Orphans of the namespace become children of this process. It has none at first.
        if wait().is_err() {
            thread::sleep(Duration::from_millis(500));
        }
    }
}

/// Mounts the `/sys` that belongs to the new network, with the machine's control groups in it. Mounts must be private
/// here: if they were shared, the unmounting would also remove the second copy of the control groups.
fn show_own_network_in_sys(scratch: &Path) -> Result<()> {
    const CGROUPS: &str = "/sys/fs/cgroup";
    bind(Path::new(CGROUPS), scratch)?;
    mount(
        Some("sysfs"),
        "/sys",
        Some("sysfs"),
        MsFlags::empty(),
        None::<&str>,
    )
    .context("cannot mount /sys")?;
    bind(scratch, Path::new(CGROUPS))?;
    umount2(scratch, MntFlags::MNT_DETACH)?;
    Ok(())
}

fn bind(source: &Path, target: &Path) -> Result<()> {
    mount(
        Some(source),
        target,
        None::<&str>,
        MsFlags::MS_BIND | MsFlags::MS_REC,
        None::<&str>,
    )
    .with_context(|| format!("cannot bind {} to {}", source.display(), target.display()))
}

/// Makes one address, and a default route over a link that leads nowhere: programs find the address of the machine by
/// its default route.
fn set_up_network() -> Result<()> {
    let address = format!("{NODE_ADDRESS}/32");
    for command in [
        "link set lo up",
        "link add node0 type veth peer name node0-peer",
        "link set node0-peer up",
        &format!("addr add {address} dev node0"),
        "link set node0 up",
        "route add default dev node0",
    ] {
        Task::new("ip").args(command.split(' ')).text()?;
    }
    // The second one sends traffic between pods of the bridge through the packet filter, which implements services.
    for setting in ["net/ipv4/ip_forward", "net/bridge/bridge-nf-call-iptables"] {
        let file = Path::new("/proc/sys").join(setting);
        fs::write(&file, "1").with_context(|| {
            format!(
                "cannot set {}; is the kernel module br_netfilter loaded?",
                file.display()
            )
        })?;
    }
    Ok(())
}
