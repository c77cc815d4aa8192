"""The study of disjunctions: its cells, its data, its claims on simulated results."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest

from fsgym import Dataset
from fsgym.comparison.splits import Split
from fsgym_studies.common.claims import assess
from fsgym_studies.common.curves import cells_with
from fsgym_studies.common.plan import Source
from fsgym_studies.common.statistics import mean_of
from fsgym_studies.hkl import cell as hkl_cell
from fsgym_studies.hkl import claims as hkl_claims
from fsgym_studies.hkl import further as hkl_further
from fsgym_studies.hkl import printed as hkl_printed
from fsgym_studies.hkl import study as hkl
from support.problems import FOLDER, needs_folder
from support.synthetic_results import all_assessed, always_met, by_text, line, lose


def either(n=80, d=8, seed=0):
    """A 0/1 table whose class is a disjunction of two columns, with one constant column."""
    rng = np.random.default_rng(seed)
    X = (rng.random((n, d)) < 0.4).astype(float)
    X[:, 7] = 1.0
    return Dataset(X, (X[:, 1] + X[:, 4] > 0).astype(int), name="either")


def test_microarrays_have_the_zero_norm_svm_and_random_splits():
    entries = {e.source.title: e for e in hkl.STUDY_DATASETS}
    assert [split.share for split in entries["colon"].splits(True, 62)] == [50 / 62] * 30  # type: ignore[union-attr]
    assert len(entries["hepatitis"].splits(False, 80)) == 5 * len(entries["vote"].splits(False, 232)) == 20
    assert entries["MONK-1"].official


# Each selection is tested with the L2-SVM, and the L1-SVM without a selection.
SLOW_CELLS = [method for method in hkl_cell.APPROACHES if method.endswith(" + L1-SVM")]


@pytest.mark.parametrize(
    "method", [pytest.param(m, marks=pytest.mark.slow) if m in SLOW_CELLS else m for m in hkl_cell.APPROACHES]
)
@pytest.mark.one_in(2)
def test_a_cell_of_disjunctions(method):
    arguments = {
        "features": {"literals": {}, "names": {"x1": "one"}},
        "search": {"grid": {"C": [1.0, 100.0], "beta": [4.0], "p": [1.1]}, "max_active": 50},
        "split": Split(0, n_folds=4, fold=1),
        "seed": 3,
    }
    result = hkl_cell.nested(either(), method=method, **arguments)
    assert result == hkl_cell.nested(either(), method=method, **arguments)
    json.dumps(result, allow_nan=False)
    assert result["accuracy"] == 1.0
    assert (result["n_train"], result["n_test"], result["n_literals"]) == (60, 20, 7)
    assert result["n_features"] == round(8 * result["share_used"]) >= 2
    if method == hkl_cell.HKL:
        assert result["n_kept"] == 2
        assert sorted(rule.split(" ", 1)[1] for rule in result["rules"]) == ["one", "x4"]
        assert set(json.loads(result["params"])) == {"C", "beta", "p"}


@pytest.mark.parametrize(("method", "n_settings"), [(hkl_cell.HKL, 2), (hkl_cell.ZERO_NORM, 3)])
@pytest.mark.slow
def test_an_approach_at_each_setting_has_the_results_of_single_settings(method, n_settings):
    features = {"literals": {}, "names": {}}
    search = {"grid": {"C": [1.0, 100.0], "beta": [4.0], "p": [1.1]}, "max_active": 50, "shares": [0.2, 0.5, 1.0]}
    arguments = {"method": method, "features": features, "split": Split(0, n_folds=4, fold=1), "seed": 3}
    result = hkl_cell.at_each_setting(either(), search=search, **arguments)
    assert result.pop("n_literals") > n_settings
    assert {len(v) for v in result.values()} == {n_settings}
    for k, setting in enumerate(map(json.loads, result["settings"])):
        one = (
            {"grid": {name: [v] for name, v in setting.items()}}
            if method == hkl_cell.HKL
            else {"shares": [0.2, 0.5, 1.0][k : k + 1]}
        )
        alone = hkl_cell.nested(either(), search=search | one, **arguments)
        assert (result["accuracies"][k], result["sizes"][k]) == (alone["accuracy"], alone["n_kept"])


def each_setting(dataset, own, other):
    """Cells of both approaches at two settings on four splits, with these accuracies in percent, and of all others."""
    rows = []
    for method, accuracies, sizes in ((hkl_cell.HKL, own, [9, 40]), (hkl_cell.ZERO_NORM, other, [50, 300])):
        for split, pair in enumerate(zip(*accuracies)):
            row = {"dataset": dataset, "method": hkl_further.at_each(method), "split": split, "settings": ["a", "b"]}
            rows.append({**row, "accuracies": [v / 100 for v in pair], "sizes": sizes, "error": None})
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("large", "small", "reason"),
    [
        ([90, 90, 70, 70], [90, 70, 70, 70], "2 splits with few test rows are too few"),
        ([90, 90, 90, 90], [80, 80, 80, 80], "our zero-norm SVM is better with many features"),
        ([90, 90, 90, 90], [88, 90, 88, 90], "neither more splits, the best settings nor an equal number of features"),
    ],
)
def test_the_cause_of_table_4_changes_one_thing_at_a_time(large, small, reason):
    """The disjunctions have 80 % at their better setting; in the first case only the first two splits are worse."""
    further = each_setting("colon", ([60] * 4, [80] * 4), (small, large))
    compared = hkl_further.settings_compared(further, "colon", 2)
    assert compared is not None
    assert compared.few.mean == pytest.approx(80 - np.mean(large[:2]))
    assert compared.many.mean == pytest.approx(80 - np.mean(large))
    assert compared.same_size.mean == pytest.approx(80 - np.mean(small))
    assert (compared.n_few, compared.n_many, compared.rules, compared.selected, compared.most) == (2, 4, 40, 50, 300)
    rows = [("colon", 0, hkl_cell.HKL, 0.7), ("colon", 1, hkl_cell.HKL, 0.68)]
    rows += [("colon", 0, hkl_cell.ZERO_NORM, 0.75), ("colon", 1, hkl_cell.ZERO_NORM, 0.73)]
    table = pd.DataFrame(rows, columns=["dataset", "split", "method", "accuracy"])
    text = hkl_claims.zero_norm_cause("colon", {"table": table, "further": further})
    assert text.startswith("not known: the paper compares accuracies of two designs")
    assert f"; {reason}" in text
    assert "-5.00 ± 0.00 at settings chosen on inner folds" in text
    assert "-10.00 ± 0.00 at the setting of each that is best on the same 2 test parts" in text
    table = hkl_further.each_setting_table(further).frame
    assert table["accuracy"].tolist() == pytest.approx([60, 80, np.mean(small), np.mean(large)])
    assert hkl_further.settings_compared(further[further["split"] < 0], "colon", 2) is None


def test_literals_are_named_by_levels(monkeypatch):
    X = np.column_stack([np.arange(12) % 3, np.arange(12) % 2, np.arange(12.0)])
    codes = Dataset(X, np.arange(12) % 2, feature_names=["town", "smokes", "age"])
    hot = [*(X[:, 0] == k for k in range(3)), X[:, 1], X[:, 2]]
    one_hot = Dataset(np.column_stack(hot), codes.y, feature_names=["town=A", "town=B", "town=C", "smokes=yes", "age"])
    monkeypatch.setattr(Source, "load", lambda source, data_dir=None: one_hot if source.one_hot else codes)
    literals, names = hkl.literal_options(hkl.StudyDataset(Source("people", "people")), codes, None)
    assert literals == {"nominal": [0, 1]}
    assert names == {
        "town=0": "town=A",
        "town=1": "town=B",
        "town=2": "town=C",
        "smokes=0": "smokes!=yes",
        "smokes=1": "smokes=yes",
    }


def test_words_are_chosen_on_the_training_texts(monkeypatch):
    monkeypatch.setattr(hkl, "MIN_WORD_TEXTS", 2)
    train = Dataset([[3.0, 0, 1], [1, 0, 0], [0, 1, 2]], [0, 1, 0], feature_names=["a", "b", "c"])
    test = Dataset([[0.0, 5, 2], [2, 9, 0]], [0, 1], feature_names=["a", "b", "c"])
    train_words, test_words = hkl.word_features(train, test)
    assert train_words.feature_names == ("a", "c")
    assert train_words.X.tolist() == [[1, 1], [1, 0], [0, 1]]
    assert test_words.X.tolist() == [[0, 1], [1, 0]]


def disjunctions(lead, n_rules=2):
    """Results of all approaches: the disjunctions ``lead`` points above the printed accuracy, the others at 70 %."""
    printed = hkl_printed.PRINTED_DISJUNCTIONS | {
        name: own[1] for name, (own, _, _) in hkl_printed.PRINTED_SHARES.items()
    }
    more = {"n_literals": 400, "n_kept": n_rules, "words": 1.0, "status": "necessary"}
    more |= {"inner": 0.8, "rules": ["+1.00 a"], "bias": "-1.00", "share_used": 0.5}
    rows = []
    for dataset, accuracy in printed.items():
        for method in hkl_cell.APPROACHES:
            value = (accuracy + lead) / 100 if method == hkl_cell.HKL else 0.7
            rows += line(dataset, method, [(0.5, min(value, 1.0))], **more)
    return pd.DataFrame(rows)


@pytest.mark.parametrize(("near", "kind"), [(True, "protocol"), (False, "not known")])
@pytest.mark.slow
def test_arms_of_other_designs_are_checks_and_decide_causes(near, kind):
    """L1-SVM at LIBLINEAR's defaults, and folds in which each of the 62 rows of colon is tested once."""
    table = disjunctions(-5.0)
    printed = hkl_printed.PRINTED_OTHERS["L1-SVM"]
    arms = [line(d, hkl_cell.L1_SVM_AT_DEFAULTS, [(0.5, (p + k) / 100)])[0] for k, (d, p) in enumerate(printed.items())]
    share = 55 / 62 if near else 0.8
    arms += [row for k in range(2) for row in line("colon", hkl_cell.ONCE, [(0.5, share)], k, n_test=31)]
    claims = hkl_claims.claims(pd.concat([table, pd.DataFrame(arms)], ignore_index=True), table.iloc[:0])
    defaults = by_text(claims, "Table 1: accuracies of L1-SVM")
    assert defaults.ours.startswith("2 of 10: breast cancer 70.65 (70.65), Wisconsin 97.04 (96.04); outside: ")
    assert defaults.reproduced is False
    assert defaults.cause.startswith(
        "not known: transfusion and 20 newsgroups have other rows or words than the paper's"
    )
    assert "MONK-1 has the test part of the paper, so that no folds explain it" in defaults.cause
    assert "0 of 1 on hepatitis" in defaults.cause
    check = by_text(claims, "colon, every row tested once")
    assert check.result == ("confirmed" if near else "not confirmed")
    cause = by_text(claims, "Tables 4 and 5, colon: accuracy").cause
    assert cause.startswith(f"{kind}: the printed 88.71 % is 55 of 62")
    assert f"with every row tested once ours have {100 * share:.2f} ± 0.00 over 2 test parts" in cause
    assert [c for c in hkl_claims.claims(table, table.iloc[:0]) if c.result == "not run"] != []


