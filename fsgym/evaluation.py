"""What a policy does on a data set, and what it costs: one yardstick for agents and baselines."""

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
from fsgym.rules import Rules, State
from fsgym.rules import kernels as mdp

BATCH = 4096


@dataclass(frozen=True, eq=False)
class Trajectories:
    """What was asked, in which order, and what was answered, for each datum.

    Attributes
    ----------
    order : int32 (n_samples, longest), the acquisitions in the order made, then -1
    acquired : bool (n_samples, n_features), z at the end
    answers : int64 (n_samples,), codes of the classes answered
    forfeited : bool (n_samples,), whether an illegal action ended the episode
    """

    order: NDArray[np.int32]
    acquired: NDArray[np.bool_]
    answers: NDArray[np.int64]
    forfeited: NDArray[np.bool_]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of acquisitions of each datum, int64 (n_samples,)."""
        return (self.order >= 0).sum(axis=1)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """How a policy does on a data set under rules.

    Attributes
    ----------
    accuracy, balanced_accuracy : float
    sparsity : float, 1 - mean share of features used (Dulac-Arnold et al., 2012, section 6)
    n_features, n_acquisitions : float, mean numbers of features used and of acquisitions paid for
    spent : float, mean price of the acquisitions in the unit of ``costs``
    acquisition_cost : float, ``lam * spent``
    error_cost : float, mean error cost
    loss : float, ``error_cost + acquisition_cost`` (eqs. 2, 6 and 8)
    admissible : float, share of the data for which the rules allow what was used
    illegal : float, share of the data forfeited by an illegal action
    answers : int64 (n_samples,), codes of the classes answered
    used : bool (n_samples, n_features)
    losses : float64 (n_samples,), the loss of each datum
    trajectories : Trajectories or None, for methods that have an order
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
        """The scalar figures, by name."""
        return {name: getattr(self, name) for name in self.FIGURES}

    @property
    def usage(self) -> NDArray[np.float64]:
        """Share of the data for which each feature is used, float64 (n_features,) (the paper's Fig. 4)."""
        return self.used.mean(axis=0)

    @property
    def histogram(self) -> NDArray[np.int64]:
        """Number of data classified with 0, 1, ..., n_features features, int64 (n_features + 1,)."""
        return np.bincount(self.used.sum(axis=1), minlength=self.used.shape[1] + 1)

    def usage_by_class(self) -> NDArray[np.float64]:
        """As ``usage``, of each class over its correctly classified data (Fig. 8): float64 (n_classes, n_features).

        NaN for a class none of whose data is classified correctly.
        """
        right = self.answers == self.dataset.y
        shares = np.full((self.dataset.n_classes, self.used.shape[1]), np.nan)
        for k in range(self.dataset.n_classes):
            rows = right & (self.dataset.y == k)
            if rows.any():
                shares[k] = self.used[rows].mean(axis=0)
        return shares

    def __repr__(self) -> str:
        return (
            f"Evaluation(accuracy {self.accuracy:.3f}, {self.n_features:.2f} features, "
            f"sparsity {self.sparsity:.3f}, loss {self.loss:.4f})"
        )


