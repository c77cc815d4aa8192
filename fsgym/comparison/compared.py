"""The methods of a comparison with their settings, from names, estimators, factories and trained policies."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from fsgym.comparison.cell import labels_for_fit, takes_prices_of
from fsgym.comparison.protocol import Protocol
from fsgym.data.case_costs import are_mean_prices
from fsgym.data.dataset import Dataset
from fsgym.methods import (
    DEFAULT_AGENT,
    PANEL,
    REFERENCES,
    Method,
    find_method,
    load_class,
    method_names,
    supported_options,
)
from fsgym.rules import Rules
from fsgym.rules.rules import cheapest_answers, regrets
from fsgym.text.messages import brief, explain_unknown, option_text, warn_caller

# Answers of least expected cost, for methods that do not know the costs of errors.

CALIBRATION_FOLDS = 5  # of the calibration


def has_scores(estimator: Any) -> bool:
    """Whether an estimator gives class probabilities or decision values."""
    return hasattr(estimator, "predict_proba") or hasattr(estimator, "decision_function")


def knows_error_costs(estimator: Any) -> bool:
    """Whether an estimator has a parameter for the costs of errors, and so answers by them itself."""
    return "error_costs" in estimator.get_params(deep=False)


class ExpectedCostClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that answers by least expected cost, from the class probabilities of another one.

    Class probabilities are those of ``predict_proba``, if the classifier has it and no ``class_weight``, with which
    they would not be those of the data. Otherwise they are calibrated with a sigmoid (Platt, 2000) on decision values
    for held-out rows of stratified folds; for more than two classes, one class against the rest. A classifier with a
    parameter ``class_weight`` and without ``predict_proba``, such as a support vector machine, is trained with the mean
    cost of its errors as the weight of each class, so that its scores differ where the answer changes; the calibration
    is unweighted. The features used are those of the classifier, fitted on all rows.

    Parameters
    ----------
    estimator : classifier with ``features_used`` and either ``predict_proba`` or ``decision_function``
    error_costs : array-like of shape (n_classes, n_classes)
        ``error_costs[answer, true class]``.
    classes : array-like of shape (n_classes,)
        All labels in sorted order; a training part may lack some.

    References
    ----------
    C. Elkan. The foundations of cost-sensitive learning. IJCAI, 2001, eq. 1.
    J. Platt. Probabilities for SV machines. Advances in large margin classifiers, 2000.
    """

    def __init__(self, estimator: Any, error_costs: ArrayLike, classes: Sequence[Any]) -> None:
        self.estimator = estimator
        self.error_costs = error_costs
        self.classes = classes

    def fit(self, X: NDArray, y: NDArray) -> ExpectedCostClassifier:
        """Fit on ``X`` (n_samples, n_features) and labels ``y`` (n_samples,).

        Raises ValueError if probabilities must be calibrated and a class has only one row.
        """
        weighted = getattr(self.estimator, "class_weight", None) is not None
        if hasattr(self.estimator, "predict_proba") and not weighted:
            self.estimator_ = self.scored_ = clone(self.estimator).fit(X, y)
            self.labels_ = self.scored_.classes_
        else:
            self.scored_ = self._calibrated(X, y)
            self.estimator_ = self.scored_.calibrated_classifiers_[0].estimator
        self.classes_ = np.asarray(self.classes)
        return self

    def _calibrated(self, X: NDArray, y: NDArray) -> Any:
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.model_selection import StratifiedKFold

        rows = np.unique(y, return_counts=True)[1].min()
        if rows < 2:
            raise ValueError(
                f"{type(self.estimator).__name__} has no class probabilities, and they cannot be calibrated where a "
                "class has a single training row; use more rows, or leave this method out"
            )
        folds = StratifiedKFold(min(CALIBRATION_FOLDS, rows), shuffle=True, random_state=0)
        # ``CalibratedClassifierCV`` replaces labels by codes; the keys of class weights have to be codes, too.
        self.labels_, codes = np.unique(y, return_inverse=True)
        weighted = self._weighted_by_costs(self.labels_.tolist())
        return CalibratedClassifierCV(weighted, method="sigmoid", cv=folds, ensemble=False).fit(X, codes)

    def _weighted_by_costs(self, labels: list[Any]) -> Any:
        """A clone of the classifier whose ``class_weight`` has codes of these labels as its keys.

        If it is None, it becomes the mean cost of errors.
        """
        estimator, costs = clone(self.estimator), np.asarray(self.error_costs, np.float64)
        parameters = estimator.get_params()
        name = next((k for k in ("class_weight", "estimator__class_weight") if k in parameters), None)
        own_classifier = any(parameters.get(k) is not None for k in ("classifier", "estimator__classifier"))
        if name is not None and isinstance(parameters[name], Mapping):
            given = {labels.index(label): weight for label, weight in parameters[name].items() if label in labels}
            return estimator.set_params(**{name: given})
        if name is None or parameters[name] is not None or own_classifier:
            return estimator
        weights = regrets(costs).sum(axis=0) / (len(costs) - 1)
        weights = np.maximum(weights / weights.max(initial=0.0), 1e-3) if weights.any() else np.ones(len(costs))
        by_label = dict(zip(self.classes, weights.tolist()))
        return estimator.set_params(**{name: {code: by_label[label] for code, label in enumerate(labels)}})

    def predict_proba(self, X: NDArray) -> NDArray[np.float64]:
        """The class probabilities (n_samples, n_classes); 0 for a class without training rows."""
        shares = np.zeros((len(X), len(self.classes_)))
        shares[:, np.searchsorted(self.classes_, self.labels_)] = self.scored_.predict_proba(X)
        return shares

    def predict(self, X: NDArray) -> NDArray:
        """The class of least expected cost for each row, (n_samples,); ties go to the first."""
        return self.classes_[cheapest_answers(self.predict_proba(X), np.asarray(self.error_costs, np.float64))]

    def features_used(self, X: NDArray) -> NDArray[np.bool_]:
        """The features that the classifier uses, bool (n_samples, n_features).

        Raises ValueError where an answer by the costs depends on others, too, as ``EstimatorMethod.features_used``.
        """
        from fsgym.comparison.pipelines import refuse_other_columns

        used, inner = self.estimator_.features_used(X), self.estimator_
        while not hasattr(inner, "values_") and hasattr(inner, "estimator_"):  # wrapped for this comparison
            inner = inner.estimator_
        if hasattr(inner, "values_"):
            refuse_other_columns(self.predict, X, used, inner.values_)
        return used


