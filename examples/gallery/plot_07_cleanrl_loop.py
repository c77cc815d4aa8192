"""
A training loop in one file
===========================

Proximal policy optimisation in the style of CleanRL: no framework, one file, and the mask in one line. The native
vector environment steps all episodes together. Needs PyTorch, from the extra ``rl``.
"""

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn

import fsgym

torch.set_num_threads(1)
torch.manual_seed(0)
options = {"dataset": "wine", "lam": 0.02}
n_envs, n_steps, n_updates = 64, 16, 30
envs = gym.make_vec("fsgym:DatumWise-v0", num_envs=n_envs, autoreset_mode="SameStep", **options)
n_inputs, n_actions = envs.single_observation_space.shape[0], envs.single_action_space.n
actor = nn.Sequential(nn.Linear(n_inputs, 64), nn.Tanh(), nn.Linear(64, n_actions))
critic = nn.Sequential(nn.Linear(n_inputs, 64), nn.Tanh(), nn.Linear(64, 1))
optimiser = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=3e-3)


def distribution(observations, masks):
    """Illegal actions get probability 0: this line is all that a mask takes."""
    return torch.distributions.Categorical(logits=actor(observations).masked_fill(~masks, -1e9))


# %%
# Same-step autoreset: the observation after an end is the first one of the next episode, so every transition counts.
observations, infos = envs.reset(seed=0)
history = []
for _ in range(n_updates):
    steps = []
    for _ in range(n_steps):
        seen = torch.as_tensor(observations)
        masks = torch.as_tensor(np.asarray(infos["action_mask"], bool))
        with torch.no_grad():
            chosen = distribution(seen, masks)
            actions = chosen.sample()
            log_probability, value = chosen.log_prob(actions), critic(seen).squeeze(1)
        observations, rewards, ended, _, infos = envs.step(actions.numpy())
        steps.append((seen, masks, actions, log_probability, value, torch.as_tensor(rewards).float(), ended.copy()))
    seen, masks, actions, log_before, values, rewards, ended = (
        torch.stack([torch.as_tensor(s[i]) for s in steps]) for i in range(7)
    )
    returns, following = torch.zeros_like(rewards), critic(torch.as_tensor(observations)).squeeze(1).detach()
    for t in reversed(range(n_steps)):  # no discount: an episode has an end
        following = rewards[t] + torch.where(ended[t], 0.0, following)
        returns[t] = following
    advantages = returns - values
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    for _ in range(4):
        policy = distribution(seen, masks)
        ratio = (policy.log_prob(actions) - log_before).exp()
        clipped = torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)
        error = (critic(seen).squeeze(2) - returns).pow(2).mean()
        loss = -clipped.mean() + 0.5 * error - 0.01 * policy.entropy().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    history.append(float(rewards.sum() / ended.sum()))
print(f"mean return of an episode: {history[0]:.2f} in the first update, {history[-1]:.2f} in the last")
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.plot(range(1, n_updates + 1), history)
axes.set(xlabel="update", ylabel="mean return of an episode")
plt.show()


# %%
# Any function of observations and masks can be evaluated.
def act(observations, masks):
    with torch.no_grad():
        logits = actor(torch.as_tensor(observations)).masked_fill(~torch.as_tensor(masks, dtype=torch.bool), -1e9)
    return logits.argmax(dim=1).numpy()


print(fsgym.evaluate(act, gym.make("fsgym:DatumWise-v0", split="test", **options)))
