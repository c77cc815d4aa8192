"""Policy improvement and evaluation in one backward sweep over the lattice.

The process has no cycles: when a subset is processed, all larger ones have their final values. One sweep from the
largest subsets to the empty one therefore gives the same result as rolling out each training row from each subset to
the end of its episode.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agents.lattice import constants as const
from agents.lattice.nodes import Lattice, Node, Subset
from fsgym.rules import Rules
from fsgym.rules.rules import cheapest_answers
from fsgym.support.kernels import INNER

# The features of a state on which the agent decides, beliefs and acquired values, and ridge regression on them.


EXPECTED_ERROR = 1  # the column of the expected error cost of the best answer, see ``write_belief_features``


class StateFeatures(NamedTuple):
    """The state features of all training rows at one subset, and the ridge regression of the advantages on them."""

    # (n_samples, n_columns): intercept, belief features, value features, indicators of cells
    design: NDArray[np.float64]
    penalty: NDArray[np.float64]  # (n_columns,), the ridge
    folds: list[NDArray[np.int64]]  # list of int64 arrays, the rows of each fold
    floor: float = 0.0  # the lowest error cost, which the column of the expected one leaves out: it decides nothing

    def fit(self, advantage: NDArray, weight: NDArray, available: NDArray) -> NDArray[np.float64]:
        """Coefficients from all rows, float64 (n_columns, n_children), for an expected error cost with the lowest one.

        Parameters
        ----------
        advantage : float64 (n_samples, n_children)
        weight : float64 (n_samples,)
        available : bool (n_samples, n_children)
            Rows without the values of a child have no weight in its regression.
        """
        return self._with_floor(self._solve(advantage, weight, available, [slice(None)])[0])

    def _with_floor(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        theta[0] -= self.floor * theta[EXPECTED_ERROR]
        return theta

    def cross_predict(
        self, advantage: NDArray, weight: NDArray, available: NDArray, prices: Any
    ) -> NDArray[np.float64]:
        """Out-of-fold predictions, float64 (n_samples, n_children); parameters as for ``fit``.

        The least that going to a child can cost is its price, of ``prices``, float64 (n_children,), and the lowest
        error cost. A prediction is at least that, less the expected error cost of answering here.
        """
        theta = self._solve(advantage, weight, available, self.folds)
        predicted = np.empty_like(advantage)
        for rows, coefficients in zip(self.folds, theta, strict=True):
            predicted[rows] = self.design[rows] @ coefficients
        return np.maximum(predicted, prices - self.design[:, EXPECTED_ERROR, None])

    def fit_shrunk(
        self, advantage: NDArray, weight: NDArray, available: NDArray, prices: NDArray
    ) -> NDArray[np.float64]:
        """As ``fit`` for a single child, but what going there costs is shrunk to its mean, as far as folds show.

        A regression that was not good enough to decide on few rows spreads more than what it predicts. Parameters as
        for ``cross_predict``.
        """
        theta = self._solve(advantage, weight, available, [slice(None)])[0]
        weight = weight * available[:, 0]
        if not weight.any():
            return self._with_floor(theta)
        stop_cost = self.design[:, EXPECTED_ERROR]
        cost = stop_cost + advantage[:, 0]
        predicted = stop_cost + self.cross_predict(advantage, weight, available, prices)[:, 0]
        mean, middle = np.average(cost, weights=weight), np.average(predicted, weights=weight)
        spread = weight @ (predicted - middle) ** 2
        together = weight @ ((predicted - middle) * (cost - mean))
        slope = min(max(together / spread, 0.0), 1.0) if spread > 0 else 0.0
        theta[EXPECTED_ERROR] += 1.0  # of the cost of going there
        theta *= slope
        theta[0] += (1.0 - slope) * mean
        theta[EXPECTED_ERROR] -= 1.0  # of its advantage
        return self._with_floor(theta)

    def _solve(self, advantage, weight, available, parts) -> NDArray[np.float64]:
        """Coefficients without each part of the rows, (n_parts, n_columns, n_children); of a single part, from it."""
        if available.all():
            return self._ridge(advantage, weight, parts)
        n_children = advantage.shape[1]
        each = [self._ridge(advantage[:, k : k + 1], weight * available[:, k], parts) for k in range(n_children)]
        return np.concatenate(each, axis=2)

    def _ridge(self, advantage, weight, parts) -> NDArray[np.float64]:
        root = np.sqrt(weight)[:, None]
        design, target, of_parts = self.design * root, advantage * root, []
        for rows in parts:
            part = design[rows]
            of_parts.append((part.T @ part, part.T @ target[rows]))
        grams, sides = (np.stack(part) for part in zip(*of_parts))
        if len(parts) > 1:
            grams, sides = grams.sum(axis=0) - grams, sides.sum(axis=0) - sides
        grams[:, np.arange(len(self.penalty)), np.arange(len(self.penalty))] += self.penalty
        return np.linalg.solve(grams, sides)


def n_belief_features(n_classes: int) -> int:
    """Number of columns that ``write_belief_features`` writes after the intercept."""
    return const.N_BELIEFS if n_classes == 2 else const.N_BELIEFS + n_classes


def n_value_features(n_features: int) -> int:
    """Number of columns of the acquired values: z-scores and hinges of few features, z-scores of some, none of many."""
    if n_features <= const.MAX_FEATURES_WITH_HINGES:
        return const.COLUMNS_PER_FEATURE * n_features
    return n_features if n_features <= const.MAX_FEATURES_WITH_VALUES else 0


def n_cells(n_bins: NDArray[np.int64]) -> int:
    """Number of combinations of the bins of a subset's features; 0 where they are too many, or for no features."""
    if not len(n_bins) or np.log(n_bins).sum() > np.log(
        const.MAX_CELLS + 1
    ):  # the product may be beyond the largest float
        return 0
    total = int(np.prod(n_bins))
    return total if total <= const.MAX_CELLS else 0


