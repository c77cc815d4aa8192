"""
An environment of your own
==========================

Data and rules under an id: prices by name, a prerequisite, a budget in money, and errors that differ in cost.
"""

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np

import fsgym

rng = np.random.default_rng(0)
ill = rng.random(400) < 0.3
X = np.column_stack([rng.normal(50 + 8 * ill, 12), rng.normal(8 + ill, 2), rng.normal(1 + 3 * ill, 1)])
names = ["age", "white cells", "marker"]
clinic = fsgym.Dataset(X, np.where(ill, "ill", "well"), feature_names=names, name="clinic")

fsgym.register_variant(
    "Clinic-v0",
    dataset=clinic.scaled(),
    lam=1,
    costs={"age": 0, "white cells": 4, "marker": 20},
    prerequisites={"marker": ["white cells"]},
    error_costs={"well": {"ill": 500}, "ill": {"well": 100}},
    budget_cost=24,
)

# %%
# ``illegal_action="raise"`` helps while an agent is written.
env = gym.make("Clinic-v0", render_mode="ansi", illegal_action="raise")
observation, info = env.reset(seed=1)
print("legal at the start:", info["action_mask"], "(age, white cells, marker, ill, well)")
for action in (0, 1, 2):
    observation, reward, terminated, truncated, info = env.step(action)
    print("reward", reward, " legal:", info["action_mask"])
observation, reward, terminated, truncated, info = env.step(4)
print(env.render())

# %%
# The id works wherever an id is taken. With other rows it keeps its rules: so a policy is evaluated on rows that it has
# not seen, which are scaled by those of the training.
print(gym.make_vec("Clinic-v0", num_envs=8).unwrapped)
later = fsgym.Dataset(X[:50] + 1, clinic.classes[clinic.y[:50]], feature_names=names, name="a later month")
print(gym.make("Clinic-v0", dataset=later.scaled(clinic)).unwrapped.dataset)

# %%
# The same episode as a picture, which ``gymnasium.wrappers.RecordVideo`` makes a film of.
env = gym.make("Clinic-v0", render_mode="rgb_array")
env.reset(seed=1)
for action in (0, 1, 2, 4):
    env.step(action)
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.imshow(env.render())
axes.axis("off")
plt.show()