@dataclass(frozen=True)
class ComparedMethod:
    """A method and its settings."""

    name: str  # in the table of results
    title: str  # in figures and reports
    # tuple of estimators, unfitted, or ``PolicyFactory``, one per setting; the policy where ``fitted``
    candidates: tuple[Any, ...]
    params: tuple[dict[str, Any], ...]  # the parameters in which the settings differ, one per candidate
    fitted: bool = False  # whether it was trained before and is only evaluated
    imputed: bool = False  # whether missing values are replaced by means for at least one candidate
    caution: str = ""  # what must be said of all its figures; "" for nothing
    key: str = ""  # its name in ``METHODS``; "" for what a user gave, of whatever name


def compared_methods(
    methods: Any, protocol: Protocol, panels: Any = None, references: bool = False
) -> tuple[ComparedMethod, ...]:
    """The methods with their settings, from names or a mapping name -> name, estimator(s), factory or policy.

    Fixed ``panels`` follow, and the two ``references``. Raises ValueError or TypeError for an unknown name or an object
    that cannot be compared.
    """
    if isinstance(methods, str):
        methods = (methods,)
    if not isinstance(methods, Mapping):
        if not isinstance(methods, Iterable):
            raise TypeError(
                f"{option_text('methods')} must be names or a mapping name -> estimator, got {type(methods).__name__}"
            )
        names = list(methods)
        unnamed = [m for m in names if not isinstance(m, str)]
        if unnamed:
            raise TypeError(
                f"{option_text('methods')} must be names; give {type(unnamed[0]).__name__} a name: {{'mine': ...}}"
            )
        for name in names:
            find_method(name)
        methods = {name: name for name in names}
    if not methods:
        raise ValueError(f"{option_text('methods')} must name at least one of {', '.join(method_names())}")
    compared = tuple(
        _from_table(str(name), method, protocol) if isinstance(method, str) else _from_user(str(name), method, protocol)
        for name, method in methods.items()
    )
    compared += tuple(_panel(name, listed, protocol) for name, listed in _named_panels(panels).items())
    if references:
        compared += tuple(_from_table(name, name, protocol) for name in REFERENCES if name not in methods)
    for name in REFERENCES:
        if isinstance(methods, Mapping) and not (name not in methods or methods[name] == name):
            raise ValueError(f"{name!r} is the name of a reference point; give your method another one")
    twice = [name for name, count in Counter(m.name for m in compared).items() if count > 1]
    if twice:
        raise ValueError(f"each method needs a name of its own, got {twice[0]!r} twice; rename one of them")
    for target in dict.fromkeys(name for name, _ in protocol.targets):
        if not any(target in params for method in compared for params in method.params):
            raise ValueError(
                f"{target} is a parameter of none of the methods {', '.join(methods)}; add one that has it, such as "
                f"{DEFAULT_AGENT}, or leave it out"
            )
    return compared


