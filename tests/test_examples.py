"""Each example runs and reaches the result that it announces."""

import runpy
from pathlib import Path

import pytest

from agents import RCPI
from fsgym.registration import VARIANTS

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def main_of(name: str):
    return runpy.run_path(str(EXAMPLES / name))["main"]


def test_first_steps(capsys):
    result = main_of("first_steps.py")()
    output = capsys.readouterr().out
    assert output.count("predicts") == 3
    assert "acquires" in output
    assert result.accuracy > 0.8
    assert result.loss < 25


@pytest.mark.slow  # test_site runs the pages, which do the same in fewer fits
def test_sklearn_compare(capsys):
    search, within = main_of("sklearn_compare.py")(splits=2)
    assert "mean features used" in capsys.readouterr().out
    assert search.best_score_ > -0.3
    assert set(within["method"]) == {"rcpi", "trees", "constant", "everything"}


@pytest.mark.slow  # test_train_deep runs the same training
def test_maskable_ppo(capsys):
    result = main_of("maskable_ppo.py")(total_timesteps=6000)
    assert "Evaluation(" in capsys.readouterr().out
    assert result.illegal == 0
    assert result.loss < 0.3  # without acquiring anything: 0.6


def test_my_policy(capsys):
    table = main_of("my_policy.py")()
    assert "rank" in capsys.readouterr().out
    own = table[table["mine"]].iloc[0]
    assert own["illegal"] == 0
    assert own["loss"] < 0.15  # of the decision tree


def test_train_rcpi(tmp_path, capsys):
    results = main_of("train_rcpi.py")(log=str(tmp_path), n_iterations=2, progress_bar=False)
    assert capsys.readouterr().out.count("Evaluation(") == len(VARIANTS) == len(results)
    for name, result in results.items():
        assert result.admissible == 1
        assert RCPI.load(tmp_path / f"rcpi_{name}.safetensors").policy is not None
        assert logged(tmp_path / f"rcpi_{name}") > {"train/loss", "train/accuracy", "test/loss"}


@pytest.mark.filterwarnings("ignore:rich is experimental")  # of tqdm; Stable-Baselines3 silences it outside of tests
@pytest.mark.parametrize("algorithm", ["maskable_ppo", "dqn"])
def test_train_deep(algorithm, tmp_path, capsys):
    results = main_of("train_deep.py")(algorithm, log=str(tmp_path), steps=2048, progress_bar=algorithm == "dqn")
    assert capsys.readouterr().out.count("Evaluation(") == len(VARIANTS) == len(results)
    for name, result in results.items():
        assert result.illegal == 0
        assert logged(tmp_path / f"{algorithm}_{name}_1") > {"rollout/ep_rew_mean", "rollout/success_rate", "eval/loss"}


def logged(folder):
    """Names of the scalars that a folder holds for TensorBoard."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    seen = EventAccumulator(str(folder))
    seen.Reload()
    return set(seen.Tags()["scalars"])


def test_cleanrl_ppo(tmp_path, capsys):
    result = main_of("cleanrl_ppo.py")(
        "fsgym:DatumWiseBudget-v0",
        total_timesteps=12_288,
        num_envs=32,
        num_steps=16,
        learning_rate=3e-3,
        log=str(tmp_path),
    )
    assert "Evaluation(" in capsys.readouterr().out
    assert result.illegal == 0
    assert result.loss < 0.2  # without acquiring anything: 0.37
    assert logged(tmp_path) >= {"train/episodic_return", "train/n_acquired", "train/policy_loss"}


@pytest.mark.slow  # test_train_deep and tests/fsgym/comparison train and compare the same methods
def test_compare_agents(tmp_path):
    path = tmp_path / "agents.png"
    results = main_of("compare_agents.py")("wine", prices=(0.01, 0.1), splits=1, steps=2048, path=str(path))
    assert results["error"].isna().all()
    agents = {"MaskablePPO", "masked DQN", "RCPI", "L1-SVM", "CART"}
    assert set(results["method"]) == agents | {"constant", "everything"}
    assert path.read_bytes().startswith(b"\x89PNG")


def test_serve_model(capsys):
    correct, fetched = main_of("serve_model.py")()
    output = capsys.readouterr().out
    assert output.count("answer:") == 2
    assert output.count("It acquires") >= 2
    assert correct >= 0.93 * 143
    assert 143 <= fetched < 5 * 143


@pytest.mark.filterwarnings("ignore")  # of Ray's own
def test_rllib_ppo(capsys):
    pytest.importorskip(
        "ray.rllib.algorithms.ppo", reason="RLlib needs an environment of its own", exc_type=ImportError
    )
    result = main_of("rllib_ppo.py")(iterations=2, steps=512)
    assert capsys.readouterr().out.count("mean return") == 2
    assert result.illegal == 0
    assert result.loss < 1


def test_all_examples_are_tested_and_short():
    here = Path(__file__).read_text()
    for example in EXAMPLES.glob("*.py"):
        assert f'main_of("{example.name}")' in here
        assert len(example.read_text().splitlines()) < 120
