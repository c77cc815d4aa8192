"""The group LASSO (no L1 penalty): working sets by the strong rule, groups minimised exactly, a certified gap."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from baselines.sparse_group_lasso import kernels
from baselines.sparse_group_lasso.groups import ColumnGroups

MAX_GROUP_SIZE = 512  # columns of a group, for its eigenvectors
MIN_CURVATURE = 1e-6  # lower bound on a row's second derivative, which vanishes for rows with a large margin
MIN_REFERENCE = 0.1  # by hand: smallest curvature of a row in the Gram matrices, as a share of the mean
MAX_INFLATION, MIN_SHARE = 1.5, 0.7  # by hand: how far curvatures may rise and fall before Gram matrices are renewed
MAX_HALVINGS = 34  # of a Newton step; it is then below 1e-10
EPOCHS_PER_STEP = 20  # at most; by hand, the decrease that is asked is usually reached before
DESCENT_BUDGET, MIN_STEPS, MAX_STEPS = 2, 3, 50  # on a working set: cost in steps of Newton's method on the support
UNIT_ROUNDING = 1.02 * 2.0**-24  # of a number in single precision
MAX_ROUNDING = 0.01  # by hand: of a product in single precision; above it, too many groups are computed twice


class SquaredLoss:
    """1/2 |y - eta|^2, without an intercept."""

    has_intercept = False

    def __init__(self, y: NDArray[np.float64]) -> None:
        self.y, self.curvature = y, np.ones(len(y))

    def start(self) -> float:
        return 0.0

    def intercept_change(self, eta: NDArray) -> float:
        return 0.0

    def value(self, eta: NDArray, residual: NDArray) -> float:
        """Write the negative gradient into ``residual`` and return the loss."""
        np.subtract(self.y, eta, out=residual)
        return 0.5 * float(residual @ residual)

    def dual(self, eta: NDArray, residual: NDArray, norm: float) -> float:
        """Return the dual objective at the best multiple of ``residual``, whose dual norm is ``norm``."""
        squared, product = float(residual @ residual), float(self.y @ residual)
        c = product / squared if squared > 0 else 0.0
        c = min(max(c, -1.0 / norm), 1.0 / norm) if norm > 0 else c
        return c * product - 0.5 * c * c * squared


class LogisticLoss:
    """sum_i log(1 + exp(eta_i)) - y_i eta_i, with an intercept; y contains both 0 and 1."""

    has_intercept = True

    def __init__(self, y: NDArray[np.float64]) -> None:
        self.y, self.curvature = y, np.empty(len(y))

    def start(self) -> float:
        share = float(self.y.mean())
        return float(np.log(share / (1.0 - share)))

    def intercept_change(self, eta: NDArray) -> float:
        """Return how far the intercept is from its optimum, where the residuals sum to 0."""
        wanted, middle = float(self.y.sum()), self.start()
        return kernels.logistic_intercept(eta, wanted, middle - float(eta.max()), middle - float(eta.min()))

    def value(self, eta: NDArray, residual: NDArray) -> float:
        """Write the negative gradient into ``residual``, the second derivatives into ``curvature``; return the loss."""
        return kernels.logistic_loss(eta, self.y, residual, self.curvature, MIN_CURVATURE)

    def dual(self, eta: NDArray, residual: NDArray, norm: float) -> float:
        return logistic_dual(self.y, eta, residual, self.curvature, norm)


def logistic_dual(y: NDArray, eta: NDArray, residual: NDArray, curvature: NDArray, norm: float) -> float:
    """Return the dual objective at a multiple of ``residual`` that is feasible; ``norm`` is its dual norm."""
    squared = float(residual @ (residual / curvature))
    share = max(1.0 + float(eta @ residual) / squared, 0.0) if squared > 0 else 1.0  # optimal for a quadratic loss
    for most in (norm, float(np.abs(residual).max())):
        share = min(share, 1.0 / most) if most > 0 else share
    q = (y - share * residual).clip(0.0, 1.0)
    return float((entr(q) + entr(1.0 - q)).sum())


class GroupDescent:
    """One table, loss and groups, for any number of penalties, each started from the solution before.

    On a working set, proximal Newton steps are taken by block coordinate descent. The eigenvectors of a group's Gram
    matrix are kept between steps and penalties: while the curvatures of the rows change little, the matrix times a
    factor is an upper bound on the new one.

    Parameters
    ----------
    XT : ndarray of shape (n_features, n_samples), float64, C order
        Columns in the order of the groups, none of which has more than ``MAX_GROUP_SIZE``.
    loss : SquaredLoss or LogisticLoss
    groups : ColumnGroups
    rescue : callable with arguments (descent, lam, chosen, gap, target)
        Takes over where the descent is slow, and calls ``move_to`` with what it found.

    Attributes
    ----------
    w : ndarray of shape (n_features,), float64, in the order of places
    b : float, the intercept
    n_steps : int, Newton steps of the last ``solve``; for the squared loss, calls of the descent
    norms : ndarray of shape (n_groups,), float64
        ||X_g'r||_2 at the residual r, or upper bounds below the dual norm.

    References
    ----------
    Qin, Scheinberg and Goldfarb (2013), Efficient block-coordinate descent algorithms for the group lasso, section 2;
    Tibshirani et al. (2012), Strong rules for discarding predictors in lasso-type problems; Yang and Hastie (2024), A
    fast and scalable pathwise-solver for group lasso and elastic net penalized regression via block-coordinate descent.
    """

    def __init__(
        self,
        XT: NDArray[np.float64],
        loss: SquaredLoss | LogisticLoss,
        groups: ColumnGroups,
        rescue: Callable[[GroupDescent, float, NDArray, float, float], None],
    ) -> None:
        self.XT, self.loss, self.groups, self.rescue = XT, loss, groups, rescue
        (n_features, n_rows), sizes = XT.shape, groups.sizes
        self.sizes = sizes
        squares = sizes**2
        self.blocks = kernels.EigenBlocks(
            XT, groups.first, np.zeros(n_features), np.empty(int(squares.sum())), np.cumsum(squares) - squares
        )
        self.prepared, self.reference = np.zeros(len(sizes), dtype=bool), np.ones(n_rows)
        self.all, self.found = np.arange(len(sizes)), np.arange(len(sizes))
        self.norms = np.zeros(len(sizes))
        self.unit: NDArray[np.float32] | None = None  # columns divided by their lengths
        self.lengths = np.empty(n_features)
        self.buffers, self.row = np.empty((3, int(sizes.max()))), np.empty(n_rows)
        self.eta, self.residual = np.empty(n_rows), np.empty(n_rows)
        self.decrease_per_squared_gap = 0.0  # of an epoch; 0 if not known
        self.restart(np.zeros(n_features), loss.start())

    def restart(self, w: NDArray[np.float64], b: float) -> None:
        """Go on from ``w`` (n_features,), in the order of places, and an intercept near ``b``."""
        self.move_to(w, b)
        change = self.loss.intercept_change(self.eta)
        if change != 0.0:
            self.move_to(w, b + change)
        self.correlated = False
        self.lam = np.inf
        self.before = np.inf, w, b  # the last lambda but one, and its solution

    def move_to(self, w: NDArray[np.float64], b: float) -> None:
        """Set the weights and the intercept, and compute eta, residual and the value of the loss from them."""
        self.w, self.b = w, b
        self.find_active(self.all)
        self.eta[:] = b
        kernels.add_product(self.XT, w, self.groups.first, self.active, self.eta)
        self.value = self.loss.value(self.eta, self.residual)

    def find_active(self, chosen: NDArray) -> None:
        """Set ``active``, the nonzero groups, which are all among ``chosen``."""
        self.active = self.found[: kernels.nonzero_groups(self.w, self.groups.first, chosen, self.found)].copy()

    def objective(self, lam2: NDArray) -> float:
        return self.value + kernels.penalty_value(self.w, self.groups.first, self.active, 0.0, lam2)

    def correlate(self, chosen: NDArray) -> None:
        """Compute ``norms`` of the groups ``chosen``."""
        kernels.group_norms(self.XT, self.residual, self.groups.first, chosen, self.norms)

    def correlate_all(self, chosen: NDArray, lam2: NDArray) -> None:
        """Compute ``norms`` of the groups ``chosen``; of others, norms, or upper bounds below the dual norm.

        The bounds are those in single precision, which take half of the time, plus their largest rounding error.
        """
        rounding, size = (len(self.row) + 5) * UNIT_ROUNDING, float(np.sqrt(self.residual @ self.residual))
        if self.unit is None and rounding <= MAX_ROUNDING:
            self.unit = np.empty(self.XT.shape, dtype=np.float32)
            kernels.unit_columns(self.XT, self.unit, self.lengths)
        if self.unit is None or not 0.0 < size * self.lengths.max() < np.inf:
            self.correlate(self.all)
            return
        direction = (self.residual / size).astype(np.float32)
        kernels.bound_group_norms(self.unit, self.lengths, direction, size, self.groups.first, rounding, self.norms)
        self.correlate(chosen)
        shares = self.norms / lam2
        doubtful = shares > shares[chosen].max(initial=0.0)
        doubtful[chosen] = False
        self.correlate(np.flatnonzero(doubtful))

    def gap(self, lam2: NDArray, chosen: NDArray) -> float:
        """Return the duality gap over the groups ``chosen``, from their ``norms``."""
        norm = float((self.norms[chosen] / lam2[chosen]).max())
        return max(self.objective(lam2) - self.loss.dual(self.eta, self.residual, norm), 0.0)

    def solve(self, lam: float, target: float, *, max_sets: int, max_steps: int | None = None) -> tuple[float, int]:
        """Minimise the loss plus lam sum_g v_g |w_g|_2 to a gap of ``target``; return the gap and the working sets."""
        lam2, n_sets, self.n_steps = lam * self.groups.weights, 0, 0
        if not self.correlated:
            self.correlate(self.all)
        last_w, last_b, self.w, self.correlated = self.w, self.b, self.w.copy(), True
        gap = self.gap(lam2, self.all)
        while gap > target and n_sets < max_sets and (max_steps is None or self.n_steps < max_steps):
            chosen, complete = self.working_set(lam2)
            if n_sets == 0:
                self.extrapolate(lam, lam2)
            enough = (0.8 if len(chosen) < len(self.all) else 1.0) * target
            enough = enough if complete else max(0.1 * gap, enough)
            slow = not self.minimise(lam2, chosen, gap, enough, max_steps)
            if slow and (max_steps is None or self.n_steps < max_steps):
                self.rescue(self, lam, chosen, gap, enough)
                self.n_steps += 1
            self.move_to(self.w, self.b)  # without the rounding errors of the descent
            self.correlate_all(chosen, lam2)
            gap, n_sets = self.gap(lam2, self.all), n_sets + 1
        self.before, self.lam = (self.lam, last_w, last_b), lam
        return gap, n_sets

    def working_set(self, lam2: NDArray) -> tuple[NDArray[np.int64], bool]:
        """Return the nonzero groups and those that the strong rule keeps, in increasing order of their number.

        The rule assumes that a norm changes by no more than lambda does. Lambda was the largest norm. Of the
        groups that it keeps, those with the largest norms are returned, at most two for each nonzero group; return also
        whether these are all.
        """
        shares, size = self.norms / lam2, min(max(10, 2 * len(self.active)), len(lam2) - len(self.active))
        threshold = 2.0 - float(shares.max())
        shares[self.active] = -np.inf
        others = np.argpartition(-shares, size - 1)[:size] if size else self.active[:0]
        kept = others[shares[others] >= threshold]
        return np.sort(np.concatenate([self.active, kept])), np.count_nonzero(shares >= threshold) == len(kept)

    def extrapolate(self, lam: float, lam2: NDArray) -> None:
        """Go on along the line through the last two solutions, if the objective is lower there."""
        last, last_w, last_b = self.before
        share = (lam - self.lam) / (self.lam - last) if last != self.lam else 0.0
        if not 0.0 < share <= 2.0:
            return
        w, b, objective = self.w, self.b, self.objective(lam2)
        ahead = np.zeros(len(w))
        kernels.add_scaled(w, last_w, share, self.groups.first, self.active, ahead)
        self.move_to(ahead, b + share * (b - last_b))
        if not self.objective(lam2) < objective:
            self.move_to(w, b)

    def minimise(self, lam2: NDArray, chosen: NDArray, gap: float, target: float, max_steps: int | None) -> bool:
        """Minimise over the groups ``chosen`` until their gap is at most ``target``; return False if that is slow.

        The decrease of an epoch is about proportional to the square of the gap, by a factor that is learnt.
        """
        cost, spent = 4.0 * len(self.row) * float(self.sizes[chosen].mean()), 0.0
        for n in range(MAX_STEPS):
            aim = max(0.05 * gap, 0.7 * target) if self.loss.has_intercept else 0.7 * target
            factor = self.decrease_per_squared_gap
            decrease, visits = self.step(lam2, chosen, factor * aim**2 if factor else 0.01 * max(0.1 * gap, target))
            self.n_steps, spent = self.n_steps + 1, spent + cost * visits
            self.correlate(chosen)
            gap = self.gap(lam2, chosen)
            if gap <= target or self.n_steps == max_steps:
                return True
            self.decrease_per_squared_gap = decrease / gap**2
            size = int(self.sizes[self.active].sum())
            if n + 1 >= MIN_STEPS and spent > DESCENT_BUDGET * size * min(size, len(self.row)) * (len(self.row) + size):
                return False
        return False

    def step(self, lam2: NDArray, chosen: NDArray, enough: float) -> tuple[float, int]:
        """Take a proximal Newton step on ``chosen``, with a line search; return what ``descend_groups`` does."""
        loss, inflation, before, last_w = self.loss, self.prepare(chosen), self.objective(lam2), self.w.copy()
        r, buffers = self.residual.copy(), (self.buffers, self.row)
        problem = (self.blocks, chosen, lam2, loss.curvature, loss.has_intercept, inflation)
        change_b, decrease, visits = kernels.descend_groups(*problem, self.w, r, *buffers, enough, EPOCHS_PER_STEP)
        self.find_active(chosen)
        ahead, eta, b, new = (self.residual - r) / loss.curvature, self.eta, self.b, self.w
        if not loss.has_intercept:
            self.eta = eta + ahead
            self.value = loss.value(self.eta, self.residual)
            return decrease, visits
        slope = self.objective(lam2) - before - float(self.residual @ ahead)
        for length in 0.5 ** np.arange(MAX_HALVINGS):
            if length < 1.0:
                self.w = last_w + length * (new - last_w)
                self.find_active(chosen)
            self.eta, self.b = eta + length * ahead, b + length * change_b
            self.value = loss.value(self.eta, self.residual)
            if self.objective(lam2) <= before + 1e-4 * length * slope + 1e-13 * abs(before):
                break
        else:
            self.move_to(last_w, b)
        change = loss.intercept_change(self.eta)
        self.eta, self.b = self.eta + change, self.b + change
        self.value = loss.value(self.eta, self.residual)
        return decrease, visits

    def prepare(self, chosen: NDArray) -> float:
        """Compute eigenvectors of the groups ``chosen`` that lack them; return the factor of their Gram matrices."""
        curvature, inflation = self.loss.curvature, 1.0
        if self.loss.has_intercept:
            inflation = max(float((curvature / self.reference).max()), 1.0)
            if inflation > MAX_INFLATION or curvature.sum() < MIN_SHARE * self.reference.sum():
                self.reference, inflation = np.maximum(curvature, MIN_REFERENCE * curvature.mean()), 1.0
                self.prepared[:] = False
        missing, blocks = chosen[~self.prepared[chosen]], self.blocks
        sizes = self.sizes[missing]
        for m in np.unique(sizes):
            same = missing[sizes == m]
            grams = np.empty((len(same), m, m))
            kernels.weighted_grams(
                self.XT, self.groups.first, same, self.reference, self.loss.has_intercept, grams, self.row
            )
            values, vectors = np.linalg.eigh(grams)
            blocks.values[self.groups.first[same][:, None] + np.arange(m)] = np.maximum(values, 0.0)
            blocks.vectors[blocks.vectors_first[same][:, None] + np.arange(m * m)] = vectors.reshape(-1, m * m)
        self.prepared[missing] = True
        return inflation
