//! XGBoost: where the tracker is, and how many workers it waits for.
//!
//! The tracker runs in the first pod. `DMLC_TASK_ID` is the index of the pod; a program that starts several workers in
//! a pod, one for each GPU, gives each the id `index x workers of a pod + local index`.

use serde_json::json;

use crate::api::names;
use crate::api::runtime::XgboostPolicy;
use crate::k8s::json::list_mut;
use crate::k8s::problem::Problems;
use crate::k8s::upsert;
use crate::plan::draft::Draft;
use crate::plan::framework::Framework;
use crate::plan::{accelerators, check, env};

impl Framework for XgboostPolicy {
    fn name(&self) -> &'static str {
        "xgboost"
    }

    fn reserved_env(&self) -> &'static [&'static str] {
        &[
            names::DMLC_NUM_WORKER,
            names::DMLC_TASK_ID,
            names::DMLC_TRACKER_PORT,
            names::DMLC_TRACKER_URI,
        ]
    }

    fn check(&self, draft: &Draft<'_>, problems: &mut Problems) {
        check::meeting_port_is_free(draft, self.name(), problems);
    }

    fn inject(&self, draft: &mut Draft<'_>) {
        let Some(trainer) = draft.trainer().cloned() else {
            return;
        };
        let devices = accelerators::devices(draft.resources(trainer.index, names::NODE), draft.config);
        let workers = trainer.count.saturating_mul(devices.processes().unwrap_or(1));
        let entries = [
            env::value(names::DMLC_TRACKER_URI, draft.host(&trainer, 0, 0)),
            env::value(names::DMLC_TRACKER_PORT, names::TRAINER_PORT),
            env::field(names::DMLC_TASK_ID, names::RANK_FIELD_PATH),
            env::value(names::DMLC_NUM_WORKER, workers),
        ];
        draft.because_env(
            names::DMLC_TRACKER_URI,
            "DNS name of the first pod of the job that trains",
        );
        draft.because_env(names::DMLC_TRACKER_PORT, "the port at which the nodes meet");
        draft.because_env(names::DMLC_TASK_ID, "the pod's index within its Job");
        draft.because_env(
            names::DMLC_NUM_WORKER,
            "pods of the job that trains x accelerators of each, or 1",
        );
        if let Some(container) = draft.container_mut(trainer.index, names::NODE) {
            env::upsert(container, &entries);
            let port = json!({"containerPort": names::TRAINER_PORT});
            upsert::port(list_mut(container, "ports"), port);
        }
    }
}
