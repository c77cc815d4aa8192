"""
Masked PPO of sb3-contrib
=========================

``agents.SB3Classifier`` trains MaskablePPO for you. By hand, the environment goes straight into sb3-contrib, which
reads the masks from ``action_masks()``. Needs the extra ``rl``.
"""

import gymnasium as gym
import torch
from sb3_contrib import MaskablePPO

import fsgym

torch.set_num_threads(1)  # more threads do not help networks as small as these
options = {"dataset": "wine", "lam": 0.02}
env = gym.make("fsgym:DatumWise-v0", **options)
model = MaskablePPO("MlpPolicy", env, n_steps=256, batch_size=128, learning_rate=3e-3, gamma=1.0, ent_coef=0.01, seed=0)
unseen = gym.make("fsgym:DatumWise-v0", split="test", **options)
print("before:", fsgym.evaluate(model, unseen))

# %%
# ``gamma=1``: an episode has an end, and what is acquired late costs as much as what is acquired early.
model.learn(6000)
result = fsgym.evaluate(model, unseen)
print("after: ", result)
print("illegal actions:", result.illegal)
