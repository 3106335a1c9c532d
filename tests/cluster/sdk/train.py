"""A training function on two nodes, from its start to its removal."""

from kubeflow.trainer import CustomTrainer
from kubeflow.trainer.options import Annotations, Labels, Name
from session import client, raises, steps, stored, wait


def learn(count):
    import os

    import torch
    import torch.distributed
    from torch.nn.parallel import DistributedDataParallel

    torch.distributed.init_process_group("gloo")
    rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
    # Each rank starts with other weights and sees other data: that they end alike is DistributedDataParallel's doing.
    torch.manual_seed(rank)
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(count):
        x = torch.randn(16, 4)
        loss = ((model(x) - x.sum(dim=1, keepdim=True)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    weights = sum(parameter.sum().item() for parameter in model.parameters())
    good = "learnt" if loss < 0.01 else f"loss {loss}"
    print(f"rank {rank} of {world}: {os.environ['GREETING']}, {good}, weights {weights}")
    torch.distributed.destroy_process_group()


name = client.train(
    # Without a runtime: the SDK's default is torch-distributed.
    trainer=CustomTrainer(
        func=learn,
        func_args={"count": 60},
        num_nodes=2,
        # The SDK sends numbers as 1.0 and 1073741824.0.
        resources_per_node={"cpu": 1, "memory": 2**30},
        env={"GREETING": "hello"},
    ),
    options=[Name("two-nodes"), Labels({"team": "vision"}), Annotations({"example.com/why": "a test"})],
)
assert name == "two-nodes"

statuses = []
wait(name, "Running", callbacks=[lambda job: statuses.append(job.status)])
# They start with importing PyTorch, so there is nothing to read yet: what comes has been followed.
first = list(client.get_job_logs(name, follow=True))
job = wait(name, callbacks=[lambda job: statuses.append(job.status)])
assert list(dict.fromkeys(statuses)) == ["Created", "Running", "Complete"], statuses

assert (job.num_nodes, job.runtime.name) == (2, "torch-distributed"), job
nodes = {name: (step.status, step.device, step.device_count) for name, step in steps(job).items()}
assert nodes == {"node-0": ("Succeeded", "cpu", "1"), "node-1": ("Succeeded", "cpu", "1")}, nodes

second = list(client.get_job_logs(name, step="node-1"))
assert any("rank 0 of 2: hello, learnt" in line for line in first), first
assert any("rank 1 of 2: hello, learnt" in line for line in second), second
weights = [line.split("weights ")[1] for line in first + second if "weights " in line]
assert weights[0] == weights[1], weights

metadata = stored(name)["metadata"]
assert metadata["labels"] == {"team": "vision"}, metadata
assert metadata["annotations"]["example.com/why"] == "a test", metadata

assert name in [job.name for job in client.list_jobs()]
client.delete_job(name)
raises(RuntimeError, "Failed to delete", client.delete_job, name)
assert name not in [job.name for job in client.list_jobs()]
