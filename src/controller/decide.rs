//! Second step: what is to be done about it.
//!
//! No client. All that is decided is decided by [`crate::plan`]; here its inputs are put together, and what only the
//! stored form of the job shows is added to its warnings.

use super::error::Error;
use super::fetch::{Facts, Fetched};
use crate::admission;
use crate::plan::{Config, Inputs, Plan, plan};
use crate::status::Due;

/// What is to be done.
pub(super) enum Decision {
    /// Nothing is built.
    Leave,
    /// The plan is carried out.
    Apply(Box<Plan>),
    /// The job cannot be built; a running JobSet of a job that is to be suspended stops all the same.
    Refuse {
        /// Why.
        error: Error,
        /// Whether the JobSet must stop.
        stop: bool,
    },
}

/// Decides what is to be done.
pub(super) fn decide(config: &Config, fetched: &mut Fetched<'_>) -> Decision {
    if fetched.due != Due::Build {
        return Decision::Leave;
    }
    let stop = fetched.job.suspended() && fetched.jobset().is_some_and(|j| !j.suspended());
    let Facts {
        runtime,
        mut observed,
    } = match std::mem::replace(&mut fetched.facts, Ok(Facts::default())) {
        Ok(facts) => facts,
        Err(error) => return Decision::Refuse { error, stop },
    };
    observed.jobset = fetched.jobset().cloned();
    let inputs = Inputs {
        job: fetched.job,
        runtime: runtime.as_deref(),
        config,
        observed: &observed,
    };
    match plan(&inputs) {
        Ok(mut plan) => {
            if fetched.job.queued() {
                let stored = serde_json::to_value(fetched.job).unwrap_or_default();
                plan.warnings.extend(admission::warn_of_write_back(&stored));
            }
            Decision::Apply(Box::new(plan))
        }
        Err(problems) => Decision::Refuse {
            error: Error::Refused(problems),
            stop,
        },
    }
}
