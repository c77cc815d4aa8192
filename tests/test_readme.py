"""The README keeps its word: its Python runs and prints what it shows, and the tables are those of the results.

The quick test runs the Python with fewer steps, splits and settings; the slow ones run all of it as it is printed.
"""

from __future__ import annotations

import contextlib
import io
import re
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import baselines
import fsgym
from fsgym.methods import DEFAULT_METHODS, METHODS
from support.comparisons import results_of, row_of
from support.outputs import assert_alike

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
COMPARE = (ROOT / "docs" / "guide" / "compare.md").read_text()
SCRIPT = runpy.run_path(str(ROOT / "benchmarks" / "breast_cancer.py"))
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
USED = "features used"
HEADINGS = ["lambda", "method", "loss", "accuracy", "from best", USED]
# What the quick test changes in the Python of the README, and why.
QUICKER = {
    "learn(300_000)": ("learn(2048)", "15 seconds of training"),
    "splits=3, n_jobs=-1": ("splits=1", "GBFS takes most of a minute"),
}
# Their figures depend on draws that another kind of CPU, which rounds sums otherwise, turns into other draws.
CHAOTIC = ("RCPI (datum-wise)", "Adaptive agent")


def printed_by_the_readme(text: str) -> list[tuple[str, str]]:
    """What each block of Python prints, run from top to bottom, and what the README shows for it ("" for nothing)."""
    names: dict = {}
    outputs = []
    for code, shown in BLOCK.findall(text):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "README.md", "exec"), names)
        outputs.append((printed.getvalue(), shown))
    return outputs


ONE_ERROR = 0.015  # the standard error of a loss over the 171 test rows


def loss_in(printed: str) -> float:
    """The loss of an evaluation, as it is printed."""
    return float(re.search(r"loss (\S+)\)$", printed.strip())[1])


def losses_of_one_call(text: str) -> tuple[float, float]:
    """Between which a page says that the loss of MaskablePPO is, over seeds and kinds of CPU."""
    words = " ".join(text.split())
    low, high = re.search(r"seeds 0, 1 and 2, on two kinds of CPU, [^.]*? between (\S+) and (\d\.\d+)", words).groups()
    return float(low), float(high)


def rows_of_table(name: str) -> list[dict[str, str]]:
    """The rows of a table that the script writes, by heading."""
    marker = f"<!-- {name}: begin, written by benchmarks/breast_cancer.py -->"
    lines = COMPARE.partition(marker)[2].partition(f"<!-- {name}: end -->")[0].strip().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert cells[0][:-1] == HEADINGS[:-1]
    assert cells[0][-1] in (USED, "acquisitions")  # these where a price is that of several columns
    return [dict(zip(HEADINGS, row, strict=True)) for row in cells[2:]]


def mean_and_spread(text: str) -> tuple[float, float]:
    mean, _, spread = text.partition(" ± ")
    return float(mean), float(spread)


def test_the_python_of_the_readme_runs(monkeypatch):
    text = README
    for printed, (quicker, _) in QUICKER.items():
        assert printed in text
        text = text.replace(printed, quicker)
    for cls in (baselines.LUFeClassifier, baselines.GBFSClassifier, baselines.DisjunctionClassifier):
        grid = cls.sparsity_grid
        monkeypatch.setattr(cls, "sparsity_grid", lambda self, X, y, grid=grid: grid(self, X, y)[:1])
    environment, rcpi, deep, compared = printed_by_the_readme(text)
    assert environment[0] == environment[1]
    assert_alike(*rcpi, 0.2)
    assert deep[0].startswith("Evaluation(accuracy")
    methods = [line.split()[0] for line in compared[0].splitlines()[1:]]
    assert methods == ["rcpi", "lufe", "sparse_group_lasso", "gbfs", "hkl", "constant", "everything"]


