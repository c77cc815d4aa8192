"""The report, a self-contained file in which names and values of the data are escaped; and its figures."""

import base64
import json
import re
from itertools import pairwise

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.frozen import FrozenEstimator

import fsgym
from agents import DatumWiseClassifier, LatticeClassifier
from baselines import CARTClassifier
from fsgym import Dataset, compare, load_dataset
from fsgym.comparison import figures
from fsgym.comparison.answer import losses_table
from fsgym.comparison.figures import draw, tradeoff, tradeoff_axes
from fsgym.comparison.ranking import REFERENCE_TITLES, rank_methods, titles_with_flags
from fsgym.comparison.report import pooled_bins
from fsgym.comparison.summary import mean_text, settings_text, summarise
from fsgym.methods import METHODS, REFERENCES
from support.comparisons import results_of, row_of
from support.pages import read

NASTY = "<script>alert('$x$')</script>"


def nasty_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] > 0, "<b>yes</b>", "no & no")
    return Dataset(X, y, feature_names=[NASTY, "b_{1}$", "名前"], name="<i>odd</i>")


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    for name in ("losses.tex", "ranks.png", "curves.pdf", "own.png"):
        (folder / name).touch()
    quick = [DatumWiseClassifier(lam=v, n_iterations=2, states_per_sample=3) for v in (0.0, 0.05)]
    results = compare(
        nasty_data(),
        {"rcpi": quick, "<u>own</u>": "cart", "lars": "lars"},
        splits=2,
        costs=[2.0, 1.0, 1.0],
        out=folder,
        command="fsgym compare '<p>'",
    )
    return folder, results


def test_files_are_written_and_the_table_is_the_one_returned(report):
    folder, results = report
    read_again = pd.read_csv(folder / "results.csv")
    numbers = results.columns.drop(["error", "warning"])
    pd.testing.assert_frame_equal(read_again[numbers], results[numbers], check_dtype=False)
    assert results["error"].isna().all()
    for stem in ("curves", "histogram", "usage", "lambda", "reliability"):
        assert (folder / f"{stem}.png").read_bytes().startswith(b"\x89PNG")
    kept = {name for name in ("losses.tex", "ranks.png", "curves.pdf", "own.png") if (folder / name).exists()}
    assert kept == {"own.png"}  # the others would be those of an earlier call


def test_a_method_is_described_by_what_it_is_and_not_by_its_name(report):
    uses = (report[0] / "report.html").read_text().partition("What the methods use")[2].partition("</ul>")[0]
    described = [item.partition(":")[0] for item in uses.split("<li>")[1:]]
    assert described == ["&lt;u&gt;own&lt;/u&gt;", "LARS / lasso path", *REFERENCE_TITLES.values()]  # not "rcpi"


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.slow
def test_what_is_worse_than_answering_without_any_feature_is_never_bold(tmp_path):
    rng = np.random.default_rng(0)
    noise = [
        Dataset(rng.normal(size=(80, 2)), rng.permutation(np.arange(80) % 4 == 0).astype(int), name=f"noise {k}")
        for k in range(2)
    ]
    whole = {"tree": [CARTClassifier(ccp_alpha=0.0)]}
    for references in (True, False):
        folder = tmp_path / str(references)
        fsgym.compare_datasets(noise, whole, splits=2, references=references, progress=False, out=folder)
        for page in (folder / "report.html", folder / "noise_0" / "report.html"):
            _, _, table = page.read_text(encoding="utf-8").partition(
                "bold, unless answering without acquiring anything"
            )
            assert ('class="best"' in table.partition("</table>")[0]) is not references


def test_report_is_self_contained(report):
    folder, _ = report
    markup, _ = read(folder / "report.html")
    assert "script" not in markup.tags
    assert "link" not in markup.tags
    assert len(markup.links) == 5
    for link in markup.links:
        kind, data = link.split(",")
        assert kind == "data:image/png;base64"
        assert base64.b64decode(data).startswith(b"\x89PNG")
    assert not re.search(r"url\(|@import", (folder / "report.html").read_text(encoding="utf-8"))


def test_names_in_the_data_are_escaped(report):
    folder, _ = report
    markup, text = read(folder / "report.html")
    assert not {"i", "u"} & set(markup.tags)
    assert NASTY in text  # in the example trajectories: the first column decides
    assert "<b>yes</b>" in text
    assert "<i>odd</i>" in text
    assert "<u>own</u>" in text
    assert "fsgym compare '<p>'" in text


