"""The single environment: a Gymnasium shell over one episode."""

from __future__ import annotations

from operator import index as whole
from typing import Any, ClassVar, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from fsgym import render
from fsgym.checks import brief
from fsgym.dataset import Dataset
from fsgym.episodes import EpisodeOutcomes, Episodes
from fsgym.rules import Rules

FIRST = np.zeros(1, np.int64)


class DatumWiseEnv(gym.Env[NDArray[np.float32], np.int64]):
    """Classify one datum, paying for each of its features that you look at.

    ## Description
    An episode is one datum. The agent acquires features (or groups of them) one after the other, each at a
    price, and ends the episode by answering a class. It is the decision process of Dulac-Arnold, Denoyer,
    Preux and Gallinari, "Sequential approaches for learning datum-wise sparse representations" (2012).

    ## Observation space
    ``Box``, float32, shape (2 n_features,): z, 1 where a value is known, then the values, 0 where unknown.

    ## Action space
    ``Discrete(n_acquisitions + n_classes)``: 0..J-1 acquire, J + k answers class k.
    ``info["action_mask"]`` (int8) and ``action_masks()`` (bool) tell what is legal.

    ## Rewards
    ``-lam * price`` for an acquisition, ``-error_costs[answer, truth]`` for the answer: the return of an
    episode is minus the regularised loss of its datum.

    ## Episode end
    Terminates with the answer; never truncates. An illegal acquisition forfeits the episode: it ends as if the
    class that costs most for this datum had been answered (``illegal_action="forfeit"``), or raises
    ValueError (``illegal_action="raise"``). An action out of range always raises.

    ## Info
    Always: ``action_mask``, int8 (n_actions,); ``spent``, what the acquisitions cost so far in the unit of
    ``costs``. At the end also: ``prediction`` and ``label`` (codes into ``dataset.classes``), ``correct``,
    ``n_acquired`` (acquisitions made), ``acquisition_cost`` (``lam * spent``), ``error_cost``.
    Nothing depends on a value that was not paid for (which values are missing is public), nor on the label
    before the end.

    ## Reset
    Draws a datum uniformly, with replacement; ``options={"index": i}`` takes datum i.

    ## Rendering
    ``"ansi"``: a line for each step (what was asked, its value, its price, what is left to ask).
    ``"rgb_array"``: the features as a grid, or the image, with what is unknown in grey.

    Parameters
    ----------
    dataset : Dataset
        The data, shown as they are; scale them first (``Dataset.scaled``) where that matters.
    rules : Rules, optional
        Prices, groups, budgets; by default those of the data set.
    render_mode : {"ansi", "rgb_array"}, optional
    illegal_action : {"forfeit", "raise"}, default "forfeit"

    Version history
    ---------------
    v0: first version.

    Examples
    --------
    >>> import fsgym, gymnasium
    >>> env = gymnasium.make("DatumWise-v0", lam=0.05)
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step(7)
    >>> reward, terminated
    (-0.05, False)
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 2}

    def __init__(
        self,
        dataset: Dataset,
        rules: Rules | None = None,
        *,
        render_mode: str | None = None,
        illegal_action: Literal["forfeit", "raise"] = "forfeit",
    ) -> None:
        if not isinstance(render_mode, str | None) or render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"render_mode must be 'ansi', 'rgb_array' or None, got {brief(render_mode)}")
        self.rules = rules_for(dataset, rules)
        self.dataset = dataset
        self.render_mode = render_mode
        self._strict = is_strict(illegal_action)
        self.observation_space = observation_space(dataset)  # type: ignore[assignment]
        self.action_space = spaces.Discrete(self.rules.n_actions)
        self._episode = Episodes(dataset, self.rules, 1)
        self._action = np.zeros(1, np.int64)
        self._reward = np.zeros(1)
        self._ended = np.zeros(1, bool)
        self._outcomes = EpisodeOutcomes.blank(1)
        self._said: list[str] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        index = checked_options(seed, options).get("index")
        row = None if index is None else chosen_rows(index, 1, self.dataset)
        super().reset(seed=seed)
        if row is None:
            row = self.np_random.integers(self.dataset.n_samples, size=1)
        self._episode.begin(FIRST, row)
        self._ended[0] = False
        self._said = [render.opening(self._episode)] if self.render_mode == "ansi" else []
        return self._episode.observation[0].copy(), self._info()

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        episode = self._episode
        if not episode.active[0]:
            raise ResetNeeded("the episode has ended (or none was begun); call reset() before step()")
        try:
            self._action[0] = whole(action)
        except TypeError:
            raise TypeError(f"action must be a whole number, got {brief(action)}") from None
        except OverflowError:
            raise ValueError(f"action must be 0 to {self.rules.n_actions - 1}, got {brief(action)}") from None
        episode.step(self._action, self._reward, self._ended, self._outcomes, strict=self._strict)
        ended, reward = bool(self._ended[0]), float(self._reward[0])
        info = self._info()
        if ended:
            info |= {key: values[0].item() for key, values in self._outcomes._asdict().items()}
        if self.render_mode == "ansi":
            outcomes = self._outcomes if ended else None
            self._said.append(render.line(episode, int(self._action[0]), 0.0 - reward, outcomes))
        return episode.observation[0].copy(), reward, ended, False, info

    def action_masks(self) -> NDArray[np.bool_]:
        """What is legal now, bool (n_actions,): the form sb3-contrib asks for."""
        return self._episode.state.legal[0].astype(bool)

    def render(self) -> Any:
        if self.render_mode is None:
            gym.logger.warn('render() needs a mode: gymnasium.make(..., render_mode="ansi") or "rgb_array"')
            return None
        if self.render_mode == "ansi":
            return "\n".join(self._said) + "\n"
        return render.picture(self._episode, 0, self._outcomes if self._ended[0] else None)

    def _info(self) -> dict[str, Any]:
        episode = self._episode
        return {"action_mask": episode.state.legal[0].copy(), "spent": float(episode.state.spent[0])}


def observation_space(dataset: Dataset) -> spaces.Box:
    """Box of phi(x, z): z in 0..1, then values between the bounds of the data, 0 included (-1..1 for a constant 0)."""
    n = dataset.n_features
    low, high = (np.zeros(2 * n, np.float32) for _ in range(2))
    high[:n] = 1.0
    low[n:] = np.minimum(dataset.bounds[0], 0.0)
    high[n:] = np.maximum(dataset.bounds[1], 0.0)
    flat = low == high  # an interval of one point makes checkers warn
    low[flat], high[flat] = -1.0, 1.0
    return spaces.Box(low, high, dtype=np.float32)


def rules_for(dataset: Any, rules: Any) -> Rules:
    """The rules given, or the data set's own; TypeError where either is something else."""
    if not isinstance(dataset, Dataset):
        raise TypeError(f"dataset must be a Dataset (load_dataset makes one by name), got {brief(dataset)}")
    if not isinstance(rules, Rules | None):
        raise TypeError(f"rules must be Rules or None, got {brief(rules)}")
    return Rules.for_dataset(dataset) if rules is None else rules


