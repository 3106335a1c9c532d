import os
import subprocess

# Two processes as the user of the pods, on this machine.
program = """
from mpi4py import MPI
world = MPI.COMM_WORLD
assert world.size == 2, world.size
assert world.allreduce(world.rank + 1) == 3
if world.rank == 0:
    print(MPI.Get_library_version().splitlines()[0])
"""
command = ["mpirun", "-n", "2", "python3", "-c", program]
pods = {"user": 1000, "group": 1000, "env": os.environ | {"HOME": "/tmp"}}
subprocess.run(command, **pods, check=True, timeout=120)
