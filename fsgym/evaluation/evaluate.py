"""Evaluation of policies on a data set: the same accuracy, usage and costs for agents and for baselines."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsgym.data.blocks import Blocks
from fsgym.data.checks import as_pandas
from fsgym.data.dataset import Dataset
from fsgym.data.targets import check_target_numbers
from fsgym.envs.episodes import EpisodeOutcomes, Episodes
from fsgym.envs.trajectories import EpisodeTable, Trajectories, price_orders
from fsgym.evaluation.result import Evaluation
from fsgym.metrics import aligned_probabilities, mean_recall
from fsgym.rules import Rules
from fsgym.text.messages import brief, warn_caller

ROWS_PER_BATCH = 4096  # evaluated at a time; bounds the memory of the observations
LEAST_IN_RANGE = 0.7  # of the numbers shown to a model of scaled values, below which evaluate warns; by hand
TOTAL_TOLERANCE = 1e-4  # of the sum of the probabilities of a row, which may be float32


def evaluate(policy: Any, data: Any, y: Any = None, *, rules: Rules | None = None) -> Evaluation:
    """Run a policy on every row of a data set; measure accuracy, features used, costs and loss.

    Parameters
    ----------
    policy : estimator, agent, Stable-Baselines3 model or callable
        A fitted classifier, or for a numeric target a regressor, with ``features_used`` (and ``trajectories``, if it
        acquires features in an order); an ``agents.Policy``; an object with ``predict(observation, ...)`` as in
        Stable-Baselines3; or a callable ``(observations, action_masks) -> actions`` on batches. Where one of the last
        two also has ``state_probabilities(acquired, values)``, see ``with_probabilities``, the result has the scores
        of probabilities.
    data : gymnasium environment of this package, Dataset, Blocks, or table (n_samples, n_columns)
        The data to evaluate on; all rows are used once. Those of ``Blocks`` (``fsgym.open_blocks``) are read in one
        pass; the result then has no trajectories. A table is an array or a DataFrame, and needs ``y``. A
        classifier of ``agents`` finds its columns in a DataFrame or ``Dataset`` by name, and is shown the values before
        ``Dataset.scaled`` where its training rows had such. Any other policy is shown the values of the data set.
    y : array-like of shape (n_samples,), optional
        The labels of a table.
    rules : Rules, optional
        By default those of the environment, else those that the classifier was trained with (``rules_``), else
        ``Rules.for_dataset``. They price what it does. A classifier acts by its own rules all the same: ``admissible``
        is the share of the rows whose acquisitions these allow.

    Raises
    ------
    TypeError, ValueError
        If the policy is none of these, its features or classes are not those of the data, or ``y`` is missing.

    Examples
    --------
    >>> import fsgym, gymnasium
    >>> env = gymnasium.make("fsgym:DatumWise-v0", split="test")
    >>> result = fsgym.evaluate(lambda observations, masks: [31] * len(observations), env)
    >>> result.n_features
    0.0
    """
    if isinstance(data, Blocks):
        if y is not None:
            raise TypeError("y must be left out: Blocks has its own labels")
        return _evaluate_blocks(policy, data, rules)
    return judge(*play_policy(policy, data, y, rules))


class Sets(NamedTuple):
    """What a policy did that acquires in no order."""

    used: NDArray[np.bool_]  # (n_samples, n_features), the features used for each row
    answers: NDArray[np.int64]  # (n_samples,), class codes
    probabilities: NDArray[np.float64] | None  # (n_samples, n_classes), or None
    predicted: NDArray[np.float64] | None  # (n_samples,), or None; the answers to a numeric target


def play_policy(policy: Any, data: Any, y: Any, rules: Rules | None) -> tuple[Trajectories | Sets, Dataset, Rules]:
    """What a policy does on every row, with the data set and the rules by which ``judge`` evaluates it.

    Arguments and errors are those of ``evaluate``. Nothing but the answer to an illegal action depends on the labels,
    and ``judge`` replaces it.
    """
    if isinstance(y, Rules):  # the third argument of fsgym 0.1
        y, rules = None, y
    if isinstance(data, tuple):
        raise TypeError("the table and its labels must be two arguments, evaluate(policy, X, y), got a tuple")
    if hasattr(policy, "named_steps"):  # a Pipeline: evaluate its last step on the transformed table
        data, policy = policy[:-1].transform(data), policy[-1]
    if callable(getattr(policy, "labelled_dataset", None)):
        return _play_agent(policy, data, y, rules)
    given = rules
    dataset, rules = _dataset_and_rules(data, y, rules, getattr(policy, "classes_", None))
    if hasattr(policy, "features_used"):
        own = getattr(policy, "rules_", None)
        of_data = hasattr(getattr(data, "unwrapped", data), "rules")
        if given is None and not of_data and isinstance(own, Rules):
            rules = own
            rules.check(dataset)
        X = data if y is not None else _as_fitted(policy, dataset)
        return _play_estimator(policy, dataset, rules, X), dataset, rules
    if callable(getattr(policy, "trajectories", None)):
        return policy.trajectories(dataset.X, rules), dataset, rules
    n_actions = getattr(getattr(policy, "action_space", None), "n", rules.n_actions)
    if n_actions != rules.n_actions:
        raise ValueError(f"the policy must choose among the {rules.n_actions} actions of the rules, got {n_actions}")
    return with_probabilities(play(as_actor(policy), dataset, rules), policy, dataset), dataset, rules


class Outcomes(NamedTuple):
    """What happened to each row of a data set.

    Attributes
    ----------
    answers : int64 (n_samples,), class codes
    used : bool (n_samples, n_features)
    n_acquisitions : int64 (n_samples,)
    spent : float64 (n_samples,)
    admissible, forfeited : bool (n_samples,)
    probabilities : float64 (n_samples, n_classes), or None
    predicted : float64 (n_samples,), or None
    """

    answers: NDArray[np.int64]
    used: NDArray[np.bool_]
    n_acquisitions: NDArray[np.int64]
    spent: NDArray[np.float64]
    admissible: NDArray[np.bool_]
    forfeited: NDArray[np.bool_]
    probabilities: NDArray[np.float64] | None
    predicted: NDArray[np.float64] | None = None


def judge(played: Trajectories | Sets, dataset: Dataset, rules: Rules) -> Evaluation:
    """The evaluation of what a policy did on the rows of ``dataset``."""
    trajectories = played if isinstance(played, Trajectories) else None
    return _summarise(dataset, rules, _outcomes(played, dataset, rules), trajectories)


def _outcomes(played: Trajectories | Sets, dataset: Dataset, rules: Rules) -> Outcomes:
    if isinstance(played, Trajectories):
        return _outcomes_of_trajectories(played, dataset, rules)
    used, answers, probabilities, predicted = played
    spent, admissible, taken = rules.price_sets(rules.acquisitions_of(used), dataset.X, dataset.case_costs)
    used, no_row = used & ~np.isnan(dataset.X), np.zeros(dataset.n_samples, bool)
    return Outcomes(answers, used, taken.sum(axis=1), spent, admissible, no_row, probabilities, predicted)


def _evaluate_blocks(policy: Any, blocks: Blocks, rules: Rules | None) -> Evaluation:
    """``evaluate`` on rows that are read block by block."""
    parts, labels, dataset = [], [], blocks.sketch
    for block in blocks:
        played, dataset, rules = play_policy(policy, block, None, rules)
        parts.append(_outcomes(played, dataset, rules))
        labels.append(dataset.y)
    joined: list[Any] = [None if c[0] is None else np.concatenate(c) for c in zip(*parts, strict=True)]
    return _summarise(blocks.seen_as(dataset, np.concatenate(labels)), cast(Rules, rules), Outcomes(*joined))


PLAYED = ("order", "acquired", "answers", "forfeited", "probabilities")  # of trajectories


def arrays_of(played: Trajectories | Sets) -> dict[str, NDArray]:
    """What a policy did as arrays by name, from which ``played_of`` restores it."""
    names = PLAYED if isinstance(played, Trajectories) else Sets._fields
    return {name: array for name in names if (array := getattr(played, name)) is not None}


def played_of(arrays: Mapping[str, NDArray]) -> Trajectories | Sets:
    """What a policy did, from the arrays of ``arrays_of``."""
    if "order" in arrays:
        given: dict[str, Any] = dict(arrays)
        return Trajectories(**given)
    return Sets(arrays["used"], arrays["answers"], arrays.get("probabilities"), arrays.get("predicted"))


def as_actor(policy: Any) -> Callable[[NDArray, NDArray], ArrayLike]:
    """A callable (observations, action_masks) -> actions, from a Stable-Baselines3 model or such a callable."""
    predict = getattr(policy, "predict", None)
    if predict is not None:
        parameters = inspect.signature(predict).parameters
        if "observation" not in parameters:
            raise TypeError(
                f"{type(policy).__name__} has predict but not features_used; a classifier needs features_used(X) -> "
                "bool (n_samples, n_features) to be evaluated"
            )
        if "action_masks" in parameters:
            return lambda observations, masks: predict(observations, deterministic=True, action_masks=masks)[0]
        return lambda observations, masks: predict(observations, deterministic=True)[0]
    if not callable(policy):
        kind = type(policy).__name__
        raise TypeError(f"policy must be an estimator, a model with predict, or a callable, got {kind}")
    actor: Callable[[NDArray, NDArray], Any] = policy
    return actor


def with_probabilities(done: Trajectories, policy: Any, dataset: Dataset) -> Trajectories:
    """The trajectories, with the class probabilities at their ends of a policy that has ``state_probabilities``.

    It is given ``acquired``, bool (n, n_features), and ``values``, float32 (n, n_features), which are 0 where they were
    not acquired, as in an observation. It returns (n, n_classes), with rows that sum to 1; ValueError for others.
    """
    if not callable(getattr(policy, "state_probabilities", None)):
        return done
    values = values_shown(done.acquired, dataset.X)
    given = policy.state_probabilities(done.acquired, values)
    shape = dataset.n_samples, dataset.n_classes
    return replace(done, probabilities=_checked_probabilities(given, shape, "state_probabilities"))


def values_shown(acquired: NDArray[np.bool_], X: NDArray[np.float32]) -> NDArray[np.float32]:
    """The values of rows as an observation has them: 0 where they were not acquired."""
    return np.where(acquired, X, np.float32(0))


def play(actor: Callable[[NDArray, NDArray], ArrayLike], dataset: Dataset, rules: Rules) -> Trajectories:
    """Run ``actor(observations, action_masks) -> actions`` on every row; each call gets unfinished rows only."""
    return play_rows(lambda _, observations, masks: actor(observations, masks), dataset, rules)


def play_rows(
    actor: Callable[[NDArray[np.int64], NDArray, NDArray], ArrayLike], dataset: Dataset, rules: Rules
) -> Trajectories:
    """As ``play``, where the first argument of ``actor`` are the numbers of the rows."""
    parts = []
    for first in range(0, dataset.n_samples, ROWS_PER_BATCH):
        rows = np.arange(first, min(first + ROWS_PER_BATCH, dataset.n_samples))
        episodes = Episodes(dataset, rules, len(rows))
        episodes.begin(np.arange(len(rows)), rows)
        reward, ended, outcomes = np.zeros(len(rows)), np.zeros(len(rows), bool), EpisodeOutcomes.blank(len(rows))
        order = np.full((len(rows), rules.n_acquisitions), -1, np.int32)
        actions = np.zeros(len(rows), np.int64)
        for step in range(rules.n_acquisitions + 1):
            unfinished = np.flatnonzero(episodes.active)
            if not len(unfinished):
                break
            legal = episodes.state.legal[unfinished].astype(bool)
            chosen = np.asarray(actor(rows[unfinished], episodes.observation[unfinished], legal))
            if chosen.shape != (len(unfinished),) or chosen.dtype.kind not in "iu":
                raise ValueError(
                    f"the policy must return {len(unfinished)} whole numbers, got {chosen.dtype} {chosen.shape}"
                )
            actions[unfinished] = chosen
            episodes.step(actions, reward, ended, outcomes)
            acquiring = unfinished[~ended[unfinished]]
            if len(acquiring):
                order[acquiring, step] = actions[acquiring]
        parts.append((order, episodes.acquired(), outcomes.prediction, outcomes.illegal))
    order, acquired, answers, forfeited = (np.concatenate(p) for p in zip(*parts, strict=True))
    longest = int((order >= 0).sum(axis=1).max(initial=0))
    return Trajectories(order[:, :longest], acquired, answers, forfeited)


def loss_scorer(rules: Rules) -> Callable[[Any, Any, Any], float]:
    """A scorer for GridSearchCV and cross_validate: minus the loss under ``rules``.

    Selecting by accuracy alone would always prefer the lowest ``lam``, which acquires the most features.

    Parameters
    ----------
    rules : Rules
        Prices and error costs to score with, the same for all candidates.

    Examples
    --------
    >>> from fsgym import Rules, loss_scorer
    >>> scorer = loss_scorer(Rules(30, 2, lam=0.01))
    """
    return _LossScorer(rules)


class _LossScorer:
    """Callable (estimator, X, y) -> float; a class, so that it can be pickled for worker processes."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        return -evaluate(estimator, X, y, rules=self.rules).loss