def state_features(lattice: Lattice, node: Node) -> StateFeatures:
    """The state features of all training rows at a node that has a classifier."""
    data, proba = lattice.data, node.cross_fit.proba  # type: ignore[union-attr]
    n_bins = data.basis.n_bins
    cells = n_cells(n_bins[node.features])
    sizes = 1 + n_belief_features(data.n_classes), n_value_features(len(node.features)), cells
    design = np.empty((len(proba), sum(sizes)))
    floor = float(lattice.rules.answer_costs.min())
    costs = lattice.rules.answer_costs - floor
    _write_state_features(data.columns(node.features), data.codes, n_bins, node.features, proba, costs, cells, design)
    penalty = np.repeat([const.BELIEF_PENALTY, const.VALUE_PENALTY, const.BELIEF_PENALTY], sizes)
    penalty[0] = const.INTERCEPT_PENALTY
    penalty[EXPECTED_ERROR] *= lattice.unit**2  # the only column in the unit of the error costs
    return StateFeatures(design, penalty, data.rows_of_folds, floor)


@njit(cache=True, nogil=True, _nrt=False)
def _write_state_features(columns, codes, n_bins, features, proba, answer_costs, cells, design):
    for row in range(len(proba)):
        place = write_belief_features(proba[row], answer_costs, design[row])
        for k in range(len(features)):
            place = write_value_features(columns[row, k], len(features), design[row], place)
        cell, stride = 0, 1
        for k in range(len(features)):
            cell += stride * codes[features[k], row]
            stride *= n_bins[features[k]]
        for k in range(cells):
            design[row, place + k] = 1.0 if k == cell else 0.0


@njit(cache=True, nogil=True, _nrt=False, inline="always")
def write_value_features(columns, n_features, out, place):
    """Write the columns of one acquired value, one of ``n_features``, from ``place`` on; return the next place."""
    if n_features > const.MAX_FEATURES_WITH_VALUES:
        return place
    for k in range(const.COLUMNS_PER_FEATURE if n_features <= const.MAX_FEATURES_WITH_HINGES else 1):
        out[place] = columns[k]
        place += 1
    return place


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, fastmath={"reassoc", "contract"}, **INNER)
def write_belief_features(proba, answer_costs, out):
    """Write the intercept and the belief features of class probabilities (n_classes,); return the next place.

    The belief features are the expected error cost of the best answer and, for two classes, half the log-odds, its
    absolute value, 4 p (1 - p), and the hinge of the absolute value at 1; for more classes, the largest probability,
    its lead over the second largest, the entropy, the second largest, and the square roots of all.
    """
    n_classes = len(proba)
    risk = np.inf
    for a in range(len(answer_costs)):
        cost = 0.0
        for k in range(n_classes):
            cost += proba[k] * answer_costs[a, k]
        risk = min(risk, cost)
    out[0], out[1] = 1.0, risk
    if n_classes == 2:
        half = 0.5 * np.log(max(proba[1], const.MIN_PROBA_OF_ODDS) / max(proba[0], const.MIN_PROBA_OF_ODDS))
        half = min(max(half, -const.MAX_ABS_COLUMN), const.MAX_ABS_COLUMN)
        out[2], out[3], out[4] = half, abs(half), 4 * proba[0] * proba[1]
        out[5] = max(abs(half) - const.CONFIDENT_LOG_ODDS, 0.0)
        return 1 + const.N_BELIEFS
    top, second, entropy = 0.0, 0.0, 0.0
    for k in range(n_classes):
        if proba[k] > top:
            top, second = proba[k], top
        elif proba[k] > second:
            second = proba[k]
        entropy -= proba[k] * np.log(max(proba[k], const.MIN_PROBA))
        out[1 + const.N_BELIEFS + k] = np.sqrt(proba[k])
    out[2], out[3], out[4], out[5] = top, top - second, entropy, second
    return 1 + const.N_BELIEFS + n_classes


