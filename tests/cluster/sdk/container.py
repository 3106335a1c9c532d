"""A program of an image of the user's own, with everything that the options of train() offer."""

from kubeflow.trainer import CustomTrainerContainer
from kubeflow.trainer.options import ContainerPatch, TrainerArgs, TrainerCommand
from session import client, patch_nodes, pods, stored, wait

patch = patch_nodes(
    metadata={"labels": {"team": "vision"}, "annotations": {"example.com/why": "a test"}},
    node_selector={"kubernetes.io/os": "linux"},
    tolerations=[{"key": "example.com/spot", "operator": "Exists"}],
    security_context={"runAsUser": 1000, "fsGroup": 2000},
    volumes=[{"name": "scratch", "emptyDir": {}}],
    containers=[ContainerPatch("node", volume_mounts=[{"name": "scratch", "mountPath": "/scratch"}])],
)
script = 'echo "$1 $NAME, node $PET_NODE_RANK of $PET_NNODES" >/scratch/said; cat /scratch/said; id'
name = client.train(
    runtime=client.get_runtime("torch-distributed"),
    trainer=CustomTrainerContainer(
        image="localhost/python:1", num_nodes=2, resources_per_node={"CPU": "100m"}, env={"NAME": "Ada"}
    ),
    options=[TrainerCommand(["sh", "-c", script]), TrainerArgs(["sh", "hello"]), patch],
)
job = wait(name)
assert {step.status for step in job.steps} == {"Succeeded"}, job
for index in ("0", "1"):
    logs = list(client.get_job_logs(name, step=f"node-{index}"))
    assert logs[0] == f"hello Ada, node {index} of 2", logs
    assert "uid=1000" in logs[1] and "2000" in logs[1], logs

for pod in pods(name):
    assert pod.metadata.labels["team"] == "vision", pod.metadata
    assert pod.metadata.annotations["example.com/why"] == "a test", pod.metadata
    assert pod.spec.node_selector == {"kubernetes.io/os": "linux"}, pod.spec
    assert "example.com/spot" in [toleration.key for toleration in pod.spec.tolerations], pod.spec
    assert pod.spec.containers[0].resources.limits == {"cpu": "100m"}, pod.spec
[stored_patch] = stored(name)["spec"]["runtimePatches"]
assert stored_patch["manager"] == "trainer.kubeflow.org/kubeflow-sdk", stored_patch
client.delete_job(name)
