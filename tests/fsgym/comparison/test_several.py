"""Several data sets: each compared as alone, with a test of the ranks where there are three."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier

import fsgym
from fsgym.cli.compare import _show_datasets
from fsgym.comparison import cell as cells
from fsgym.comparison import compare_datasets
from fsgym.comparison.answer import elsewhere_in_words, noise_in_words, noise_over_datasets
from fsgym.comparison.planned import ExecutionOptions, announce_time, expected_time, seconds_of
from fsgym.comparison.ranking import result_of
from fsgym.comparison.report import write_datasets_report
from fsgym.runner.run import progress_bar
from fsgym.runner.time_left import Expectation, TimeLeft
from support.comparisons import results_of, row_of

QUICK = {"splits": 1, "lam": 0.01, "references": False}


def table_of(name, seed, n_features=4):
    X = np.random.default_rng(seed).normal(size=(60, n_features)).astype(np.float32)
    return fsgym.Dataset(X, X[:, 0] > 0, name=name)


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.slow  # data sets with other arguments are compared, too
def test_each_data_set_resumes_what_was_compared_alone(tmp_path, monkeypatch):
    data = [table_of(name, seed) for seed, name in enumerate(["a b", "c", "d"])]
    alone = fsgym.compare(data[0], ["cart", "lars"], out=tmp_path / "a_b", **QUICK)
    stored = (tmp_path / "a_b" / "results.sqlite").read_bytes()
    fitted = []
    run_cell = cells.run_cell
    monkeypatch.setattr(cells, "run_cell", lambda **given: fitted.append(given["dataset"].name) or run_cell(**given))
    result = compare_datasets(data, ["cart", "lars"], out=tmp_path, **QUICK)
    assert set(fitted) == {"c", "d"}
    assert (tmp_path / "a_b" / "results.sqlite").read_bytes() == stored
    assert result.results["a b"].to_csv() == alone.to_csv()
    assert result.to_frame()["dataset"].unique().tolist() == ["a b", "c", "d"]
    assert result.losses.shape == (3, 2)
    assert pd.read_csv(tmp_path / "losses.csv", index_col=["dataset", "lam"]).shape == (3, 2)
    page = (tmp_path / "report.html").read_text()
    assert 'href="a_b/report.html"' in page
    assert result.answer[0] in page.replace("&#39;", "'")
    fitted.clear()
    compare_datasets(data, ["cart", "lars"], out=tmp_path, **QUICK)
    assert fitted == []


def results_with(errors):
    """One table of results per data set; the error of each method, None where its fit failed."""
    tables = {}
    for name, by_method in errors.items():
        rows = [row_of(m, error=0.1 if e is None else e) | ({"error": "no"} if e is None else {}) for m, e in by_method]
        tables[name] = results_of(*[row | {"dataset": name} for row in rows])
    return tables


def test_the_answer_names_the_methods_that_are_worse():
    errors = {
        f"d{i}": [("cart", 0.1), ("lars", 0.2 + 0.01 * (i % 2)), ("rcpi", 0.3), ("constant", 0.0)] for i in range(9)
    }
    result = result_of(results_with(errors))
    assert list(result.losses) == ["cart", "lars", "rcpi"]  # without the reference point
    assert result.rank_test.mean_ranks.to_dict() == {"cart": 1.0, "lars": 2.0, "rcpi": 3.0}
    first, second = result.answer
    assert first.startswith("Over 9 data sets, CART has the best mean rank, 1.00; Friedman's test finds a difference")
    assert "better than RCPI (datum-wise); LARS / lasso path does not differ from it" in second
    assert "Over 9 data sets" in result._repr_html_()


def test_the_answer_says_its_lambda_and_which_method_is_best_at_the_others(tmp_path, capsys):
    """CART, with more errors and fewer features than LARS, is the best where features are dear."""
    tables = {
        name: results_of(
            *(row_of(m, s, error=e + 0.01 * s, n=n, dataset=name) for m, e, n in SORTS for s in range(3)),
            reported=(0.01, 0.1, 0.2),
            answer="LARS is best.",
        )
        for name in "abc"
    }
    result = result_of(tables)
    assert result.answer[0].startswith("Over 3 data sets, LARS / lasso path has the best mean rank, 1.00")
    said = elsewhere_in_words(result)
    assert said == (
        "This answer is for lambda 0.01; the best mean rank is that of CART at 0.1 (1.00, p = 0.25), CART at 0.2 "
        "(1.00, p = 0.25)."
    )
    _show_datasets(result)
    shown = " ".join(capsys.readouterr().out.split())
    for words in (said, "Losses at lambda 0.01", "Noise: by a t test at 95 %", '"noise" says little'):
        assert words in shown
    losses = result.losses_table()
    assert losses.loc[("a", 0.1)].to_dict() == pytest.approx({"lars": 0.11 + 0.5, "cart": 0.21 + 0.1})
    assert len(losses) == 9
    assert result.ranks_table().groupby("lam")["method"].first().to_dict() == {
        "0.01": "lars",
        "0.1": "cart",
        "0.2": "cart",
    }
    write_datasets_report(result, "fsgym compare", tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert said in page
    assert "only a difference above 5.0 of its standard deviations" in page
    cells = re.findall(r"report.html.>a</a></td><td>([^<]+)</td>(.*?)</tr>", page)
    assert [(lam, re.findall(r'class="best">([^<]+)', row)) for lam, row in cells] == [
        ("0.01", ["0.160"]),
        ("0.1", ["0.310"]),
        ("0.2", ["0.410"]),
    ]


def test_two_methods_on_a_few_data_sets_are_said_to_be_too_few():
    """The p-value of Wilcoxon's test of n data sets is at least 2 ** (1 - n)."""
    for n, said in ((5, "can find no difference on so few (p is at least 0.062)"), (6, "finds a difference")):
        tables = {
            f"d{i}": results_of(row_of("cart", error=0.3 + 0.01 * i), row_of("lars", error=0.2 - 0.01 * i))
            for i in range(n)
        }
        assert said in result_of(tables).answer[0]


