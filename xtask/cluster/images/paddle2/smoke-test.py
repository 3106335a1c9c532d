import paddle
from paddle.base.core import DistFleetWrapper
from paddle.distributed import fleet

print("paddle", paddle.__version__, "with parameter servers:", DistFleetWrapper.__name__, fleet.__name__)
