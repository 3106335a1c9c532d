//! Frameworks with large images, and further sorts of those that [`crate::small`] has.

use crate::example::{Example, accuracies, all_say_the_same, printed};
use crate::mpi::{Launcher, all_ranks_were_there, learns_digits};
use crate::support::kubectl;

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

/// A pod is deleted while it trains: its Job makes another one, and both go on from the last state.
#[tokio::test]
async fn elastic_torch_loses_a_node() {
    let running = Example::read("torch-elastic").start().await;
    running.prints("step 20 with 2 nodes").await;
    let second = "jobset.sigs.k8s.io/jobset-name=torch-elastic,batch.kubernetes.io/job-completion-index=1";
    kubectl(&[
        "delete",
        "pod",
        "-n",
        &running.cluster.namespace,
        "-l",
        second,
        "--wait=false",
    ]);
    let logs = running.end().await;
    printed(
        &logs,
        [
            ("rank 0 of 2: weights [1.0, 2.0, 3.0, 4.0]", 1),
            ("rank 1 of 2: weights [1.0, 2.0, 3.0, 4.0]", 1),
            ("step 90 with 2 nodes", 1),
        ],
    );
    // The log of the pod that was deleted is gone with it; the one in its place has not begun from the start.
    let (_, log) = logs.split_once("torch-elastic-node-0-1-").unwrap();
    let (log, _) = log.split_once("torch-elastic-node-0-0-").unwrap_or((log, ""));
    printed(log, [("starts at step 0\n", 0)]);
    assert!(log.contains("starts at step "), "{log}");
}

#[tokio::test]
async fn a_framework_that_is_described_by_its_runtime_with_a_server() {
    let logs = Example::read("custom-parameter-server").run().await;
    printed(
        &logs,
        [
            ("worker 0 of 2: weights [1.0, 2.0, 3.0, 4.0]", 1),
            ("worker 1 of 2: weights [1.0, 2.0, 3.0, 4.0]", 1),
        ],
    );
}

#[tokio::test]
async fn tensorflow_with_workers() {
    let logs = Example::read("tensorflow-digits").run().await;
    assert!(accuracies(&logs).iter().all(|accuracy| *accuracy > 0.9), "{logs}");
    printed(&logs, [("worker 0 of 2: ", 1), ("worker 1 of 2: ", 1)]);
    all_say_the_same(&logs, ", weights ", 2);
}

#[tokio::test]
async fn tensorflow_with_parameter_servers() {
    let logs = Example::read("tensorflow-parameter-server").run().await;
    printed(
        &logs,
        [
            ("weights are on /job:ps", 1),
            ("chief: 2 workers, ", 1),
            ("weights [1. 2. 3. 4.]", 1),
        ],
    );
}

#[tokio::test]
async fn paddle_with_workers() {
    let logs = Example::read("paddle-digits").run().await;
    assert!(accuracies(&logs).iter().all(|accuracy| *accuracy > 0.9), "{logs}");
    printed(&logs, [("rank 0 of 2: ", 1), ("rank 1 of 2: ", 1)]);
    all_say_the_same(&logs, ", weights ", 2);
}

#[tokio::test]
async fn paddle_with_parameter_servers() {
    let logs = Example::read("paddle-parameter-server").run().await;
    printed(
        &logs,
        [("trainer 0 of 2: weights [", 1), ("trainer 1 of 2: weights [", 1)],
    );
}

/// Checks "the loss fell from A to B, and ...": to a tenth.
fn the_loss_fell(logs: &str) {
    let (_, losses) = logs.split_once("the loss fell from ").unwrap();
    let (losses, _) = losses.split_once(',').unwrap();
    let (first, last) = losses.split_once(" to ").unwrap();
    let (first, last): (f64, f64) = (first.parse().unwrap(), last.parse().unwrap());
    assert!(last < first / 10.0, "{first} to {last}\n{logs}");
}
