"""The vector environment: the Gymnasium interface to many episodes, with one compiled call per step."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from fsgym.data.dataset import Dataset
from fsgym.data.weights import check_row_weights, cumulative_shares
from fsgym.envs import env
from fsgym.envs import rendering as render
from fsgym.envs.episodes import NO_COPIES, NO_ROWS, EpisodeOutcomes, Episodes
from fsgym.envs.spec import HasJsonSpec
from fsgym.rules import Rules
from fsgym.rules.checks import check_bool
from fsgym.text.messages import brief

# of arrays in the compiled code
ACTION_DTYPE, OBSERVATION_DTYPE, MASK_DTYPE = np.dtype(np.int64), np.dtype(np.float32), np.dtype(np.int8)


class DatumWiseVectorEnv(HasJsonSpec, VectorEnv):
    """``num_envs`` copies of ``DatumWiseEnv``, stepped together.

    Observations, actions, rewards and info are those of ``DatumWiseEnv`` with a first axis of ``num_envs``. Returned
    arrays are new copies, which later steps do not overwrite, unless ``copy=False``. Info of ended episodes has the
    form of Gymnasium's vector environments: ``infos["correct"]`` with the mask ``infos["_correct"]``; in same-step mode
    ``infos["final_obs"]`` and ``infos["final_info"]``.

    Parameters
    ----------
    dataset, rules, illegal_action, belief
        As in ``DatumWiseEnv``. With ``illegal_action="raise"`` no episode is changed by a step that raises.
    num_envs : int, default 1
    autoreset_mode : gymnasium.vector.AutoresetMode or its value, default NEXT_STEP
        When the next episode starts after an end: with the next step, in the same step, or only with
        ``reset(options={"reset_mask": ...})``. See Notes.
    render_mode : {"rgb_array"}, optional
        ``render()`` returns one card for each episode.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows, at least 0. Episodes start on a row with a probability proportional to its weight; by
        default all rows have the same. For training, not for evaluation.
    copy : bool, default True
        With False the observations, ``infos["action_mask"]`` and ``infos["spent"]`` are the environment's own arrays,
        which cannot be written to: the next ``step`` or ``reset`` changes what they hold. So copy what you need after
        it. All other arrays are new.

    Notes
    -----
    In mode NEXT_STEP the step after an end ignores the action of that episode, and returns the first observation of the
    next one and a reward of 0: such steps are no transitions, so leave them out of training. In mode SAME_STEP the
    observation and the mask that come with ``terminated`` are those of the next episode, and the last ones are in
    ``final_obs`` and ``final_info``. In mode DISABLED a step raises ``gymnasium.error.ResetNeeded`` while any episode
    has ended.

    ``reset(seed=...)`` takes one int. All environments share one random generator, which draws a row for each episode
    in the order in which the episodes start. ``reset(options={"index": rows})`` starts on given rows: one for all
    environments, or ``num_envs`` of them.

    Examples
    --------
    >>> import fsgym, gymnasium
    >>> envs = gymnasium.make_vec("DatumWise-v0", num_envs=3, vectorization_mode="vector_entry_point")
    >>> observations, infos = envs.reset(seed=0)
    >>> observations.shape, infos["action_mask"].shape
    ((3, 60), (3, 32))
    """

    metadata: ClassVar[dict[str, Any]] = env.DatumWiseEnv.metadata | {"render_modes": ["rgb_array"]}

    def __init__(
        self,
        dataset: Dataset,
        rules: Rules | None = None,
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        illegal_action: Literal["forfeit", "raise"] = "forfeit",
        sample_weight: ArrayLike | None = None,
        belief: Any = None,
        copy: bool = True,
    ) -> None:
        if not isinstance(num_envs, (int, np.integer)) or num_envs < 1:
            raise ValueError(f"num_envs must be a whole number, 1 or more, got {brief(num_envs)}")
        env.check_render_mode(render_mode, self.metadata["render_modes"])
        if not isinstance(autoreset_mode, (str, AutoresetMode)):
            raise TypeError(f"autoreset_mode must be an AutoresetMode or its value, got {brief(autoreset_mode)}")
        size = self.num_envs = int(num_envs)
        self.rules = env.rules_for(dataset, rules)
        self.dataset = dataset
        self.render_mode = render_mode
        self.belief = render.check_belief(belief, self.rules)
        self._log = render.EpisodeLog(size)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = dict(type(self).metadata) | {"autoreset_mode": self.autoreset_mode}  # type: ignore[misc]
        self._shares = None  # cumulative, where the weights of the rows differ
        if sample_weight is not None:
            self._shares = cumulative_shares(check_row_weights(sample_weight, dataset.n_samples))
        self._strict = env.check_illegal_action(illegal_action)
        self.single_observation_space = env.observation_space(dataset, self.rules)
        self.single_action_space = spaces.Discrete(self.rules.n_actions)
        self.observation_space = batch_space(self.single_observation_space, size)
        self.action_space = batch_space(self.single_action_space, size)
        self.copy = check_bool(copy, "copy")
        self._episodes = Episodes(dataset, self.rules, size)
        self._shapes = self._episodes.observation.shape, self._episodes.state.legal.shape
        self._actions = np.zeros(size, np.int64)
        self._all_true, self._all_false = np.ones(size, bool), np.zeros(size, bool)
        self._outcomes = self._last_outcomes = EpisodeOutcomes.blank(size)
        self._rows, self._next_row = NO_ROWS, 0
        self._n_ended = size  # number of episodes that have ended or not started
        self._begun = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        options = env.check_reset_options(seed, options, "index", "reset_mask")
        mask = self._reset_mask(options)
        which = np.flatnonzero(mask)
        rows = None
        if options.get("index") is not None:
            rows = env.check_row_index(options["index"], self.num_envs, self.dataset)[mask]
        super().reset(seed=seed)
        if seed is not None:
            self._rows, self._next_row = NO_ROWS, 0
        if rows is None:
            rows = self._next_rows(len(which))
        self._episodes.begin(which, rows)
        self._log.begin(which)
        self._n_ended = int(self.num_envs - self._episodes.active.sum())
        self._begun = True
        observation, legal, spent = self._episodes.view
        if self.copy:
            observation, legal, spent = observation.copy(), legal.copy(), spent.copy()
        return observation, _masked({"action_mask": legal, "spent": spent}, mask)

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        size, episodes, rows = self.num_envs, self._episodes, NO_ROWS
        if (
            type(actions) is not np.ndarray
            or actions.dtype is not ACTION_DTYPE
            or actions.shape != self._actions.shape
            or not actions.flags.carray
        ):
            self._actions[:] = self._check_actions(actions)  # the dtype and layout of the compiled code
            actions = self._actions
        copies = NO_COPIES
        if self.copy:
            observed, masked = self._shapes
            copies = np.empty(observed, OBSERVATION_DTYPE), np.empty(masked, MASK_DTYPE), np.empty(size)
        n_begun = self._n_ended
        if n_begun:  # they start in this step
            if self.autoreset_mode is not AutoresetMode.NEXT_STEP or not self._begun:
                raise ResetNeeded(f"{n_begun} of {size} episodes have ended or not started; call reset() before step()")
            if self._next_row + n_begun > len(self._rows):
                self._draw_rows()
            rows = self._rows
        reward, terminated, outcomes = np.empty(size), np.empty(size, bool), self._outcomes
        before = None if self.render_mode is None else (episodes.active.copy(), episodes.state.spent.copy())
        n_ended = episodes.step(actions, reward, terminated, outcomes, rows, self._next_row, self._strict, copies)
        if before is not None:
            self._record(actions, *before)
        self._next_row += n_begun
        self._n_ended = n_ended
        infos: dict[str, Any] = {}
        if n_ended:
            self._last_outcomes = outcomes
            self._outcomes = EpisodeOutcomes.blank(size)  # the filled arrays are returned to the caller
            if self.autoreset_mode is AutoresetMode.SAME_STEP:
                which = np.flatnonzero(terminated)
                infos = self._final_infos(outcomes, terminated, which)
                episodes.begin(which, self._next_rows(n_ended), copies)
                self._n_ended = 0
                self._log.begin(which)
            else:
                infos = _outcome_infos(outcomes, terminated)
                if self.rules.refer_cost is not None:
                    infos |= _masked(self._referred(outcomes, terminated), terminated)
        observation, infos["action_mask"], infos["spent"] = copies if self.copy else episodes.view
        infos["_action_mask"] = infos["_spent"] = self._all_true.copy()
        return observation, reward, terminated, self._all_false.copy(), infos

    def _reset_mask(self, options: dict[str, Any]) -> NDArray[np.bool_]:
        """The episodes to reset, bool (num_envs,)."""
        mask = options.get("reset_mask")
        if mask is None:
            return self._all_true.copy()
        if not isinstance(mask, np.ndarray) or mask.dtype != bool or mask.shape != (self.num_envs,) or not mask.any():
            raise ValueError(f"options['reset_mask'] must be a bool array of shape ({self.num_envs},) with a True")
        if not self._begun and not mask.all():
            raise ResetNeeded("reset all environments once before a reset with options['reset_mask']")
        return mask.copy()

    def _check_actions(self, actions: Any) -> NDArray:
        """Actions as an array of integers (num_envs,); TypeError or ValueError otherwise."""
        try:
            numbers = np.asarray(actions)
        except (TypeError, ValueError):
            numbers = np.zeros((), object)
        if numbers.dtype.kind not in "iu":
            raise TypeError(f"actions must be whole numbers, {self.num_envs} of them, got {brief(actions)}")
        if numbers.shape != (self.num_envs,):
            raise ValueError(f"actions must have shape ({self.num_envs},), got {numbers.shape}")
        return numbers

    def action_masks(self) -> NDArray[np.bool_]:
        """The legal actions, bool (num_envs, n_actions)."""
        return self._episodes.state.legal.astype(bool)

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        if self.render_mode is None:
            return None
        active = self._episodes.active
        outcomes = self._last_outcomes if self._begun else None
        return tuple(
            render.draw_episode(self._episodes, e, self._log[e], None if active[e] else outcomes, self.belief)
            for e in range(self.num_envs)
        )

    def _record(self, actions: NDArray[np.int64], active: NDArray[np.bool_], spent: NDArray[np.float64]) -> None:
        """Add a step to what is rendered; ``active`` and ``spent`` are those before it."""
        self._log.begin(np.flatnonzero(~active))
        for e in np.flatnonzero(active):
            self._log.add(int(e), int(actions[e]), float(self._episodes.state.spent[e] - spent[e]))

    def _next_rows(self, n: int) -> NDArray[np.int64]:
        """The rows of the next ``n`` episodes."""
        if self._next_row + n > len(self._rows):
            self._draw_rows()
        rows = self._rows[self._next_row : self._next_row + n]
        self._next_row += n
        return rows

    def _draw_rows(self) -> None:
        """Draw the rows of many steps in one call, since a call of the generator takes longer than a step."""
        size = max(8 * self.num_envs, 512)
        if self._shares is None:
            fresh = self.np_random.integers(self.dataset.n_samples, size=size)
        else:
            fresh = np.searchsorted(self._shares, self.np_random.random(size), side="right")
        self._rows = np.concatenate([self._rows[self._next_row :], fresh])
        self._next_row = 0

    def _referred(self, outcomes: EpisodeOutcomes, ended: NDArray[np.bool_]) -> dict[str, Any]:
        """Which of the episodes that ended were referred, by its key of infos; nothing where none can be."""
        rules = self.rules
        return {} if rules.refer_cost is None else {"referred": (outcomes.prediction == rules.n_classes) & ended}

    def _final_infos(
        self, outcomes: EpisodeOutcomes, ended: NDArray[np.bool_], which: NDArray[np.int64]
    ) -> dict[str, Any]:
        """Infos of same-step mode: last observation and info of the episodes ``which``, which ended."""
        episodes, state, mask = self._episodes, self._episodes.state, ended.copy()
        final = np.full(self.num_envs, None, dtype=object)
        for e, observation in zip(which.tolist(), episodes.observation[which]):
            final[e] = observation
        values = {"action_mask": state.legal * mask[:, None], "spent": state.spent * mask} | outcomes._asdict()
        values |= self._referred(outcomes, mask)
        return _masked({"final_obs": final, "final_info": _masked(values, mask)}, mask)


def _outcome_infos(outcomes: EpisodeOutcomes, mask: NDArray[np.bool_]) -> dict[str, Any]:
    """As ``_masked(outcomes._asdict(), mask)``; written out for speed, since most steps of many episodes need it."""
    prediction, label, correct, illegal, n_acquired, acquisition_cost, error_cost = outcomes
    return {
        "prediction": prediction,
        "_prediction": mask,
        "label": label,
        "_label": mask,
        "correct": correct,
        "_correct": mask,
        "illegal": illegal,
        "_illegal": mask,
        "n_acquired": n_acquired,
        "_n_acquired": mask,
        "acquisition_cost": acquisition_cost,
        "_acquisition_cost": mask,
        "error_cost": error_cost,
        "_error_cost": mask,
    }


def _masked(values: dict[str, Any], mask: NDArray[np.bool_]) -> dict[str, Any]:
    """Gymnasium's form of infos for some of the environments: each key with its mask."""
    infos = dict(values)
    for key in values:
        infos[f"_{key}"] = mask
    return infos
