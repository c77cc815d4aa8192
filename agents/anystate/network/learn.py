"""Learn the models of all folds and the final one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from agents.anystate.network.mlp import MLP
from agents.anystate.network.model import NetworkModel
from agents.anystate.network.predictors import FittedPredictors
from agents.anystate.network.ranking import train_ranking
from agents.anystate.network.rollouts import refine_ranking
from agents.anystate.network.task import CandidateTask
from agents.anystate.state_model import StateModel
from fsgym.rules import Rules
from fsgym.threads import one_blas_thread


def learn_ranking(
    fitted: FittedPredictors, rules: Rules, seed: int, extra: Sequence[StateModel] = ()
) -> tuple[list[NetworkModel], NetworkModel]:
    """The model of each fold, whose predictor has not seen the fold, and the final model.

    The ranking of all of them is one network, which has learnt from out-of-fold probabilities of all rows. The final
    model averages the scores of the predictors; the one that was trained on all rows counts as much as the others.

    Parameters
    ----------
    fitted : FittedPredictors
        Not changed, so that they serve for several prices.
    rules : Rules, with the groups that the predictors were trained with
    seed : int
    extra : sequence of StateModel, optional
        Where the predictors have probabilities of another model as inputs: one for each fold, and the final one.

    Raises
    ------
    ValueError
        If the rules have other groups, or ``extra`` does not fit the predictors.
    """
    rows = fitted.rows
    if rules.groups != rows.groups:
        raise ValueError("the rules must have the groups that the predictors were trained with")
    if len(extra) != (len(rows.extra) + 1 if rows.extra else 0):
        raise ValueError("there must be another model for each fold and a final one where the predictors use them")
    with one_blas_thread():
        learner = train_ranking(fitted, CandidateTask(rules, rows.candidates), seed)
        refine_ranking(learner, np.random.default_rng([seed, 5]))
    ranking, temperature = learner.averaged, learner.predictors.temperature
    *networks, answer = learner.predictors.networks

    def model(predictors: list[MLP], shares: list[float], k: int) -> NetworkModel:
        other = extra[k] if extra else None
        return NetworkModel(
            rows.candidates, rows.embedding, predictors, np.array(shares), temperature, ranking, rules, other
        )

    n = len(networks)
    folds = [model([network], [1.0], k) for k, network in enumerate(networks)]
    return folds, model([*networks, answer], [0.5 / n] * n + [0.5], n)
