"""The cells of the study of uncertain data: selections, the accuracy that they leave, how far from optimal they are."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsgym.comparison.imputed import ImputedMean
from fsgym.dataset import Dataset
from fsgym_studies.common.cell import parts_of

if TYPE_CHECKING:
    from baselines import SparseGroupLasso

HERE = "fsgym_studies.uncertain_sgl.cell"
UNSELECTED, GRID, SETTING, WEIGHTS = (f"{HERE}:{name}" for name in ("unselected", "on_grid", "at_setting", "weights"))
SCALE = 100.0  # the range of a feature, to which the printed penalties belong
TOL = 1e-8  # duality gap of the minimum, as a share of |y|^2 / 2
ROUNDING = 1e-12  # of the gap itself, as a share of |y|^2 / 2
Penalties = tuple[float, float]


class Drawn(NamedTuple):
    """Draws of a training and of a test part, (n, d * s), and their targets of -1 and +1; ``s`` draws a value."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.float64]
    s: int


def drawn(train: Dataset, test: Dataset, distribution: str, w: float, s: int, seed: int) -> Drawn:
    """Missing values become means, values become draws; both means and ranges are those of the training part."""
    from baselines import UncertainExpander

    means = ImputedMean(None).learn(train.X)
    expander = UncertainExpander(w, s, distribution, feature_scale=SCALE, random_state=seed)
    X = np.asfortranarray(expander.fit_transform(means.fill(train.X)))
    y, y_test = (np.where(part.y > 0, 1.0, -1.0) for part in (train, test))
    return Drawn(X, y, expander.transform(means.fill(test.X)), y_test, s)


def lasso(data: Drawn, penalties: Penalties, solver: str, n_steps: int = 100) -> SparseGroupLasso:
    """Equation 7: after ``n_steps`` accelerated steps of ``"fista"``, or at its minimum, ``"exact"``."""
    from baselines import SparseGroupLasso

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a gap that is not reached is told as a number
        n_iter = n_steps if solver == "fista" else None
        return SparseGroupLasso(*penalties, data.s, solver=solver, tol=TOL, max_iter=n_iter).fit(data.X, data.y)


def kept(model: SparseGroupLasso, s: int) -> NDArray[np.bool_]:
    """Which sub-features have a weight, (d, s)."""
    return model.coef_.reshape(-1, s) != 0


def sizes(mask: NDArray[np.bool_]) -> dict[str, float]:
    """The paper's FNum and ratio."""
    return {"fnum": int(mask.any(axis=1).sum()), "ratio": float(mask.mean())}


def accuracy(data: Drawn, mask: NDArray[np.bool_] | None = None) -> float:
    """Of the intersection kernel machine on the kept draws, by default on all; without any, of the largest class."""
    from baselines.uncertain.intersection import IntersectionMachine, intersection_kernel

    columns = slice(None) if mask is None else mask.ravel()
    X, X_test = (np.ascontiguousarray(Z[:, columns]) / (SCALE * data.s) for Z in (data.X, data.X_test))
    if not X.shape[1]:
        return float((data.y_test == (1.0 if data.y.sum() > 0 else -1.0)).mean())
    machine = IntersectionMachine.train(intersection_kernel(X), X, data.y, 1.0)
    return float(((machine.decision_function(X_test) > 0) == (data.y_test > 0)).mean())


def unselected(
    data: Dataset, *, distribution: str, w: float, s: int, part: Mapping[str, Any], seed: int
) -> dict[str, Any]:
    """Accuracy of the machine on all draws; with an amplitude ``w`` of 0, on the values as they are."""
    return {"accuracy": accuracy(drawn(*parts_of(data, part), distribution, w, s, seed))}


def on_grid(
    data: Dataset,
    *,
    distribution: str,
    w: float,
    s: int,
    penalties: Sequence[Penalties],
    part: Mapping[str, Any],
    inner: int,
    seed: int,
) -> dict[str, Any]:
    """Every pair of penalties on one training part, by 100 steps, and on ``inner`` folds of it.

    Returns
    -------
    dict
        ``all``, accuracy of all draws on the test part, and ``validation_all``, its mean over the inner folds; lists
        with a number a pair: fnum, ratio, ``accuracy`` and ``validation`` of the selection.
    """
    train, test = parts_of(data, part)
    everything, selected = _judged(drawn(train, test, distribution, w, s, seed), penalties)
    inside = [
        _judged(drawn(*parts_of(train, {"folds": inner, "fold": k, "seed": 0}), distribution, w, s, seed), penalties)
        for k in range(inner)
    ]
    return {
        "all": everything,
        "validation_all": float(np.mean([a for a, _ in inside])),
        **{name: [row[name] for row in selected] for name in ("fnum", "ratio", "accuracy")},
        "validation": [float(np.mean(v)) for v in zip(*([r["accuracy"] for r in rows] for _, rows in inside))],
    }


