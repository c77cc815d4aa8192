"""The classifier around a pair of networks: training at any number of prices, held-out rows, limits."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from agents.deep.classifier import MAX_WIDTH
from agents.model_file import Labels
from agents.policy import MAX_LOSS
from agents.tradeoff import BaseTradeoffClassifier, Learner, TrainingTask
from baselines.neural.policy import MaskedInputPolicy
from baselines.neural.stopping import HeldOutStates, StopLimits, best_limits
from baselines.subset_models import stratified_part
from fsgym.data.dataset import Dataset
from fsgym.data.scaling import Scaling
from fsgym.envs.trajectories import price_steps
from fsgym.rules import Rules
from fsgym.rules.options import RuleOptionsButLam, takes_rule_options
from fsgym.rules.rules import cheapest_answers, regrets
from fsgym.support.checks import check_number, is_integer
from fsgym.support.extras import require
from fsgym.text.messages import brief

if TYPE_CHECKING:
    from baselines.neural.training import JointTraining

MAX_ACQUISITIONS = 25  # of a row in training by default. Spambase at .003: GDFS .094 with 10, .087 with 25
HELD_OUT_PARTS = 5  # one of so many parts of the training rows is held out


class TrainedPolicy(NamedTuple):
    """A policy with its figures on the held-out rows."""

    policy: MaskedInputPolicy
    loss: float
    cost: float
    n_features: float

    def usage(self) -> dict[str, float]:
        return {"features": self.n_features, "cost": self.cost}


class BaseNeuralClassifier(BaseTradeoffClassifier):
    """A classifier around a ``MaskedInputPolicy``; a subclass implements ``_training`` and ``_candidates``.

    Attributes
    ----------
    policy_class : type of MaskedInputPolicy, class attribute
    validated_loss_ : float, or None for a loaded classifier
        Mean loss of the held-out rows.
    """

    policy_class: ClassVar[type[MaskedInputPolicy]]
    length_parameter = "n_epochs"
    known = None  # a column that is known in advance has the price 0
    n_jobs = None  # PyTorch trains in one thread, so that a seed fixes every bit

    policy_: MaskedInputPolicy
    validated_loss_: float | None

    @takes_rule_options
    def __init__(
        self,
        lam: float = 0.01,
        *,
        max_acquisitions: int | None = None,
        hidden: Any = (128, 128),
        n_epochs: int = 50,  # at most; vehicle at .01: GDFS .425 with 8, .378 with 50, DIME .371 and .354
        batch_size: int | None = None,
        learning_rate: float = 1e-3,
        target_cost: float | None = None,
        target_features: float | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        **rule_options: Unpack[RuleOptionsButLam],
    ) -> None:
        self._set_rule_options(lam=lam, **rule_options)
        self.max_acquisitions = max_acquisitions
        self.hidden = hidden
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.target_cost = target_cost
        self.target_features = target_features
        self.class_weight = class_weight
        self.random_state = random_state

    @abstractmethod
    def _training(self) -> type[JointTraining]:
        """The class of the training, which imports PyTorch."""

    @abstractmethod
    def _candidates(self, states: HeldOutStates, rules: Rules, nat: float) -> tuple[Sequence[float], Sequence[int]]:
        """Thresholds and lengths among which those of the lowest held-out loss are chosen.

        ``nat`` is what a nat of the predictor's loss is worth before any feature, in units of the error costs: the cost
        of the best constant answer divided by the entropy of the classes.
        """

    @contextmanager
    def _learner(self, task: TrainingTask) -> Iterator[NeuralLearner]:
        hidden = _check_hidden(self.hidden)
        for name in ("max_acquisitions", "n_epochs", "batch_size"):
            value = getattr(self, name)
            by_default = "None or " if name != "n_epochs" else ""
            if (not is_integer(value) or value < 1) and not (by_default and value is None):
                raise ValueError(f"{name} must be {by_default}a whole number from 1, got {brief(value)}")
        if check_number(self.learning_rate, "learning_rate", 0.0) == 0:
            raise ValueError("learning_rate must be above 0, got 0; 0.001 is the default")
        require("deep", type(self).__name__)
        yield NeuralLearner(self, task, hidden)

    def _restore(self, policy: MaskedInputPolicy, header: dict[str, Any], labels: Labels) -> None:
        super()._restore(policy, header, labels)
        self.hidden = tuple(len(bias) for bias in policy.predictor.biases[:-1])
        self.validated_loss_ = None


class NeuralLearner(Learner):
    """Networks that are trained once, since they do not depend on ``lam``, and limits for each price."""

    def __init__(self, model: BaseNeuralClassifier, task: TrainingTask, hidden: tuple[int, ...]) -> None:
        self.model, self.task, self.hidden = model, task, hidden
        self.trained: tuple[MaskedInputPolicy, HeldOutStates] | None = None

    def learn_at(self, rules: Rules) -> TrainedPolicy:
        """The policy at these prices; the rules of later calls differ in ``lam`` only."""
        rules.check_largest_loss(MAX_LOSS)
        if self.trained is None:
            self.trained = self._train(rules)
        policy, states = self.trained
        weight = np.ones(self.task.dataset.n_samples) if self.task.weight is None else self.task.weight
        nat = worth_of_a_nat(self.task.dataset.y, weight, rules)
        limits, loss = best_limits(states, *self.model._candidates(states, rules, nat), rules.lam)
        learnt = type(policy)(policy.predictor, policy.chooser, policy.scaling, limits, rules)
        cost, n_features = (states.mean(figures, limits) for figures in (states.spent, states.n_features))
        return TrainedPolicy(learnt, loss, cost, n_features)

    def finish(self, model: BaseNeuralClassifier, result: TrainedPolicy) -> MaskedInputPolicy:
        model.validated_loss_ = result.loss
        return result.policy

    def _train(self, rules: Rules) -> tuple[MaskedInputPolicy, HeldOutStates]:
        from baselines.neural.training import TensorRows, TrainingSettings  # which need PyTorch

        data, model = self.task.dataset, self.model
        longest = min(model.max_acquisitions or MAX_ACQUISITIONS, rules.n_acquisitions)
        seeds = self.task.rng.integers(2**31, size=2).tolist()
        weight = np.ones(data.n_samples) if self.task.weight is None else self.task.weight
        fitted, held = split_rows(data.y, data.n_classes, seeds[0])
        scaling = Scaling.standard(data.X[fitted])
        fitted_rows, held_rows = (
            TensorRows.of(data.X[rows], data.y[rows], weight[rows], scaling, rules) for rows in (fitted, held)
        )
        settings = TrainingSettings(
            self.hidden, longest, model.n_epochs, model.batch_size, float(model.learning_rate), seeds[1]
        )
        predictor, chooser = model._training()(fitted_rows, held_rows, rules, settings).run()
        policy = model.policy_class(predictor, chooser, scaling, StopLimits(0.0, longest), rules)
        return policy, held_out_states(policy, data.rows(held), weight[held], longest)


def split_rows(y: NDArray[np.int64], n_classes: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows to train on and those to hold out, of each class a fifth, at least one; one of one row is trained on.

    Where no row is left to hold out, all are.
    """
    held = np.zeros(len(y), bool)
    held[stratified_part(y, n_classes, HELD_OUT_PARTS, 1, seed)] = True
    held &= np.bincount(y, minlength=n_classes)[y] > 1
    return np.flatnonzero(~held), np.flatnonzero(held if held.any() else ~held)