def test_noise_is_told_by_data_set_where_it_differs():
    tables = {name: results_of(*(row_of("cart", s) for s in range(n))) for name, n in (("a", 1), ("b", 9), ("c", 9))}
    one, more = noise_over_datasets(tables)
    assert one.startswith("a: Noise: by the 95 % intervals")
    assert more.startswith("b, c: Noise: by a t test")
    assert noise_over_datasets({"b": tables["b"], "c": tables["c"]}) == noise_in_words(tables["b"])


def test_equal_losses_are_bold_although_they_differ_by_rounding(tmp_path):
    """Only the lowest was, and none where acquiring nothing was lower by as little."""
    tiny = 1e-13
    rows = [row_of(name, error=e, n=0.0) for name, e in (("cart", 0.3 + tiny), ("lars", 0.3), ("rcpi", 0.4))]
    worse = [row_of(name, error=0.5, n=0.0) for name in ("cart", "lars", "rcpi")]
    reference = row_of("constant", error=0.3 - tiny, n=0.0)
    result = result_of({"a": results_of(*rows, reference), "b": results_of(*worse, reference)})
    write_datasets_report(result, "fsgym compare", tmp_path)
    lines = re.findall(r"report.html.>([ab])</a></td>(.*?)</tr>", (tmp_path / "report.html").read_text())
    bold = {name: re.findall(r'class="best">([^<]+)', line) for name, line in lines}
    assert bold == {"a": ["0.300", "0.300"], "b": []}


SORTS = (("lars", 0.1, 5.0), ("cart", 0.2, 1.0))


def test_lambdas_that_differ_by_data_set_are_named():
    tables = {
        name: results_of(*(row_of(m, error=e, n=n, lam=lam) for m, e, n in SORTS), reported=(lam, 10 * lam))
        for name, lam in (("a", 0.01), ("b", 0.02))
    }
    assert elsewhere_in_words(result_of(tables)) == (
        "This answer is for lambda 0.01 (a), 0.02 (b); the best mean rank is that of CART at 0.1 (a), 0.2 (b) (1.00)."
    )