@pytest.mark.parametrize(("lead", "n_rules", "reproduced"), [(-0.5, 2, True), (-30.0, 300, False)])
@pytest.mark.one_in(2)
@pytest.mark.slow
def test_claims_of_disjunctions(lead, n_rules, reproduced):
    table = disjunctions(lead, n_rules)
    claims = hkl_claims.claims(table, cells_with(table, "accuracies"))
    assert all_assessed([c for c in claims if c.result != "not run"], 41)
    table_3 = [
        f"Table 3, 20 newsgroups: the disjunctions are more accurate than {o}" for o in ("L1-SVM", "three topic")
    ]
    whole = ("On each data set", "On 20 newsgroups")
    for start in (*(f"Table 1, {d}:" for d in hkl_printed.TABLE1_DATASETS), *whole, *table_3):
        assert by_text(claims, start).reproduced is reproduced
    for method in hkl_cell.TABLE1_APPROACHES[1:]:
        (claim,) = [c for c in claims if f"{method} on all" in c.text or f"selection by {method} (" in c.text]
        # The accuracies are far apart, and not comparable, in both cases.
        assert claim.reproduced is (reproduced and method != hkl_printed.NOT_SIGNIFICANT)
    sparse = [c for c in claims if c.text.startswith("Tables 4 and 5")]
    assert len(sparse) == 8
    assert {c.reproduced for c in sparse if ": accuracy of" in c.text} == {reproduced}
    assert by_text(claims, "Tables 4 and 5, colon: the number of rules").reproduced is reproduced
    assert by_text(claims, "Tables 4 and 5, Wisconsin: the number of rules").reproduced is not reproduced  # .005, .75
    conclusion = hkl.conclude([], table, False)
    tables = {t.stem: t.frame for t in conclusion.tables}
    assert len(tables["wilcoxon"]) == 14 + 2 + 30
    assert set(tables["rules"]["rules"]) == {"+1.00 a; -1.00 always"}
    assert by_text(claims, "Table 1, transfusion").cause.startswith("" if reproduced else "data: always predicting")
    if not reproduced:
        assert by_text(claims, "Table 1, vote").cause.startswith(
            "not known: 0 of 1 sets of 4 folds are within 1 point of the printed accuracy; Boolean features and "
        )
        assert "our approaches on 61.0 to 70.0 %" in by_text(claims, "Table 1, transfusion").cause
        assert by_text(claims, "Table 1, 20 newsgroups").cause.startswith("data: our training posts of 20 newsgroups")
        assert "88.71 % is 55 of 62" in by_text(claims, "Tables 4 and 5, colon: accuracy").cause
        behind = by_text(claims, "On each data set").cause
        assert behind.startswith("paper: by this criterion its own Table 1 fails, on breast cancer (2.5 below), ")
        assert "MONK-2 (8.1 below). In our runs, " in behind
        assert "20 newsgroups: " not in behind
        for start in ("On 20 newsgroups", table_3[1]):
            assert by_text(claims, start).cause.startswith("data: our training posts of 20 newsgroups")
        assert by_text(claims, table_3[0]).cause.startswith(
            "paper: by this criterion its own lead fails, 1.41 ± 1.42 points over the better of the two on 570 "
        )
        assert by_text(claims, "Table 4, colon").cause == ""  # its further cells were not run
        against = by_text(claims, "Table 2: the disjunctions are significantly better than L2-SVM").cause
        assert against.startswith("not known: neither folds nor 20 newsgroups decide; p is below 0.05 in 0 of 1 ")
    assert any(n.startswith("20 newsgroups: every approach") for n in conclusion.notes) is (not reproduced)


