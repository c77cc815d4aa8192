"""
Prices swept
============

``path`` trains one model per lambda, the price of a feature in errors. Each point is one of them: as features become
more expensive, fewer are acquired, and the accuracy falls.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import fsgym
from agents import LatticeClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
lambdas = [0.003, 0.01, 0.03, 0.1, 0.3]
models = LatticeClassifier(random_state=0).path(X_train, y_train, lambdas)

# %%
# The same test rows for all models. ``loss`` is the error rate plus lambda times the mean number of features.
evaluations = [fsgym.evaluate(model, X_test, y_test) for model in models]
for lam, result in zip(lambdas, evaluations, strict=True):
    print(f"{lam:5g}  accuracy {result.accuracy:.3f}  features {result.n_features:.2f}  loss {result.loss:.3f}")

# %%
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.plot([e.n_features for e in evaluations], [e.accuracy for e in evaluations], marker="o")
for lam, result in zip(lambdas, evaluations, strict=True):
    axes.annotate(f"{lam:g}", (result.n_features, result.accuracy), textcoords="offset points", xytext=(6, -12))
axes.set(xlabel="mean features used", ylabel="accuracy on test rows", title="One point per lambda")
plt.show()