@pytest.mark.slow  # some minutes: the training and the comparison as they are printed
def test_the_python_of_the_readme_prints_what_it_shows():
    _, _, (printed, shown), compared = printed_by_the_readme(README)
    low, high = losses_of_one_call(README)
    assert_alike(printed, shown, 1.0)  # the same words; the loss is that of one seed on one kind of CPU
    assert low - ONE_ERROR < loss_in(printed) < high + ONE_ERROR
    assert_alike(*compared, 0.3)


def test_pages_show_the_same_loss_for_the_same_call_and_how_far_it_varies():
    page, call = (ROOT / "docs" / "start" / "from_gym.md").read_text(), 'make_model("maskable_ppo", env, seed=0).learn('
    assert call in README
    assert call in page
    shown = loss_in(next(output for code, output in BLOCK.findall(README) if call in code))
    table = next(output for code, output in BLOCK.findall(page) if call in code)
    assert re.search(r"^ *maskable_ppo (\S+) ", table, re.MULTILINE)[1] == f"{shown:.3f}"
    low, high = losses_of_one_call(README)
    assert losses_of_one_call(page) == (low, high)
    assert low <= shown <= high
    assert high - low < 0.03  # a range that any loss is in says nothing


def test_the_three_uses_come_first_and_none_needs_a_page():
    first = "\n".join(README.splitlines()[:80])
    for use in ('gym.make("DatumWise-v0"', "RCPI(env", 'make_model("maskable_ppo"', "fsgym.compare("):
        assert use in first
    for name in ("lufe", "sparse_group_lasso", "gbfs", "hkl"):
        assert f'"{name}"' in first
    one_case, minutes = README.index("## One case"), README.index("`fsgym compare breast_cancer`")
    assert one_case < minutes


def test_the_table_of_the_page_has_the_losses_of_summarise():
    rng = np.random.default_rng(0)
    rows = []
    for split in range(4):
        for setting, n in enumerate((1.0, 3.0, 8.0)):
            for name, worse in (("lattice", 0.0), ("panel", 0.001), ("cart", 0.2)):
                error = 0.2 / n + worse + rng.normal(0, 0.004)
                validation = {"validation_error_cost": 0.2 / n + worse + rng.normal(0, 0.02)}
                fit = row_of(name, split, error=error, n=n) | validation
                rows.append(fit | {"setting": setting, "params": f'{{"lam": {setting}}}'})
        rows.append(row_of("constant", split, error=0.5, n=0.0))
    results, prices = results_of(*rows), (0.001, 0.05)
    lines = SCRIPT["in_markdown"](results, prices).splitlines()
    assert lines[0] == f"| {' | '.join(HEADINGS)} |"
    losses = fsgym.summarise(results, lam=prices).losses
    losses = losses[losses["method"] != "constant"].sort_values(["lam", "loss"], kind="stable")
    assert len(lines) == 2 + len(losses) == 2 + 2 * 3
    marks = []
    for line, row in zip(lines[2:], losses.to_dict("records"), strict=True):
        marks.append("higher" if row["difference_low"] > 0 else "within noise")
        marks[-1] = "–" if row["method"] == row["lowest"] else marks[-1]
        expected = [f"{row['lam']:g}", METHODS[row["method"]].title]
        expected += [f"{row[name]:.3f} ± {row[f'{name}_std']:.3f}" for name in ("loss", "accuracy")]
        expected += [marks[-1], f"{row['n_features']:.1f} ± {row['n_features_std']:.1f}"]
        assert line == f"| {' | '.join(expected)} |"
    assert set(marks) == {"–", "within noise", "higher"}


