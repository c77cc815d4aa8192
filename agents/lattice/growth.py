"""Which subsets the lattice contains: initial ones, then more where the policy loses most.

The initial subsets are single acquisitions, interactions, a forward selection, contexts with what to acquire after
them, and the paths of a decision tree.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agents.lattice import constants as const
from agents.lattice.nodes import Lattice, Node, Subset, extended
from agents.lattice.sweep import SweepPolicy
from agents.lattice.training_data import TrainingData
from fsgym.rules import Rules

# Which acquisitions would help at a subset, assessed without fitting a classifier: score tests (Rao, 1948).


def score_statistics(
    data: TrainingData, rules: Rules, proba: NDArray[np.floating], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The score statistic of each acquisition, float64 (J,): the largest one of its columns.

    The statistic of a column estimates, from one gradient step, how much the weighted log-likelihood would rise if the
    column were added to a logistic model that predicts ``proba``.

    Parameters
    ----------
    data : TrainingData
    rules : Rules
    proba : float64 (n_samples, n_classes), probabilities at the subset
    weight : float64 (n_samples,), of the rows, >= 0
    """
    return _statistics_of_cells(data, rules, proba, weight, np.zeros(len(weight), np.int64), 1)[0]


def _statistics_of_cells(data, rules, proba, weight, cell, n_cells) -> NDArray[np.float64]:
    """The score statistics within each cell, int64 (n_samples,), of the rows; float64 (n_cells, J)."""
    total = np.bincount(cell, weight, minlength=n_cells)
    w = weight / np.where(total > 0, total, 1.0)[cell]
    p = proba[:, : data.n_outputs]  # of two classes, the second adds nothing
    residual, variance = (data.onehot[:, : data.n_outputs] - p) * w[:, None], p * (1 - p) * w[:, None]
    statistic = np.empty((n_cells, len(data.codes)))
    scale = data.n_classes / data.n_outputs
    terms = np.column_stack([w, residual, variance])
    least = 1.0 / np.where(total > 0, total, 1.0)
    _write_statistics(*data.fine_bins, terms, least, scale, cell, statistic)
    return np.stack([statistic[:, list(g)].max(axis=1) for g in rules.groups], axis=1)


@njit(cache=True, nogil=True)
def _write_statistics(codes, columns, terms, least, scale, cell, statistic):
    """Write the largest statistic of the columns of each feature in each cell, from sums of the terms by bin.

    ``terms`` has the weight of each row, then its residual of each output, then its variance of each output.
    """
    n_cells, n_bins, n_columns, n_terms = len(statistic), columns.shape[1], columns.shape[2], terms.shape[1]
    n_outputs = (n_terms - 1) // 2
    sums, totals = np.empty((n_cells, n_bins, n_terms)), np.zeros((n_cells, n_terms))
    for i in range(len(terms)):
        for k in range(n_terms):
            totals[cell[i], k] += terms[i, k]
    for f in range(len(codes)):
        sums[:] = 0.0
        for i in range(len(terms)):
            c, b = cell[i], np.intp(codes[f, i])
            for k in range(n_terms):
                sums[c, b, k] += terms[i, k]
        for c in range(n_cells):
            largest = 0.0
            for h in range(n_columns):
                mean, ratio = 0.0, 0.0
                for b in range(n_bins):
                    mean += sums[c, b, 0] * columns[f, b, h]
                for k in range(n_outputs):
                    score, first, second = 0.0, 0.0, 0.0
                    for b in range(n_bins):
                        x = np.float64(columns[f, b, h])
                        score += x * sums[c, b, 1 + k]
                        first += x * sums[c, b, 1 + n_outputs + k]
                        second += x * x * sums[c, b, 1 + n_outputs + k]
                    score -= mean * totals[c, 1 + k]
                    information = second - 2 * mean * first + mean * mean * totals[c, 1 + n_outputs + k]
                    ratio += score * score / (max(information, 0.0) + least[c])
                largest = max(largest, ratio * scale)
            statistic[c, f] = largest