STOP, ALWAYS, ADAPTIVE = 0, 1, 2  # modes of a choice


class Choice(NamedTuple):
    """The decision rule at a subset, and its consequences for the training rows."""

    # STOP answers, ALWAYS goes to the first child, ADAPTIVE goes to the child with the lowest predicted advantage if
    # that is below 0, otherwise it answers
    mode: int
    children: list[tuple[int, Subset, float]]  # list of (acquisition, subset, ``lam`` times price)
    next_child: NDArray[np.int8]  # (n_samples,), place of the child to which each row goes, -1 if it answers
    value: NDArray[np.float64]  # (n_samples,), loss from here to the end of the episode
    # (n_samples, n_children) or None, loss of going to each child less the cost of answering here: negative where going
    # on is better
    advantage: NDArray[np.float32] | None
    # (n_samples, n_children) or None, out-of-fold predictions of ``advantage``, also for children that a row cannot
    # obtain
    predicted: NDArray[np.float32] | None = None


class SweepPolicy:
    """The choices of one sweep at all subsets, and the training rows that arrive at each of them.

    Parameters
    ----------
    lattice : Lattice
    previous : SweepPolicy, optional
        The rows that arrive at a subset under the previous policy weigh most in the choice there; by default all rows.
        Where nothing has changed on which a choice depends, it is that of the previous policy.
    kappa : float
        An adaptive choice replaces a fixed one only if it is better by more than this many standard errors.

    Attributes
    ----------
    choices : dict subset -> Choice
    arrivals : dict subset -> bool (n_samples,)
    """

    def __init__(
        self,
        lattice: Lattice,
        previous: SweepPolicy | None,
        kappa: float = const.DEFAULT_KAPPA,
    ) -> None:
        self.lattice, self.kappa = lattice, kappa
        all_rows = np.ones(len(lattice.data.y), bool)
        self.choices: dict[Subset, Choice] = {}
        self._depends: dict[Subset, tuple[Node, NDArray[np.bool_], list[tuple[int, Choice]]]] = {}
        for z in sorted(lattice.nodes, key=lambda q: (-len(q), q)):
            node, candidates = lattice.nodes[z], lattice.children(z)
            arrived = all_rows if previous is None else previous.arrivals.get(z, ~all_rows)
            self._depends[z] = node, arrived, [(j, self.choices[q.subset]) for j, q, _ in candidates]
            if previous is not None and _same(previous._depends.get(z), self._depends[z]):
                self.choices[z] = previous.choices[z]
            else:
                self.choices[z] = self._choose(node, arrived, candidates)
        self.arrivals = self._simulate()

    def _choose(self, node: Node, arrived: NDArray[np.bool_], candidates: list[tuple[int, Node, float]]) -> Choice:
        """The mode and children of lowest weighted loss, where adaptive modes have ``kappa`` standard errors more.

        At the empty subset, going on must pay by a standard error: it was chosen among the most subsets.
        """
        n, answer_cost = len(arrived), node.answer_cost
        weight = self.lattice.data.weighted(np.where(arrived, const.ARRIVED_WEIGHT, const.ABSENT_WEIGHT))
        if not candidates:
            return Choice(STOP, [], np.full(n, -1, np.int8), answer_cost, None)  # type: ignore[arg-type]
        available = np.stack([self.lattice.available[:, j] for j, _, _ in candidates], axis=1)
        returns = np.stack([price + self.choices[q.subset].value for _, q, price in candidates], axis=1)
        if answer_cost is not None:
            returns = np.where(available, returns, np.broadcast_to(answer_cost, n)[:, None])
        order = np.argsort(weight @ returns, kind="stable")[: const.MAX_CHILDREN]
        children = [(candidates[k][0], candidates[k][1].subset, candidates[k][2]) for k in order]
        returns, available = returns[:, order], available[:, order]
        go_on = Choice(ALWAYS, children[:1], np.where(available[:, 0], 0, -1).astype(np.int8), returns[:, 0], None)
        if answer_cost is None:
            return go_on
        loss_of_stopping, loss_of_going_on = weight @ answer_cost, weight @ returns[:, 0]
        first_kappa = 0.0 if node.subset else const.FIRST_KAPPA
        loss_of_going_on += first_kappa * weighted_standard_error(returns[:, 0] - answer_cost, weight)
        fixed = Choice(STOP, [], np.full(n, -1, np.int8), answer_cost, None)
        if loss_of_going_on < loss_of_stopping:
            fixed = go_on
        advantage = returns - answer_cost[:, None]
        features = state_features(self.lattice, node)
        regression_weight = self.lattice.data.weighted(arrived + const.REGRESSION_BASE_WEIGHT)
        prices = np.array([price for _, _, price in children])
        of_all = features.cross_predict(advantage, regression_weight, available, prices)
        predicted = np.where(available, of_all, np.inf)
        best, lowest_loss = fixed, min(loss_of_stopping, loss_of_going_on)
        for m in sorted({len(children), 1}, reverse=True):
            next_child = predicted[:, :m].argmin(axis=1)
            next_child = np.where(predicted[np.arange(n), next_child] < 0, next_child, -1)
            value = np.where(next_child >= 0, returns[np.arange(n), next_child], answer_cost)
            loss = weight @ value + self.kappa * weighted_standard_error(value - fixed.value, weight)
            loss += first_kappa * weighted_standard_error(value - answer_cost, weight)
            if loss < lowest_loss - const.TIE_TOLERANCE * self.lattice.unit:
                predictions = advantage[:, :m].astype(np.float32), of_all[:, :m].astype(np.float32)
                best = Choice(ADAPTIVE, children[:m], next_child.astype(np.int8), value, *predictions)
                lowest_loss = loss
        return best

    def choose_at_new_subsets(self) -> None:
        """Make the choices at subsets that were added after the sweep; no row arrives there."""
        absent = np.zeros(len(self.lattice.data.y), bool)
        for z in sorted(self.lattice.nodes.keys() - self.choices.keys(), key=lambda q: (-len(q), q)):
            self.choices[z] = self._choose(self.lattice.nodes[z], absent, self.lattice.children(z))
            self.arrivals[z] = absent

    def adopt(self, other: SweepPolicy) -> None:
        """Take over the subsets and choices of another policy where no row of this one can arrive."""
        reachable = set(self.reachable())
        for z, choice in other.choices.items():
            if z not in reachable:
                node = self.lattice.nodes.get(z)
                if node is None or node.cross_fit is None:
                    self.lattice.nodes[z] = other.lattice.nodes[z]
                self.choices[z], self.arrivals[z] = choice, other.arrivals[z]

    def _simulate(self) -> dict[Subset, NDArray[np.bool_]]:
        """The rows that arrive at each subset when all follow the choices from the empty subset on."""
        steps = {z: (choice.children, choice.next_child) for z, choice in self.choices.items()}
        return arrivals_of(self.lattice.nodes, steps, len(self.lattice.data.y))

    @property
    def loss(self) -> float:
        """Weighted mean loss of the training rows. It is optimistic: the subsets were selected on it."""
        return self.lattice.data.mean(self.choices[()].value) + self.lattice.unavoidable

    def row_losses(self) -> NDArray[np.float64]:
        """Realised loss of each training row, out of fold, float64 (n_samples,)."""
        lattice, rules = self.lattice, self.lattice.rules
        losses, root = np.zeros(len(lattice.data.y)), lattice.nodes[()].cross_fit
        for z, choice in self.choices.items():
            ends = self.arrivals[z] & (choice.next_child < 0)
            proba = (lattice.nodes[z].cross_fit or root).proba[ends]  # type: ignore[union-attr]
            answer = cheapest_answers(proba, rules.answer_costs)
            losses[ends] += rules.answer_costs[answer, lattice.data.y[ends]]
            for k, (_, _, price) in enumerate(choice.children):
                losses[self.arrivals[z] & (choice.next_child == k)] += price
        return losses

    def usage(self) -> dict[str, float]:
        """The weighted means of ``row_usage``."""
        return {name: self.lattice.data.mean(of_rows) for name, of_rows in self.row_usage().items()}

    def row_usage(self) -> dict[str, NDArray[np.float64]]:
        """The features that each training row uses, out of fold, and their cost in units of ``costs``.

        The features of one column count once.
        """
        lattice = self.lattice
        n_features, cost = np.zeros(len(lattice.data.y)), np.zeros(len(lattice.data.y))
        for z, choice in self.choices.items():
            ends = self.arrivals[z] & (choice.next_child < 0)
            columns = lattice.data.one_per_column(lattice.nodes[z].features)
            n_features[ends] = (~np.isnan(lattice.data.X[np.ix_(ends, columns)])).sum(axis=1)
            for k, (j, _, _) in enumerate(choice.children):
                cost[self.arrivals[z] & (choice.next_child == k)] += lattice.moves.price(z, j)
        return {"features": n_features, "cost": cost}

    def possible_saving(self, node: Node) -> NDArray[np.float64]:
        """An upper estimate of what further children of a node could save, float64 (n_samples,), 0 for absent rows.

        It is multiplied by the weights of the rows.
        """
        z = node.subset
        choice, (legal, prices) = self.choices[z], self.lattice.moves.at(z)
        if not legal.any():
            return np.zeros(len(choice.value))
        price = prices[legal].min()
        saving = np.where(
            choice.next_child < 0,
            node.answer_cost - price,  # type: ignore[operator]
            const.GO_ON_SHARE * (choice.value - price),
        )
        return self.lattice.data.weighted(np.maximum(saving, 0.0) * self.arrivals[z])

    def reachable(self) -> list[Subset]:
        """The subsets that the policy can reach from the empty one, smallest first."""
        reached: set[Subset] = {()}
        queue: list[Subset] = [()]
        while queue:
            new = [q for _, q, _ in self.choices[queue.pop()].children if q not in reached]
            reached.update(new)
            queue += new
        return sorted(reached, key=lambda q: (len(q), q))