def test_report_says_where_it_comes_from(report):
    folder, results = report
    _, text = read(folder / "report.html")
    for part in (f"fsgym {fsgym.__version__}", f"numpy {np.__version__}", "Seed 0", "python 3.", "gymnasium", "numba"):
        assert part in text
    summary = fsgym.summarise(results)
    for row in summary.within.to_dict("records"):
        assert mean_text(row, "accuracy") in text
    for row in summary.losses.to_dict("records"):
        assert mean_text(row, "loss") in text
    rows, columns = losses_table(results)
    assert [ranking.lam for ranking, _ in rows] == sorted(summary.losses["lam"])
    for (ranking, standing), *cells in zip(rows, *columns.values(), strict=True):
        assert " ".join(filter(None, [f"{ranking.lam:.4g}", standing.title, standing.note, *cells])) in text


def test_examples_show_original_values_and_prices(report):
    folder, _ = report
    _, text = read(folder / "report.html")
    values = re.findall(re.escape(NASTY) + r" = (-?[\d.]+) price ([\d.]+)", text)
    column = {f"{v:.6g}" for v in nasty_data().X[:, 0]}
    assert values
    assert all(v in column and price == "2" for v, price in values)


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.slow
def test_failures_broken_rules_and_missing_values_are_reported(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 4))
    y = (X.sum(axis=1) > 0).astype(int)
    X[rng.random(X.shape) < 0.1] = np.nan
    compare(Dataset(X, y, name="holed"), ["lars"], splits=1, budget=1, out=tmp_path)
    _, text = read(tmp_path / "report.html")
    assert "breaks the rules (" in text
    assert "No method pays for a missing value" in text
    with pytest.warns(UserWarning, match="fits failed"):
        compare(Dataset(X, y), {"bad": DatumWiseClassifier(alpha=7.0)}, splits=1, out=tmp_path)
    _, text = read(tmp_path / "report.html")
    assert "Failed fits" in text
    assert "alpha" in text


SETTINGS = pd.DataFrame({
    "method": ["a", "a", "b"], "sparsity": [0.2, 0.9, 0.5], "sparsity_std": [0.1, 0.0, 0.05],
    "accuracy": [0.9, 0.7, 0.8], "accuracy_std": [0.01, 0.02, 0.03], "lam": [0.0, 0.1, np.nan],
})  # fmt: skip


def test_curves_show_means_with_bars_both_ways():
    ax = Figure().add_subplot()
    assert draw(figures.curves(SETTINGS, {"a": "A", "b": "B"}, chance=0.6), ax) is ax
    first, second = ax.containers
    np.testing.assert_allclose(first[0].get_xydata(), [[0.2, 0.9], [0.9, 0.7]])
    assert first.has_xerr
    assert first.has_yerr
    bars = first[2][0].get_segments()
    np.testing.assert_allclose(bars[0], [[0.1, 0.9], [0.3, 0.9]])
    np.testing.assert_allclose(second[0].get_xydata(), [[0.5, 0.8]])
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["largest class, no feature used", "A", "B"]
    assert ax.get_xlabel()
    assert ax.get_ylabel()


def test_price_figure_shows_swept_methods_only():
    ax = draw(figures.price_against_sparsity(SETTINGS, {"a": "A", "b": "B"}))
    (only,) = ax.containers
    np.testing.assert_allclose(only[0].get_xydata(), [[0.0, 0.2], [0.1, 0.9]])
    assert [t.get_text() for t in ax.get_xticklabels()] == ["0", "0.1"]


def test_bins_of_several_splits_are_pooled():
    def outcome(*bins):
        return {"row": {}, "reliability": [dict(zip(("certainty", "correct", "rows"), line)) for line in bins]}

    pooled = pooled_bins([outcome((0.62, 0.5, 10), (0.95, 1.0, 20)), outcome((0.66, 1.0, 30)), {"row": {}}])
    np.testing.assert_allclose(pooled, [[0.65, 0.875, 40], [0.95, 1.0, 20]])
    assert pooled_bins([{"row": {}}, outcome()]).shape == (0, 3)


def test_histogram_shows_shares():
    ax = draw(figures.used_counts({"a": [1, 3, 0, 0], "b": [0, 0, 2, 0]}, {"a": "A", "b": "B"}))
    heights = [[bar.get_height() for bar in container] for container in ax.containers]
    assert heights == [[0.25, 0.75, 0.0], [0.0, 0.0, 1.0]]