def test_a_lead_on_newsgroups_of_the_printed_size_is_no_more_than_noise():
    """1.41 points on 569 or 570 test rows, by the variance of two independent shares."""
    own, best = 0.9455, 0.9314
    error = np.sqrt((own * (1 - own) + best * (1 - best)) / 570)
    assert 100 * error == pytest.approx(1.42, abs=0.005)
    assert own - best < error


@pytest.mark.parametrize(("accuracy", "size", "kinds"), [(85.0, 280, "protocol"), (99.0, 4, "not known")])
@pytest.mark.slow
def test_settings_decide_where_one_of_ours_gives_what_is_printed(accuracy, size, kinds):
    """On ionosphere 280 of 400 Boolean features are a share of .7, and 88.6 % is printed."""
    table = disjunctions(8.0, 4)
    names = [form.label for form in hkl_further.FORMS["ionosphere"]]
    each = {"settings": ["a", "b"], "accuracies": [0.6, 0.88 if size == 280 else 0.6], "sizes": [4, size]}
    rows = [{"dataset": "ionosphere", "method": m, "split": 0, "n_literals": 400, **each} for m in names]
    rows += [
        {"dataset": "MONK-2", "method": form.label, "split": 0, "n_literals": 17, **each}
        | {"accuracies": [0.6, accuracy / 100], "sizes": [4, 9]}
        for form in hkl_further.FORMS["MONK-2"]
    ]
    claims = hkl_claims.claims(table, pd.DataFrame(rows))
    for start in ("Table 1, MONK-2", "Tables 4 and 5, ionosphere: accuracy", "Tables 4 and 5, ionosphere: the number"):
        claim = by_text(claims, start)
        assert claim.reproduced is False
        assert claim.cause.startswith(f"{kinds}: ")
    share = by_text(claims, "Tables 4 and 5, ionosphere: the number").cause
    met = 1 if kinds == "protocol" else 0
    assert f"near the printed one at {met} of 2, and at {met} with an accuracy within 1 point, too" in share
    assert " with 2 thresholds, near the printed one " in share
    of_monk = by_text(claims, "Table 1, MONK-2").cause
    assert "our disjunctions are more accurate" in of_monk
    assert (
        f"60.00 to {accuracy:.2f} % with at most 2 Boolean features in a disjunction, within 1 point at {met}"
        in of_monk
    )


