//! A cluster's network, mount and process namespaces.
//!
//! All of a cluster runs in them: no packet can leave, and the machine's folders, interfaces and packet filter are not
//! changed. Ending their process 1 ends all processes in them, containers included, and removes mounts and interfaces.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use nix::sched::{CloneFlags, setns};
use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};

use crate::process::{Task, tail};
use crate::process_id::ProcessId;

/// What process 1 sets up in new namespaces ([`crate::init`]).
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Setup {
    /// A folder for temporary mounts.
    pub(crate) scratch: PathBuf,
    /// Folders of the machine, and their paths in the namespaces: in `/run`, `/var/lib` or `/var/log`, which are empty
    /// otherwise.
    pub(crate) binds: Vec<(PathBuf, PathBuf)>,
}

/// The namespaces of a cluster, found by their process 1.
#[derive(Clone, Debug)]
pub(crate) struct Namespaces {
    init: ProcessId,
}

/// The line that process 1 prints when everything is set up.
pub(crate) const READY: &str = "ready";

impl Namespaces {
    /// Makes the namespaces. Errors of process 1 go to `log`.
    pub(crate) fn create(setup: &Setup, log: &Path) -> Result<Self> {
        for (folder, _) in &setup.binds {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::create_dir_all(&setup.scratch)?;
        let mut outer = Task::lasting("unshare")
            .args([
                "--net",
                "--mount",
                "--pid",
                "--fork",
                "--mount-proc",
                "--propagation",
                "private",
                "--",
            ])
            .arg(std::env::current_exe()?)
            .arg(crate::init::COMMAND)
            .arg(serde_json::to_string(setup)?)
            .detached_with_output(log)?;
        let init = ProcessId::child_of(outer.id());
        let mut line = String::new();
        if let Some(output) = outer.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        if line.trim() != READY {
            // Process 1 has ended, or is about to.
            let _ = outer.wait();
            bail!("cannot set up the cluster's namespaces:\n{}", tail(log, 10));
        }
        Ok(Self { init: init? })
    }

    /// Returns the namespaces of a process 1 that runs already.
    pub(crate) fn of(init: ProcessId) -> Self {
        Self { init }
    }

    /// Returns their process 1.
    pub(crate) fn init(&self) -> &ProcessId {
        &self.init
    }

    /// Returns a program that will run in the namespaces and outlive this process.
    pub(crate) fn lasting(&self, program: &Path) -> Task {
        Task::lasting("nsenter").args(self.enter()).arg(program)
    }

    /// Returns a program that will run in the namespaces.
    pub(crate) fn task(&self, program: &str) -> Task {
        Task::new("nsenter").args(self.enter()).arg(program)
    }

    fn enter(&self) -> [String; 6] {
        let target = self.init.id().to_string();
        [
            "--target".into(),
            target,
            "--net".into(),
            "--mount".into(),
            "--pid".into(),
            "--".into(),
        ]
    }

    /// Reports whether an HTTP server on the node's loopback answers with 200.
    pub(crate) fn answers(&self, port: u16, path: &str) -> Result<bool> {
        let request = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n");
        self.in_network(move || {
            let Ok(mut connection) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else {
                return Ok(false);
            };
            connection.set_read_timeout(Some(Duration::from_secs(2)))?;
            connection.write_all(request.as_bytes())?;
            let mut start = [0; 12];
            Ok(connection.read_exact(&mut start).is_ok() && start.ends_with(b" 200"))
        })
    }

    /// Runs a function on a thread in the cluster's network.
    fn in_network<T: Send + 'static>(&self, work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
        let init = self.init.id();
        let thread = thread::spawn(move || {
            enter_network(init)?;
            work()
        });
        thread
            .join()
            .map_err(|_| anyhow!("a thread in the cluster's network failed"))?
    }

    /// Ends all processes in the namespaces.
    pub(crate) fn end(&self) -> Result<()> {
        self.init.end(Signal::SIGKILL, Duration::from_secs(20))
    }
}

/// Moves the calling thread, and all that it starts later, into the network of a process.
pub(crate) fn enter_network(process: i32) -> Result<()> {
    let file = format!("/proc/{process}/ns/net");
    let namespace = File::open(&file).with_context(|| format!("cannot open {file}"))?;
    setns(namespace, CloneFlags::CLONE_NEWNET).context("cannot enter the cluster's network")
}

/// A program that runs in the namespaces.
#[derive(Debug)]
pub(crate) struct Component {
    pub(crate) name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Component {
    /// Returns the component of a started program.
    pub(crate) fn new(name: &'static str, child: Child, log: PathBuf) -> Self {
        Self { name, child, log }
    }

    /// Fails if the program has ended.
    pub(crate) fn check(&mut self) -> Result<()> {
        if let Some(status) = self.child.try_wait()? {
            bail!(
                "{} ended ({status}); the end of {}:\n{}",
                self.name,
                self.log.display(),
                tail(&self.log, 15)
            );
        }
        Ok(())
    }

    /// Asks the program to end, and waits until it has.
    pub(crate) fn stop(&mut self) -> Result<()> {
        // The handle is that of `nsenter`, whose only child is the program.
        let program = ProcessId::child_of(self.child.id())?;
        program.end(Signal::SIGTERM, Duration::from_secs(10))?;
        self.child.wait()?;
        Ok(())
    }
}
