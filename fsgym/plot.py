"""Pictures of results: the curves of a comparison, which features are used, and how that changes along a path.

Each function draws on the given Matplotlib axes, or on those of a new figure, and returns the axes. Matplotlib is
imported when a function is called.

Examples
--------
>>> import fsgym
>>> from sklearn.datasets import load_wine
>>> from agents import LatticeClassifier
>>> X, y = load_wine(return_X_y=True, as_frame=True)
>>> X = X[["hue", "flavanoids"]]
>>> model = LatticeClassifier(lam=0.05, random_state=0).fit(X, y)
>>> axes = fsgym.plot.usage(fsgym.evaluate(model, X, y))
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsgym.data.checks import is_frame
from fsgym.data.dataset import Dataset
from fsgym.evaluation.evaluate import Evaluation, evaluate
from fsgym.evaluation.result import acquires_features
from fsgym.methods import REFERENCES
from fsgym.metrics import ALL_LABELS, ERROR_RATE_LABELS, ERROR_RATES, FIGURE_LABELS
from fsgym.text.messages import brief, explain_unknown, listing, warn_caller

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from fsgym.comparison.ranking import RankedMethod, Ranking


# Rows of the table that ``fsgym.compare`` returns: checked, and selected to be drawn.

NEEDED_COLUMNS = ("split", "method", "setting", "params", "price", "admissible", "error")


def check_results(results: pd.DataFrame, needed: Sequence[str]) -> None:
    """ValueError where ``results`` are not those of one data set, or lack a column."""
    from fsgym.comparison.summary import refuse_several

    missing = [c for c in dict.fromkeys((*needed, *NEEDED_COLUMNS)) if c not in results.columns]
    if missing:
        raise ValueError(
            f"results must be what fsgym.compare returned, or its results.csv; it has no column {missing[0]!r}"
        )
    refuse_several(results)


def rows_of_methods(results: pd.DataFrame, x: str, methods: str | Sequence[str] | None) -> pd.DataFrame:
    """The successful fits of the methods, in the order of the methods."""
    import pandas as pd

    known = [str(name) for name in results["method"].unique()]
    chosen = known if methods is None else [methods] if isinstance(methods, str) else list(methods)
    for name in chosen:
        if name not in known:
            raise ValueError(explain_unknown("method", name, known))
    succeeded = results[results["error"].isna()]
    rows = {name: succeeded[succeeded["method"] == name] for name in chosen}
    if x == "lam":
        swept = {name: r[r["params"].str.contains('"lam"', regex=False)] for name, r in rows.items()}
        unswept = [name for name in chosen if swept[name].empty and not rows[name].empty]
        if unswept and (methods is not None or all(r.empty for r in swept.values())):
            raise ValueError(f"x='lam' needs methods that are trained at several values of lam, got {listing(unswept)}")
        rows = swept
    absent = [name for name in chosen if succeeded[succeeded["method"] == name].empty]
    if len(absent) == len(chosen):
        first = results.loc[results["method"].isin(chosen) & results["error"].notna(), "error"]
        reason = f"; the first error: {first.iloc[0]}" if len(first) else ""
        raise ValueError(f"results must hold a fit that succeeded, got none of {listing(chosen)}{reason}")
    if absent:
        warn_caller(f"all fits of {listing(absent)} failed, so they are not drawn")
    return pd.concat(rows.values())


def fits_with_usage(results: pd.DataFrame, *needed: str) -> pd.DataFrame:
    """The rows of ``results`` whose usage can be drawn; those of reference points only if there are no others."""
    if "usage" not in results.columns and "method" in results.columns:
        raise ValueError("results must have the column 'usage', which fsgym 0.1 did not write; run fsgym.compare again")
    check_results(results, ("usage", *needed))
    rows = rows_of_methods(results, "", None)
    methods = rows[~rows["method"].isin(REFERENCES)]
    return rows if methods.empty else methods


def ranking_with_usage(results: pd.DataFrame) -> Ranking:
    """The ranking of the methods whose usage can be drawn, without those of which every setting breaks the rules."""
    from fsgym.comparison.ranking import rank_methods
    from fsgym.comparison.summary import REPORTED_FIGURES

    validation = [f"{VALIDATION}{name}" for name in ("admissible", "error_cost", "spent")]
    ranking = rank_methods(fits_with_usage(results, *REPORTED_FIGURES, *validation, "n_train", "n_test"))
    assert ranking is not None  # as some fit succeeded
    absent = [s.title for s in ranking.standings if s.chosen.empty]
    if len(absent) == len(ranking.standings):
        raise ValueError(
            f"a setting must respect the rules on every validation row, got none of {listing(absent)}; draw others"
        )
    if absent:
        warn_caller(f"all settings of {listing(absent)} break the rules, so they are not drawn")
    return ranking._replace(standings=tuple(s for s in ranking.standings if not s.chosen.empty))


def _title_with_setting(standing: RankedMethod) -> str:
    """The title, with the setting where the same one was chosen in every split."""
    from fsgym.comparison.summary import settings_text

    settings = {settings_text(params) for params in standing.chosen["params"]}
    return ", ".join([standing.title, *(settings if len(settings) == 1 else ())])


# The share of rows that use each acquisition, from evaluations or from the results of a comparison.


class UsageShares(NamedTuple):
    """Shares of the rows that use each acquisition."""

    table: NDArray[np.float64]  # (n_settings, J)
    names: tuple[str, ...]  # tuple of J str
    unit: str  # "features" or "acquisitions"


def shares_of_evaluations(named: Mapping[str, Any]) -> UsageShares:
    """Usage in each evaluation; ValueError or TypeError if they are no evaluations of the same acquisitions."""
    if not named:
        raise ValueError("there must be at least one Evaluation, got none")
    for evaluation in named.values():
        if not isinstance(evaluation, Evaluation):
            kind = type(evaluation).__name__
            raise TypeError(f"this figure needs what fsgym.evaluate or fsgym.compare returned, got {kind}")
    first, *others = named
    rules, names = named[first].rules, _acquisition_names(named[first])
    for other in others:
        if (_acquisition_names(named[other]), named[other].rules.groups) != (names, rules.groups):
            raise ValueError(f"evaluations must have the same acquisitions, but {other!r} has others than {first!r}")
    table = np.array([e.rules.acquisitions_of(e.used).mean(axis=0) for e in named.values()])
    return UsageShares(table, names, "features" if acquires_features(rules, named[first].dataset) else "acquisitions")


def _acquisition_names(evaluation: Evaluation) -> tuple[str, ...]:
    """The names of the acquisitions in the rules; those in the data if the rules have none but the same groups."""
    rules, dataset = evaluation.rules, evaluation.dataset
    numbered = [tuple(f"{start}{j}" for j in range(rules.n_acquisitions)) for start in ("x", "group ")]
    groups = dataset.groups or [(j,) for j in range(dataset.n_features)]
    same = rules.groups == tuple(tuple(sorted(members)) for members in groups)
    return dataset.acquisition_names if same and rules.names in numbered else rules.names


def shares_of_results(selected: Sequence[pd.DataFrame], counted: str) -> UsageShares:
    """Mean usage over the rows of each selection from ``compare``'s results, such as those of a setting.

    Only acquisitions that some case uses in one of them are included. Raises ValueError where there are none.
    """
    usages = [[json.loads(text) for text in rows["usage"]] for rows in selected]
    names = list(dict.fromkeys(name for splits in usages for used in splits for name in used))
    if not names:
        shown = listing(dict.fromkeys(method for rows in selected for method in rows["method"]))
        raise ValueError(
            f"these settings of {shown} use no feature, so there is nothing to draw; select other settings"
        )
    table = [np.mean([[used.get(name, 0.0) for name in names] for used in splits], axis=0) for splits in usages]
    return UsageShares(np.array(table), tuple(names), "acquisitions" if counted == "n_acquisitions" else "features")


__all__ = ["curves", "paths", "usage"]

VALIDATION = "validation_"  # start of the names of figures that were measured on the validation part
TEST_FIGURES = (*Evaluation.FIGURES, *ERROR_RATES)
FIGURES = (*TEST_FIGURES, *(VALIDATION + name for name in TEST_FIGURES))
ON_LOGARITHMIC_AXIS = (*ERROR_RATES, "error_cost")
MAX_TICKS = 16  # settings of a path that have a label


def curves(
    results: pd.DataFrame,
    x: str = "n_features",
    y: str = "error_rate",
    *,
    methods: str | Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one line per method, with a point per setting: one figure of the comparison against another.

    Points are means over the splits; ``fsgym.summarise(results).settings`` has them with their standard deviations. All
    figures are those of the test parts, but those that start with ``validation_``. Fits that failed are left out. A
    white dot marks a setting that breaks the rules on some test row.

    Error rates and error costs are drawn on a logarithmic axis, which shows small differences between small errors. A
    setting without any error is at the tick 0, which stands where half an error would be. Where a mean cost is
    negative, the axis is linear.

    Parameters
    ----------
    results : DataFrame
        What ``fsgym.compare`` returned, or its ``results.csv`` read with ``pandas.read_csv``.
    x, y : str
        Names in ``fsgym.Evaluation.FIGURES``, also with ``validation_`` before them: "accuracy", "error_cost", "loss",
        "n_features", "n_acquisitions", "sparsity", "spent" (mean price paid), ...; "error_rate" (1 - accuracy) and
        "balanced_error_rate" (1 - balanced accuracy). ``x`` may also be "lam": then only the methods that are trained
        at several values of lambda are drawn.
    methods : str or sequence of str, optional
        The methods to draw, in the order of the legend; by default all.
    ax : matplotlib Axes, optional
        By default those of a new figure of ``matplotlib.pyplot``.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError, TypeError
        If ``results`` lacks a column or holds several data sets, if no fit succeeded, or if a name is unknown.

    Warns
    -----
    UserWarning
        If all fits of a method failed, so that it has no line.

    Examples
    --------
    >>> import fsgym
    >>> results = fsgym.compare("wine", ["cart", "lars"], splits=1, references=False)
    >>> ax = fsgym.plot.curves(results, x="sparsity")
    >>> ax.get_ylabel()
    'share of wrong answers on the test part'
    """
    succeeded = _succeeded_fits(results, x, y, methods)
    from fsgym.comparison import figures
    from fsgym.comparison.ranking import method_titles
    from fsgym.comparison.summary import fitted_in_all, means_over_splits, with_lam

    drawn = [name for name in dict.fromkeys((x, y, "admissible")) if name != "lam"]
    settings, left_out = fitted_in_all(means_over_splits(succeeded, drawn), results["split"].nunique())
    if settings.empty:
        raise ValueError("results must hold a setting whose fits succeeded in every split, got none")
    if left_out:
        warn_caller(left_out.strip())
    settings = with_lam(settings)
    settings = settings.drop(columns=[f"{name}_std" for name in drawn])  # without bars across the picture
    floor = -np.inf
    if y.removeprefix(VALIDATION) in ON_LOGARITHMIC_AXIS:
        floor = figures.error_floor(succeeded, y, settings[y])
    values, settings[y] = settings[y], np.maximum(settings[y], floor)
    titles = method_titles(results)
    price = float(succeeded["price"].iloc[0])
    if x == "lam":
        figure = figures.price_against_sparsity(settings, titles, "units of error cost", y)
    else:
        figure = figures.curves(settings, titles, x, y, _figure_label(x, price))
    part = "validation" if y.startswith(VALIDATION) else "test"
    figure["y"] |= {"label": f"{_figure_label(y, price)} on the {part} part"} | figures.error_axis(y, values, floor)
    figure["points"] = figures.inadmissible(settings, x, y)
    figure["legend"] = {"loc": "best", "last": [figures.BREAKS_RULES]}
    return _drawn(figure, ax)


