"""A fitted model of disjunctions: predictions, rules as new features and in words, and the selected columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from baselines.base import ColumnSelectorMixin, SettingsPathMixin
from baselines.hkl.booleanizer import Booleanizer, validate_literal_table
from baselines.hkl.lattice import Disjunction, evaluate_disjunctions
from baselines.linear import predicted_codes
from fsgym.sklearn_private import feature_names_of

STATUS_TEXTS = {
    "certified": "certified: the relative gap to the optimum over all {name}s is at most {gap:.2g}",
    "necessary": "not certified: adding any single {name} would not help, {bound}",
    "max_active": "not certified: stopped at max_active, {bound}",
    "max_iter": "not certified: stopped at max_iter, {bound}",
    "inaccurate": "not certified: the solver reached its numerical limits, {bound}",
}


class RuleModel(ColumnSelectorMixin, SettingsPathMixin, ClassifierMixin):
    """Weighted sums of disjunctions or conjunctions of literals; the ``fit`` of a subclass sets the attributes."""

    connective: str
    booleanize: Any
    classes_: NDArray
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

    def predict(self, X: ArrayLike) -> NDArray:
        """Predict the class of each row, shape (n_samples,); ties go to the first class."""
        codes = predicted_codes(self.decision_function(X))
        return self.classes_[codes]

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
