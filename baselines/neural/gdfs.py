"""Greedy dynamic feature selection (GDFS)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from baselines.neural.classifier import BaseNeuralClassifier
from baselines.neural.policy import MaskedInputPolicy
from baselines.neural.stopping import HeldOutStates
from fsgym.rules import Rules

if TYPE_CHECKING:
    from baselines.neural.training import JointTraining

N_QUANTILES = 20  # quantiles of the expected error cost among which the one to stop at is chosen


class GDFSPolicy(MaskedInputPolicy):
    """Prefers the largest output of the chooser, and stops where the expected error cost is low enough."""

    kind = "gdfs"

    def _preference_and_need(
        self, outputs: NDArray[np.float64], probabilities: NDArray[np.float64], prices: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        return outputs, (probabilities @ self.rules.answer_costs.T).min(axis=1)


class GDFSClassifier(BaseNeuralClassifier):
    """Greedy dynamic feature selection: a policy network chooses each feature, a predictor network classifies.

    Both networks take the acquired values and the mask of acquired features. The predictor is pretrained on random
    masks. Then both are trained together to lower the cross-entropy after each of the first ``max_acquisitions``
    choices, through the concrete (Gumbel-softmax) relaxation of the choice, whose temperature is lowered from 1 to 0.1.

    The method of the paper has neither prices nor a rule for stopping. Here, where prices are unequal, the policy
    network is trained to raise the decrease of the cross-entropy per unit of cost. A row is answered when the expected
    error cost is under a threshold, or after a number of acquisitions; both have the lowest loss on held-out rows.

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
        Passes through the training rows at each of five temperatures, at most; a fifth of the rows is held out, and
        five passes without a lower loss on these end a temperature.
    batch_size : int, optional
        Rows of a training step; by default a twentieth of the rows, at most 128.
    learning_rate : float, default 0.001
    target_cost, target_features : float, optional
        Instead of ``lam``: the upper limit of the mean cost of a row's acquisitions, or of the number of features used
        per row, as in ``agents.LatticeClassifier``.
    class_weight : None, "balanced" or mapping label -> weight, default None
    random_state : int, numpy Generator or RandomState, optional
        The same int gives the same networks, to the byte, on the same kind of CPU.
    budget, budget_cost, costs, error_costs, groups, ...
        All options of ``fsgym.Rules``, with the same defaults.

    Attributes
    ----------
    validated_loss_ : float, or None for a loaded classifier
        Mean loss of the held-out rows.
    lam_, expected_cost_, expected_n_features_
        As in ``agents.LatticeClassifier``; means over the held-out rows.
    policy_ : GDFSPolicy

    Raises
    ------
    ValueError, TypeError
        If data or parameters are invalid.
    ImportError
        Raised by ``fit`` and ``path`` if the optional dependencies ``deep`` are not installed. A fitted or loaded
        classifier does not need them.

    References
    ----------
    I. Covert, W. Qiu, M. Lu, N. Kim, N. White and S.-I. Lee. Learning to maximize mutual information for dynamic
    feature selection. ICML, 2023.

    Examples
    --------
    >>> from baselines import GDFSClassifier
    >>> GDFSClassifier(lam=0.05, random_state=0)
    GDFSClassifier(lam=0.05, random_state=0)
    """

    policy_class = GDFSPolicy

    def _training(self) -> type[JointTraining]:
        from baselines.neural.training import RelaxedChoiceTraining

        return RelaxedChoiceTraining

    def _candidates(self, states: HeldOutStates, rules: Rules, nat: float) -> tuple[Sequence[float], Sequence[int]]:
        quantiles = np.quantile(states.need, np.linspace(0.0, 1.0, N_QUANTILES + 1)[1:])
        lowest = float(rules.answer_costs.min()) - 1.0  # below any expected cost: the length alone decides
        return [lowest, *quantiles.tolist()], range(states.need.shape[1])
