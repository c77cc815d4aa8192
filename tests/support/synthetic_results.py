"""Synthetic results for the tests of the studies, in which claims are reproduced or not, and synthetic data sets."""

import json

import numpy as np
import pandas as pd

from fsgym import Dataset
from fsgym_studies.common.curves import setting_means
from fsgym_studies.common.plan import CART, DWSM, L1_SVM, LARS
from fsgym_studies.dwsm import l1_forms, rcpi_forms
from fsgym_studies.dwsm import shared as dwsm


def by_text(claims, start, *parts):
    """The only claim whose text starts with ``start`` and contains all ``parts``."""
    (claim,) = [c for c in claims if c.text.startswith(start) and all(p in c.text for p in parts)]
    return claim


def all_assessed(claims, number):
    """Whether there are so many claims, all assessed: a row whose figure has another name would not be."""
    return [c.reproduced is None for c in claims] == [False] * number


def stand_in(source, data_dir=None):
    rng = np.random.default_rng(0)
    return Dataset(rng.normal(size=(60, 3)), np.arange(60) % 2, name=source.title)


def line(dataset, method, points, split=0, share=0.5, chance=0.55, **more):
    """Cells of a method, one per point (sparsity, accuracy)."""
    return [
        {
            "dataset": dataset, "share": share, "split": split, "method": method, "setting": k,
            "params": json.dumps({"lam": 0.01 * k} if method == DWSM else {"knob": k}), "sparsity": s, "accuracy": a,
            "chance": chance, "sparsity_within": 0.0, "n_acquisitions": 5.0, "n_features": 5.0, "error": None,
            "n_test": 900,
            "histogram": [0, 0, 0, 6] + [0] * 6 + [4], "wrong": [0] * 10 + [2], "usage": [0.5] * 10,
            "history": [0.5, 0.4, 0.3, 0.2, *[0.1] * 6], **more,
        }
        for k, (s, a) in enumerate(points)
    ]  # fmt: skip


def claims_of(study, table):
    return study.claims(table, setting_means(table, ("accuracy", "sparsity", "n_acquisitions", "n_features")))


# Training losses of readings of RCPI by iteration: one that is stable, one that is not, and one that falls for longer.
HISTORIES = {
    rcpi_forms.LOW_ALPHA: [0.5, 0.1] * 10,
    rcpi_forms.HIGH_ALPHA: [0.5] * 15 + [0.1] * 5,
}


def rcpi_line(dataset, method, split, loss=0.2, **more):
    """Cells of a reading of RCPI at the prices of ``rcpi_forms``."""
    history = HISTORIES.get(method, [0.5, 0.4, 0.3, 0.2, *[0.1] * 16])
    rows = line(dataset, method, [(0.5, 0.7), (0.8, 0.7)], split, history=history, loss=loss, **more)
    return [{**row, "params": json.dumps({"lam": lam})} for row, lam in zip(rows, rcpi_forms.PRICES)]


def binary_cells(lead):
    """Invented cells: DWSM's accuracies with ``lead`` (by data set) over the L1 methods; CART leads on splice."""
    rows = []
    for dataset in (*dwsm.BINARY_TITLES, dwsm.CANCER):
        gain = lead.get(dataset, 0.05)
        for split in (0, 1):
            rows += line(dataset, DWSM, [(0.5, 0.9 + gain), (0.8, 0.9 + gain)], split)
            rows += line(dataset, L1_SVM, [(0.5, 0.9), (0.8, 0.88)], split)
            rows += line(dataset, LARS, [(0.5, 0.9), (0.8, 0.89)], split)
            rows += line(dataset, dwsm.LOGISTIC, [(0.5, 0.95), (0.8, 0.95)], split)
            for reading in (dwsm.AS_PRINTED, rcpi_forms.POLICY_STATES):
                rows += rcpi_line(dataset, reading, split)
            for title in l1_forms.INTERCEPTS:
                if title.partition(", ")[2].startswith((l1_forms.STANDARD, l1_forms.DISTRIBUTED)):
                    rows += line(dataset, title, [(0.5, 0.9), (0.8, 0.89)], split)
            if dataset in ("heart", dwsm.CANCER_ID):
                for reading in rcpi_forms.TITLES[3:]:
                    rows += rcpi_line(dataset, reading, split)
            rows += line(dataset, dwsm.L1_SVM_B1, [(0.5, 0.9), (0.8, 0.88)], split)
            rows += line(dataset, dwsm.L1_SVM_WITHOUT, [(0.5, 0.8), (0.8, 0.7)], split)
            rows += line(dataset, dwsm.LARS_WITHOUT, [(0.5, 0.8), (0.8, 0.7)], split)
            rows += line(dataset, CART, [(0.9, 0.91)] if dataset == "splice" else [(0.9, 0.6)], split)
    return pd.DataFrame(rows)


# Columns that name a cell, or say how large it is:
LABELS = {"dataset", "share", "split", "method", "setting", "params", "error", "corpus", "selector", "inner", "coding"}
LABELS |= {"reading", "repeat", "fold", "size"}
KEYS = LABELS | {"n_test", "n_train", "chance", "K", "distribution", "column", "w", "s", "lam1", "lam2", "mu_rel"}


def always_met(assessed, table, number=5):
    """The texts of the claims that are met by every one of so many copies of a table whose results are random numbers.

    ``assessed`` returns the assessed claims of a table.
    """
    rng, met = np.random.default_rng(0), None
    for _ in range(number):
        random = table.assign(**{c: [random_like(v, rng) for v in table[c]] for c in table if c not in KEYS})
        own = {claim.text for claim in assessed(random) if claim.reproduced}
        met = own if met is None else met & own
    return met


def random_like(value, rng):
    """A random number from 0 to twice the size of a number, at most 1 for a share; lists are lists of such numbers."""
    if isinstance(value, list):
        return [random_like(v, rng) for v in value]
    if isinstance(value, bool):
        return bool(rng.integers(2))
    if isinstance(value, str) or value is None or value != value:
        return value
    if isinstance(value, float) and 0 <= value <= 1:
        return float(rng.random()) * (value not in (0.0, 1.0) or int(rng.integers(2)))  # a weight may be zero
    return 2 * abs(value) * rng.random() if isinstance(value, float) else int(rng.integers(0, 2 * abs(value) + 2))


def lose(table, **labels):
    """The table in which the cells with these labels failed."""
    lost = np.logical_and.reduce([table[name].eq(value) for name, value in labels.items()])
    assert lost.any()
    results = {c: table[c].where(~lost, np.nan) for c in table if c not in KEYS}
    return table.assign(**results, error=table["error"].astype(object).where(~lost, "ValueError: x"))