def _dataset_and_rules(data: Any, y: Any, rules: Rules | None, classes: Any) -> tuple[Dataset, Rules]:
    env = getattr(data, "unwrapped", data)
    if isinstance(getattr(env, "dataset", None), Dataset):
        dataset, own = env.dataset, env.rules
    elif isinstance(data, Dataset):
        dataset, own = data, None
    elif not hasattr(data, "__len__") or isinstance(data, str | bytes):
        raise TypeError(f"evaluate needs a table, a Dataset or an environment of fsgym, got {type(data).__name__}")
    elif y is None:
        raise TypeError(f"evaluate needs y, the labels, for a table; got {type(data).__name__} alone")
    else:
        return _with_rules(_dataset_of_table(data, y, classes), rules)
    if y is not None:
        raise TypeError(f"y must be left out: {type(data).__name__} has its own labels")
    return _with_rules(dataset, rules or own)


def _dataset_of_table(data: Any, y: Any, classes: Any) -> Dataset:
    """The data set of an array or a DataFrame, with one feature per column."""
    data = as_pandas(data)
    if not hasattr(data, "columns") or not all(isinstance(name, str) for name in data.columns):
        return Dataset(data, y, classes=classes)
    from fsgym.data.reading.frames import infer_columns

    columns = infer_columns(data, one_hot=False)
    return Dataset(columns.encode(data), y, classes=classes, columns=columns)