def evaluate(policy: Any, env_or_dataset: Any, rules: Rules | None = None) -> Evaluation:
    """Let a policy classify every row of a data set once, and price what it looked at.

    Parameters
    ----------
    policy : estimator, agent, Stable-Baselines3 model or callable
        A fitted classifier with ``features_used`` (and, where it has an order, ``trajectories``); an object with
        ``predict(observation, ...)`` as Stable-Baselines3 has it; or a callable
        ``(observations, action_masks) -> actions`` on batches.
    env_or_dataset : gymnasium environment of this package, or Dataset
        Where to evaluate; all rows are used.
    rules : Rules, optional
        By default those of the environment; for a ``Dataset`` its own groups and costs.

    Raises
    ------
    TypeError, ValueError
        Where the policy is none of these, or does not fit the data.

    Examples
    --------
    >>> import fsgym, gymnasium
    >>> env = gymnasium.make("DatumWise-v0", split="test")
    >>> result = fsgym.evaluate(lambda observations, masks: [31] * len(observations), env)
    >>> result.n_features
    0.0
    """
    dataset, rules = _place(env_or_dataset, rules)
    if hasattr(policy, "features_used"):
        return _of_estimator(policy, dataset, rules)
    if callable(getattr(policy, "trajectories", None)):
        return _priced(policy.trajectories(dataset.X, rules), dataset, rules)
    return _priced(play(as_actor(policy), dataset, rules), dataset, rules)


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
    """Run ``actor(observations, action_masks) -> actions`` on every row; only unfinished rows are shown to it."""
    parts = []
    for first in range(0, dataset.n_samples, BATCH):
        rows = np.arange(first, min(first + BATCH, dataset.n_samples))
        episodes = Episodes(dataset, rules, len(rows))
        episodes.begin(np.arange(len(rows)), rows)
        reward, ended, outcomes = np.zeros(len(rows)), np.zeros(len(rows), bool), EpisodeOutcomes.blank(len(rows))
        forfeited = np.zeros(len(rows), bool)
        order = np.full((len(rows), rules.n_acquisitions), -1, np.int32)
        actions = np.zeros(len(rows), np.int64)
        for step in range(rules.n_acquisitions + 1):
            live = np.flatnonzero(episodes.active)
            if not len(live):
                break
            chosen = np.asarray(actor(episodes.observation[live], episodes.state.legal[live].astype(bool)))
            if chosen.shape != (len(live),) or chosen.dtype.kind not in "iu":
                raise ValueError(
                    f"the policy must return {len(live)} whole numbers, got {chosen.dtype} of shape {chosen.shape}"
                )
            actions[live] = chosen
            episodes.step(actions, reward, ended, outcomes)
            asked = live[~ended[live]]
            if len(asked):
                order[asked, step] = actions[asked]
            forfeited |= ended & (actions < rules.n_acquisitions)
        parts.append((order, episodes.acquired(), outcomes.prediction, forfeited))
    order, acquired, answers, forfeited = (np.concatenate(p) for p in zip(*parts, strict=True))
    longest = int((order >= 0).sum(axis=1).max(initial=0))
    return Trajectories(order[:, :longest], acquired, answers, forfeited)


def loss_scorer(rules: Rules) -> Callable[[Any, Any, Any], float]:
    """A scorer for GridSearchCV and cross_validate: minus the loss under ``rules``.

    Accuracy alone would always choose the cheapest price and the most features.

    Parameters
    ----------
    rules : Rules
        Prices and error costs to judge by, the same for all candidates.

    Examples
    --------
    >>> from fsgym import Rules, loss_scorer
    >>> scorer = loss_scorer(Rules(30, 2, lam=0.01))
    """
    return _LossScorer(rules)


