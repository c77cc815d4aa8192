"""Learning curves: the loss on training and on test rows by training steps."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from stable_baselines3.common.callbacks import BaseCallback

from agents.deep.sb3.training import find_settings, make_model, training_context
from fsgym.evaluation.evaluate import evaluate
from fsgym.support.checks import is_integer
from fsgym.text.messages import brief


class CurveCallback(BaseCallback):
    """Evaluate a model on the rows of several environments while it is trained.

    Parameters
    ----------
    parts : mapping name -> environment of fsgym, such as ``{"train": env, "test": unseen}``
    every : int
        Training steps between two evaluations; there is one before the first step and one after the last update.

    Attributes
    ----------
    rows : list of dict
        ``steps``, ``cpu_seconds`` (of the process since training began, without these evaluations), and for each part
        ``{name}_loss``, ``{name}_accuracy`` and ``{name}_n_features``, as in ``fsgym.Evaluation``.
    """

    def __init__(self, parts: Mapping[str, Any], every: int) -> None:
        super().__init__()
        self.parts, self.every = dict(parts), every
        self.rows: list[dict[str, float]] = []
        self._next, self._began = 0, 0.0

    def _on_training_start(self) -> None:
        self._next, self._began = self.model.num_timesteps, time.process_time()
        self._record()

    def _on_step(self) -> bool:
        if self.num_timesteps >= self._next:
            self._record()
        return True

    def _on_training_end(self) -> None:
        self._record()

    def _record(self) -> None:
        stopped = time.process_time()
        row: dict[str, float] = {"steps": self.model.num_timesteps, "cpu_seconds": stopped - self._began}
        for name, env in self.parts.items():
            result = evaluate(self.model, env)
            row |= {f"{name}_{figure}": float(getattr(result, figure)) for figure in ("loss", "accuracy", "n_features")}
        self.rows.append(row)
        self._next = self.model.num_timesteps + self.every
        self._began += time.process_time() - stopped  # an evaluation is no training


def learning_curve(
    algorithm: str,
    env: Any,
    unseen: Any,
    *,
    total_timesteps: int | None = None,
    points: int = 20,
    num_envs: int | None = None,
    hidden: Sequence[int] = (64, 64),
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Train a model of ``make_model`` and record its loss on training and on unseen rows.

    The gap between the two curves shows what is learnt by heart; a curve that still falls at its end, that the training
    was too short. Do not choose a model by its loss on rows that are to say how good it is.

    Parameters
    ----------
    algorithm : str
        A name in ``agents.deep.ALGORITHMS``.
    env, unseen : environments of this package
        The model is trained on the rows of ``env``.
    total_timesteps : int, optional
        By default that of ``SETTINGS``.
    points : int, default 20
        Evaluations during the training; there are two more, before and after it.
    num_envs, hidden, options, seed
        As for ``make_model``.

    Returns
    -------
    pandas.DataFrame
        One row per evaluation: steps, cpu_seconds (of training alone), train_loss, train_accuracy, train_n_features,
        test_loss, test_accuracy, test_n_features.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.

    Examples
    --------
    >>> import fsgym, gymnasium
    >>> from agents.deep.sb3 import learning_curve
    >>> env, unseen = (gymnasium.make("fsgym:DatumWise-v0", split=part) for part in ("train", "test"))
    >>> curve = learning_curve("maskable_ppo", env, unseen, total_timesteps=512, points=2, num_envs=8)
    >>> curve["steps"].tolist()
    [0, 256, 512, 512]
    """
    if not is_integer(points) or points < 1:
        raise ValueError(f"points must be a whole number, 1 or more, got {brief(points)}")
    steps = find_settings(algorithm).total_timesteps if total_timesteps is None else total_timesteps
    if not is_integer(steps) or steps < 1:
        raise ValueError(f"total_timesteps must be a whole number, 1 or more, got {brief(steps)}")
    recorder = CurveCallback({"train": env, "test": unseen}, max(steps // points, 1))
    with training_context():
        model = make_model(algorithm, env, num_envs=num_envs, hidden=hidden, options=options, seed=seed)
        model.learn(int(steps), callback=recorder)
    return pd.DataFrame(recorder.rows).astype({"steps": int})
