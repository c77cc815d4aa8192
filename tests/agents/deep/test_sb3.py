"""Deep reinforcement learning: the contract of Stable-Baselines3, legal actions only, known optima."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
import torch
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from sklearn.base import clone
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecMonitor

from agents import SB3Classifier
from agents.deep.sb3 import SETTINGS, DatumWiseVecEnv, make_model, training_context
from fsgym import DatumWiseEnv, DatumWiseVectorEnv, Rules
from support.deep_training import SHORT_TRAININGS, make_vec_env, one_informative_feature
from support.problems import VARIANTS as RULES
from support.problems import make_data
from support.rcpi_twin import problem


@pytest.mark.one_in(2)
@pytest.mark.parametrize("missing", [False, True], ids=["full", "missing"])
@pytest.mark.parametrize("name", RULES)
def test_the_adapter_agrees_with_single_environments(name, missing):
    dataset = make_data(missing)
    rules = Rules.for_dataset(dataset, **RULES[name])
    venv = make_vec_env(dataset, rules)
    rng = np.random.default_rng(0)
    for first in range(0, 12, 4):
        rows = np.arange(first, first + 4)
        singles = [DatumWiseEnv(dataset, rules) for _ in rows]
        resets = [env.reset(options={"index": int(row)}) for env, row in zip(singles, rows)]
        venv.set_options([{"index": int(row)} for row in rows])
        np.testing.assert_array_equal(venv.reset(), [observation for observation, _ in resets])
        for reset_info, (_, info) in zip(venv.reset_infos, resets):
            np.testing.assert_array_equal(reset_info["action_mask"], info["action_mask"])
            assert reset_info["spent"] == info["spent"]
        live = np.ones(4, bool)
        while live.any():
            masks = get_action_masks(venv)
            actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in masks])
            observations, rewards, ended, infos = venv.step(actions)
            assert rewards.dtype == observations.dtype == np.float32
            for e in np.flatnonzero(live):
                observation, reward, over, _, info = singles[e].step(actions[e])
                assert rewards[e] == np.float32(reward)
                assert ended[e] == over
                assert infos[e]["TimeLimit.truncated"] is False
                if over:
                    live[e] = False
                    np.testing.assert_array_equal(infos[e]["terminal_observation"], observation)
                    assert infos[e]["is_success"] == info["correct"]
                    for key in ("prediction", "label", "illegal", "n_acquired", "acquisition_cost", "error_cost"):
                        assert infos[e][key] == info[key]
                else:
                    np.testing.assert_array_equal(observations[e], observation)
                    np.testing.assert_array_equal(get_action_masks(venv)[e], singles[e].action_masks())
                    assert infos[e].keys() == {"TimeLimit.truncated"}
            assert not observations[ended].any()  # a new episode, in which nothing is acquired


def test_the_adapter_fulfils_the_contract_of_stable_baselines():
    dataset, rules = problem("costs", False)
    venv = make_vec_env(dataset, rules, render_mode="rgb_array")
    monitored = VecMonitor(venv)
    assert is_masking_supported(monitored)
    assert monitored.get_attr("rules") == [rules] * 4
    assert monitored.get_attr("dataset", [1, 2]) == [dataset] * 2
    assert venv.env_is_wrapped(Monitor) == [False] * 4
    assert len(venv.env_method("action_masks", indices=[0, 3])) == 2
    assert not venv.has_attr("nonsense")
    venv.set_attr("spec", None)
    with pytest.raises(ValueError, match="share 'spec'; set it without indices"):
        venv.set_attr("spec", None, indices=0)
    with pytest.raises(AttributeError, match="no method 'render_all'"):
        venv.env_method("render_all")

    def play(seed):
        monitored.seed(seed)
        observations, answers = [monitored.reset()], np.full(4, rules.n_acquisitions)
        for step in range(6):
            observations.append(monitored.step(np.array([step % 3] * 4) if step % 4 != 3 else answers)[0])
        return np.array(observations)

    np.testing.assert_array_equal(play(3), play(3))
    assert (play(3) != play(4)).any()
    assert venv.render().shape[-1] == 3
    monitored.close()

    env = gym.make("DatumWise-v0")
    check_env(env.unwrapped, warn=False)


def test_logged_returns_are_minus_the_losses():
    dataset, rules = problem("costs", False)
    venv = VecMonitor(make_vec_env(dataset, rules, 8))
    venv.reset()
    rng, n_ended = np.random.default_rng(0), 0
    for _ in range(30):
        _, _, ended, infos = venv.step([rng.choice(np.flatnonzero(mask)) for mask in get_action_masks(venv)])
        for e in np.flatnonzero(ended):
            loss = infos[e]["acquisition_cost"] + infos[e]["error_cost"]
            assert infos[e]["episode"]["r"] == pytest.approx(-loss, abs=1e-5)
            n_ended += 1
    assert n_ended > 10


def test_other_environments_are_refused_in_one_sentence():
    dataset, rules = problem("base", False)
    with pytest.raises(ValueError, match="autoreset_mode='SameStep'"):
        DatumWiseVecEnv(DatumWiseVectorEnv(dataset, rules, 2))
    with pytest.raises(ValueError, match="got copy=False"):
        DatumWiseVecEnv(DatumWiseVectorEnv(dataset, rules, 2, autoreset_mode="SameStep", copy=False))
    with pytest.raises(TypeError, match="must be a vector environment of fsgym"):
        DatumWiseVecEnv(gym.make_vec("CartPole-v1", 2))
    with pytest.raises(TypeError, match="needs an environment of fsgym"):
        make_model("dqn", gym.make("CartPole-v1"))


@pytest.mark.parametrize("algorithm", SETTINGS)
@pytest.mark.one_in(3)
def test_a_model_trains_the_same_network_whatever_the_number_of_threads(algorithm):
    env, trained = gym.make("DatumWise-v0"), []
    for n_threads in (1, 2):
        torch.set_num_threads(n_threads)
        try:
            model = make_model(algorithm, env, seed=0)
            model.learn(4096)
            assert torch.get_num_threads() == n_threads
            assert torch.distributions.Distribution._validate_args
        finally:
            torch.set_num_threads(1)
        trained.append({name: array.numpy().tobytes() for name, array in model.policy.state_dict().items()})
    assert trained[0] == trained[1]


def test_learning_in_a_training_context_goes_on_and_a_second_call_does_not_repeat_the_draws_of_the_first():
    model = make_model("maskable_ppo", gym.make("DatumWise-v0"), num_envs=8, seed=0)
    with training_context():
        model.learn(256)
        first = torch.get_rng_state()
        model.learn(256, reset_num_timesteps=False)
        assert not torch.equal(first, torch.get_rng_state())
    assert model.num_timesteps == 512


def test_training_leaves_no_folder_and_a_saved_model_is_trained_on(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    env = gym.make("DatumWise-v0")
    model = make_model("maskable_ppo", env, num_envs=8, seed=0).learn(8)
    assert not (tmp_path / "temporary").exists()
    model.save(tmp_path / "model")
    again = type(model).load(tmp_path / "model", env=model.get_env(), tensorboard_log=None).learn(8)
    assert again.num_timesteps > 0
    model.set_logger(own := Logger(None, []))
    assert model.learn(8).logger is own


@pytest.mark.parametrize("algorithm", ["maskable_ppo", "dqn"])
@pytest.mark.parametrize("variant", ["everything", "needle", "prerequisites, budget"])
@pytest.mark.one_in(2)
def test_no_illegal_action_is_ever_tried_in_training(algorithm, variant):
    dataset, rules = problem(variant, missing=True)
    venv = make_vec_env(dataset, rules, 8, illegal_action="raise")
    settings = SETTINGS[algorithm]
    options = {**settings.options, **SHORT_TRAININGS[algorithm]["options"]}
    model = settings.algorithm("MlpPolicy", VecMonitor(venv), device="cpu", seed=0, **options)
    assert model.learn(400).num_timesteps >= 400


def test_plain_deep_q_learning_does_try_illegal_actions():
    from stable_baselines3 import DQN

    dataset, rules = problem("everything", missing=True)
    venv = VecMonitor(make_vec_env(dataset, rules, 8, illegal_action="raise"))
    with pytest.raises(ValueError, match=r"is not allowed now|already acquired|no value"):
        DQN("MlpPolicy", venv, device="cpu", seed=0, learning_starts=50, target_update_interval=8).learn(400)


def test_the_target_is_the_maximum_over_legal_actions():
    dataset, rules = problem("everything", missing=True)
    model = make_model("dqn", DatumWiseEnv(dataset, rules), num_envs=8, seed=0, options={"learning_starts": 10**6})
    model.learn(400)
    with torch.no_grad():
        for parameter in model.q_net_target.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    batch = model.replay_buffer.sample(64)
    losses, differ = [], 0
    for k in range(64):
        after, target = (net(batch.next_observations)[k].detach().numpy() for net in (model.q_net, model.q_net_target))
        legal = np.flatnonzero(batch.next_masks[k].numpy())
        best = legal[np.argmax(after[legal])]
        differ += best != np.argmax(after)
        goal = batch.rewards[k].item() + (0.0 if batch.dones[k].item() else target[best])
        error = abs(model.q_net(batch.observations)[k, int(batch.actions[k])].item() - goal)
        losses.append(error**2 / 2 if error < 1 else error - 0.5)
    assert differ > 10
    model.replay_buffer.sample = lambda size: batch
    model.train(1, 64)
    assert model.logger.name_to_value["train/loss"] == pytest.approx(np.mean(losses), rel=1e-5)


def test_the_replay_buffer_stores_the_masks_of_the_next_states():
    dataset, rules = problem("budget", False)

    class Watch(BaseCallback):
        masks: list = []  # noqa: RUF012

        def _on_step(self):
            self.masks.append(get_action_masks(self.training_env))
            return True

    watch = Watch()
    model = make_model("dqn", DatumWiseEnv(dataset, rules), num_envs=4, seed=0).learn(80, callback=watch)
    buffer = model.replay_buffer
    np.testing.assert_array_equal(buffer.next_masks[:20], watch.masks)
    J = rules.n_acquisitions
    over = (buffer.next_observations[:20, :, :J].sum(axis=2) >= 3) & (buffer.dones[:20] == 0)
    assert over.any()
    assert not buffer.next_masks[:20][over][:, :J].any()


def test_exploration_samples_legal_actions_uniformly():
    dataset, rules = problem("base", False)
    model = make_model("dqn", DatumWiseEnv(dataset, rules), seed=0)
    model.exploration_rate = 1.0
    legal = np.array([True, False, True, False, False, False, True, False, True])
    observations = np.zeros((4000, 12), np.float32)
    sampled, _ = model.predict(observations, action_masks=np.tile(legal, (4000, 1)))
    counts = np.bincount(sampled, minlength=9)
    assert (counts[~legal] == 0).all()
    assert (abs(counts[legal] - 1000) < 120).all()
    greedy, _ = model.predict(observations[0], action_masks=legal, deterministic=True)
    assert greedy.shape == ()
    assert legal[greedy]


@pytest.mark.parametrize(("algorithm", "steps"), [("maskable_ppo", 20_000), ("dqn", 20_000)])
@pytest.mark.slow
def test_a_task_with_one_informative_feature_is_solved(algorithm, steps):
    X, y = one_informative_feature()
    model = SB3Classifier(0.1, algorithm=algorithm, total_timesteps=steps, num_envs=64, random_state=0).fit(X, y)
    X_test, y_test = one_informative_feature(400, seed=1)
    used = model.features_used(X_test)
    assert used[:, 0].mean() > 0.95
    assert used[:, 1:].mean() < 0.02
    assert model.score(X_test, y_test) > 0.95
    expensive = clone(model).set_params(lam=10.0, total_timesteps=4000).fit(X, y)
    assert not expensive.features_used(X_test).any()


def test_a_batch_is_at_most_an_update_unless_its_size_is_given():
    env = gym.make("DatumWise-v0")
    assert make_model("maskable_ppo", env, num_envs=8).batch_size == 8 * 16  # the default has 1,024
    assert make_model("maskable_ppo", env).batch_size == 1024
    assert make_model("ppo", env, num_envs=64, options={"n_steps": 4}).batch_size == 256
    assert make_model("ppo", env, num_envs=64, options={"batch_size": 32}).batch_size == 32


def test_the_guide_has_the_default_settings():
    """Each row of its table has a setting, a column for each algorithm; an empty cell means that there is none."""
    page = (Path(__file__).resolve().parents[3] / "docs" / "guide" / "deep_agents.md").read_text()
    head, _, *rows = re.search(r"^\| setting \|.*?\n\n", page, re.MULTILINE | re.DOTALL)[0].strip().splitlines()
    assert re.findall("`(.*?)`", head) == list(SETTINGS)
    for column, settings in enumerate(SETTINGS.values(), start=2):
        cells = {re.findall("`(.*?)`", row)[0]: row.split("|")[column].strip().replace(",", "") for row in rows}
        shown = {name: float(cell) for name, cell in cells.items() if cell}
        rate = settings.options["learning_rate"](1.0)
        own = {"num_envs": settings.num_envs, "total_timesteps": settings.total_timesteps}
        assert shown == own | settings.options | {"learning_rate": rate}


@pytest.mark.parametrize(
    ("former", "today", "words"),
    [(0.06, 0.05, " 0.50"), (0.07, 0.05, "less than 0.50"), (0.05, 0.07, "more than 0.50"), (0.07, 0.08, "unknown, ")],
)
def test_the_script_that_times_both_settings_says_which_of_them_reach_the_target(capsys, former, today, words):
    script = runpy.run_path(str(Path(__file__).resolve().parents[3] / "benchmarks" / "learning_curves.py"))
    rows = [("0.2.0", 100, 4.0, former), ("today", 100, 1.0, 0.2), ("today", 200, 2.0, today)]
    script["print_ratios"](pd.DataFrame(rows, columns=["settings", "steps", "cpu_seconds", "test_loss"]))
    printed = capsys.readouterr().out
    assert f"today / 0.2.0: {words.strip()}" in printed.splitlines()[-2]
    assert printed.count("is not reached") == (former > 0.06) + (today > 0.06)
    assert printed.endswith("CPU seconds of a step, today / 0.2.0: 0.25\n")
    shares = script["shares_of_a_step"](gym.make("DatumWise-v0", dataset="wine"), {"num_envs": 8}, 64)
    assert sum(shares.values()) == pytest.approx(1)
    assert min(shares.values()) > 0
