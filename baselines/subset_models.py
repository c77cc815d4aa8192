"""Logistic regressions on sets of acquisitions, with their validated losses; each set is fitted once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from baselines.base import clip_extremes
from baselines.ridge_logistic import fit_ridge_logistic, mean_cross_entropy, ridge_proba
from fsgym.data.scaling import Scaling
from fsgym.rules import Rules
from fsgym.rules.rules import cheapest_answers
from fsgym.rules.uninformative import uninformative_acquisitions

C = 1.0  # inverse strength of the ridge penalty on z-scores; 0.1 was worse in our runs, 10 no better
# A stratified sample of larger tables is used in the folds: 5000 rows for two classes, down to 2000 for five or more.
MAX_SELECTION_SHARES, LEAST_ROWS = 10_000, 2000
LEAST_PER_FOLD = 2  # rows of each class in the sample, for each fold, as far as there are any
FIT_OPERATIONS = 1e7  # floating-point operations that take as long as the fixed part of a fit
NEWTON_STEPS = 8  # of a typical fit that starts from zero
MAX_Z_SCORE = 1e6  # larger ones, of rows unlike the training rows, are clipped


class TableEncoder(NamedTuple):
    """Columns of a logistic regression: z-scores, 0 where a value is unknown, and indicators of unknown values."""

    scaling: Scaling  # of the features to z-scores over the training rows
    # (n_features,), whether a feature is unknown for some training rows and has an indicator
    indicated: NDArray[np.bool_]

    @classmethod
    def fit(cls, X: NDArray[np.float64], known: NDArray[np.bool_]) -> TableEncoder:
        scaling = Scaling.standard(clip_extremes(np.where(known, X, np.nan)))
        return cls(scaling, np.asarray(~known.all(axis=0)))

    def columns_of(self, features: NDArray[np.int64]) -> NDArray[np.int64]:
        """Numbers of the columns of ``encode``, ascending: features, and the indicators behind all features."""
        return np.concatenate([features, len(self.indicated) + features[self.indicated[features]]])

    def encode(self, X: NDArray, known: NDArray[np.bool_], features: NDArray[np.int64]) -> NDArray[np.float64]:
        """Columns for some features, float64 (n_samples, n_columns), where ``known`` (n_samples, n_features)."""
        seen = known[:, features]
        values = clip_extremes(np.where(seen, X[:, features], 0.0))
        z = (values - self.scaling.offset[features]) * self.scaling.scale[features]
        indicators = np.where(seen[:, self.indicated[features]], 0.0, 1.0)
        return np.hstack([np.where(seen, z.clip(-MAX_Z_SCORE, MAX_Z_SCORE), 0.0), indicators])


class _FoldModels(NamedTuple):
    """The logistic regressions of an order, one for each fold that is left out."""

    columns: NDArray[np.int64]  # (n_columns,), as from ``TableEncoder.columns_of``
    coefs: NDArray[np.float64]  # (n_folds, n_columns + 1, n_outputs), see ``fit_ridge_logistic``


class SubsetModel(NamedTuple):
    """A fitted logistic regression on the features of some acquisitions."""

    encoder: TableEncoder
    features: NDArray[np.int64]  # (n_used,), the features that it reads
    coefs: NDArray[np.float64]  # (n_columns + 1, n_outputs), see ``fit_ridge_logistic``

    def proba(self, X: NDArray, known: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Class probabilities (n_samples, n_classes) from the values that are ``known``."""
        return ridge_proba(self.encoder.encode(X, known, self.features), self.coefs)


class Assessment(NamedTuple):
    """Validated figures of a set of acquisitions."""

    # (n_samples,), the error cost of each row, answered out of fold by least expected cost
    error_costs: NDArray[np.float64]
    spent: NDArray[np.float64]  # (n_samples,), the price of each row, in the unit of ``costs``
    log_loss: float  # mean out-of-fold log-loss, in nats

    def losses(self, lam: float) -> NDArray[np.float64]:
        """The loss of each row, float64 (n_samples,)."""
        return self.error_costs + lam * self.spent