def _judged(data: Drawn, penalties: Iterable[Penalties]) -> tuple[float, list[dict[str, float]]]:
    """Accuracy of all draws, and what each selection keeps and reaches; equal selections are judged once."""
    every = np.ones((data.X.shape[1] // data.s, data.s), bool)
    known, rows = {every.tobytes(): accuracy(data)}, []
    for pair in penalties:
        mask = kept(lasso(data, pair, "fista"), data.s)
        if mask.tobytes() not in known:
            known[mask.tobytes()] = accuracy(data, mask)
        rows.append({**sizes(mask), "accuracy": known[mask.tobytes()]})
    return known[every.tobytes()], rows


def at_setting(
    data: Dataset,
    *,
    distribution: str,
    w: float,
    s: int,
    penalties: Penalties,
    part: Mapping[str, Any],
    seed: int,
    n_steps: int = 100,
) -> dict[str, Any]:
    """One printed setting, after ``n_steps`` (early) and at the minimum (exact).

    Returns
    -------
    dict
        ``all``, accuracy of all draws; for early and exact fnum, ratio, accuracy and ``gap``, the duality gap as a
        share of |y|^2 / 2; ``above``, how far early's objective is above exact's, as a share of the latter; and
        ``possible``, a share of the sub-features that no minimum of equation 7 exceeds.
    """
    set_ = drawn(*parts_of(data, part), distribution, w, s, seed)
    found: dict[str, Any] = {"all": accuracy(set_), "n_train": len(set_.X)}
    objectives, unit = {}, 0.5 * float(set_.y @ set_.y)
    for mode, solver in (("early", "fista"), ("exact", "exact")):
        model = lasso(set_, penalties, solver, n_steps)
        mask = kept(model, s)
        told = {**sizes(mask), "accuracy": accuracy(set_, mask), "gap": model.dual_gap_ / unit}
        found |= {f"{mode}_{name}": value for name, value in told.items()}
        objectives[mode] = objective(set_, penalties, model.coef_)
        if mode == "exact":
            found["possible"] = possible(set_, penalties, model.coef_, model.dual_gap_ + ROUNDING * unit)
    return {**found, "above": objectives["early"] / objectives["exact"] - 1.0}


def objective(data: Drawn, penalties: Penalties, coef: NDArray[np.float64]) -> float:
    """Equation 7."""
    r, norms = data.y - data.X @ coef, np.linalg.norm(coef.reshape(-1, data.s), axis=1)
    return float(0.5 * r @ r + penalties[0] * np.abs(coef).sum() + penalties[1] * norms.sum())


def possible(data: Drawn, penalties: Penalties, coef: NDArray[np.float64], gap: float) -> float:
    """The share of sub-features that may have a weight at any minimum of equation 7: all others are proven to be 0.

    Every minimum has the same residual, within sqrt(2 gap) of a dual point (Ndiaye, Fercoq, Gramfort and Salmon, 2016).
    """
    from baselines.sparse_group_lasso.groups import make_groups
    from baselines.sparse_group_lasso.penalty import Penalty

    lam1, lam2 = penalties
    r = data.y - data.X @ coef
    bound = Penalty(lam1, lam2, make_groups(data.s, "ones", data.X.shape[1])).dual_norm(data.X.T @ r)
    scale = min(float(data.y @ r) / float(r @ r), 1.0 / bound)
    z = np.abs(data.X.T @ (scale * r)).reshape(-1, data.s)
    reach = np.sqrt(2.0 * gap) * np.linalg.norm(data.X, axis=0).reshape(-1, data.s)
    column = z + reach >= lam1
    group = np.linalg.norm(np.maximum(z + reach - lam1, 0.0), axis=1) >= lam2
    return float((column & group[:, None]).mean())


def weights(
    data: Dataset, *, distribution: str, w: float, s: int, penalties: Penalties, part: Mapping[str, Any], seed: int
) -> dict[str, Any]:
    """The weights, a list of ``s`` numbers a feature, after 100 steps (``early``) and at the minimum (``exact``)."""
    set_ = drawn(*parts_of(data, part), distribution, w, s, seed)
    modes = (("early", "fista"), ("exact", "exact"))
    return {mode: lasso(set_, penalties, solver).coef_.reshape(-1, s).tolist() for mode, solver in modes}
