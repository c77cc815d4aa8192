"""Evaluation during training, as a callback of Stable-Baselines3."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback, EventCallback

from fsgym.evaluation.evaluate import as_actor, evaluate
from fsgym.support.checks import is_integer
from fsgym.text.messages import brief

LOGGED_FIGURES = ("loss", "accuracy", "n_features", "n_acquisitions", "spent", "illegal")


class EvaluationCallback(EventCallback):
    """Evaluate a model on every row of an environment while it is trained, and log the figures.

    For all algorithms of Stable-Baselines3 and sb3-contrib, with and without action masks: a model whose ``predict``
    takes ``action_masks`` gets them. Actions are deterministic, and each row is classified once, so the figures have no
    noise of sampling. The logger, and so TensorBoard, gets ``eval/loss``, ``eval/accuracy``, ``eval/n_features`` (mean
    features used), ``eval/n_acquisitions``, ``eval/spent`` and ``eval/illegal``, as in ``fsgym.Evaluation``. Training
    is the same as without the callback.

    Parameters
    ----------
    env : environment of fsgym
        Its rows are classified under its rules. Rows of the training part show how well the task is learnt. Choose
        among models by held-out rows, and not by the test part, if the test part is to say how good the choice is.
    every : int, default 10_000
        Training steps, of all parallel environments together, between two evaluations. (``EvalCallback`` of
        Stable-Baselines3 counts calls instead, each of which is one step of all environments.) There is one more
        evaluation at the end, after the last update.
    best_model_path : str or Path, optional
        The model of least loss is saved to this file, by Stable-Baselines3's own ``save``.
    callback_after_eval, callback_on_new_best : BaseCallback, optional
        Called after each evaluation, and after each that has a lower loss than all before, such as
        ``StopTrainingOnNoModelImprovement`` and ``StopTrainingOnRewardThreshold``. Rewards are minus the loss.

    Attributes
    ----------
    history : list of dict
        The figures of each evaluation, and its ``timesteps``.
    best_mean_reward, last_mean_reward : float
        Minus the least loss and the last loss.

    Raises
    ------
    ValueError, TypeError
        If ``env`` is no environment of fsgym, or ``every`` is no positive whole number.

    Examples
    --------
    >>> import fsgym, gymnasium
    >>> from agents.deep.sb3 import EvaluationCallback, make_model
    >>> env = gymnasium.make("fsgym:DatumWise-v0")
    >>> callback = EvaluationCallback(gymnasium.make("fsgym:DatumWise-v0", split="test"), every=256)
    >>> model = make_model("maskable_ppo", env, num_envs=8, seed=0).learn(512, callback)
    >>> [row["timesteps"] for row in callback.history]
    [256, 512, 512]
    """

    def __init__(
        self,
        env: Any,
        every: int = 10_000,
        *,
        best_model_path: str | Path | None = None,
        callback_after_eval: BaseCallback | None = None,
        callback_on_new_best: BaseCallback | None = None,
    ) -> None:
        super().__init__(callback_after_eval)
        inner = getattr(env, "unwrapped", env)
        if not hasattr(inner, "dataset") or not hasattr(inner, "rules"):
            raise TypeError(f"env must be an environment of fsgym, got {brief(env)}")
        if not is_integer(every) or every < 1:
            raise ValueError(f"every must be a whole number of training steps, 1 or more, got {brief(every)}")
        self.dataset, self.rules, self.every = inner.dataset, inner.rules, int(every)
        self.best_model_path = best_model_path
        self.callback_on_new_best = callback_on_new_best
        if callback_on_new_best is not None:
            callback_on_new_best.parent = self
        self.history: list[dict[str, float]] = []
        self.best_mean_reward = self.last_mean_reward = -np.inf
        self._last_steps = 0

    def _init_callback(self) -> None:
        super()._init_callback()
        if self.callback_on_new_best is not None:
            self.callback_on_new_best.init_callback(self.model)

    def _on_training_start(self) -> None:
        self._last_steps = self.model.num_timesteps

    def _on_step(self) -> bool:
        if self.num_timesteps - self._last_steps < self.every:
            return True
        return self._evaluate()

    def _on_training_end(self) -> None:
        self._evaluate()

    def _evaluate(self) -> bool:
        """Evaluate and log; return whether training goes on."""
        result = evaluate(self._policy(), self.dataset, rules=self.rules)
        self._last_steps = self.num_timesteps
        figures = {name: float(getattr(result, name)) for name in LOGGED_FIGURES}
        self.history.append({"timesteps": self.num_timesteps, **figures})
        for name, value in figures.items():
            self.logger.record(f"eval/{name}", value)
        self.logger.record("time/total_timesteps", self.num_timesteps, exclude="tensorboard")
        self.logger.dump(self.num_timesteps)
        self.last_mean_reward = -figures["loss"]
        goes_on = True
        if self.last_mean_reward > self.best_mean_reward:
            self.best_mean_reward = self.last_mean_reward
            if self.best_model_path is not None:
                self.model.save(self.best_model_path)
            if self.callback_on_new_best is not None:
                goes_on = self.callback_on_new_best.on_step()
        return self._on_event() and goes_on

    def _policy(self) -> Any:
        """The model; with observations normalised as in training, if its environment normalises them."""
        normalised = self.model.get_vec_normalize_env()
        if normalised is None:
            return self.model
        actor = as_actor(self.model)
        return lambda observations, masks: actor(normalised.normalize_obs(observations), masks)  # type: ignore[arg-type]