def test_why_there_is_no_test():
    two = {name: [("cart", 0.1), ("lars", 0.2)] for name in "ab"}
    assert result_of(results_with(two)).answer == ["No rank test: it needs at least 3 data sets, got 2."]
    failed = {name: [("cart", 0.1), ("lars", None if name == "b" else 0.2)] for name in "abc"}
    result = result_of(results_with(failed))
    assert result.rank_test is None
    assert result.answer == [
        "LARS / lasso path is left out, as it cannot be ranked on b.",
        "No rank test: it needs at least 2 methods with a loss on every data set, got 1.",
    ]


@pytest.mark.parametrize(
    ("datasets", "given", "error", "message"),
    [
        ("wine", {}, TypeError, "must be a list of data sets, got 'wine'; compare takes a single one"),
        ([], {}, ValueError, "at least one data set"),
        (["wine", "wine"], {}, ValueError, "a name of its own, got 'wine' twice"),
        (["wine", "wien"], {}, ValueError, "did you mean 'wine'"),
        (["wine"], {"splts": 3}, TypeError, "did you mean 'splits'"),
        (["wine"], {"by_dataset": {"wien": {}}}, ValueError, "did you mean 'wine'"),
        (["wine"], {"by_dataset": {"wine": {"cost": 1}}}, TypeError, "did you mean 'costs'"),
        (["wine"], {"progress": "yes"}, TypeError, "progress must be True or False"),
    ],
)
def test_mistakes_are_one_sentence_before_any_fit(datasets, given, error, message, monkeypatch, tmp_path):
    monkeypatch.setattr(cells, "run_cell", lambda **_: pytest.fail("a fit was started"))
    with pytest.raises(error, match=message) as caught:
        compare_datasets(datasets, ["cart"], out=tmp_path, **given)
    assert "\n" not in str(caught.value)
    assert not any(tmp_path.iterdir())


@pytest.mark.slow
def test_arguments_may_differ_by_data_set():
    data = [table_of(name, seed) for seed, name in enumerate("abc")]
    prices = {"b": {"costs": [100, 100, 100, 100]}}
    results = compare_datasets(data, ["everything"], by_dataset=prices, **QUICK).results
    assert [results[name]["spent"].iloc[0] for name in "abc"] == [4, 400, 4]


def planned_of(data, folder, methods=("cart",)):
    from fsgym.comparison.compare import _arguments_of_compare, plan_comparison

    return plan_comparison(data, _arguments_of_compare(methods, QUICK), folder)


def test_tables_are_named_data_and_two_need_names_of_their_own():
    table = pd.DataFrame({"a": np.arange(40.0) % 7, "ill": ["yes", "no"] * 20})
    options = {"target": "ill", "by_dataset": {"data": {"costs": {"a": 2.0}}}} | QUICK
    assert list(compare_datasets([table], ["everything"], **options).results) == ["data"]
    with pytest.raises(ValueError, match=r"got 'data' twice; give another one by load_dataset\(...\).replace"):
        compare_datasets([table, table], ["everything"], **options)


@pytest.mark.usefixtures("no_pictures")
def test_the_expected_time_is_that_of_the_fits_that_are_left(tmp_path, monkeypatch, capsys):
    data = table_of("a", 0)
    seconds, n_tasks, unknown = expected_time(planned_of(data, tmp_path))
    each = seconds_of("cart", data.split(0.5, 0)[0])
    assert seconds == pytest.approx(each * n_tasks)
    assert unknown == ()
    fsgym.compare(data, ["cart"], out=tmp_path, **QUICK)
    assert expected_time(planned_of(data, tmp_path))[1] == 0
    assert seconds_of("mine", data) is None
    assert expected_time(planned_of(data, None, {"cart": DummyClassifier()}))[2] == ("cart",)  # which is not the tree

    monkeypatch.setattr("fsgym.comparison.planned.seconds_of", lambda method, train: 600.0)
    longer = planned_of(table_of("other", 1), None)
    n = len(longer.cells)
    for progress in (True, False):  # also where no bar is shown, as in a file
        announce_time([longer], ExecutionOptions(2, "loky", None, progress))
        assert capsys.readouterr().err == f"fsgym: expected to take about {5 * n} min\n"
    announce_time([longer], ExecutionOptions(2, "dask", "tcp://nowhere", True))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("progress", "announced"), [(True, True), (False, False)])
