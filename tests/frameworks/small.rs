//! Frameworks with small images.

use crate::example::{Example, accuracies, all_say_the_same, printed};
use crate::mpi::{Launcher, learns_digits};

#[tokio::test]
async fn open_mpi_4_with_a_launcher_that_is_a_node() {
    learns_digits("mpi-distributed", None, Launcher::IsNode).await;
}

#[tokio::test]
async fn open_mpi_4_with_a_launcher_that_only_starts_processes() {
    learns_digits("mpi-distributed", None, Launcher::OnlyStarts).await;
}

#[tokio::test]
async fn jax() {
    let logs = Example::read("jax-digits").run().await;
    assert!(accuracies(&logs).iter().all(|accuracy| *accuracy > 0.9), "{logs}");
    printed(&logs, [("process 0 of 2: ", 1), ("process 1 of 2: ", 1)]);
    all_say_the_same(&logs, ", weights ", 2);
}

#[tokio::test]
async fn xgboost() {
    let logs = Example::read("xgboost-digits").run().await;
    assert!(accuracies(&logs).iter().all(|accuracy| *accuracy > 0.9), "{logs}");
    printed(
        &logs,
        [
            ("worker 0 of 2: ", 1),
            ("worker 1 of 2: ", 1),
            ("1437 digits together", 2),
        ],
    );
    all_say_the_same(&logs, ", trees ", 2);
}

#[tokio::test]
async fn a_framework_that_is_described_by_its_runtime_lightgbm() {
    let logs = Example::read("lightgbm-digits").run().await;
    assert!(accuracies(&logs).iter().all(|accuracy| *accuracy > 0.9), "{logs}");
    printed(&logs, [("machine 0 of 2: ", 1), ("machine 1 of 2: ", 1)]);
    all_say_the_same(&logs, ", trees ", 2);
}
