"""Learn the models of all folds and the final one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from agents.anystate.network import constants as const
from agents.anystate.network.lookahead import RankingLearner, train_ranking
from agents.anystate.network.mlp import MLP
from agents.anystate.network.model import NetworkModel
from agents.anystate.network.predictors import FittedPredictors
from agents.anystate.network.rollouts import refine_ranking
from agents.anystate.network.task import CandidateTask
from fsgym.rules import Rules
from fsgym.support.threads import one_blas_thread


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