@pytest.mark.parametrize(("once", "kind"), [(76.0, "protocol"), (70.0, "not known")])
def test_the_designs_decide_where_the_disjunctions_are_comparable_in_those_of_the_paper(once, kind):
    """The zero-norm SVM has 74 % on two splits and 77 where each row is tested once."""
    rows = [("colon", k, m, a) for k in (0, 1) for m, a in ((hkl_cell.HKL, 0.69), (hkl_cell.ZERO_NORM, 0.74))]
    table = pd.DataFrame(rows, columns=["dataset", "split", "method", "accuracy"])
    figures = {
        "table": table,
        "further": each_setting("colon", ([60] * 4, [80] * 4), ([80] * 4, [90] * 4)),
        "once, colon": mean_of([once]),
        "once, zero-norm SVM, colon": mean_of([77.0]),
    }
    text = hkl_claims.zero_norm_cause("colon", figures)
    assert text.startswith(f"{kind}: the paper compares accuracies of two designs")
    assert f"in these two designs ours have {once:.2f} and 74.00 % ({once - 74:+.2f}), and both with every row" in text
    assert f"tested once {once:.2f} and 77.00 % ({once - 77:+.2f})" in text


@needs_folder
@pytest.mark.slow
def test_header_lines_of_posts_are_counted_right():
    entry = next(e for e in hkl.STUDY_DATASETS if e.source.title == hkl_printed.NEWSGROUPS)
    counts = []
    for split in ("train", "test"):
        texts = Source(entry.source.name, "", split).load(FOLDER)
        counts += [int((texts.X[:, texts.feature_names.index("lines")] > 0).sum()), texts.n_samples]
    assert counts == [857, 857, 14, 570]


