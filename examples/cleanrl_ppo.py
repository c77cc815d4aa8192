"""Masked PPO in one file and plain PyTorch, in the style of CleanRL; nothing but the environment is from fsgym.

pip install -c constraints.txt -e ".[rl]"
python examples/cleanrl_ppo.py            (half a minute, and a minute for the comparison with baselines)
python examples/cleanrl_ppo.py --resume   (goes on from the last checkpoint in runs/cleanrl_ppo/)
tensorboard --logdir runs
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import gymnasium as gym
import numpy as np
from around_training import BASELINES, compare_with_baselines, film, last_checkpoint

import fsgym

try:
    import torch
    from torch import nn
    from torch.distributions import Categorical
    from torch.utils.tensorboard import SummaryWriter
except ImportError:
    raise SystemExit('This example needs PyTorch and TensorBoard: pip install -c constraints.txt -e ".[rl]"') from None

GAE_LAMBDA, CLIP, ENTROPY, VALUE, MAX_NORM = 0.95, 0.2, 0.01, 0.5, 0.5  # there is no discount: returns are losses


def layer(n_in: int, n_out: int, gain: float = 2**0.5) -> nn.Linear:
    linear = nn.Linear(n_in, n_out)
    nn.init.orthogonal_(linear.weight, gain)
    nn.init.zeros_(linear.bias)
    return linear


class Agent(nn.Module):
    def __init__(self, n_observed: int, n_actions: int) -> None:
        super().__init__()

        def network(n_out: int, gain: float) -> nn.Sequential:
            return nn.Sequential(layer(n_observed, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, n_out, gain))

        self.actor, self.critic = network(n_actions, 0.01), network(1, 1.0)

    def policy(self, observations: torch.Tensor, masks: torch.Tensor) -> Categorical:
        logits = self.actor(observations).masked_fill(~masks, -1e9)  # illegal actions have no probability
        return Categorical(logits=logits, validate_args=False)


def main(
    env_id: str = "fsgym:DatumWise-v0",
    total_timesteps: int = 100_000,
    num_envs: int = 64,
    num_steps: int = 32,
    learning_rate: float = 1e-3,
    seed: int = 0,
    folder: str = "runs/cleanrl_ppo",
    resume: bool = False,
    baselines: Sequence[str] = (),
) -> fsgym.Evaluation:
    torch.manual_seed(seed)
    torch.set_num_threads(1)  # more threads do not help networks as small as these
    rng = np.random.default_rng(seed)
    # An episode that ends is reset in the same step, so that every step is a transition.
    envs = gym.make_vec(env_id, num_envs, autoreset_mode="SameStep")
    n_observed, n_actions = envs.single_observation_space.shape[0], int(envs.single_action_space.n)
    scale = float(np.abs(envs.unwrapped.rules.error_costs).max()) or 1.0  # networks train badly on large rewards
    agent, writer = Agent(n_observed, n_actions), SummaryWriter(folder)
    optimizer = torch.optim.Adam(agent.parameters(), lr=learning_rate, eps=1e-5)
    shape = num_steps, num_envs
    observations, masks = torch.zeros(*shape, n_observed), torch.zeros(*shape, n_actions, dtype=torch.bool)
    actions, logprobs, rewards, ended, values = (torch.zeros(shape) for _ in range(5))
    observation, info = envs.reset(seed=seed)
    n_updates, first = max(total_timesteps // (num_steps * num_envs), 1), 0
    if resume and (last := last_checkpoint(folder)):
        path, steps = last
        saved = torch.load(path, weights_only=True)
        agent.load_state_dict(saved["agent"])
        optimizer.load_state_dict(saved["optimizer"])
        first = steps // (num_steps * num_envs)
        print(f"resumed after {steps:,} steps")
    begun = time.perf_counter()
    for update in range(first, n_updates):
        optimizer.param_groups[0]["lr"] = learning_rate * (1 - update / n_updates)
        finished = []
        for t in range(num_steps):
            observations[t], masks[t] = torch.from_numpy(observation), torch.from_numpy(info["action_mask"] == 1)
            with torch.no_grad():
                policy = agent.policy(observations[t], masks[t])
                actions[t], values[t] = policy.sample(), agent.critic(observations[t]).squeeze(1)
                logprobs[t] = policy.log_prob(actions[t])
            observation, reward, terminated, _, info = envs.step(actions[t].numpy().astype(np.int64))
            rewards[t], ended[t] = torch.from_numpy(reward / scale), torch.from_numpy(terminated)
            if terminated.any():
                last = {k: v[terminated] for k, v in info["final_info"].items()}
                finished.append((-last["acquisition_cost"] - last["error_cost"], last["n_acquired"]))

        with torch.no_grad():  # generalised advantage estimation; no value follows an end
            following, advantage = agent.critic(torch.from_numpy(observation)).squeeze(1), torch.zeros(num_envs)
            advantages = torch.zeros(shape)
            for t in reversed(range(num_steps)):
                surprise = rewards[t] + (1 - ended[t]) * following - values[t]
                advantages[t] = advantage = surprise + GAE_LAMBDA * (1 - ended[t]) * advantage
                following = values[t]
        batch = [x.flatten(0, 1) for x in (observations, masks, actions, logprobs, advantages, advantages + values)]
        for _ in range(10):
            for rows in np.array_split(rng.permutation(num_steps * num_envs), max(num_steps * num_envs // 256, 1)):
                seen, legal, taken, old, gain, target = (x[rows] for x in batch)
                policy = agent.policy(seen, legal)
                ratio = (policy.log_prob(taken) - old).exp()
                gain = (gain - gain.mean()) / (gain.std() + 1e-8)
                policy_loss = -torch.min(gain * ratio, gain * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
                value_loss = (agent.critic(seen).squeeze(1) - target).square().mean() / 2
                loss = policy_loss + VALUE * value_loss - ENTROPY * policy.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), MAX_NORM)
                optimizer.step()
        means = dict(zip(("episodic_return", "n_acquired"), (np.concatenate(x).mean() for x in zip(*finished))))
        for name, x in {**means, "policy_loss": policy_loss.item(), "value_loss": value_loss.item()}.items():
            writer.add_scalar(f"train/{name}", x, (update + 1) * num_steps * num_envs)
        if (update + 1) % max(n_updates // 10, 1) == 0:
            saved = {"agent": agent.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(saved, Path(folder) / f"checkpoint_{(update + 1) * num_steps * num_envs}_steps.pt")
    writer.close()
    if first < n_updates:
        speed = (n_updates - first) * num_steps * num_envs / (time.perf_counter() - begun)
        print(f"{speed:,.0f} steps a second, with networks of two layers of 64 units on one thread")

    def act(observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return agent.policy(torch.from_numpy(observations), torch.from_numpy(action_masks)).probs.argmax(1).numpy()

    result = fsgym.evaluate(act, gym.make(env_id, split="test"))
    print(f"test rows: {result}")
    if baselines:
        film(act, "cleanrl_ppo", env_id, folder)
        compare_with_baselines(act, "cleanrl_ppo", env_id, baselines)
    return result


if __name__ == "__main__":
    main(resume="--resume" in sys.argv, baselines=BASELINES)
