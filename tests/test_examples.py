"""Each example runs and reaches the result that it announces."""

import importlib
import importlib.util
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from PIL import Image

import fsgym
from agents import RCPI
from fsgym.envs.ids import VARIANTS
from fsgym.methods import METHODS

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


BASELINES = ("lufe", "gbfs", "hkl", "cegb")


@pytest.fixture(autouse=True)
def examples_are_found(monkeypatch):
    """Scripts import what they share from their own folder, as they do when they are run."""
    monkeypatch.syspath_prepend(str(EXAMPLES))


def main_of(name: str, function: str = "main"):
    return runpy.run_path(str(EXAMPLES / name))[function]


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


def test_my_policy(capsys):
    table = main_of("my_policy.py")()
    assert "rank" in capsys.readouterr().out
    own = table[table["mine"]].iloc[0]
    assert own["illegal"] == 0
    assert own["loss"] < 0.15  # of the decision tree


@pytest.mark.parametrize("name", VARIANTS)
def test_train_rcpi(name, tmp_path, capsys):
    result = main_of("train_rcpi.py")(name, n_iterations=2, folder=str(tmp_path / "new"))
    output = capsys.readouterr().out
    assert output.count("training loss") == 2
    assert f"{name}, test rows: {result}" in output
    assert result.admissible == 1
    saved = RCPI.load(tmp_path / "new" / f"rcpi_{name}.safetensors")
    assert fsgym.evaluate(saved, gym.make(f"fsgym:{name}", split="test")).loss == result.loss


@pytest.mark.slow
def test_train_rcpi_needs_no_pytorch(tmp_path):
    code = f"""
import runpy, sys
class Blocked:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "tensorboard", "stable_baselines3", "sb3_contrib"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocked)
sys.path.insert(0, {str(EXAMPLES)!r})
runpy.run_path({str(EXAMPLES / "train_rcpi.py")!r})["main"]()
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-500:]
    loss = float(re.search(r"^DatumWise-v0, test rows: .* loss ([\d.]+)\)$", done.stdout, re.MULTILINE)[1])
    assert loss < 0.15  # without acquiring anything: 0.37
    assert (tmp_path / "runs" / "rcpi_DatumWise-v0.safetensors").is_file()


def resumed_after(output: str) -> int:
    """The steps of the checkpoint from which a script goes on; 0 if it begins anew."""
    found = re.search(r"^resumed after ([\d,]+) steps$", output, re.MULTILINE)
    return int(found[1].replace(",", "")) if found else 0


def assert_compared_and_shown(output: str, name: str, picture: Path) -> None:
    table = output[output.rindex("accuracy  n_features") :].splitlines()[1:]
    assert {line.split()[0] for line in table} == {name, *BASELINES, "constant", "everything"}
    assert f"test row 0 as an animated picture: {picture}\n" in output
    with Image.open(picture) as cards:
        assert cards.n_frames >= 2  # before the first action, and after the last


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "name"), [("train_sb3", "maskable_ppo"), ("train_dqn", "dqn"), ("cleanrl_ppo", "cleanrl_ppo")]
)
def test_a_training_is_resumed_and_ends_with_baselines_and_a_picture(script, name, tmp_path, capsys):
    main = main_of(f"{script}.py")
    main(total_timesteps=4096, folder=str(tmp_path))
    assert resumed_after(capsys.readouterr().out) == 0
    result = main(total_timesteps=8192, folder=str(tmp_path), resume=True, baselines=BASELINES)
    output = capsys.readouterr().out
    assert 3840 <= resumed_after(output) <= 4096
    assert f"test rows: {result}" in output
    assert_compared_and_shown(output, name, tmp_path / f"{name}.gif")
    assert main_of("around_training.py", "last_checkpoint")(tmp_path)[1] > 4096
    assert len(list(tmp_path.rglob("events.out.tfevents.*"))) == 2  # of both runs, for TensorBoard


@pytest.mark.slow
def test_train_rcpi_ends_with_baselines_and_a_picture(tmp_path, capsys):
    main_of("train_rcpi.py")(n_iterations=2, folder=str(tmp_path), baselines=BASELINES)
    assert_compared_and_shown(capsys.readouterr().out, "rcpi", tmp_path / "rcpi_DatumWise-v0.gif")


@pytest.mark.parametrize(
    ("steps", "reports", "loss"),  # without acquiring anything the loss is 0.37
    [(4096, 0, 0.4), pytest.param(20_480, 1, 0.25, marks=pytest.mark.slow)],
)
def test_train_sb3(steps, reports, loss, tmp_path, capsys):
    """The algorithm and its settings are those of ``SB3Classifier``, with plain environments."""
    result = main_of("train_sb3.py")("fsgym:DatumWiseBudget-v0", total_timesteps=steps, folder=str(tmp_path / "new"))
    output = capsys.readouterr().out
    assert output.count("ep_rew_mean") == reports
    assert f"test rows: {result}" in output
    assert result.illegal == 0
    assert result.loss < loss
    assert (tmp_path / "new" / "maskable_ppo.zip").is_file()


def logged(folder):
    """Names of the scalars that a folder holds for TensorBoard."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    seen = EventAccumulator(str(folder))
    seen.Reload()
    return set(seen.Tags()["scalars"])


