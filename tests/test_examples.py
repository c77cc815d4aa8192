"""Examples run, and do what they say."""

import runpy
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def main_of(name: str):
    return runpy.run_path(str(EXAMPLES / name))["main"]


def test_first_steps(capsys):
    result = main_of("first_steps.py")()
    said = capsys.readouterr().out
    assert said.count("answers") == 3
    assert "asks for" in said
    assert result.accuracy > 0.8
    assert result.loss < 25


def test_sklearn_compare(capsys):
    search, within = main_of("sklearn_compare.py")(splits=2)
    assert "features a case" in capsys.readouterr().out
    assert search.best_score_ > -0.3
    assert set(within["method"]) == {"rcpi", "trees"}


def test_maskable_ppo(capsys):
    result = main_of("maskable_ppo.py")(total_timesteps=6000)
    assert "Evaluation(" in capsys.readouterr().out
    assert result.illegal == 0
    assert result.loss < 0.3  # answering at once: 0.6


def test_all_examples_are_tested_and_short():
    here = Path(__file__).read_text()
    for example in EXAMPLES.glob("*.py"):
        assert f'main_of("{example.name}")' in here
        assert len(example.read_text().splitlines()) < 80
