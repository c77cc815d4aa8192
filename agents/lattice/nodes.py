"""The lattice: the subsets chosen so far, the legal moves between them, and the error cost of answering at each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agents.lattice import constants as const
from agents.lattice.subset_classifier import CrossFit, cross_fit
from agents.lattice.training_data import TrainingData, limits_of
from agents.policy import error_unit
from fsgym.rules import Rules
from fsgym.rules.rules import regrets, unavoidable

# Which acquisitions are legal at a subset, their prices, and the cheapest way to a given acquisition.

Subset = tuple[int, ...]  # acquisitions, ascending


class Moves:
    """Legal acquisitions at subsets and their prices, as the rules define them.

    Where prices depend on the order of acquisition, a subset counts as acquired in the greedily cheapest order, as in
    ``Rules.legal_and_prices``. The acquisitions of ``base`` are made before those of any subset, and those
    in ``forbidden`` by no row.
    """

    def __init__(self, rules: Rules, base: Subset = (), forbidden: Subset = ()) -> None:
        self.rules, self.base = rules, base
        self.allowed = np.ones(rules.n_acquisitions, bool)
        self.allowed[list(forbidden)] = False
        self._cache: dict[Subset, tuple[NDArray[np.bool_], NDArray[np.float64]]] = {}

    @property
    def direct(self) -> bool:
        """Whether the cheapest way to each legal acquisition is that acquisition alone."""
        return self.rules.related is None and self.rules.prerequisites is None

    def at(self, z: Subset) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Which acquisitions are legal, bool (J,), and ``lam`` times their prices, float64 (J,)."""
        if z not in self._cache:
            taken = np.zeros((1, self.rules.n_acquisitions), bool)
            taken[0, [*self.base, *z]] = True
            legal, prices = self.rules.legal_and_prices(taken)
            self._cache[z] = legal[0, : self.rules.n_acquisitions] & self.allowed, prices[0]
        legal, prices = self._cache[z]
        return legal, self.rules.lam * prices

    def price(self, z: Subset, j: int) -> float:
        """The price of acquisition j at z, in the unit of ``costs``."""
        self.at(z)
        return float(self._cache[z][1][j])

    def path(self, z: Subset, j: int) -> tuple[Subset, float] | None:
        """The cheapest way from z to acquisition j: the acquisitions in order and ``lam`` times their price.

        Missing prerequisites come first. With relational prices, a way over one related acquisition may be cheaper
        than the direct one. None if there is no way.
        """
        direct = self._path_through(z, (), j)
        related = self.rules.related
        if related is None:
            return direct
        near = np.flatnonzero(related[[*self.rules.prerequisites_of(j, {*z, *self.base}), j]].any(axis=0)).tolist()
        paths = [direct, *(self._path_through(z, (k,), j) for k in near if k != j and k not in z)]
        return min((p for p in paths if p is not None), key=lambda p: p[1], default=None)

    def _path_through(self, z: Subset, first: Subset, j: int) -> tuple[Subset, float] | None:
        """The way from z to j that begins with the acquisitions ``first``; None if one of them is illegal."""
        steps: list[int] = []
        price = 0.0
        for k in [*first, *self.rules.prerequisites_of(j, {*z, *first, *self.base}), j]:
            here = extended(z, steps)
            legal, prices = self.at(here)
            if not legal[k]:
                return None
            steps.append(k)
            price += prices[k]
        return tuple(steps), float(price)


def extended(z: Subset, more: list[int] | Subset) -> Subset:
    """The union of a subset and further acquisitions, in any order."""
    return tuple(sorted({*z, *more}))


@dataclass(eq=False)
class Node:
    """A subset of the acquisitions. Without a classifier it is only passed through on the way to a larger one."""

    subset: Subset  # acquisitions in ascending order
    features: NDArray[np.int64]  # the features that they reveal
    cross_fit: CrossFit | None = None  # None without a classifier
    # (n_samples,), or None without a classifier, regret of answering here, a weighted mean of the expected and the
    # realised one, see ``fsgym.rules.rules.regrets``
    answer_cost: NDArray[np.float64] | None = None


