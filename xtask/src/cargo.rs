//! Calls cargo in the repository.

use local_cluster::process::Task;

use crate::layout;

/// Returns a call of cargo, with the environment of a shell.
///
/// Cargo sets variables for the programs that it runs, this one among them. Build scripts that depend on them (ring's
/// does) would run again, and everything that depends on those would be compiled again.
pub(crate) fn cargo<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Task {
    let task = Task::new(env!("CARGO"))
        .args(arguments)
        .current_dir(layout::repository());
    let set_by_cargo = std::env::vars_os().filter(|(name, _)| {
        ["CARGO_PKG_", "CARGO_MANIFEST_"]
            .iter()
            .any(|prefix| name.to_str().is_some_and(|name| name.starts_with(prefix)))
    });
    set_by_cargo.fold(task, |task, (name, _)| task.env_remove(name))
}
