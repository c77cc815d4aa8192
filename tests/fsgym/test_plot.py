"""Pictures of results: what is drawn, its labels, and one sentence where it cannot be drawn."""

import json
import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import fsgym
from baselines import LassoPathClassifier
from fsgym import Dataset, Evaluation, Rules, compare, evaluate, plot
from fsgym.methods import METHODS
from fsgym.plot import fits_with_usage
from support.comparisons import results_of, row_of


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def fits(method, points, **more):
    """Rows of a results frame with two splits, one setting per point (n_features, accuracy)."""
    rows = []
    for split in (0, 1):
        for k, (used, accuracy) in enumerate(points):
            figures = dict.fromkeys(Evaluation.FIGURES, 0.0) | {"n_features": used + split, "accuracy": accuracy}
            figures |= {"admissible": 1.0, "loss": 0.5 - used / 10}
            validation = {f"validation_{name}": value for name, value in figures.items()}
            row = {"dataset": "d", "split": split, "method": method, "setting": k, "params": "{}", "price": 0.05}
            row |= {"n_train": 40, "n_test": 50}
            rows.append(row | figures | validation | {"error": None} | more)
    return rows


def frame(*rows):
    return pd.DataFrame([row for part in rows for row in part])


TWO = frame(fits("cart", [(2.0, 0.9), (0.0, 0.5)]), fits("mine", [(1.0, 0.8)]))


def drawn_points(ax):
    return [container[0].get_xydata().tolist() for container in ax.containers]


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_matplotlib_is_imported_when_something_is_drawn():
    code = "import sys, fsgym; fsgym.plot.curves; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
    assert fsgym.plot is plot
    assert "plot" in dir(fsgym)


