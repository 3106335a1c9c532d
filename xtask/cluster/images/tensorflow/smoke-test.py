import tensorflow as tf

x = tf.Variable(3.0)
with tf.GradientTape() as tape:
    y = x * x
assert float(tape.gradient(y, x)) == 6.0
tf.distribute.MultiWorkerMirroredStrategy
print("tensorflow", tf.__version__)