def _with_rules(dataset: Dataset, rules: Rules | None) -> tuple[Dataset, Rules]:
    return dataset, rules or Rules.for_dataset(dataset)


def _as_fitted(estimator: Any, dataset: Dataset) -> Any:
    """The features of a data set as the estimator takes them: as a table with names if it was fitted on one."""
    if not hasattr(estimator, "feature_names_in_"):
        return dataset.to_array()
    import pandas as pd

    return pd.DataFrame(dataset.to_array(), columns=list(dataset.feature_names))


def _play_agent(model: Any, data: Any, y: Any, rules: Rules | None) -> tuple[Trajectories, Dataset, Rules]:
    """``play_policy`` of a classifier of ``agents``, which knows its columns, classes and rules."""
    env = getattr(data, "unwrapped", data)
    if isinstance(getattr(env, "dataset", None), Dataset):
        data, rules = env.dataset, rules or env.rules
    if isinstance(data, Dataset):
        data = in_values_of(model, data)
    dataset = model.labelled_dataset(data, y)
    ranges = {(c.low, c.high) for c in model.columns_ if c.kind == "number"}
    if ranges == {(-1.0, 1.0)} and (share := _share_in_range(model, dataset.to_array())) < LEAST_IN_RANGE:
        warn_caller(
            f"the model was trained on values from -1 to 1, as those of an environment are after Dataset.scaled, but "
            f"only {share:.0%} of these are; show it rows of the environment"
        )
    own: Rules = model.rules_
    if rules is None and dataset.case_costs is not None and not own.costs_by_case:
        warn_caller(
            "each row pays the prices of the model, and not its own of case_costs; pass rules=Rules.for_dataset(data, "
            "lam=...) for these"
        )
    rules, given = rules or own, data.bins if isinstance(data, Dataset) else None
    if given is not None and dataset.bins is not None and given.are_costs(rules.error_costs):
        rules = rules.with_bins(dataset.bins)  # of the model, which knows no others
    rules = _in_order_of(own, rules)
    if (rules.n_classes, rules.groups) != (own.n_classes, own.groups):
        raise ValueError(
            f"rules must have the {own.n_acquisitions} acquisitions and {own.n_classes} classes of the model, got "
            f"{rules!r}; acquisitions are in the order of the columns in training"
        )
    rules.check(dataset)
    if own.n_answers > rules.n_answers:
        raise ValueError("rules must have a refer_cost, as the model may refer a case to a person, got none")
    if own.costs_by_case and not rules.costs_by_case:  # then it plans by the prices that are paid
        model = model.at_prices(rules.costs)
    return model.trajectories(dataset), dataset, rules


