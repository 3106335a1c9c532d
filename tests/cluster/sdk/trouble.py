"""Jobs that do not go well, one for each way, and what the SDK says of them and of all together."""

import time

from kubeflow.trainer import CustomTrainer, CustomTrainerContainer
from kubeflow.trainer.options import ActiveDeadlineSeconds, ContainerPatch, Name, TrainerCommand
from session import client, patch_nodes, raises, steps, stored, suspend, wait


def broken():
    raise ValueError("no such data")


def sleep(name, *options, runtime="plain", env=None):
    trainer = CustomTrainerContainer(image="localhost/python:1", env=env)
    command = TrainerCommand(["sleep", "600"])
    return client.train(runtime=runtime, trainer=trainer, options=[Name(name), command, *options])


def ended(name):
    """Why a job has failed."""
    wait(name, "Failed")
    return [condition["reason"] for condition in stored(name)["status"]["conditions"]]


def complaint(name):
    """The event on a job that could not be built. It is sent once the status is written."""
    for _ in range(30):
        for event in client.get_job_events(name):
            if event.reason == "TrainJobResourcesCreationFailed":
                assert event.involved_object_kind == "TrainJob", event
                return event.message
        time.sleep(1)
    raise AssertionError(f"no event: {stored(name)}")


client.train(runtime="plain", trainer=CustomTrainer(func=broken), options=[Name("broken")])
sleep("late", ActiveDeadlineSeconds(1))
sleep("reserved", runtime="torch-distributed", env={"PET_NNODES": "3"})
sleep("patched", patch_nodes(containers=[ContainerPatch("node", env=[{"name": "NAME", "value": "Ada"}])]))
sleep("paused")
wait("paused", "Running")
suspend("paused")

assert ended("broken") == ["FailedJobs"]
raises(RuntimeError, "broken is Failed", wait, "broken")
assert steps(client.get_job("broken"))["node-0"].status == "Failed"
assert "ValueError: no such data" in list(client.get_job_logs("broken"))
assert ended("late") == ["DeadlineExceeded"]

assert "PET_NNODES" in complaint("reserved")
assert "spec.trainer.env" in complaint("patched")
assert list(client.get_job_logs("patched")) == []

# A suspended job is none of the statuses that the SDK knows. It is listed all the same, as all of them are.
statuses = {job.name: job.status for job in client.list_jobs(client.get_runtime("plain"))}
assert statuses == {"broken": "Failed", "late": "Failed", "patched": "Created", "paused": "Created"}, statuses
assert sorted(job.name for job in client.list_jobs()) == sorted([*statuses, "reserved"])
for job in client.list_jobs():
    client.delete_job(job.name)