def test_usage_shows_the_most_used_of_many_features():
    usage = np.linspace(0, 1, 50)
    ax = draw(figures.used_features({"a": usage}, [f"f{j}" for j in range(50)], {"a": "A"}))
    names = [t.get_text() for t in ax.get_yticklabels()]
    assert names == [f"f{j}" for j in range(20, 50)]
    np.testing.assert_allclose([bar.get_width() for bar in ax.containers[0]], usage[20:])


NAMES = {
    "short": [f"panel {k}" for k in range(7)],
    "alike": [f"panel region, claim amount, days open, customer days, number of calls, expert {k}" for k in range(7)],
    "wide": ["\u975e\u5e38\u306b\u9577\u3044\u540d\u524d" * 9 + str(k) for k in range(7)],
}


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("which", ["costs", "curves", "usage", "histogram"])
@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.one_in(3)
def test_names_of_any_length_leave_room_for_the_plot(names, which):
    methods = NAMES[names]
    rows = [row_of(name, error=20.0 + k, spent=9.1, lam=1.0, accuracy=0.9) for k, name in enumerate(methods)]
    rows[0] |= {"spent": 0.02, "validation_spent": 0.02}  # a wide range of prices
    ranking = rank_methods(results_of(*rows, row_of("constant", error=90.0, n=0.0, accuracy=0.8, lam=1.0)))
    titles, shares = {name: name for name in methods}, {name: [0.9, 0.1] for name in methods}
    with matplotlib.rc_context(figures.STYLE):
        if which == "costs":
            figure = figures.costs(ranking, titles | {"constant": "nothing acquired"})
            assert len(set(figure["y"]["tick_labels"])) == len(methods) + 1
        elif which == "curves":
            figure = tradeoff(ranking, summarise(results_of(*rows)).settings, titles)
        elif which == "usage":
            figure = figures.used_features(shares, ["age", "blood pressure"], titles)
        else:
            figure = figures.used_counts(shares, titles)
        ax = draw(figure)
        whole = ax.get_figure(root=True)
        whole.draw_without_rendering()
    legend = ax.get_legend()
    texts = [text.get_text() for text in legend.get_texts()]
    assert len(set(texts)) == len(texts)
    assert ax.bbox.width > 0.3 * whole.bbox.width
    assert ax.bbox.height > 0.5 * 72
    x_ticks, y_ticks = (
        [label for tick, label in zip(axis.get_ticklocs(), axis.get_ticklabels()) if low <= tick <= high]
        for axis, (low, high) in ((ax.xaxis, sorted(ax.get_xlim())), (ax.yaxis, sorted(ax.get_ylim())))
    )
    labels = [label for label in (ax.xaxis.label, ax.yaxis.label) if label.get_text()]
    for drawn_text in (legend, *labels, *x_ticks, *y_ticks):
        extent = drawn_text.get_window_extent()
        assert extent.x0 >= -1
        assert extent.y0 >= -1
        assert extent.x1 <= whole.bbox.width + 1
        assert extent.y1 <= whole.bbox.height + 1
    ends = [label.get_window_extent() for label in x_ticks]
    assert all(left.x1 < right.x0 for left, right in pairwise(sorted(ends, key=lambda e: e.x0)))


def test_methods_differ_in_colour_and_marker():
    styles = figures.method_styles(list("abcdefgh"))
    assert len({style["color"] for style in styles.values()}) == 8
    assert len({style["marker"] for style in styles.values()}) == 8


def test_every_method_has_a_colour_of_its_own():
    styles = figures.method_styles(list(METHODS))
    colours = [style["color"].lower() for name, style in styles.items() if name not in REFERENCES]
    assert len(set(colours)) == len(METHODS) - len(REFERENCES)
    assert {styles[name]["color"] for name in REFERENCES} == {figures.REFERENCE_COLOUR}
    assert figures.REFERENCE_COLOUR not in colours
    assert figures.method_styles(["cart", "constant", "mine"])["cart"] == styles["cart"]
    more = [f"more{k}" for k in range(20)]
    many = figures.method_styles([*more, *METHODS])
    assert len({style["color"].lower() for style in many.values()}) == len(METHODS) + 20 - len(REFERENCES) + 1
    assert all(many[name] == styles[name] for name in figures.STYLED_METHODS)


