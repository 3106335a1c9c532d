//! The implementations of MPI: the variables by which their launchers find the hosts, and how those list them.
//!
//! Source of the names: Open MPI 4 reads `OMPI_MCA_*`, Open MPI 5 starts processes through PRRTE, which reads
//! `PRTE_MCA_*`; Intel MPI and MPICH start them through Hydra, which reads `I_MPI_*` and `HYDRA_*`.

use crate::plan::env::{self, Variable};

/// What is special about one MPI.
pub(super) struct Implementation {
    /// Its name in `mpiImplementation`.
    pub(super) name: &'static str,
    /// Variables that a job must not set.
    pub(super) reserved: &'static [&'static str],
    /// Form of a host's line.
    pub(super) line: fn(&str, i64) -> String,
    /// Whether the launcher recognises itself by its bare host name only, and would use SSH to reach itself by another one.
    pub(super) bare_launcher: bool,
    /// The variables, for this number of processes on a node.
    pub(super) env: fn(i64) -> Vec<Variable>,
}

/// The implementations; the first is the default.
pub(super) const IMPLEMENTATIONS: [&Implementation; 3] = [&OPEN_MPI, &INTEL, &MPICH];

/// Where the launcher finds the hosts.
const HOSTFILE: &str = "/etc/mpi/hostfile";
/// A worker whose name is known may still be about to listen.
const SSH_OPTIONS: &str = "-o ConnectionAttempts=10";

/// What container runtimes call the network interface of a pod. Hydra's workers call the launcher back: they
/// get its address on this interface, which the job may change; else its bare host name, which no DNS knows.
const POD_INTERFACE: &str = "eth0";

// Why the variables are what they are.
const WHERE: &str = "where the hostfile is mounted";
const SLOTS: &str = "spec.trainer.numProcPerNode, else the runtime's mlPolicy.mpi.numProcPerNode, else one for each accelerator";
const SSH: &str = "a worker may not listen yet";
const NAMES: &str = "the hosts are known by their full DNS names";
const BOOTSTRAP: &str = "the processes are started over SSH";
const INTERFACE: &str = "what container runtimes call the network interface of a pod";

const OPEN_MPI: Implementation = Implementation {
    name: "OpenMPI",
    reserved: &[
        "OMPI_MCA_orte_default_hostfile",
        "OMPI_MCA_orte_keep_fqdn_hostnames",
        "OMPI_MCA_orte_set_default_slots",
        "OMPI_MCA_plm_rsh_args",
        "PRTE_MCA_plm_ssh_args",
        "PRTE_MCA_prte_default_hostfile",
        "PRTE_MCA_prte_keep_fqdn_hostnames",
    ],
    line: |host, slots| format!("{host} slots={slots}\n"),
    bare_launcher: false,
    env: |slots| {
        vec![
            env::value("OMPI_MCA_orte_default_hostfile", HOSTFILE, WHERE),
            env::value("OMPI_MCA_orte_keep_fqdn_hostnames", true, NAMES),
            env::value("OMPI_MCA_orte_set_default_slots", slots, SLOTS),
            env::value("OMPI_MCA_plm_rsh_args", SSH_OPTIONS, SSH),
            env::value("PRTE_MCA_prte_default_hostfile", HOSTFILE, WHERE),
            env::value("PRTE_MCA_prte_keep_fqdn_hostnames", false, NAMES),
            env::value("PRTE_MCA_plm_ssh_args", SSH_OPTIONS, SSH),
        ]
    },
};

const INTEL: Implementation = Implementation {
    name: "Intel",
    reserved: &[
        "I_MPI_HYDRA_BOOTSTRAP",
        "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS",
        "I_MPI_HYDRA_HOST_FILE",
        "I_MPI_PERHOST",
    ],
    line: |host, slots| format!("{host}:{slots}\n"),
    bare_launcher: true,
    env: |slots| {
        vec![
            env::value("I_MPI_HYDRA_HOST_FILE", HOSTFILE, WHERE),
            env::value("I_MPI_PERHOST", slots, SLOTS),
            // Without it, a resource manager that Intel MPI thinks it sees is asked to start the processes.
            env::value("I_MPI_HYDRA_BOOTSTRAP", "ssh", BOOTSTRAP),
            env::value("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", SSH_OPTIONS, SSH),
            env::value("I_MPI_HYDRA_IFACE", POD_INTERFACE, INTERFACE),
        ]
    },
};

const MPICH: Implementation = Implementation {
    name: "MPICH",
    reserved: &["HYDRA_HOST_FILE", "HYDRA_LAUNCHER", "HYDRA_LAUNCHER_EXTRA_ARGS"],
    line: |host, slots| format!("{host}:{slots}\n"),
    bare_launcher: false,
    env: |_| {
        vec![
            env::value("HYDRA_HOST_FILE", HOSTFILE, WHERE),
            env::value("HYDRA_LAUNCHER", "ssh", BOOTSTRAP),
            env::value("HYDRA_LAUNCHER_EXTRA_ARGS", SSH_OPTIONS, SSH),
            env::value("HYDRA_IFACE", POD_INTERFACE, INTERFACE),
        ]
    },
};
