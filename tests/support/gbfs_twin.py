"""Gradient boosted feature selection by exhaustive search, in plain Python; exact if the numbers are fractions."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple


class Bought(NamedTuple):
    feature: int
    iteration: int
    output: int
    node: int
    price: object
    net: object


def cuts(column):
    """Return the midpoints between the values of a column."""
    values = sorted(set(column))
    return [(a + b) / 2 for a, b in pairwise(values)]


def worth(g, w, left, right):
    """Return half of the decrease of sum w (g / w - value)^2 by splitting one leaf in two; g includes the weights."""
    sums = [(sum(g[i] for i in side), sum(w[i] for i in side)) for side in (left, right, [*left, *right])]
    a, b, c = (G * G / W for G, W in sums)
    return (a + b - c) / 2


def best_split(X, g, w, rows, thresholds, prices, least, tol):
    """Return (net, feature, threshold) of the best split; ties go to the first feature, then the lowest threshold."""
    best = None
    for f, candidates in enumerate(thresholds):
        for threshold in candidates:
            left = [i for i in rows if X[i][f] <= threshold]
            right = [i for i in rows if X[i][f] > threshold]
            if len(left) >= least and len(right) >= least:
                gain = worth(g, w, left, right)
                if gain > tol and (best is None or gain - prices[f] > best[0] + tol):
                    best = (gain - prices[f], f, threshold)
    return best


class Ledger:
    """Prices, and the log of purchases."""

    def __init__(self, mu, costs, phi, frozen):
        self.mu, self.costs, self.phi, self.frozen = mu, costs, phi, frozen
        self.bought, self.log = [], []
        self.reprice()

    def reprice(self):
        self.prices = [self.mu * c * p for c, p in zip(self.costs, self.phi(self.bought))]

    def buy(self, line):
        if line.feature not in self.bought:
            self.bought.append(line.feature)
            self.log.append(line)
            if not self.frozen:
                self.reprice()


def tree(X, g, w, thresholds, ledger, depth, least, tol, place, force=False):
    """Return the prediction of one tree for each row; None if the tree is empty."""
    leaves = [(0, list(range(len(X))), 0)]  # (node, rows, depth) in the order of creation
    n_nodes = 1
    while True:
        candidates = []
        for leaf in leaves:
            split = None
            if leaf[2] < depth:
                split = best_split(X, g, w, leaf[1], thresholds, ledger.prices, least, tol)
            if split is not None and all(split[0] > other[0][0] + tol for other in candidates):
                candidates.append((split, leaf))
        if not candidates or (candidates[-1][0][0] <= tol and not (force and n_nodes == 1)):
            break
        (net, f, threshold), leaf = candidates[-1]
        ledger.buy(Bought(f, *place, leaf[0], ledger.prices[f], net))
        _, rows, level = leaf
        sides = [i for i in rows if X[i][f] <= threshold], [i for i in rows if X[i][f] > threshold]
        leaves.remove(leaf)
        leaves += [(n_nodes, sides[0], level + 1), (n_nodes + 1, sides[1], level + 1)]
        n_nodes += 2
    if n_nodes == 1:
        return None
    values = [0] * len(X)
    for _, rows, _ in leaves:
        value = sum(g[i] for i in rows) / sum(w[i] for i in rows)
        for i in rows:
            values[i] = value
    return values


def learn(X, F, step, ledger, *, n_iter, eta, depth, least, force=False, tol=0):
    """Return the scores after boosting from ``F`` (n_outputs lists of n_samples).

    ``step(F)`` returns (g, w) of each output; both include the sample weights.
    """
    thresholds = [cuts(column) for column in zip(*X)]
    for iteration in range(1, n_iter + 1):
        trees = []
        for k, (g, w) in enumerate(step(F)):
            forced = force and iteration == 1 and not ledger.log
            trees.append(tree(X, g, w, thresholds, ledger, depth, least, tol, (iteration, k), forced))
        if not any(trees):
            break
        F = [[a + eta * b for a, b in zip(old, new)] if new else old for old, new in zip(F, trees)]
        ledger.reprice()
    return F
