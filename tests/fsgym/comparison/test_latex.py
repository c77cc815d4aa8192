"""Tables for papers: what stands in them is what ``compare`` found."""

import re

import pytest

import fsgym
from fsgym import cli
from fsgym.comparison.latex import Shown, escaped, latex_table, losses_latex
from fsgym.comparison.ranking import rank_methods

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
    for column, lam in enumerate(PRICES):
        ranking = rank_methods(results, lam)
        assert ranking is not None
        assert ranking.best is not None
        for s in ranking.standings:
            mean, std = f"{s.figures['loss']:.4f}", f"{s.figures['loss_std']:.4f}"
            mean = rf"\textbf{{{mean}}}" if s.method == ranking.best.method else mean
            mark = r"$^{\dagger}$" if s.verdict == "noise" and s.method != ranking.best.method else ""
            assert rows[s.title][column] == rf"{mean} $\pm$ {std}{mark}"
    assert "over 3 splits" in text
    assert r"\multicolumn" not in text


def test_data_sets_are_groups_of_columns(results):
    text = losses_latex({"wine": results, "wine_2": results})
    assert r" & \multicolumn{2}{c}{wine} & \multicolumn{2}{c}{wine\_2} \\" in text
    assert r"\cmidrule(lr){2-3} \cmidrule(lr){4-5}" in text
    assert r"\begin{tabular}{lrrrr}" in text
    for row in rows_of(text).values():
        assert row[:2] == row[2:]


def test_what_is_missing_is_a_dash_and_special_characters_are_escaped():
    table = latex_table(
        {("", "a%"): {"m_1": Shown(0.5, float("nan"))}, ("", "b"): {"x & y": Shown(1.0, 0.1)}}, "", "l", 1
    )
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
    with pytest.raises(SystemExit) as stop:
        cli.main(["compare", *arguments, "--figures", "gif"])
    assert "--figures must be png or pdf, got 'gif'" in capsys.readouterr().err
