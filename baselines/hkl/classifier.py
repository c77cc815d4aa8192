"""A sparse set of disjunctions of Boolean features, learnt with a large margin by hierarchical kernel learning."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight

from baselines.hkl.active_set import Fit, Search, different_rows, rows_of, search
from baselines.hkl.booleanizer import Booleanizer
from baselines.hkl.certificate import Certificate
from baselines.hkl.interior_point import interior_point
from baselines.hkl.lattice import Lattice, Node, truth
from baselines.hkl.mirror import mirror_descent
from baselines.hkl.model import RuleModel, check_boolean
from baselines.hkl.problem import Matrix, Vector, best_bias
from baselines.linear import check_X_y, class_codes, signed_targets, validate_data
from fsgym.checks import check_groups
from fsgym.threads import one_blas_thread

SOLVERS = {"ipm": interior_point, "mirror": mirror_descent}
MANY = 60  # literals, above which length is limited unless the user says otherwise
SHORT = 3
AFFORDABLE = 1000  # different rows up to which the bound is computed although the stop does not need it


class DisjunctionClassifier(RuleModel, BaseEstimator):
    """Maximum-margin classifier over all disjunctions of Boolean features, of which few get a weight.

    It minimises 1/2 (sum_v delta_v |w_{D(v)}|_p)^2 + C sum_i max(0, 1 - y_i (sum_v w_v psi_v(x_i) - b)) over weights of
    all disjunctions v; D(v) are the disjunctions that hold v, and delta_v = beta^|v|. So short disjunctions are
    cheaper, and a disjunction gets a weight only where its parts are let in. An active set grows from single features
    until no other disjunction would help. One-vs-rest for more than two classes.

    Parameters
    ----------
    C : float, default=100.0
        Weight of the losses. 1 to 10 for noisy data, 100 and more for exact concepts. It goes with beta: a larger one
        wants a larger C.
    beta : float, default=2.0
        Price of one more literal; above 1 long disjunctions cost more. Large: few, short ones, and a proof of the
        optimum. At 1.2 nothing is ever proven.
    p : float in (1, 2], default=2.0
        Norm within the groups of weights; 1.1 to 1.5 keep fewer disjunctions.
    connective : {"or", "and"}, default="or"
        Disjunctions, or conjunctions: by De Morgan those are disjunctions of the negated features.
    root : bool, default=True
        Whether the empty disjunction is in the norm, as published; without it the model is a little sparser.
    max_literals : int or None, default=None
        Most features of a disjunction. None: 3 for more than 60 of them, else no limit.
    stop : {"necessary", "sufficient"}, default="necessary"
        When to stop: no single disjunction would help; or the gap to the optimum over all disjunctions is at most
        ``tol``, by proof. The second can take much longer and, for many features without ``max_literals``, for ever.
    solver : {"ipm", "mirror"}, default="ipm"
        Interior point method; or mirror descent as published, many times slower.
    tol : float, default=1e-2
        Duality gap relative to the objective.
    max_active, max_add, max_iter : int, default=300, 50, 100
        Most disjunctions in the active set, most that one iteration adds, most iterations.
    weight_threshold : float in [0, 1), default=1e-3
        Disjunctions with a weight below this part of the largest are dropped, where that costs no training error.
    prior : array-like of shape (n_features,), default=None
        Price of each feature in place of ``beta``; the delta of a disjunction is their product.
    groups : array-like of shape (n_features,), or lists of indices, default=None
        Features of different groups are never in one disjunction.
    booleanize : {"auto"}, Booleanizer or None, default="auto"
        What makes literals of columns that are not 0 and 1. None refuses them.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    booleanizer_ : Booleanizer, its literals are what the rules are made of
    disjunctions_ : list of tuple of int
        The literals of each rule, sorted by length; conjunctions with ``connective="and"``.
    coef_ : ndarray of shape (1 or n_classes, n_rules), float64
    intercept_ : ndarray of shape (1 or n_classes,), float64
    objective_, dual_objective_, dual_gap_, restricted_gap_ : float, or ndarray (n_classes,) for more than two classes
        The objective of all active disjunctions, a lower bound on the optimum over all disjunctions (NaN where it was
        not computed), their relative difference, and the relative gap over the active ones alone.
    status_ : str, or list of str for more than two classes
        "certified" where ``dual_gap_`` is at most ``tol``; else what ended the search: "necessary", "max_active",
        "max_iter" or "inaccurate".
    n_active_, n_iter_ : int
    active_nodes_ : list of list of tuple, the active set of each classifier
    active_coef_ : list of ndarray, its weights, of disjunctions (of negated literals with ``connective="and"``)
    history_ : list of list of dict, an entry for each iteration
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,), where ``X`` had names

    Notes
    -----
    The bound on the optimum over all disjunctions needs ``n^2 * 8`` bytes for n different rows. With the stop
    "necessary" it is computed at the end for up to 1000 of them. It grows with (1 + 1 / (1 + beta)^2)^n_literals: for
    hundreds of literals it says something only with ``max_literals``.

    A model whose answer no row could change keeps no rule.

    References
    ----------
    Bach (2009), High-dimensional non-linear variable selection through hierarchical kernel learning; Jawanpuria, Nath
    and Ramakrishnan (2015), Generalized hierarchical kernel learning, whose conjunctions are these disjunctions of the
    negated features.

    Examples
    --------
    >>> import numpy as np
    >>> from baselines import DisjunctionClassifier
    >>> X = np.array([[i >> j & 1 for j in range(4)] for i in range(16)])
    >>> y = np.where(X[:, 0] | X[:, 2], "well", "ill")
    >>> model = DisjunctionClassifier(p=1.1, stop="sufficient", tol=1e-4).fit(X, y)
    >>> model.score(X, y), model.status_, sorted(model.get_feature_names_out())
    (1.0, 'certified', ['x0', 'x2'])
    >>> print(model.describe().splitlines()[-1])
       -1.000  always
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "beta": [Interval(Real, 0, None, closed="neither")],
        "p": [Interval(Real, 1, 2, closed="right")],
        "connective": [StrOptions({"or", "and"})],
        "root": ["boolean"],
        "max_literals": [Interval(Integral, 1, None, closed="left"), None],
        "stop": [StrOptions({"necessary", "sufficient"})],
        "solver": [StrOptions(set(SOLVERS))],
        "tol": [Interval(Real, 0, 1, closed="neither")],
        "max_active": [Interval(Integral, 1, None, closed="left")],
        "max_add": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "weight_threshold": [Interval(Real, 0, 1, closed="left")],
        "prior": ["array-like", None],
        "groups": ["array-like", None],
        "booleanize": [StrOptions({"auto"}), Booleanizer, None],
    }

    def __init__(
        self,
        C: float = 100.0,
        beta: float = 2.0,
        p: float = 2.0,
        *,
        connective: Literal["or", "and"] = "or",
        root: bool = True,
        max_literals: int | None = None,
        stop: Literal["necessary", "sufficient"] = "necessary",
        solver: Literal["ipm", "mirror"] = "ipm",
        tol: float = 1e-2,
        max_active: int = 300,
        max_add: int = 50,
        max_iter: int = 100,
        weight_threshold: float = 1e-3,
        prior: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        booleanize: Literal["auto"] | Booleanizer | None = "auto",
    ) -> None:
        self.C = C
        self.beta = beta
        self.p = p
        self.connective = connective
        self.root = root
        self.max_literals = max_literals
        self.stop = stop
        self.solver = solver
        self.tol = tol
        self.max_active = max_active
        self.max_add = max_add
        self.max_iter = max_iter
        self.weight_threshold = weight_threshold
        self.prior = prior
        self.groups = groups
        self.booleanize = booleanize

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> DisjunctionClassifier:
        """Fit on ``X`` (n_samples, n_features) and labels ``y`` (n_samples,).

        ``sample_weight`` (n_samples,), at least 0, multiplies C. Raises ValueError for a parameter out of range, for
        bad tables, for values other than 0 and 1 with ``booleanize=None``, and for fewer than two classes.
        """
        table, labels = validate_data(self, X, y, dtype=None, ensure_all_finite=self._finite())
        weight = np.asarray(_check_sample_weight(sample_weight, table, dtype=np.float64, ensure_non_negative=True))
        self.classes_, codes = weighed_classes(labels, weight)
        literals = self._literals(X if hasattr(X, "dtypes") else table, table, weight)
        different = different_rows(literals[weight > 0.0])
        lattice, how = self._lattice(), self._search()
        fits = []
        with one_blas_thread():
            bounded = self.stop == "sufficient" or len(different) <= AFFORDABLE
            certificate = Certificate(1.0 - different, lattice) if bounded else None
            for target in signed_targets(codes).T:
                rows = rows_of(literals, target, self.C * weight, different)
                fits.append(search(rows, lattice, how, certificate))
            models = [self._kept(fit, literals, target, weight) for fit, target in zip(fits, signed_targets(codes).T)]
        self._keep(fits, models)
        return self

    def _finite(self) -> Any:
        return "allow-nan" if self._takes_missing() else True

    def _literals(self, X: Any, table: NDArray, weight: Vector) -> Matrix:
        """The literals of the training rows, negated for conjunctions; keeps ``booleanizer_``."""
        if self.booleanize is None:
            check_boolean(table)
        given = self.booleanize
        self.booleanizer_ = clone(given) if isinstance(given, Booleanizer) else Booleanizer()
        self.booleanizer_._validate_params()
        literals = self.booleanizer_.fit(X, sample_weight=weight).transform(X)
        return literals if self.connective == "or" else 1.0 - literals

    def _lattice(self) -> Lattice:
        """Prices, groups and longest disjunction, of literals."""
        column = np.array([literal.column for literal in self.booleanizer_.literals_], dtype=np.int64)
        n = self.n_features_in_
        prices, group = np.full(n, float(self.beta)), np.zeros(n, dtype=np.int64)
        if self.prior is not None:
            prices = np.asarray(self.prior, dtype=np.float64)
            if prices.shape != (n,) or not (np.isfinite(prices) & (prices > 0.0)).all():
                raise ValueError(f"prior must be {n} finite numbers above 0, one a feature of X, got {self.prior!r}")
        if self.groups is not None:
            for k, mine in enumerate(check_groups(self.groups, n)):
                group[list(mine)] = k
        longest = self.max_literals or (SHORT if len(column) > MANY else len(column))
        return Lattice(prices[column], min(longest, max(len(column), 1)), self.root, group[column])

    def _search(self) -> Search:
        return Search(
            self.p,
            SOLVERS[self.solver],
            self.stop == "sufficient",
            self.tol,
            self.max_active,
            self.max_add,
            self.max_iter,
        )

    def _kept(self, fit: Fit, literals: Matrix, y: Vector, weight: Vector) -> tuple[dict[Node, float], float]:
        """Weights that are not small, and the bias; all weights where leaving out the small ones makes mistakes."""
        w = fit.solution.w
        Psi = truth(literals, fit.nodes)
        large = np.abs(w) > self.weight_threshold * np.abs(w).max(initial=0.0)
        f, b = Psi[:, large] @ w[large], fit.solution.b
        b_large = best_bias(f, y, self.C * weight)
        if weight @ (y * (f - b_large) <= 0.0) <= weight @ (y * (Psi @ w - b) <= 0.0) + 1e-9:
            b = b_large
        else:
            large = w != 0.0
        return {fit.nodes[k]: float(w[k]) for k in np.flatnonzero(large)}, float(b)

    def _keep(self, fits: list[Fit], models: list[tuple[dict[Node, float], float]]) -> None:
        rules = sorted({node for weights, _ in models for node in weights}, key=lambda v: (len(v), v))
        coef = np.array([[weights.get(v, 0.0) for v in rules] for weights, _ in models]).reshape(len(models), -1)
        intercept = -np.array([b for _, b in models])
        if self.connective == "and":  # sum w (1 - and) - b
            intercept, coef = intercept + coef.sum(axis=1), -coef
        if constant(coef, intercept):
            rules, coef = [], coef[:, :0]
        self.disjunctions_, self.coef_, self.intercept_ = rules, coef, intercept
        primal, bound = (np.array([v(f) for f in fits]) for v in (lambda f: f.solution.primal, lambda f: f.bound))
        gaps = np.array([f.solution.gap for f in fits])
        one = len(fits) == 1
        self.objective_, self.dual_objective_ = (float(v[0]) if one else v for v in (primal, bound))
        self.dual_gap_, self.restricted_gap_ = (float(v[0]) if one else v for v in ((primal - bound) / primal, gaps))
        self.status_ = fits[0].status if one else [f.status for f in fits]
        self.active_nodes_, self.active_coef_ = [f.nodes for f in fits], [f.solution.w for f in fits]
        self.history_ = [f.history for f in fits]
        self.n_active_, self.n_iter_ = sum(len(f.nodes) for f in fits), max(len(f.history) for f in fits)

    def sparsity_grid(self, X: ArrayLike, y: ArrayLike, n_settings: int = 8) -> list[dict[str, float]]:
        """Settings of ``C`` from "nothing is used" up, equal steps of its logarithm over four decades.

        For two classes they begin where weights of single features, were all losses at their bounds, would be half of
        what changes an answer. One-vs-rest always uses something.
        """
        table, labels = check_X_y(X, y, dtype=None, ensure_all_finite=self._finite())
        targets = signed_targets(class_codes(labels)[1])
        booleanizer = clone(self.booleanize) if isinstance(self.booleanize, Booleanizer) else Booleanizer()
        literals = booleanizer.fit(table).transform(table)
        shares = np.where(targets > 0, 1.0, -1.0 * (targets > 0).sum(axis=0) / (targets < 0).sum(axis=0))
        balanced = shares / np.maximum(1.0, np.abs(shares).max(axis=0))
        strongest = float(np.abs(literals.T @ balanced).max(initial=0.0))
        if strongest <= 1e-9 * len(table):
            return [{"C": float(self.C)}]
        start = 0.5 * (self.beta + self.root) ** 2 / strongest
        return [{"C": float(C)} for C in start * np.geomspace(1.0, 1e4, n_settings)]


def weighed_classes(labels: NDArray, weight: Vector) -> tuple[NDArray, NDArray[np.int64]]:
    """The sorted classes and each row's index into them; ValueError where weights leave fewer than two."""
    classes, codes = class_codes(labels)
    totals = np.bincount(codes, weights=weight, minlength=len(classes))
    if (totals <= 0.0).any():
        lost = classes[int(totals.argmin())]
        raise ValueError(f"sample_weight must leave rows of every class, but class {lost} has none above 0")
    return classes, codes


def constant(coef: Matrix, intercept: Vector) -> bool:
    """Whether no row could change the answer, whatever its rules say."""
    low = intercept + np.minimum(coef, 0.0).sum(axis=1)
    high = intercept + np.maximum(coef, 0.0).sum(axis=1)
    if len(coef) == 1:
        return bool(low[0] > 0.0 or high[0] <= 0.0)
    first = int(low.argmax())
    return bool(low[first] > np.delete(high, first).max())
