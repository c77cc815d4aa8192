"""The answer of a comparison in words: every branch, from tables of results that were never run."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import fsgym
from fsgym.cli.compare import _show_differences, named_panels, show_comparison
from fsgym.comparison import figures
from fsgym.comparison.answer import answer_in_words, best_elsewhere, headline_table, price_caution
from fsgym.comparison.compared import MEAN_PRICES
from fsgym.comparison.ranking import differences_of, rank_methods, titles_with_flags
from fsgym.comparison.summary import summarise
from support.comparisons import recalls, results_of, row_of

METHODS_OF_TEST = ("lattice", "cart", "lars", "mrmr", "lufe")
LOW_HIGH = {"loss_low": 0.1, "loss_high": 0.2}


def answer(*rows, **attrs):
    return " ".join(answer_in_words(rank_methods(results_of(*rows, **attrs))))


def test_features_and_accuracy_with_equal_error_costs():
    rows = [row_of("mrmr", error=0.06, n=5.0), row_of("lattice", error=0.05, n=1.4), row_of("cart", error=0.3, n=1.0)]
    text = answer(*rows)
    assert text.startswith(
        "At 0.01 a feature, Lattice policy iteration has the lowest loss (0.064): it needs 1.4 features"
    )
    assert "for 95.0 % correct answers; the best fixed set of features (mRMR + SVM) needs 5.0 for 94.0 %." in text
    assert "balanced" not in text
    unequal = answer(*rows, headline=("accuracy", "balanced_accuracy", "auc"))
    assert "95.0 % correct answers (balanced accuracy 50.0 %, AUC 0.80)" in unequal


def test_the_best_fixed_set_is_compared_with_the_best_adaptive_method():
    text = answer(row_of("mrmr", error=0.01), row_of("lattice", error=0.05), row_of("lars", error=0.02))
    assert "mRMR + SVM has the lowest loss" in text
    assert "the best method that chooses for each case (Lattice policy iteration) needs 2.0 for 95.0 %" in text
    assert "the second best (B) needs" in answer(row_of("A"), row_of("B", error=0.2), titles={"A": "A", "B": "B"})


def test_what_is_worse_than_answering_without_any_feature_is_not_named_as_the_best():
    lattice, lars = row_of("lattice", error=0.05), row_of("lars", error=0.22)
    for worse in ({"error": 0.693, "n": 1.3}, {"error": 0.24, "n": 2.0}):  # by its answers, and by its price
        fixed, constant = row_of("lufe", **worse), row_of("constant", error=0.24, n=0.0, by_class=recalls(a=0, b=1))
        text = answer(lattice, fixed, constant)
        assert "best fixed set" not in text
        assert (
            '; no fixed set of features has a lower loss than answering "b" without acquiring anything (0.240, 76.0 % '
            "correct)." in text
        )
        assert "the best fixed set of features (LARS / lasso path) needs" in answer(lattice, fixed, lars, constant)
        assert "the best fixed set of features (LUFe) needs" in answer(lattice, fixed)  # nothing to compare with
    adaptive = answer(row_of("mrmr", error=0.05), row_of("cart", error=0.5), row_of("constant", error=0.24, n=0.0))
    assert (
        "; no method that chooses for each case has a lower loss than answering without acquiring anything" in adaptive
    )
    second = answer(row_of("mrmr", error=0.05), row_of("lufe", error=0.5), row_of("constant", error=0.24, n=0.0))
    assert "second best" not in second
    assert "; no other method has a lower loss than answering without acquiring anything (0.240" in second
    lattice, mrmr, _, everything = patient_rows()
    cheap = row_of("constant", error=31.0, n=0.0, lam=1.0, by_class=recalls(acs=0.0, other=1.0))
    text = answer(lattice, mrmr, cheap, everything)
    assert 'No fixed set of features costs less than answering "other" without acquiring anything, 31.0.' in text
    assert "mRMR" not in text
    whole = row_of("everything", error=0.05, n=9.0)
    text = answer(row_of("lufe", error=0.5), row_of("constant", error=0.24, n=0.0), whole)
    assert text.startswith("At 0.01 a feature, acquiring everything has the lowest loss")
    assert "LUFe" not in text


def test_groups_and_prices_are_named():
    assert "At 0.5 an acquisition, " in answer(row_of("cart", lam=0.5, error=0.0), counted="n_acquisitions")
    text = answer(row_of("cart", spent=12.5), row_of("lattice", error=0.5))
    assert text.startswith(
        "At lambda 0.01, CART has the lowest loss (0.225): it needs 12.5 paid and 2.0 features per case"
    )
    assert answer(row_of("cart", lam=0.0)).startswith("Where acquisitions cost nothing, CART")


def patient_rows(**more):
    """Rows with error costs: a method, a fixed set, and both reference points."""
    common = {"accuracy": 0.9, "lam": 1.0}
    first = {"first": '{"age": 1.0}', "first_paid": '{"troponin": 0.55, "pain": 0.45}'}
    return [
        row_of("lattice", error=20.7, spent=9.1, by_class=recalls(acs=0.93, other=0.96), **first, **common, **more),
        row_of("mrmr", error=13.0, spent=20.0, **common),
        row_of("constant", error=90.0, n=0.0, by_class=recalls(acs=0.0, other=1.0), **common),
        row_of("everything", error=9.0, spent=140.0, **common),
    ]


def test_money_with_error_costs():
    text = answer(*patient_rows(loss_low=26.1, loss_high=33.9))
    assert text.startswith(
        "Lattice policy iteration costs least, 29.8 per case (95 % interval 26.1 to 33.9): 9.1 for prices, 20.7 for "
        "errors; it finds 93 % of acs and 96 % of other; of 1,000 cases, 35 acs and 20 other get a wrong answer. "
        "The best fixed set of features (mRMR + SVM) costs 33.0; "
        'answering "other" without acquiring anything costs 90.0.'
    )
    saved = (
        "saves 60.2 per case (67 %) against acquiring nothing and 119.2 per case (80 %) against acquiring everything"
    )
    assert f"Lattice policy iteration {saved}." in text
    assert "first acquires age, which is free, for all cases" in text
    assert "acquires troponin first for 55 % of the cases, pain for 45 %" in text
    assert "interval" not in answer(*patient_rows())


def test_what_is_saved_by_less_than_noise_says_so_there():
    rows = patient_rows(loss_low=26.1, loss_high=33.9)
    rows[-1] = row_of("everything", error=9.0, spent=21.5, accuracy=0.9, lam=1.0, loss_low=26.5, loss_high=34.0)
    text = answer(*rows)
    assert "against acquiring nothing and 0.7 per case (2 %, within noise) against acquiring everything." in text


def test_the_bars_of_money_are_prices_and_errors_of_each_method_the_cheapest_first():
    rows = patient_rows()
    ranking = rank_methods(results_of(*rows))
    assert ranking is not None
    titles = titles_with_flags(ranking)
    figure = figures.costs(ranking, titles)
    assert figure is not None
    order = ["lattice", "mrmr", "constant", "everything"]
    assert figure["y"]["tick_labels"] == [figures.shorten_name(titles[name], 34) for name in order]
    assert [text for _, text in figure["ends"]] == ["29.8", "33.0", "90.0", "149.0"]
    assert figure["lines"] == []  # nothing is known of the intervals
    assert [bar["values"] for bar in figure["bars"]] == [[9.1, 20.0, 0.0, 140.0], [20.7, 13.0, 90.0, 9.0]]
    drawn = figures.draw(figure).patches
    ends = [bar.get_x() + bar.get_width() for bar in drawn]
    np.testing.assert_allclose(ends[4:], [29.8, 33.0, 90.0, 149.0])  # errors begin where prices end
    other_unit = rank_methods(results_of(*(row | {"price": 0.5} for row in patient_rows())))
    assert other_unit is not None
    assert figures.costs(other_unit, titles) is None
    assert "saves" not in answer(*(row | {"price": 0.5} for row in patient_rows()))


def test_the_bars_of_money_have_the_intervals_of_the_table():
    ranking = rank_methods(results_of(*patient_rows(loss_low=26.1, loss_high=33.9)))
    figure = figures.costs(ranking, titles_with_flags(ranking))
    (line,) = figure["lines"]
    np.testing.assert_allclose(np.array(line["xerr"])[:, 0], [29.8 - 26.1, 33.9 - 29.8])
    assert figure["ends"][0][0] == 33.9  # the text is behind the interval


def test_a_table_of_money_says_how_far_each_method_is_above_the_best():
    rows = [
        row_of(name, split, error=error + noise * split, n=1.0, lam=1.0, accuracy=0.9)
        for name, error, noise in (("lattice", 20.0, 1.0), ("cart", 20.5, 1.5), ("mrmr", 30.0, 1.0))
        for split in range(5)
    ]
    ranking = rank_methods(results_of(*rows))
    table = headline_table(ranking)
    (best, near, far), verdicts = table["above best"], table["from best"]
    assert (best, verdicts) == ("–", ["–", "within noise", "higher"])
    low, high = (float(x) for x in near.partition("(")[2].rstrip(")").split(" to "))
    assert low < 0 < high
    assert near.startswith("+1.5 (")
    assert far == "+10.0 (10.0 to 10.0)"
    assert "above best" not in headline_table(rank_methods(results_of(row_of("cart"), row_of("mrmr"))))


def test_what_is_free_is_no_part_of_acquiring_nothing():
    text = answer(*patient_rows(), free=True)
    assert "saves 60.2 per case (67 %) against acquiring nothing (not even what is free) and 119.2" in text
    ranking = rank_methods(results_of(*patient_rows(), free=True))
    assert ranking.standing_of("constant").title == "nothing acquired, not even free"


def test_the_terminal_says_which_agent_is_within_noise_of_a_best_method_that_is_none(capsys):
    rows = [
        row_of(name, split, error=error + noise * split, n=1.0, lam=1.0, accuracy=0.9)
        for name, error, noise in (("cart", 20.0, 1.0), ("adaptive", 20.5, 1.5), ("lattice", 30.0, 1.0))
        for split in range(5)
    ]
    show_comparison(results_of(*rows))
    text = " ".join(capsys.readouterr().out.split())
    assert "CART is trained in Python" in text
    assert "Adaptive agent, which fsgym train trains unless told otherwise, is within noise of it (24.5)." in text
    show_comparison(results_of(*rows, titles={"adaptive": f"Agent{MEAN_PRICES}"}))  # which refuses prices by case
    assert "which fsgym train" not in " ".join(capsys.readouterr().out.split())
    show_comparison(results_of(*rows[:5], *rows[10:]))
    assert "which fsgym train" not in " ".join(capsys.readouterr().out.split())


def test_panels_have_names():
    assert named_panels(["crp,ecg", "by phone=pain, age"]) == {
        "panel crp, ecg": ["crp", "ecg"],
        "by phone": ["pain", "age"],
    }
    for wrong, message in (
        (["a=crp", "a=ecg"], "--panel has 'a' twice; give each set a name of its own: NAME=ecg"),
        (["=crp"], "--panel must be names of acquisitions, or NAME= and these, got '=crp'"),
        (["a="], "--panel must be names of acquisitions"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            named_panels(wrong)


def test_a_reference_point_that_is_best_says_that_acquiring_does_not_pay():
    method, fixed, constant, everything = patient_rows()
    cheap = row_of("constant", error=12.0, n=0.0, lam=1.0, by_class=recalls(acs=1.0, other=0.0))
    text = answer(method, fixed, cheap, everything)
    assert text.startswith('Answering "acs" without acquiring anything costs least, 12.0 per case: acquiring does not')
    assert "The best method that acquires anything, Lattice policy iteration, costs 29.8." in text
    all_of_it = row_of("everything", error=1.0, spent=2.0, lam=1.0)
    text = answer(method, fixed, constant, all_of_it)
    assert text.startswith("Acquiring everything costs least, 3.00 per case: 2.00 for prices, 1.00 for errors: no sel")
    assert " The best method, Lattice policy iteration, costs 29.80." in text
    # A method that acquires nothing is no better than the reference point.
    lazy = answer(row_of("cart", n=0.0, error=0.3), row_of("constant", n=0.0, error=0.3), row_of("lattice", error=0.4))
    assert lazy.startswith("At 0.01 a feature, answering without acquiring anything has the lowest loss (0.300, 70.0 %")


def test_methods_that_break_rules_are_never_the_best():
    broken = row_of("cart", error=0.0, admissible=0.9, validation_admissible=1.0)
    assert "Lattice policy iteration is best" in answer(broken, row_of("lattice"))
    text = answer(broken)
    assert "No method" in text
    assert "CART (breaks the rules on 10 % of the test rows)" in text
    assert "(every setting breaks the rules)" in answer(row_of("cart", admissible=0.9))
    failed, broken_too = row_of("cart") | {"error": "no"}, row_of("cart", setting=1, admissible=0.9)
    assert "(every setting breaks the rules or failed)" in answer(failed, broken_too)
    assert "(fits failed)" in answer(failed, row_of("cart", 1), row_of("cart", 1, setting=1, admissible=0.9))
    ranking = rank_methods(results_of(broken, row_of("lattice")))
    assert [standing.note for standing in ranking.standings] == ["", "breaks the rules on 10 % of the test rows"]


@pytest.mark.parametrize(
    ("seen", "flag", "clause"),
    [
        (0.31, "trained on 31 % of the test rows", "it was trained on 31 % of the test rows"),
        (np.nan, "training rows unknown", "its training rows are unknown"),
    ],
)
def test_policies_trained_on_test_rows_are_never_the_best(seen, flag, clause):
    results = results_of(row_of("mine", error=0.0, seen=seen), row_of("cart"), titles={"mine": "Mine"})
    ranking = rank_methods(results)
    assert ranking.best.method == "cart"
    assert set(fsgym.summarise(results).losses["lowest"]) == {"cart"}
    assert ranking.standing_of("mine").flag == flag
    assert f"Mine is not ranked: its loss is 0.020, but {clause}." in " ".join(answer_in_words(ranking))
    worse = rank_methods(results_of(row_of("mine", error=0.9, seen=seen), row_of("cart"), titles={"mine": "Mine"}))
    assert f"Mine is not ranked ({flag})." in answer_in_words(worse)


BROKEN = {"admissible": 0.0}
FAILED = row_of("lars") | {"error": "ValueError: no"}


@pytest.mark.parametrize(
    "rows",
    [
        [row_of("cart"), row_of("constant", n=0.0), row_of("everything", error=0.05, **BROKEN)],
        [row_of("cart", **BROKEN), row_of("everything", **BROKEN), FAILED],
        [row_of("everything"), row_of("cart"), row_of("mine", error=0.0, seen=np.nan), FAILED],
        [row_of(name, k, error=e, **LOW_HIGH) for name, e in (("cart", 0.2), ("lars", 0.3)) for k in range(2)],
    ],
    ids=["a reference point that breaks the rules", "none can be best", "a tie, and one unknown", "two splits"],
)
def test_the_losses_of_a_summary_are_those_of_the_ranking(rows):
    results = results_of(*rows)
    for lam in (0.01, 0.1):
        ranking, table = rank_methods(results, lam), summarise(results, lam=[lam]).losses.set_index("method")
        assert set(table.index) == {s.method for s in ranking.standings}
        for standing in ranking.standings:
            figures = table.loc[standing.method]
            same = [name for name in table.columns if name in standing.figures]
            assert figures[same].tolist() == pytest.approx([standing.figures[name] for name in same], nan_ok=True)
            assert (figures["difference"] > 0) >= (standing.verdict == "higher")
        if ranking.best is not None:
            assert set(table["lowest"]) == {ranking.best.method}


def splits_of(method, losses, **more):
    return [row_of(method, split, error=loss, n=0.5, lam=0.0, **more) for split, loss in enumerate(losses)]


def test_differences_are_paired_by_split():
    rng = np.random.default_rng(0)
    common = rng.normal(0.3, 0.1, 5)
    near, far = (common + rng.normal(shift, 0.01, 5) for shift in (0.005, 0.1))
    ranking = rank_methods(results_of(*splits_of("lattice", common), *splits_of("cart", near), *splits_of("lars", far)))
    best, cart, lars = (ranking.standing_of(name) for name in ("lattice", "cart", "lars"))
    assert (best.verdict, cart.verdict, lars.verdict) == ("", "noise", "higher")
    for other, losses in ((cart, near), (lars, far)):  # t(4) at 97.5 % is 2.776; equal parts for training and test
        difference = losses - common
        bound = 2.776 * np.std(difference, ddof=1) * np.sqrt(1 / 5 + 1)
        assert (other.verdict == "noise") == (difference.mean() <= bound)
    assert "The difference from CART is within the noise of the 5 splits." in answer_in_words(ranking)
    table = summarise(results_of(*splits_of("lattice", common), *splits_of("lars", far)), lam=[0.0]).losses
    assert table["lowest"].tolist() == ["lattice", "lattice"]
    assert table["difference"].tolist() == pytest.approx([0, (far - common).mean()])
    low, high, p = table.loc[1, ["difference_low", "difference_high", "difference_p"]]
    half = 2.776 * np.std(far - common, ddof=1) * np.sqrt(1 / 5 + 1)
    assert [low, high] == pytest.approx([(far - common).mean() - half, (far - common).mean() + half], abs=1e-4)
    uncorrected = stats.ttest_rel(far, common)  # its error has 1 / 5 in place of 1 / 5 + 1
    assert p == pytest.approx(2 * stats.t.sf(uncorrected.statistic / np.sqrt(6), 4))
    few = summarise(results_of(*splits_of("lattice", common[:2]), *splits_of("lars", far[:2])), lam=[0.0]).losses
    assert few["difference"].notna().all()
    assert few["difference_p"].isna().all()
    start = "Where acquisitions cost nothing, Lattice policy iteration"
    assert answer_in_words(ranking)[0].startswith(f"{start} has the lowest loss (")  # CART is within noise
    alone = rank_methods(results_of(*splits_of("lattice", common), *splits_of("lars", far)))
    assert answer_in_words(alone)[0].startswith(f"{start} is best (loss ")


def test_differences_that_are_all_noise_have_no_clear_winner(capsys):
    rng = np.random.default_rng(0)
    common = rng.normal(0.3, 0.1, 5)
    rows = [*splits_of("lattice", common), *splits_of("cart", common + rng.normal(0.005, 0.01, 5))]
    rows += splits_of("constant", common + 0.4)  # a reference point does not count
    text = answer(*rows)
    assert text.startswith(
        "No clear winner: where acquisitions cost nothing, Lattice policy iteration has the lowest loss"
    )
    assert "within noise of all others): it needs 0.5 features" in text
    show_comparison(results_of(*rows))
    lines = capsys.readouterr().out.splitlines()
    assert "Methods at lambda 0, over 5 splits" in map(str.strip, lines)
    assert "noise" in next(line for line in lines if line.startswith("CART"))
    said = " ".join(" ".join(lines).split())
    assert "Noise: by a t test at 95 % of the differences from the best, paired over the 5 splits, with" in said
    costly = answer(*(row | {"accuracy": 0.9} for row in rows))
    assert costly.startswith("No clear winner: where acquisitions cost nothing, Lattice policy iteration costs least")


def test_the_table_says_that_two_splits_are_few_and_leaves_out_the_verdict_where_it_is_narrow(capsys, monkeypatch):
    rows = [*splits_of("lattice", [0.1, 0.2]), *splits_of("cart", [0.2, 0.3])]
    show_comparison(results_of(*rows))
    text = capsys.readouterr().out
    assert "Methods at lambda 0, over 2 splits (better 3 or more)" in text
    assert "unknown" in text[text.index("Methods at") : text.index("Accuracy with")]
    assert "Noise: by the 95 % intervals of the mean losses on the test rows; from 3 splits on, by a t test" in text
    monkeypatch.setattr("fsgym.cli.compare.TABLE_WIDTH", 60)
    show_comparison(results_of(*rows))
    text = capsys.readouterr().out
    assert "unknown" not in text[text.index("Methods at") : text.index("Accuracy with")]


def test_the_best_method_at_each_other_lambda_follows_the_answer(capsys):
    rows = [row_of("lattice", error=0.05, n=3.0), row_of("cart", error=0.1, n=1.0)]
    results = results_of(*rows, reported=(0.01, 0.1))
    words = "This answer is for the first lambda, 0.01; the lowest loss is that of CART at 0.1 (0.200)."
    assert best_elsewhere(results) == words
    show_comparison(results)
    assert "This answer is for the first lambda, 0.01" in capsys.readouterr().out
    assert best_elsewhere(results_of(*rows)) == ""


def test_that_acquiring_nothing_is_within_noise_is_said_first():
    rows = [row_of(name, error=0.1 + k / 1000, n=0.5) | LOW_HIGH for k, name in enumerate(METHODS_OF_TEST)]
    text = answer(*rows, row_of("constant", error=0.12, n=0.0) | LOW_HIGH)
    others = f"CART and {len(METHODS_OF_TEST) - 2} others"
    assert f"The differences from nothing acquired, {others} are within the noise of the test rows." in text


def test_prices_that_hardly_count_beside_error_costs_are_said(capsys):
    rows = patient_rows()
    cheap = [row | {"price": 0.01} for row in rows]
    sentence = "At lambda 0.01 a price of 100 counts as 1 beside the error costs: if both are in one unit, pass lam=1."
    assert price_caution(results_of(*cheap)) == sentence
    show_comparison(results_of(*cheap))
    assert sentence in " ".join(capsys.readouterr().out.split())
    assert price_caution(results_of(*cheap, reported=(0.01, 1.0))) == ""
    assert price_caution(results_of(*rows)) == ""
    assert price_caution(results_of(row_of("cart", spent=12.5), row_of("lattice", error=0.5))) == ""  # no error costs


def test_few_splits_use_the_intervals_of_the_test_rows():
    best, near, far = (splits_of(name, [loss]) for name, loss in (("lattice", 0.15), ("cart", 0.2), ("lars", 0.4)))
    assert "With one split it is unknown" in answer(*best, *near)
    known = [row | LOW_HIGH for row in (*best, *near, *far)]  # half widths of .05: together .0707
    ranking = rank_methods(results_of(*known))
    assert [ranking.standing_of(name).verdict for name in ("cart", "lars")] == ["noise", "higher"]
    assert "The difference from CART is within the noise of the test rows." in answer_in_words(ranking)


def test_what_is_acquired_first_or_at_all():
    other = row_of("cart", error=0.9)
    first = answer(row_of("lattice", first='{"b": 0.6, "a": 0.4}', first_paid='{"b": 0.6, "a": 0.4}'), other)
    assert "Lattice policy iteration acquires b first for 60 % of the cases, a for 40 %." in first
    fixed = answer(row_of("mrmr", usage='{"a": 1.0, "b": 1.0}'), other)
    assert "acquires the same for every case: a and b." in fixed
    assert "uses b most often, for 70 % of the cases" in answer(row_of("gbfs", usage='{"a": 0.2, "b": 0.7}'), other)


@pytest.mark.parametrize(
    ("sets", "words"),
    [
        (("ab", "ab"), "for every case: a and b."),
        (("abc", "abcdef"), "for every case of a split: a, b and c in each split, 3 more in some."),
        (("ab", "cd", "ae"), "for every case of a split: most often a, in 2 of 3 splits."),
    ],
)
def test_a_fixed_set_that_differs_by_split_is_said_so(sets, words):
    usage = [{"usage": json.dumps(dict.fromkeys(one, 1.0))} for one in sets]
    rows = [row | more for row, more in zip(splits_of("mrmr", [0.1] * len(sets)), usage, strict=True)]
    assert f"acquires the same {words}" in answer(*rows, *splits_of("cart", [0.9] * len(sets)))


def test_no_fit_no_answer():
    failed = results_of(row_of("cart") | {"error": "ValueError: no"})
    assert rank_methods(failed) is None
    assert answer_in_words(None) == []
    show_comparison(failed)


def test_methods_of_which_all_fits_failed_are_named():
    failed = [row_of(name) | {"error": "ValueError: no"} for name in ("mrmr", "lars")]
    others = [row_of("lattice"), row_of("cart", error=0.2)]
    assert answer(*others, failed[0]).endswith(" mRMR + SVM could not be compared: all its fits failed.")
    assert answer(*others, *failed).endswith(" could not be compared: all their fits failed.")
    free = row_of("constant", error=0.01, n=0.0)
    assert answer(free, failed[0]).endswith(" mRMR + SVM could not be compared: all its fits failed.")
    # Of those that failed in one split only it is said so; no reference point is named.
    partly = [row_of("lars", 0), row_of("lars", 1) | {"error": "ValueError: no"}, row_of("cart", 0), row_of("cart", 1)]
    text = answer(*partly, free | {"error": "ValueError: no"})
    assert text.endswith(" LARS / lasso path could not be compared: all its fits failed in some split.")
    assert text.count("could not be compared") == 1


def test_the_chosen_settings_follow_validation_data_only():
    good, lucky = row_of("cart", error=0.2), row_of("cart", error=0.2) | {"setting": 1, "error_cost": 0.0, "loss": 0.02}
    lucky["validation_error_cost"] = 0.3
    ranking = rank_methods(results_of(good, lucky))
    assert ranking.best.figures["loss"] == pytest.approx(0.22)


def test_the_terminal_fits_80_columns_and_folds_the_settings_away(capsys):
    show_comparison(results_of(*patient_rows(loss_low=26.1, loss_high=33.9), error_costs="a missed acs costs 1000"))
    text = capsys.readouterr().out
    table = text[text.index("Methods at lambda") : text.index("Cost per case:")]
    assert max(map(len, table.rstrip().splitlines())) <= 80
    assert table.index("Lattice") < table.index("mRMR") < table.index("nothing acq") < table.index("everything acq")
    assert "26.1–33.9" in table
    wide = [row | {"loss_low": 1026.1, "loss_high": 1033.9} for row in patient_rows()]
    wide += [row_of("cart", error=29.0, spent=2.0, accuracy=0.9, lam=1.0, loss_low=1020.0, loss_high=1034.0)]
    show_comparison(results_of(*wide, error_costs="a missed acs costs 1000"))
    narrow = capsys.readouterr().out
    narrow = narrow[narrow.index("Methods at lambda") : narrow.index("Cost per case:")]
    assert "interval" not in narrow  # rather than the verdicts
    assert "noise" in next(line for line in narrow.splitlines() if line.startswith("CART"))
    assert "93 %" in table
    assert "at most k" not in text
    assert "results.csv" in text
    show_comparison(results_of(*patient_rows()[:1]))
    assert "–" not in capsys.readouterr().out.split("Cost per case:")[0]  # no column of dashes


def test_one_split_has_no_standard_deviations(capsys):
    show_comparison(results_of(row_of("cart"), row_of("lattice", error=0.2)))
    text = capsys.readouterr().out
    assert "±" not in text
    assert "0.120" in text
    show_comparison(results_of(*splits_of("cart", [0.1, 0.2])))
    assert "0.150±.050" in capsys.readouterr().out


def test_results_read_again_give_the_same_answer(tmp_path):
    import pandas as pd

    results = results_of(*patient_rows(loss_low=26.1, loss_high=33.9))
    results.to_csv(tmp_path / "results.csv", index=False)
    again = pd.read_csv(tmp_path / "results.csv")
    assert answer_in_words(rank_methods(again)) == answer_in_words(rank_methods(results))
    assert summarise(again).losses["lam"].unique().tolist() == [1.0]  # and not the default values
    assert json.loads(again["first"][0]) == {"age": 1.0}


def test_a_method_of_ones_own_is_differences_of_each_other_one(tmp_path, capsys):
    """Mine is neither the best nor the worst: the test of the best method says nothing of it and the others."""
    rng = np.random.default_rng(0)
    mine = rng.normal(0.3, 0.05, 5)
    errors = {"cart": mine - rng.normal(0.1, 0.001, 5), "rcpi": mine + rng.normal(0.002, 0.02, 5), "lars": mine + 0.2}
    rows = [row for name, own in {"mine": mine, **errors}.items() for row in splits_of(name, own)]
    results = results_of(*rows, reported=(0.0, 0.1))
    table = differences_of(results, "mine").set_index(["lam", "other"])
    assert table.loc[0.0, "verdict"].to_dict() == {"cart": "lower", "rcpi": "noise", "lars": "higher"}
    found, own = table.loc[(0.0, "rcpi")], errors["rcpi"] - mine
    t = own.mean() / np.sqrt(own.var(ddof=1) * (1 / 5 + 1))  # as many test rows as training rows
    assert found["difference"] == pytest.approx(own.mean())
    assert found["difference_p"] == pytest.approx(2 * stats.t.sf(abs(t), 4))
    _show_differences({"wine": results}, ["mine"], tmp_path)
    shown = capsys.readouterr().out
    assert "Loss minus that of mine" in shown
    cells = {
        line.split(" +")[0].split(" -")[0].strip(): re.findall(r"[+-][0-9.]+, p [<.0-9]+", line)
        for line in shown.splitlines()
    }
    assert cells["CART"] == [f"{(errors['cart'] - mine).mean():.3f}, p <.001"] * 2
    assert cells["RCPI (datum-wise)"] == [f"{own.mean():+.3f}, p {found['difference_p']:.3f}"] * 2
    assert len(pd.read_csv(tmp_path / "differences.csv")) == 6


def test_with_few_splits_a_lower_loss_than_that_of_ones_own_method_is_seen():
    ends = {"loss_low": 0.19, "loss_high": 0.21}
    rows = [row_of("mine", error=0.2, n=0.0, **ends), row_of("cart", error=0.1, n=0.0, **ends)]
    assert differences_of(results_of(*rows), "mine")["verdict"].tolist() == ["lower"]
