//! Second step: what is to be done about it.
//!
//! No client. Everything is decided by [`crate::plan`]; this step only passes on what was fetched.

use super::fetch::{Facts, Fetched};
use crate::controller::error::Error;
use crate::plan::Plan;
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
pub(crate) fn decide(fetched: &Fetched<'_>, facts: Result<Option<Facts<'_>>, Error>) -> Decision {
    match fetched.due {
        Due::Build | Due::Lost => {}
        Due::Suspend => return Decision::Suspend,
        Due::Nothing | Due::Observe => return Decision::Leave,
    }
    match facts {
        Ok(None) => Decision::Leave,
        Ok(Some(Facts { resolved, cluster })) => match resolved.plan(&cluster) {
            Ok(plan) => Decision::Apply(Box::new(plan)),
            Err(problems) => Decision::Refuse(Error::Refused(problems)),
        },
        Err(error) => Decision::Refuse(error),
    }
}
