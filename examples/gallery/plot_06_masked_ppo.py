"""
Masked PPO of sb3-contrib
=========================

``agents.SB3Classifier`` trains MaskablePPO for you. By hand, the environment goes straight into sb3-contrib, which
reads the masks from ``action_masks()``. Needs the extra ``rl``.
"""

import gymnasium as gym
import matplotlib.pyplot as plt
import torch
from sb3_contrib import MaskablePPO

import fsgym
from agents.deep.sb3 import EvaluationCallback

torch.set_num_threads(1)  # more threads do not help networks as small as these
options = {"dataset": "wine", "lam": 0.02}
env = gym.make("fsgym:DatumWise-v0", **options)
model = MaskablePPO("MlpPolicy", env, n_steps=256, batch_size=128, learning_rate=3e-3, gamma=1.0, ent_coef=0.01, seed=0)
unseen = gym.make("fsgym:DatumWise-v0", split="test", **options)
print("before:", fsgym.evaluate(model, unseen))

# %%
# ``gamma=1``: an episode has an end, and what is acquired late costs as much as what is acquired early. The callback
# evaluates the policy while it learns: on training rows that are held out here, if it is to choose the best one.
watching = EvaluationCallback(gym.make("fsgym:DatumWise-v0", **options), every=2048)
model.learn(6000, callback=watching)
result = fsgym.evaluate(model, unseen)
print("after: ", result)
print("illegal actions:", result.illegal)

# %%
# One test row as the trained policy plays it: the last picture of ``render_mode="rgb_array"``.
shown = gym.make("fsgym:DatumWise-v0", split="test", render_mode="rgb_array", **options)
observation, info = shown.reset(seed=0)
terminated = False
while not terminated:
    action, _ = model.predict(observation, action_masks=info["action_mask"], deterministic=True)
    observation, reward, terminated, truncated, info = shown.step(int(action))
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.imshow(shown.render())
axes.axis("off")
plt.show()