def held_out_states(
    policy: MaskedInputPolicy, data: Dataset, weight: NDArray[np.float64], longest: int
) -> HeldOutStates:
    """The states of rows along the preferences of a policy, up to ``longest`` acquisitions."""
    rules, rows = policy.rules, np.arange(data.n_samples)
    order = policy.trajectories(data.X, continue_after_stop=True).order[:, :longest]
    n_states = order.shape[1] + 1
    prices = price_steps(rules, data.X, order)
    spent = np.concatenate([np.zeros((len(rows), 1)), prices.cumsum(axis=1)], axis=1)
    acquisition, known = rules.acquisition_of_features, ~np.isnan(data.X)
    available = rules.acquisitions_of(known)
    taken = np.zeros((len(rows), rules.n_acquisitions), bool)
    need, error_cost, n_features = (np.zeros((len(rows), n_states)) for _ in range(3))
    for k in range(n_states):
        if k:
            acquires = order[:, k - 1] >= 0
            taken[rows[acquires], order[acquires, k - 1]] = True
        acquired = taken[:, acquisition] & known
        legal = rules.legal_and_prices(taken, spent[:, k])[0]
        legal[:, : rules.n_acquisitions] &= available
        found = policy.outlook(acquired, data.X, legal)
        need[:, k], n_features[:, k] = found.need, data.columns.of_features(acquired).sum(axis=1)
        answers = cheapest_answers(found.probabilities, rules.answer_costs)
        error_cost[:, k] = rules.answer_costs[answers, data.y]
    lengths = (order >= 0).sum(axis=1)
    return HeldOutStates(need, error_cost, spent, n_features, lengths, weight / weight.sum())


def worth_of_a_nat(y: NDArray[np.int64], weight: NDArray[np.float64], rules: Rules) -> float:
    """Mean cost of the best constant answer divided by the entropy of the classes, both of weighted rows."""
    shares = np.bincount(y, weight, minlength=rules.n_classes) / weight.sum()
    regret = regrets(rules.answer_costs)
    entropy = -float(shares @ np.log(np.where(shares > 0, shares, 1.0)))
    return float((regret @ shares).min()) / entropy


def _check_hidden(hidden: Any) -> tuple[int, ...]:
    """Widths of the hidden layers, checked."""
    widths: list[Any] = [*hidden] if isinstance(hidden, Iterable) else [None]
    if not all(is_integer(width) and 1 <= int(width) <= MAX_WIDTH for width in widths):
        raise ValueError(f"hidden must be widths of layers, whole numbers from 1 to {MAX_WIDTH}, got {brief(hidden)}")
    return tuple(int(width) for width in widths)
