"""Reprs are short, and their HTML shows what they hold, with every name escaped."""

import numpy as np

from agents.loss_estimate import LossEstimate
from fsgym import Dataset, Rules, compare, evaluate, summarise
from fsgym.data.columns import Column, Columns
from fsgym.metrics import FIGURE_LABELS
from fsgym.text.html import HtmlTable, html_block, rules_html
from support.pages import Markup

NASTY = "<script>alert('x')</script> & \"co\""


def parsed(markup):
    """Tags and text of a piece of HTML; each tag that is opened is closed."""
    page = Markup()
    page.feed(markup)
    page.close()
    assert all(markup.count(f"<{tag}") == markup.count(f"</{tag}>") for tag in ("div", "table", "tr", "td", "p"))
    return page.tags, page.text


def assert_in_order(text, cells):
    """The cells follow each other somewhere in the text."""
    joined = "\n".join(["", *text, ""])
    assert "\n".join(["", *cells, ""]) in joined


def test_everything_is_escaped_and_long_tables_are_cut():
    table = HtmlTable([NASTY], ([NASTY if k else "x" * 500] for k in range(50)), 50)
    tags, text = parsed(html_block(NASTY, NASTY, table))
    assert set(tags) == {"div", "strong", "p", "table", "thead", "tr", "th", "tbody", "td"}
    assert text.count(NASTY) == 22
    assert tags.count("td") == 20
    assert "... and 30 more" in text
    assert max(map(len, text)) == 60
    assert "more" not in html_block("t", HtmlTable(["a"], [[1]], 1))


def test_rules_show_prices_prerequisites_members_and_options():
    names = [NASTY, "b", "c"]
    needs = np.zeros((3, 3), bool)
    needs[2, [0, 1]] = True
    rules = Rules(
        4,
        2,
        lam=0.5,
        groups=[[0, 3], [1], [2]],
        names=names,
        costs=[1, 2.5, 0],
        prerequisites=needs,
        budget=2,
        budget_cost=7,
        error_costs=[[0, 1000], [40, 0]],
        missing="error",
        related=np.eye(3),
        unrelated_costs="forbid",
        relation="all",
        empty_is_related=False,
    )
    tags, text = parsed(rules._repr_html_())
    assert "script" not in tags
    assert_in_order(
        text, ["acquisition", "price", "price if unrelated", "needs", "features", NASTY, "1", "forbidden", "2", "b"]
    )
    assert_in_order(text, ["c", "0", "forbidden", f"{NASTY}, b", "1"])
    words = " ".join(text)
    for part in ("at most 2 acquisitions", "at most 7 units of cost", "all of the earlier", "counts as unrelated"):
        assert part in words
    assert "Missing values are an error" in words
    assert_in_order(text, ["truth: class 0", "truth: class 1", "class 0", "0", "1000", "class 1", "40", "0"])
    assert "truth: acs" in rules_html(rules, ["acs", "none"])


def test_rules_with_defaults_and_with_many_features_are_short():
    text = " ".join(parsed(Rules(500, 2)._repr_html_())[1])
    assert "A wrong answer costs 1" in text
    assert "... and 480 more" in text
    assert "needs" not in text
    many = Rules(2, 30, error_costs=2.0 - 2 * np.eye(30))
    assert "Error costs lie between 0 and 2." in many._repr_html_()
    square = Rules(500, 2, costs=np.arange(500), prerequisites=np.eye(500, k=-1), budget=3, budget_cost=9.0)
    assert len(repr(square)) < 200