def statistics_by_cell(
    data: TrainingData, rules: Rules, j: int, proba: NDArray[np.floating], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The score statistics within each cell of the values of acquisition j, times the cell's share of the weight.

    The cells are the distinct values, or quartiles of a single feature with many values. A group of features with many
    distinct values has no cells. float64 (n_cells, J).
    """
    codes = data.codes[list(rules.groups[j])]
    values, cell = np.unique(codes.T, axis=0, return_inverse=True)
    if len(values) > const.MAX_CONTEXT_CELLS:
        if len(codes) > 1:
            return np.empty((0, rules.n_acquisitions))
        cell = np.searchsorted(np.quantile(codes[0], const.QUARTILES), codes[0])
    cell, n_cells = cell.ravel(), int(cell.max()) + 1
    share = np.bincount(cell, weight, minlength=n_cells) / weight.sum()
    return _statistics_of_cells(data, rules, proba, weight, cell, n_cells) * share[:, None]


def context_gains(data: TrainingData, rules: Rules, proba: NDArray[np.floating]) -> NDArray[np.float64]:
    """The factor by which knowing j raises the best score statistic of the next acquisition, float64 (J,).

    An acquisition can have a high gain even if it is uninformative on its own.
    """
    weight = data.weighted(np.ones(len(proba)))
    without = score_statistics(data, rules, proba, weight).max(initial=0.0)
    within = [statistics_by_cell(data, rules, j, proba, weight).max(axis=1).sum() for j in range(rules.n_acquisitions)]
    return np.array(within) / max(without, const.MIN_STATISTIC)


def has_context(lattice: Lattice) -> bool:
    """Whether the value of some acquisition decides which other one is informative.

    The sum over the cells of a context of the score statistic of another acquisition, less its statistic over all rows,
    measures how far its effect differs between the cells. Without a difference it is about chi-squared distributed, or
    lower, with three degrees for each cell but one and class but one, as the largest of several columns counts. The
    bound is one that less than one pair is expected to exceed by chance (Laurent and Massart, 2000, lemma 1).
    """
    data, rules = lattice.data, lattice.rules
    if data.X.size * rules.n_acquisitions * data.n_classes > const.MAX_CONTEXT_ENTRIES:
        return False
    proba, weight = _proba(lattice.nodes[()]), data.weighted(np.ones(len(data.y)))
    allowed = np.flatnonzero(lattice.moves.allowed)
    overall = score_statistics(data, rules, proba, weight)
    t = 2 * np.log(max(len(allowed), 1)) + const.CONTEXT_LEVEL
    for j in allowed.tolist():
        cells = statistics_by_cell(data, rules, j, proba, weight)
        if len(cells):
            degrees = const.COLUMNS_OF_STATISTIC * (len(cells) - 1) * (data.n_classes - 1)
            difference = data.effective_size * (cells.sum(axis=0) - overall)
            difference[j] = 0.0
            if difference[allowed].max() > degrees + 2 * np.sqrt(degrees * t) + 2 * t:
                return True
    return False


def find_interactions(data: TrainingData, rules: Rules, proba: NDArray[np.floating]) -> list[tuple[int, ...]]:
    """At most three pairs and triples of acquisitions that are informative only together, the strongest first.

    Each feature is reduced to the side of its median. The statistic of a set of features is Pearson's for the product
    of their sides, at most chi-squared distributed if the product is uninformative. To be accepted, it must exceed the
    statistics of all parts of the set, and a threshold that less than one pair and less than one triple are expected to
    exceed by chance (Laurent and Massart, 2000, lemma 1). Weights of rows are scaled to add up to the effective number
    of rows, so that the statistics keep their distribution (Rao and Scott, 1981).
    """
    chosen = _most_varied(data)
    codes, middle = data.codes[chosen].T, np.median(data.codes[chosen], axis=1)
    above, not_below = codes > middle, codes >= middle
    even = np.abs(above.mean(axis=0) - 0.5) <= np.abs(not_below.mean(axis=0) - 0.5)
    sides = np.where(even, above, not_below) * 2.0
    weight = data.weight
    if weight is None:
        sides -= sides.mean(axis=0)  # not standardised: a rare value can help few rows only
        residual = ((data.onehot - proba) / np.sqrt(proba.sum(axis=0))).T
    else:
        sides -= weight @ sides / weight.sum()
        weight = weight * (data.effective_size / weight.sum())
        residual = ((data.onehot - proba) * weight[:, None] / np.sqrt(weight @ proba)).T
    n_features, degrees = sides.shape[1], len(residual) - 1

    def threshold(t: float) -> float:
        """The value that a chi-squared variable exceeds with probability at most exp(-t)."""
        return degrees + 2 * np.sqrt(degrees * t) + 2 * t

    single = ((residual @ sides) ** 2).sum(axis=0)
    pair = np.sum([((sides.T * r) @ sides) ** 2 for r in residual], axis=0)
    parts = np.maximum(single[:, None], single)
    accepted = np.triu(pair > np.maximum(parts, threshold(2 * np.log(n_features))), 1)
    found = [(pair[a, b], (a, b)) for a, b in np.argwhere(accepted).tolist()]
    parts = np.maximum(parts, pair)
    for a in range(n_features if data.onehot.size * n_features**3 <= const.MAX_TRIPLE_PRODUCTS else 0):
        triple = np.sum([((sides.T * (r * sides[:, a])) @ sides) ** 2 for r in residual], axis=0)
        parts_of_triple = np.maximum(parts, np.maximum(parts[a][:, None], parts[a]))
        accepted = np.triu(triple > np.maximum(parts_of_triple, threshold(3 * np.log(n_features))), 1)
        found += [(triple[b, c], (a, b, c)) for b, c in np.argwhere(accepted).tolist() if b > a]
    acquisition = rules.acquisition_of_features[chosen]
    found.sort(key=lambda v: -v[0])
    sets = dict.fromkeys(tuple(np.unique(acquisition[list(features)]).tolist()) for _, features in found)
    return [s for s in sets if len(s) > 1][: const.MAX_INTERACTIONS]


def _most_varied(data: TrainingData) -> NDArray[np.int64]:
    """All features, or of many those whose most common bin holds the fewest rows, ascending."""
    if len(data.codes) <= const.MAX_INTERACTION_FEATURES:
        return np.arange(len(data.codes))
    commonest = np.array([np.bincount(codes).max() for codes in data.codes])
    return np.sort(np.argsort(commonest, kind="stable")[: const.MAX_INTERACTION_FEATURES])


def rank_acquisitions(
    statistic: NDArray[np.float64], prices: NDArray[np.float64], legal: NDArray[np.bool_]
) -> list[int]:
    """Legal acquisitions, best first: alternately by the statistic and by the statistic per unit of price."""
    per_price = statistic / np.maximum(prices, const.MIN_PRICE + const.MIN_PRICE_SHARE * prices.max(initial=0.0))
    best = np.argsort(-statistic, kind="stable"), np.argsort(-per_price, kind="stable")
    order = dict.fromkeys(int(j) for pair in zip(*best) for j in pair)
    return [j for j in order if legal[j]]


def add_initial_subsets(lattice: Lattice) -> None:
    """Add a forward selection, single acquisitions and interactions."""
    rules, data = lattice.rules, lattice.data
    empty, J = lattice.nodes[()], rules.n_acquisitions
    large = len(data.y) * data.n_outputs > const.LARGE_PROBLEM
    order = rank_at_start(lattice, rules.costs, lattice.moves.allowed)
    n_singles = const.N_SINGLES_LARGE if large else const.N_SINGLES
    best = _add_chain(lattice, const.CHAIN_CANDIDATES_LARGE if large else const.CHAIN_CANDIDATES)
    lattice.add_acquisitions((), order[: J if J <= const.MAX_ALL_SINGLES else n_singles])
    _add_interactions(lattice)
    _add_cheap_first(lattice, best, order)
    if not data.is_small and rules.lam * rules.costs.sum() < data.mean(empty.answer_cost):  # type: ignore[arg-type]
        lattice.add_union((), list(dict.fromkeys([*max(lattice.nodes, key=len), *order])))


def add_branches(lattice: Lattice) -> None:
    """Add contexts with what to acquire after them and, where there are enough rows, the paths of a decision tree."""
    _add_contexts(lattice)
    if not lattice.data.is_small:
        _add_tree_paths(lattice, rank_at_start(lattice, lattice.rules.costs, lattice.moves.allowed))


def rank_at_start(lattice: Lattice, prices: NDArray[np.float64], wanted: NDArray[np.bool_]) -> list[int]:
    """The acquisitions ``wanted``, bool (J,), by their score statistic at the empty subset, and by price."""
    data, rules = lattice.data, lattice.rules
    statistic = score_statistics(data, rules, _proba(lattice.nodes[()]), data.weighted(np.ones(len(data.y))))
    return rank_acquisitions(statistic, prices, wanted)


def _add_interactions(lattice: Lattice) -> None:
    """Add pairs and triples of acquisitions that are informative only together."""
    for z in find_interactions(lattice.data, lattice.rules, _proba(lattice.nodes[()])):
        lattice.add_sequence(lattice.acquisition_order(z) or z)


def _add_cheap_first(lattice: Lattice, best: Subset, order: list[int]) -> None:
    """Add the ways from promising acquisitions that are cheaper than those of a subset, one or two of them, to it.

    A forward selection asks what is best for all rows; a cheap acquisition may be enough for some of them.
    """
    costs = lattice.rules.costs
    if not best:
        return
    cheap = [j for j in order if j not in best and 0 < costs[j] < costs[list(best)].mean()][: const.N_CHEAP_FIRST]
    inside = lattice.acquisition_order(best) or best
    cheapest_first = sorted(inside, key=lambda j: costs[j])
    if cheapest_first != list(inside):
        lattice.add_sequence(cheapest_first)
    for first in [*((j,) for j in cheap), *([tuple(cheap[:2])] if len(cheap) > 1 else [])]:
        lattice.add_sequence((*first, *cheapest_first))


def _add_chain(lattice: Lattice, n_candidates: tuple[int, int]) -> Subset:
    """Add a forward selection: single acquisitions at first, several per step in long subsets; return the best."""
    z: Subset = ()
    data = lattice.data
    best, n_failed, chosen = data.mean(lattice.nodes[()].answer_cost), 0, z  # type: ignore[arg-type]
    while n_failed < const.CHAIN_PATIENCE:
        node = lattice.nodes[z]
        order = rank_next(lattice, node, data.weighted(lattice.chain_weight(node)))
        n_at_once = max(1, len(z) // const.CHAIN_LONG_DIVISOR) if len(z) >= const.CHAIN_LONG else 1
        n_tried = n_candidates[0] if len(z) < const.CHAIN_SHORT else n_candidates[1]
        prices, n_refused = lattice.moves.at(z)[1], len(lattice.refused_by)
        if not order or lattice.weighted_price(z) + min(prices[j] for j in order) >= best:
            break
        if n_at_once > 1:
            union = lattice.add_union(z, order[:n_at_once], const.CHAIN_OPERATIONS_SHARE)
            candidates = [union] if union is not None else []
        else:
            lattice.add_acquisitions(z, order[:n_tried], const.CHAIN_OPERATIONS_SHARE)
            paths = [lattice.moves.path(z, j) for j in order[:n_tried]]
            ends = [extended(z, path[0]) for path in paths if path is not None]
            candidates = [lattice.nodes[q] for q in ends if q in lattice.nodes]
            candidates = [q for q in candidates if q.cross_fit is not None]
        if not candidates:
            lattice.cut_chain = n_failed == 0 and len(lattice.refused_by) > n_refused
            break
        losses = [selection_loss(lattice, q) for q in candidates]
        z = candidates[int(np.argmin(losses))].subset
        loss = data.mean(lattice.nodes[z].answer_cost) + lattice.weighted_price(z)  # type: ignore[arg-type]
        best, n_failed, chosen = (loss, 0, z) if loss < best else (best, n_failed + 1, chosen)
    return chosen


def selection_loss(lattice: Lattice, node: Node) -> float:
    """The loss of answering at a node, plus a share of its log-loss, which varies where errors do not."""
    data, proba = lattice.data, _proba(node)
    log_loss = -data.mean(np.log(np.maximum(proba[np.arange(len(data.y)), data.y], const.MIN_PROBA)))
    price = lattice.weighted_price(node.subset)
    share = const.CHAIN_LOG_LOSS_WEIGHT * lattice.unit
    return data.mean(node.answer_cost) + share * log_loss + price  # type: ignore[arg-type]


def _add_contexts(lattice: Lattice, z: Subset = (), n_contexts: int = const.N_CONTEXTS) -> None:
    """Add contexts, acquisitions whose value decides which one is best next, with the best ones to follow.

    If a context of the empty subset is strong, a second context after it is tried as well.
    """
    data, rules = lattice.data, lattice.rules
    n_entries = data.X.size * rules.n_acquisitions * data.n_classes
    if n_entries > const.MAX_CONTEXT_ENTRIES or lattice.nodes[z].cross_fit is None:
        return
    proba, weight = _proba(lattice.nodes[z]), data.weighted(np.ones(len(data.y)))
    gains = context_gains(data, rules, proba)
    gains[list(z)] = 0
    for j in np.argsort(-gains, kind="stable")[:n_contexts].tolist():
        path = lattice.moves.path(z, j)
        q = extended(z, path[0]) if path is not None else z
        lattice.add_acquisitions(z, [j])
        if gains[j] <= const.MIN_CONTEXT_GAIN or q == z or q not in lattice.nodes:
            continue
        legal, prices = lattice.moves.at(q)
        for statistic in statistics_by_cell(data, rules, j, proba, weight):
            best = rank_acquisitions(statistic, prices, legal)[: const.N_AFTER_CONTEXT]
            lattice.add_acquisitions(q, best)
            for k in best[:1]:  # similar acquisitions may predict better together
                lattice.add_acquisitions(extended(q, (k,)), best[1:])
        if gains[j] > const.MIN_NESTED_GAIN and not z:
            _add_contexts(lattice, q, const.N_NESTED_CONTEXTS)


def _add_tree_paths(lattice: Lattice, order: list[int]) -> None:
    """Add the acquisitions along the paths of a CART tree (Breiman et al., 1984) on the first ones of ``order``."""
    from sklearn.tree import DecisionTreeClassifier  # slow to import, and not needed to ask

    data = lattice.data
    acquisition = lattice.rules.acquisition_of_features
    features = np.flatnonzero(np.isin(acquisition, order[: const.CART_MAX_FEATURES]))
    if not len(features):
        return
    n_leaves, n_paths = next(v for limit, v in const.CART_LEAVES_AND_PATHS.items() if len(data.y) <= limit)
    cart = DecisionTreeClassifier(
        criterion="entropy",
        max_leaf_nodes=n_leaves,
        min_samples_leaf=const.CART_MIN_LEAF_ROWS,
        random_state=data.seed,
    )
    tree = cart.fit(data.codes[features].T, data.y, sample_weight=data.weight).tree_
    paths: dict[Subset, None] = {}
    queue: list[tuple[int, Subset]] = [(0, ())]
    while queue:
        v, path = queue.pop(0)
        if tree.feature[v] < 0:
            continue
        j = int(acquisition[features[tree.feature[v]]])
        path = path if j in path else (*path, j)
        paths[path] = None
        queue += [(int(tree.children_left[v]), path), (int(tree.children_right[v]), path)]
    lattice.fit_ahead(extended((), path) for path in list(paths)[:n_paths])
    for path in list(paths)[:n_paths]:
        lattice.add_sequence(path)


def add_smaller_subsets(lattice: Lattice, policy: SweepPolicy) -> None:
    """Add classifiers to nodes that rows pass through, and the subsets where rows end with one acquisition less.

    Greedy growth may have added acquisitions that a subset no longer needs.
    """
    passed = [z for z in policy.arrivals if lattice.nodes[z].cross_fit is None and policy.arrivals[z].any()]
    lattice.add_subsets(passed[: const.MAX_SMALLER_SUBSETS])
    data = lattice.data
    ends = {
        z: float(data.weighted(policy.arrivals[z] & (policy.choices[z].next_child < 0)).sum()) for z in policy.arrivals
    }
    orders: dict[Subset, Subset] = {}
    for z in sorted(ends, key=lambda q: (-ends[q], q)):
        for j in z if ends[z] and len(z) > 1 and len(orders) < const.MAX_SMALLER_SUBSETS else ():
            order = lattice.acquisition_order(tuple(k for k in z if k != j))
            node = lattice.nodes.get(extended((), order or ()))
            if order is not None and (node is None or node.cross_fit is None):
                orders.setdefault(extended((), order), order)
    chosen = list(orders.items())[: const.MAX_SMALLER_SUBSETS]
    lattice.fit_ahead(z for z, _ in chosen)
    for _, order in chosen:
        lattice.add_union((), order)


def add_children(lattice: Lattice, policy: SweepPolicy) -> None:
    """Add larger subsets beyond those where the policy loses most: by one acquisition and by two."""
    losses = []
    for z, node in lattice.nodes.items():
        if node.cross_fit is not None and policy.arrivals[z].any():
            saving = policy.possible_saving(node)
            losses.append((float(saving.sum()), z, saving))
    losses.sort(key=lambda v: (-v[0], v[1]))
    additions = []
    for total, z, saving in losses[: const.N_GROWTH_SUBSETS]:
        if total > 0:
            order = rank_next(lattice, lattice.nodes[z], saving)
            new = [j for j in order if extended(z, (j,)) not in policy.arrivals]
            additions.append((z, new[: const.N_GROWTH_CHILDREN], order[: const.N_GROWTH_AT_ONCE]))
    ahead = [[*lattice.ends(z, new), extended(z, together)] for z, new, together in additions]
    lattice.fit_ahead(q for ends in ahead for q in ends)
    for z, new, together in additions:
        lattice.add_acquisitions(z, new)
        if len(together) > 1:
            lattice.add_union(z, together)


def rank_next(lattice: Lattice, node: Node, weight: NDArray[np.float64]) -> list[int]:
    """Acquisitions that can be reached from a node, the most promising for the weighted rows first."""
    J, z = lattice.rules.n_acquisitions, node.subset
    statistic = score_statistics(lattice.data, lattice.rules, _proba(node), weight)
    if lattice.moves.direct:
        legal, prices = lattice.moves.at(z)
        return rank_acquisitions(statistic, prices, legal)
    paths = [None if j in z else lattice.moves.path(z, j) for j in range(J)]
    prices = np.array([path[1] if path is not None else 0.0 for path in paths])
    return rank_acquisitions(statistic, prices, np.array([path is not None for path in paths]))


def _proba(node: Node) -> NDArray[np.float64]:
    return node.cross_fit.proba  # type: ignore[union-attr]