def test_no_claim_is_assessed_when_its_data_set_is_missing():
    table = disjunctions(0.0)
    claims = hkl_claims.claims(table[table["dataset"] != "vote"], table.iloc[:0])
    assert by_text(claims, "Table 1, vote").reproduced is None
    assert by_text(claims, "On each data set").reproduced is None
    assert by_text(claims, "Table 2: the disjunctions are significantly better than L1-SVM").reproduced is None
    assert by_text(claims, "Table 1, hepatitis").reproduced is True


@pytest.mark.parametrize(
    "method",
    [pytest.param(m, marks=pytest.mark.slow) if k > 1 else m for k, m in enumerate(hkl_cell.TABLE1_APPROACHES)],
)
@pytest.mark.slow
def test_the_study_concludes_although_all_cells_of_a_method_failed(method):
    table = disjunctions(0.0).assign(error=None)
    table.loc[table["method"] == method, ["accuracy", "error"]] = [np.nan, "ValueError: failed"]
    conclusion = hkl.conclude([], table, False)
    assert by_text(conclusion.claims, "On each data set").reproduced is None
    assert set(conclusion.tables[0].frame[method]) == {"–"}


def test_the_count_of_table_2_is_reached_with_the_critical_value_for_ten_data_sets():
    """As the cause says: the largest sum of ranks whose probability is at most .01, or .05, in ten pairs."""
    signs = np.array(list(itertools.product((0, 1), repeat=10)))
    sums = signs @ np.arange(1, 11)
    critical = [max(t for t in range(56) if (sums <= t).mean() <= level) for level in (0.01, 0.05)]
    leads = {
        name: (pd.Series(hkl_printed.PRINTED_DISJUNCTIONS) - pd.Series(accuracies)).round(6)
        for name, accuracies in hkl_printed.PRINTED_OTHERS.items()
        if " + " in name
    }
    ranks = {name: lead[lead != 0].abs().rank()[lead < 0].sum() for name, lead in leads.items()}
    assert (critical, len(ranks)) == ([5, 10], 30)
    for machine, counts in (("L1-SVM", (15, 15)), ("L2-SVM", (10, 12))):
        own = [t for name, t in ranks.items() if name.endswith(f" + {machine}")]
        assert tuple(sum(t <= bound for t in own) for bound in critical) == counts
    marked = {f"correlation, {search}" for search in ("best first", "greedy", "linear forward", "rank", "subset size")}
    marked |= {f"consistency, {search}" for search in ("greedy", "linear forward", "rank", "subset size")}
    marked |= {"filtered, rank"}  # in Table 2, with an L2-SVM
    significant = {name.removesuffix(" + L2-SVM") for name, t in ranks.items() if "L2" in name and t <= critical[0]}
    assert (len(marked), len(marked & significant)) == (10, 6)
    for name, expected in (("consistency", (13, 8)), ("filtered", (3, 7))):
        lead = leads[f"{name}, linear forward + L2-SVM"]
        assert (ranks[f"{name}, linear forward + L2-SVM"], (lead != 0).sum()) == expected


