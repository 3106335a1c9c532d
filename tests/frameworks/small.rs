//! Frameworks with small images.

use crate::example::{Example, accuracies};
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
}

#[tokio::test]
async fn xgboost() {
    Example::read("xgboost-digits").run().await;
}

#[tokio::test]
async fn a_framework_that_is_described_by_its_runtime_lightgbm() {
    Example::read("lightgbm-digits").run().await;
}
