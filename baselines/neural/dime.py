"""Discriminative mutual information estimation (DIME)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, expit

from baselines.neural.classifier import BaseNeuralClassifier
from baselines.neural.policy import MaskedInputPolicy
from baselines.neural.stopping import HeldOutStates
from fsgym.rules import Rules

if TYPE_CHECKING:
    from baselines.neural.training import JointTraining

MIN_PRICE = 1e-12  # lower prices count as this where values are divided by them
# What a nat is worth, in units of its worth before any feature; the one of the lowest held-out loss is used
WORTHS = tuple(np.geomspace(4.0, 1 / 32, 15).tolist())


class DIMEPolicy(MaskedInputPolicy):
    """Prefers the acquisition of most value per price, and stops where that is not above the threshold."""

    kind = "dime"

    def _preference_and_need(
        self, outputs: NDArray[np.float64], probabilities: NDArray[np.float64], prices: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        values = expit(outputs) * entr(probabilities).sum(axis=1, keepdims=True)  # in nats
        return values / np.maximum(prices, MIN_PRICE), None


class DIMEClassifier(BaseNeuralClassifier):
    """Discriminative mutual information estimation: a value network estimates what each feature tells of the class.

    Both networks take the acquired values and the mask of acquired features. The predictor is pretrained on random
    masks. Then both are trained together: the predictor on the states that rows visit, and the value network by
    regression on the realised decrease of the predictor's cross-entropy by the next feature, whose expectation is the
    conditional mutual information of the feature and the class. The values are between 0 and the entropy of the
    prediction. Rows make random acquisitions with a probability that is lowered from 1 to 0.05.

    The acquisition of most value per unit of cost comes next, and a row is answered where that is under ``lam``. What a
    nat of value is worth in units of the error costs has the lowest loss on held-out rows.

    Parameters
    ----------
    lam : float, default 0.01
        Exchange rate between cost and errors: the value of one unit of ``costs``, in units of ``error_costs``. Ignored
        if a target is given. The networks do not depend on it, so ``path`` trains them once.
    max_acquisitions : int, optional
        Acquisitions of a row, at most; the time of the training grows with them. By default as many as there are, and
        25 where there are more.
    hidden : sequence of int, default (128, 128)
        Widths of the hidden layers of both networks.
    n_epochs : int, default 50
        Passes through the training rows in each of five rounds of less and less exploration, at most; a fifth of the
        rows is held out, and five passes without a lower loss on these end a round.
    batch_size, learning_rate, target_cost, target_features, class_weight, random_state
        As in ``GDFSClassifier``.
    budget, budget_cost, costs, error_costs, groups, ...
        All options of ``fsgym.Rules``, with the same defaults.

    Attributes
    ----------
    validated_loss_, lam_, expected_cost_, expected_n_features_
        As in ``GDFSClassifier``.
    policy_ : DIMEPolicy

    Raises
    ------
    ValueError, TypeError
        If data or parameters are invalid.
    ImportError
        Raised by ``fit`` and ``path`` if the optional dependencies ``deep`` are not installed. A fitted or loaded
        classifier does not need them.

    References
    ----------
    S. Gadgil, I. Covert and S.-I. Lee. Estimating conditional mutual information for dynamic feature selection. ICLR,
    2024.

    Examples
    --------
    >>> from baselines import DIMEClassifier
    >>> DIMEClassifier(lam=0.05, random_state=0)
    DIMEClassifier(lam=0.05, random_state=0)
    """

    policy_class = DIMEPolicy

    def _training(self) -> type[JointTraining]:
        from baselines.neural.training import ValueRegressionTraining

        return ValueRegressionTraining

    def _candidates(self, states: HeldOutStates, rules: Rules, nat: float) -> tuple[Sequence[float], Sequence[int]]:
        return [rules.lam / max(nat * worth, MIN_PRICE) for worth in WORTHS], [states.need.shape[1] - 1]
