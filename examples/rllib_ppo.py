"""PPO of Ray RLlib (new API stack) with action masks, evaluated as all other methods are.

Ray 2.60 needs gymnasium 1.2.2, so install it into its own environment, in a clone of the repository:

    python -m venv .rllib && . .rllib/bin/activate
    pip install -e . "ray[rllib]==2.60.*" "gymnasium==1.2.2" torch
    python examples/rllib_ppo.py
"""

from typing import Any

import gymnasium as gym
import numpy as np
import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.algorithms.ppo.torch.default_ppo_torch_rl_module import DefaultPPOTorchRLModule
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.tune.registry import register_env

import fsgym

ILLEGAL_LOGIT = -1e9  # the logit of an illegal action


class MaskFirst(gym.Wrapper):
    """Prepend the action mask (0 or 1 for each action) to the observation, because RLlib passes on nothing else."""

    def __init__(self, env: gym.Env) -> None:
        super().__init__(env)
        box, n = env.observation_space, env.action_space.n
        low, high = np.append(np.zeros(n), box.low), np.append(np.ones(n), box.high)
        self.observation_space = gym.spaces.Box(low.astype(np.float32), high.astype(np.float32))

    def reset(self, **options: Any):
        observation, info = self.env.reset(**options)
        return masked(observation, info["action_mask"]), info

    def step(self, action: int):
        observation, reward, terminated, truncated, info = self.env.step(action)
        return masked(observation, info["action_mask"]), reward, terminated, truncated, info


class MaskedModule(DefaultPPOTorchRLModule):
    """RLlib's own network for PPO, with the logits of illegal actions masked in acting and in learning."""

    def _forward(self, batch: dict, **options: Any) -> dict:
        return self._mask_logits(batch, super()._forward(batch, **options))

    def _forward_train(self, batch: dict, **options: Any) -> dict:
        return self._mask_logits(batch, super()._forward_train(batch, **options))

    def _mask_logits(self, batch: dict, outputs: dict) -> dict:
        legal = batch[Columns.OBS][..., : self.action_space.n] > 0.5
        logits = outputs[Columns.ACTION_DIST_INPUTS]
        return {**outputs, Columns.ACTION_DIST_INPUTS: torch.where(legal, logits, ILLEGAL_LOGIT)}


def masked(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
    return np.concatenate([masks, observations], axis=-1, dtype=np.float32)


def main(task: str = "DatumWise-v0", iterations: int = 25, steps: int = 4096) -> fsgym.Evaluation:
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    register_env("datum-wise", lambda options: MaskFirst(gym.make(task, **options)))
    config = (
        PPOConfig()
        .environment("datum-wise", env_config={"split": "train"})
        .env_runners(num_env_runners=0, num_envs_per_env_runner=16)
        .learners(num_learners=0)
        .rl_module(rl_module_spec=RLModuleSpec(module_class=MaskedModule))
        .training(
            lr=[[0, 1e-3], [iterations * steps, 1e-5]],
            gamma=1.0,
            lambda_=0.95,
            entropy_coeff=0.01,
            vf_loss_coeff=0.5,
            train_batch_size_per_learner=steps,
            minibatch_size=256,
            num_epochs=10,
        )
        .debugging(seed=0)
    )
    algorithm = config.build_algo()
    for i in range(iterations):
        result = algorithm.train()
        print(f"iteration {i + 1}: mean return {result['env_runners']['episode_return_mean']:.3f}")
    module = algorithm.get_module()

    def act(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            batch = {Columns.OBS: torch.from_numpy(masked(observations, masks))}
            return module.forward_inference(batch)[Columns.ACTION_DIST_INPUTS].argmax(dim=1).numpy()

    result = fsgym.evaluate(act, gym.make(task, split="test"))
    print(result)
    algorithm.stop()
    ray.shutdown()
    return result


if __name__ == "__main__":
    main()