def test_the_significance_counts_are_recomputed_from_the_printed_table():
    claims = assess(hkl_claims.PRINTED_TEST_CLAIMS, hkl_claims.printed_tests())
    machine = {c.text.split("followed by ")[1][:6]: c for c in claims}
    assert set(machine) == {"L2-SVM", "L1-SVM"}
    assert [c.paper for c in machine.values()] == ["10", "15"]
    from scipy.stats import norm, rankdata

    ours = np.array(list(hkl_printed.PRINTED_DISJUNCTIONS.values()))
    for name, level in {"L2-SVM": 0.05, "L1-SVM": 0.01}.items():
        count = 0
        for other in (other for other in hkl_printed.PRINTED_OTHERS if other.endswith(f" + {name}")):
            difference = np.round(ours - np.array([*hkl_printed.PRINTED_OTHERS[other].values()]), 6)
            difference = difference[difference != 0]
            ranks = rankdata(np.abs(difference))
            deviation = np.sqrt((ranks**2).sum() / 4)  # of the rank sum under random signs
            z = (ranks[difference > 0].sum() - ranks.sum() / 2) / deviation
            count += norm.sf(z) < level
        assert machine[name].ours == str(count)
    assert machine["L2-SVM"].ours == "11"


@pytest.mark.slow
def test_no_claim_holds_for_random_results():
    """Two repeat a test on the printed accuracies alone."""
    table = disjunctions(0.0)
    met = always_met(lambda own: hkl_claims.claims(own, own.iloc[:0]), table)
    assert {text.partition(",")[0] for text in met} == {"Significance test of Table 2"}


@pytest.mark.parametrize(("lost", "result"), [(None, "reproduced"), (99, "not run")])
def test_an_approach_without_one_part_is_not_compared_over_the_others(lost, result):
    """The L2-SVM lacks a hard part of one data set."""
    table = disjunctions(0.0)
    dataset = table["dataset"].iloc[0]
    hard = table[table["dataset"] == dataset]
    table = pd.concat([table, hard.assign(split=99, accuracy=hard["accuracy"] - 0.3)], ignore_index=True)
    table = table if lost is None else lose(table, dataset=dataset, method=hkl_cell.KERNEL_L2_SVM, split=lost)
    claims = hkl.conclude([], table, False).claims
    assert by_text(claims, "Table 2: the disjunctions are significantly better than L2-SVM").result == result
    other = by_text(claims, "Table 2: the disjunctions are significantly better than L1-SVM")
    assert other.result == "reproduced"