def test_data_sets_show_columns_groups_prices_and_classes():
    columns = Columns(
        [Column(NASTY, unit="<u>"), Column("ward", "category", ("er", "<b>", "icu")), Column("s", "bool")]
    )
    X = [[0, 1, 0, 0, 1], [2.5, 0, 0, 1, 0], [np.nan, 0, 1, 0, 1]]
    groups = {"both": [NASTY, "s"]}
    data = Dataset(X, ["no", "<b>", "no"], columns=columns, name="<i>", groups=groups, costs={"both": 3, "ward": 0.5})
    tags, text = parsed(data._repr_html_())
    assert not {"script", "b", "i", "u"} & set(tags)
    assert "<i>: 3 rows, 3 columns, 2 classes" in text
    assert_in_order(text, ["column", "kind", "values", "missing", "acquisitions", "price"])
    assert_in_order(text, [NASTY, "number", "0 to 2.5 <u>", "33.3%", "both", "3"])
    assert_in_order(text, ["ward", "category", "er, <b>, icu", "0.0%", "ward", "0.5", "s", "bool", "False, True"])
    assert_in_order(text, ["class", "rows", "share", "<b>", "1", "33.3%", "no", "2", "66.7%"])
    plain = parsed(Dataset(np.zeros((2, 500)), [0, 1])._repr_html_())[1]
    assert "... and 480 more" in plain
    assert not {"acquisitions", "price"} & set(plain)
    assert len(repr(Dataset(np.zeros((2, 500)), [0, 1]))) < 200


def test_evaluations_show_their_figures_with_labels_and_trajectories_their_lengths():
    data = Dataset([[0, 5], [1, 5], [0, 6]], [0, 1, 0], name="<i>")
    result = evaluate(lambda o, m: np.where(m[:, 0], 0, 2), data, Rules(2, 2, budget=1))
    tags, text = parsed(result._repr_html_())
    assert "i" not in tags
    for name, label in FIGURE_LABELS.items():
        assert_in_order(text, [label, f"{getattr(result, name):.4g}"])
    assert "share of rows that respect the rules" not in text
    assert repr(result.trajectories) == "Trajectories(3 rows, 1.00 acquisitions on average, at most 1)"
    assert_in_order(parsed(result.trajectories._repr_html_())[1], ["0", "0", "0.0%", "1", "3", "100.0%"])
    cheating = evaluate(lambda o, m: np.where(m[:, 0], 0, 1), data, Rules(2, 2, budget=1))
    assert_in_order(parsed(cheating._repr_html_())[1], ["share of rows forfeited by an illegal action", "1"])
    assert "3 rows ended with an illegal action" in cheating.trajectories._repr_html_()


def test_loss_estimates_show_all_rows_and_each_fold():
    data = Dataset([[0, 5], [1, 5], [0, 6]], [0, 1, 0], name="part")
    folds = [evaluate(lambda o, m, k=k: [2 + k] * len(m), data) for k in (0, 1)]
    estimate = LossEstimate(
        0.5, 0.1, 0.5, 0.5, 0.0, 0.0, np.zeros(6), folds, [np.arange(3), np.arange(3, 6)], data.classes
    )
    assert len(repr(estimate)) < 200
    text = parsed(estimate._repr_html_())[1]
    assert "Loss 0.5000, standard error 0.1000 (cross-validated)" in text
    assert f"Loss per row: 0.5 (95 % interval {estimate.interval.low:.4g} to {estimate.interval.high:.4g})." in text
    assert_in_order(text, ["fold", "rows", "loss", "accuracy"])
    assert_in_order(text, ["all", "6", "0.5", "0.5", "0.5", "0", "0", "0", "3", "0.3333", "0.6667"])
    assert_in_order(text, ["1", "3", "0.6667", "0.3333"])


def test_summaries_show_losses_and_limits():
    data = Dataset(np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2)
    summary = summarise(compare(data, {"<b>": "cart"}, splits=2, references=False), within=[1, 2], lam=[0.01])
    settings = len(summary.settings)
    assert repr(summary) == f"Summary({settings} settings of 1 method, 2 rows within, 1 row losses)"
    tags, text = parsed(summary._repr_html_())
    assert "b" not in tags
    loss = summary.losses.iloc[0]
    assert_in_order(text, ["<b>", "0.01", f"{loss['loss']:.3f} ± {loss['loss_std']:.3f}"])
    assert_in_order(text, ["method", "k", "accuracy"])
