"""The option ``--case-price``: columns of a table are the prices of acquisitions, for each row its own."""

from __future__ import annotations

import gc
import io
import json

import numpy as np
import pandas as pd
import pytest
from test_cli import call

import fsgym
from agents import MixtureClassifier, load_classifier
from fsgym.data.reading.reading import Reading
from fsgym.datasets.loading import load_whole
from support.refusals import refused

PRICED = ("--case-price", "scan=price_scan,panel=price_panel")
PANEL = {"panel": ["wbc", "hgb"]}


def table_of(n: int, seed: int) -> pd.DataFrame:
    """Scan and panel show the same, and only the row says which of them is cheap; a price is no whole number."""
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.5
    shown = ill ^ (rng.random(n) < 0.1)
    surcharge = rng.random(n) < 0.5
    return pd.DataFrame(
        {
            "price_panel": np.where(surcharge, 1.1, 6.3),
            "scan": np.where(shown, "dark", "light"),
            "wbc": shown + rng.normal(0, 0.1, n).round(2),
            "hgb": rng.normal(14, 1, n).round(1),
            "ward": rng.choice(["er", "gp", "icu"], n),
            "price_scan": np.where(surcharge, 6.3, 1.1),
            "died": np.where(ill, "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def priced(tmp_path_factory):
    """A folder with tables and a model that the command line trained with prices by case."""
    folder = tmp_path_factory.mktemp("priced")
    table_of(400, 0).to_csv(folder / "train.csv", index=False)
    table_of(300, 1).to_csv(folder / "new.csv", index=False)
    (folder / "panel.json").write_text(json.dumps(PANEL))
    (folder / "prices.json").write_text(json.dumps({"scan": 3, "panel": 3, "ward": 2}))
    return folder


def train(capsys, folder, *more):
    rules = ("--groups", folder / "panel.json", "--costs", folder / "prices.json", "--lam", "0.02")
    given = (folder / "train.csv", "--target", "died", "--agent", "mixture", *rules, *more)
    return call(capsys, "train", *given, "-o", folder / "model")


def test_next_takes_no_price_and_no_group_for_the_column_that_is_lacking(priced, capsys, tmp_path):
    """A column that is not acquired yet was said to be there as that of its price, which the model does not use."""
    table = table_of(400, 0).assign(ward_group=np.arange(400) // 2)
    table.to_csv(priced / "grouped.csv", index=False)
    rules = ("--groups", priced / "panel.json", "--costs", priced / "prices.json", *PRICED, "--lam", "0.02")
    given = (priced / "grouped.csv", "--target", "died", "--row-groups", "ward_group", "--agent", "mixture")
    assert call(capsys, "train", *given, *rules, "-o", tmp_path / "model")[0] == 0
    table.drop(columns=["scan", "ward", "died"]).to_csv(tmp_path / "open.csv", index=False)
    code, printed, error = call(capsys, "predict", tmp_path / "model", tmp_path / "open.csv", "--next")
    assert (code, len(printed.splitlines())) == (0, 401)
    assert "lacks 'scan', 'ward': not acquired yet in any row" in error


def test_a_model_is_trained_measured_and_used_by_the_prices_of_the_rows(priced, capsys):
    code, printed, _ = train(capsys, priced, *PRICED)
    assert code == 0
    assert "scan in the column price_scan, panel in the column price_panel" in printed
    model, table = load_classifier(priced / "model"), table_of(300, 1)
    assert list(model.columns_.names) == ["scan", "wbc", "hgb", "ward"]
    assert model.price_ranges_.tolist() == [[1.1, 6.3], [1.1, 6.3], [2, 2]]
    costs = {"scan": table["price_scan"], "panel": table["price_panel"], "ward": np.full(300, 2.0)}
    data = fsgym.load_dataset(table.drop(columns=["price_scan", "price_panel"]), target="died")
    data = data.with_groups(PANEL | {}).replace(case_costs=costs)
    wanted = fsgym.evaluate(model, data)
    code, printed, _ = call(capsys, "evaluate", priced / "model", priced / "new.csv", "--json")
    found = json.loads(printed)
    assert found["case_price"] == {"scan": "price_scan", "panel": "price_panel"}
    assert found["evaluation"]["figures"]["loss"] == pytest.approx(wanted.loss, abs=1e-12)
    _, printed, _ = call(capsys, "evaluate", priced / "model", priced / "new.csv")
    assert "Each row has its own prices: scan in the column price_scan" in printed
    code, printed, said = call(capsys, "predict", priced / "model", priced / "new.csv")
    answers = pd.read_csv(io.StringIO(printed))
    assert code == 0
    assert "Each row has its own prices" in said
    assert answers["answer"].tolist() == model.predict(data).tolist()
    assert answers["paid"].mean() == pytest.approx(wanted.spent)
    cheaper = np.where(table["price_scan"] < table["price_panel"], "scan", "panel")
    assert (answers["acquired"].str.split(";").str[0] == cheaper).mean() >= 0.95
    _, printed, _ = call(capsys, "describe", priced / "model")
    assert "prices of scan in the column price_scan" in printed
    assert "those shown are their means" in printed


@pytest.fixture
def stated(tmp_path):
    """A table whose features are equal in many rows, in each of which the scan has a price of its own."""
    rng = np.random.default_rng(3)
    n = 240
    ill = rng.random(n) < 0.5
    table = pd.DataFrame(
        {
            "scan": np.where(ill ^ (rng.random(n) < 0.1), "dark", "light"),
            "age": rng.integers(1, 7, n),
            "price": rng.permutation(np.arange(1000, 1000 + n)),
            "died": np.where(ill, "yes", "no"),
        }
    )
    table.to_csv(tmp_path / "stated.csv", index=False)
    return tmp_path / "stated.csv", table


def test_a_price_is_no_feature_by_which_rows_are_told_apart(stated, capsys, tmp_path):
    """Rows with equal features and other prices were on both sides of the split, and were said to be new."""
    path, table = stated
    given = ("--target", "died", "--row-groups", "duplicates", "--case-price", "scan=price", "--agent", "mixture")
    code, _, error = call(capsys, "train", path, *given, "--lam", "0.0001", "-o", tmp_path / "model")
    assert code == 0, error
    _, printed, _ = call(capsys, "evaluate", tmp_path / "model", path, "--json")
    without = fsgym.load_dataset(table.drop(columns="price"), target="died", row_groups="duplicates")
    assert json.loads(printed)["remark"] == "None of these rows were used in training."
    assert json.loads(printed)["evaluation"]["rows"] == len(without.split_index()[1])


def test_prices_are_read_as_they_are_written(stated):
    """They were rounded as features are, and distinct whole ones taken for an identifier."""
    path, table = stated
    large = table["price"] + 1234567.89
    table.assign(price=large).to_csv(path, index=False)
    loaded = load_whole(str(path), Reading(target="died", case_price={"scan": "price"}))
    assert loaded.prices["scan"].tolist() == large.tolist()
    assert loaded.dataset.columns.names == ("scan", "age")


@pytest.mark.parametrize(
    ("column", "words"), [("died", "must not name the target column"), ("age", "must have a price of 'scan'")]
)
def test_a_column_of_labels_or_dates_has_no_prices(stated, column, words):
    path, table = stated
    table.assign(age=pd.date_range("2024-01-01", periods=len(table))).to_parquet(path.with_suffix(".parquet"))
    given = Reading(target="died", case_price={"scan": column})
    refused(ValueError, words, str(path.with_suffix(".parquet")), given, call=load_whole)


def test_columns_of_arrays_may_be_prices(tmp_path, capsys):
    rng = np.random.default_rng(5)
    X, y = np.c_[rng.normal(size=(80, 2)), rng.choice([1.1, 4.78], 80)], np.arange(80) % 2
    np.savez(tmp_path / "three.npz", X=X, y=y, feature_names=["a", "b", "price"])
    loaded = load_whole(str(tmp_path / "three.npz"), Reading(case_price={"a": "price"}))
    assert loaded.dataset.columns.names == ("a", "b")
    assert loaded.prices["a"].tolist() == X[:, 2].tolist()
    given = ("--case-price", "a=price", "--agent", "mixture", "-o", tmp_path / "model")
    assert call(capsys, "train", tmp_path / "three.npz", *given)[0] == 0
    for command in ("evaluate", "predict"):
        code, printed, error = call(capsys, command, tmp_path / "model", tmp_path / "three.npz")
        assert code == 0, error
        assert "Each row has its own prices: a in the column price" in printed + error


def test_explain_follows_the_prices_of_the_row(priced, capsys):
    assert train(capsys, priced, *PRICED)[0] == 0
    answers = call(capsys, "predict", priced / "model", priced / "new.csv")[1].splitlines()[1:]
    for row in range(12):
        acquired, paid = answers[row].split(",")[-2:]
        out = " ".join(call(capsys, "explain", priced / "model", priced / "new.csv", "--row", row)[1].split())
        assert f"paid {float(paid):g} for {len(acquired.split(';'))} acquisition" in out
    renamed = pd.read_csv(priced / "new.csv").rename(columns={"price_scan": "euros"})
    renamed.to_csv(priced / "other.csv", index=False)
    named = ("--case-price", "scan=euros,panel=price_panel")
    for command in ("explain", "chart"):
        assert call(capsys, command, priced / "model", priced / "other.csv")[0] == 2
        assert call(capsys, command, priced / "model", priced / "other.csv", *named)[0] == 0


def test_another_column_of_prices_and_none(priced, capsys):
    train(capsys, priced, *PRICED)
    table_of(300, 1).rename(columns={"price_scan": "p"}).to_csv(priced / "other.csv", index=False)
    for command in ("evaluate", "predict"):
        code, _, error = call(capsys, command, priced / "model", priced / "other.csv")
        assert code != 0
        assert "other.csv has no column 'price_scan' with the prices of 'scan'; add it, or name another" in error
        names = ("--case-price", "scan=p", "--case-price", "panel=price_panel")
        code, printed, error = call(capsys, command, priced / "model", priced / "other.csv", *names)
        assert code == 0, error
        assert "scan in the column p, panel in the column price_panel" in printed + error


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("scan", "must be ACQUISITION=COLUMN, such as ct=price_ct, got 'scan'"),
        ("scam=price_scan,panel=price_panel", "unknown acquisition 'scam'"),
        ("scan=prise_scan", "did you mean 'price_scan'"),
        ("scan=price_scan,scan=price_panel", "names 'scan' twice"),
        ("scan=ward", "train.csv must have a price of 'scan', a number from 0 on, in each row, got 'gp'"),
    ],
)
def test_columns_that_are_none_are_refused(priced, capsys, given, words):
    code, _, error = train(capsys, priced, "--case-price", given)
    assert code != 0
    assert words in error


@pytest.mark.parametrize(("price", "got"), [("", "none"), ("-2", "-2")])
def test_a_row_without_a_price_is_refused(priced, capsys, price, got):
    train(capsys, priced, *PRICED)
    table = table_of(30, 2).astype({"price_scan": object})
    table.loc[7, "price_scan"] = price
    table.to_csv(priced / "gap.csv", index=False)
    code, _, error = call(capsys, "evaluate", priced / "model", priced / "gap.csv")
    assert code != 0
    assert f"in each row, got {got} in row 7; fill it in, or correct it" in error


def test_a_workbook_that_is_not_written_to_its_end_is_closed(priced, capsys):
    """What openpyxl said of its sheet stood behind the refusal."""
    train(capsys, priced, *PRICED)
    table = table_of(30, 2).assign(price_scan=np.nan)
    table.to_csv(priced / "gap.csv", index=False)
    given = "predict", priced / "model", priced / "gap.csv", "-o", priced / "answers.xlsx"
    code, _, error = call(capsys, *given, "--next")
    gc.collect()  # a sheet that is left open warns here, which fails the test
    assert code != 0
    assert "got none in row 0" in error
    assert not (priced / "answers.xlsx").exists()


def test_a_truth_value_is_no_price(priced, capsys):
    train(capsys, priced, *PRICED)
    table = table_of(30, 2)
    table.assign(price_scan=table["price_scan"] > 2).to_csv(priced / "flags.csv", index=False)
    code, _, error = call(capsys, "evaluate", priced / "model", priced / "flags.csv")
    assert code != 0
    assert "must have a price of 'scan', a number from 0 on, in each row, got " in error


def test_a_model_with_one_price_for_each_acquisition_refuses_the_option(priced, case_model, capsys):
    code, _, error = call(capsys, "predict", case_model, priced / "new.csv", "--case-price", "ct=price_scan")
    assert code != 0
    assert "has one price for each acquisition; leave it out, or train with --case-price" in error


def test_a_free_column_may_always_be_known(priced, capsys):
    code, _, error = train(capsys, priced, *PRICED, "--known", "ward")
    assert code == 2
    assert "--known must name columns that cost 0 in every row" in error
    assert "got a mean price of 2 for 'ward'; give it a price of 0" in error
    (priced / "free.json").write_text(json.dumps({"scan": 3, "panel": 3, "ward": 0}))
    code, _, error = train(capsys, priced, *PRICED, "--known", "ward", "--costs", priced / "free.json")
    assert code == 0, error
    assert call(capsys, "predict", priced / "model", priced / "new.csv", "-o", priced / "known.csv")[0] == 0
    assert pd.read_csv(priced / "known.csv")["acquired"].str.startswith("ward").all()


def test_monitor_finds_the_answers_of_the_training_on_its_own_rows(priced, capsys):
    """The reference was counted at the mean prices, and so were rows without labels."""
    assert train(capsys, priced, *PRICED, "--lam", "0.2", "--split", "all")[0] == 0  # at the means, nothing pays
    for more in (["--target", "died"], []):
        code, printed, error = call(capsys, "monitor", priced / "model", priced / "train.csv", *more, "--json")
        assert code == 0, error
        shares = json.loads(printed)["answers"].values()
        assert all(share["share"] == share["share_in_training"] for share in shares)
        assert all(0.1 < share["share"] < 0.9 for share in shares)
    other = table_of(400, 0).rename(columns={"price_scan": "euros"})
    other.to_csv(priced / "renamed.csv", index=False)
    code, _, error = call(capsys, "monitor", priced / "model", priced / "renamed.csv")
    assert code == 2
    assert "has no column 'price_scan' with the prices of 'scan'; add it, or name another column" in error
    named = ("--case-price", "scan=euros,panel=price_panel")
    assert call(capsys, "monitor", priced / "model", priced / "renamed.csv", *named)[0] == 0


def test_an_agent_with_one_price_for_each_acquisition_is_refused_in_words_of_the_command(priced, capsys):
    code, _, error = train(capsys, priced, *PRICED, "--agent", "lattice")
    assert code == 2
    assert error.endswith(
        "has prices by case; use --agent adaptive or mixture, or leave --case-price out and --drop the columns of "
        "prices\n"
    )


def test_no_agent_is_proposed_for_a_chart_that_refuses_the_prices(priced, capsys):
    assert train(capsys, priced, *PRICED)[0] == 0
    error = call(capsys, "chart", priced / "model")[2]
    assert "the model is a mixture, which a chart can only imitate\n" in error


@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
def test_compare_pays_the_prices_of_the_rows(priced, capsys, tmp_path):
    rules = ("--groups", priced / "panel.json", "--costs", priced / "prices.json", "--lam", "0.02", *PRICED)
    given = ("--target", "died", "--methods", "mixture,panel", "--splits", "1", "--out", tmp_path, *rules)
    code, printed, error = call(capsys, "compare", priced / "train.csv", *given)
    assert code == 0, error
    assert "(plans by mean prices)" in printed
    assert "These are means: each row has its own prices, and pays them." in (tmp_path / "report.html").read_text()


def test_a_session_says_once_which_prices_it_has():
    data = fsgym.Dataset(
        [[0.0, 1.0], [1.0, 0.0]] * 40, [0, 1] * 40, feature_names=["scan", "age"], case_costs=[[1, 1], [6, 1]] * 40
    )
    model = MixtureClassifier(lam=0.02, random_state=0).fit(data)
    assert model.session().about_prices == ["The prices are the means of the training."]
    assert model.session(prices={"scan": 5}).about_prices == ["Prices of this case: scan 5"]
    said = model.session(prices={"scan": 500, "age": 0.5}).about_prices
    assert said[0] == "Prices of this case: scan 500, age 0.5"
    assert [text.split(", is outside")[0] for text in said[1:]] == ["The price of scan, 500", "The price of age, 0.5"]
    one = MixtureClassifier(lam=0.02, costs=data.costs, random_state=0).fit(data)
    assert one.session().about_prices == []
    refused(ValueError, "trained with prices by case", {"scan": 1}, call=one.at_prices)


def test_describe_counts_rows_that_differ_in_their_prices_alone(tmp_path, capsys):
    table = table_of(60, 0)
    again = table.head(9).assign(price_scan=7.5)
    pd.concat([table, again]).to_csv(tmp_path / "twice.csv", index=False)
    given = ("describe", tmp_path / "twice.csv", "--target", "died")
    assert "equal to an earlier row" not in call(capsys, *given)[1]
    for options in (("--case-price", "scan=price_scan"), ("--drop", "price_scan")):
        code, printed, error = call(capsys, *given, *options)
        assert (code, error) == (0, "")
        assert "9 of 69 rows are equal to an earlier row in all features and in the class" in " ".join(printed.split())
        assert ("price_scan   prices" in printed) == (options[0] == "--case-price")
    code, _, error = call(capsys, *given, "--case-price", "scan=ward")
    assert (code, "a price of 'scan', a number from 0 on" in error) == (2, True)


@pytest.mark.parametrize("option", ["--drop", "--row-groups"])
def test_a_column_of_prices_is_not_named_by_another_option(priced, capsys, option):
    given = ("describe", priced / "train.csv", "--target", "died", "--case-price", "scan=price_scan")
    code, _, error = call(capsys, *given, option, "price_scan")
    said = f"{option} and --case-price must not both name 'price_scan'; choose one of them"
    assert (code, said in error) == (2, True)