@pytest.mark.parametrize(
    ("name", "prices", "methods"),
    [("breast-cancer", "PRICES", DEFAULT_METHODS), ("cube-nm", "CUBE_PRICES", SCRIPT["CUBE_METHODS"])],
)
def test_each_table_has_all_methods_at_each_price_from_the_lowest_loss(name, prices, methods):
    rows = rows_of_table(name)
    for price in SCRIPT[prices]:
        own = [row for row in rows if float(row["lambda"]) == price]
        assert sorted(row["method"] for row in own) == sorted(METHODS[method].title for method in methods)
        losses = [mean_and_spread(row["loss"])[0] for row in own]
        assert losses == sorted(losses)
        assert own[0]["from best"] == "–"
        assert {row["from best"] for row in own[1:]} <= {"within noise", "higher"}
        for row in own:  # the loss is the error plus the prices paid; each is rounded
            error, used = 1 - mean_and_spread(row["accuracy"])[0], mean_and_spread(row[USED])[0]
            assert mean_and_spread(row["loss"])[0] == pytest.approx(error + price * used, abs=0.001 + 0.05 * price)
    assert len(rows) == len(SCRIPT[prices]) * len(methods)


def test_what_page_and_readme_say_of_the_tables_is_what_they_show():
    breast_cancer, cube = rows_of_table("breast-cancer"), rows_of_table("cube-nm")
    text = COMPARE.replace("\n", " ")
    assert "so the learnt stopping rule has the lowest loss" in text
    assert {row["method"] for row in breast_cancer if row["from best"] == "–"} == {"Learnt stopping"}
    assert "the default agent is within noise of it at each lambda" in text
    adaptive = [row for row in breast_cancer if row["method"] == "Adaptive agent"]
    assert {row["from best"] for row in adaptive} == {"within noise"}
    mixture = [row for row in cube if row["method"] == "Mixture policy"]
    assert {row["from best"] for row in mixture} == {"–"}
    y = fsgym.load_dataset("cube_nm").y[: SCRIPT["CUBE_ROWS"]]
    assert f"a loss of {1 - np.bincount(y).max() / len(y):.3f}" in text
    for row in cube:
        if row["method"] in ("Fixed panel", "Learnt stopping", "L1-SVM"):
            assert row["from best"] == "higher"
            assert mean_and_spread(row["loss"])[0] > 2 * mean_and_spread(mixture[0]["loss"])[0]  # nothing comes near


def test_no_setting_of_the_table_is_chosen_on_test_rows():
    """Other figures of the test parts leave the settings of the table as they are."""
    rows = [
        row_of("cart", split, error=error, n=n) | {"setting": setting, "validation_error_cost": validation}
        for split in range(3)
        for setting, (n, error, validation) in enumerate([(2.0, 0.3, 0.1), (4.0, 0.0, 0.4)])
    ]
    (line,) = SCRIPT["in_markdown"](results_of(*rows), (0.01,)).splitlines()[2:]
    assert "2.0 ± 0.0" in line  # the other setting has no error on the test rows
    assert "0.320 ± 0.000" in line


@pytest.mark.slow  # the whole comparison, minutes
def test_the_table_and_the_picture_are_those_of_a_fresh_comparison(tmp_path):
    SCRIPT["breast_cancer"](tmp_path, n_jobs=2, progress=False)
    losses = fsgym.summarise(pd.read_csv(tmp_path / "results.csv"), lam=SCRIPT["PRICES"]).losses
    found = {(METHODS[row["method"]].title, row["lam"]): row for row in losses.to_dict("records")}
    for shown in rows_of_table("breast-cancer"):
        row, chaotic = found[shown["method"], float(shown["lambda"])], shown["method"] in CHAOTIC
        for heading, name, rounding in (
            ("loss", "loss", 0.005),
            ("accuracy", "accuracy", 0.005),
            (USED, "n_features", 0.3),
        ):
            mean, spread = mean_and_spread(shown[heading])
            assert row[name] == pytest.approx(mean, abs=max(rounding, spread if chaotic else 0.0)), (shown, name)
        if not chaotic and abs(row["difference_low"]) > 0.005 and row["method"] != row["lowest"]:
            assert shown["from best"] == ("higher" if row["difference_low"] > 0 else "within noise")
    with Image.open(tmp_path / "curves.png") as fresh, Image.open(ROOT / "docs" / "breast_cancer.png") as stored:
        assert fresh.size == stored.size
        difference = np.abs(np.asarray(fresh.convert("RGB"), int) - np.asarray(stored.convert("RGB"), int))
        assert difference.mean() < 8
