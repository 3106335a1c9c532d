import xgboost
import xgboost.collective, xgboost.tracker
from sklearn.datasets import load_digits

digits, labels = load_digits(return_X_y=True)
data = xgboost.DMatrix(digits, label=labels)
settings = {"objective": "multi:softmax", "num_class": 10, "nthread": 1}
model = xgboost.train(settings, data, num_boost_round=3)
assert (model.predict(data) == labels).mean() > 0.8
print("xgboost", xgboost.__version__)
