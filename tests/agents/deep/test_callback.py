"""Evaluation during the training of algorithms of Stable-Baselines3."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import StopTrainingOnNoModelImprovement, StopTrainingOnRewardThreshold
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import fsgym
from agents.deep.sb3 import EvaluationCallback, learning_curve, make_model, training_context

FIGURES = {"loss", "accuracy", "n_features", "n_acquisitions", "spent", "illegal"}


@pytest.fixture(scope="module")
def parts():
    return gym.make("DatumWise-v0", lam=0.05), gym.make("DatumWise-v0", lam=0.05, split="test")


def train(algorithm, env, steps, callback=None, **options):
    with training_context():
        return make_model(algorithm, env, num_envs=8, options=options, seed=0).learn(steps, callback)


@pytest.mark.parametrize("algorithm", ["maskable_ppo", "dqn", "ppo"])
@pytest.mark.slow
def test_figures_are_those_of_the_model_and_training_is_unchanged(algorithm, parts, tmp_path):
    env, unseen = parts
    callback = EvaluationCallback(unseen, every=300)
    model = train(algorithm, env, 512, callback, tensorboard_log=str(tmp_path))
    assert [row["timesteps"] for row in callback.history] == [304, 512]
    result = fsgym.evaluate(model, unseen)
    last = callback.history[-1]
    assert last == {"timesteps": 512, **{name: getattr(result, name) for name in FIGURES}}
    if algorithm != "ppo":
        assert last["illegal"] == 0
    assert callback.last_mean_reward == -result.loss
    assert callback.best_mean_reward == -min(row["loss"] for row in callback.history)
    plain = train(algorithm, env, 512).policy.state_dict()
    assert all((plain[name] == array).all() for name, array in model.policy.state_dict().items())
    (folder,) = tmp_path.iterdir()
    events = EventAccumulator(str(folder)).Reload()
    assert set(events.Tags()["scalars"]) > {f"eval/{name}" for name in FIGURES}
    assert [e.step for e in events.Scalars("eval/loss")] == [304, 512]
    assert events.Scalars("eval/accuracy")[-1].value == pytest.approx(result.accuracy)


def test_observations_are_normalised_as_in_training(parts):
    env, unseen = parts
    venv = VecNormalize(DummyVecEnv([lambda: env]), norm_reward=False)
    callback = EvaluationCallback(unseen, every=1000)  # only after the last update
    with training_context():
        model = PPO("MlpPolicy", venv, n_steps=64, batch_size=64, n_epochs=1, seed=0, device="cpu").learn(64, callback)

    def normalised(observations, masks):
        return model.predict(venv.normalize_obs(observations), deterministic=True)[0]

    assert callback.history[-1]["loss"] == fsgym.evaluate(normalised, unseen).loss


def test_best_model_and_early_stop(parts, tmp_path):
    env, unseen = parts
    stop = StopTrainingOnRewardThreshold(reward_threshold=-10.0)
    callback = EvaluationCallback(unseen, 256, best_model_path=tmp_path / "best.zip", callback_on_new_best=stop)
    model = train("maskable_ppo", env, 2048, callback)
    assert model.num_timesteps == 256
    again = MaskablePPO.load(tmp_path / "best.zip", device="cpu")
    assert fsgym.evaluate(again, unseen).loss == -callback.best_mean_reward
    patience = StopTrainingOnNoModelImprovement(max_no_improvement_evals=0)
    callback = EvaluationCallback(unseen, 256, callback_after_eval=patience)
    assert train("maskable_ppo", env, 4096, callback).num_timesteps < 4096
    assert np.isfinite(callback.best_mean_reward)


def test_bad_arguments(parts):
    with pytest.raises(TypeError, match="env must be an environment of fsgym, got"):
        EvaluationCallback(gym.make("CartPole-v1"))
    for every in (0, -1, 1.5, "often", True):
        with pytest.raises(ValueError, match="every must be a whole number of training steps"):
            EvaluationCallback(parts[1], every)


def test_a_learning_curve_has_the_losses_of_the_model_on_both_parts(parts):
    env, unseen = parts
    curve = learning_curve("maskable_ppo", env, unseen, total_timesteps=512, points=2, num_envs=8, seed=0)
    assert curve["steps"].tolist() == [0, 256, 512, 512]
    model, untrained = train("maskable_ppo", env, 512), make_model("maskable_ppo", env, num_envs=8, seed=0)
    for name, part in (("train", env), ("test", unseen)):
        for row, trained in ((0, untrained), (3, model)):
            result = fsgym.evaluate(trained, part)
            figures = {f"{name}_{figure}": getattr(result, figure) for figure in ("loss", "accuracy", "n_features")}
            assert curve.loc[row, list(figures)].to_dict() == figures
    assert curve["cpu_seconds"].is_monotonic_increasing
    assert curve.loc[0, "train_loss"] != curve.loc[3, "train_loss"]
    with pytest.raises(ValueError, match="points must be a whole number, 1 or more, got 0"):
        learning_curve("maskable_ppo", env, unseen, points=0)
    with pytest.raises(ValueError, match="total_timesteps must be a whole number, 1 or more, got 0"):
        learning_curve("maskable_ppo", env, unseen, total_timesteps=0)
