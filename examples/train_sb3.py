"""Train MaskablePPO of sb3-contrib on DatumWise-v0, evaluate it on the test rows and save it.

pip install -c constraints.txt -e ".[rl]"
python examples/train_sb3.py            (about a minute, and another one for the comparison with baselines)
python examples/train_sb3.py --resume   (goes on from the last checkpoint in runs/)
tensorboard --logdir runs
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import gymnasium as gym

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
    folder: str = "runs",
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
    checkpoints = sorted(Path(folder).glob("checkpoint_*_steps.zip"), key=lambda path: int(path.stem.split("_")[1]))
    if resume and checkpoints:
        model.set_parameters(str(checkpoints[-1]), device="cpu")  # the network and the state of its optimiser
        model.num_timesteps = int(checkpoints[-1].stem.split("_")[1])
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
        from against_baselines import compare_with_baselines

        compare_with_baselines(model, "maskable_ppo", env_id, baselines)
    return result


if __name__ == "__main__":
    main(resume="--resume" in sys.argv, baselines=("lufe", "gbfs", "hkl", "cegb"))