def in_values_of(model: Any, dataset: Dataset, unscaled: Dataset | None = None) -> Dataset:
    """The rows before ``Dataset.scaled``, where more of their values are in the ranges of the model's training rows.

    They are ``unscaled``, or else what the data set knows of them.
    """
    unscaled = dataset.before_scaling() if unscaled is None else unscaled
    if unscaled is None or dataset.n_features != len(model.columns_.column_of):
        return dataset
    shares = [_share_in_range(model, rows.to_array()) for rows in (dataset, unscaled)]
    return unscaled if shares[1] > shares[0] else dataset


def _share_in_range(model: Any, values: NDArray) -> float:
    """The share of the known numbers that are in the ranges of the model's training rows; NaN where there are none."""
    ranges = [(model.columns_[k].low, model.columns_[k].high) for k in model.columns_.column_of.tolist()]
    low, high = (np.array([np.nan if v is None else v for v in ends]) for ends in zip(*ranges, strict=True))
    known = ~np.isnan(values) & ~np.isnan(low)
    return float(((values >= low) & (values <= high))[known].mean()) if known.any() else float("nan")


def _in_order_of(own: Rules, rules: Rules) -> Rules:
    """The rules with their acquisitions in the order of ``own``, where both have the same names for as many features.

    Those of a data set are in the order of its columns, which may be another one than in training.
    """
    if (rules.names, rules.groups) == (own.names, own.groups) or sorted(rules.names) != sorted(own.names):
        return rules
    acquisitions = [rules.names.index(name) for name in own.names]
    pairs = [(own.groups[k], rules.groups[j]) for k, j in enumerate(acquisitions)]
    if any(len(new) != len(old) for new, old in pairs):
        return rules
    feature = {i: j for new, old in pairs for i, j in zip(new, old, strict=True)}
    return rules.reordered([feature[i] for i in range(own.n_features)], acquisitions)