def test_curves_have_one_line_per_method_with_means_over_the_splits():
    ax = plot.curves(TWO, y="accuracy")
    assert drawn_points(ax) == [[[0.5, 0.5], [2.5, 0.9]], [[1.5, 0.8]]]
    assert legend_texts(ax) == [METHODS["cart"].title, "mine"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("mean features used", "accuracy on the test part")
    assert ax.get_yscale() == "linear"
    assert plt.gcf() is ax.figure
    ax = plot.curves(TWO, "n_features", "loss", methods=["mine"])
    np.testing.assert_allclose(drawn_points(ax), [[[1.5, 0.4]]])
    assert ax.get_ylabel() == "loss (lambda 0.05) on the test part"
    assert plot.curves(TWO, y="validation_accuracy").get_ylabel() == "accuracy on the validation part"


def test_curves_show_errors_on_a_logarithmic_axis_without_bars():
    ax = plot.curves(TWO)
    np.testing.assert_allclose(np.concatenate(drawn_points(ax)), [[0.5, 0.5], [2.5, 0.1], [1.5, 0.2]])
    assert (ax.get_yscale(), ax.get_ylabel()) == ("log", "share of wrong answers on the test part")
    assert not any(container.has_xerr or container.has_yerr for container in ax.containers)
    ticks = {label.get_text(): place for label, place in zip(ax.get_yticklabels(), ax.get_yticks())}
    assert "0" not in ticks
    for text, place in ticks.items():
        assert text.endswith(" %")
        assert float(text[:-2]) == pytest.approx(100 * place)
    low, high = ax.get_ylim()
    assert low < 0.1 < 0.5 < high
    assert plot.curves(TWO, y="validation_error_rate").get_ylabel() == "share of wrong answers on the validation part"
    assert plot.curves(TWO, y="balanced_error_rate").get_yscale() == "log"


def test_a_setting_without_errors_is_drawn_at_half_an_error_and_its_tick_is_0():
    results = frame(fits("cart", [(1.0, 0.9), (5.0, 1.0)]))
    ax = plot.curves(results)
    half = 0.5 / 100  # two splits with 50 test rows each
    np.testing.assert_allclose(drawn_points(ax)[0], [[1.5, 0.1], [5.5, half]])
    assert ax.get_yticks()[0] == half
    assert ax.get_yticklabels()[0].get_text() == "0"
    assert ax.get_ylim()[0] < half
    ax = plot.curves(results, y="validation_error_rate")
    np.testing.assert_allclose(drawn_points(ax)[0][1], [5.5, 0.5 / 20])  # a quarter of two training parts of 40 rows
    costs = results.assign(error_cost=7.0 * (1 - results["accuracy"]))
    ax = plot.curves(costs, y="error_cost")
    np.testing.assert_allclose(drawn_points(ax)[0], [[1.5, 0.7], [5.5, 7 * half]])
    perfect = plot.curves(frame(fits("cart", [(1.0, 1.0)])))
    assert perfect.get_yscale() == "linear"
    assert drawn_points(perfect) == [[[1.5, 0.0]]]


def test_a_negative_cost_of_errors_keeps_the_axis_linear():
    results = TWO.assign(error_cost=TWO["accuracy"] - 0.6)
    ax = plot.curves(results, y="error_cost")
    assert ax.get_yscale() == "linear"
    np.testing.assert_allclose(drawn_points(ax)[0], [[0.5, -0.1], [2.5, 0.3]], atol=1e-12)


def test_curves_of_a_csv_file_are_those_of_the_frame(tmp_path):
    results = compare(
        "wine", {"cart": "cart", "mine": LassoPathClassifier(max_features=2)}, splits=2, budget=1, references=False
    )
    results.to_csv(tmp_path / "results.csv", index=False)
    given = Figure().add_subplot()
    ax = plot.curves(pd.read_csv(tmp_path / "results.csv"), "spent", "error_cost", ax=given)
    assert ax is given
    expected = drawn_points(plot.curves(results, "spent", "error_cost"))
    np.testing.assert_allclose(np.concatenate(drawn_points(ax)), np.concatenate(expected))
    assert legend_texts(ax)[-1] == "breaks the rules on some rows"
    settings = fsgym.summarise(results).settings
    broken = settings[settings["admissible"] < 1]
    np.testing.assert_allclose(ax.lines[-1].get_xydata(), broken[["spent", "error_cost"]])


def test_curves_against_lambda_have_the_swept_methods_only():
    swept = pd.concat(
        [
            frame(fits("rcpi", [(k, 0.7)], setting=i, params=f'{{"lam": {lam}}}'))
            for i, (k, lam) in enumerate([(4.0, 0.0), (2.0, 0.1)])
        ]
    )
    both = pd.concat([TWO, swept])
    ax = plot.curves(both, "lam", "n_features")
    assert drawn_points(ax) == [[[0.0, 4.5], [0.1, 2.5]]]
    assert ax.get_ylabel() == "mean features used on the test part"
    failed = both.assign(error=np.where(both["method"] == "rcpi", "no", None))
    for results, methods in ((TWO, None), (both, ["cart", "rcpi"]), (failed, None)):
        with pytest.raises(
            ValueError, match="x='lam' needs methods that are trained at several values of lam, got cart"
        ):
            plot.curves(results, "lam", methods=methods)


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        (lambda r: r.drop(columns="params"), {}, "no column 'params'"),
        (lambda r: r.drop(columns="spent"), {"x": "spent"}, "no column 'spent'"),
        (lambda r: r, {"x": "sparse"}, "unknown figure 'sparse'; did you mean 'sparsity'"),
        (lambda r: r, {"y": "lam"}, "unknown figure 'lam'"),
        (lambda r: r, {"y": "n_features"}, "two figures, got 'n_features' for both"),
        (lambda r: r, {"methods": "crat"}, "unknown method 'crat'; did you mean 'cart'"),
        (lambda r: r.assign(dataset=np.where(r["method"] == "cart", "a", "b")), {}, "one data set, got a, b"),
        (lambda r: r.assign(error="too slow"), {}, "fit that succeeded.*too slow"),
    ],
)
def test_frames_that_cannot_be_drawn_are_refused_in_a_sentence(change, arguments, message):
    with pytest.raises(ValueError, match=message) as caught:
        plot.curves(change(TWO), **arguments)
    assert "\n" not in str(caught.value)
    assert not plt.get_fignums()


def test_curves_refuse_what_is_no_frame_or_axes_and_warn_of_failed_methods():
    with pytest.raises(TypeError, match=r"results must be the DataFrame.*got Summary"):
        plot.curves(fsgym.summarise(TWO.assign(warning=None)))
    with pytest.raises(TypeError, match="ax must be a Matplotlib Axes, got Figure"):
        plot.curves(TWO, ax=Figure())
    failed = TWO.assign(error=np.where(TWO["method"] == "mine", "no", None))
    with pytest.warns(UserWarning, match="all fits of mine failed"):
        assert len(plot.curves(failed).containers) == 1
    partly = pd.concat([TWO, TWO.assign(split=9, error=np.where(TWO["method"] == "mine", "no", None))])
    with pytest.warns(UserWarning, match="Settings whose fit failed in some split are left out"):
        assert legend_texts(plot.curves(partly)) == [METHODS["cart"].title]
    with pytest.raises(ValueError, match="a setting whose fits succeeded in every split, got none"):
        plot.curves(partly, methods="mine")


