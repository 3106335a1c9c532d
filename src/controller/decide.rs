//! Second step: what is to be done about it.
//!
//! No client. Everything is decided by [`crate::plan`]; this step only puts its inputs together.

use super::error::Error;
use super::fetch::{Facts, Fetched};
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
        Ok(plan) => Decision::Apply(Box::new(plan)),
        Err(problems) => Decision::Refuse {
            error: Error::Refused(problems),
            stop,
        },
    }
}