def _play_estimator(estimator: Any, dataset: Dataset, rules: Rules, X: Any) -> Trajectories | Sets:
    if callable(getattr(estimator, "trajectories", None)):
        trajectories = estimator.trajectories(X)
        labels = _answer_labels(estimator)
        answers = codes_of(labels[trajectories.answers], dataset, rules)
        probabilities = _probabilities_of(estimator, X, dataset, trajectories.probabilities)
        return replace(trajectories, answers=answers, probabilities=probabilities, table=None)
    from sklearn.base import is_regressor

    predicted = None
    if dataset.bins is not None and is_regressor(estimator):
        predicted = check_target_numbers(estimator.predict(X), dataset.n_samples)
        answers = dataset.bins.codes(predicted)
    else:
        answers = codes_of(estimator.predict(X), dataset, rules)
    used = np.asarray(estimator.features_used(X), dtype=bool)
    if used.shape != dataset.X.shape:
        raise ValueError(f"features_used must return shape {dataset.X.shape}, got {used.shape}")
    return Sets(used, answers, _probabilities_of(estimator, X, dataset), predicted)


def _probabilities_of(
    estimator: Any, X: Any, dataset: Dataset, given: NDArray[np.float64] | None = None
) -> NDArray[np.float64] | None:
    """Class probabilities ``given``, or those of ``predict_proba``, with a column for each class of the data set."""
    if given is None and callable(getattr(estimator, "predict_proba", None)):
        given = np.asarray(estimator.predict_proba(X), dtype=np.float64)
    labels = getattr(estimator, "classes_", None)
    if given is None or labels is None or not set(np.asarray(labels).tolist()) <= set(dataset.classes.tolist()):
        return None
    given = _checked_probabilities(given, (dataset.n_samples, len(labels)), "predict_proba")
    return aligned_probabilities(given, labels, dataset.classes)


