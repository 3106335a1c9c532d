//! Second step: what is to be done about it.
//!
//! No client. Everything is decided by [`crate::plan`]; this step only puts its inputs together.

use super::fetch::{Facts, Fetched};
use crate::controller::error::Error;
use crate::plan::{Config, Inputs, Plan, plan};
use crate::status::Due;

/// What is to be done.
pub(crate) enum Decision {
    /// Nothing is built.
    Leave,
    /// The JobSet is suspended.
    Suspend,
    /// The plan is carried out.
    Apply(Box<Plan>),
    /// The job cannot be built, for this reason.
    Refuse(Error),
}

/// Decides what is to be done.
pub(crate) fn decide(config: &Config, fetched: &Fetched<'_>, facts: Result<Facts, Error>) -> Decision {
    match fetched.due {
        Due::Build | Due::Lost => {}
        Due::Suspend => return Decision::Suspend,
        Due::Nothing | Due::Observe => return Decision::Leave,
    }
    let facts = match facts {
        Ok(facts) => facts,
        Err(error) => return Decision::Refuse(error),
    };
    let inputs = Inputs {
        job: fetched.job,
        runtime: facts.runtime.as_deref(),
        config,
        observed: &facts.observed,
    };
    match plan(&inputs) {
        Ok(plan) => Decision::Apply(Box::new(plan)),
        Err(problems) => Decision::Refuse(Error::Refused(problems)),
    }
}
