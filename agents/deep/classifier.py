"""The classifier trained by deep reinforcement learning."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from agents.base import BaseAgentClassifier
from agents.deep.network import NetworkPolicy, scale_and_clip
from agents.inputs import cheapest_constant_answer, training_rows
from agents.model_file import Labels
from agents.policy import MAX_LOSS
from fsgym.data.dataset import Dataset
from fsgym.data.scaling import Scaling
from fsgym.envs.env import DatumWiseEnv
from fsgym.rules.options import RuleOptionsButLam, takes_rule_options
from fsgym.support.checks import generator_of

MAX_WIDTH = 65536  # of a hidden layer, far above any that can be trained


class SB3Classifier(BaseAgentClassifier):
    """A classifier that acquires the features of each row one by one, trained by deep reinforcement learning.

    An algorithm of Stable-Baselines3 is trained on the environment that data and rules define, with values scaled to
    z-scores. The policy takes the legal action with the largest network output. Training needs the optional
    dependencies ``rl``; a fitted or loaded classifier needs neither PyTorch nor Stable-Baselines3.

    Parameters
    ----------
    lam : float, default 0.01
        Exchange rate between cost and errors: the value of one unit of ``costs``, in units of ``error_costs``.
    algorithm : str, default "maskable_ppo"
        A name in ``agents.deep.ALGORITHMS``: "maskable_ppo" is proximal policy optimisation with masks (Huang and
        Ontañón, 2022), "dqn" is deep Q-learning over legal actions (Mnih et al., 2015; van Hasselt et al., 2016);
        "ppo" and "a2c" do not use masks; they learn which actions are legal, as an illegal action ends the episode.
    total_timesteps : int, optional
        Number of environment steps, rounded up to a multiple of ``num_envs`` times the rollout length (the option
        ``n_steps``, or ``train_freq`` for "dqn"). By default that of ``agents.deep.sb3.SETTINGS``.
    num_envs : int, optional
        Number of environments that are stepped together. By default that of ``agents.deep.sb3.SETTINGS``.
    hidden : sequence of int, default (64, 64)
        Widths of the hidden layers.
    options : mapping, optional
        Arguments of the algorithm's class in Stable-Baselines3 that replace those of ``agents.deep.sb3.SETTINGS``,
        such as ``{"ent_coef": 0.02}``.
    class_weight : None, "balanced" or mapping label -> weight, default None
        Weights of the classes, as in scikit-learn; a class without an entry has weight 1. See ``fit``.
    progress_bar : bool, default False
    random_state : int, numpy Generator or RandomState, optional
        The same int gives the same network, to the byte, on the same kind of CPU.
    budget, budget_cost, costs, error_costs, groups, ...
        All options of ``fsgym.Rules``, with the same defaults. Prices by name use the column names, or
        ``x0, x1, ...``; classes are in sorted order.

    Attributes
    ----------
    classes_ : array (n_classes,)
    n_features_in_ : int
    feature_names_in_ : array of str, if ``X`` had column names
    rules_ : Rules
    policy_ : NetworkPolicy

    Raises
    ------
    ValueError, TypeError
        If data or parameters are invalid.
    ImportError
        Raised by ``fit`` and ``export`` if the optional dependencies ``rl`` are not installed; the message gives the
        install command.

    References
    ----------
    S. Huang and S. Ontañón. A closer look at invalid action masking in policy gradient algorithms. FLAIRS, 2022.
    H. van Hasselt, A. Guez and D. Silver. Deep reinforcement learning with double Q-learning. AAAI, 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from agents import SB3Classifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = SB3Classifier(lam=0.01, total_timesteps=4096, num_envs=16, random_state=0).fit(X, y)
    >>> used = model.features_used(X)
    >>> used.shape, bool(used.sum(axis=1).mean() < 8), bool(model.score(X, y) > 0.6)
    ((178, 13), True, True)
    """

    policy_class = NetworkPolicy
    length_parameter = "total_timesteps"

    policy_: NetworkPolicy

    @takes_rule_options
    def __init__(
        self,
        lam: float = 0.01,
        *,
        algorithm: str = "maskable_ppo",
        total_timesteps: int | None = None,
        num_envs: int | None = None,
        hidden: Any = (64, 64),
        options: Mapping[str, Any] | None = None,
        class_weight: Any = None,
        progress_bar: bool = False,
        random_state: Any = None,
        **rule_options: Unpack[RuleOptionsButLam],
    ) -> None:
        self._set_rule_options(lam=lam, **rule_options)
        self.algorithm = algorithm
        self.total_timesteps = total_timesteps
        self.num_envs = num_envs
        self.hidden = hidden
        self.options = options
        self.class_weight = class_weight
        self.progress_bar = progress_bar
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> SB3Classifier:
        """Train on a table ``X`` and labels ``y`` (n_samples,), or on a ``Dataset``.

        ``X`` is an array or DataFrame (n_samples, n_columns), with NaN where a value is unavailable. Text, category and
        bool columns of a DataFrame are encoded; dates, identifiers and other suspicious columns raise ValueError.

        The weight of a row is its ``sample_weight`` (n_samples,), at least 0, times that of its class. Episodes start
        on a row with a probability proportional to its weight, so that training minimises the weighted mean loss.
        """
        dataset, rules = self._task(X, y)
        rules.check_largest_loss(MAX_LOSS)
        dataset, weight = training_rows(dataset, self.class_weight, sample_weight)
        self._see_rows(dataset)
        scaling = Scaling.standard(dataset.X)
        scaled_dataset = Dataset(scale_and_clip(dataset.X, scaling), dataset.y, classes=np.arange(dataset.n_classes))
        hidden, seed = _check_widths(self.hidden), int(generator_of(self.random_state).integers(2**31))
        from agents.deep.sb3 import ModelArguments, trained  # after the checks: it needs the extra

        arrays = trained(
            self.algorithm,
            DatumWiseEnv(scaled_dataset, rules),
            ModelArguments(self.num_envs, hidden, self.options, seed, weight),
            total_timesteps=self.total_timesteps,
            progress_bar=self.progress_bar,
        )
        answer = cheapest_constant_answer(dataset, weight, rules.answer_costs)
        self._set_policy(NetworkPolicy(self.algorithm, hidden, arrays, scaling, rules, answer))
        return self

    def _restore(self, policy: NetworkPolicy, header: dict[str, Any], labels: Labels) -> None:
        super()._restore(policy, header, labels)
        self.set_params(algorithm=policy.algorithm, hidden=policy.hidden)

    def export(self, path: str | os.PathLike) -> None:
        """Write a zip file for ``load`` of the algorithm's class in Stable-Baselines3.

        The model takes observations with scaled values (``policy_.scaled``). That ``load`` unpickles, so use it only on
        files from a trusted source. To save and load a classifier, use ``save`` and ``load``.
        """
        check_is_fitted(self, "policy_")
        from agents.deep.sb3 import rebuilt

        rebuilt(self.policy_).save(path)


def _check_widths(hidden: Any) -> tuple[int, ...]:
    """Widths of the hidden layers, checked."""
    try:
        widths = tuple(hidden)
    except TypeError:
        widths = ("none",)
    if not all(isinstance(w, int | np.integer) and not isinstance(w, bool) and 1 <= w <= MAX_WIDTH for w in widths):
        raise ValueError(f"hidden must be widths of layers, whole numbers from 1 to {MAX_WIDTH}, got {hidden!r}")
    return tuple(int(w) for w in widths)