def usage(evaluations: Evaluation | Mapping[str, Evaluation] | pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the share of rows that use each acquisition as horizontal bars, from the most to the least used.

    Parameters
    ----------
    evaluations : Evaluation, mapping name -> Evaluation, or DataFrame
        What ``fsgym.evaluate`` returned; with several, each acquisition has one bar for each of them. They must have
        the same acquisitions. At most 30 acquisitions are drawn, the most used ones. Of a DataFrame that
        ``fsgym.compare`` returned, or its ``results.csv``, each method is drawn at its chosen settings, those of
        ``fsgym.summarise(results).losses`` at the first lambda that is reported, as a mean over the splits.
    ax : matplotlib Axes, optional
        By default those of a new figure of ``matplotlib.pyplot``.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError, TypeError
        If these are neither evaluations nor results, or differ in their acquisitions.

    Examples
    --------
    >>> import fsgym
    >>> from baselines import LassoPathClassifier
    >>> wine = fsgym.load_dataset("wine")
    >>> model = LassoPathClassifier(max_features=2).fit(wine.X, wine.classes[wine.y])
    >>> ax = fsgym.plot.usage(fsgym.evaluate(model, wine))
    >>> [label.get_text() for label in ax.get_yticklabels()][:3]
    ['od280/od315_of_diluted_wines', 'proline', 'alcohol']
    """
    from fsgym.comparison import figures
    from fsgym.comparison.ranking import titles_of

    several = is_frame(evaluations) or isinstance(evaluations, Mapping)
    if is_frame(evaluations):
        ranking = ranking_with_usage(evaluations)
        titles = {s.method: _title_with_setting(s) for s in ranking.standings}
        shares = shares_of_results([s.chosen for s in ranking.standings], ranking.counted)
    else:
        named = (
            {str(k): e for k, e in evaluations.items()} if isinstance(evaluations, Mapping) else {"usage": evaluations}
        )
        titles = titles_of(named)
        shares = shares_of_evaluations(named)
    most_used = np.argsort(-shares.table.mean(axis=0), kind="stable")
    names = [shares.names[j] for j in most_used]
    figure = figures.used_features(dict(zip(titles, shares.table[:, most_used])), names, titles, shares.unit)
    figure["x"]["label"] = "share of rows that use it"
    return _drawn(figure if several else figure | {"legend": None}, ax)


def paths(
    settings: Sequence[Any] | Mapping[Any, Any] | pd.DataFrame, data: Dataset | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw the share of rows that use each acquisition at each setting of a method, as a map of colours.

    Columns are the settings in their order, rows the acquisitions from the most to the least used. For a method that
    selects the same features for all rows, a cell is full or empty: selected or not.

    Parameters
    ----------
    settings : sequence of fitted models or of Evaluation, mapping label -> model or Evaluation, or DataFrame
        What ``path`` of a method returned, or models that were fitted one by one; or evaluations on the same data.
        Models are labelled with the parameter in which they differ. Evaluations are labelled with the lambda of their
        rules if these differ, otherwise with the mean number of features used. A DataFrame is that of
        ``fsgym.compare``, with the rows of one method: ``results[results["method"] == "lattice"]``; shares are means
        over the splits.
    data : Dataset, optional
        The rows to classify; required for models.
    ax : matplotlib Axes, optional
        By default those of a new figure of ``matplotlib.pyplot``.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError, TypeError
        If ``settings`` are none of these, ``data`` is missing, or the acquisitions differ.

    Notes
    -----
    The map takes the place of the lines of a regularisation path: shares of selected features are 0 or 1, and the lines
    would cover each other.

    Examples
    --------
    >>> import fsgym
    >>> from baselines import LassoPathClassifier
    >>> wine = fsgym.load_dataset("wine")
    >>> y = wine.classes[wine.y]
    >>> models = [LassoPathClassifier(max_features=k).fit(wine.X, y) for k in (1, 3, 5)]
    >>> ax = fsgym.plot.paths(models, wine)
    >>> ax.get_xlabel(), [label.get_text() for label in ax.get_xticklabels()]
    ('max_features', ['1', '3', '5'])
    """
    if is_frame(settings):
        x_label, named, shares = _labelled_results(settings)
    else:
        x_label, named = _labelled_evaluations(settings, data)
        shares = shares_of_evaluations(named)
    from fsgym.comparison import figures

    most_used = np.argsort(-shares.table.mean(axis=0), kind="stable")[: figures.MAX_BARS]
    ticks = range(0, len(named), -(-len(named) // MAX_TICKS))
    labels = [figures.shorten_name(label, 12) for label in named]
    figure = {
        "size": (6.4, figures.height_of_rows(len(most_used))),
        "shades": {"values": shares.table[:, most_used].T.tolist(), "label": "share of rows that use it"},
        "x": {
            "label": x_label,
            "ticks": [*ticks],
            "tick_labels": [labels[k] for k in ticks],
            "rotation": 45 if len("".join(labels)) > 30 else 0,
            "grid": False,
        },
        "y": figures.row_axis([shares.names[j] for j in most_used], len(shares.names), shares.unit),
    }
    return _drawn(figure, ax)


def _labelled_results(results: pd.DataFrame) -> tuple[str, list[str], UsageShares]:
    """What the labels of the settings of one method are, the labels, and the usage at each setting."""
    succeeded = fits_with_usage(results)
    from fsgym.comparison.summary import counted_in, settings_text

    rows = succeeded.sort_values("setting").drop_duplicates(["method", "setting"])
    methods = rows["method"].unique()
    if len(methods) > 1:
        raise ValueError(
            f"results must have the rows of one method, got {listing(methods)}; select one: "
            f"results[results['method'] == {methods[0]!r}]"
        )
    params = [json.loads(text) for text in rows["params"]]
    varying = [key for key in params[0] if len({brief(p.get(key)) for p in params}) > 1]
    labels, what = [settings_text(text) for text in rows["params"]], "setting"
    if len(varying) == 1:
        labels, what = [_label_text(p.get(varying[0])) for p in params], varying[0].replace("lam", "lambda")
    selected = [fits for _, fits in succeeded.groupby("setting")]
    return what, labels, shares_of_results(selected, counted_in(results))


def _labelled_evaluations(settings: Any, data: Dataset | None) -> tuple[str, dict[str, Any]]:
    """What the labels of the settings are, and the evaluation of each label."""
    if isinstance(settings, Mapping):
        entries, labels = list(settings.values()), [_label_text(key) for key in settings]
        what = "setting"
    elif isinstance(settings, Iterable) and not hasattr(settings, "columns"):
        entries, what, labels = list(settings), "", []
    else:  # one model, or a DataFrame
        entries, what, labels = [settings], "setting", [type(settings).__name__]
    models = [entry for entry in entries if hasattr(entry, "features_used")]
    if models and not isinstance(data, Dataset):
        raise TypeError(f"data must be the Dataset whose rows the models classify, got {type(data).__name__}")
    evaluations = [evaluate(e, data, getattr(e, "rules_", None)) if hasattr(e, "features_used") else e for e in entries]
    if not labels:
        what, labels = _parameter_labels(models) if len(models) == len(entries) else _rule_labels(evaluations)
    unique = [label if labels.count(label) == 1 else f"{label} ({k})" for k, label in enumerate(labels)]
    return what, dict(zip(unique, evaluations))


def _parameter_labels(models: Sequence[Any]) -> tuple[str, list[str]]:
    """The only parameter in which the models differ and its values, or the numbers of the models."""
    parameters = [m.get_params(deep=False) if hasattr(m, "get_params") else {} for m in models]
    differing = [key for key in (parameters or [{}])[0] if len({brief(p.get(key)) for p in parameters}) > 1]
    if len(differing) == 1:
        return "lambda" if differing[0] == "lam" else differing[0], [_label_text(p[differing[0]]) for p in parameters]
    return "setting", [str(k) for k in range(len(models))]


def _rule_labels(evaluations: Sequence[Any]) -> tuple[str, list[str]]:
    """The lambdas of the evaluations if they differ, or the mean numbers of features used."""
    known = [e for e in evaluations if isinstance(e, Evaluation)]
    lams = [e.rules.lam for e in known]
    if len(set(lams)) == len(evaluations):
        return "lambda", [_label_text(lam) for lam in lams]
    if len(known) < len(evaluations):
        return "setting", [str(k) for k in range(len(evaluations))]
    return FIGURE_LABELS["n_features"], [f"{e.n_features:.1f}" for e in known]


def _label_text(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _succeeded_fits(results: Any, x: str, y: str, methods: str | Sequence[str] | None) -> pd.DataFrame:
    """The rows of ``results`` to draw; ValueError or TypeError if they cannot be drawn."""
    if not is_frame(results):
        kind = type(results).__name__
        raise TypeError(f"results must be the DataFrame that fsgym.compare returned, or its results.csv, got {kind}")
    for name, known in ((x, (*FIGURES, "lam")), (y, FIGURES)):
        if name not in known:
            raise ValueError(explain_unknown("figure", name, known))
    if x == y:
        raise ValueError(f"x and y must be two figures, got {x!r} for both")
    from fsgym.comparison.figures import with_error_rates

    if y.removeprefix(VALIDATION) in ON_LOGARITHMIC_AXIS:
        part = VALIDATION if y.startswith(VALIDATION) else ""
        check_results(results, (f"{part}accuracy", "n_train", "n_test"))
    results = with_error_rates(results)
    check_results(results, [name for name in (x, y) if name != "lam"])
    return rows_of_methods(results, x, methods)


def _figure_label(name: str, price: float) -> str:
    """The label of a figure on an axis; ``price`` is the lambda of the losses."""
    plain = name.removeprefix(VALIDATION)
    label = (ALL_LABELS | ERROR_RATE_LABELS)[plain]
    return f"{label} (lambda {price:g})" if plain in ("loss", "acquisition_cost") else label


def _drawn(figure: Mapping[str, Any], ax: Axes | None) -> Axes:
    """Draw a figure on the axes, or on new ones in the style of the reports. ``$`` in a name is no formula."""
    import matplotlib
    from matplotlib import pyplot
    from matplotlib.axes import Axes as MatplotlibAxes

    from fsgym.comparison.figures import STYLE, draw, make_room_for_legend

    if ax is not None and not isinstance(ax, MatplotlibAxes):
        raise TypeError(f"ax must be a Matplotlib Axes, got {type(ax).__name__}")
    with matplotlib.rc_context(STYLE) if ax is None else nullcontext():
        axes = ax
        if axes is None:
            axes = pyplot.subplots(figsize=figure.get("size", (6.4, 4.2)), layout="constrained")[1]
            grid = {"grid_color": STYLE["grid.color"], "grid_linewidth": STYLE["grid.linewidth"]}
            axes.tick_params(labelsize=STYLE["font.size"], **grid)  # also for ticks that are created later
        draw(figure, axes)
        if ax is None:
            make_room_for_legend(axes)
        legend = axes.get_legend()
        for text in [*axes.get_xticklabels(), *axes.get_yticklabels(), *(legend.get_texts() if legend else ())]:
            text.set_parse_math(False)
    return axes
