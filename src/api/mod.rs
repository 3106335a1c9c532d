//! Wire types of the kinds that this program owns or writes, and every name and constant of the wire.
//!
//! Makes no decisions, and knows no client. Pod templates and environment entries are passed on as JSON ([`Raw`]), so
//! that fields that we do not read are kept.

pub mod jobset;
pub mod names;
mod object;
pub mod raw;
mod rules;
pub mod runtime;
pub mod trainjob;

pub use jobset::{JobSet, JobSetStatus};
pub use raw::Raw;
pub use runtime::{ClusterTrainingRuntime, TrainingRuntime, TrainingRuntimeSpec};
pub use trainjob::{TrainJob, TrainJobSpec, TrainJobStatus};
