"""Tables with known class probabilities, and brute-force solutions, for the panel and the stopping rule."""

from __future__ import annotations

from itertools import product

import numpy as np
from sklearn.linear_model import LogisticRegression

SHARE = 0.3  # of class 1
ACCURACIES = (0.85, 0.75, 0.7)  # of each binary feature as a test for class 1, independent given the class
ERROR_COSTS = np.array([[0.0, 5.0], [1.0, 0.0]])
CELLS = np.array([*product((0, 1), repeat=3)], dtype=float)


def joint_shares() -> np.ndarray:
    """Probability of each cell and class, (8, 2)."""
    right = np.where(CELLS == 1, ACCURACIES, 1 - np.array(ACCURACIES)).prod(axis=1)
    wrong = np.where(CELLS == 0, ACCURACIES, 1 - np.array(ACCURACIES)).prod(axis=1)
    return np.column_stack([(1 - SHARE) * wrong, SHARE * right])


def known_table(n: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    """Rows in which each cell and class has its share, up to rounding, in random order."""
    counts = np.round(n * joint_shares()).astype(int)
    X = np.repeat(np.repeat(CELLS, 2, axis=0), counts.ravel(), axis=0)
    y = np.repeat(np.tile([0, 1], 8), counts.ravel())
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


def loss_of_lengths(order, lengths, prices) -> float:
    """Expected loss of stopping after ``lengths`` (8,) acquisitions in each cell; answers are those of Bayes."""
    joint, total = joint_shares(), 0.0
    for length in range(len(order) + 1):
        for values in product((0, 1), repeat=length):
            rows = (CELLS[:, list(order[:length])] == values).all(axis=1) & (np.array(lengths) == length)
            group = (CELLS[:, list(order[:length])] == values).all(axis=1)
            answer = (joint[group].sum(axis=0) @ ERROR_COSTS.T).argmin()
            total += (joint[rows] @ ERROR_COSTS[answer]).sum() + joint[rows].sum() * sum(
                prices[j] for j in order[:length]
            )
    return total


def best_stopping_loss(order, prices, known=()) -> float:
    """Loss of the optimal rule along ``order``, by dynamic programming over the values known so far."""
    rows = (CELLS[:, list(order[: len(known)])] == known).all(axis=1)
    shares = joint_shares()[rows].sum(axis=0)
    stop = (shares @ ERROR_COSTS.T).min()
    if len(known) == len(order):
        return stop
    price = prices[order[len(known)]] * shares.sum()
    return min(stop, price + sum(best_stopping_loss(order, prices, (*known, v)) for v in (0, 1)))


def plain_forward_selection(X, y, fold, lam, costs, error_costs):
    """Forward selection with scikit-learn's logistic regression, one set after another: order and losses."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)

    def losses(chosen):
        shares = np.empty((len(y), 2))
        for k in np.unique(fold):
            out = fold == k
            if chosen:
                model = LogisticRegression(C=1.0, tol=1e-8).fit(Z[~out][:, chosen], y[~out])
                shares[out] = model.predict_proba(Z[out][:, chosen])
            else:
                shares[out] = np.bincount(y[~out]) / (~out).sum()
        answers = (shares @ error_costs.T).argmin(axis=1)
        rows = error_costs[answers, y] + lam * sum(costs[j] for j in chosen)
        return rows, -np.log(shares[np.arange(len(y)), y]).mean()

    prior = np.bincount(y) / len(y)
    rate = (error_costs @ prior).min() / -(prior @ np.log(prior))
    order, path = [], [losses([])[0]]
    while len(order) < X.shape[1]:
        tried = {j: losses([*order, j]) for j in range(X.shape[1]) if j not in order}
        lowest = min((rows for rows, _ in tried.values()), key=np.mean)
        near = [j for j, (rows, _) in tried.items() if (d := rows - lowest).mean() <= d.std() / np.sqrt(len(y))]
        order.append(min(near, key=lambda j: tried[j][1] * rate + lam * sum(costs[i] for i in [*order, j])))
        path.append(tried[order[-1]][0])
        best = min(path, key=np.mean)
        if path[-1].mean() > best.mean() + best.std() / np.sqrt(len(y)):
            break
    return order, [rows.mean() for rows in path]