def panel():
    """Three features in two groups, and an actor that always acquires the second group."""
    data = Dataset([[0, 5, 1], [1, 5, 2], [0, 6, 3]], [0, 1, 0], groups=[[0, 2], [1]], group_names=["a$b_$", "alone"])
    return data, lambda observations, masks: np.where(masks[:, 1], 1, 2)


def test_usage_has_a_bar_per_acquisition_from_the_most_used():
    data, actor = panel()
    result = evaluate(actor, data)
    ax = plot.usage(result)
    assert [bar.get_width() for bar in ax.patches] == [1.0, 0.0]
    names = ax.get_yticklabels()
    assert [name.get_text() for name in names] == ["alone", "a$b_$"]
    assert not any(name.get_parse_math() for name in names)
    assert ax.get_xlabel() == "share of rows that use it"
    assert ax.get_legend() is None
    nothing = evaluate(lambda observations, masks: [2] * len(masks), data)
    ax = plot.usage({"rcpi": nothing, "mine": result}, ax=Figure().add_subplot())
    assert [bar.get_width() for bar in ax.patches] == [0.0, 0.0, 1.0, 0.0]
    assert legend_texts(ax) == [METHODS["rcpi"].title, "mine"]
    ax.figure.canvas.draw()


def test_usage_of_many_features_has_the_most_used():
    X = np.zeros((4, 60), np.float32)
    data = Dataset(X, [0, 1, 0, 1])
    ax = plot.usage(evaluate(lambda o, m: np.where(m[:, 50], 50, 60), data))
    assert len(ax.patches) == 30
    assert ax.get_yticklabels()[0].get_text() == "x50"
    assert ax.get_ylabel() == "the 30 most used of 60 features"


def test_usage_refuses_what_is_no_evaluation():
    data, actor = panel()
    with pytest.raises(ValueError, match=r"must have the column 'usage'.*run fsgym.compare again"):
        plot.usage(TWO)
    with pytest.raises(TypeError, match=r"fsgym\.evaluate or fsgym\.compare returned, got int"):
        plot.usage(3)
    with pytest.raises(ValueError, match="at least one Evaluation"):
        plot.usage({})
    other = evaluate(lambda o, m: [3] * len(m), data, Rules(3, 2))
    with pytest.raises(ValueError, match="same acquisitions, but 'b' has others than 'a'"):
        plot.usage({"a": evaluate(actor, data), "b": other})


def test_paths_have_a_column_per_model_and_a_row_per_feature(wine):
    X, y = wine
    data = Dataset(X, y, feature_names=[f"f{j}" for j in range(13)])
    models = [LassoPathClassifier(max_features=k).fit(X, y) for k in (0, 1, 3)]
    ax = plot.paths(models, data)
    cells = ax.images[0].get_array()
    assert cells.shape == (13, 3)
    assert cells.sum(axis=0).tolist() == [0, 1, 3]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "1", "3"]
    assert ax.get_xlabel() == "max_features"
    used = models[2].features_used(X)[0]
    assert {label.get_text() for label in ax.get_yticklabels()[:3]} == {f"f{j}" for j in np.flatnonzero(used)}
    assert ax.get_yticklabels()[0].get_text() == f"f{np.flatnonzero(models[1].features_used(X)[0])[0]}"
    with pytest.raises(TypeError, match="data must be the Dataset whose rows the models classify, got NoneType"):
        plot.paths(models)


def test_paths_label_evaluations_by_lambda_or_by_what_is_used():
    data, actor = panel()
    results = [evaluate(actor, data, Rules.for_dataset(data, lam=lam)) for lam in (0.1, 0.5)]
    ax = plot.paths(results)
    assert (ax.get_xlabel(), [label.get_text() for label in ax.get_xticklabels()]) == ("lambda", ["0.1", "0.5"])
    assert ax.images[0].get_array().tolist() == [[1, 1], [0, 0]]
    ax = plot.paths([results[0]] * 2)
    assert ax.get_xlabel() == "mean features used"
    ax = plot.paths({"early": results[0], "late": results[1]}, ax=Figure().add_subplot())
    assert [label.get_text() for label in ax.get_xticklabels()] == ["early", "late"]
    for wrong in ([3.0], 3.0, [TWO]):
        with pytest.raises(TypeError, match=r"this figure needs what fsgym.evaluate or"):
            plot.paths(wrong)


def used(**shares):
    return {"usage": json.dumps(shares)}


