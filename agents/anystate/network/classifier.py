"""The classifier with one network for all states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from agents.anystate.classifier import BaseAnyStateClassifier, Candidates
from agents.anystate.learn import CrossFittedModels
from agents.anystate.network import constants as const
from agents.anystate.network.lookahead import RankingLearner, train_ranking
from agents.anystate.network.mlp import MLP
from agents.anystate.network.model import NetworkModel
from agents.anystate.network.predictors import FittedPredictors, fit_predictors
from agents.anystate.network.rollouts import refine_ranking
from agents.anystate.network.task import CandidateTask
from agents.anystate.policy import AnyStatePolicy
from agents.tradeoff import TrainingTask
from fsgym.rules import Rules
from fsgym.rules.options import RuleOptionsButLam, takes_rule_options
from fsgym.support.checks import is_integer
from fsgym.support.threads import one_blas_thread
from fsgym.text.messages import brief

# Learn the models of all folds and the final one.


def learn_ranking(fitted: FittedPredictors, rules: Rules, seed: int) -> tuple[list[NetworkModel], NetworkModel]:
    """The model of each fold, whose predictor has not seen the fold, and the final model.

    The ranking of all of them is one network, which has learnt from out-of-fold probabilities of all rows. With many
    rows several are trained, and the one of the smallest out-of-fold loss is used. The final model averages the scores
    of the predictors of all folds.

    Parameters
    ----------
    fitted : FittedPredictors
        Not changed, so that they serve for several prices.
    rules : Rules, with the groups that the predictors were trained with
    seed : int

    Raises
    ------
    ValueError
        If the rules have other groups.
    """
    rows = fitted.rows
    if rules.groups != rows.groups:
        raise ValueError("the rules must have the groups that the predictors were trained with")
    n_fits = next(n for most, n in const.N_FITS_BY_ROWS.items() if rows.dataset.n_samples <= most)
    fits: list[tuple[float, RankingLearner]] = []
    with one_blas_thread():
        for k in range(n_fits):
            tried = train_ranking(fitted, CandidateTask(rules, rows.candidates), [seed, 3, k])
            fits.append((refine_ranking(tried, np.random.default_rng([seed, 5, k])), tried))
    learner = min(fits, key=lambda fit: fit[0])[1]
    ranking, temperature = learner.averaged, learner.predictors.temperature
    networks = learner.predictors.networks

    def model(predictors: Sequence[MLP]) -> NetworkModel:
        return NetworkModel(rows.candidates, rows.embedding, predictors, temperature, ranking, rules)

    return [model([network]) for network in networks], model(networks)


class AnyStateNetworkPolicy(AnyStatePolicy):
    """The policy around a ``NetworkModel``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from agents import AnyStateNetworkClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> policy = AnyStateNetworkClassifier(lam=0.05, n_steps=100, random_state=0).fit(X[:, [6, 10]], y).policy_
    >>> policy.actions(np.zeros((1, 2), bool), np.zeros((1, 2), np.float32), np.ones((1, 5), bool)).tolist()
    [0]
    """

    kind = "any_network"
    model_class = NetworkModel


class AnyStateNetworkClassifier(BaseAnyStateClassifier):
    """A classifier that acquires the features of each row one by one, with one neural network for all their subsets.

    A network is trained on random subsets of the features, and estimates the class probabilities given any of them. A
    second network learns on states of the training rows what each acquisition is worth: how much lower the loss is
    than that of answering. Whether to go on is decided by a regression on realised returns (Longstaff and Schwartz,
    2001). It needs some thousand rows; on fewer, ``LatticeClassifier`` is better.

    Parameters
    ----------
    lam : float, default 0.01
        Exchange rate between cost and errors: the value of one unit of ``costs``, in units of ``error_costs``. Ignored
        if a target is given.
    n_steps : int, optional
        Training steps of each predictor; the other trainings have steps in proportion. By default 2000, for more than
        30,000 rows 5000.
    target_cost, target_features : float, optional
        Instead of ``lam``: the upper limit of the mean cost of a row's acquisitions, or of the number of features used
        per row, as in ``LatticeClassifier``.
    known : list of names or positions of columns, optional
        Columns that are available for every row at no cost, as in ``LatticeClassifier``.
    class_weight : None, "balanced" or mapping label -> weight, default None
    n_jobs : int, optional
        Not used: the networks are trained in one thread.
    random_state : int, numpy Generator or RandomState, optional
    budget, budget_cost, costs, error_costs, groups, ...
        All options of ``fsgym.Rules``, with the same defaults.

    Attributes
    ----------
    training_loss_ : float, or None for a loaded classifier
        Mean loss of the training rows, out of fold.
    lam_, expected_cost_, expected_n_features_
        As in ``LatticeClassifier``.
    policy_ : AnyStateNetworkPolicy

    Raises
    ------
    ValueError, TypeError
        If data or parameters are invalid.

    References
    ----------
    Longstaff and Schwartz (2001), Valuing American options by simulation: a simple least-squares approach.

    Examples
    --------
    >>> from agents import AnyStateNetworkClassifier
    >>> AnyStateNetworkClassifier(lam=0.05, random_state=0)
    AnyStateNetworkClassifier(lam=0.05, random_state=0)
    """

    policy_class = AnyStateNetworkPolicy
    length_parameter = "n_steps"

    @takes_rule_options
    def __init__(
        self,
        lam: float = 0.01,
        *,
        n_steps: int | None = None,
        target_cost: float | None = None,
        target_features: float | None = None,
        known: Any = None,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        **rule_options: Unpack[RuleOptionsButLam],
    ) -> None:
        self._set_rule_options(lam=lam, **rule_options)
        self.n_steps = n_steps
        self.target_cost = target_cost
        self.target_features = target_features
        self.known = known
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _candidates(self, task: TrainingTask, fold: NDArray[np.int64], seed: int) -> Candidates:
        n_steps = self.n_steps
        if n_steps is None:
            n_steps = next(n for most, n in const.N_STEPS_BY_ROWS.items() if task.dataset.n_samples <= most)
        if not is_integer(n_steps) or n_steps < 1:
            raise ValueError(f"n_steps must be None or a whole number from 1, got {brief(n_steps)}")
        fitted = fit_predictors(task.dataset, task.groups, fold, task.weight, seed, int(n_steps), task.skipped)

        def candidates(rules: Rules) -> list[CrossFittedModels]:
            return [CrossFittedModels(*learn_ranking(fitted, rules, seed))]

        return candidates