def _checked_probabilities(given: ArrayLike, shape: tuple[int, int], method: str) -> NDArray[np.float64]:
    """What ``method`` of a policy returned, float64 with rows that sum to 1; ValueError for other scores."""
    found = np.asarray(given, dtype=np.float64)
    if found.shape != shape:
        raise ValueError(
            f"{method} must return a row for each case and a column for each class, {shape}, got {found.shape}"
        )
    totals = found.sum(axis=1)
    wrong = ~((np.abs(totals - 1) <= TOTAL_TOLERANCE) & (found >= 0).all(axis=1))
    if wrong.any():
        raise ValueError(
            f"{method} must return rows of probabilities with the sum 1, got {brief(found[wrong][0].tolist())}; remove "
            "the method if it returns other scores"
        )
    inexact = np.abs(totals - 1) > 1e-9  # such as those in float32
    return np.where(inexact[:, None], found / totals[:, None], found)


def _answer_labels(estimator: Any) -> NDArray:
    """The labels that a fitted estimator answers, by code: its classes, and what it calls a case that it refers."""
    own = getattr(estimator, "rules_", None)
    return own.answer_labels(estimator.classes_) if isinstance(own, Rules) else estimator.classes_


def codes_of(labels: ArrayLike, dataset: Dataset, rules: Rules | None = None) -> NDArray[np.int64]:
    """Predicted labels as codes into ``dataset.classes``; ValueError for a label that is not among them.

    Under ``rules`` by which a case may be referred, the code of ``refer_label`` is ``n_classes``.
    """
    labels = np.asarray(labels)
    if rules is not None and rules.refer_cost is not None:
        referred = np.array([label == rules.refer_label for label in labels.tolist()], dtype=bool)
        codes = np.full(len(labels), dataset.n_classes, np.int64)
        answered = labels[~referred]
        if len(answered):
            codes[~referred] = codes_of(np.array(answered.tolist()), dataset)
        return codes
    codes = np.searchsorted(dataset.classes, labels).clip(max=dataset.n_classes - 1)
    wrong = dataset.classes[codes] != labels
    if wrong.any():
        raise ValueError(f"the policy answered {labels[wrong][0]!s}, which is not a class of {dataset.name!r}")
    return codes.astype(np.int64)


