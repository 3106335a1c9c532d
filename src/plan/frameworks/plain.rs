//! No framework: the job's nodes run as they are.

use super::Framework;
use crate::plan::draft::Draft;

/// No framework.
pub(super) struct Plain;

impl Framework for Plain {
    fn name(&self) -> &'static str {
        "none"
    }

    fn needs_trainer(&self) -> bool {
        false
    }

    fn inject(&self, _draft: &mut Draft<'_>) {}
}
