"""The study of disjunctions: its cells, its data, its claims on simulated results."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

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
from support.synthetic_results import all_assessed, by_text, line


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
def test_an_approach_at_each_setting_has_the_results_of_single_settings(method, n_settings):
    features = {"literals": {}, "names": {}}
    search = {"grid": {"C": [1.0, 100.0], "beta": [4.0], "p": [1.1]}, "max_active": 50, "shares": [0.2, 0.5, 1.0]}
    arguments = {"method": method, "features": features, "split": Split(0, n_folds=4, fold=1), "seed": 3}
    result = hkl_cell.at_each_setting(either(), search=search, **arguments)
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
    ("large", "small", "source"),
    [
        ([90, 90, 70, 70], [90, 70, 70, 70], "protocol: "),
        ([90, 90, 90, 90], [80, 80, 80, 80], "ours: our zero-norm SVM is better with many features"),
        ([90, 90, 90, 90], [88, 90, 88, 90], "ours: "),
    ],
)
def test_the_cause_of_table_4_changes_one_thing_at_a_time(large, small, source):
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
    text = hkl_claims.causes.zero_norm_cause("colon", {"table": table, "further": further})
    assert text.startswith(source)
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


@pytest.mark.parametrize(("lead", "n_rules", "reproduced"), [(-0.5, 2, True), (-30.0, 300, False)])
def test_claims_of_disjunctions(lead, n_rules, reproduced):
    table = disjunctions(lead, n_rules)
    claims = hkl_claims.claims(table, cells_with(table, "accuracies"))
    assert all_assessed(claims, 38)
    for start in (*(f"Table 1, {d}:" for d in hkl_printed.TABLE1_DATASETS), "On each data set", "Table 3"):
        assert by_text(claims, start).reproduced is reproduced
    for method in hkl_cell.TABLE1_APPROACHES[1:]:
        (claim,) = [c for c in claims if f"{method} on all" in c.text or f"selection by {method} (" in c.text]
        assert claim.reproduced is (reproduced == (method != hkl_printed.NOT_SIGNIFICANT))
    sparse = [c for c in claims if c.text.startswith("Tables 4 and 5")]
    assert len(sparse) == 8
    assert {c.reproduced for c in sparse if ": accuracy of" in c.text} == {reproduced}
    assert by_text(claims, "Tables 4 and 5, colon: the number of rules").reproduced is reproduced
    # Below the share of all features.
    assert by_text(claims, "Tables 4 and 5, Wisconsin: the number of rules").reproduced is True
    conclusion = hkl.conclude([], table, False)
    tables = {t.stem: t.frame for t in conclusion.tables}
    assert len(tables["wilcoxon"]) == 14 + 2 + 30
    assert set(tables["rules"]["rules"]) == {"+1.00 a; -1.00 always"}
    assert by_text(claims, "Table 1, transfusion").cause.startswith("" if reproduced else "data: always predicting")
    if not reproduced:
        assert by_text(claims, "Table 1, vote").cause.startswith(
            "protocol: folds and Boolean features are not printed, "
        )
        assert "our approaches on 61.0 to 70.0 %" in by_text(claims, "Table 1, transfusion").cause
        assert by_text(claims, "Table 1, 20 newsgroups").cause.startswith("data: our training posts of 20 newsgroups")
        assert "88.71 % is 55 of 62" in by_text(claims, "Tables 4 and 5, colon: accuracy").cause
        behind = by_text(claims, "On each data set").cause
        assert behind.startswith("paper: by this criterion its own Table 1 fails, on breast cancer (2.5 below), ")
        assert "MONK-2 (8.1 below). In our runs, " in behind
        assert "20 newsgroups: " in behind
        assert by_text(claims, "Table 4, colon").cause == ""  # its further cells were not run
        against = by_text(claims, "Table 2: the disjunctions are significantly better than L2-SVM").cause
        assert against.startswith("ours: p is below 0.05 in 0 of 1 sets of folds, and why is not known; ")
    assert any(n.startswith("20 newsgroups: every approach") for n in conclusion.notes) is (not reproduced)


def test_the_cause_of_a_test_repeats_it_with_the_printed_differences():
    """Ours are as printed but on two sets, where the L2-SVM is 3 and 2 points above."""
    names = list(hkl_printed.TABLE1_DATASETS)
    printed = pd.DataFrame(
        {hkl_cell.HKL: hkl_printed.PRINTED_DISJUNCTIONS, "L2-SVM": hkl_printed.PRINTED_OTHERS["L2-SVM"]}, names
    )
    means = printed.astype(float)
    for name, lead in (("vote", 3.0), ("tic-tac-toe", 2.0)):
        means.loc[name, "L2-SVM"] = means.loc[name, hkl_cell.HKL] + lead
    rows = [(d, k, m, means.loc[d, m] / 100) for d in names for k in range(2) for m in means]
    table = pd.DataFrame(rows, columns=["dataset", "split", "method", "accuracy"])
    text = hkl_claims.causes.wilcoxon_cause("L2-SVM", True, {"means": means, "table": table})
    differences = (printed[hkl_cell.HKL] - printed["L2-SVM"]).astype(float)
    ours = means[hkl_cell.HKL] - means["L2-SVM"]
    behind = ours.index[ours < 0]
    assert {"vote", "tic-tac-toe"} < set(behind)
    for name in behind:
        alone = ours.mask(ours.index == name, differences)
        assert (
            f"on {name} p = {stats.wilcoxon(alone[alone != 0], alternative='greater', method='approx').pvalue:.3f}"
            in text
        )
    whole = stats.wilcoxon(differences[differences != 0], alternative="greater", method="approx").pvalue
    assert text.endswith(f"on all of these p = {whole:.3f}")


@pytest.mark.parametrize(("runs", "reached"), [([80, 80, 80], 0), ([75, 79, 89], 1)])
def test_an_accuracy_hangs_on_the_folds_where_a_set_of_them_reaches_it(runs, reached):
    means = pd.DataFrame({hkl_cell.HKL: [np.mean(runs)], "L2-SVM": [82.0]}, ["vote"])
    accuracies = np.repeat(runs, 4) + np.tile([-9.0, 9.0, -9.0, 9.0], 3)
    table = pd.DataFrame({"dataset": "vote", "method": hkl_cell.HKL, "split": range(12), "accuracy": accuracies / 100})
    figures = {"means": means, "table": table, "accuracy, vote": mean_of(accuracies)}
    text = hkl_claims.causes.accuracy_cause("vote", 90.0, figures)
    assert text.startswith("protocol: folds")
    assert (f"{reached} of 3 sets of 4 folds reach 89.00 %" in text) is (reached > 0)
    assert ("what each matters is not separated" in text) is (reached == 0)
    assert text.endswith(
        "the other 1 approaches the best has 82.00 (L2-SVM), and each is above the disjunctions; why is not known"
        if np.mean(runs) < 82
        else "has 82.00 (L2-SVM)"
    )


def test_sets_of_folds_are_as_many_as_every_repeated_data_set_has():
    rows = [("once", 0, 7.0)] + [("two", k, float(k // 4)) for k in range(8)] + [("three", k, 5.0) for k in range(12)]
    parts = pd.DataFrame(rows, columns=["dataset", "split", "a"]).set_index(["dataset", "split"])["a"]
    runs = hkl_claims.causes.by_shuffle(parts)
    assert runs.T.to_dict("list") == {"once": [7, 7], "three": [5, 5], "two": [0, 1]}
    assert hkl_claims.causes.by_shuffle(parts.loc[["once"]]).shape == (1, 1)


def test_an_error_of_one_set_of_folds_is_that_between_their_means():
    parts = pd.Series([80.0, 90.0, 80.0, 90.0, 84.0, 86.0, 84.0, 86.0, 70.0, 90.0, 90.0, 90.0], range(12))
    parts.index.name = "split"
    assert hkl_claims.causes.one_run_error(parts[:4]) == pytest.approx(np.std([80, 90, 80, 90], ddof=1) / 2)
    assert hkl_claims.causes.one_run_error(parts[:8]) == 0.0  # both means are 85
    assert hkl_claims.causes.one_run_error(parts) == 0.0
    assert hkl_claims.causes.one_run_error(parts + np.repeat([0.0, 1.0, 5.0], 4)) == pytest.approx(
        np.std([0, 1, 5], ddof=1)
    )


@pytest.mark.parametrize("expected", [True, False])
@pytest.mark.parametrize(("leads", "source"), [((9.0, -0.2), "protocol: "), ((9.0, 9.0), "ours: ")])
def test_a_test_hangs_on_the_folds_where_a_set_of_them_changes_it(leads, source, expected):
    """The disjunctions are .1 to 1 points above on eight data sets; on two, others lead by this in a set of folds."""
    gains = pd.Series(np.arange(1, 11) / 10, hkl_printed.TABLE1_DATASETS)
    rows = [
        (d, 4 * run + k, m, (80 + (m == hkl_cell.HKL) * (-lead if d in ("vote", "tic-tac-toe") else gains[d])) / 100)
        for d in gains.index
        for run, lead in enumerate(leads if expected else [-0.2 if lead == 9.0 else 9.0 for lead in leads])
        for k in range(4)
        for m in (hkl_cell.HKL, "L2-SVM")
    ]
    table = pd.DataFrame(rows, columns=["dataset", "split", "method", "accuracy"])
    means = 100 * table.groupby(["dataset", "method"])["accuracy"].mean().unstack()
    figures = {"means": means, "table": table}
    text = hkl_claims.causes.wilcoxon_cause("L2-SVM", expected, figures)
    n = sum(lead != 9.0 for lead in leads)
    assert text.startswith(source)
    assert f"p is {'' if expected else 'not '}below 0.05 in {n} of 2 sets of folds" in text


@needs_folder
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
