"""Tables for papers: what stands in them is what ``compare`` found."""

import re
import statistics

import numpy as np
import pytest

import fsgym
from fsgym import cli
from fsgym.comparison.latex import NO_SPREAD, Shown, escaped, latex_table, losses_latex
from fsgym.comparison.ranking import method_titles, rank_methods
from fsgym.methods import REFERENCES
from support.comparisons import results_of, row_of

PRICES = (0.01, 0.1)


@pytest.fixture(scope="module")
def results():
    return fsgym.compare("wine", methods=["cart", "panel"], lam=PRICES, splits=3, n_jobs=1, progress=False)


def rows_of(text):
    """The cells of each method."""
    lines = text.partition("midrule")[2].partition("bottomrule")[0].splitlines()
    cells = [[cell.strip() for cell in line.removesuffix(r" \\").split(" & ")] for line in lines if " & " in line]
    return {name: row for name, *row in cells}


def test_the_table_has_the_losses_their_spread_the_best_and_what_is_noise(results):
    rows, text = rows_of(losses_latex({"wine": results})), losses_latex({"wine": results})
    own = results[~results["method"].isin(REFERENCES)]  # with which nothing else is compared
    marked = 0
    for column, lam in enumerate(PRICES):
        ranking, ranking_of_own = rank_methods(results, lam), rank_methods(own, lam)
        assert ranking is not None
        assert ranking_of_own is not None
        assert ranking_of_own.best is not None
        verdicts = {s.method: s.verdict for s in ranking_of_own.standings}
        for s in ranking.standings:
            std = f"{statistics.stdev(s.chosen['loss']):.3f}"
            best = s.method == ranking_of_own.best.method
            mean = rf"\textbf{{{s.figures['loss']:.3f}}}" if best else f"{s.figures['loss']:.3f}"
            mark = r"$^{\dagger}$" if verdicts.get(s.method) == "noise" and not best else ""
            spread = rf" $\pm$ {std}" if float(std) else ""  # the constant answer has the same loss in each split
            assert rows[s.title][column] == f"{mean}{spread}{mark}"
            marked += bool(mark)
    assert marked
    assert [*rows] == [*method_titles(results).values()]
    caption = text.partition("caption")[2].partition("label")[0]
    for words in (
        "sample standard deviation over 3 splits",
        "the price, 1 for each feature",
        r"50 \% of the rows for training, on which each setting is chosen",
        r"by a t test at 95 \% of the differences from the best, paired over the 3 splits",
        "``noise'' says little",
        "not corrected for the number of methods and columns",
    ):
        assert words in caption


def test_the_caption_says_what_too_few_splits_leave_untested(results):
    """A dagger is then missing for another reason than a difference."""
    few = results[results["split"] < 2]
    verdicts = {s.title: s.verdict for s in rank_methods(few, 0.1).standings}
    assert verdicts["CART"] == "unknown"  # its settings have no lambda, so that the interval is that of the first one
    assert "Not tested, which takes 3 splits: CART at 0.1." in losses_latex({"wine": few})
    assert "Not tested" not in losses_latex({"wine": results})


def test_a_reference_point_is_never_the_best_and_a_method_only_where_acquiring_nothing_is_no_better(results):
    losses = results.assign(loss=np.nan)
    losses.attrs = results.attrs
    columns = {"everything": 0.0, "panel": 0.2, "cart": 0.3, "constant": 0.5}
    for level, bold in ((0.5, "Fixed panel"), (0.1, None)):
        columns["constant"] = level
        spent = losses["method"].map(columns)
        table = losses.assign(error_cost=spent, validation_error_cost=spent, spent=0.0, validation_spent=0.0)
        found = {name for name, row in rows_of(losses_latex({"wine": table})).items() if "textbf" in row[0]}
        assert found == ({bold} if bold else set())


def test_each_data_set_has_a_table_that_fits_a_page(results):
    text = losses_latex({"wine": results, "wine_2": results})
    one, two = text.split(r"\begin{table}")[1:]
    assert r"Loss on the test rows of wine\_2" in two
    assert r"\label{tab:losses-wine}" in one
    assert r"\label{tab:losses-wine_2}" in two
    assert one.count(r"\begin{tabular}{lrr}") == two.count(r"\begin{tabular}{lrr}") == 1
    assert rows_of(one) == rows_of(two)


def test_no_method_and_no_lambda_is_lost_where_titles_or_digits_are_equal():
    rows = [row_of(name, s, error=e) for name, e in (("cart", 0.1), ("CART", 0.2)) for s in range(3)]
    text = losses_latex({"d": results_of(*rows, reported=(0.01, 0.0100001))})
    assert rows_of(text).keys() == {"CART (cart)", "CART"}
    assert "method & 0.01 & 0.0100001" in text


def test_what_is_shown_as_the_best_is_bold_and_a_spread_of_0_is_left_out():
    column = {"a": Shown(0.19258, 0.01, "best"), "b": Shown(0.19262, 0.0), "c": Shown(0.2, 0.02, "noise")}
    text = latex_table({"0.01": column}, "Losses.", "l", 4)
    assert rows_of(text) == {
        "a": [r"\textbf{0.1926} $\pm$ 0.0100"],
        "b": [r"\textbf{0.1926}"],
        "c": [r"0.2000 $\pm$ 0.0200$^{\dagger}$"],
    }
    assert escaped(NO_SPREAD) in text
    assert escaped(NO_SPREAD) not in latex_table({"0.01": {"a": column["a"], "d": Shown(1.0, float("nan"))}}, "", "l")


def test_what_is_missing_is_a_dash_and_special_characters_are_escaped():
    table = latex_table({"a%": {"m_1": Shown(0.5, float("nan"))}, "b": {"x & y": Shown(1.0, 0.1)}}, "", "l", 1)
    assert rows_of(table.replace(r"x \& y", "xy")) == {r"m\_1": ["0.5", "--"], "xy": ["--", r"1.0 $\pm$ 0.1"]}
    assert re.search(r"method & a\\% & b", table)
    assert escaped("~^{}") == r"\textasciitilde{}\textasciicircum{}\{\}"


def test_the_command_writes_latex_and_pdf(capsys, tmp_path):
    arguments = ["wine", "--methods", "panel", "--lam", ".1", "--splits", "1", "--jobs", "1", "--out", str(tmp_path)]
    with pytest.raises(SystemExit) as stop:
        cli.main(["compare", *arguments, "--latex", "--figures", "pdf"])
    assert stop.value.code == 0
    assert "LaTeX: " in capsys.readouterr().out
    assert "Fixed panel" in (tmp_path / "losses.tex").read_text()
    assert (tmp_path / "curves.pdf").read_bytes().startswith(b"%PDF")
    with pytest.raises(SystemExit):
        cli.main(["compare", *arguments])
    assert not [*tmp_path.glob("*.tex"), *tmp_path.glob("*.pdf")]  # which would be those of another command
    with pytest.raises(SystemExit) as stop:
        cli.main(["compare", *arguments, "--figures", "gif"])
    assert "--figures must be png or pdf, got 'gif'" in capsys.readouterr().err
