"""The base class of the classifiers with one model for all states."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from agents.anystate.learn import LearntPolicy, learn_policy, training_folds
from agents.anystate.policy import AnyStatePolicy
from agents.anystate.rollouts import MAX_ROLLOUT_LENGTH
from agents.anystate.state_model import StateModel
from agents.calibration import Calibration, TemperedPolicy, calibrated, check_calibration
from agents.model_file import Labels
from agents.policy import MAX_LOSS, Policy
from agents.tradeoff import BaseTradeoffClassifier, Learner, TrainingTask
from fsgym.rules import Rules
from fsgym.support.threads import one_blas_thread

# Acquisitions of a case, beyond what is always known, in those of a row that is followed in training; by hand. Of 3,289
# columns of words, one row in 50 made 3,196 acquisitions, and 15 on average out of fold.
MAX_FOLLOWED = 4

# At the prices of some rules, the models fitted without each fold, and the one fitted to all rows
ModelsAt = Callable[[Rules], tuple[Sequence[StateModel], StateModel]]


class BaseAnyStateClassifier(BaseTradeoffClassifier):
    """A classifier around an ``AnyStatePolicy``. A subclass implements ``_models``.

    Attributes
    ----------
    policy_class : type of AnyStatePolicy, class attribute
    training_loss_ : float, or None for a loaded classifier
        Mean loss of the training rows, out of fold.
    """

    policy_class: ClassVar[type[AnyStatePolicy]]

    calibration: Calibration
    policy_: AnyStatePolicy | TemperedPolicy
    training_loss_: float | None

    @abstractmethod
    def _models(self, task: TrainingTask, fold: NDArray[np.int64], seed: int) -> ModelsAt:
        """Fit what does not depend on prices, after a check of the parameters of the subclass."""

    @contextmanager
    def _learner(self, task: TrainingTask) -> Iterator[AnyStateLearner]:
        fold, seed = training_folds(task.dataset, task.rng), int(task.rng.integers(2**31))
        calibration = check_calibration(self.calibration)
        with one_blas_thread():
            models_at = self._models(task, fold, seed)
            yield AnyStateLearner(task, fold, seed, models_at, self.policy_class, calibration)

    def _restore(self, policy: Policy, header: dict[str, Any], labels: Labels) -> None:
        super()._restore(policy, header, labels)
        self.training_loss_ = None


class AnyStateLearner(Learner):
    """Training at any number of prices, with models that share what does not depend on prices."""

    def __init__(
        self,
        task: TrainingTask,
        fold: NDArray[np.int64],
        seed: int,
        models_at: ModelsAt,
        policy_class: type[AnyStatePolicy],
        calibration: Calibration,
    ) -> None:
        self.task, self.fold, self.seed, self.models_at = task, fold, seed, models_at
        self.policy_class = policy_class
        self.calibration: Calibration = calibration

    def learn_at(self, rules: Rules) -> LearntPolicy:
        """Learn the policy at the prices of these rules."""
        rules.check_largest_loss(MAX_LOSS, self.task.dataset.case_costs)
        data, weight = self.task.dataset, self.task.weight
        return learn_policy(*self.models_at(rules), data, self.fold, weight, rules, self.seed, self.task.skipped)

    def finish(self, model: BaseAnyStateClassifier, result: LearntPolicy) -> Policy:
        """The policy; sets ``training_loss_``."""
        model.training_loss_ = result.loss
        rules, most = result.model.rules, MAX_FOLLOWED * MAX_ROLLOUT_LENGTH
        limit = most if most < rules.tables.counts.sum() else None
        policy = self.policy_class(result.model, result.stop, rules, self.task.skipped, limit)
        return calibrated(policy, result.path, self.calibration)
