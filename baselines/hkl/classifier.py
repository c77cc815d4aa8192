"""A large-margin classifier on a sparse set of disjunctions, by hierarchical kernel learning."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from baselines.base import (
    ColumnSelectorMixin,
    DecisionMixin,
    FloatMatrix,
    FloatVector,
    SettingsPathMixin,
    check_X_y,
    class_codes,
    signed_targets,
    validate_data,
)
from baselines.hkl.active_set import SearchOptions, SearchResult, distinct_rows, grow_active_set, merge_rows
from baselines.hkl.booleanizer import Booleanizer, validate_literal_table
from baselines.hkl.certificate import Certificate
from baselines.hkl.interior_point import interior_point
from baselines.hkl.lattice import Disjunction, DisjunctionLattice, evaluate_disjunctions
from baselines.hkl.problem import HKLProblem, HKLSolution, Incumbent, best_bias
from fsgym.data.checks import check_groups
from fsgym.rules.uninformative import repeated_columns
from fsgym.sklearn_private import (
    Interval,
    StrOptions,
    check_parameters,
    check_sample_weight,
    checks_parameters,
    feature_names_of,
)
from fsgym.support.threads import one_blas_thread

# A fitted model of disjunctions: predictions, rules as new features and in words, and the selected columns.

STATUS_TEXTS = {
    "certified": "certified: the relative gap to the optimum over all {name}s is at most {gap:.2g}",
    "necessary": "not certified: adding any single {name} would not help, {bound}",
    "max_active": "not certified: stopped at max_active, {bound}",
    "max_iter": "not certified: stopped at max_iter, {bound}",
    "inaccurate": "not certified: the solver reached its numerical limits, {bound}",
}


class RuleModel(DecisionMixin, ColumnSelectorMixin, SettingsPathMixin, ClassifierMixin):
    """Weighted sums of disjunctions or conjunctions of literals; the ``fit`` of a subclass sets the attributes."""

    connective: str
    booleanize: Any
    n_features_in_: int
    booleanizer_: Booleanizer
    disjunctions_: list[Disjunction]
    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]
    status_: Any
    dual_gap_: Any

    def _validate_table(self, X: ArrayLike) -> NDArray:
        check_is_fitted(self, "coef_")
        return validate_literal_table(self, X, reset=False, missing=self._allows_missing())

    def _allows_missing(self) -> bool:
        return isinstance(self.booleanize, Booleanizer) and self.booleanize.missing == "level"

    def evaluate_rules(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the rules as new features: 1 where a rule is true for a row, else 0; float64 (n_samples, n_rules).

        Only the selected columns of ``X`` are read. ``decision_function(X)`` is ``evaluate_rules(X) @ coef_.T +
        intercept_``.
        """
        table = self._validate_table(X)
        used = sorted({l for rule in self.disjunctions_ for l in rule})
        if self.booleanize is None:
            check_boolean(table[:, [self.booleanizer_.literals_[l].column for l in used]])
        literals = self.booleanizer_.columns(table, used)
        place = {l: k for k, l in enumerate(used)}
        rules = [tuple(place[l] for l in rule) for rule in self.disjunctions_]
        if self.connective == "or":
            return evaluate_disjunctions(literals, rules)
        return 1.0 - evaluate_disjunctions(1.0 - literals, rules)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return scores: (n_samples,) for two classes, positive for the second; otherwise (n_samples, n_classes)."""
        scores = self.evaluate_rules(X) @ self.coef_.T + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "coef_")
        columns = [self.booleanizer_.literals_[l].column for rule in self.disjunctions_ for l in rule]
        return np.isin(np.arange(self.n_features_in_), columns)

    def rules_as_text(self) -> list[str]:
        """Return each rule in words, such as ``glucose > 120 or ward = icu``, in the order of ``disjunctions_``.

        Columns without names are called x0, x1, ...; ``describe`` adds the weights of the rules.
        """
        check_is_fitted(self, "coef_")
        names = feature_names_of(self)
        words = [literal.describe(str(names[literal.column])) for literal in self.booleanizer_.literals_]
        return [f" {self.connective} ".join(words[l] for l in rule) for rule in self.disjunctions_]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._allows_missing()
        return tags

    def describe(self) -> str:
        """Return the model as text: for each class, the rules in words with their signed weights, largest first.

        The sum of the weights of the true rules and of the constant, named "always", decides. The second line says
        whether the optimum is certified.
        """
        rules = self.rules_as_text()
        models = zip(self.classes_[-len(self.coef_) :], self.coef_, self.intercept_, self._statuses(), self._gaps())
        return "\n\n".join(self._describe_class(rules, *model) for model in models)

    def _statuses(self) -> list[str]:
        return [self.status_] if isinstance(self.status_, str) else list(self.status_)

    def _gaps(self) -> NDArray[np.float64]:
        return np.atleast_1d(self.dual_gap_)

    def _describe_class(
        self, rules: list[str], label: Any, weights: NDArray, intercept: float, status: str, gap: float
    ) -> str:
        name = "disjunction" if self.connective == "or" else "conjunction"
        bound = "and no bound was computed" if np.isnan(gap) else f"and the relative gap may be as large as {gap:.2g}"
        two = f"{label} if the weights of the true rules sum to more than 0, otherwise {self.classes_[0]}"
        lines = [two if len(self.coef_) == 1 else f"{label} if its weights of the true rules have the largest sum"]
        lines.append(STATUS_TEXTS[status].format(gap=gap, name=name, bound=bound))
        lines += [f"{weights[k]:+9.3f}  {rules[k]}" for k in np.argsort(-np.abs(weights), kind="stable") if weights[k]]
        return "\n".join([*lines, f"{intercept:+9.3f}  always"])


def check_boolean(table: NDArray) -> None:
    """Raise ValueError unless all values are 0 or 1."""
    invalid = ~np.isin(table, (0, 1))
    if invalid.any():
        raise ValueError(
            f"X must hold only 0 and 1 with booleanize=None, got {table[invalid][0]!r}; use booleanize='auto' or "
            "transform X with a Booleanizer first"
        )


MIN_ETA = 1e-12  # entries of eta stay above it, since the gradient divides by them
MAX_MIRROR_STEPS = 2000  # each solves a support vector machine


def mirror_descent(problem: HKLProblem, rtol: float, max_iter: int = MAX_MIRROR_STEPS) -> HKLSolution:
    """Minimise g(eta), whose value is that of a support vector machine, to a relative gap of ``rtol``.

    Each step solves the machine at the current eta and multiplies eta by exp(-step * gradient); the k-th step is
    proportional to 1 / sqrt(k). All entries start equal, since small entries would hardly move.
    """
    d = len(problem.delta)
    eta, best = np.full(d, 1.0 / d), Incumbent(problem)
    for k in range(1, max_iter + 1):
        w, alpha = solve_machine(problem, eta, min(1e-3, 0.1 * max(best.gap, rtol)))
        best.update(w, alpha, eta)
        if best.gap <= rtol or d == 1:
            break
        slope = eta_gradient(problem, eta, problem.signed_sums(alpha))
        steepest = np.abs(slope).max()
        if steepest == 0.0:
            break
        eta = eta * np.exp(-np.sqrt(2.0 * np.log(d) / k) / steepest * slope)
        eta = np.maximum(eta / eta.sum(), MIN_ETA)
        eta /= eta.sum()
    return best.solution()


def solve_machine(problem: HKLProblem, eta: FloatVector, rtol: float) -> tuple[FloatVector, FloatVector]:
    """Solve the machine at fixed eta; return its weights and multipliers.

    Its norm (sum_u c_u |w_u|^p)^(1/p) is that of a problem with one group on scaled columns.
    """
    scale = problem.prices(eta) ** (-1.0 / problem.p)
    one_group: FloatMatrix = np.ones((1, len(scale)))
    scaled_problem = HKLProblem(problem.Psi * scale, problem.y, problem.C, one_group, np.ones(1), problem.p)
    solution = interior_point(scaled_problem, rtol)
    return scale * solution.w, solution.alpha


def eta_gradient(problem: HKLProblem, eta: FloatVector, t: FloatVector) -> FloatVector:
    """Return dg/deta_v = -(1 / 2 pbar) (delta_v / eta_v)^p T^(1/pbar - 1) sum of (|t_u| / c_u)^q over the group of v.

    pbar = q / 2 and T = sum_u c_u (|t_u| / c_u)^q.
    """
    p, q = problem.p, problem.q
    x, largest = problem.scaled_correlations(t, eta)
    if largest == 0.0:
        return np.zeros_like(eta)
    T = float(problem.prices(eta) @ x**q)
    return -((problem.delta / eta) ** p) * (problem.membership @ x**q) * T ** (2.0 / q - 1.0) * largest**2 / q


SOLVERS = {"ipm": interior_point, "mirror": mirror_descent}
AUTO_LIMIT_LITERALS = 60  # number of literals; above it, max_literals=None means AUTO_MAX_LITERALS
AUTO_MAX_LITERALS = 3  # literals of a disjunction
CERTIFICATE_MAX_ROWS = 1000  # distinct rows; up to it, the bound is computed even if the stopping rule does not need it


class DisjunctionClassifier(RuleModel, BaseEstimator):
    """Maximum-margin classifier over all disjunctions of Boolean features, a few of which get a weight.

    It minimises ``1/2 (sum_v delta_v |w_{D(v)}|_p)^2 + C sum_i max(0, 1 - y_i (sum_v w_v psi_v(x_i) - b))`` over the
    weights of all disjunctions v; D(v) are the disjunctions that contain v, and ``delta_v = beta^|v|``. Short
    disjunctions are therefore cheaper, and a disjunction can get a weight only if all of its parts are selected. An
    active set grows from single features until no other disjunction would help. More than two classes: one-vs-rest.

    Parameters
    ----------
    C : float, default=100.0
        Weight of the losses. Use 1 to 10 for noisy data, 100 and more for noise-free concepts. A larger ``beta`` needs
        a larger C.
    beta : float, default=2.0
        Factor by which each further literal raises the price of a disjunction; above 1, long disjunctions cost more.
        Large values give few, short disjunctions and a certified optimum. At 1.2 the optimum was never certified in our
        runs.
    p : float in (1, 2], default=2.0
        Norm within the groups of weights; 1.1 to 1.5 select fewer disjunctions.
    connective : {"or", "and"}, default="or"
        Disjunctions or conjunctions. By De Morgan's laws, conjunctions are disjunctions of the negated features.
    root : bool, default=True
        Whether the empty disjunction is part of the norm, as published; without it the model is slightly sparser.
    max_literals : int or None, default=None
        Maximum number of literals of a disjunction. None: 3 if there are more than 60 literals, otherwise no limit.
    stop : {"necessary", "sufficient"}, default="necessary"
        "necessary" stops as soon as no single disjunction would help. "sufficient" stops when the gap to the optimum
        over all disjunctions is certified to be at most ``tol``. It can take much longer and, for many features without
        ``max_literals``, may never be reached.
    solver : {"ipm", "mirror"}, default="ipm"
        Solver of the restricted problem: an interior point method, or mirror descent as published (Bach, 2009;
        Jawanpuria, Nath and Ramakrishnan, 2015), which is many times slower.
    tol : float, default=1e-2
        Duality gap relative to the objective.
    max_active, max_add, max_iter : int, default=300, 50, 100
        Maximum number of disjunctions in the active set, of disjunctions added in one iteration, and of iterations.
    weight_threshold : float in [0, 1), default=1e-3
        Disjunctions whose weight is below this share of the largest are dropped, unless that adds a training error.
    prior : array-like of shape (n_features,), default=None
        Price of each feature, instead of ``beta``; delta of a disjunction is the product of its prices.
    groups : array-like of shape (n_features,), or lists of indices, default=None
        Features of different groups are never combined in a disjunction.
    booleanize : {"auto"}, Booleanizer or None, default="auto"
        The transformer that turns columns other than 0 and 1 into literals. With None, such columns are an error.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    booleanizer_ : Booleanizer
        Its ``literals_`` are the literals of the rules.
    disjunctions_ : list of tuple of int
        The literals of each rule, sorted by length; conjunctions with ``connective="and"``.
    coef_ : ndarray of shape (1 or n_classes, n_rules), float64
    intercept_ : ndarray of shape (1 or n_classes,), float64
    objective_, dual_objective_, dual_gap_, restricted_gap_ : float, or ndarray (n_classes,) for more than two classes
        The objective over the active disjunctions, a lower bound on the optimum over all disjunctions (NaN if it was
        not computed), their relative difference, and the relative duality gap over the active disjunctions only.
    status_ : str, or list of str for more than two classes
        "certified" if ``dual_gap_`` is at most ``tol``; otherwise the reason why the search ended: "necessary",
        "max_active", "max_iter" or "inaccurate".
    n_active_, n_iter_ : int
    active_nodes_ : list of list of tuple, the active set of each classifier
    active_coef_ : list of ndarray, the weights of these disjunctions (of negated literals with ``connective="and"``)
    history_ : list of list of dict, one entry per iteration
    selected_features_ : ndarray of str, the names of the columns that predictions use
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,), if ``X`` has feature names

    Notes
    -----
    The bound on the optimum over all disjunctions needs ``n^2 * 8`` bytes for n distinct rows. With
    ``stop="necessary"`` it is computed once, at the end, for at most 1000 distinct rows. It grows with
    (1 + 1 / (1 + beta)^2)^n_literals: for hundreds of literals it is informative only with ``max_literals``.

    If the model predicts the same class whatever its rules say, all rules are dropped and no feature is used.

    References
    ----------
    Optimally extracting discriminative disjunctive features for dimensionality reduction (authors and year not found).
    Its method: Bach (2009), High-dimensional non-linear variable selection through hierarchical kernel learning;
    Jawanpuria, Nath and Ramakrishnan (2015), Generalized hierarchical kernel learning, whose conjunctions are these
    disjunctions of the negated features.

    Examples
    --------
    >>> import numpy as np
    >>> from baselines import DisjunctionClassifier
    >>> X = np.array([[i >> j & 1 for j in range(4)] for i in range(16)])
    >>> y = np.where(X[:, 0] | X[:, 2], "well", "ill")
    >>> model = DisjunctionClassifier(p=1.1, stop="sufficient", tol=1e-4).fit(X, y)
    >>> model.score(X, y), model.status_, sorted(model.rules_as_text())
    (1.0, 'certified', ['x0', 'x2'])
    >>> print(model.describe().splitlines()[-1])
       -1.000  always

    Rules in words, with the names of the columns:

    >>> import pandas as pd
    >>> patients = pd.DataFrame({"glucose": [90, 110, 130, 150] * 6, "ward": ["er", "icu", "gp"] * 8, "age": 50})
    >>> y = np.where((patients["glucose"] > 120) | (patients["ward"] == "icu"), "ill", "well")
    >>> model = DisjunctionClassifier().fit(patients, y)
    >>> model.selected_features_.tolist(), model.rules_as_text()[-1]
    (['glucose', 'ward'], 'glucose > 120 or ward = icu')
    >>> for line in model.describe().splitlines()[::2]:
    ...     print(line)
    well if the weights of the true rules sum to more than 0, otherwise ill
       -1.691  ward = icu
       +0.743  glucose <= 120
       +0.257  always
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

    @checks_parameters
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> DisjunctionClassifier:
        """Fit on ``X`` (n_samples, n_features) and labels ``y`` (n_samples,).

        ``sample_weight`` (n_samples,), at least 0, multiplies C. Raises ValueError for a parameter out of range, for
        invalid tables, for values other than 0 and 1 with ``booleanize=None``, and for fewer than two classes.
        """
        table, labels = validate_data(self, X, y, dtype=None, ensure_all_finite=self._finite())
        weight = np.asarray(check_sample_weight(sample_weight, table, dtype=np.float64, ensure_non_negative=True))
        self.classes_, codes = weighted_classes(labels, weight)
        literals = self._literals(X if hasattr(X, "dtypes") else table, table, weight)
        distinct = distinct_rows(literals[weight > 0.0])
        lattice, options = self._lattice(), self._search_options()
        results = []
        with one_blas_thread():
            bounded = self.stop == "sufficient" or len(distinct) <= CERTIFICATE_MAX_ROWS
            certificate = Certificate(1.0 - distinct, lattice) if bounded else None
            for target in signed_targets(codes).T:
                rows = merge_rows(literals, target, self.C * weight, distinct)
                results.append(grow_active_set(rows, lattice, options, certificate))
            targets = signed_targets(codes).T
            models = [self._prune(result, literals, y, weight) for result, y in zip(results, targets)]
        self._store_results(results, models)
        return self

    def _finite(self) -> Any:
        return "allow-nan" if self._allows_missing() else True

    def _literals(self, X: Any, table: NDArray, weight: FloatVector) -> FloatMatrix:
        """Set ``booleanizer_`` and return the literals of the training rows, negated for conjunctions."""
        if self.booleanize is None:
            check_boolean(table)
        given = self.booleanize
        self.booleanizer_ = clone(given) if isinstance(given, Booleanizer) else Booleanizer()
        check_parameters(self.booleanizer_)
        self.booleanizer_.fit(X, sample_weight=weight)
        if self.prior is None and self.groups is None:  # a column and its copy then have the same price and partners
            if table.dtype.kind == "O":
                table = np.unique(table.astype(str), return_inverse=True)[1].reshape(table.shape)
            repeated = repeated_columns(table[weight > 0.0])
            self.booleanizer_.literals_ = [v for v in self.booleanizer_.literals_ if not repeated[v.column]]
        literals = self.booleanizer_.transform(X)
        return literals if self.connective == "or" else 1.0 - literals

    def _lattice(self) -> DisjunctionLattice:
        """Return the lattice: prices and groups of the literals, and the maximum length of disjunctions."""
        column = np.array([literal.column for literal in self.booleanizer_.literals_], dtype=np.int64)
        n = self.n_features_in_
        prices, group = self._prices(n), np.zeros(n, dtype=np.int64)
        if self.groups is not None:
            for k, columns in enumerate(check_groups(self.groups, n)):
                group[list(columns)] = k
        max_literals = self.max_literals or (AUTO_MAX_LITERALS if len(column) > AUTO_LIMIT_LITERALS else len(column))
        return DisjunctionLattice(prices[column], min(max_literals, max(len(column), 1)), self.root, group[column])

    def _prices(self, n: int) -> FloatVector:
        """The price of each of n features in a disjunction."""
        if self.prior is None:
            return np.full(n, float(self.beta))
        prices = np.asarray(self.prior, dtype=np.float64)
        if prices.shape != (n,) or not (np.isfinite(prices) & (prices > 0.0)).all():
            raise ValueError(f"prior must be {n} finite numbers above 0, one per feature of X, got {self.prior!r}")
        return prices

    def _search_options(self) -> SearchOptions:
        return SearchOptions(
            self.p,
            SOLVERS[self.solver],
            self.stop == "sufficient",
            self.tol,
            self.max_active,
            self.max_add,
            self.max_iter,
        )

    def _prune(
        self, result: SearchResult, literals: FloatMatrix, y: FloatVector, weight: FloatVector
    ) -> tuple[dict[Disjunction, float], float]:
        """Return the weights above ``weight_threshold`` and the bias.

        All weights are kept if dropping the small ones would add training errors.
        """
        w = result.solution.w
        Psi = evaluate_disjunctions(literals, result.nodes)
        large = np.abs(w) > self.weight_threshold * np.abs(w).max(initial=0.0)
        f, b = Psi[:, large] @ w[large], result.solution.b
        b_large = best_bias(f, y, self.C * weight)
        if weight @ (y * (f - b_large) <= 0.0) <= weight @ (y * (Psi @ w - b) <= 0.0) + 1e-9:
            b = b_large
        else:
            large = w != 0.0
        return {result.nodes[k]: float(w[k]) for k in np.flatnonzero(large)}, float(b)

    def _store_results(self, results: list[SearchResult], models: list[tuple[dict[Disjunction, float], float]]) -> None:
        rules = sorted({node for weights, _ in models for node in weights}, key=lambda v: (len(v), v))
        coef = np.array([[weights.get(v, 0.0) for v in rules] for weights, _ in models]).reshape(len(models), -1)
        intercept = -np.array([b for _, b in models])
        if self.connective == "and":  # sum w (1 - and) - b
            intercept, coef = intercept + coef.sum(axis=1), -coef
        if is_constant(coef, intercept):
            rules, coef = [], coef[:, :0]
        self.disjunctions_, self.coef_, self.intercept_ = rules, coef, intercept
        primal, bound = (np.array([v(f) for f in results]) for v in (lambda f: f.solution.primal, lambda f: f.bound))
        gaps = np.array([f.solution.gap for f in results])
        one = len(results) == 1
        self.objective_, self.dual_objective_ = (float(v[0]) if one else v for v in (primal, bound))
        self.dual_gap_, self.restricted_gap_ = (float(v[0]) if one else v for v in ((primal - bound) / primal, gaps))
        self.status_ = results[0].status if one else [f.status for f in results]
        self.active_nodes_, self.active_coef_ = [f.nodes for f in results], [f.solution.w for f in results]
        self.history_ = [f.history for f in results]
        self.n_active_, self.n_iter_ = sum(len(f.nodes) for f in results), max(len(f.history) for f in results)

    def sparsity_grid(self, X: ArrayLike, y: ArrayLike, n_settings: int = 8) -> list[dict[str, float]]:
        """Return settings of ``C`` over four decades, in equal steps of the logarithm, from no feature used upward.

        For two classes they start where the weights of single features, with all multipliers at their bounds, are half
        as large as needed to change a prediction. One-vs-rest models always use some feature, as may others where
        ``prior`` has prices far below 1, at which long disjunctions cost hardly more than short ones.
        """
        table, labels = check_X_y(X, y, dtype=None, ensure_all_finite=self._finite())
        targets = signed_targets(class_codes(labels)[1])
        booleanizer = clone(self.booleanize) if isinstance(self.booleanize, Booleanizer) else Booleanizer()
        literals = booleanizer.fit(table).transform(table)
        shares = np.where(targets > 0, 1.0, -1.0 * (targets > 0).sum(axis=0) / (targets < 0).sum(axis=0))
        balanced = shares / np.maximum(1.0, np.abs(shares).max(axis=0))
        sums = np.abs(literals.T @ balanced).max(axis=1)
        told = sums > 1e-9 * len(table)
        if not told.any():
            return [{"C": float(self.C)}]
        column = np.array([literal.column for literal in booleanizer.literals_], dtype=np.int64)
        prices = self._prices(table.shape[1])[column]
        start = float((0.5 * (prices[told] + self.root) ** 2 / sums[told]).min())
        return [{"C": float(C)} for C in start * np.geomspace(1.0, 1e4, n_settings)]


def weighted_classes(labels: NDArray, weight: FloatVector) -> tuple[NDArray, NDArray[np.int64]]:
    """Return the sorted classes and each row's index; raises ValueError if a class has no positive weight."""
    classes, codes = class_codes(labels)
    totals = np.bincount(codes, weights=weight, minlength=len(classes))
    if (totals <= 0.0).any():
        empty_class = classes[int(totals.argmin())]
        raise ValueError(f"sample_weight must leave rows of every class, but class {empty_class} has none above 0")
    return classes, codes


def is_constant(coef: FloatMatrix, intercept: FloatVector) -> bool:
    """Whether the prediction is the same for all possible values of the rules."""
    low = intercept + np.minimum(coef, 0.0).sum(axis=1)
    high = intercept + np.maximum(coef, 0.0).sum(axis=1)
    if len(coef) == 1:
        return bool(low[0] > 0.0 or high[0] <= 0.0)
    first = int(low.argmax())
    return bool(low[first] > np.delete(high, first).max())
