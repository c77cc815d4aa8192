"""Evaluation of policies on a data set: the same accuracy, usage and costs for agents and for baselines."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from fsgym.dataset import Dataset
from fsgym.episodes import EpisodeOutcomes, Episodes
from fsgym.html import HtmlTable, html_block
from fsgym.metrics import FIGURE_LABELS, OTHER_FIGURE_LABELS
from fsgym.rules import Rules
from fsgym.rules import kernels as mdp

ROWS_PER_BATCH = 4096  # evaluated at a time; bounds the memory of the observations


@dataclass(frozen=True, eq=False)
class Trajectories:
    """The acquisitions of each row in their order, and its answer.

    Attributes
    ----------
    order : int32 (n_samples, longest), the acquisitions in their order, then -1
    acquired : bool (n_samples, n_features), the features whose values are known at the end (z)
    answers : int64 (n_samples,), class codes
    forfeited : bool (n_samples,), whether an illegal action ended the episode
    """

    order: NDArray[np.int32]
    acquired: NDArray[np.bool_]
    answers: NDArray[np.int64]
    forfeited: NDArray[np.bool_]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of acquisitions for each row, int64 (n_samples,)."""
        return (self.order >= 0).sum(axis=1)

    def __repr__(self) -> str:
        mean, most = (self.lengths.mean(), self.lengths.max()) if len(self.order) else (0.0, 0)
        return f"Trajectories({len(self.order)} rows, {mean:.2f} acquisitions on average, at most {most})"

    def _repr_html_(self) -> str:
        counts = np.bincount(self.lengths)
        shares = ((k, int(n), f"{n / len(self.order):.1%}") for k, n in enumerate(counts))
        parts = [f"{self.forfeited.sum():,} rows ended with an illegal action."] if self.forfeited.any() else []
        return html_block(repr(self), *parts, HtmlTable(["acquisitions", "rows", "share"], shares, len(counts)))


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Result of evaluating a policy on a data set under given rules.

    Attributes
    ----------
    accuracy, balanced_accuracy : float
    sparsity : float, 1 minus the mean share of features used (Dulac-Arnold et al., 2012, section 6)
    n_features, n_acquisitions : float, mean numbers of features used and of acquisitions paid for, per row
    spent : float, mean total price of the acquisitions of a row, in the unit of ``costs``
    acquisition_cost : float, ``lam * spent``
    error_cost : float, mean error cost
    loss : float, ``error_cost + acquisition_cost`` (eqs. 2, 6 and 8)
    admissible : float, share of rows whose acquisitions the rules allow
    illegal : float, share of rows forfeited by an illegal action
    answers : int64 (n_samples,), class codes
    used : bool (n_samples, n_features), the features used for each row
    losses : float64 (n_samples,), the loss of each row
    trajectories : Trajectories, or None for methods that acquire in no order
    dataset : Dataset
    rules : Rules
    """

    accuracy: float
    balanced_accuracy: float
    sparsity: float
    n_features: float
    n_acquisitions: float
    spent: float
    acquisition_cost: float
    error_cost: float
    loss: float
    admissible: float
    illegal: float
    answers: NDArray[np.int64]
    used: NDArray[np.bool_]
    losses: NDArray[np.float64]
    trajectories: Trajectories | None
    dataset: Dataset
    rules: Rules

    FIGURES = (
        "accuracy",
        "balanced_accuracy",
        "sparsity",
        "n_features",
        "n_acquisitions",
        "spent",
        "acquisition_cost",
        "error_cost",
        "loss",
        "admissible",
        "illegal",
    )

    def figures(self) -> dict[str, float]:
        """The numbers listed in ``FIGURES``, by name."""
        return {name: getattr(self, name) for name in self.FIGURES}

    def __repr__(self) -> str:
        return (
            f"Evaluation(accuracy {self.accuracy:.3f}, {self.n_features:.2f} features, "
            f"sparsity {self.sparsity:.3f}, loss {self.loss:.4f})"
        )

    def _repr_html_(self) -> str:
        broken = [name for name, usual in (("admissible", 1.0), ("illegal", 0.0)) if getattr(self, name) != usual]
        labels = FIGURE_LABELS | {name: OTHER_FIGURE_LABELS[name] for name in broken}
        rows = [(label, getattr(self, name)) for name, label in labels.items()]
        title = f"Evaluation on {self.dataset.n_samples:,} rows of {self.dataset.name}"
        return html_block(title, HtmlTable((), rows, len(rows)), repr(self.rules))


def evaluate(policy: Any, env_or_dataset: Any, rules: Rules | None = None) -> Evaluation:
    """Run a policy on every row of a data set; measure accuracy, features used, costs and loss.

    Parameters
    ----------
    policy : estimator, agent, Stable-Baselines3 model or callable
        A fitted classifier with ``features_used`` (and ``trajectories``, if it acquires features in an order); an
        object with ``predict(observation, ...)`` as in Stable-Baselines3; or a callable
        ``(observations, action_masks) -> actions`` on batches.
    env_or_dataset : gymnasium environment of this package, or Dataset
        The data to evaluate on; all rows are used once.
    rules : Rules, optional
        By default those of the environment; for a ``Dataset``, ``Rules.for_dataset(dataset)``.

    Raises
    ------
    TypeError, ValueError
        If the policy is none of these, or its features or classes are not those of the data.

    Examples
    --------
    >>> import fsgym, gymnasium
    >>> env = gymnasium.make("DatumWise-v0", split="test")
    >>> result = fsgym.evaluate(lambda observations, masks: [31] * len(observations), env)
    >>> result.n_features
    0.0
    """
    dataset, rules = _dataset_and_rules(env_or_dataset, rules)
    if hasattr(policy, "features_used"):
        return _evaluate_estimator(policy, dataset, rules)
    if callable(getattr(policy, "trajectories", None)):
        return _evaluate_trajectories(policy.trajectories(dataset.X, rules), dataset, rules)
    return _evaluate_trajectories(play(as_actor(policy), dataset, rules), dataset, rules)


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


def play(actor: Callable[[NDArray, NDArray], ArrayLike], dataset: Dataset, rules: Rules) -> Trajectories:
    """Run ``actor(observations, action_masks) -> actions`` on every row; each call gets unfinished rows only."""
    parts = []
    for first in range(0, dataset.n_samples, ROWS_PER_BATCH):
        rows = np.arange(first, min(first + ROWS_PER_BATCH, dataset.n_samples))
        episodes = Episodes(dataset, rules, len(rows))
        episodes.begin(np.arange(len(rows)), rows)
        reward, ended, outcomes = np.zeros(len(rows)), np.zeros(len(rows), bool), EpisodeOutcomes.blank(len(rows))
        forfeited = np.zeros(len(rows), bool)
        order = np.full((len(rows), rules.n_acquisitions), -1, np.int32)
        actions = np.zeros(len(rows), np.int64)
        for step in range(rules.n_acquisitions + 1):
            unfinished = np.flatnonzero(episodes.active)
            if not len(unfinished):
                break
            chosen = np.asarray(actor(episodes.observation[unfinished], episodes.state.legal[unfinished].astype(bool)))
            if chosen.shape != (len(unfinished),) or chosen.dtype.kind not in "iu":
                raise ValueError(
                    f"the policy must return {len(unfinished)} whole numbers, got {chosen.dtype} {chosen.shape}"
                )
            actions[unfinished] = chosen
            episodes.step(actions, reward, ended, outcomes)
            acquiring = unfinished[~ended[unfinished]]
            if len(acquiring):
                order[acquiring, step] = actions[acquiring]
            forfeited |= ended & (actions < rules.n_acquisitions)
        parts.append((order, episodes.acquired(), outcomes.prediction, forfeited))
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
        if hasattr(estimator, "steps"):  # a Pipeline: evaluate its last step on the transformed table
            X, estimator = estimator[:-1].transform(X), estimator[-1]
        table = np.asarray(X, dtype=np.float32)
        dataset = Dataset(table, y, classes=estimator.classes_)
        return -_evaluate_estimator(estimator, dataset, self.rules, X).loss


def _dataset_and_rules(env_or_dataset: Any, rules: Rules | None) -> tuple[Dataset, Rules]:
    if isinstance(env_or_dataset, Dataset):
        return env_or_dataset, rules or Rules.for_dataset(env_or_dataset)
    env = getattr(env_or_dataset, "unwrapped", env_or_dataset)
    if not isinstance(getattr(env, "dataset", None), Dataset):
        raise TypeError(f"evaluate needs a Dataset or an environment of fsgym, got {type(env_or_dataset).__name__}")
    return env.dataset, rules or env.rules


def _evaluate_estimator(estimator: Any, dataset: Dataset, rules: Rules, X: Any = None) -> Evaluation:
    X = dataset.X if X is None else X
    if callable(getattr(estimator, "trajectories", None)):
        trajectories = estimator.trajectories(X)
        answers = codes_of(estimator.classes_[trajectories.answers], dataset)
        return _evaluate_trajectories(
            Trajectories(trajectories.order, trajectories.acquired, answers, trajectories.forfeited), dataset, rules
        )
    answers = codes_of(estimator.predict(X), dataset)
    used = np.asarray(estimator.features_used(X), dtype=bool)
    if used.shape != dataset.X.shape:
        raise ValueError(f"features_used must return shape {dataset.X.shape}, got {used.shape}")
    spent, admissible, taken = rules.price_sets(rules.acquisitions_of(used), dataset.X)
    return _summarise(dataset, rules, answers, used & ~np.isnan(dataset.X), taken.sum(axis=1), spent, admissible)


def codes_of(labels: ArrayLike, dataset: Dataset) -> NDArray[np.int64]:
    """Predicted labels as codes into ``dataset.classes``; ValueError for a label that is not among them."""
    labels = np.asarray(labels)
    codes = np.searchsorted(dataset.classes, labels).clip(max=dataset.n_classes - 1)
    wrong = dataset.classes[codes] != labels
    if wrong.any():
        raise ValueError(f"the policy answered {labels[wrong][0]!s}, which is not a class of {dataset.name!r}")
    return codes.astype(np.int64)


def _evaluate_trajectories(trajectories: Trajectories, dataset: Dataset, rules: Rules) -> Evaluation:
    order = trajectories.order
    if order.shape[0] != dataset.n_samples or (order.size and order.max() >= rules.n_acquisitions):
        raise ValueError(
            "the policy's acquisitions do not exist under these rules; evaluate it under rules with the same groups"
        )
    spent, n_paid, admissible = price_orders(rules, dataset.X, order)
    answers = np.where(trajectories.forfeited, rules.costliest_answers(dataset.y), trajectories.answers)
    return _summarise(dataset, rules, answers, trajectories.acquired, n_paid, spent, admissible, trajectories)


def price_orders(
    rules: Rules, X: NDArray[np.float32], order: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
    """Total price of the acquisitions of each row, in their order.

    Parameters
    ----------
    rules : Rules
    X : float32 (n_samples, n_features); only which values are missing matters
    order : int32 (n_samples, longest), acquisitions, then -1

    Returns
    -------
    spent : float64 (n_samples,), in the unit of ``costs``
    n_paid : int64 (n_samples,), number of acquisitions paid for; missing values cost nothing
    admissible : bool (n_samples,), whether the rules allow all of them
    """
    spent, n_paid = np.zeros(len(order)), np.zeros(len(order), np.int64)
    admissible = np.ones(len(order), bool)
    state = rules.blank_state()
    _price_orders(rules.tables, state, X, order, spent, n_paid, admissible)
    return spent, n_paid, admissible


@njit(cache=True, nogil=True, _nrt=False)
def _price_orders(t, state, X, order, spent, n_paid, admissible):
    """Compiled loop of ``price_orders``."""
    for i in range(len(order)):
        mdp.start(t, state, 0, X, i)
        for k in range(order.shape[1]):
            j = order[i, k]
            if j < 0:
                break
            if state.status[0, j] == mdp.MISSING:
                continue
            admissible[i] = admissible[i] and state.legal[0, j] == 1
            mdp.acquire(t, state, 0, j)
        spent[i] = state.spent[0]
        n_paid[i] = state.n_taken[0]


def _summarise(
    dataset: Dataset,
    rules: Rules,
    answers: NDArray[np.int64],
    used: NDArray[np.bool_],
    n_acquisitions: NDArray[np.int64],
    spent: NDArray[np.float64],
    admissible: NDArray[np.bool_],
    trajectories: Trajectories | None = None,
) -> Evaluation:
    correct = answers == dataset.y
    errors = rules.error_costs[answers, dataset.y]
    losses = errors + rules.lam * spent
    recalls = [correct[dataset.y == k].mean() for k in np.unique(dataset.y)]
    return Evaluation(
        accuracy=float(correct.mean()),
        balanced_accuracy=float(np.mean(recalls)),
        sparsity=float(1.0 - used.mean()),
        n_features=float(used.sum(axis=1).mean()),
        n_acquisitions=float(n_acquisitions.mean()),
        spent=float(spent.mean()),
        acquisition_cost=float(rules.lam * spent.mean()),
        error_cost=float(errors.mean()),
        loss=float(losses.mean()),
        admissible=float(admissible.mean()),
        illegal=0.0 if trajectories is None else float(trajectories.forfeited.mean()),
        answers=answers,
        used=used,
        losses=losses,
        trajectories=trajectories,
        dataset=dataset,
        rules=rules,
    )
