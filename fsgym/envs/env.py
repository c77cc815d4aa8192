"""The single environment: the Gymnasium interface to one episode."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index as as_index
from typing import Any, ClassVar, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from fsgym.data.dataset import Dataset
from fsgym.envs import rendering as render
from fsgym.envs.episodes import NO_ROWS, EpisodeOutcomes, Episodes, observation_size
from fsgym.envs.rendering import Window
from fsgym.envs.spec import HasJsonSpec
from fsgym.rules import Rules
from fsgym.text.messages import brief, did_you_mean, explain_unknown, listing

ONLY_EPISODE = np.zeros(1, np.int64)


class DatumWiseEnv(HasJsonSpec, gym.Env[NDArray[np.float32], np.int64]):
    """Classify one row, paying for each feature that is acquired.

    ## Description
    Each episode classifies one row of the data. The agent acquires features (or groups of features) one after the
    other, each at a price, and ends the episode by answering a class. This is the decision process of Dulac-Arnold,
    Denoyer, Preux and Gallinari, "Sequential approaches for learning datum-wise sparse representations" (2012).

    | id | rules | default data |
    | --- | --- | --- |
    | ``DatumWise-v0`` | every feature has the same price | breast cancer, 30 features |
    | ``DatumWiseBudget-v0`` | up to five features, free of charge | breast cancer |
    | ``DatumWiseCost-v0`` | each feature has its own price, each kind of error its own cost | breast cancer |
    | ``DatumWiseGroup-v0`` | features are acquired in groups | breast cancer, ten groups of three |
    | ``DatumWiseRelational-v0`` | a feature is cheaper when a related one is known | digits, 2 x 2 pixels at a time |

    ## Action Space
    ``Discrete(n_acquisitions + n_classes)``: with J acquisitions, actions 0..J-1 acquire and J + k answers class k.
    With ``refer_cost`` there is one more action, J + n_classes, which refers the case to a person and ends the episode.
    Acquisitions have the order of ``rules.names``, classes that of ``dataset.classes``. ``info["action_mask"]`` (int8)
    and ``action_masks()`` (bool) mark the legal actions. An acquisition is illegal if it was made before, if its value
    is missing in this row, or if the rules do not allow it now (budget, prerequisites, relation). Answers are always
    legal. ``env.action_space.sample(mask=info["action_mask"])`` draws a legal action.

    ## Observation Space
    ``Box``, float32, shape (2 n_features,): z (1 where a value is known, else 0), then the values
    (0 where unknown), both in the order of the features. The bounds are those of the whole data set, widened to include
    0: they cover the test rows too, and are the same for all parts. ``RescaleObservation`` scales by them.
    Where prices are by case (``Dataset.case_costs``), the n_acquisitions prices of the case follow, in the unit of
    ``costs``, as the shape is (2 n_features + n_acquisitions,): they are known from the start.

    Values are observed as they are in ``dataset.X``. ``gymnasium.make`` scales a data set that is given by name: each
    feature to [-1, 1] by its range in the training part, also with ``split="test"``, where values may lie outside of
    that range. A ``Dataset`` of your own is used unchanged; call ``Dataset.scaled`` first if your policy needs scaled
    inputs. Do not normalise observations by running means (``NormalizeObservation``, ``VecNormalize``): a value that
    is 0 because it is unknown would count as an observed one.

    ## Rewards
    ``-lam * price`` for an acquisition, at the price of the case where prices are by case;
    ``-error_costs[answer, true class]`` for the answer, ``-refer_cost`` if the case is referred. The return of an
    episode, undiscounted, is minus the regularised loss of its row; use a discount of 1.

    ## Starting State
    ``reset`` draws a row uniformly, with replacement; nothing is known of it.

    ## Episode End
    An episode terminates with the answer, after at most n_acquisitions + 1 steps. It is never truncated.

    An illegal acquisition forfeits the episode: it ends as if the agent had given the costliest answer
    (``illegal_action="forfeit"``), or ValueError is raised and the episode goes on (``illegal_action="raise"``). An
    action that is no whole number or out of range always raises. A step after the end raises
    ``gymnasium.error.ResetNeeded``.

    ## Information
    ``reset`` and ``step`` return ``action_mask``, int8 (n_actions,), and ``spent``, the total price of the acquisitions
    so far, in the unit of ``costs``. At the end also ``prediction`` and ``label`` (codes into ``dataset.classes``),
    ``correct``, ``illegal`` (whether an illegal action ended the episode; the prediction is then the costliest answer),
    ``n_acquired`` (number of acquisitions), ``acquisition_cost`` (``lam * spent``) and ``error_cost``.
    With ``refer_cost`` also ``referred``: then the prediction is ``n_classes``, ``correct`` is False and ``error_cost``
    is ``refer_cost``.
    Nothing depends on a value before it is acquired, except that the mask shows which values are missing; and nothing
    depends on the label before the end.

    ## Arguments
    ``gymnasium.make(id, ...)`` takes ``dataset`` (a name or a ``Dataset``), ``split`` ("train", "test", "all"),
    ``block``, all options of ``Rules`` (``lam``, ``costs``, ``error_costs``, ``budget``, ``groups``, ...),
    ``render_mode``, ``illegal_action`` and ``belief``; see ``fsgym.envs.registration.make_env``.

    ## Reset Arguments
    ``reset(seed=...)`` seeds the draws of rows; ``reset(options={"index": i})`` starts on row i.

    ## Rendering
    ``"ansi"``: a line for each step (the acquisition, its value with unit, its price in the unit of ``costs``, and what
    is still legal).
    ``"rgb_array"``: a card of 800 x 600 pixels with what is known in its order, with values, units and prices, what was
    spent, the costs of errors if they are not 1 each, the class probabilities if there is a ``belief``, and the last
    step. A picture shows all features as squares, row by row in the order of the columns, unknown ones in grey. Text
    and card show the values as they were before ``Dataset.scaled``.
    ``"human"``: the same card in a window, by pygame (extra ``render``), at two steps a second.

    ## Vectorized Environment
    ``gymnasium.make_vec(id, num_envs)`` makes ``DatumWiseVectorEnv``, with all three autoreset modes.

    Parameters
    ----------
    dataset : Dataset
        The data.
    rules : Rules, optional
        Prices, groups and budgets; by default ``Rules.for_dataset(dataset)``.
    render_mode : {"ansi", "rgb_array", "human"}, optional
    illegal_action : {"forfeit", "raise"}, default "forfeit"
    belief : callable, classifier or policy, optional
        What the card shows as belief: a function from n observations to class probabilities
        (n, n_classes), a fitted classifier of ``agents``, or a policy that knows the columns in the order of the data.
        It may return None. The episode does not depend on it.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid or the rules do not fit the data.
    ImportError
        If ``render_mode="human"`` and pygame is not installed.

    References
    ----------
    G. Dulac-Arnold, L. Denoyer, P. Preux and P. Gallinari. Sequential approaches for learning datum-wise sparse
    representations. Machine Learning 89, 87-122, 2012.

    Version History
    ---------------
    v0: first version.

    ``DatumWiseCost-v0`` charged a missed cancer 100 and a false alarm 500 before fsgym 0.3.0, the wrong way round. It
    keeps its number, against the rule of new numbers, as it was never published; its results changed.

    Examples
    --------
    >>> import fsgym, gymnasium
    >>> env = gymnasium.make("fsgym:DatumWise-v0", lam=0.05, render_mode="rgb_array")
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step(7)
    >>> reward, terminated
    (-0.05, False)
    >>> env.render().shape
    (600, 800, 3)
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi", "rgb_array", "human"], "render_fps": 2}

    def __init__(
        self,
        dataset: Dataset,
        rules: Rules | None = None,
        *,
        render_mode: str | None = None,
        illegal_action: Literal["forfeit", "raise"] = "forfeit",
        belief: Any = None,
    ) -> None:
        check_render_mode(render_mode, self.metadata["render_modes"])
        self.rules = rules_for(dataset, rules)
        self.dataset = dataset
        self.render_mode = render_mode
        self.belief = render.check_belief(belief, self.rules)
        self._strict = check_illegal_action(illegal_action)
        self.observation_space = observation_space(dataset, self.rules)  # type: ignore[assignment]
        self.action_space = spaces.Discrete(self.rules.n_actions)
        self._episode = Episodes(dataset, self.rules, 1)
        self._action = np.zeros(1, np.int64)
        self._reward = np.zeros(1)
        self._ended = np.zeros(1, bool)
        self._outcomes = EpisodeOutcomes.blank(1)
        self._transcript: list[str] = []
        self._log = render.EpisodeLog(1)
        fps = self.metadata["render_fps"]
        self._window = Window(f"fsgym: {dataset.name}", fps) if render_mode == "human" else None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        index = check_reset_options(seed, options, "index").get("index")
        row = None if index is None else check_row_index(index, 1, self.dataset)
        super().reset(seed=seed)
        if row is None:
            row = self.np_random.integers(self.dataset.n_samples, size=1)
        self._episode.begin(ONLY_EPISODE, row)
        self._ended[0] = False
        self._transcript = [render.describe_start(self._episode)] if self.render_mode == "ansi" else []
        self._log.begin([0])
        if self._window is not None:
            self._window.show(self._picture())
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
        spent = 0.0 if self.render_mode is None else episode.state.spent.item()  # which only ``_record`` reads
        strict = self._strict
        ended = episode.step(self._action, self._reward, self._ended, self._outcomes, NO_ROWS, 0, strict) == 1
        info = self._info()
        if ended:
            info |= {key: values[0].item() for key, values in self._outcomes._asdict().items()}
            if self.rules.refer_cost is not None:
                info["referred"] = info["prediction"] == self.rules.n_classes
        if self.render_mode is not None:
            self._record(int(self._action[0]), info["spent"] - spent)
        return episode.observation[0].copy(), self._reward.item(), ended, False, info

    def action_masks(self) -> NDArray[np.bool_]:
        """The legal actions, bool (n_actions,), as sb3-contrib expects them."""
        return self._episode.state.legal[0].astype(bool)

    def render(self) -> Any:
        if self.render_mode is None:
            gym.logger.warn('render() needs a mode: gymnasium.make(..., render_mode="ansi"), "rgb_array" or "human"')
            return None
        if self.render_mode == "ansi":
            return "\n".join(self._transcript) + "\n"
        return self._picture() if self._window is None else None  # a window shows each step by itself

    def close(self) -> None:
        if self._window is not None:
            self._window.close()

    def _record(self, action: int, price: float) -> None:
        """Add a step to what is rendered, and show it if there is a window."""
        if self.render_mode == "ansi":
            outcomes = self._outcomes if self._ended[0] else None
            self._transcript.append(render.describe_step(self._episode, action, price, outcomes))
            return
        self._log.add(0, action, price)
        if self._window is not None:
            self._window.show(self._picture())

    def _picture(self) -> NDArray[np.uint8]:
        outcomes = self._outcomes if self._ended[0] else None
        return render.draw_episode(self._episode, 0, self._log[0], outcomes, self.belief)

    def _info(self) -> dict[str, Any]:
        episode = self._episode
        return {"action_mask": episode.state.legal[0].copy(), "spent": episode.state.spent.item()}


