"""What every script here starts with: the SDK as a notebook has it, under watch.

A script ends at once when the SDK warns, when anything but the cluster's API server is contacted, and when it hangs.
"""

import faulthandler
import logging
import os
import sys
from urllib.parse import urlsplit

import yaml
from kubeflow.trainer import TrainerClient, options

PATIENCE = 180


class Strict(logging.Handler):
    """Makes an error of each warning."""

    def emit(self, record):
        raise AssertionError(f"the SDK says: {record.getMessage()}")


def _only_the_api_server():
    with open(os.environ["KUBECONFIG"]) as file:
        server = urlsplit(yaml.safe_load(file)["clusters"][0]["cluster"]["server"])
    allowed = (server.hostname, server.port)

    def watch(event, arguments):
        if event == "socket.connect" and arguments[1] != allowed:
            raise AssertionError(f"the SDK contacts {arguments[1]}")

    sys.addaudithook(watch)


faulthandler.dump_traceback_later(2 * PATIENCE, exit=True)
logging.getLogger("kubeflow").addHandler(Strict(logging.WARNING))
_only_the_api_server()

# Without arguments: the namespace is that of the kubeconfig, the controller's is the usual one.
client = TrainerClient()


def stored(name):
    """The TrainJob as the API server has it, for what the SDK does not show."""
    return client.backend.custom_api.get_namespaced_custom_object(*_path(name))


def suspend(name):
    """What the SDK has no call for, with the rights of the same user."""
    client.backend.custom_api.patch_namespaced_custom_object(*_path(name), {"spec": {"suspend": True}})


def _path(name):
    return ("trainer.kubeflow.org", "v1alpha1", client.backend.namespace, "trainjobs", name)


def pods(name):
    """The Pods of a job."""
    ours = f"jobset.sigs.k8s.io/jobset-name={name}"
    return client.backend.core_api.list_namespaced_pod(client.backend.namespace, label_selector=ours).items


def wait(name, status="Complete", **more):
    """Waits for a status; these jobs are too short for the SDK's own interval."""
    try:
        return client.wait_for_job_status(name, {status}, timeout=PATIENCE, polling_interval=1, **more)
    except TimeoutError:
        raise AssertionError(f"{stored(name)}\n{client.get_job_events(name)}")


def steps(job):
    """The steps of a job by name; nothing orders those that start together."""
    return {step.name: step for step in job.steps}


def patch_nodes(metadata=None, **pod_spec):
    """A patch of the Pods that train."""
    pod = options.PodTemplatePatch(metadata=metadata, spec=options.PodSpecPatch(**pod_spec))
    job = options.JobTemplatePatch(spec=options.JobSpecPatch(template=pod))
    jobset = options.JobSetSpecPatch(replicated_jobs=[options.ReplicatedJobPatch(name="node", template=job)])
    template = options.JobSetTemplatePatch(spec=jobset)
    return options.RuntimePatch(options.TrainingRuntimeSpecPatch(template=template))


def raises(kind, says, call, *arguments):
    """Calls what must fail with an error that says something."""
    try:
        call(*arguments)
    except kind as error:
        assert says in str(error), error
    else:
        raise AssertionError(f"{call.__name__}{arguments} did not fail")
