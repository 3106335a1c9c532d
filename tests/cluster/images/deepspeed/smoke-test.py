import deepspeed
from deepspeed.accelerator import get_accelerator

assert get_accelerator()._name == "cpu"
assert get_accelerator().communication_backend_name() == "gloo"
print("deepspeed", deepspeed.__version__)
