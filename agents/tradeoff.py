"""The base class of classifiers that train at one value of ``lam``, at several, or at the one that a target needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from agents.base import BaseAgentClassifier
from agents.inputs import row_weights, training_rows
from agents.model_file import Labels
from agents.policy import Policy, largest_regret
from agents.whole_table import ChangedBlocks, WholeTable
from fsgym.data.blocks import Blocks
from fsgym.data.columns import Columns, MissingColumns
from fsgym.data.dataset import Dataset
from fsgym.rules import Rules
from fsgym.rules.uninformative import uninformative_acquisitions
from fsgym.support.checks import check_n_jobs, check_number, check_random_state, generator_of, is_integer
from fsgym.text.messages import brief, explain_unknown, option_text

# Search for the ``lam`` at which the mean usage of the policy is as large as a target allows.

MAX_PRICES_TRIED = 14  # fits of a search; by hand
ENOUGH_USE = 0.97  # share of the target from which a policy is accepted without further trials; by hand
MIN_PRICE_RATIO = 1.05  # the bisection stops when the two values of lam differ by less than this factor; by hand
BRACKET_FACTOR = 4.0  # between values of lam while only one side of the target is known; by hand
BEYOND_JUMP_FACTOR = 1.1  # between the values of lam tried above a jump of the usage; by hand
MIN_PRICE_SHARE = 1e-3  # of an error: what all features together cost at the lowest lam; by hand
INITIAL_COST_SHARE = 0.05  # of an error: what the target costs at the first lam that is tried; by hand
MIN_TARGET = 1e-300  # a target of 0 counts as this for the first lam


class Priced(Protocol):
    """What training at one price results in."""

    def usage(self) -> dict[str, float]:
        """Means over the training rows, out of fold: "features" used, and their "cost" in the unit of ``costs``."""
        ...


Result = TypeVar("Result", bound=Priced)


class UsageTarget(NamedTuple):
    """A limit on mean usage over the training rows."""

    quantity: str  # "cost" or "features"
    limit: float
    uncounted: float = 0.0  # of the usage of each row, besides the limit
    cheapest: float | None = None  # the lowest price above 0, where prices are by case; None: that of the rules


def check_target(target_cost: Any, target_features: Any) -> UsageTarget | None:
    """The target that the parameters define, None without one; ValueError or TypeError if they are invalid."""
    if target_cost is not None and target_features is not None:
        raise ValueError(
            f"{option_text('target_cost')} and {option_text('target_features')} cannot both be given; leave one "
            "of them out"
        )
    if target_cost is not None:
        return UsageTarget("cost", check_number(target_cost, option_text("target_cost"), 0.0))
    if target_features is not None:
        return UsageTarget("features", check_number(target_features, option_text("target_features"), 0.0))
    return None


def find_price(target: UsageTarget, rules: Rules, learn_at: Callable[[float], Result]) -> Result:
    """Train at several values of ``lam``, and return the result with the largest mean usage not above the target.

    First the target is bracketed by two values, then the bracket is bisected on a logarithmic scale. Mean usage is not
    a continuous function of ``lam``: it jumps where the policy changes, and may rise again at a slightly higher
    ``lam``. Therefore, if the bracket closes on a jump across the target, a few values above it are tried as well. The
    usage is measured on the training rows, out of fold. It has almost no selection bias, since policies are not
    selected on it within a training.

    Parameters
    ----------
    target : UsageTarget
    rules : Rules, whose own ``lam`` is not used
    learn_at : callable, lam -> result

    Raises
    ------
    ValueError
        If acquisitions that cost nothing already exceed the target.
    """
    low, high = _price_range(rules, target.cheapest)
    lam, usage = _initial_price(target, rules, low, high), 0.0
    best: tuple[float, Result] | None = None
    below: float | None = None  # the largest lam whose policy is known to exceed the target
    above: float | None = None  # the smallest lam whose policy is known not to exceed it
    n_beyond = 0  # values of lam tried above a jump
    for k in range(MAX_PRICES_TRIED):
        lam = high if best is None and k == MAX_PRICES_TRIED - 1 else lam
        result = learn_at(lam)
        usage = result.usage()[target.quantity] - target.uncounted
        if usage <= target.limit:
            if not n_beyond:
                above = lam
            if best is None or usage >= best[0]:
                best = usage, result
            if lam == low or usage >= ENOUGH_USE * target.limit:
                break
        elif lam == high:
            break
        elif not n_beyond:
            below = lam
        if below is not None and above is not None and above / below < MIN_PRICE_RATIO:
            n_beyond += 1
            lam = above * BEYOND_JUMP_FACTOR**n_beyond
            if lam > high:
                break
        else:
            lam = _next_price(below, above, lam, low, high)
    if best is None:
        raise ValueError(
            f"target_{target.quantity}={target.limit:g} cannot be met: acquisitions that cost nothing are always made, "
            f"{usage:.3g} on average; give every feature a price above 0"
        )
    return best[1]


def _next_price(below: float | None, above: float | None, lam: float, low: float, high: float) -> float:
    if below is None:
        return max(lam / BRACKET_FACTOR, low)
    if above is None:
        return min(lam * BRACKET_FACTOR, high)
    return float(np.sqrt(below * above))


def _price_range(rules: Rules, cheapest: float | None) -> tuple[float, float]:
    """The lowest ``lam`` to try, at which all features together cost a thousandth of an error; and the highest one, at
    which each feature costs at least an error, in every case.
    """
    prices = rules.lowest_costs if cheapest is None else np.array([cheapest])
    error = largest_regret(rules)
    total = float(rules.highest_costs.sum())
    if total == 0 or error == 0:
        return 1.0, 1.0
    return MIN_PRICE_SHARE * error / total, error / float(prices[prices > 0].min())


def _initial_price(target: UsageTarget, rules: Rules, low: float, high: float) -> float:
    """The ``lam`` at which the target costs a twentieth of an error; the lowest one if the target allows everything."""
    mean_price = float(rules.costs.mean()) * rules.n_acquisitions / rules.n_features
    unit = 1.0 if target.quantity == "cost" else mean_price
    if target.limit * unit >= rules.costs.sum():
        return low
    error = largest_regret(rules)
    return float(np.clip(INITIAL_COST_SHARE * error / max(target.limit * unit, MIN_TARGET), low, high))


AcquisitionIndices = tuple[int, ...]  # in ascending order


def acquisitions_of_columns(known: Any, columns: Columns, rules: Rules) -> AcquisitionIndices:
    """The acquisitions of the columns that are always known, ascending.

    Parameters
    ----------
    known : sequence of names of columns or their positions, or None
    columns : Columns
    rules : Rules

    Raises
    ------
    ValueError, TypeError
        If a name or position is unknown, or not all columns of a group are known.
    """
    if known is None:
        return ()
    if isinstance(known, str) or not isinstance(known, Sequence | np.ndarray):
        raise TypeError(f"{option_text('known')} must be a list of names or positions of columns, got {brief(known)}")
    option = option_text("known")
    place = {name: k for k, name in enumerate(columns.names)}
    features: set[int] = set()
    for column in known:
        if is_integer(column):
            if not 0 <= column < len(columns):
                raise ValueError(f"{option} must hold positions of columns from 0 to {len(columns) - 1}, got {column}")
            features.update(columns.features[int(column)])
        elif column in place:
            features.update(columns.features[place[column]])
        else:
            raise ValueError(explain_unknown(f"column in {option}", column, columns.names))
    acquisitions = []
    for j, group in enumerate(rules.groups):
        if features.issuperset(group):
            acquisitions.append(j)
        elif features.intersection(group):
            lacking = columns.names[columns.column_of[min(set(group) - features)]]
            raise ValueError(
                f"{option} must hold all columns of {rules.names[j]!r} or none, got it without {lacking!r}; add it"
            )
    return tuple(acquisitions)


def with_known(rules: Rules, known: AcquisitionIndices) -> Rules:
    """The rules with more acquisitions that are always known, and cost nothing."""
    if not known:
        return rules
    paid = [j for j in known if rules.costs_by_case and rules.costs[j] > 0]  # means of prices that are never negative
    if paid:
        raise ValueError(
            f"{option_text('known')} must name columns that cost 0 in every row (there are prices by case), got a mean "
            f"price of {rules.costs[paid[0]]:g} for {rules.names[paid[0]]!r}; give it a price of 0"
        )
    options, free = rules.options(), list(known)
    options["costs"] = rules.costs.copy()
    options["costs"][free] = 0.0
    if rules.related is not None and not rules.forbids_unrelated:
        options["unrelated_costs"] = rules.unrelated_costs.copy()
        options["unrelated_costs"][free] = 0.0
    named: dict[str, Any] = {"names": rules.names, "classes": rules.classes, "costs_by_case": rules.costs_by_case}
    named["always_known"] = {*rules.always_known, *known}
    return Rules(rules.n_features, rules.n_classes, **named, **options)


class TrainingTask(NamedTuple):
    """What a classifier is trained on, in alphabetical order of the columns where they have names."""

    dataset: Dataset  # the rows with a weight above 0
    weight: NDArray[np.float64] | None  # (n_samples,) with mean 1, or None for equal weights
    rules: Rules  # in the same order, at some ``lam``
    rng: np.random.Generator
    skipped: AcquisitionIndices = ()  # acquisitions that tell nothing new: no policy makes them
    # features for which it goes with the class whether they are missing, which the policy is not to learn
    telling: tuple[int, ...] = ()
    whole: WholeTable | None = None  # all rows of a table in blocks, where ``dataset`` is a sample of them


class Learner(ABC):
    """Training at any number of prices, which share what does not depend on them."""

    @abstractmethod
    def learn_at(self, rules: Rules) -> Any:
        """What training at these prices results in, see ``agents.tradeoff.Priced``."""

    @abstractmethod
    def finish(self, model: Any, result: Any) -> Policy:
        """The policy of a result; sets the fitted attributes of ``model`` that only this kind of learner has."""

    def learn_for(self, target: UsageTarget, rules_at: Callable[[float], Rules]) -> Any:
        """What training results in at the ``lam`` that a target needs; ``rules_at`` returns the rules at a ``lam``."""
        return find_price(target, rules_at(0.0), lambda lam: self.learn_at(rules_at(lam)))


class BaseTradeoffClassifier(BaseAgentClassifier):
    """A classifier that trains at ``lam``, at each value of a ``path``, or at the value that a target needs.

    A subclass has the parameters below and implements ``_learner``.

    Attributes
    ----------
    lam_ : float
        The value of lambda that was used: ``lam``, or the one found for the target.
    expected_cost_, expected_n_features_ : float
        Means over the training rows, out of fold.
    """

    target_cost: float | None
    target_features: float | None
    known: Any
    class_weight: Any
    n_jobs: int | None
    random_state: Any
    lam_: float
    expected_cost_: float | None
    expected_n_features_: float | None

    @abstractmethod
    def _learner(self, task: TrainingTask) -> AbstractContextManager[Learner]:
        """Training on these rows, after a check of the parameters of the subclass."""

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Train on a table ``X`` and labels ``y`` (n_samples,), or on a ``Dataset``.

        ``X`` is an array or DataFrame (n_samples, n_columns), with NaN where a value is unavailable. Text, category and
        bool columns of a DataFrame are encoded; dates, identifiers and other suspicious columns raise ValueError.

        Training minimises the weighted mean loss. The weight of a row is its ``sample_weight`` (n_samples,), at least
        0, times that of its class; the weights are divided by their mean, so that a constant factor changes nothing.
        Rows with weight 0 are left out. All means over training rows are weighted, also those that a target limits.

        ``AdaptiveClassifier`` also takes the ``Blocks`` of a table in a file (``fsgym.open_blocks``), which may be
        larger than memory: a sample of 250,000 rows decides on the learner and the policy, and the classifiers of the
        lattice are fitted to all rows.
        """
        target = check_target(self.target_cost, self.target_features)
        self._fit_all(X, y, [self], target, sample_weight)
        return self

    def path(
        self, X: Any, y: Any = None, lams: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> list[Self]:
        """Return one fitted copy of this classifier per value in ``lams`` (n_values,).

        None: the values at which ``fsgym.compare`` trains by default. They depend on ``costs`` and ``error_costs``.

        Each copy is identical to one fitted separately with that ``lam`` and the same int ``random_state``. What does
        not depend on ``lam`` is fitted only once. This classifier itself is not changed.
        """
        prices = np.asarray(self._default_prices(X, y) if lams is None else lams)
        if prices.ndim != 1 or not len(prices) or prices.dtype.kind not in "iuf":
            raise ValueError(f"lams must be a list of at least one number, got {brief(lams)}")
        if check_target(self.target_cost, self.target_features) is not None:
            raise ValueError("path trains at the values in lams; leave target_cost and target_features out")
        models = [clone(self).set_params(lam=lam) for lam in prices.tolist()]
        self._fit_all(X, y, models, sample_weight=sample_weight)
        return models

    def _known(self, dataset: Dataset, rules: Rules) -> AcquisitionIndices:
        return acquisitions_of_columns(self.known, dataset.columns, rules)

    def _rules(self, dataset: Dataset, **changes: Any) -> Rules:
        """The rules that the parameters define for the data; known columns cost nothing."""
        rules = super()._rules(dataset, **changes)
        return with_known(rules, self._known(dataset, rules))

    def _default_prices(self, X: Any, y: Any) -> tuple[float, ...]:
        from fsgym.comparison.protocol import prices_of

        sketch = clone(self)
        return prices_of(None, sketch._rules(sketch._training_data(X, y), lam=0.0), self.error_costs is not None)[0]

    def _fit_all(
        self,
        X: Any,
        y: Any,
        models: list[Self],
        target: UsageTarget | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        """Fit several models that differ only in ``lam``."""
        given = models[0]._training_data(X, y)
        rules_of_models = [self._rules(given, lam=0.0 if target else model.lam) for model in models]
        for model in models:
            model._set_names(given, hasattr(models[0], "feature_names_in_"))
            model._arrange(given, rules_of_models[0])
            if isinstance(X, Blocks):
                model._take_blocks(X)
        arrangement = models[0].arrangement_
        check_n_jobs(self.n_jobs)
        check_random_state(self.random_state)
        weighted_rows, weight = training_rows(arrangement.dataset(given), self.class_weight, sample_weight)
        whole = None
        if isinstance(X, Blocks):
            if sample_weight is not None:
                raise ValueError("sample_weight is for rows in memory, and not for blocks; leave it out")
            if X.n_samples > given.n_samples:
                of_rows = row_weights(self.class_weight, None, X.y, X.classes)
                whole = WholeTable(ChangedBlocks(X, arrangement.block), X.y, of_rows)
        for model in models:
            model._see_rows(weighted_rows)
        any_rules = arrangement.rules(rules_of_models[0])  # all have the same groups and, up to a factor, prices
        tells_nothing = uninformative_acquisitions(weighted_rows.X, any_rules)
        tells_nothing[list(any_rules.always_known)] = False
        skipped, rng = np.flatnonzero(tells_nothing), generator_of(self.random_state)
        if target is not None and weighted_rows.case_costs is not None:
            prices = weighted_rows.case_costs
            target = target._replace(cheapest=float(prices[prices > 0].min(initial=prices.max())))
        task = TrainingTask(
            weighted_rows,
            weight,
            any_rules,
            rng,
            tuple(skipped.tolist()),
            whole=whole,
        )
        with self._learner(task) as learner:
            for model, rules in zip(models, rules_of_models):
                if target is None:
                    result = learner.learn_at(arrangement.rules(rules))
                else:
                    result = learner.learn_for(target, lambda lam: arrangement.rules(self._rules(given, lam=lam)))
                usage = result.usage()  # before the final fit, which changes the result where back-up moves are learned
                model._set_policy(learner.finish(model, result))
                model.lam_ = model.rules_.lam
                model.expected_cost_, model.expected_n_features_ = usage["cost"], usage["features"]

    def predict_proba(self, X: Any, *, missing_columns: MissingColumns = "error") -> NDArray[np.float64]:
        """Class probabilities given the values acquired by the end of each episode, float64 (n_samples, n_classes).

        ``predict`` returns the class with the highest one, or with ``error_costs`` the class with the lowest expected
        cost. With ``class_weight`` or ``sample_weight`` these are the probabilities in the weighted training data.
        """
        probabilities = self._act(X, missing_columns)[1].probabilities
        assert probabilities is not None
        return probabilities

    @property
    def calibration_(self) -> str:
        """ "temperature" if the class probabilities are tempered, else "none"."""
        return "temperature" if self.policy_.is_tempered else "none"

    def _restore(self, policy: Any, header: dict[str, Any], labels: Labels) -> None:
        super()._restore(policy, header, labels)
        features = np.isin(self.rules_.acquisition_of_features, self.rules_.always_known)
        columns = np.flatnonzero(self.columns_.of_features(features[None])[0]).tolist()
        self.known = [self.columns_.names[k] if labels.named else k for k in columns] or None
        self.lam_ = policy.rules.lam
        self.expected_cost_ = labels.expected.get("cost")
        self.expected_n_features_ = labels.expected.get("n_features")

    def _labels(self) -> Labels:
        expected = {"cost": self.expected_cost_, "n_features": self.expected_n_features_}
        return super()._labels()._replace(expected={k: v for k, v in expected.items() if v is not None})
