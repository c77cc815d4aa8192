"""The classifier with one network for all states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from agents.anystate.classifier import BaseAnyStateClassifier, ModelsAt
from agents.anystate.follow import CompiledStateModel, StateKernels
from agents.anystate.network import constants as const
from agents.anystate.network.embedding import Embedding, check_embedding
from agents.anystate.network.kernels import (
    N_STOP_INPUTS,
    CompiledNetwork,
    network_buffers,
    write_network_estimates,
)
from agents.anystate.network.lookahead import RankingLearner, refine_ranking, train_ranking
from agents.anystate.network.mlp import MLP, check_hidden_sizes
from agents.anystate.network.predictors import FittedPredictors, fit_predictors
from agents.anystate.network.task import CandidateTask, scaled_regrets
from agents.anystate.policy import AnyStatePolicy
from agents.calibration import Calibration
from agents.policy import error_unit
from agents.tradeoff import TrainingTask
from fsgym.rules import Rules
from fsgym.rules.options import RuleOptionsButLam, takes_rule_options
from fsgym.support.checks import is_integer
from fsgym.support.threads import one_blas_thread
from fsgym.text.messages import brief

# The model of all states that the networks are: class probabilities, and the learnt ranking of acquisitions.


@dataclass(frozen=True, eq=False)
class NetworkModel(CompiledStateModel):
    """Predictors of the classes, and a ranking network.

    The preference of an acquisition is minus its advantage over answering, in units of error costs. The inputs of the
    stop rule are log(e + .001), (expected reduction of the error by the best acquisition) / (e + .001), U / (e + .001),
    the share of acquisitions whose values are known, and the difference between the two best advantages, see
    ``agents.anystate.network.lookahead``.

    Raises
    ------
    ValueError
        If parameters or the temperature are out of range.
    """

    n_inputs = N_STOP_INPUTS
    kernels = StateKernels(network_buffers, write_network_estimates)

    # (b,), the acquisitions that the networks use, ascending; others have the lowest preference
    candidates: NDArray[np.int64]
    embedding: Embedding  # of their features
    predictors: Sequence[MLP]  # whose scores are averaged
    temperature: float  # by which scores are divided
    ranking: MLP
    rules: Rules
    unit: float | None = None

    def __post_init__(self) -> None:
        for network in (*self.predictors, self.ranking):
            if not (np.abs(network.parameters) <= const.MAX_ABS_PARAMETER).all():  # False for NaN
                raise ValueError(
                    f"parameters of networks must be at most {const.MAX_ABS_PARAMETER:g} in absolute value"
                )
        lowest, highest = min(const.SCORE_TEMPERATURES), max(const.SCORE_TEMPERATURES)
        if type(self.temperature) is not float or not lowest <= self.temperature <= highest:
            raise ValueError(f"the temperature must be a number from {lowest} to {highest}, got {self.temperature}")

    @cached_property
    def _compiled(self) -> CompiledNetwork:
        scaled, unit = scaled_regrets(self.rules)
        return CompiledNetwork(
            *self.embedding,
            np.stack([network.parameters for network in self.predictors]),
            np.array(self.predictors[0].sizes),
            self.ranking.parameters,
            np.array(self.ranking.sizes),
            np.float32(1 / (self.temperature * len(self.predictors))),
            self.candidates,
            np.array(self.costs, order="C"),  # can be written, as in a copy of the model
            scaled,
            unit,
        )

    def to_arrays(self) -> tuple[dict[str, NDArray], dict[str, Any]]:
        arrays: dict[str, NDArray] = {"candidates": self.candidates}
        arrays |= {f"embedding.{name}": array for name, array in self.embedding._asdict().items()}
        arrays["ranking"] = self.ranking.parameters
        arrays["predictors"] = np.stack([network.parameters for network in self.predictors])
        hidden = [list(network.sizes[1:-1]) for network in (self.predictors[0], self.ranking)]
        return arrays, {"temperature": self.temperature, "hidden": hidden} | self.unit_header

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], header: Mapping[str, Any], rules: Rules) -> NetworkModel:
        embedding = Embedding(**{name: arrays[f"embedding.{name}"] for name in Embedding._fields})
        check_embedding(arrays["candidates"], embedding, rules)
        for_predictors, for_ranking = (check_hidden_sizes(sizes) for sizes in header["hidden"])
        n_inputs, n_classes = embedding.n_inputs, rules.n_classes
        parameters = arrays["predictors"]
        if parameters.ndim != 2 or not parameters.size:
            raise ValueError("there must be one row of parameters for each predictor, at least one")
        predictors = [MLP((n_inputs, *for_predictors, n_classes), row) for row in parameters]
        sizes = (n_inputs + n_classes + 1, *for_ranking, len(arrays["candidates"]) + 1)
        ranking = MLP(sizes, arrays["ranking"])
        temperature, unit = header["temperature"], cls.unit_from(header)
        return cls(arrays["candidates"], embedding, predictors, temperature, ranking, rules, unit)


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
        of_rows = rows.candidates, rows.embedding
        return NetworkModel(*of_rows, predictors, temperature, ranking, rules, error_unit(rules))

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
    2001). It needs some hundred rows; on fewer, ``LatticeClassifier`` is better. A case is answered after 100
    acquisitions at the latest, beyond those that are always known: training follows rows for 25.

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
    calibration : {"none", "auto", "temperature"}, default "none"
        Whether the class probabilities are calibrated on the training rows, as in ``LatticeClassifier``.
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
    lam_, expected_cost_, expected_n_features_, calibration_
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
        calibration: Calibration = "none",
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
        self.calibration = calibration
        self.known = known
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _models(self, task: TrainingTask, fold: NDArray[np.int64], seed: int) -> ModelsAt:
        n_steps = self.n_steps
        if n_steps is None:
            n_steps = next(n for most, n in const.N_STEPS_BY_ROWS.items() if task.dataset.n_samples <= most)
        if not is_integer(n_steps) or n_steps < 1:
            raise ValueError(f"n_steps must be None or a whole number from 1, got {brief(n_steps)}")
        rows = task.dataset, task.rules.groups, fold, task.weight
        fitted = fit_predictors(*rows, seed, int(n_steps), task.skipped, task.telling)
        return lambda rules: learn_ranking(fitted, rules, seed)
