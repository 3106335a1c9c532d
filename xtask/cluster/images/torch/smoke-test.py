import shutil

import torch, torch.distributed, torch.distributed.run, torch.nn.parallel

assert not torch.cuda.is_available()
layer = torch.nn.Linear(3, 1)
layer(torch.ones(2, 3)).sum().backward()
assert layer.weight.grad.tolist() == [[2.0, 2.0, 2.0]]
assert torch.distributed.is_gloo_available()
assert shutil.which("torchrun") == "/usr/local/bin/torchrun"
print("torch", torch.__version__)