MEAN_PRICES = " (plans by mean prices)"  # behind the title of a method where prices are by case


def _from_table(name: str, key: str, protocol: Protocol) -> ComparedMethod:
    """A method of ``METHODS`` with the settings at which it is fitted."""
    method, options = method_for(key, protocol.dataset), protocol.rules.options(protocol.dataset)
    cls, title = load_class(method), method.title if name == key else name
    if protocol.rules.costs_by_case and (method.prices or "costs" in cls().get_params()):
        if getattr(cls, "takes_case_costs", False):
            options["costs"] = None  # those of the data
        else:
            title += MEAN_PRICES
    fitted_to_data = protocol.dataset.bins is not None or protocol.dataset.case_costs is not None
    if fitted_to_data and hasattr(cls, "labelled_dataset"):
        options["groups"] = None  # those of the data, by column
    if method.prices:
        targets = [{target: v} for target, v in protocol.targets if target in cls().get_params()]
        params: list[dict[str, Any]] = targets or [{"lam": v} for v in protocol.sweep]
    else:
        own_meaning = {"lam"} if method.groups or key in REFERENCES else {"lam", "groups"}  # as parameters of its class
        options = {k: v for k, v in options.items() if k not in own_meaning}
        params = sparsity_settings(method, options, protocol.parts(0).train, protocol.seed)
        # The sparsest setting may use a feature in another split.
        params += [dict(empty)] if (empty := getattr(cls, "empty_setting", None)) is not None else []
    compared = _compared_method(name, title, candidates_at(method, options, params), params, protocol)
    return replace(compared, key=key)


def method_for(key: str, dataset: Dataset) -> Method:
    """The method of that name for a data set: for a numeric target its regressor, if it has one."""
    method, bins = find_method(key), dataset.bins
    if bins is None or not method.regressor:
        return method
    loss = bins.error.removesuffix("_error")
    return method._replace(estimator=method.regressor, preset={**method.preset, "loss": loss})


def candidates_at(key: str | Method, options: Mapping[str, Any], settings: Iterable[Mapping[str, Any]]) -> list[Any]:
    """A method at each setting: unfitted, with its preset and those options of ``Rules`` that it takes."""
    method = key if isinstance(key, Method) else find_method(key)
    cls = load_class(method)
    fixed = dict(method.preset) | supported_options(cls, options)
    return [cls(**{**fixed, **setting}) for setting in settings]