class _LossScorer:
    """Callable (estimator, X, y) -> float; a class so that it can be sent to worker processes."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        if hasattr(estimator, "steps"):  # a Pipeline: judge its last step on what reaches it
            X, estimator = estimator[:-1].transform(X), estimator[-1]
        table = np.asarray(X, dtype=np.float32)
        dataset = Dataset(table, y, classes=estimator.classes_)
        return -_of_estimator(estimator, dataset, self.rules, X).loss


def _place(env_or_dataset: Any, rules: Rules | None) -> tuple[Dataset, Rules]:
    if isinstance(env_or_dataset, Dataset):
        return env_or_dataset, rules or Rules.for_dataset(env_or_dataset)
    env = getattr(env_or_dataset, "unwrapped", env_or_dataset)
    if not isinstance(getattr(env, "dataset", None), Dataset):
        raise TypeError(f"evaluate needs a Dataset or an environment of fsgym, got {type(env_or_dataset).__name__}")
    return env.dataset, rules or env.rules


def _of_estimator(estimator: Any, dataset: Dataset, rules: Rules, X: Any = None) -> Evaluation:
    X = dataset.X if X is None else X
    if callable(getattr(estimator, "trajectories", None)):
        trajectories = estimator.trajectories(X)
        answers = codes_of(estimator.classes_[trajectories.answers], dataset)
        return _priced(
            Trajectories(trajectories.order, trajectories.acquired, answers, trajectories.forfeited), dataset, rules
        )
    answers = codes_of(estimator.predict(X), dataset)
    used = np.asarray(estimator.features_used(X), dtype=bool)
    if used.shape != dataset.X.shape:
        raise ValueError(f"features_used must return shape {dataset.X.shape}, got {used.shape}")
    spent, admissible, taken = rules.price_sets(rules.acquisitions_of(used), dataset.X)
    return _summary(dataset, rules, answers, used & ~np.isnan(dataset.X), taken.sum(axis=1), spent, admissible)


def codes_of(labels: ArrayLike, dataset: Dataset) -> NDArray[np.int64]:
    """Codes into ``dataset.classes`` of predicted labels; ValueError for a label that is not among them."""
    labels = np.asarray(labels)
    codes = np.searchsorted(dataset.classes, labels).clip(max=dataset.n_classes - 1)
    wrong = dataset.classes[codes] != labels
    if wrong.any():
        raise ValueError(f"the policy answered {labels[wrong][0]!s}, which is no class of {dataset.name!r}")
    return codes.astype(np.int64)


def _priced(trajectories: Trajectories, dataset: Dataset, rules: Rules) -> Evaluation:
    order = trajectories.order
    if order.shape[0] != dataset.n_samples or (order.size and order.max() >= rules.n_acquisitions):
        raise ValueError("the policy acquires what these rules do not know; evaluate it under rules with its groups")
    spent, made, admissible = price_orders(rules, dataset.X, order)
    answers = np.where(trajectories.forfeited, rules.costliest_answers(dataset.y), trajectories.answers)
    return _summary(dataset, rules, answers, trajectories.acquired, made, spent, admissible, trajectories)


def price_orders(
    rules: Rules, X: NDArray[np.float32], order: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
    """What the acquisitions of each row cost in their order.

    Parameters
    ----------
    X : float32 (n_samples, n_features); only which values are missing is read
    order : int32 (n_samples, longest), acquisitions, then -1

    Returns
    -------
    spent : float64 (n_samples,), in the unit of ``costs``
    made : int64 (n_samples,), acquisitions paid for
    admissible : bool (n_samples,), whether the rules allow each of them
    """
    spent, made = np.zeros(len(order)), np.zeros(len(order), np.int64)
    admissible = np.ones(len(order), bool)
    state = State.blank(1, rules.n_acquisitions, rules.n_actions)
    _price_orders(rules.tables, state, X, order, spent, made, admissible)
    return spent, made, admissible


@njit(cache=True, nogil=True, _nrt=False)
def _price_orders(t, state, X, order, spent, made, admissible):
    """What the acquisitions of each row cost in their order; what is missing is not paid for."""
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
        made[i] = state.n_taken[0]


def _summary(
    dataset: Dataset,
    rules: Rules,
    answers: NDArray[np.int64],
    used: NDArray[np.bool_],
    n_acquisitions: NDArray[np.int64],
    spent: NDArray[np.float64],
    admissible: NDArray[np.bool_],
    trajectories: Trajectories | None = None,
) -> Evaluation:
    right = answers == dataset.y
    errors = rules.error_costs[answers, dataset.y]
    losses = errors + rules.lam * spent
    recalls = [right[dataset.y == k].mean() for k in np.unique(dataset.y)]
    return Evaluation(
        accuracy=float(right.mean()),
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
