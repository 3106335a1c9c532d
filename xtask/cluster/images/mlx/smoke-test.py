import os
import subprocess

# Two processes as the user of the pods, on this machine.
program = """
import mlx.core as mx
world = mx.distributed.init(strict=True, backend="mpi")
assert world.size() == 2, world.size()
assert mx.distributed.all_sum(mx.array(world.rank() + 1.0)).item() == 3.0
assert mx.grad(lambda x: x * x)(mx.array(3.0)).item() == 6.0
if world.rank() == 0:
    print("mlx", mx.__version__)
"""
command = ["mpirun", "-n", "2", "python3", "-c", program]
pods = {"user": 1000, "group": 1000, "env": os.environ | {"HOME": "/tmp"}}
subprocess.run(command, **pods, check=True, timeout=120)