def sparsity_settings(key: str | Method, options: Mapping[str, Any], train: Dataset, seed: int) -> list[dict[str, Any]]:
    """The settings of a method without ``lam``: its ``sparsity_grid`` on a training part, means in place of NaN."""
    (estimator,) = candidates_at(key, options, [{}])
    X = train.to_array()
    if np.isnan(X).any():
        from fsgym.comparison.pipelines import mean_imputer

        X = mean_imputer(X).transform(X)
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=seed)
    grid = estimator.sparsity_grid(X, labels_for_fit(estimator, train))
    if not grid or not all(isinstance(setting, Mapping) for setting in grid):
        kind = type(estimator).__name__
        raise TypeError(f"sparsity_grid of {kind} must return a list of dicts of its parameters, got {brief(grid)}")
    return [*grid]


def _panel(name: str, listed: Sequence[Any], protocol: Protocol) -> ComparedMethod:
    """A fixed set of acquisitions, given by their names, and those that are free."""
    rules, names, needs = protocol.rules, protocol.rules.names, protocol.rules.prerequisites
    for acquisition in listed:
        if acquisition not in names:
            raise ValueError(explain_unknown("acquisition", str(acquisition), names))
        if list(listed).count(acquisition) > 1:
            raise ValueError(f"a panel must name each acquisition once, got {acquisition!r} twice in {name!r}")
        for needed in () if needs is None else np.array(names)[needs[names.index(acquisition)]].tolist():
            if needed not in listed:
                raise ValueError(f"{acquisition!r} in the panel {name!r} needs {needed!r} first; add it to the panel")
    chosen = [names.index(a) for a in listed]
    if rules.budget is None and rules.related is None:
        for j in free_acquisitions(rules):
            if j not in chosen and (needs is None or not needs[j].any()):
                chosen.append(j)
    candidates = candidates_at(PANEL, rules.options(), [{"panel": chosen}])
    return _compared_method(name, name, candidates, [{"panel": ", ".join(names[j] for j in chosen)}], protocol)


def free_acquisitions(rules: Rules) -> list[int]:
    """The acquisitions that cost nothing for any case."""
    return [] if rules.costs_by_case else np.flatnonzero(rules.costs == 0).tolist()


def _named_panels(panels: Any) -> dict[str, Sequence[str]]:
    """The panels by name; a single one, a list of names, is "your panel". TypeError for anything else."""
    if panels is None:
        return {}
    named = panels if isinstance(panels, Mapping) else {"your panel": panels}
    for name, listed in named.items():
        if isinstance(listed, str) or not isinstance(listed, Sequence) or not listed:
            raise TypeError(
                "panels must be a list of acquisitions, or a mapping name -> list, such as {'mine': ['crp', 'ecg']}; "
                f"got {brief(listed)} for {name!r}"
            )
    return {str(name): listed for name, listed in named.items()}


