//! What the controller keeps in memory of the cluster: watched objects, what was written and not seen since, runtimes that
//! were read, and what was found out of them.

pub(crate) mod compared;
pub(crate) mod deleted_jobsets;
pub(crate) mod gang_facts;
pub(crate) mod mutation_cache;
pub(crate) mod runtime_cache;
pub(crate) mod watch;
