"""The command line: its arguments, its output, and one sentence for every error."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import fsgym
from fsgym import cli
from fsgym.cli import files as inputs
from fsgym.comparison import cell as cells
from fsgym.rules.options import OPTIONS

WINE = fsgym.load_dataset("wine")

ONE_FIT = ("--methods", "lars", "--no-references", "--splits", 1, "--jobs", 1)


def call(capsys, *arguments):
    """Exit code, stdout and stderr of a command."""
    with pytest.raises(SystemExit) as exited:
        cli.main([str(a) for a in arguments])
    printed = capsys.readouterr()
    return exited.value.code, printed.out, printed.err


@pytest.fixture
def table(tmp_path):
    """A CSV file of a user, with an identifier and a categorical column."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "patient": [f"p{i}" for i in range(60)], "age": rng.integers(20, 80, 60), "fever": rng.normal(38, 1, 60),
        "sex": rng.choice(["f", "m", "x"], 60),
    })  # fmt: skip
    frame["ill"] = np.where(frame["fever"] > 38, "yes", "no")
    frame.to_csv(tmp_path / "ward.csv", index=False)
    return tmp_path / "ward.csv"


def test_compare_on_a_file_with_prices(capsys, tmp_path, table):
    (tmp_path / "prices.csv").write_text("name,price\nage,1\nfever,5\nsex,1\n")
    (tmp_path / "errors.csv").write_text(",no,yes\nno,0,50\nyes,10,0\n")
    out = tmp_path / "out"
    code, output, error = call(
        capsys,
        "compare",
        table,
        "--target",
        "ill",
        "--drop",
        "patient",
        "--methods",
        "cart,lars",
        "--no-references",
        "--splits",
        2,
        "--costs",
        tmp_path / "prices.csv",
        "--error-costs",
        tmp_path / "errors.csv",
        "--lam",
        "1",
        "--jobs",
        1,
        "--out",
        out,
    )
    assert (code, error) == (0, "")
    assert "CART" in output
    assert "Cost per case: cost of errors + lambda x price paid" in output
    assert str(out / "report.html") in output
    results = pd.read_csv(out / "results.csv")
    assert set(results["price"]) == {1.0}
    assert results["spent"].max() <= 7  # the category counts once
    acquiring = results[results["n_acquisitions"] > 0]
    np.testing.assert_allclose(acquiring["loss"], acquiring["error_cost"] + acquiring["spent"])
    assert "--target ill --drop patient --methods cart,lars" in (out / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_default_folder_is_named_after_the_data(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert call(capsys, "compare", "wine", *ONE_FIT)[0] == 0
    assert sorted(p.name for p in (tmp_path / "fsgym-results" / "wine").iterdir()) == [
        "curves.png",
        "histogram.png",
        "losses.csv",
        "report.html",
        "results.csv",
        "results.sqlite",
        "timings.sqlite",
        "usage.png",
    ]


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.slow
def test_groups_relations_and_forbidden_acquisitions(capsys, tmp_path):
    groups = {"colours": ["hue", "color_intensity"], "rest": [n for n in WINE.feature_names if "hue" not in n]}
    groups["rest"].remove("color_intensity")
    (tmp_path / "groups.json").write_text(json.dumps(groups))
    (tmp_path / "related.json").write_text("[]")
    arguments = (
        "compare",
        "wine",
        *ONE_FIT,
        "--out",
        tmp_path / "out",
        "--groups",
        tmp_path / "groups.json",
        "--related",
        tmp_path / "related.json",
    )
    assert call(capsys, *arguments, "--unrelated-costs", "forbid")[0] == 0
    results = pd.read_csv(tmp_path / "out" / "results.csv")
    assert results["n_acquisitions"].max() == 2
    assert set(results.loc[results["n_acquisitions"] == 2, "admissible"]) == {0.0}
    assert call(capsys, *arguments, "--unrelated-costs", "9")[0] == 0
    assert pd.read_csv(tmp_path / "out" / "results.csv")["spent"].max() == 10
    code, _, error = call(capsys, *arguments)
    assert code == 2
    assert "--related needs --unrelated-costs" in error


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.slow
def test_prerequisites_and_the_price_of_the_first_acquisition(capsys, tmp_path, table):
    (tmp_path / "needs.json").write_text('{"fever": ["age"], "sex": ["age", "fever"]}')
    (tmp_path / "related.json").write_text('[["age", "fever"], ["fever", "sex"]]')
    arguments = [
        "compare",
        table,
        "--target",
        "ill",
        "--drop",
        "patient",
        *ONE_FIT,
    ]
    arguments += ["--out", tmp_path / "out", "--costs", 2, "--prerequisites", tmp_path / "needs.json"]
    assert call(capsys, *arguments)[0] == 0
    results = pd.read_csv(tmp_path / "out" / "results.csv")
    assert set(results["n_acquisitions"]) <= {0.0, 1.0, 2.0, 3.0}
    assert set(results["n_acquisitions"]) & {2.0, 3.0}  # fever needs age
    np.testing.assert_allclose(results["spent"], 2 * results["n_acquisitions"])
    expensive = ["--related", tmp_path / "related.json", "--unrelated-costs", 7, "--no-empty-is-related"]
    assert call(capsys, *arguments, *expensive)[0] == 0
    again = pd.read_csv(tmp_path / "out" / "results.csv")
    np.testing.assert_allclose(again["spent"], results["spent"] + 5 * (results["n_acquisitions"] > 0))


@pytest.mark.usefixtures("no_pictures")
def test_missing_values_are_refused_on_request(capsys, tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text("a,b,target\n" + "1,2,no\n,3,yes\n2,2,no\n4,1,yes\n" * 5)
    arguments = [
        "compare",
        path,
        *ONE_FIT,
        "--out",
        tmp_path / "out",
    ]
    assert call(capsys, *arguments, "--missing", "unavailable")[0] == 0
    code, _, error = call(capsys, *arguments, "--missing", "error")
    assert (code, len(error.splitlines())) == (2, 1)
    assert "'gaps' has missing values" in error


def test_failing_fits_are_reported_and_the_exit_status_is_one(capsys, tmp_path, monkeypatch):
    def failing(policy, dataset, rules):
        raise ValueError("the machine is tired")

    monkeypatch.setattr(cells, "evaluate", failing)
    code, _, error = call(capsys, "compare", "wine", *ONE_FIT, "--out", tmp_path)
    assert code == 1
    assert "fits failed, the first of lars: ValueError: the machine is tired" in error
    assert (tmp_path / "report.html").exists()


def test_ctrl_c_reports_how_many_fits_are_stored(capsys, tmp_path, monkeypatch):
    def stopped(**cell):
        raise KeyboardInterrupt

    monkeypatch.setattr(cells, "run_cell", stopped)
    code, _, error = call(capsys, "compare", "wine", *ONE_FIT, "--out", tmp_path)
    assert code == 130
    assert error.startswith("fsgym: stopped after 0 of ")
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "wien"], "did you mean 'wine'"),
        (["compare", "wine", "--methods", "rcpi,carrt"], "did you mean 'cart'"),
        (["compare", "wine", "--methods", ","], "--methods must not be empty"),
        (["compare", "wine", "--splits", "0"], "splits must be"),
        (["compare", "wine", "--splits", "x"], "--splits"),
        (["compare", "wine", "--lam", "0.1,b"], "--lam must be numbers"),
        (["compare", "wine", "--lam=-1"], "not negative"),
        (["compare", "wine", "--train-share", "2"], "--train-share must lie"),
        (["compare", "wine", "--budget", "-1"], "budget must be"),
        (["compare", "wine", "--budget-cost", "0.5"], "nothing could be acquired"),
        (["compare", "wine", "--seed", "-3"], "seed must be"),
        (["compare", "wine", "--jobs", "0"], "--jobs must be"),
        (["compare", "wine", "--relation", "some"], "relation must be"),
        (["compare", "wine", "--costs", "/nowhere.json"], "/nowhere.json"),
        (["compare", "wine", "--groups", "/nowhere.json"], "no file /nowhere.json"),
        (["compare", "wine", "--error-costs", "/nowhere.csv"], "no file /nowhere.csv"),
        (["compare", "wine", "--related", "/nowhere.csv"], "no file /nowhere.csv"),
        (["compare", "wine", "--prerequisites", "/nowhere.json"], "no file /nowhere.json"),
        (["compare", "wine", "--missing", "some"], "missing must be"),
        (["compare", "wine", "--costs=-2"], "must not be negative"),
        (["compare", "wine", "--unrelated-costs", "3"], "--unrelated-costs needs --related"),
        (["compare", "wine", "--unrelated-costs", "/nowhere.csv"], "/nowhere.csv"),
        (["compare", "wine", "--target", "x"], "target is only for"),
        (["compare", "wine", "--drop", "nothing"], "unknown feature of 'wine' 'nothing'"),
        (["compare", "/nowhere.csv"], "/nowhere.csv"),
        (["compare", "wine", "--out", "/dev/null/x"], "cannot write to the folder"),
        (["compare", "wine", "--nope"], "--nope"),
        (["compare"], "Missing argument"),
        (["comapre", "wine"], "comapre"),
        (["datasets", "--data-dir", "/nowhere"], "/nowhere"),
    ],
)
def test_errors_are_one_sentence_on_stderr(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cells, "run_cell", lambda *_: pytest.fail("a fit was started"))
    code, output, error = call(capsys, *arguments)
    assert (code, output) == (2, "")
    assert message in error
    assert error.startswith("fsgym: ")
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("e.csv", "", "lacks"),
        ("e.csv", ",class_0,class_1\nclass_0,0,1\nclass_1,1,0\n", "lacks 'class_2'"),
        ("e.csv", ",class_0,class_1,maybe\n", "has 'maybe'"),
        ("e.csv", ",class_0,class_1,class_2\nclass_0,0,1,1\nclass_1,1,0\nclass_2,1,1,0\n", "must"),
        ("e.csv", ",class_0,class_1,class_2\nclass_0,0,1,1\nclass_1,1,x,0\nclass_2,1,1,0\n", "must hold numbers"),
        (
            "e.csv",
            ";class_0;class_1;class_2\nclass_0;0;1,5;1\nclass_1;1.000;0;1\nclass_2;1;1;0\n",
            "1.000' beside '1,5",
        ),
        ("e.csv", ",class_0,class_1,class_2\nclass_0,0,1,1\nclass_1,1_0,0,1\nclass_2,1,1,0\n", "got '1_0'"),
        ("e.json", "{", "is not JSON"),
        ("e.json", "[1]", "must map each answer"),
        ("e.json", '{"class_0": {"class_0": 1}}', "must have a cost for each wrong answer"),
        ("e.csv", "\udcff", "not text in UTF-8"),
    ],
)
def test_damaged_error_costs_are_refused(name, text, message, tmp_path):
    path = tmp_path / name
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match=message) as caught:
        inputs.read_error_costs(path, WINE)
    assert str(path) in str(caught.value)