def _outcomes_of_trajectories(trajectories: Trajectories, dataset: Dataset, rules: Rules) -> Outcomes:
    order = trajectories.order
    if order.shape[0] != dataset.n_samples or (order.size and order.max() >= rules.n_acquisitions):
        raise ValueError(
            "the policy's acquisitions do not exist under these rules; evaluate it under rules with the same groups"
        )
    spent, n_made, admissible = price_orders(rules, dataset.X, order, dataset.case_costs)
    answers = np.where(trajectories.forfeited, rules.costliest_answers(dataset.y), trajectories.answers)
    if answers.max() >= rules.n_answers:
        raise ValueError("rules must have a refer_cost, as the policy refers a case to a person, got none")
    acquired, forfeited = trajectories.acquired, trajectories.forfeited
    return Outcomes(answers, acquired, n_made, spent, admissible, forfeited, trajectories.probabilities)


def error_costs_of(
    dataset: Dataset | Blocks,
    rules: Rules,
    answers: NDArray[np.int64],
    predicted: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """What the answer to each row costs, and the numbers that are answered.

    Parameters
    ----------
    dataset : Dataset or Blocks
    rules : Rules
    answers : int64 (n_samples,), class codes; ``n_classes`` where the case is referred
    predicted : float64 (n_samples,), optional
        The numbers that are answered to a numeric target, by default those of the bins.

    Returns
    -------
    errors : float64 (n_samples,), in the unit of ``error_costs``
        For a numeric target the loss of the number, unless the user has costs of errors for each bin.
    predicted : float64 (n_samples,), NaN where the case is referred; None unless the target is numeric
    """
    errors, bins, numbers = rules.answer_costs[answers, dataset.y], dataset.bins, dataset.numbers
    if bins is None or numbers is None:
        return errors, predicted
    if predicted is None:
        predicted = np.append(bins.values, np.nan)[np.minimum(answers, bins.n_bins)]
    if bins.are_costs(rules.error_costs):
        errors = np.where(answers < dataset.n_classes, bins.losses(numbers, predicted), errors)
    return errors, predicted


def _summarise(
    dataset: Dataset | Blocks, rules: Rules, outcomes: Outcomes, trajectories: Trajectories | None = None
) -> Evaluation:
    """The result; ``outcomes.predicted`` are the numbers of a numeric target where they are not those of the bins."""
    answers, used, n_acquisitions, spent, admissible, forfeited, probabilities, predicted = outcomes
    answered = answers < dataset.n_classes  # the others are referred to a person
    correct, y = (answers == dataset.y)[answered], dataset.y[answered]
    errors, predicted = error_costs_of(dataset, rules, answers, predicted)
    losses = errors + rules.lam * spent
    columns_used = dataset.columns.of_features(used)
    if isinstance(dataset, Dataset) and trajectories is not None and trajectories.table is None:
        shown = EpisodeTable(dataset.X, rules, dataset.columns, dataset.classes, dataset.case_costs)
        trajectories = replace(trajectories, table=shown)
    return Evaluation(
        accuracy=float(correct.mean()) if answered.any() else np.nan,
        balanced_accuracy=mean_recall(y, answers[answered], dataset.n_classes),
        sparsity=float(1.0 - columns_used.mean()),
        n_features=float(columns_used.sum(axis=1).mean()),
        n_acquisitions=float(n_acquisitions.mean()),
        spent=float(spent.mean()),
        acquisition_cost=float(rules.lam * spent.mean()),
        error_cost=float(errors.mean()),
        loss=float(losses.mean()),
        admissible=float(admissible.mean()),
        illegal=float(forfeited.mean()),
        referred=float(1.0 - answered.mean()),
        answers=answers,
        used=used,
        losses=losses,
        trajectories=trajectories,
        dataset=dataset,
        rules=rules,
        probabilities=probabilities,
        predicted=predicted,
    )