def _from_user(name: str, given: Any, protocol: Protocol) -> ComparedMethod:
    """A method given as an estimator, a list of estimators, a factory, or a policy that was trained before."""
    from fsgym.comparison import pipelines, policies

    is_list = isinstance(given, list | tuple)
    candidates = list(given) if is_list else [given]
    if isinstance(given, FrozenEstimator):
        return ComparedMethod(name, name, (given.estimator,), ({},), fitted=True)
    if not candidates:
        raise ValueError(f"method {name!r} must have at least one estimator, got an empty list")
    if isinstance(given, type) and hasattr(given, "get_params"):
        raise TypeError(f"method {name!r} must be an estimator, got the class {given.__name__}; pass an instance of it")
    if not is_list and not pipelines.is_estimator(given):
        if not (callable(given) or hasattr(given, "predict") or hasattr(given, "trajectories")):
            raise TypeError(f"method {name!r} must be an estimator, a policy or a callable, got {type(given).__name__}")
        if hasattr(given, "predict") and hasattr(given, "fit") and not hasattr(given, "features_used"):
            raise TypeError(
                f"method {name!r} ({type(given).__name__}) must have features_used(X) -> bool (n_samples, n_features), "
                "which says which features it uses for each row"
            )
        if policies.is_factory(given):
            params = tuple({"lam": v} for v in protocol.sweep)
            return ComparedMethod(name, name, tuple(policies.PolicyFactory(given, **p) for p in params), params)
        policies.training_origin(given)  # raises for a policy whose observations cannot be rebuilt
        return ComparedMethod(name, name, (given,), ({},), fitted=True)
    for candidate in candidates:
        if not pipelines.is_estimator(candidate):
            raise TypeError(f"method {name!r} lists {type(candidate).__name__}, which is not a scikit-learn estimator")
    if any(_is_fitted(c) for c in candidates):
        warn_caller(
            f"{name!r} is fitted already and is fitted again in each split; put it into sklearn.frozen.FrozenEstimator "
            "to evaluate it as it is"
        )
    candidates = [pipelines.own_estimator(c, protocol.dataset) for c in candidates]
    parameters = [pipelines.settings_of(c) for c in candidates]
    by_means = protocol.rules.costs_by_case and any(_plans_by_means(c, protocol.dataset) for c in candidates)
    title = name + MEAN_PRICES if by_means else name
    return _compared_method(name, title, [clone(c) for c in candidates], _differences(parameters), protocol)


def _plans_by_means(candidate: Any, dataset: Dataset) -> bool:
    """Whether an estimator plans by the means of the prices by case that the data set has."""
    if takes_prices_of(candidate, dataset):
        return not getattr(candidate, "takes_case_costs", False)
    costs, groups = (getattr(candidate, name, None) for name in ("costs", "groups"))
    return costs is not None and groups is None and are_mean_prices(costs, dataset)


def _is_fitted(candidate: Any) -> bool:
    try:
        check_is_fitted(candidate)
    except (NotFittedError, TypeError):
        return False
    return True


def _differences(parameters: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The parameters in which estimators differ, as JSON values, one dict per estimator."""
    keys = dict.fromkeys(k for p in parameters for k in p)
    varying = [k for k in keys if len({repr(p.get(k)) for p in parameters}) > 1]
    return [{k: _json_or_repr(p.get(k)) for k in varying} for p in parameters]


def _json_or_repr(value: Any) -> Any:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return repr(value)[:80]
    return value


def _compared_method(
    name: str, title: str, candidates: list[Any], params: list[dict], protocol: Protocol
) -> ComparedMethod:
    """A method whose candidates are wrapped so that all of them accept missing values and answer by expected cost."""
    error_costs, classes = protocol.rules.options().get("error_costs"), protocol.dataset.classes.tolist()
    imputed, caution, wrapped = False, "", []
    missing = bool(np.isnan(protocol.dataset.X).any())
    for candidate in candidates:
        method = candidate
        if missing:
            from fsgym.comparison.pipelines import ImputedMean, accepts_missing

            method = candidate if accepts_missing(candidate) else ImputedMean(candidate)
            imputed = imputed or method is not candidate
        if error_costs is not None and not (protocol.dataset.bins is not None and is_regressor(candidate)):
            caution = caution or _error_cost_caution(candidate)
            if has_scores(candidate) and not knows_error_costs(candidate):
                method = ExpectedCostClassifier(method, error_costs, classes)
        wrapped.append(method)
    return ComparedMethod(name, title, tuple(wrapped), tuple(params), imputed=imputed, caution=caution)


def _error_cost_caution(candidate: Any) -> str:
    """What must be said of a method that does not answer by the costs of errors; "" if it does."""
    if knows_error_costs(candidate):
        known = candidate.get_params(deep=False)["error_costs"] is not None
        return "" if known else "ignores the costs of errors; pass them to its parameter error_costs"
    if has_scores(candidate):
        return ""
    return "ignores the costs of errors, as it has neither predict_proba nor decision_function"