EARLIER_COLOURS = """
adaptive #0072B2  lattice #D55E00  mixture #009E73  network #CC79A7  rcpi #E69F00
rcpi_printed #56B4E9  l1_svm #000000  zero_norm_svm #8C6D31  lars #882255  cart #44AA99
cegb #332288  maskable_ppo #999933  dqn #AA4499  gbfs #117733  lufe #DDCC77  uncertain_sgl #6699CC
hkl #661100  l1_logistic #E31A1C  group_lasso #6A51A3  forest #7FBF3F  mrmr #328c1c
hsic_lasso #d92b81  gdfs #1c748c  dime #d9cc2b  panel #631c8c  stopping #2bd966
sparse_group_lasso #8c221c
"""


def test_the_colours_of_methods_are_those_of_earlier_pictures():
    styles = figures.method_styles(list(reversed(METHODS)))
    words = EARLIER_COLOURS.split()
    earlier = dict(zip(words[::2], words[1::2], strict=True))
    assert {name: styles[name]["color"] for name in earlier} == earlier


@pytest.mark.slow
def test_nothing_empty_is_drawn(tmp_path):
    nothing = {"nothing": lambda env: lambda observations, masks: np.full(len(masks), 3)}
    compare(nasty_data(), nothing, splits=1, lam=0.5, out=tmp_path)
    assert {path.stem for path in tmp_path.glob("*.png")} == {"curves"}
    markup, text = read(tmp_path / "report.html")
    assert len(markup.links) == 1
    assert "Single cases" not in text
    assert "Loss at each lambda" not in text
    assert "±" not in text
    compare(nasty_data(), {"cart": CARTClassifier()}, splits=1, lam=0.5, out=tmp_path / "alone", references=False)
    assert (tmp_path / "alone" / "usage.png").exists()


def test_the_main_picture_has_features_or_money_and_reference_lines():
    rows = [row_of("cart"), row_of("constant", n=0.0, error=0.4), row_of("everything", n=30.0, error=0.02)]
    titles = {"cart": "CART", "constant": "nothing acquired", "everything": "everything acquired"}
    for more, x_label, y in (
        ({}, "mean number of features used per case", "share of wrong answers"),
        ({"spent": 7.0}, "mean price paid per case", "share of wrong answers"),
        ({"accuracy": 0.5}, "mean price paid per case", "mean cost of errors per case"),
    ):
        results = results_of(rows[0] | more, *rows[1:])
        ax = draw(tradeoff(rank_methods(results), summarise(results).settings, titles))
        assert (ax.get_xlabel(), ax.get_ylabel()) == (x_label, y)
        labels = [text.get_text() for text in ax.get_legend().get_texts()]
        assert labels[0] == "CART"
        assert labels[-1] == "best at lambda 0.01"
        assert "nothing acquired" in labels
        assert len(labels) == 4
        assert ax.get_yscale() == "log"
        assert not any(container.has_xerr or container.has_yerr for container in ax.containers)
        drawn = {tuple(np.unique(np.asarray(line.get_ydata(), float).round(12))) for line in ax.get_lines()}
        assert {(0.4,), (0.02,)} <= drawn
    balanced = results_of(*rows, headline=("accuracy", "balanced_accuracy", "auc"))
    assert tradeoff_axes(rank_methods(balanced))[1] == "balanced_error_rate"
    figure = tradeoff(rank_methods(balanced), summarise(balanced).settings, titles)
    assert [line["label"] for line in json.loads(json.dumps(figure))["lines"]] == ["CART"]  # plain values
    assert figure["y"]["label"].endswith("classes")


def test_the_main_picture_shows_a_method_without_errors():
    rows = [row_of("cart", error=0.0), row_of("lars"), row_of("constant", n=0.0, error=0.4)]
    results = results_of(*rows)
    ax = draw(tradeoff(rank_methods(results), summarise(results).settings, {"cart": "CART", "lars": "LARS"}))
    floor = 0.5 / 100  # half an error of the test rows
    assert ax.containers[0][0].get_ydata().tolist() == [floor]
    assert (ax.get_yticks()[0], ax.get_yticklabels()[0].get_text()) == (floor, "0")
    (ring,) = [line for line in ax.get_lines() if line.get_label() == "best at lambda 0.01"]
    np.testing.assert_allclose(ring.get_ydata(), [floor])


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.slow
def test_flags_are_visible_in_table_and_legend(tmp_path):
    policy = FrozenEstimator(LatticeClassifier(unknown=0, lam=0.01, random_state=0).fit(nasty_data()))
    with pytest.warns(UserWarning, match="trained on"):
        results = compare(nasty_data(), {"own": policy, "cart": "cart"}, splits=1, lam=0.01, out=tmp_path)
    _, text = read(tmp_path / "report.html")
    assert text.count("trained on 100 % of the test rows") >= 2  # in the table, and above the single cases
    assert "own has the lowest loss" not in text
    ranking = rank_methods(results)
    ax = draw(tradeoff(ranking, summarise(results).settings, titles_with_flags(ranking)))
    legend = [entry.get_text() for entry in ax.get_legend().get_texts()]
    assert "own (trained on 100 % of the test rows)" in legend


