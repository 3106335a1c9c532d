import lightgbm
from sklearn.datasets import load_digits

digits, labels = load_digits(return_X_y=True)
settings = {"objective": "multiclass", "num_class": 10, "num_threads": 1, "verbose": -1}
model = lightgbm.train(settings, lightgbm.Dataset(digits, label=labels), num_boost_round=5)
assert (model.predict(digits).argmax(axis=1) == labels).mean() > 0.8
print("lightgbm", lightgbm.__version__)