SWEPT = frame(
    *(
        fits("rcpi", [(k, 0.7)], setting=i, params=f'{{"lam": {lam}}}', validation_loss=loss, **used(**shares))
        for i, (k, lam, loss, shares) in enumerate(
            [(3.0, 0.0, 0.4, {"a": 1.0, "b": 0.5}), (1.0, 0.1, 0.2, {"b": 0.25}), (0.0, 0.2, 0.1, {})]
        )
    )
)
SWEPT.loc[SWEPT["n_features"] == 1, "n_features"] = 0.0  # the last setting uses nothing in either split
SWEPT.loc[SWEPT["split"].eq(1) & SWEPT["setting"].eq(1), "usage"] = '{"b": 0.75}'
OTHER = frame(fits("mine", [(1.0, 0.8)], **used(b=1.0, c=0.5)))


def test_usage_of_results_is_that_of_the_settings_that_a_comparison_chooses():
    """It was that of the luckiest lambda on all validation rows."""
    ax = plot.usage(pd.concat([SWEPT, OTHER]))
    assert [name.get_text() for name in ax.get_yticklabels()] == ["b", "c"]
    assert dict(zip(legend_texts(ax), np.reshape([bar.get_width() for bar in ax.patches], (2, 2)).tolist())) == {
        f"{METHODS['rcpi'].title}, lam 0.1": [0.5, 0.0],
        "mine, as given": [1.0, 0.5],
    }
    lucky = SWEPT.assign(validation_loss=SWEPT["validation_loss"].where(SWEPT["setting"] != 0, 0.01))
    assert legend_texts(plot.usage(lucky)) == [f"{METHODS['rcpi'].title}, lam 0.1"]
    with pytest.raises(ValueError, match="settings of rcpi use no feature"):
        plot.usage(SWEPT[SWEPT["setting"] == 2])


def test_usage_of_results_is_chosen_in_each_split():
    rows = frame(
        fits("mine", [(1.0, 0.9)], setting=0, params='{"depth": 1}', **used(a=1.0)),
        fits("mine", [(1.0, 0.9)], setting=1, params='{"depth": 2}', **used(b=0.5)),
    )
    ax = plot.usage(rows.assign(validation_error_cost=np.where(rows["split"] == rows["setting"], 0.1, 0.2)))
    assert [name.get_text() for name in ax.get_yticklabels()] == ["a", "b"]
    assert [bar.get_width() for bar in ax.patches] == [0.5, 0.25]
    assert legend_texts(ax) == ["mine"]


def test_a_method_without_an_admissible_setting_is_not_drawn():
    breaking = SWEPT.assign(validation_admissible=0.5)
    with pytest.warns(UserWarning, match=r"all settings of RCPI .* break the rules, so they are not drawn"):
        assert legend_texts(plot.usage(pd.concat([breaking, OTHER]))) == ["mine, as given"]
    with pytest.raises(ValueError, match="respect the rules on every validation row, got none of RCPI"):
        plot.usage(breaking)


def test_paths_of_results_have_a_column_per_setting_of_one_method():
    ax = plot.paths(SWEPT.iloc[::-1])
    assert (ax.get_xlabel(), [t.get_text() for t in ax.get_xticklabels()]) == ("lambda", ["0", "0.1", "0.2"])
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a", "b"]
    assert ax.images[0].get_array().tolist() == [[1, 0, 0], [0.5, 0.5, 0]]
    with pytest.raises(
        ValueError, match=r"one method, got rcpi, mine; select one: results\[results\['method'\] == 'rcpi'"
    ):
        plot.paths(pd.concat([SWEPT, OTHER]))


@pytest.mark.slow
def test_usage_survives_a_csv_file(tmp_path):
    results = compare("wine", ["cart", "lars"], splits=2, references=False)
    results.to_csv(tmp_path / "results.csv", index=False)
    for drawn in (plot.usage, lambda r: plot.paths(r[r["method"] == "cart"])):
        axes = [drawn(r) for r in (results, pd.read_csv(tmp_path / "results.csv"))]
        names, again = ([t.get_text() for t in ax.get_yticklabels()] for ax in axes)
        assert names == again
        assert "proline" in names
    row = results.iloc[-1]
    assert sum(json.loads(row["usage"]).values()) == pytest.approx(row["n_features"], rel=1e-3)


def test_usage_leaves_out_reference_points_unless_there_is_nothing_else():
    method, constant = row_of("cart", usage='{"a": 1.0}'), row_of("everything", usage='{"a": 1.0, "b": 1.0}')
    assert fits_with_usage(results_of(method, constant))["method"].tolist() == ["cart"]
    assert fits_with_usage(results_of(constant))["method"].tolist() == ["everything"]
