"""
Groups of features
==================

The thirty features of breast cancer are ten measurements, each with its mean, its standard error and its worst value.
If the three come together, for the price of one, the model asks for measurements instead of numbers.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import fsgym
from agents import LatticeClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
names = [column.removeprefix("mean ") for column in X.columns[:10]]
groups = {name: [f"mean {name}", f"{name} error", f"worst {name}"] for name in names}
model = LatticeClassifier(lam=0.02, groups=groups, random_state=0).fit(X_train, y_train)
result = fsgym.evaluate(model, X_test, y_test)
print(f"accuracy {result.accuracy:.3f}, {result.n_acquisitions:.2f} groups, {result.n_features:.2f} features per case")

# %%
# How often each group is acquired on the test rows.
steps = model.trajectories(X_test).to_frame()
shares = steps["acquired"].value_counts(normalize=False) / len(X_test)
shares.sort_values().plot.barh(figsize=(6, 3), xlabel="share of the test rows", ylabel="")
plt.tight_layout()
plt.show()
