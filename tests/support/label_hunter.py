"""A policy and a classifier that search their process for the labels of the rows that they are asked about."""

import gc
import json
import sys

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from fsgym import Dataset

N_ROWS = 80


def labels_of(numbers):
    """The labels of rows by their number, 0 or 1, without a pattern."""
    return np.random.default_rng(0).integers(0, 2, N_ROWS)[np.asarray(numbers, np.int64)]


def numbered_rows():
    """A data set whose first feature is the number of the row."""
    X = np.column_stack([np.arange(N_ROWS), np.random.default_rng(1).uniform(size=(N_ROWS, 2))])
    return Dataset(X, labels_of(np.arange(N_ROWS)), name="numbered")


def labels_are_here(numbers):
    """Whether an array of the labels of these rows, or of all rows, is in an argument, in a frame or anywhere else."""
    frames, reached = list(sys._current_frames().values()), {}
    for frame in frames:
        if frame.f_back is not None:
            frames.append(frame.f_back)
    for holder in (*gc.get_objects(), *(frame.f_locals for frame in frames)):
        for value in gc.get_referents(holder):
            if isinstance(value, np.ndarray) and value.ndim == 1:
                reached[id(value)] = value
    return any(
        np.array_equal(array, labels_of(rows)) for rows in (numbers, range(N_ROWS)) for array in reached.values()
    )


def note(path, when, numbers):
    with open(path, "a") as file:
        file.write(json.dumps({when: labels_are_here(np.round(numbers))}) + "\n")


def search(path):
    """A factory of a policy that acquires the number of a row, and then searches for its label."""

    def train(env):
        rows, n = env.unwrapped.dataset, env.unwrapped.rules.n_acquisitions
        scaling = rows.origin.scaling
        note(path, "training", rows.X[:, 0] / scaling.scale[0] + scaling.offset[0])

        def policy(observations, masks):
            if not masks[:, 0].any():
                note(path, "asked", observations[:, n] / scaling.scale[0] + scaling.offset[0])
            return np.where(masks[:, 0], 0, n)

        return policy

    return train


class Searching(ClassifierMixin, BaseEstimator):
    """A classifier that searches when it is fitted and when it is asked."""

    def __init__(self, path=""):
        self.path = path

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        note(self.path, "training", X[:, 0])
        return self

    def predict(self, X):
        note(self.path, "asked", X[:, 0])
        return np.full(len(X), self.classes_[0])

    def features_used(self, X):
        return np.ones(X.shape, bool)