def test_error_costs_in_any_order_and_both_formats(tmp_path):
    wanted = [[0, 1, 2], [3, 0, 4], [5, 6, 0]]
    (tmp_path / "e.csv").write_text(
        "answer,class_2,class_0,class_1\nclass_1,4,3,0\nclass_0,2,0,1\nclass_2,0,5,6\n", encoding="utf-8"
    )
    names = [f"class_{k}" for k in range(3)]
    costs = {a: dict(zip(names, row, strict=True)) for a, row in zip(names, wanted, strict=True)}
    (tmp_path / "e.json").write_text(json.dumps(costs))
    for name in ("e.csv", "e.json"):
        read = inputs.read_error_costs(tmp_path / name, WINE)
        np.testing.assert_array_equal([[read[a][t] for t in names] for a in names], wanted)


def test_class_labels_say_nothing_of_the_decimal_sign_of_error_costs(tmp_path):
    data = fsgym.Dataset(np.eye(2), ["1.5", "2.5"])
    (tmp_path / "e.csv").write_text(";1.5;2.5\n1.5;0;200,5\n2.5;1000;0\n")
    read = inputs.read_error_costs(tmp_path / "e.csv", data)
    assert read == {"1.5": {"1.5": 0.0, "2.5": 200.5}, "2.5": {"1.5": 1000.0, "2.5": 0.0}}


