"""Learn the models of all folds and the final one."""

from __future__ import annotations

import numpy as np

from agents.anystate.network.mlp import MLP
from agents.anystate.network.model import NetworkModel
from agents.anystate.network.predictors import FittedPredictors
from agents.anystate.network.ranking import train_ranking
from agents.anystate.network.rollouts import refine_ranking
from agents.anystate.network.task import CandidateTask
from fsgym.rules import Rules
from fsgym.threads import one_blas_thread


def learn_ranking(fitted: FittedPredictors, rules: Rules, seed: int) -> tuple[list[NetworkModel], NetworkModel]:
    """The model of each fold, whose predictor has not seen the fold, and the final model.

    The ranking of all of them is one network, which has learnt from out-of-fold probabilities of all rows.
    """
    task = CandidateTask(rules, fitted.rows.candidates)
    with one_blas_thread():
        learner = train_ranking(fitted, task, seed)
        refine_ranking(learner, np.random.default_rng([seed, 5]))
    ranking, predictors = learner.averaged, learner.predictors
    *nets, answer = predictors.networks

    def model(networks: list[MLP], shares: list[float]) -> NetworkModel:
        rows = fitted.rows
        return NetworkModel(
            rows.candidates, rows.embedding, networks, np.array(shares), predictors.temperature, ranking, rules
        )

    n = len(nets)
    return [model([net], [1.0]) for net in nets], model([*nets, answer], [0.5 / n] * n + [0.5])
