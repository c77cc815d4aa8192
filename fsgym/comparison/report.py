"""``report.html``, one self-contained file, and its figures as separate PNG files."""

from __future__ import annotations

import base64
import io
import os
import platform
import warnings
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jinja2
import matplotlib
import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from fsgym.comparison import figures
from fsgym.comparison.result import Comparison
from fsgym.comparison.summary import (
    Summary,
    best_in_words,
    best_per_split,
    mean_text,
    settings_text,
    summarise,
    validation_loss,
    with_lam,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


REPORTED_PACKAGES = ("numpy", "scipy", "scikit-learn", "gymnasium", "numba", "pandas", "matplotlib")
VALUES_SHOWN = 3  # of the columns of one group, in an example


class Picture(NamedTuple):
    """A figure of a report: the stem of its file name, its heading, its caption, and the PNG file's content."""

    stem: str
    heading: str
    caption: str
    png: bytes

    @property
    def uri(self) -> str:
        return "data:image/png;base64," + base64.b64encode(self.png).decode("ascii")


def write_report(comparison: Comparison, folder: Path) -> Path:
    """Write the figures and ``report.html`` into ``folder``; returns the path of the report."""
    summary = summarise(comparison.results)
    pictures = draw_pictures(comparison, summary)
    for picture in pictures:
        (folder / f"{picture.stem}.png").write_bytes(picture.png)
    path = folder / "report.html"
    path.write_text(render(comparison, summary, pictures), encoding="utf-8")
    return path


def draw_pictures(comparison: Comparison, summary: Summary) -> list[Picture]:
    """The figures of a comparison; an empty list if all cells failed."""
    if summary.settings.empty:
        return []
    with matplotlib.rc_context(figures.STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Matplotlib warns of characters that its font lacks, and draws boxes
        pictures = _curve_pictures(comparison, summary) + _usage_pictures(comparison)
        return pictures + _price_pictures(comparison, summary)


def _titles(comparison: Comparison) -> dict[str, str]:
    return {m.name: m.title for m in comparison.methods}


def _error_bar_caption(comparison: Comparison) -> str:
    splits = comparison.protocol.splits
    if splits == 1:
        return "Results of a single split, so there are no error bars."
    return f"Means over {splits} splits; error bars show plus and minus one standard deviation."


def _curve_pictures(comparison: Comparison, summary: Summary) -> list[Picture]:
    rules, dataset, titles = comparison.protocol.rules, comparison.protocol.dataset, _titles(comparison)
    chance = float(np.bincount(dataset.y).max() / dataset.n_samples)
    ax = figures.plot_curves(summary.settings, titles, chance=chance)
    ax.set_title(f"{figures.shorten_name(dataset.name)}: accuracy against sparsity")
    caption = f"Better methods are further up and to the right. {_error_bar_caption(comparison)}"
    pictures = [Picture("curves", "Accuracy against sparsity", caption, png_of(ax))]
    if (rules.costs != 1).any() or rules.related is not None or rules.error_costs.max() != 1:
        label = "mean price paid (in units of cost)"
        ax = figures.plot_curves(summary.settings, titles, x="spent", y="error_cost", x_label=label)
        ax.set(title="Cost of errors against price paid", ylabel="mean error cost on the test part")
        caption = f"Better methods are further down and to the left. {_error_bar_caption(comparison)}"
        pictures.append(Picture("costs", "Cost of errors against price paid", caption, png_of(ax)))
    return pictures


def _usage_pictures(comparison: Comparison) -> list[Picture]:
    protocol, titles = comparison.protocol, _titles(comparison)
    chosen = settings_of_similar_sparsity(comparison)
    listed = [f"{titles[n]} {settings_text(c['params'])} ({c['used']:.1f})" for n, c in chosen.items()]
    first = titles[next(iter(chosen))]
    caption = (
        f"The figure shows one setting of each method. That of {first} has the lowest mean validation loss at lambda "
        f"{_number_text(protocol.reported[0])} among its settings that use any features; that of each other method is "
        "the closest to it in sparsity (1 minus the mean share of features used). The mean number of "
        f"{protocol.unit} used is given in brackets: {', '.join(listed)}. Test rows of all splits are pooled."
    )
    counts = figures.used_counts({n: c["histogram"] for n, c in chosen.items()}, titles, protocol.unit)
    counts.set_title(f"Number of {protocol.unit} used")
    usages = {n: c["usage"] for n, c in chosen.items()}
    shares = figures.used_features(usages, protocol.rules.names, titles, protocol.unit)
    return [
        Picture("histogram", f"How many {protocol.unit} are used", caption, png_of(counts)),
        Picture("usage", f"Which {protocol.unit} are used", "Same settings as in the previous figure.", png_of(shares)),
    ]


def _price_pictures(comparison: Comparison, summary: Summary) -> list[Picture]:
    settings = with_lam(summary.settings)
    if settings["lam"].isna().all():
        return []
    unit = _error_unit(comparison)
    ax = figures.price_against_sparsity(settings, _titles(comparison), unit=unit)
    ax.set_title("Sparsity against lambda")
    caption = f"The higher lambda, the fewer features are acquired. {_error_bar_caption(comparison)}"
    return [Picture("lambda", "Sparsity against lambda", caption, png_of(ax))]


def _has_target(params: dict[str, Any]) -> bool:
    return "target_cost" in params or "target_features" in params


def _error_unit(comparison: Comparison) -> str:
    """What the costs of errors count: misclassifications, if each error costs 1."""
    plain = (comparison.protocol.rules.error_costs == 1 - np.eye(comparison.protocol.dataset.n_classes)).all()
    return "misclassifications" if plain else "units of error cost"


def png_of(plotted: Axes | Figure) -> bytes:
    """A figure, or the figure of some axes, as the content of a PNG file."""
    buffer = io.BytesIO()
    figure = plotted if isinstance(plotted, Figure) else plotted.get_figure(root=True)
    assert figure is not None
    FigureCanvasAgg(figure)
    figure.savefig(buffer, format="png", dpi=150, metadata={"Software": None})
    return buffer.getvalue()


def settings_of_similar_sparsity(comparison: Comparison) -> dict[str, dict[str, Any]]:
    """One setting of each method, all of similar sparsity, as in the paper's Fig. 4: its ``params``, the mean number of
    features (or acquisitions) ``used``, ``histogram`` and ``usage``.

    The first method's is the setting with the smallest mean validation loss among those that use any feature. The
    others' are those with the mean sparsity nearest to it. Results are not ranked by this choice.
    """
    succeeded = comparison.results[comparison.results["error"].isna()]
    succeeded = succeeded.assign(_loss=validation_loss(succeeded, comparison.protocol.reported[0]))
    means = succeeded.groupby(["method", "setting"], sort=False)[["_loss", "sparsity"]].mean().reset_index()
    first = means[means["method"] == means["method"].iloc[0]]
    acquiring = first[first["sparsity"] < 0.99]
    first = first if acquiring.empty else acquiring
    goal = float(first.loc[first["_loss"].idxmin(), "sparsity"])
    chosen: dict[str, dict[str, Any]] = {}
    for name, rows in means.groupby("method", sort=False):
        setting = rows.loc[(rows["sparsity"] - goal).abs().idxmin(), "setting"]
        outcomes = [o for o in comparison.outcomes if (o.row["method"], o.row["setting"]) == (name, setting)]
        cells = [o for o in outcomes if o.histogram]
        chosen[str(name)] = {
            "params": cells[0].row["params"],
            "used": float(np.mean([o.row[comparison.protocol.counted] for o in cells])),
            "histogram": np.sum([o.histogram or [] for o in cells], axis=0),
            "usage": np.mean([o.usage or [] for o in cells], axis=0),
        }
    return chosen


def examples_of(comparison: Comparison) -> list[dict[str, Any]]:
    """Examples of each method with an order, at its setting of least validation loss in the first split.

    Settings that use less than half a feature on average are left out if there are others.
    """
    examples = []
    for method in comparison.methods:
        rows = comparison.results
        rows = rows[(rows["method"] == method.name) & (rows["split"] == 0) & rows["error"].isna()]
        if rows.empty:
            continue
        acquiring = rows[rows["n_acquisitions"] >= 0.5]
        rows = rows if acquiring.empty else acquiring
        best = best_per_split(rows, validation_loss(rows, comparison.protocol.reported[0])).iloc[0]
        outcome = next(
            o
            for o in comparison.outcomes
            if (o.row["split"], o.row["method"], o.row["setting"]) == (0, method.name, best["setting"])
        )
        if outcome.examples:
            setting = settings_text(outcome.row["params"])
            examples.append({"title": method.title, "setting": setting, "rows": outcome.examples})
    return examples


def template_environment(*folders: str | os.PathLike) -> jinja2.Environment:
    """Jinja's environment for the templates of this package and of ``folders``, in which every value is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([Path(__file__).parent / "templates", *map(Path, folders)]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"mean": mean_text, "setting": settings_text, "number": _number_text}
    return environment


def provenance() -> dict[str, Any]:
    """What every report says of its origin: ``versions`` by package, ``machine`` and ``date``."""
    packages = {name: version(name) for name in ("fsgym", *REPORTED_PACKAGES)}
    return {
        "versions": {"python": platform.python_version(), **packages},
        "machine": platform.platform(terse=True),
        "date": datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
    }


def render(comparison: Comparison, summary: Summary, pictures: list[Picture]) -> str:
    """The report as HTML; names and values of the data are escaped."""
    results, template = comparison.results, template_environment().get_template("report.html.j2")
    return template.render(
        command=comparison.command,
        protocol=comparison.protocol,
        dataset=comparison.protocol.dataset,
        titles=_titles(comparison),
        imputed=[m.title for m in comparison.methods if m.imputed],
        fitted=[m.title for m in comparison.methods if m.fitted],
        answer=best_in_words(summary, _titles(comparison), comparison.protocol.counted),
        error_unit=_error_unit(comparison),
        targeting=[m.title for m in comparison.methods if any(_has_target(p) for p in m.params)],
        error_costs=comparison.protocol.error_costs_in_words,
        pictures=pictures,
        settings=summary.settings.to_dict("records"),
        within=_by_method(_mark_best(summary.within, "k", -summary.within["accuracy"]), "k"),
        limits=results.attrs["within"],
        losses=_mark_best(summary.losses, "lam", summary.losses["loss"]).to_dict("records"),
        examples=examples_of(comparison),
        failures=results.loc[results["error"].notna(), ["method", "params", "split", "error"]].to_dict("records"),
        warned=results.loc[results["warning"].notna(), ["method", "params", "split", "warning"]].to_dict("records"),
        VALUES_SHOWN=VALUES_SHOWN,
        **provenance(),
    )


def _mark_best(table: pd.DataFrame, key: str, criterion: pd.Series) -> pd.DataFrame:
    """The table with a column ``best``: smallest criterion for each ``key``, among rows that respect the rules."""
    allowed = criterion.where(table["admissible"] == 1.0).round(3)
    return table.assign(best=allowed == allowed.groupby(table[key]).transform("min"))


def _by_method(table: pd.DataFrame, key: str) -> dict[str, dict[Any, dict]]:
    nested: dict[str, dict[Any, dict]] = {}
    for row in table.to_dict("records"):
        nested.setdefault(str(row["method"]), {})[row[key]] = row
    return nested


def _number_text(value: float) -> str:
    return f"{value:.4g}"