def test_relations_in_both_formats(tmp_path):
    data = fsgym.Dataset(np.eye(3), [0, 1, 0], feature_names=["a", "b", "c"])
    (tmp_path / "r.json").write_text('[["a", "c"]]')
    (tmp_path / "r.csv").write_text(",a,b,c\na,0,0,1\nb,0,0,0\nc,1,0,0\n")
    for name in ("r.json", "r.csv"):
        np.testing.assert_array_equal(
            inputs.read_pairs(tmp_path / name, data), np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], bool)
        )
    (tmp_path / "r.json").write_text('[["a", "d"]]')
    with pytest.raises(ValueError, match="unknown acquisition 'd'"):
        inputs.read_pairs(tmp_path / "r.json", data)
    for text in ("{}", '[["a"]]', '[["a", "b", "c"]]', '[["a", "a"]]', "[1]"):
        (tmp_path / "r.json").write_text(text)
        with pytest.raises(ValueError, match="list of pairs"):
            inputs.read_pairs(tmp_path / "r.json", data)
    (tmp_path / "g.json").write_text('{"a": "b"}')
    with pytest.raises(ValueError, match="lists of feature names"):
        inputs.read_groups(tmp_path / "g.json")


def test_prerequisites_in_both_formats(tmp_path):
    data = fsgym.Dataset(np.eye(3), [0, 1, 0], feature_names=["a", "b", "c"])
    (tmp_path / "p.json").write_text('{"c": ["a", "b"], "b": []}')
    (tmp_path / "p.csv").write_text(",b,a,c\na,0,0,0\nc,1,1,0\nb,0,0,0\n")
    for name in ("p.json", "p.csv"):
        np.testing.assert_array_equal(
            inputs.read_needs(tmp_path / name, data), np.array([[0, 0, 0], [0, 0, 0], [1, 1, 0]], bool)
        )
    for text, message in (
        ('{"d": ["a"]}', "unknown acquisition 'd'"),
        ('{"d": []}', "unknown acquisition 'd'"),
        ('{"a": ["d"]}', "unknown acquisition 'd'"),
        ('{"a": [["b"]]}', "unknown acquisition"),
        ('{"a": "b"}', "lists of the names they need"),
        ('["a", "b"]', "lists of the names they need"),
        ("{", "is not JSON"),
    ):
        (tmp_path / "p.json").write_text(text)
        with pytest.raises(ValueError, match=message) as caught:
            inputs.read_needs(tmp_path / "p.json", data)
        assert str(tmp_path / "p.json") in str(caught.value)
    (tmp_path / "p.csv").write_text(",a,b,c\na,0,0,0\nb,0,0,0\nc,0.5,0,0\n")
    with pytest.raises(ValueError, match="only 0 and 1"):
        inputs.read_needs(tmp_path / "p.csv", data)


