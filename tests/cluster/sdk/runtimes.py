"""What may be trained on: the shipped runtimes, and one of the namespace.

The arguments are the names of the shipped runtimes.
"""

import contextlib
import io
import sys

from kubeflow.trainer import RuntimeKind, TrainerType
from session import client

found = {runtime.name: runtime for runtime in client.list_runtimes()}
assert sorted(found) == sorted([*sys.argv[1:], "plain"]), sorted(found)


def offers(name, trainer_type, framework, entrypoint, device, device_count):
    for runtime in (found[name], client.get_runtime(name)):
        assert runtime.kind == RuntimeKind.CLUSTER_TRAINING_RUNTIME, runtime
        trainer = runtime.trainer
        assert (trainer.trainer_type, trainer.framework) == (trainer_type, framework), trainer
        assert entrypoint in " ".join(trainer.command), trainer.command
        assert (trainer.device, trainer.device_count) == (device, device_count), trainer
        assert (trainer.num_nodes, bool(trainer.image)) == (1, True), trainer


custom, builtin, unknown = TrainerType.CUSTOM_TRAINER, TrainerType.BUILTIN_TRAINER, "Unknown"
offers("torch-distributed", custom, "torch", "torchrun", unknown, unknown)
offers("jax-distributed", custom, "jax", "python", unknown, unknown)
offers("mpi-distributed", custom, "mpi", "mpirun", unknown, "1")
offers("torchtune-llama3.2-1b", builtin, "torchtune", "tune run", "gpu", "2")

# This runs a job.
plain = client.get_runtime("plain")
assert plain.kind == RuntimeKind.TRAINING_RUNTIME, plain
printed = io.StringIO()
with contextlib.redirect_stdout(printed):
    client.get_runtime_packages(plain)
assert printed.getvalue().startswith("Python: 3."), printed.getvalue()
