"""Deep Q-learning over legal actions."""

from __future__ import annotations

from functools import wraps
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib.common.maskable.utils import get_action_masks
from stable_baselines3 import DQN
from stable_baselines3.common.buffers import ReplayBuffer
from torch.nn.functional import smooth_l1_loss

ILLEGAL_VALUE = -torch.inf


class MaskedSamples(NamedTuple):
    """Transitions (s, a, s', whether s' is terminal, r), and the masks of the legal actions in s'."""

    observations: torch.Tensor
    actions: torch.Tensor
    next_observations: torch.Tensor
    dones: torch.Tensor
    rewards: torch.Tensor
    next_masks: torch.Tensor


class MaskedReplayBuffer(ReplayBuffer):
    """A replay buffer that also stores the legal actions in the next state of each transition, ``next_masks``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.next_masks = np.ones((self.buffer_size, self.n_envs, int(self.action_space.n)), bool)  # type: ignore[attr-defined]

    def _get_samples(self, batch_inds: NDArray, env: Any = None) -> MaskedSamples:  # type: ignore[override]
        where = batch_inds, np.random.randint(0, self.n_envs, size=len(batch_inds))  # noqa: NPY002 (seeded by Stable-Baselines3)
        arrays = (
            self.observations[where],
            self.actions[where],
            self.next_observations[where],
            self.dones[where][:, None],
            self.rewards[where][:, None],
            self.next_masks[where],
        )
        return MaskedSamples(*(self.to_torch(array) for array in arrays))


class MaskedDQN(DQN):
    """Deep Q-learning (Mnih et al., 2015) that chooses, explores and bootstraps over legal actions only.

    The DQN of Stable-Baselines3 does not use masks: it learns from forfeited episodes, and its target is the maximum
    over all actions, legal or not. In this class the greedy action, the random action and the maximum are over the
    legal actions, and each environment explores independently. Parameters and methods are those of
    ``stable_baselines3.DQN``. The environment must have ``action_masks()``, as those of this package do.

    References
    ----------
    V. Mnih et al. Human-level control through deep reinforcement learning. Nature 518, 529-533, 2015.

    Examples
    --------
    >>> import fsgym, gymnasium
    >>> from agents.deep.sb3 import MaskedDQN
    >>> env = gymnasium.make("fsgym:DatumWise-v0", lam=0.05)
    >>> model = MaskedDQN("MlpPolicy", env, gamma=1.0, learning_starts=50, seed=0, device="cpu").learn(100)
    >>> fsgym.evaluate(model, env).illegal
    0.0
    """

    replay_buffer: MaskedReplayBuffer  # type: ignore[assignment]

    @wraps(DQN.__init__)  # for its signature, from which the valid options are read
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"replay_buffer_class": MaskedReplayBuffer, **kwargs})

    def predict(  # type: ignore[override]
        self,
        observation: NDArray,
        state: Any = None,
        episode_start: NDArray | None = None,
        deterministic: bool = False,
        action_masks: NDArray | None = None,
    ) -> tuple[NDArray, Any]:
        """As ``DQN.predict``, over the actions that are legal by ``action_masks``, bool (n, n_actions)."""
        if action_masks is None:
            return super().predict(observation, state, episode_start, deterministic)
        self.policy.set_training_mode(False)
        observations, many = self.policy.obs_to_tensor(observation)
        legal = np.atleast_2d(action_masks).astype(bool)
        with torch.no_grad():
            values = self.q_net(observations).masked_fill(self._illegal(legal), ILLEGAL_VALUE)
        actions = values.argmax(dim=1).cpu().numpy()
        if not deterministic:
            actions = _explore(actions, legal, self.exploration_rate)
        return (actions if many else actions[0]), state

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        losses = []
        for _ in range(gradient_steps):
            batch: Any = self.replay_buffer.sample(batch_size)
            with torch.no_grad():  # r + gamma Q'(s', a'), a' the legal action of the largest Q(s', .)
                scores = self.q_net(batch.next_observations).masked_fill(batch.next_masks == 0, ILLEGAL_VALUE)
                best = scores.argmax(dim=1, keepdim=True)
                values = self.q_net_target(batch.next_observations).gather(1, best)
                targets = batch.rewards + (1 - batch.dones) * self.gamma * values
            loss = smooth_l1_loss(self.q_net(batch.observations).gather(1, batch.actions.long()), targets)
            self.policy.optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.policy.parameters(), self.max_grad_norm)
            self.policy.optimizer.step()
            losses.append(loss.item())
        self._n_updates += gradient_steps
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        self.logger.record("train/loss", float(np.mean(losses)))

    def _sample_action(
        self, learning_starts: int, action_noise: Any = None, n_envs: int = 1
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        legal = get_action_masks(self.env)  # type: ignore[arg-type]
        if self.num_timesteps < learning_starts:
            actions = _explore(np.zeros(n_envs, np.int64), legal, 1.0)
        else:
            actions, _ = self.predict(self._last_obs, action_masks=legal)  # type: ignore[arg-type]
        return actions, actions

    def _store_transition(self, replay_buffer: Any, *rest: Any, **named: Any) -> None:
        replay_buffer.next_masks[replay_buffer.pos] = get_action_masks(self.env)  # type: ignore[arg-type]
        super()._store_transition(replay_buffer, *rest, **named)

    def _illegal(self, legal: NDArray[np.bool_]) -> torch.Tensor:
        return torch.as_tensor(~legal, device=self.device)


def _explore(actions: NDArray, legal: NDArray[np.bool_], rate: float) -> NDArray[np.int64]:
    """The actions, each replaced by a uniformly random legal one with probability ``rate``."""
    uniform = np.random.random  # the generator that Stable-Baselines3 seeds
    return np.where(uniform(len(legal)) < rate, (uniform(legal.shape) * legal).argmax(axis=1), actions)
