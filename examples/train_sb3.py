"""Train MaskablePPO of sb3-contrib on DatumWise-v0, evaluate it, save it and compare it with baselines.

pip install -c constraints.txt -e ".[rl]"
python examples/train_sb3.py            (about a minute, and another one for the comparison)
python examples/train_sb3.py --resume   (goes on from the last checkpoint in runs/sb3/)
tensorboard --logdir runs
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import gymnasium as gym
from around_training import BASELINES, compare_with_baselines, film, last_checkpoint

import fsgym

try:
    import torch
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.callbacks import CheckpointCallback
    from stable_baselines3.common.env_util import make_vec_env
except ImportError:
    raise SystemExit('This example needs Stable-Baselines3: pip install -c constraints.txt -e ".[rl]"') from None


def main(
    env_id: str = "fsgym:DatumWise-v0",
    total_timesteps: int = 200_000,
    folder: str = "runs/sb3",
    resume: bool = False,
    baselines: Sequence[str] = (),
) -> fsgym.Evaluation:
    torch.set_num_threads(1)  # more threads do not help networks as small as these
    envs = make_vec_env(env_id, n_envs=64, seed=0)
    model = MaskablePPO(  # it asks the environments which actions are legal
        "MlpPolicy",
        envs,
        n_steps=32,
        batch_size=256,
        learning_rate=lambda left: 1e-3 * left,  # falls to 0
        gamma=1.0,  # the return of an episode is minus its loss
        ent_coef=0.01,
        seed=0,
        device="cpu",
        verbose=1,
        tensorboard_log=folder,
    )
    if resume and (last := last_checkpoint(folder)):
        path, model.num_timesteps = last
        model.set_parameters(str(path), device="cpu")  # the network and the state of its optimiser
        print(f"resumed after {model.num_timesteps:,} steps")
    left = max(total_timesteps - model.num_timesteps, 0)
    keep = CheckpointCallback(max(total_timesteps // 64 // 10, 1), folder, "checkpoint")  # ten, of 64 steps at once
    model.learn(left, keep, log_interval=10, reset_num_timesteps=False)

    result = fsgym.evaluate(model, gym.make(env_id, split="test"))
    print(f"test rows: {result}")
    # Stable-Baselines3's own zip: its `load` unpickles, so open only files that you wrote yourself.
    # `agents.SB3Classifier` and `fsgym train` write model files that are safe to pass on.
    path = Path(folder) / "maskable_ppo.zip"
    path.parent.mkdir(parents=True, exist_ok=True)
    model.save(path)
    print(f"saved: MaskablePPO.load({str(path)!r})")
    if baselines:
        film(model, "maskable_ppo", env_id, folder)
        compare_with_baselines(model, "maskable_ppo", env_id, baselines)
    return result


if __name__ == "__main__":
    main(resume="--resume" in sys.argv, baselines=BASELINES)
