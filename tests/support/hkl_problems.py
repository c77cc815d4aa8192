"""Small problems of hierarchical kernel learning: lattices, and Boolean tables with a known concept."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from baselines import Booleanizer
from baselines.hkl.lattice import DisjunctionLattice, evaluate_disjunctions
from baselines.hkl.problem import HKLProblem
from fsgym import load_dataset

ROWS = np.array([[i >> j & 1 for j in range(4)] for i in range(16)], dtype=float)
SIDES = np.array([-1, 1, 1, -1, 1, -1, -1, -1, -1, 1, 1, 1, 1, 1, 1, -1.0])
BALANCED = np.arange(16) - 7.5


def lattice(n, beta=2.0, *, prior=None, max_literals=None, group=None, scale=1.0, root=True):
    prices = np.full(n, float(beta)) if prior is None else np.array(prior, dtype=float)
    return DisjunctionLattice(
        prices, max_literals or n, root, np.zeros(n, dtype=int) if group is None else np.array(group), scale
    )


def every_node(of):
    """Return all disjunctions of a lattice, by size, then in lexicographic order."""
    sets = (v for k in range(1, of.max_literals + 1) for v in combinations(range(of.n_literals), k))
    return [v for v in sets if len(set(of.group[list(v)])) == 1]


def whole_problem(X, y, C, of, p):
    nodes = every_node(of)
    groups = [()] * of.root + nodes
    membership = np.array([[set(g) <= set(u) for u in nodes] for g in groups], dtype=float)
    delta = np.array([of.scale * np.prod(of.prices[list(g)]) for g in groups])
    return HKLProblem(
        evaluate_disjunctions(X, nodes), y, np.broadcast_to(float(C), len(y)).copy(), membership, delta, p
    )


def random_problem(seed):
    """Return a small random problem: X, y, and options of the classifier."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(3, 7)), int(rng.integers(20, 61))
    X = (rng.random((m, n)) < rng.uniform(0.3, 0.6)).astype(float)
    concept = X[:, 0].astype(bool) | (X[:, 1] * X[:, 2] > 0)
    y = np.where(concept ^ (rng.random(m) < 0.15), 1.0, -1.0)
    options = {
        "C": round(float(10 ** rng.uniform(-1, 1)), 3),
        "beta": round(float(rng.uniform(1.5, 3)), 2),
        "p": (2.0, 1.5, 1.1)[seed % 3],
        "root": bool(seed % 2),
        "max_literals": 2 if seed % 5 == 4 else None,
        "prior": rng.uniform(0.5, 3.0, n).round(2).tolist() if seed % 4 == 3 else None,
        "groups": [0, 1, 0, 1, 1, 0][:n] if seed % 6 == 5 else None,
    }
    return X, y, options


def monk(number):
    """Return the training and the test part as (one-hot codes of all levels, classes)."""
    parts = [load_dataset(f"monk{number}", part, one_hot=False) for part in ("train", "test")]
    booleanizer = Booleanizer(nominal="all").fit(parts[1].X)
    return [(booleanizer.transform(part.X), part.y) for part in parts]


def boards():
    """Return all final boards of tic-tac-toe games that x starts, one-hot (x, o, blank), and whether x has won."""
    lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]

    def won(board, who):
        return any(all(board[k] == who for k in line) for line in lines)

    ends, reached = set(), {(" ",) * 9}  # the boards after so many moves, each once
    for move in range(10):
        over = {b for b in reached if won(b, "x") or won(b, "o") or move == 9}
        ends |= over
        open_squares = [(b, k) for b in reached - over for k in range(9) if b[k] == " "]
        reached = {(*b[:k], "xo"[move % 2], *b[k + 1 :]) for b, k in open_squares}
    final = sorted(ends)
    X = np.array([[square == mark for square in board for mark in "xo "] for board in final], dtype=float)
    return X, np.array([won(board, "x") for board in final])


BOARDS = boards()


NOISY = random_problem(0)[:2]