class Lattice:
    """Subsets with cross-fitted classifiers. The classifiers depend neither on ``lam`` nor on error costs.

    Parameters
    ----------
    data : TrainingData
    rules : Rules
    beta : float, weight of the expected error cost in ``Node.answer_cost``; the realised one has ``1 - beta``
    run : TaskRunner, fits classifiers, possibly in threads
    classifiers : dict subset -> CrossFit, optional
        Classifiers that are already cross-fitted; new ones are added to it.
    base : tuple of int
        Acquisitions that each row makes first. Subsets are without them, their classifiers use their features.
    forbidden : tuple of int, acquisitions that no subset has
    effort : float, factor of the limits

    Attributes
    ----------
    nodes : dict subset -> Node
    limits : LatticeLimits
    refused_by : list of str
        The limit that each refused subset would have exceeded, "subsets" or "operations", in their order.
    cut_chain : bool, whether a limit ended the forward selection while its loss was still falling
    unit : float, in which costs are added to numbers without one, see ``agents.policy.error_unit``
    unavoidable : float, mean cost of the best answer to each row, which ``answer_cost`` and all values are without
    """

    def __init__(
        self,
        data: TrainingData,
        rules: Rules,
        beta: float,
        run: Callable,
        classifiers: dict[Subset, CrossFit] | None = None,
        base: Subset = (),
        forbidden: Subset = (),
        effort: float = 1.0,
    ) -> None:
        self.data, self.rules, self.beta, self.run, self.base = data, rules, beta, run, base
        self.unit, self.regrets = error_unit(rules), regrets(rules.answer_costs)
        self.unavoidable = data.mean(unavoidable(rules.answer_costs, data.y))
        self.moves = Moves(rules, base, forbidden)
        self.classifiers = {} if classifiers is None else classifiers
        self.nodes: dict[Subset, Node] = {}
        self.spent_operations = 0
        self.effort, self.limits = effort, limits_of(len(data.y), effort)
        self.refused_by: list[str] = []
        self.cut_chain = False
        self._by_size: dict[Subset, int] = {}
        missing = np.isnan(data.X)
        self.available = ~np.stack([missing[:, list(g)].all(axis=1) for g in rules.groups], axis=1)
        self.all_available = bool(self.available.all())
        self.complete_rows = ~missing.any(axis=1)
        self.full_model_proba = self._fit_full_model() if beta > 0 else None
        self.add_subsets([()])

    def branch(self) -> Lattice:
        """A lattice with the same subsets, to which others can be added; it shares their classifiers."""
        other = copy(self)
        other.nodes, other.refused_by, other._by_size = dict(self.nodes), list(self.refused_by), {}
        return other

    def chain_weight(self, node: Node) -> NDArray[np.float64]:
        """Weights of the rows for the ranking of a forward selection after a node, float64 (n_samples,)."""
        return const.CHAIN_BASE_WEIGHT + const.CHAIN_COST_WEIGHT * (node.answer_cost / self.unit)  # type: ignore[operator]

    def _fit_full_model(self) -> NDArray[np.float32] | None:
        """Out-of-fold probabilities given all features, or None if this classifier would be too expensive."""
        full = tuple(range(self.rules.n_acquisitions))
        cost = self.operations(full)
        if cost > self.limits.n_operations // const.FULL_MODEL_DIVISOR:
            return None
        self.spent_operations += cost
        if full not in self.classifiers:
            self.classifiers[full] = cross_fit(self.data, self.features(full))
        return self.classifiers[full].proba

    def operations(self, z: Subset) -> int:
        """The cost of a subset with its cross-fitted classifier, in about nanoseconds."""
        return self.data.operations(self.features(z))

    def features(self, z: Subset) -> NDArray[np.int64]:
        """The features that a subset of the acquisitions reveals after the base, int64, ascending."""
        return np.array(sorted(i for j in extended(z, self.base) for i in self.rules.groups[j]), dtype=np.int64)

    def add_subsets(self, subsets: Iterable[Subset], share: float = 1.0) -> list[Node]:
        """Fit classifiers at subsets as long as ``share`` of the limit on operations lasts; return the new nodes."""
        accepted = []
        for z in dict.fromkeys(subsets):
            if z in self.nodes and self.nodes[z].cross_fit is not None:
                continue
            cost = self.operations(z)
            if self.nodes and self.spent_operations + cost > share * self.limits.n_operations:
                self.refused_by.append("operations")
                break
            if sum(v.cross_fit is not None for v in self.nodes.values()) + len(accepted) >= self.limits.n_subsets:
                self.refused_by.append("subsets")
                break
            self.spent_operations += cost
            accepted.append(z)
        self._fit(accepted)
        for z in accepted:
            fitted = self.classifiers[extended(z, self.base)]
            self.nodes[z] = Node(z, self.features(z), fitted, self._answer_costs(fitted.proba))
        return [self.nodes[z] for z in accepted]

    def fit_ahead(self, subsets: Iterable[Subset]) -> None:
        """Fit classifiers that are about to be added, in one batch of parallel tasks, as far as the limits allow."""
        n_subsets = sum(v.cross_fit is not None for v in self.nodes.values())
        spent, wanted = self.spent_operations, []
        for z in dict.fromkeys(subsets):
            if z in self.nodes and self.nodes[z].cross_fit is not None:
                continue
            spent += self.operations(z)
            if spent > self.limits.n_operations or n_subsets + len(wanted) >= self.limits.n_subsets:
                break
            wanted.append(z)
        self._fit(wanted)

    def _fit(self, subsets: list[Subset]) -> None:
        new = [z for z in subsets if extended(z, self.base) not in self.classifiers]
        new.sort(key=lambda z: -self.operations(z))  # the longest first, so that no worker is left with it at the end
        for z, fitted in zip(new, self.run(cross_fit, [(self.data, self.features(z)) for z in new])):
            self.classifiers[extended(z, self.base)] = fitted

    def ends(self, z: Subset, acquisitions: Iterable[int]) -> list[Subset]:
        """The subsets that the ways from z to the acquisitions lead to."""
        paths = (self.moves.path(z, j) for j in acquisitions)
        return [extended(z, path[0]) for path in paths if path is not None]

    def add_acquisitions(self, z: Subset, acquisitions: Iterable[int], share: float = 1.0) -> list[Node]:
        """Fit classifiers at z + j for each acquisition j, and add the subsets passed through on the way to it."""
        paths = {extended(z, path[0]): path[0] for j in acquisitions if (path := self.moves.path(z, j)) is not None}
        added = self.add_subsets(paths, share)
        for node in added:
            self._add_between(z, paths[node.subset])
        return added

    def _add_between(self, z: Subset, steps: Subset) -> None:
        """Add the subsets on the way from z along ``steps``.

        If values are missing, they get classifiers, since rows that cannot obtain the next value answer there.
        """
        between = [extended(z, steps[:k]) for k in range(1, len(steps))]
        if not self.all_available:
            self.add_subsets(between)
        for q in between:
            self.nodes.setdefault(q, Node(q, self.features(q)))

    def add_sequence(self, sequence: Iterable[int]) -> None:
        """Fit classifiers at all subsets along a sequence of acquisitions, up to the first that is illegal."""
        z: Subset = ()
        for j in sequence:
            if j in z or j in self.base:
                continue
            path = self.moves.path(z, j)
            if path is None:
                return
            self.add_acquisitions(z, [j])
            z = extended(z, path[0])
            if z not in self.nodes:
                return

    def add_union(self, z: Subset, sequence: Iterable[int], share: float = 1.0) -> Node | None:
        """Fit a classifier at z with all acquisitions of ``sequence`` up to the first illegal one, and none between."""
        steps: list[int] = []
        for j in sequence:
            if j in z or j in steps or j in self.base:
                continue
            path = self.moves.path(extended(z, steps), j)
            if path is None:
                break
            steps += path[0]
        q = extended(z, steps)
        if not steps:
            return None
        self.add_subsets([q], share)
        if q not in self.nodes:
            return None
        self._add_between(z, tuple(steps))
        return self.nodes[q]

    def acquisition_order(self, z: Subset) -> Subset | None:
        """The greedily cheapest legal order in which a subset can be acquired; None if that order gets stuck."""
        order: list[int] = []
        while len(order) < len(z):
            legal, prices = self.moves.at(extended((), order))
            candidates = [j for j in z if j not in order and legal[j]]
            if not candidates:
                return None
            order.append(min(candidates, key=lambda j: (prices[j], j)))
        return tuple(order)

    def weighted_price(self, z: Subset) -> float:
        """``lam`` times the price of a subset with the base, which costs nothing."""
        taken = np.zeros((1, self.rules.n_acquisitions), bool)
        taken[0, [*self.base, *z]] = True
        return float(self.rules.lam * self.rules.price_sets(taken)[0][0])

    def children(self, z: Subset) -> list[tuple[int, Node, float]]:
        """The nodes one legal acquisition away from z: (acquisition, node, ``lam`` times its price)."""
        legal, prices = self.moves.at(z)
        if len(self._by_size) != len(self.nodes):
            self._by_size = {q: len(q) for q in self.nodes}
        taken = set(z)
        larger = [q for q, size in self._by_size.items() if size == len(z) + 1 and taken.issubset(q)]
        reached = sorted((next(iter(set(q) - taken)), q) for q in larger)
        return [(j, self.nodes[q], float(prices[j])) for j, q in reached if legal[j]]

    def _answer_costs(self, proba: NDArray[np.float32]) -> NDArray[np.float64]:
        """Regret of answering by ``proba``, float64 (n_samples,): ``beta`` expected + ``(1 - beta)`` realised.

        The search picks the subsets with the lowest costs among hundreds. To avoid picking overconfident ones, the
        expected cost is blended with the full-feature classifier's expectation for the same answers.
        """
        costs, rows = self.regrets, np.arange(len(proba))
        expected = proba @ costs.T
        answer = expected.argmin(axis=1)
        expected_cost = expected[rows, answer]
        if self.full_model_proba is not None:
            full_model_cost = (self.full_model_proba @ costs.T)[rows, answer]
            expected_cost += const.FULL_MODEL_WEIGHT * self.complete_rows * (full_model_cost - expected_cost)
        return (1 - self.beta) * costs[answer, self.data.y] + self.beta * expected_cost