def test_the_expected_time_is_said_without_a_terminal(monkeypatch, capsys, progress, announced):
    monkeypatch.setattr("fsgym.comparison.planned.seconds_of", lambda method, train: 600.0)
    arguments = {**QUICK, "progress": progress}
    fsgym.compare(table_of("a", 0), ["cart"], **arguments)
    compare_datasets([table_of("a", 0)], ["cart"], **arguments)
    assert capsys.readouterr().err.count("fsgym: expected to take about") == 2 * announced


def test_progress_is_a_bar_in_a_notebook(monkeypatch, capsys):
    monkeypatch.setattr("fsgym.runner.run.in_notebook", lambda: True)
    left = TimeLeft([Expectation(seconds=100.0)] * 3, 1)
    with progress_bar(4, 1, "wine", True, left) as advance:
        left.finish(0, 50.0)
        advance()
    shown = capsys.readouterr().err
    assert "wine" in shown
    assert "2/4" in shown
    assert "about 5 min left" in shown
    assert "about 1.7 min left" in shown


def test_progress_is_a_line_a_minute_where_there_is_no_terminal(monkeypatch, capsys):
    left = TimeLeft([Expectation()] * 5, 1)
    clock = iter([0.0, 59.0, 130.0, 180.0, 260.0, 400.0])
    monkeypatch.setattr("fsgym.runner.run.time", SimpleNamespace(monotonic=lambda: next(clock)))
    with progress_bar(6, 1, "wine", True, left) as advance:
        for number in range(5):
            left.finish(number, 65.0)
            advance()
    assert capsys.readouterr().err.splitlines() == [
        "wine: 1 of 6 are of an earlier run",
        "wine: 3 of 6, about 3.2 min left",
        "wine: 5 of 6, about 65 s left",
    ]


def test_the_time_left_of_many_tasks():
    """Tasks of a kind count together: sums over all that are left, after each task, would take minutes."""
    n = 10_000
    left = TimeLeft([Expectation((f"m{i % 4}",), 1.0) for i in range(n)], 1)
    for i in range(n // 2):
        left.finish(i, 3.0)
        assert i < 8 or left.seconds() == pytest.approx((n - i - 1) * 3)


@pytest.mark.parametrize("stale", [1, 8])  # what was measured before, over what is true
@pytest.mark.parametrize("n_splits", [5, 10, 20])
def test_the_time_left_is_within_a_factor_of_two_after_the_first_tenth(n_splits, stale):
    """Methods of 10 to 0.02 seconds, whose first task compiles for 15; tasks of one kind vary by 30 %."""
    rng, kinds = np.random.default_rng(0), {"lattice": (1, 10.0), "rcpi": (6, 0.8), "cart": (8, 0.05), "svm": (6, 0.02)}
    tasks = [(method, str(k), s) for _ in range(n_splits) for method, (n, s) in kinds.items() for k in range(n)]
    took = [s * rng.uniform(0.7, 1.3) for *_, s in tasks]
    for method in ("lattice", "rcpi"):
        took[[one for one, *_ in tasks].index(method)] += 15.0
    said = {"lattice": 10.0 * stale, "rcpi": 0.8 * stale, "cart": 0.05, "svm": None}
    left = TimeLeft([Expectation((method, setting), said[method]) for method, setting, _ in tasks], 1)
    for number, seconds in enumerate(took):
        left.finish(number, seconds)
        rest = sum(took[number + 1 :])
        if sum(took[: number + 1]) >= 0.1 * sum(took) and 10 * (number + 1) >= len(tasks) and rest > 10:
            assert 0.5 < (left.seconds() or 0.0) / rest < 2


def test_progress_that_is_not_wanted_says_nothing(monkeypatch, capsys):
    monkeypatch.setattr("fsgym.runner.run.SECONDS_BETWEEN_LINES", 0.0)
    with progress_bar(3, 0, "wine", False, TimeLeft([Expectation()] * 3, 1)) as advance:
        advance()
    assert capsys.readouterr().err == ""