def checked_options(seed: Any, options: Any) -> dict[str, Any]:
    """The options of a reset, with its seed checked."""
    if seed is not None and (not isinstance(seed, int) or seed < 0):
        raise ValueError(f"seed must be an int, 0 or more, or None, got {brief(seed)}")
    if not isinstance(options, dict | None):
        raise TypeError(f"options must be a dict or None, got {brief(options)}")
    return options or {}


def is_strict(illegal_action: str) -> bool:
    if not isinstance(illegal_action, str) or illegal_action not in ("forfeit", "raise"):
        raise ValueError(f"illegal_action must be 'forfeit' or 'raise', got {brief(illegal_action)}")
    return illegal_action == "raise"


def chosen_rows(index: Any, size: int, dataset: Dataset) -> NDArray[np.int64]:
    """Rows asked for by ``options["index"]``, int64 (size,), checked."""
    try:
        rows = np.asarray(index)
    except (TypeError, ValueError):
        rows = np.zeros((), object)
    if rows.dtype.kind not in "iu" or (rows.ndim and rows.shape != (size,)):
        raise ValueError(f"options['index'] must be {size} whole number(s), got {brief(index)}")
    if rows.min() < 0 or rows.max() >= dataset.n_samples:
        raise ValueError(f"options['index'] must be 0 to {dataset.n_samples - 1}, got {brief(index)}")
    return np.broadcast_to(rows, (size,)).astype(np.int64)
