"""The single environment: the Gymnasium interface to one episode."""

from __future__ import annotations

from operator import index as as_index
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

ONLY_EPISODE = np.zeros(1, np.int64)


class DatumWiseEnv(gym.Env[NDArray[np.float32], np.int64]):
    """Classify one row, paying for each feature that is acquired.

    ## Description
    Each episode classifies one row of the data. The agent acquires features (or groups of features) one after the
    other, each at a price, and ends the episode by answering a class. This is the decision process of Dulac-Arnold,
    Denoyer, Preux and Gallinari, "Sequential approaches for learning datum-wise sparse representations" (2012).

    ## Observation space
    ``Box``, float32, shape (2 n_features,): z (1 where a value is known, else 0), then the values
    (0 where unknown), both in the order of the features.

    ## Action space
    ``Discrete(n_acquisitions + n_classes)``: with J acquisitions, actions 0..J-1 acquire and J + k answers class k.
    ``info["action_mask"]`` (int8) and ``action_masks()`` (bool) mark the legal actions.

    ## Rewards
    ``-lam * price`` for an acquisition, ``-error_costs[answer, true class]`` for the answer. The return of an episode
    is minus the regularised loss of its row.

    ## Episode end
    An episode terminates with the answer; it is never truncated. An illegal acquisition forfeits the episode: it ends
    as if the agent had given the costliest answer (``illegal_action="forfeit"``), or ValueError is raised
    (``illegal_action="raise"``). An action out of range always raises.

    ## Info
    At every step: ``action_mask``, int8 (n_actions,); ``spent``, the total price of the acquisitions so far, in the
    unit of ``costs``. At the end also ``prediction`` and ``label`` (codes into ``dataset.classes``), ``correct``,
    ``n_acquired`` (number of acquisitions), ``acquisition_cost`` (``lam * spent``) and ``error_cost``.
    Nothing depends on a value before it is acquired, except that the mask shows which values are missing; and nothing
    depends on the label before the end.

    ## Reset
    Draws a row uniformly, with replacement; ``options={"index": i}`` selects row i.

    ## Rendering
    ``"ansi"``: a line for each step (the acquisition, its value with unit, its price in the unit of ``costs``, and what
    is still legal).
    ``"rgb_array"``: the features as a grid, or the image, with unknown values in grey.

    ## Version history
    v0: first version.

    Parameters
    ----------
    dataset : Dataset
        The data. Values are observed unscaled; use ``Dataset.scaled`` first if your policy needs scaled inputs.
    rules : Rules, optional
        Prices, groups and budgets; by default ``Rules.for_dataset(dataset)``.
    render_mode : {"ansi", "rgb_array"}, optional
    illegal_action : {"forfeit", "raise"}, default "forfeit"

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
        self._strict = check_illegal_action(illegal_action)
        self.observation_space = observation_space(dataset)  # type: ignore[assignment]
        self.action_space = spaces.Discrete(self.rules.n_actions)
        self._episode = Episodes(dataset, self.rules, 1)
        self._action = np.zeros(1, np.int64)
        self._reward = np.zeros(1)
        self._ended = np.zeros(1, bool)
        self._outcomes = EpisodeOutcomes.blank(1)
        self._transcript: list[str] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        index = check_reset_options(seed, options).get("index")
        row = None if index is None else check_row_index(index, 1, self.dataset)
        super().reset(seed=seed)
        if row is None:
            row = self.np_random.integers(self.dataset.n_samples, size=1)
        self._episode.begin(ONLY_EPISODE, row)
        self._ended[0] = False
        self._transcript = [render.describe_start(self._episode)] if self.render_mode == "ansi" else []
        return self._episode.observation[0].copy(), self._info()

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        episode = self._episode
        if not episode.active[0]:
            raise ResetNeeded("the episode has ended or not started; call reset() before step()")
        try:
            self._action[0] = as_index(action)
        except TypeError:
            raise TypeError(f"action must be a whole number, got {brief(action)}") from None
        except OverflowError:
            raise ValueError(f"action must be 0 to {self.rules.n_actions - 1}, got {brief(action)}") from None
        spent = float(episode.state.spent[0])
        episode.step(self._action, self._reward, self._ended, self._outcomes, strict=self._strict)
        ended, reward = bool(self._ended[0]), float(self._reward[0])
        info = self._info()
        if ended:
            info |= {key: values[0].item() for key, values in self._outcomes._asdict().items()}
        if self.render_mode == "ansi":
            outcomes = self._outcomes if ended else None
            price = info["spent"] - spent
            self._transcript.append(render.describe_step(episode, int(self._action[0]), price, outcomes))
        return episode.observation[0].copy(), reward, ended, False, info

    def action_masks(self) -> NDArray[np.bool_]:
        """The legal actions, bool (n_actions,), as sb3-contrib expects them."""
        return self._episode.state.legal[0].astype(bool)

    def render(self) -> Any:
        if self.render_mode is None:
            gym.logger.warn('render() needs a mode: gymnasium.make(..., render_mode="ansi") or "rgb_array"')
            return None
        if self.render_mode == "ansi":
            return "\n".join(self._transcript) + "\n"
        return render.draw_episode(self._episode, 0, self._outcomes if self._ended[0] else None)

    def _info(self) -> dict[str, Any]:
        episode = self._episode
        return {"action_mask": episode.state.legal[0].copy(), "spent": float(episode.state.spent[0])}


def observation_space(dataset: Dataset) -> spaces.Box:
    """Box of phi(x, z): z in [0, 1], then values within the bounds of the data, widened to include 0.

    A feature that is always 0 gets [-1, 1].
    """
    n = dataset.n_features
    low, high = (np.zeros(2 * n, np.float32) for _ in range(2))
    high[:n] = 1.0
    low[n:] = np.minimum(dataset.bounds[0], 0.0)
    high[n:] = np.maximum(dataset.bounds[1], 0.0)
    constant = low == high  # Gymnasium's checker warns where both bounds are equal
    low[constant], high[constant] = -1.0, 1.0
    return spaces.Box(low, high, dtype=np.float32)


def rules_for(dataset: Any, rules: Any) -> Rules:
    """The given rules, or by default those of the data set; TypeError where either argument has another type."""
    if not isinstance(dataset, Dataset):
        raise TypeError(f"dataset must be a Dataset (load_dataset makes one by name), got {brief(dataset)}")
    if not isinstance(rules, Rules | None):
        raise TypeError(f"rules must be Rules or None, got {brief(rules)}")
    return Rules.for_dataset(dataset) if rules is None else rules


def check_reset_options(seed: Any, options: Any) -> dict[str, Any]:
    """The options of ``reset`` as a dict; raises where they or the seed are malformed."""
    if seed is not None and (not isinstance(seed, int) or seed < 0):
        raise ValueError(f"seed must be an int, 0 or more, or None, got {brief(seed)}")
    if not isinstance(options, dict | None):
        raise TypeError(f"options must be a dict or None, got {brief(options)}")
    return options or {}


def check_illegal_action(illegal_action: str) -> bool:
    """Whether an illegal acquisition raises (True) or forfeits the episode (False)."""
    if not isinstance(illegal_action, str) or illegal_action not in ("forfeit", "raise"):
        raise ValueError(f"illegal_action must be 'forfeit' or 'raise', got {brief(illegal_action)}")
    return illegal_action == "raise"


def check_row_index(index: Any, size: int, dataset: Dataset) -> NDArray[np.int64]:
    """The rows that ``options["index"]`` selects, int64 (size,), checked."""
    try:
        rows = np.asarray(index)
    except (TypeError, ValueError):
        rows = np.zeros((), object)
    if rows.dtype.kind not in "iu" or (rows.ndim and rows.shape != (size,)):
        raise ValueError(f"options['index'] must be {size} whole number(s), got {brief(index)}")
    if rows.min() < 0 or rows.max() >= dataset.n_samples:
        raise ValueError(f"options['index'] must be 0 to {dataset.n_samples - 1}, got {brief(index)}")
    return np.broadcast_to(rows, (size,)).astype(np.int64)
