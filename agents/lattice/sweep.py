"""Policy improvement and evaluation in one backward sweep over the lattice.

The process has no cycles: when a subset is processed, all larger ones have their final values. One sweep from the
largest subsets to the empty one therefore gives the same result as rolling out each training row from each subset to
the end of its episode.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.lattice import constants as const
from agents.lattice.nodes import Lattice, Node, Subset
from agents.lattice.state_features import state_features
from fsgym.rules import Rules

STOP, ALWAYS, ADAPTIVE = 0, 1, 2  # modes of a choice


class Choice(NamedTuple):
    """The decision rule at a subset, and its consequences for the training rows.

    Attributes
    ----------
    mode : int
        STOP answers, ALWAYS goes to the first child, ADAPTIVE goes to the child with the lowest predicted advantage if
        that is below 0, otherwise it answers.
    children : list of (acquisition, subset, ``lam`` times price)
    next_child : int8 (n_samples,), place of the child to which each row goes, -1 if it answers
    value : float64 (n_samples,), loss from here to the end of the episode
    advantage : float32 (n_samples, n_children) or None
        Loss of going to each child less the cost of answering here: negative where going on is better.
    predicted : float32 (n_samples, n_children) or None
        Out-of-fold predictions of ``advantage``, also for children that a row cannot obtain.
    """

    mode: int
    children: list[tuple[int, Subset, float]]
    next_child: NDArray[np.int8]
    value: NDArray[np.float64]
    advantage: NDArray[np.float32] | None
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
        obtainable = np.stack([self.lattice.obtainable[:, j] for j, _, _ in candidates], axis=1)
        returns = np.stack([price + self.choices[q.subset].value for _, q, price in candidates], axis=1)
        if answer_cost is not None:
            returns = np.where(obtainable, returns, np.broadcast_to(answer_cost, n)[:, None])
        order = np.argsort(weight @ returns, kind="stable")[: const.MAX_CHILDREN]
        children = [(candidates[k][0], candidates[k][1].subset, candidates[k][2]) for k in order]
        returns, obtainable = returns[:, order], obtainable[:, order]
        go_on = Choice(ALWAYS, children[:1], np.where(obtainable[:, 0], 0, -1).astype(np.int8), returns[:, 0], None)
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
        of_all = features.cross_predict(advantage, regression_weight, obtainable)
        predicted = np.where(obtainable, of_all, np.inf)
        best, lowest_loss = fixed, min(loss_of_stopping, loss_of_going_on)
        for m in sorted({len(children), 1}, reverse=True):
            next_child = predicted[:, :m].argmin(axis=1)
            next_child = np.where(predicted[np.arange(n), next_child] < 0, next_child, -1)
            value = np.where(next_child >= 0, returns[np.arange(n), next_child], answer_cost)
            loss = weight @ value + self.kappa * weighted_standard_error(value - fixed.value, weight)
            loss += first_kappa * weighted_standard_error(value - answer_cost, weight)
            if loss < lowest_loss - const.TIE_TOLERANCE:
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
        arrivals = {z: np.zeros(len(self.lattice.data.y), bool) for z in self.lattice.nodes}
        arrivals[()][:] = True
        for z in sorted(self.lattice.nodes, key=len):
            choice = self.choices[z]
            for k, (_, q, _) in enumerate(choice.children):
                arrivals[q] |= arrivals[z] & (choice.next_child == k)
        return arrivals

    @property
    def loss(self) -> float:
        """Weighted mean loss of the training rows. It is optimistic: the subsets were selected on it."""
        return self.lattice.data.mean(self.choices[()].value)

    def row_losses(self, rules: Rules) -> NDArray[np.float64]:
        """Realised loss of each training row by these rules, out of fold, float64 (n_samples,)."""
        lattice = self.lattice
        losses, root = np.zeros(len(lattice.data.y)), lattice.nodes[()].cross_fit
        for z, choice in self.choices.items():
            ends = self.arrivals[z] & (choice.next_child < 0)
            proba = (lattice.nodes[z].cross_fit or root).proba[ends]  # type: ignore[union-attr]
            answer = (proba @ rules.error_costs.T).argmin(axis=1)
            losses[ends] += rules.error_costs[answer, lattice.data.y[ends]]
            for k, (_, _, price) in enumerate(choice.children):
                losses[self.arrivals[z] & (choice.next_child == k)] += price
        return losses

    def usage(self) -> dict[str, float]:
        """Weighted means over the training rows, out of fold: features used, and their cost in units of ``costs``.

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
        return {"features": lattice.data.mean(n_features), "cost": lattice.data.mean(cost)}

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