def arrivals_of(
    nodes: Mapping[Subset, Node],
    steps: Mapping[Subset, tuple[list[tuple[int, Subset, float]], NDArray[np.integer]]],
    n_rows: int,
) -> dict[Subset, NDArray[np.bool_]]:
    """The rows, bool (n_rows,), that arrive at each subset from the empty one on.

    ``steps`` has for each subset its children, and the place among them where each row goes, -1 to answer.
    """
    arrivals = {z: np.zeros(n_rows, bool) for z in nodes}
    arrivals[()][:] = True
    for z in sorted(nodes, key=len):
        children, place = steps[z]
        for k, (_, q, _) in enumerate(children):
            arrivals[q] |= arrivals[z] & (place == k)
    return arrivals


def _same(before: Any, now: Any) -> bool:
    """Whether a choice depends on the same node, rows, and choices at the subsets beyond."""
    if before is None or before[0] is not now[0] or len(before[2]) != len(now[2]):
        return False
    beyond = all(j == k and choice is other for (j, choice), (k, other) in zip(before[2], now[2]))
    return beyond and np.array_equal(before[1], now[1])


def weighted_standard_error(difference: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    """Standard error of the weighted sum of ``difference``."""
    total = weight.sum()
    mean = weight @ difference / total
    variance = weight @ (difference - mean) ** 2 / total
    return float(np.sqrt(variance * (weight * weight).sum()))


def standard_error(losses: NDArray[np.float64], weight: NDArray[np.float64] | None, rules: Rules) -> float:
    """Standard error of the weighted mean of losses, or of paired differences of losses, (n,).

    It is that of the rows and one more, on which there is an error or only one of two policies errs: policies that err
    on the same rows differ by their prices alone, and these hardly vary.
    """
    share = np.full(len(losses), 1 / len(losses)) if weight is None else weight / weight.sum()
    of_rows = (share**2) @ (losses - share @ losses) ** 2
    error_cost = np.abs(rules.error_costs - np.diag(rules.error_costs)).max()
    return float(np.sqrt(of_rows + (error_cost * (share @ share)) ** 2))
