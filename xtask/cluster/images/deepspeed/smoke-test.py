import deepspeed
import deepspeed.ops
from deepspeed.accelerator import get_accelerator

assert get_accelerator()._name == "cpu"
assert get_accelerator().communication_backend_name() == "gloo"
assert not deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"]
print("deepspeed", deepspeed.__version__)
