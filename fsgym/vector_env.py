"""The vector environment: a Gymnasium shell over many episodes, in one compiled call a step."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from fsgym import render
from fsgym.dataset import Dataset
from fsgym.env import DatumWiseEnv, chosen_rows, is_strict, observation_space
from fsgym.episodes import NO_ROWS, Ends, Episodes
from fsgym.rules import Rules


class DatumWiseVectorEnv(VectorEnv):
    """``num_envs`` copies of ``DatumWiseEnv``, stepped together.

    Observations, actions, rewards and info are those of ``DatumWiseEnv`` with a first axis of ``num_envs``;
    returned arrays are fresh. What is told only at an end stands in ``infos`` as Gymnasium's vector
    environments have it: ``infos["correct"]`` with the mask ``infos["_correct"]``; in same-step mode in
    ``infos["final_obs"]`` and ``infos["final_info"]``.

    Parameters
    ----------
    dataset, rules, render_mode, illegal_action
        As in ``DatumWiseEnv``.
    num_envs : int, default 1
    autoreset_mode : gymnasium.vector.AutoresetMode or its value, default NEXT_STEP
        When an ended episode begins anew: with the next step, in the same step, or only by
        ``reset(options={"reset_mask": ...})``.

    Notes
    -----
    ``reset(seed=...)`` takes one int; all episodes draw from one generator, in their order.
    ``reset(options={"index": rows})`` starts on given rows, one or ``num_envs`` of them.

    Examples
    --------
    >>> import fsgym, gymnasium
    >>> envs = gymnasium.make_vec("DatumWise-v0", num_envs=3, vectorization_mode="vector_entry_point")
    >>> observations, infos = envs.reset(seed=0)
    >>> observations.shape, infos["action_mask"].shape
    ((3, 60), (3, 32))
    """

    metadata: ClassVar[dict[str, Any]] = dict(DatumWiseEnv.metadata)

    def __init__(
        self,
        dataset: Dataset,
        rules: Rules | None = None,
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        illegal_action: Literal["forfeit", "raise"] = "forfeit",
    ) -> None:
        if not isinstance(num_envs, (int, np.integer)) or num_envs < 1:
            raise ValueError(f"num_envs must be a whole number, 1 or more, got {num_envs!r}")
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode must be 'rgb_array' or None, got {render_mode!r}")
        self.dataset = dataset
        self.rules = rules or Rules.for_dataset(dataset)
        self.num_envs = int(num_envs)
        self.render_mode = render_mode
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = dict(type(self).metadata) | {"autoreset_mode": self.autoreset_mode}
        self._strict = is_strict(illegal_action)
        self.single_observation_space = observation_space(dataset)
        self.single_action_space = spaces.Discrete(self.rules.n_actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._episodes = Episodes(dataset, self.rules, self.num_envs)
        self._ends = Ends.blank(self.num_envs)
        self._rows = NO_ROWS
        self._last_ends = self._ends
        self._n_ended = self.num_envs
        self._begun = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self._rows = NO_ROWS
        options = options or {}
        who = np.ones(self.num_envs, bool)
        if (mask := options.get("reset_mask")) is not None:
            who = np.array(mask)
            if who.dtype != bool or who.shape != (self.num_envs,) or not who.any():
                raise ValueError(
                    f"options['reset_mask'] must be a bool array of shape ({self.num_envs},) with a True, got {mask!r}"
                )
            if not self._begun and not who.all():
                raise ResetNeeded("reset all environments once before a reset with options['reset_mask']")
        which = np.flatnonzero(who)
        if options.get("index") is not None:
            rows = chosen_rows(options["index"], self.num_envs, self.dataset)[who]
        else:
            rows = self._draw(len(which))
        self._episodes.begin(which, rows)
        self._n_ended = int(self.num_envs - self._episodes.active.sum())
        self._begun = True
        return self._episodes.observation.copy(), self._infos(who)

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        size, episodes = self.num_envs, self._episodes
        asked = np.asarray(actions)
        if asked.dtype != np.int64 or asked.shape != (size,):
            asked = self._whole_numbers(asked)
        rows = NO_ROWS
        if self._n_ended:  # they begin anew now
            if self.autoreset_mode is not AutoresetMode.NEXT_STEP or not self._begun:
                raise ResetNeeded(f"{self._n_ended} of {size} episodes have ended or not begun; reset() them first")
            rows = self._draw(self._n_ended)
        reward, terminated = np.empty(size), np.empty(size, bool)
        n_ended = self._n_ended = episodes.step(asked, reward, terminated, self._ends, rows, self._strict)
        infos: dict[str, Any] = {}
        if n_ended:
            ends = self._last_ends = self._ends
            self._ends = Ends.blank(size)  # what was filled is handed out
            if self.autoreset_mode is AutoresetMode.SAME_STEP:
                infos = self._final(ends, terminated)
                episodes.begin(np.flatnonzero(terminated), self._draw(n_ended))
                self._n_ended = 0
            else:
                infos = _ended(ends, terminated.copy())
        infos["action_mask"], infos["spent"] = episodes.legal.copy(), episodes.spent.copy()
        infos["_action_mask"] = infos["_spent"] = np.ones(size, bool)
        return episodes.observation.copy(), reward, terminated, np.zeros(size, bool), infos

    def _whole_numbers(self, actions: NDArray) -> NDArray[np.int64]:
        if actions.shape != (self.num_envs,) or actions.dtype.kind not in "iu":
            raise ValueError(
                f"actions must be whole numbers of shape ({self.num_envs},), got {actions.dtype} {actions.shape}"
            )
        return actions.astype(np.int64)

    def action_masks(self) -> NDArray[np.bool_]:
        """What is legal now, bool (num_envs, n_actions)."""
        return self._episodes.legal.astype(bool)

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        if self.render_mode is None:
            return None
        return tuple(render.picture(self._episodes, e, self._last_ends) for e in range(self.num_envs))

    def _draw(self, n: int) -> NDArray[np.int64]:
        """The next ``n`` rows to play; drawn ahead, since a draw takes longer than a step."""
        if len(self._rows) < n:
            fresh = self.np_random.integers(self.dataset.n_samples, size=max(4 * self.num_envs, 256))
            self._rows = np.concatenate([self._rows, fresh])
        rows, self._rows = self._rows[:n], self._rows[n:]
        return rows

    def _infos(self, who: NDArray[np.bool_]) -> dict[str, Any]:
        episodes = self._episodes
        return _masked({"action_mask": episodes.legal.copy(), "spent": episodes.spent.copy()}, who)

    def _final(self, ends: Ends, ended: NDArray[np.bool_]) -> dict[str, Any]:
        """What same-step mode tells of the episodes that ended, before they begin anew."""
        episodes, who = self._episodes, ended.copy()
        final = np.full(self.num_envs, None, dtype=object)
        for e in np.flatnonzero(ended):
            final[e] = episodes.observation[e].copy()
        told = {"action_mask": episodes.legal * who[:, None], "spent": episodes.spent * who} | ends._asdict()
        return _masked({"final_obs": final, "final_info": _masked(told, who)}, who)


def _ended(ends: Ends, who: NDArray[np.bool_]) -> dict[str, Any]:
    """As ``_masked(ends._asdict(), who)``; written out, since it is made at nearly every step of many episodes."""
    prediction, label, correct, n_acquired, acquisition_cost, error_cost = ends
    return {
        "prediction": prediction, "_prediction": who, "label": label, "_label": who, "correct": correct, "_correct": who,
        "n_acquired": n_acquired, "_n_acquired": who, "acquisition_cost": acquisition_cost, "_acquisition_cost": who,
        "error_cost": error_cost, "_error_cost": who,
    }  # fmt: skip


def _masked(told: dict[str, Any], who: NDArray[np.bool_]) -> dict[str, Any]:
    """Gymnasium's form for what holds for some of the environments: each key with a mask."""
    infos = dict(told)
    for key in told:
        infos[f"_{key}"] = who
    return infos
