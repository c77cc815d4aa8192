"""Results of a comparison that was never run: one setting a method, with the figures that a test needs."""

import json

import pandas as pd

from fsgym.evaluation.evaluate import Evaluation

UNIT = {"sparsity": 0.5, "admissible": 1.0, "illegal": 0.0, "balanced_accuracy": 0.5, "auc": 0.8}


def row_of(method, split=0, *, error=0.1, n=2.0, spent=None, lam=0.01, **more):
    """A row of the results; ``error`` is the mean error cost, ``n`` the mean number of features."""
    spent = n if spent is None else spent
    figures = dict.fromkeys(Evaluation.FIGURES, float("nan")) | UNIT
    figures |= {"accuracy": 1 - error, "error_cost": error, "n_features": n, "n_acquisitions": n, "spent": spent}
    figures |= {"acquisition_cost": lam * spent, "loss": error + lam * spent}
    figures |= {name: more.pop(name) for name in list(more) if name in figures}
    row = {"dataset": "synthetic", "split": split, "method": method, "setting": 0, "params": "{}", "price": lam}
    row |= figures | {f"validation_{name}": value for name, value in figures.items()}
    row |= {"usage": "{}", "first": None, "first_paid": None, "by_class": None, "n_train": 100, "n_test": 100}
    return row | {"seen": 0.0, "error": None, "warning": None} | more


def results_of(*rows, **attrs):
    results = pd.DataFrame(rows)
    results.attrs = {"counted": "n_features", "within": (1, 2), "reported": (rows[0]["price"],)} | attrs
    return results


def recalls(**by_class):
    """The column ``by_class`` with these recalls."""
    return json.dumps({label: {"rows": 9, "recall": recall, "precision": None} for label, recall in by_class.items()})
