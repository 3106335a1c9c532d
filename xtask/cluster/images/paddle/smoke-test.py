import paddle
import paddle.distributed, paddle.distributed.launch

assert not paddle.is_compiled_with_cuda()
x = paddle.to_tensor(3.0, stop_gradient=False)
(x * x).backward()
assert float(x.grad) == 6.0
print("paddle", paddle.__version__)