class SubsetModels:
    """The models of orders of acquisitions on one training table, with the same folds for all.

    Figures do not depend on ``lam``, so that selections at several prices share them. Each fit starts from that of the
    order without its last acquisition.

    Parameters
    ----------
    X : float64 (n_samples, n_features), NaN where a value is missing
    codes : int64 (n_samples,), class codes
    rules : Rules; their ``lam`` has no effect
    cv : int, number of folds
    random_state : seed of the folds

    Attributes
    ----------
    codes : int64 (n_selection,), the class codes of the rows in the folds, all of them or a sample
    fold : int64 (n_selection,), their folds
    uninformative : bool (n_acquisitions,), the acquisitions that tell nothing new, see ``fsgym.rules.uninformative``
    """

    def __init__(
        self, X: NDArray[np.float64], codes: NDArray[np.int64], rules: Rules, cv: int, random_state: Any
    ) -> None:
        self.rules, self.n_classes = rules, rules.n_classes
        self._X, self._all_codes = X, codes
        self.uninformative = uninformative_acquisitions(X, rules)
        available = rules.acquisitions_of(~np.isnan(X))
        self._patterns, pattern_of = np.unique(available, axis=0, return_inverse=True)
        self._pattern_of = pattern_of.ravel()
        self._reachable = rules.available(X)[:, rules.acquisition_of_features] & ~np.isnan(X)
        self.encoder = TableEncoder.fit(X, self._reachable)
        generator = check_random_state(random_state)
        self.rows = np.arange(len(X))
        most = max(LEAST_ROWS, MAX_SELECTION_SHARES // self.n_classes)
        if len(X) > most:
            n_parts = -(-len(X) // most)
            self.rows = stratified_part(codes, self.n_classes, n_parts, LEAST_PER_FOLD * cv, generator)
        self.codes = codes[self.rows]
        self.fold = class_folds(self.codes, self.n_classes, cv, generator)
        self._fold_weights = (self.fold != np.arange(self.fold.max() + 1)[:, None]).astype(np.float64)
        self._acquisition = rules.acquisition_of_features
        self._assessments: dict[tuple[int, ...], Assessment | None] = {}
        self._models: dict[tuple[int, ...], SubsetModel] = {}
        self._prefixes: dict[tuple[int, ...], _FoldModels] = {}

    def operations(self, order: Sequence[int]) -> float:
        """Estimated number of floating-point operations of ``assess``."""
        columns = 1 + sum(len(self.rules.groups[j]) for j in order)
        parameters = columns * (1 if self.n_classes == 2 else self.n_classes)
        return FIT_OPERATIONS + NEWTON_STEPS * len(self._fold_weights) * len(self.rows) * parameters**2

    def is_legal(self, order: Sequence[int]) -> bool:
        """Whether a row without missing values may be acquired in this order."""
        if self.rules.tables.independent:
            return self._is_allowed(order)
        return bool(self.rules.follow(order, np.ones((1, self.rules.n_acquisitions), bool))[0].all())

    def _is_allowed(self, order: Sequence[int]) -> bool:
        """Whether a row may have these acquisitions, whose order does not matter."""
        wanted = np.isin(np.arange(self.rules.n_acquisitions), list(order))
        return bool(self.rules.price_sets(wanted[None])[1][0])

    def assess(self, order: Sequence[int]) -> Assessment | None:
        """Validated figures of the acquisitions ``order``, a legal order; None if ``price_sets`` refuses their set."""
        key = tuple(order)
        if key not in self._assessments:
            self._assessments[key] = self._assess(key)
        return self._assessments[key]

    def _assess(self, order: tuple[int, ...]) -> Assessment | None:
        taken = self._taken(order)
        table = np.where(self._patterns[:, self._acquisition], np.float32(0.0), np.float32(np.nan))
        spent, admissible, _ = self.rules.price_sets(taken, table)
        if not admissible.all():
            return None
        shares = self._shares_of(*self._fitted(order, taken))
        errors = self.rules.answer_costs[cheapest_answers(shares, self.rules.answer_costs), self.codes]
        return Assessment(errors, spent[self._pattern_of[self.rows]], mean_cross_entropy(shares, self.codes))

    def out_of_fold(self, order: Sequence[int]) -> NDArray[np.float64]:
        """Out-of-fold class probabilities for the acquisitions ``order``, float64 (n_selection, n_classes)."""
        Z, _ = self._encode(order, self.rows, self._taken(order))
        return self._shares_of(Z, self._prefix(tuple(order)))

    def _shares_of(self, Z: NDArray[np.float64], models: _FoldModels) -> NDArray[np.float64]:
        shares = np.empty((len(Z), self.n_classes))
        for k, coefs in enumerate(models.coefs):
            shares[self.fold == k] = ridge_proba(Z[self.fold == k], coefs)
        return shares

    def _prefix(self, order: tuple[int, ...]) -> _FoldModels:
        """The models of the folds for an order that others begin with, which are kept, as are those of its prefixes."""
        for prefix in [order[:k] for k in range(len(order) + 1) if order[:k] not in self._prefixes]:
            self._prefixes[prefix] = self._fitted(prefix, self._taken(prefix))[1]
        return self._prefixes[order]

    def _fitted(self, order: tuple[int, ...], taken: NDArray[np.bool_]) -> tuple[NDArray[np.float64], _FoldModels]:
        """The columns of the rows in the folds, and the models of the folds; ``taken`` as from ``_taken``."""
        Z, features = self._encode(order, self.rows, taken)
        columns = self.encoder.columns_of(features)
        start = None
        if order:
            before = self._prefix(order[:-1])
            start = np.zeros((len(self._fold_weights), len(columns) + 1, before.coefs.shape[2]))
            start[:, np.append(np.searchsorted(columns, before.columns), len(columns))] = before.coefs
        coefs = fit_ridge_logistic(Z, self.codes, self.n_classes, self._fold_weights, C, start)
        return Z, _FoldModels(columns, coefs)

    def model(self, order: Sequence[int]) -> SubsetModel:
        """The model of the acquisitions ``order``, fitted on all rows."""
        key = tuple(order)
        if key not in self._models:
            Z, features = self._encode(order, np.arange(len(self._X)), self._taken(order))
            coefs = fit_ridge_logistic(Z, self._all_codes, self.n_classes, np.ones((1, len(Z))), C)[0]
            self._models[key] = SubsetModel(self.encoder, features, coefs)
        return self._models[key]

    def score_gains(self, order: Sequence[int]) -> NDArray[np.float64]:
        """Approximate decrease of the mean log-loss by each acquisition after ``order``, in nats, (n_acquisitions,).

        The score statistics of its features one by one, from the out-of-fold residuals.
        """
        shares = self.out_of_fold(order)
        residuals = (self.codes[:, None] == np.arange(self.n_classes)) - shares
        features = np.arange(self.rules.n_features)
        Z = self.encoder.encode(self._X[self.rows], self._reachable[self.rows], features)[:, features]
        information = np.outer((Z**2).mean(axis=0), (shares * (1.0 - shares)).mean(axis=0))
        slopes = Z.T @ residuals / len(Z)
        gains = 0.5 * np.divide(slopes**2, information, out=np.zeros_like(slopes), where=information > 0).sum(axis=1)
        if self.n_classes == 2:
            gains /= 2.0  # both classes have the same residuals
        acquisition = self.rules.acquisition_of_features
        return np.bincount(acquisition, gains, self.rules.n_acquisitions).astype(np.float64)

    def follow(self, order: Sequence[int]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """What ``Rules.follow`` returns for the rows in the folds."""
        taken, spent = self.rules.follow(order, self._patterns)
        pattern_of = self._pattern_of[self.rows]
        return taken[pattern_of], spent[pattern_of]

    def _taken(self, order: Sequence[int]) -> NDArray[np.bool_]:
        """The acquisitions made for each pattern of available ones, bool (n_patterns, n_acquisitions)."""
        taken, places = np.zeros(self._patterns.shape, bool), [*order]
        if self.rules.tables.independent and self._is_allowed(places):
            taken[:, places] = self._patterns[:, places]
        else:
            taken[:, places] = self.rules.follow(order, self._patterns)[0]
        return taken

    def _encode(
        self, order: Sequence[int], rows: NDArray[np.int64], taken: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Columns of training rows for the acquisitions ``order``, and the features they reveal."""
        features = np.array(sorted(i for j in order for i in self.rules.groups[j]), dtype=np.int64)
        known = taken[:, self._acquisition][self._pattern_of[rows]] & ~np.isnan(self._X[rows])
        return self.encoder.encode(self._X[rows], known, features), features


def class_folds(codes: NDArray[np.int64], n_classes: int, cv: int, random_state: Any) -> NDArray[np.int64]:
    """The fold of each row, int64 (n_samples,): each class is spread evenly; at most one fold for two rows."""
    generator, n_folds = check_random_state(random_state), max(2, min(cv, len(codes) // 2))
    fold = np.empty(len(codes), dtype=np.int64)
    first = 0
    for k in range(n_classes):
        rows = generator.permutation(np.flatnonzero(codes == k))
        fold[rows] = (first + np.arange(len(rows))) % n_folds
        first += len(rows)
    return fold


def stratified_part(
    codes: NDArray[np.int64], n_classes: int, n_parts: int, least: int, random_state: Any
) -> NDArray[np.int64]:
    """The rows of one of ``n_parts`` parts of each class, ascending; ``least`` of a class, or all that it has."""
    fold = class_folds(codes, n_classes, n_parts, random_state)
    chosen = fold == 0
    for k in range(n_classes):
        rows = np.flatnonzero(codes == k)
        chosen[rows[np.argsort(fold[rows], kind="stable")][:least]] = True
    return np.flatnonzero(chosen)
