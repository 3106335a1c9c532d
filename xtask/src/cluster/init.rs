//! Process 1 of a cluster's namespaces: makes them a machine of their own, then waits for orphans to end.
//!
//! It runs this same program under a hidden command, since the set-up is a dozen system calls in a fixed order.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::wait::wait;

use super::namespaces::{READY, Setup};
use super::network::NODE_ADDRESS;
use crate::process::Task;

/// The hidden command.
pub(crate) const COMMAND: &str = "cluster-init";

/// Folders with fixed names in the programs that run here; inside, they are the cluster's own and start empty.
pub(crate) const OWN_FOLDERS: [&str; 3] = ["/run", "/var/lib", "/var/log"];

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
    // The kubelet and containers see each other's mounts.
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
        // Orphans of the whole namespace end up here. Without any child there is nothing to wait for yet.
        if wait().is_err() {
            thread::sleep(Duration::from_millis(500));
        }
    }
}

/// Mounts the `/sys` that belongs to the new network, with the machine's control groups on it. This happens while mounts
/// are private: were they shared, the unmounting would reach the second copy of the control groups too.
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

/// One address, and a default route over a link that leads nowhere: programs that look for "the" address of the machine
/// look at the default route.
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
    // The second one takes traffic between pods of the bridge through the packet filter, where services are made.
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