@pytest.mark.slow
def test_cleanrl_ppo(tmp_path, capsys):
    result = main_of("cleanrl_ppo.py")(
        "fsgym:DatumWiseBudget-v0",
        total_timesteps=12_288,
        num_envs=32,
        num_steps=16,
        learning_rate=3e-3,
        folder=str(tmp_path),
    )
    output = capsys.readouterr().out
    assert re.search(r"\d steps a second", output)
    assert "Evaluation(" in output
    assert result.illegal == 0
    assert result.loss < 0.2  # without acquiring anything: 0.37
    assert logged(tmp_path) >= {"train/episodic_return", "train/n_acquired", "train/policy_loss"}


@pytest.mark.usefixtures("quick_references")
@pytest.mark.slow
def test_compare_with_papers(tmp_path, capsys, monkeypatch):
    compare = fsgym.compare  # the example starts worker processes, which takes most of the time
    monkeypatch.setattr(fsgym, "compare", lambda *args, n_jobs, **options: compare(*args, **options))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)  # as without the extra rl
    path, main = tmp_path / "papers.png", main_of("compare_with_papers.py")
    results = main("wine", lam=(0.01, 0.1), splits=1, methods=("maskable_ppo", "lufe", "hkl"), path=str(path))
    output = capsys.readouterr().out
    assert results["error"].isna().all()
    assert list(dict.fromkeys(results["method"])) == ["lufe", "hkl", "constant", "everything"]
    losses = fsgym.summarise(results).losses
    assert all(f"{loss:.3f} ± " in output for loss in losses["loss"])
    assert output.count(" lowest\n") == 1 + 2  # the heading, and a row at each lambda
    assert output.count(" too few splits\n") == 2 * 3
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("quick_references")
@pytest.mark.slow
def test_compare_with_papers_says_what_is_noise():
    table_of = runpy.run_path(str(EXAMPLES / "compare_with_papers.py"))["table_of"]
    results = fsgym.compare("wine", ["cart", "lars"], lam=[0.01, 0.1], splits=3)
    table, losses = table_of(results), fsgym.summarise(results).losses.set_index(["lam", "method"])
    for row in table.rename(columns={"lambda": "lam"}).itertuples():
        known = losses.loc[(row.lam, row.method)]
        expected = "within noise" if known["difference_low"] <= 0 else "higher"
        assert row[-1] == ("lowest" if known["lowest"] == row.method else expected)
    assert {"lowest", "higher"} <= set(table["from lowest"])


def test_compare_with_papers_names_a_method_of_each_paper():
    methods = runpy.run_path(str(EXAMPLES / "compare_with_papers.py"))["METHODS"]
    assert set(methods) <= set(METHODS)
    for name, source in methods.items():
        year = re.search(r"\((\d{4})\)", METHODS[name].reference)[1]
        assert year in source or name == "maskable_ppo"


def test_serve_model(capsys):
    correct, fetched = main_of("serve_model.py")()
    output = capsys.readouterr().out
    assert output.count("answer:") == 2
    assert output.count("It acquires") >= 2
    assert correct >= 0.93 * 143
    assert 143 <= fetched < 5 * 143


@pytest.mark.filterwarnings("ignore")  # of Ray's own
def test_rllib_ppo(tmp_path, capsys):
    pytest.importorskip(
        "ray.rllib.algorithms.ppo", reason="RLlib needs an environment of its own", exc_type=ImportError
    )
    main = main_of("rllib_ppo.py")
    main(iterations=1, steps=512, folder=str(tmp_path))
    assert resumed_after(capsys.readouterr().out) == 0
    result = main(iterations=2, steps=512, folder=str(tmp_path), resume=True, baselines=BASELINES)
    output = capsys.readouterr().out
    assert resumed_after(output) == 512
    assert output.count("mean return") == 1
    assert result.illegal == 0
    assert result.loss < 1
    assert_compared_and_shown(output, "rllib_ppo", tmp_path / "rllib_ppo.gif")
    assert list(tmp_path.glob("events.out.tfevents.*"))


@pytest.mark.usefixtures("quick_references")
@pytest.mark.slow
def test_a_trained_policy_against_baselines(capsys):
    agent = RCPI(gym.make("fsgym:DatumWiseCost-v0"), n_iterations=1, random_state=0).learn()
    losses = main_of("around_training.py", "compare_with_baselines")(agent, "mine", "fsgym:DatumWiseCost-v0", ["cart"])
    assert set(losses["method"]) == {"mine", "cart", "constant", "everything"}
    own = losses.set_index("method").loc["mine", "loss"]  # on the test rows of the environment, by its rules
    assert own == pytest.approx(fsgym.evaluate(agent, gym.make("fsgym:DatumWiseCost-v0", split="test")).loss)
    assert "cart" in capsys.readouterr().out


@pytest.mark.cluster
@pytest.mark.parametrize("backend", ["joblib", "dask", "ray"])
def test_many_fits_are_the_same_on_every_backend(backend, monkeypatch, capsys):
    if backend == "ray":
        pytest.importorskip("ray", reason="needs Ray, which the extra ray and .ci/full install")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(p for p in (str(EXAMPLES), *sys.path) if p))
    monkeypatch.syspath_prepend(str(EXAMPLES))
    example = importlib.import_module("many_fits")
    models, scored = example.main(backend)
    assert capsys.readouterr().out.count("features expected") == 4
    data = fsgym.load_dataset("breast_cancer")
    X, north = data.to_frame()[list(models[0].feature_names_in_)], np.arange(569) % 2 == 0
    here = example.fitted(example.Fit("north", 0.02, 0), X, data.target, np.where(north, "north", "south"))
    assert models[0].policy_digest() == here.policy_digest()
    assert len({model.policy_digest() for model in models}) == 4
    np.testing.assert_array_equal(scored["answer"], here.predict(X))
    np.testing.assert_array_equal(scored.index, X.index)