def observation_space(dataset: Dataset, rules: Rules) -> spaces.Box:
    """Box of phi(x, z): z in [0, 1], then values within the bounds of the data, widened to include 0.

    A feature that is always 0 gets [-1, 1]. Prices by case are from 0 to the largest ones of the whole table.
    """
    n = dataset.n_features
    low, high = (np.zeros(observation_size(rules), np.float32) for _ in range(2))
    high[:n] = 1.0
    low[n : 2 * n] = np.minimum(dataset.bounds[0], 0.0)
    high[n : 2 * n] = np.maximum(dataset.bounds[1], 0.0)
    if rules.costs_by_case:
        high[2 * n :] = dataset._largest_prices
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


def check_reset_options(seed: Any, options: Any, *known: str) -> dict[str, Any]:
    """The options of ``reset`` as a dict; raises where they or the seed are malformed, or one is unknown."""
    if seed is not None and (not isinstance(seed, int) or seed < 0):
        raise ValueError(f"seed must be an int, 0 or more, or None, got {brief(seed)}")
    if not isinstance(options, dict | None):
        raise TypeError(f"options must be a dict or None, got {brief(options)}")
    for name in options or {}:
        if name not in known:
            raise ValueError(explain_unknown("option of reset", name, known, f"reset takes {listing(known)}"))
    return options or {}


def check_render_mode(render_mode: Any, modes: Sequence[str]) -> None:
    """ValueError unless the mode is one of ``modes``, or None."""
    if render_mode is not None and (not isinstance(render_mode, str) or render_mode not in modes):
        words = ", ".join(map(repr, modes))
        hint = did_you_mean(render_mode, modes)
        raise ValueError(f"render_mode must be {words} or None, got {brief(render_mode)}{hint}")


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
