//! How many processes torchrun starts on a node.

use crate::plan::accelerators::{self, Devices};
use crate::plan::draft::Draft;
use crate::plan::nodes::Nodes;

/// As many as torchrun sees devices.
pub(super) const AUTO: &str = "auto";

/// Processes of torchrun on a node, with what they were worked out from.
pub(super) struct Processes {
    /// The number, or [`AUTO`].
    pub(super) text: String,
    /// What it was worked out from.
    pub(super) why: &'static str,
    /// Whether one process is only a guess for want of resources.
    guessed: bool,
}

impl Processes {
    /// Works them out from the resources that the pods really get.
    pub(super) fn of(draft: &Draft<'_>, nodes: &Nodes) -> Self {
        if let Some(number) = draft.job.num_proc_per_node() {
            return Self::known(number, "spec.trainer.numProcPerNode");
        }
        match draft.devices(nodes.container) {
            Devices::Gpus(_) => Self::known(
                AUTO,
                "the container asks for GPUs: one process for each that torch sees",
            ),
            Devices::Mig => Self::known(
                AUTO,
                "the container asks for MIG slices: torch counts what it sees",
            ),
            Devices::Other(number) => Self::known(number, "one process for each accelerator asked for"),
            Devices::Uncounted => Self::known(
                AUTO,
                "the container asks for devices that only the node can count",
            ),
            Devices::None => match accelerators::cpus(draft.resources(nodes.container)) {
                Some(number) => Self::known(number, "one process for each CPU asked for, rounded up"),
                None => Self {
                    guessed: true,
                    ..Self::known(1, "no CPU or accelerator is asked for")
                },
            },
        }
    }

    fn known(number: impl ToString, why: &'static str) -> Self {
        Self {
            text: number.to_string(),
            why,
            guessed: false,
        }
    }

    /// Warns of a number that is only a guess.
    pub(super) fn warning(&self) -> Option<&'static str> {
        self.guessed.then_some(
            "neither spec.trainer.numProcPerNode nor any CPU or accelerator is given: each node runs 1 process; set one \
             of them to use more",
        )
    }
}
