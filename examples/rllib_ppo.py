"""PPO of Ray RLlib (new API stack) with action masks, evaluated and compared with baselines as all other methods are.

Ray 2.60 needs gymnasium 1.2.2, so install it into its own environment, in a clone of the repository:

    python -m venv .rllib && . .rllib/bin/activate
    pip install -e ".[cegb]" "ray[rllib]==2.60.*" "gymnasium==1.2.2" torch tensorboard
    python examples/rllib_ppo.py            (some minutes)
    python examples/rllib_ppo.py --resume   (goes on from the last checkpoint in runs/rllib_ppo/)
    tensorboard --logdir runs
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import ray
import torch
from around_training import BASELINES, compare_with_baselines, film, last_checkpoint
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.algorithms.ppo.torch.default_ppo_torch_rl_module import DefaultPPOTorchRLModule
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.tune.registry import register_env
from torch.utils.tensorboard import SummaryWriter

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


def main(
    task: str = "fsgym:DatumWise-v0",
    iterations: int = 25,
    steps: int = 4096,
    folder: str = "runs/rllib_ppo",
    resume: bool = False,
    baselines: Sequence[str] = (),
) -> fsgym.Evaluation:
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
    algorithm, writer, first = config.build_algo(), SummaryWriter(folder), 0
    if resume and (last := last_checkpoint(folder)):
        path, done = last
        algorithm.restore_from_path(str(path.resolve()))
        first = done // steps
        print(f"resumed after {done:,} steps")
    for i in range(first, iterations):
        mean_return = algorithm.train()["env_runners"]["episode_return_mean"]
        print(f"iteration {i + 1}: mean return {mean_return:.3f}")
        writer.add_scalar("train/episodic_return", mean_return, (i + 1) * steps)
        if (i + 1) % max(iterations // 10, 1) == 0:
            algorithm.save_to_path(str(Path(folder).resolve() / f"checkpoint_{(i + 1) * steps}_steps"))
    writer.close()
    module = algorithm.get_module()

    def act(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            batch = {Columns.OBS: torch.from_numpy(masked(observations, masks))}
            return module.forward_inference(batch)[Columns.ACTION_DIST_INPUTS].argmax(dim=1).numpy()

    result = fsgym.evaluate(act, gym.make(task, split="test"))
    print(f"test rows: {result}")
    if baselines:
        film(act, "rllib_ppo", task, folder)
        compare_with_baselines(act, "rllib_ppo", task, baselines)
    algorithm.stop()
    ray.shutdown()
    return result


if __name__ == "__main__":
    main(resume="--resume" in sys.argv, baselines=BASELINES)