def test_texts():
    row = {"accuracy": 0.9537, "accuracy_std": 0.0104, "loss": np.nan, "loss_std": np.nan}
    assert mean_text(row, "accuracy") == "0.954 ± 0.010"
    assert mean_text(row, "accuracy", short=True) == "0.954±.010"
    assert mean_text(row, "loss") == "–"
    assert settings_text('{"lam": 0.01}') == "lam 0.01"
    assert settings_text('{"alpha": 0.0, "max_features": 3}') == "max_features 3"
    assert settings_text("{}") == "as given"
    assert figures.shorten_name("x" * 40) == "x" * 27 + "…"


def ward_table():
    """A number with a unit, a category, a bool, and a panel of two numbers."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"crp": rng.normal(10, 3, 80).round(1), "ward": rng.choice(["er", "gp", "icu"], 80)})
    frame = frame.assign(wbc=rng.normal(size=80), hgb=rng.normal(size=80), y=np.where(frame["crp"] > 10, "acs", "none"))
    frame.loc[frame["ward"] == "icu", "y"] = "acs"
    return frame


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.slow
def test_columns_units_levels_and_class_labels_are_shown(tmp_path):
    data = load_dataset(ward_table(), target="y")
    data = data.replace(columns=data.columns.with_units({"crp": "mg/l"}))
    errors = {"acs": {"acs": 0, "none": 40}, "none": {"acs": 1000, "none": 0}}
    methods = {"lattice": LatticeClassifier(unknown=0, lam=0.01, error_costs=errors), "cart": "cart"}
    results = compare(data, methods, splits=1, out=tmp_path, error_costs=errors)
    _, text = read(tmp_path / "report.html")
    assert "4 features, 2 classes" in text  # not six: the ward is one
    assert "Costs of errors: a missed acs costs 1000, a false acs costs 40." in text
    assert re.search(r"crp = [\d.]+ mg/l", text)
    assert re.search(r"ward = (er|gp|icu)", text)
    assert "ward=" not in text
    assert not re.search(r"group \d|groups used|in \d+ groups", text)
    used = [set(json.loads(text)) for text in results["usage"]]
    assert {"crp", "ward"} < set.union(*used) <= {"crp", "ward", "wbc", "hgb"}
    np.testing.assert_allclose(results["n_features"], results["n_acquisitions"])


def test_groups_are_named_and_show_their_columns(tmp_path):
    data = load_dataset(ward_table(), target="y")
    data = data.replace(columns=data.columns.with_units({"wbc": "G/l"})).with_groups({"panel": ["wbc", "ward"]})
    factory = {"all": lambda env: lambda observations, masks: np.where(masks[:, 1], 1, 3)}
    results = compare(data, factory, splits=1, lam=0.01, out=tmp_path, references=False)
    _, text = read(tmp_path / "report.html")
    assert data.acquisition_names == ("crp", "panel", "hgb")
    assert re.search(r"panel: ward = (er|gp|icu), wbc = -?[\d.]+ G/l", text)
    assert "4 features in 3 groups" in text
    assert results["usage"].tolist() == ['{"panel": 1.0}']


def test_agents_with_options_by_name_are_fitted_by_name(tmp_path):
    data = load_dataset(ward_table(), target="y", drop=["ward"])
    quick = {"n_iterations": 1, "states_per_sample": 2, "random_state": 0}
    named, placed = (
        DatumWiseClassifier(lam=0.1, costs=costs, **quick) for costs in ({"hgb": 1, "wbc": 1, "crp": 0.5}, [0.5, 1, 1])
    )
    results = compare(data, {"named": named, "placed": placed}, splits=1, costs=[0.5, 1, 1])
    assert results["error"].isna().all()
    assert results["spent"].max() <= 2.5
