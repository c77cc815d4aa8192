"""Train deep Q-learning over legal actions on DatumWise-v0, evaluate it, save it and compare it with baselines.

pip install -c constraints.txt -e ".[rl]"
python examples/train_dqn.py            (about half a minute, and a minute for the comparison)
python examples/train_dqn.py --resume   (goes on from the last checkpoint in runs/dqn/)
tensorboard --logdir runs               (the loss on the training rows is eval/loss)
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import gymnasium as gym
from around_training import BASELINES, compare_with_baselines, film, last_checkpoint

import fsgym

try:
    from stable_baselines3.common.callbacks import CheckpointCallback

    from agents.deep.sb3 import EvaluationCallback, make_model
except ImportError:
    raise SystemExit('This example needs Stable-Baselines3: pip install -c constraints.txt -e ".[rl]"') from None


def main(
    env_id: str = "fsgym:DatumWise-v0",
    total_timesteps: int = 100_000,
    folder: str = "runs/dqn",
    resume: bool = False,
    baselines: Sequence[str] = (),
) -> fsgym.Evaluation:
    env = gym.make(env_id)
    # The DQN of Stable-Baselines3 knows no masks; this one explores and takes its maxima over the legal actions. It
    # runs on the native vector environment, 64 episodes at once.
    model = make_model("dqn", env, num_envs=64, seed=0, options={"tensorboard_log": folder})
    if resume and (last := last_checkpoint(folder)):
        path, model.num_timesteps = last
        model.set_parameters(str(path), device="cpu")  # both networks and the state of the optimiser
        model.load_replay_buffer(path.with_name(f"checkpoint_replay_buffer_{model.num_timesteps}_steps.pkl"))
        print(f"resumed after {model.num_timesteps:,} steps")
    left = max(total_timesteps - model.num_timesteps, 0)
    every = max(total_timesteps // 10, 64)
    watch = EvaluationCallback(env, every)
    model.learn(left, [CheckpointCallback(every // 64, folder, "checkpoint", True), watch], reset_num_timesteps=False)
    for figures in watch.history:
        print(f"{figures['timesteps']:>7,} steps: training loss {figures['loss']:.4f}")

    result = fsgym.evaluate(model, gym.make(env_id, split="test"))
    print(f"test rows: {result}")
    path = Path(folder) / "dqn.zip"
    path.parent.mkdir(parents=True, exist_ok=True)
    model.save(path)
    print(f"saved: agents.deep.sb3.MaskedDQN.load({str(path)!r})")
    if baselines:
        film(model, "dqn", env_id, folder)
        compare_with_baselines(model, "dqn", env_id, baselines)
    return result


if __name__ == "__main__":
    main(resume="--resume" in sys.argv, baselines=BASELINES)
