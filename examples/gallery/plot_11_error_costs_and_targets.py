"""
Errors that differ in cost, and a target
========================================

A missed cancer costs more than a false alarm. The same model, trained with both costs, asks more and errs on the safe
side. The third one has no price at all: it gets a mean number of features, and finds the price itself.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import fsgym
from agents import LatticeClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = y.map({0: "malignant", 1: "benign"})
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
errors = {"benign": {"malignant": 20}, "malignant": {"benign": 1}}
models = {
    "equal errors": LatticeClassifier(lam=0.02, random_state=0),
    "a missed cancer costs 20": LatticeClassifier(lam=0.02, error_costs=errors, random_state=0),
    "1.5 features on average": LatticeClassifier(target_features=1.5, random_state=0),
}
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
for name, model in models.items():
    result = fsgym.evaluate(model.fit(X_train, y_train), X_test, y_test)
    answers = model.predict(X_test)
    missed = int(((answers == "benign") & (y_test == "malignant")).sum())
    alarms = int(((answers == "malignant") & (y_test == "benign")).sum())
    print(f"{name:25} features {result.n_features:.2f}  missed {missed}  false alarms {alarms}")
    axes.scatter(alarms, missed, s=60, label=f"{name}: {result.n_features:.1f} features")
axes.set(xlabel="false alarms among the test rows", ylabel="missed cancers", ylim=(0, 4), xlim=(0, None))
axes.legend()
plt.show()

# %%
# The price that meets the target, and the cross-validated mean number of features.
print(models["1.5 features on average"].lam_, models["1.5 features on average"].expected_n_features_)