@pytest.mark.parametrize("command", ["compare", "train"])
def test_the_help_has_every_option_of_the_rules(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    output = " ".join(call(capsys, command, "--help")[1].split())
    for option in OPTIONS:
        assert f"--{option.name.replace('_', '-')} " in output
    assert "{group name: [feature names]}" in output  # not read as markup by Rich


def test_datasets_are_listed(capsys):
    code, output, _ = call(capsys, "datasets")
    assert code == 0
    rows = {line.split()[0]: line.split()[1:] for line in output.splitlines() if line.strip()}
    assert rows["wine"][:4] == ["embedded", "178", "13", "3"]


def test_module_prints_its_version_and_needs_little_for_it():
    code = "import sys, fsgym.__main__ as m\ntry: m.main(['--version'])\nexcept SystemExit: print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout.startswith(f"fsgym {fsgym.__version__}\n")
    for heavy in ("pandas", "sklearn", "matplotlib", "torch", "scipy.stats", "jinja2"):
        assert f"'{heavy}'" not in done.stdout


def test_import_is_light():
    names = ["matplotlib", "jinja2", "typer", "torch", "fsgym.comparison", "fsgym.datasets"]
    code = f"import fsgym, agents, baselines, sys; print([m for m in {names} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout.strip() == "[]"


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.slow
def test_options_of_how_a_table_is_read(capsys, tmp_path):
    """The options that resolve suspicious columns work in train, evaluate and compare."""
    rows = [f"{i % 9},5;{'unknown' if i == 3 else i % 5};{i % 3};1;{'yes' if i % 2 else 'no'}" for i in range(60)]
    (tmp_path / "w.csv").write_text("\n".join(["crp;age;ward;same;target", *rows, ""]))
    file, model = tmp_path / "w.csv", tmp_path / "m.fsgym"
    code, _, error = call(capsys, "train", file, "-o", model)
    assert code == 2
    assert "'age'" in error
    assert "--numeric age" in error
    read = ["--numeric", "age", "--category", "ward", "--separator", ";", "--decimal", ","]
    code, _, error = call(capsys, "train", file, "-o", model, "--agent", "rcpi", "--steps", 2, *read)
    assert code == 0, error
    assert "'same' has the value 1 in each row" in error
    code, _, error = call(capsys, "evaluate", model, file, *read)
    assert code == 0, error
    code, _, error = call(
        capsys, "compare", file, *read, "--methods", "cart", "--splits", 1, "--jobs", 1, "--out", tmp_path / "out"
    )
    assert code == 0, error
    assert call(capsys, "compare", file, "--separator", "ab")[0] == 2


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.slow
def test_methods_of_ones_own_and_several_data_sets(capsys, tmp_path, table, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "from sklearn.feature_selection import SelectKBest\n"
        "from sklearn.linear_model import LogisticRegression\n"
        "from sklearn.pipeline import make_pipeline\n"
        "from sklearn.preprocessing import FunctionTransformer\n"
        "def halved(X):\n    return X / 2\n"
        "def best():\n"
        "    half = FunctionTransformer(halved, feature_names_out='one-to-one')\n"
        "    return make_pipeline(half, SelectKBest(k=1), LogisticRegression())\n"
    )
    (tmp_path / "other.csv").write_text(table.read_text())
    monkeypatch.setattr(sys, "dont_write_bytecode", False)  # as on most machines
    monkeypatch.chdir(tmp_path)
    quick = ("--target", "ill", "--drop", "patient", "--methods", "cart", "--mine", "best one=mine.py:best")
    quick += ("--no-references",)
    quick += ("--splits", 1, "--jobs", 1, "--lam", 0.01)
    code, output, error = call(capsys, "compare", table, "other.csv", *quick)
    assert (code, error) == (0, "")
    assert "No rank test: it needs at least 3 data sets, got 2." in output
    assert "Loss minus that of best one" in output
    assert "mine.py" not in output
    differences = pd.read_csv("fsgym-results/differences.csv")
    assert differences[["dataset", "lam", "method", "other"]].to_numpy().tolist() == [
        [name, 0.01, "best one", "cart"] for name in ("ward", "other")
    ]
    results = pd.read_csv("fsgym-results/ward/results.csv")
    assert results.set_index("method").loc["best one", "n_features"] == 1
    assert os.path.exists("fsgym-results/report.html")
    code, output, error = call(capsys, "compare", table, *quick)  # resumes its part
    assert (code, error) == (0, "ward: 3 of 3 are of an earlier run\n")
    for reference, message in (
        ("mine.py:bset", "did you mean 'best'"),
        ("mine.py", "named as module:factory"),
        ("=mine.py:best", "a name must stand before the ="),
    ):
        code, output, error = call(capsys, "compare", table, "--target", "ill", "--mine", reference)
        assert (code, error.count("\n")) == (2, 1)
        assert message in error
