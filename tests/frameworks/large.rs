//! Frameworks with large images, and further sorts of those that [`crate::small`] has.

use crate::example::{Example, accuracies};
use crate::mpi::{Launcher, all_ranks_were_there, learns_digits};

/// The image with Open MPI 5, which no shipped runtime names.
const OPEN_MPI_5: &str = "localhost/openmpi:5";

#[tokio::test]
async fn open_mpi_5_with_a_launcher_that_is_a_node() {
    learns_digits("mpi-distributed", Some(OPEN_MPI_5), Launcher::IsNode).await;
}

#[tokio::test]
async fn open_mpi_5_with_a_launcher_that_only_starts_processes() {
    learns_digits("mpi-distributed", Some(OPEN_MPI_5), Launcher::OnlyStarts).await;
}

#[tokio::test]
async fn mpich_with_a_launcher_that_is_a_node() {
    learns_digits("mpi-mpich-distributed", None, Launcher::IsNode).await;
}

#[tokio::test]
async fn mpich_with_a_launcher_that_only_starts_processes() {
    learns_digits("mpi-mpich-distributed", None, Launcher::OnlyStarts).await;
}

#[tokio::test]
async fn intel_mpi_with_a_launcher_that_is_a_node() {
    learns_digits("mpi-intel-distributed", None, Launcher::IsNode).await;
}

#[tokio::test]
async fn intel_mpi_with_a_launcher_that_only_starts_processes() {
    learns_digits("mpi-intel-distributed", None, Launcher::OnlyStarts).await;
}

#[tokio::test]
async fn deepspeed() {
    let logs = Example::read("deepspeed").run().await;
    all_ranks_were_there(&logs, "deepspeed", Launcher::IsNode);
    the_loss_fell(&logs);
}

#[tokio::test]
async fn mlx() {
    let logs = Example::read("mlx").run().await;
    all_ranks_were_there(&logs, "mlx", Launcher::IsNode);
    the_loss_fell(&logs);
}

#[tokio::test]
async fn elastic_torch() {
    Example::read("torch-elastic").run().await;
}

#[tokio::test]
async fn tensorflow_with_workers() {
    let logs = Example::read("tensorflow-digits").run().await;
    assert!(accuracies(&logs).iter().all(|accuracy| *accuracy > 0.9), "{logs}");
}

#[tokio::test]
async fn tensorflow_with_parameter_servers() {
    Example::read("tensorflow-parameter-server").run().await;
}

#[tokio::test]
async fn paddle_with_workers() {
    let logs = Example::read("paddle-digits").run().await;
    assert!(accuracies(&logs).iter().all(|accuracy| *accuracy > 0.9), "{logs}");
}

#[tokio::test]
async fn paddle_with_parameter_servers() {
    Example::read("paddle-parameter-server").run().await;
}

/// Checks "the loss fell from A to B, and ...": to a tenth.
fn the_loss_fell(logs: &str) {
    let (_, losses) = logs.split_once("the loss fell from ").unwrap();
    let (losses, _) = losses.split_once(',').unwrap();
    let (first, last) = losses.split_once(" to ").unwrap();
    let (first, last): (f64, f64) = (first.parse().unwrap(), last.parse().unwrap());
    assert!(last < first / 10.0, "{first} to {last}\n{logs}");
}
