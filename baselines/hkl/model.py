"""A fitted model of disjunctions: its answers, its rules as new features and as sentences, and what it looks at."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from baselines.hkl.booleanizer import Booleanizer, checked_table
from baselines.hkl.lattice import Node, truth
from baselines.linear import answers

SAID = {
    "certified": "certified: the objective is within {gap:.2g} of the optimum over all {name}s, relatively",
    "necessary": "not certified: adding any single {name} would not help, {bound}",
    "max_active": "not certified: stopped at max_active, {bound}",
    "max_iter": "not certified: stopped at max_iter, {bound}",
    "inaccurate": "not certified: the solver came to its limits, {bound}",
}


class RuleModel(ClassifierMixin, TransformerMixin):
    """Weighted sums of disjunctions or conjunctions of literals; a class's ``fit`` sets the attributes."""

    connective: str
    booleanize: Any
    classes_: NDArray
    booleanizer_: Booleanizer
    disjunctions_: list[Node]
    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]
    status_: Any
    dual_gap_: Any

    def _table(self, X: ArrayLike) -> NDArray:
        check_is_fitted(self, "coef_")
        return checked_table(self, X, reset=False, missing=self._takes_missing())

    def _takes_missing(self) -> bool:
        return isinstance(self.booleanize, Booleanizer) and self.booleanize.missing == "level"

    def _rules(self, table: NDArray) -> NDArray[np.float64]:
        """Truth of each rule for each row; only columns that a rule looks at are read."""
        used = sorted({l for rule in self.disjunctions_ for l in rule})
        if self.booleanize is None:
            check_boolean(table[:, [self.booleanizer_.literals_[l].column for l in used]])
        literals = self.booleanizer_._of(table, used)
        place = {l: k for k, l in enumerate(used)}
        rules = [tuple(place[l] for l in rule) for rule in self.disjunctions_]
        return truth(literals, rules) if self.connective == "or" else 1.0 - truth(1.0 - literals, rules)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Scores: (n_samples,) for two classes, positive for the second; else (n_samples, n_classes)."""
        scores = self._rules(self._table(X)) @ self.coef_.T + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: ArrayLike) -> NDArray:
        """The class of each row, shape (n_samples,); ties go to the first class."""
        codes = answers(self.decision_function(X))
        return self.classes_[codes]

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """The rules as new features: 0 and 1, float64 (n_samples, n_rules)."""
        return self._rules(self._table(X))

    def features_used(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Which columns decide each row, bool (n_samples, n_features): all that any rule looks at."""
        table = self._table(X)
        columns = [self.booleanizer_.literals_[l].column for rule in self.disjunctions_ for l in rule]
        used = np.zeros(table.shape[1], dtype=bool)
        used[columns] = True
        return np.tile(used, (len(table), 1))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Each rule as a sentence, such as ``age > 45 or smoker``."""
        check_is_fitted(self, "coef_")
        names = self.booleanizer_.get_feature_names_out(_check_feature_names_in(self, input_features))
        said = [f" {self.connective} ".join(names[l] for l in rule) for rule in self.disjunctions_]
        return np.array(said, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._takes_missing()
        return tags

    def describe(self) -> str:
        """The model for a person: how sure the optimum is, and weights with their rules, the heaviest first."""
        rules = self.get_feature_names_out()
        told = zip(self.classes_[-len(self.coef_) :], self.coef_, self.intercept_, self._statuses(), self._gaps())
        return "\n\n".join(self._told(rules, *one) for one in told)

    def _statuses(self) -> list[str]:
        return [self.status_] if isinstance(self.status_, str) else list(self.status_)

    def _gaps(self) -> NDArray[np.float64]:
        return np.atleast_1d(self.dual_gap_)

    def _told(self, rules: NDArray, label: Any, weights: NDArray, intercept: float, status: str, gap: float) -> str:
        name = "disjunction" if self.connective == "or" else "conjunction"
        bound = (
            "and no bound was computed" if np.isnan(gap) else f"and the gap may be as large as {gap:.2g}, relatively"
        )
        lines = [f"{label}, where the sum is above 0" if len(self.coef_) == 1 else f"{label}, where its sum is largest"]
        lines.append(SAID[status].format(gap=gap, name=name, bound=bound))
        lines += [f"{weights[k]:+9.3f}  {rules[k]}" for k in np.argsort(-np.abs(weights), kind="stable") if weights[k]]
        return "\n".join([*lines, f"{intercept:+9.3f}  always"])


def check_boolean(table: NDArray) -> None:
    """ValueError unless all is 0 or 1."""
    strange = ~np.isin(table, (0, 1))
    if strange.any():
        raise ValueError(
            f"X must hold only 0 and 1 where booleanize=None, got {table[strange][0]!r}; use booleanize='auto', or a "
            "Booleanizer before"
        )
