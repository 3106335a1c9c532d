import jax
import jax.numpy as jnp

assert jax.devices()[0].platform == "cpu"
assert float(jax.jit(jax.grad(lambda x: jnp.sum(x**2)))(jnp.ones(3))[0]) == 2.0
print("jax", jax.__version__)
