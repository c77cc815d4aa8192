"""How a lattice policy goes on where it does not move by its plan: flat arrays, built from their parts and checked."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.lattice.constants import MAX_CHILDREN, MAX_PLAN_NUMBER
from agents.lattice.state_features import n_belief_features, n_value_features
from agents.parts import lengths_of_parts, moves_extend, numbers_of_features
from fsgym.rules import Rules


class Continuation(NamedTuple):
    """Back-up moves and starts as flat arrays; the part of subset v is ``..._first[v]`` to ``..._first[v + 1]``.

    Attributes
    ----------
    backup_child, backup_acquisition, backup_first : int64
        The back-up moves, made where the preferred acquisition cannot be obtained.
    backup_theta, backup_theta_first
        Coefficients of the advantages of the first back-up moves of each subset, n_columns x n_moves.
    start_value : float64 (n_subsets,)
        Mean loss of the training rows that start at each subset, with its values known in advance.
    answer_cost : float64 (n_subsets,)
        Mean cost of answering at each subset.
    saving, saving_acquisition, saving_first
        How much lower that mean is if one more acquisition is known in advance.
    order : int64 (J,)
        All acquisitions, the most useful first: the order in which to go on after an answer.
    base : int64 (n_base,)
        Acquisitions that each row makes first.
    base_place : int64 (1,), the place of the subset of these
    """

    backup_child: NDArray[np.int64]
    backup_acquisition: NDArray[np.int64]
    backup_first: NDArray[np.int64]
    backup_theta: NDArray[np.float64]
    backup_theta_first: NDArray[np.int64]
    start_value: NDArray[np.float64]
    answer_cost: NDArray[np.float64]
    saving: NDArray[np.float64]
    saving_acquisition: NDArray[np.int64]
    saving_first: NDArray[np.int64]
    order: NDArray[np.int64]
    base: NDArray[np.int64]
    base_place: NDArray[np.int64]


REAL_ARRAYS = {"backup_theta", "start_value", "answer_cost", "saving"}


class SubsetContinuation(NamedTuple):
    """The parts of a ``Continuation`` at one subset.

    Attributes
    ----------
    backups : list of (acquisition, place of the subset that it leads to)
    theta : float64, coefficients of the first of them
    start_value, answer_cost : float
    savings : list of (acquisition, saving)
    """

    backups: list[tuple[int, int]]
    theta: NDArray[np.float64]
    start_value: float
    answer_cost: float
    savings: list[tuple[int, float]]


def make_continuation(
    parts: list[SubsetContinuation], order: NDArray[np.int64], base: list[int], base_place: int
) -> Continuation:
    """The flat arrays from the parts of all subsets."""

    def first(lengths: list[int]) -> NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)

    backups = [move for part in parts for move in part.backups]
    savings = [entry for part in parts for entry in part.savings]
    return Continuation(
        np.array([q for _, q in backups], np.int64),
        np.array([j for j, _ in backups], np.int64),
        first([len(part.backups) for part in parts]),
        np.concatenate([np.asarray(part.theta, np.float64).ravel() for part in parts]),
        first([part.theta.size for part in parts]),
        np.array([part.start_value for part in parts], np.float64),
        np.array([part.answer_cost for part in parts], np.float64),
        np.array([v for _, v in savings], np.float64),
        np.array([j for j, _ in savings], np.int64),
        first([len(part.savings) for part in parts]),
        np.asarray(order, np.int64),
        np.array(base, np.int64),
        np.array([base_place], np.int64),
    )


def check_continuation(taken: NDArray, cells: NDArray[np.int64], c: Continuation, rules: Rules) -> None:
    """Raise ValueError unless the compiled code stays within these arrays and each episode ends.

    ``choose_move`` and ``_rank_moves`` rely on back-up moves that lead to a larger subset and on ``backup_theta`` with
    a column for each of the first of them; ``_saved`` and ``_acquisition_beyond`` on ``saving_acquisition`` and
    ``order`` that are acquisitions; ``_next_acquisition`` on ``base``, the acquisitions of the subset ``base_place``.

    Parameters
    ----------
    taken : bool (n_subsets, n_acquisitions), checked
    cells : int64 (n_subsets,), checked
    c : Continuation
    rules : Rules
    """
    n_subsets, J = taken.shape
    shapes = {"order": (J,), "base_place": (1,), "start_value": (n_subsets,), "answer_cost": (n_subsets,)}
    for name, array in c._asdict().items():
        dtype = np.dtype(np.float64 if name in REAL_ARRAYS else np.int64)
        shape = shapes.get(name, (n_subsets + 1,) if name.endswith("_first") else (array.size,))
        if array.dtype != dtype or array.shape != shape or not np.isfinite(array).all():
            raise ValueError(f"{name} must be finite {dtype} of shape {shape}, got {array.dtype} {array.shape}")
        _require_valid(dtype != np.float64 or (np.abs(array) <= MAX_PLAN_NUMBER).all(), name)
    _require_valid(len(c.backup_child) == len(c.backup_acquisition), "backups")
    _require_valid(len(c.saving) == len(c.saving_acquisition), "savings")
    n_backups = lengths_of_parts(c.backup_first, n_subsets, len(c.backup_child), "backups")
    n_theta = lengths_of_parts(c.backup_theta_first, n_subsets, len(c.backup_theta), "backup_theta")
    lengths_of_parts(c.saving_first, n_subsets, len(c.saving), "savings")
    _require_valid(moves_extend(taken, n_backups, c.backup_acquisition, c.backup_child), "backups")
    columns = _columns_of_subsets(taken, cells, rules)
    n_adaptive = n_theta // columns
    _require_valid((n_adaptive * columns == n_theta).all(), "backup_theta")
    _require_valid((n_adaptive <= np.minimum(n_backups, MAX_CHILDREN)).all(), "backup_theta")
    _require_valid(((c.saving_acquisition >= 0) & (c.saving_acquisition < J)).all(), "savings")
    _require_valid((np.sort(c.order) == np.arange(J)).all(), "order")
    _require_valid(((c.base >= 0) & (c.base < J)).all() and len(np.unique(c.base)) == len(c.base), "base")
    _require_valid(0 <= c.base_place[0] < n_subsets, "base")
    _require_valid(np.array_equal(np.flatnonzero(taken[c.base_place[0]]), np.sort(c.base)), "base")


def _columns_of_subsets(taken: NDArray, cells: NDArray[np.int64], rules: Rules) -> NDArray[np.int64]:
    """The number of columns of the state features at each subset, int64 (n_subsets,)."""
    sizes = numbers_of_features(taken, rules)
    n_beliefs = n_belief_features(rules.n_classes)
    return np.array([1 + n_beliefs + n_value_features(m) for m in sizes.tolist()]) + cells


def _require_valid(consistent: Any, what: str) -> None:
    if not consistent:
        raise ValueError(f"the {what} of the policy do not fit together")
