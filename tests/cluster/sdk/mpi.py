"""A function that mpirun starts, on the launcher and on the node that it reaches."""

from kubeflow.trainer import CustomTrainer
from session import client, steps, wait


def add():
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    total = world.allreduce(world.rank + 1)
    print(f"rank {world.rank} of {world.size}: the sum is {total}", flush=True)


name = client.train(runtime="mpi-distributed", trainer=CustomTrainer(func=add, num_nodes=2))
# JobSet takes the other Pod away when the launcher is done.
seen = {}
wait(name, callbacks=[lambda job: seen.update(steps(job))])
assert sorted(seen) == ["node-0", "node-1"], seen
assert "launcher" in seen["node-0"].pod_name, seen
logs = list(client.get_job_logs(name))
assert sorted(logs) == ["rank 0 of 2: the sum is 3", "rank 1 of 2: the sum is 3"], logs
client.delete_job(name)
