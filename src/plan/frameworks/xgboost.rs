//! XGBoost: where the tracker is, and how many workers it waits for.
//!
//! The tracker runs in the first pod. `DMLC_TASK_ID` is the index of the pod; a program that starts several workers in
//! a pod, one for each GPU, gives each the id `index x workers of a pod + local index`.

use crate::api::names;
use crate::api::runtime::XgboostPolicy;
use crate::k8s::problem::Problems;
use crate::plan::draft::Draft;
use crate::plan::env;
use crate::plan::framework::Framework;
use crate::plan::injection::{CheckedInjection, ContainerInjection, Injection};
use crate::plan::nodes::Nodes;

/// Host of the tracker.
const TRACKER_URI: &str = "DMLC_TRACKER_URI";
/// Port of the tracker.
const TRACKER_PORT: &str = "DMLC_TRACKER_PORT";
/// Index of this pod.
const TASK_ID: &str = "DMLC_TASK_ID";
/// Number of workers.
const NUM_WORKER: &str = "DMLC_NUM_WORKER";

impl Framework for XgboostPolicy {
    fn name(&self) -> &'static str {
        "xgboost"
    }

    fn reserved_env(&self) -> &'static [&'static str] {
        &[NUM_WORKER, TASK_ID, TRACKER_PORT, TRACKER_URI]
    }

    fn injection(&self, draft: &Draft<'_>) -> Result<CheckedInjection, Problems> {
        let Some(nodes) = Nodes::find(draft, self.name())? else {
            return Injection::default().check(draft, self.name(), Problems::default());
        };
        let workers = draft.devices(nodes.container).processes().unwrap_or(1);
        let container = ContainerInjection {
            env: vec![
                env::value(
                    TRACKER_URI,
                    nodes.first_host(draft),
                    "DNS name of the first pod of the job that trains",
                ),
                env::value(
                    TRACKER_PORT,
                    names::TRAINER_PORT,
                    "the port at which the nodes meet",
                ),
                env::field(TASK_ID, names::RANK_FIELD_PATH, "the pod's index within its Job"),
                env::value(
                    NUM_WORKER,
                    nodes.rjob.count.saturating_mul(workers),
                    "pods of the job that trains x accelerators of each, or 1",
                ),
            ],
            ports: vec![names::TRAINER_PORT],
            ..ContainerInjection::default()
        };
        Injection::into_container(nodes.container, container).check(draft, self.name(), Problems::default())
    }
}
