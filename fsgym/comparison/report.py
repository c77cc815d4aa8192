"""``report.html``, one self-contained file, and its figures as PNG beside it."""

from __future__ import annotations

import base64
import io
import json
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
    choose,
    mean_text,
    settings_text,
    summarise,
    validation_loss,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


PACKAGES = ("numpy", "scipy", "scikit-learn", "gymnasium", "numba", "pandas", "matplotlib")
VALUES_SHOWN = 3


class Picture(NamedTuple):
    """A figure in the report: the file's stem, heading, caption, and its PNG."""

    stem: str
    heading: str
    caption: str
    png: bytes

    @property
    def uri(self) -> str:
        return "data:image/png;base64," + base64.b64encode(self.png).decode("ascii")


def write_report(study: Comparison, folder: Path) -> Path:
    """Write the figures and ``report.html`` into ``folder``; returns the path of the report."""
    summary = summarise(study.results)
    pictures = draw(study, summary)
    for picture in pictures:
        (folder / f"{picture.stem}.png").write_bytes(picture.png)
    path = folder / "report.html"
    path.write_text(render(study, summary, pictures), encoding="utf-8")
    return path


def draw(study: Comparison, summary: Summary) -> list[Picture]:
    """The figures of a study; none where no cell has succeeded."""
    if summary.settings.empty:
        return []
    with matplotlib.rc_context(figures.STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a letter that the font lacks is drawn as a box
        return [picture for part in (_curves, _usage, _prices) for picture in part(study, summary)]


def _titles(study: Comparison) -> dict[str, str]:
    return {e.name: e.title for e in study.entrants}


def _bars(study: Comparison) -> str:
    splits = study.protocol.splits
    if splits == 1:
        return "One split only."
    return f"Means over {splits} splits; bars are one standard deviation, in both directions."


def _curves(study: Comparison, summary: Summary) -> list[Picture]:
    rules, dataset, titles = study.protocol.rules, study.protocol.dataset, _titles(study)
    chance = float(np.bincount(dataset.y).max() / dataset.n_samples)
    ax = figures.curves(summary.settings, titles, chance=chance)
    ax.set_title(f"{figures.short(dataset.name)}: accuracy against sparsity")
    caption = f"Up and to the right is better. {_bars(study)}"
    pictures = [Picture("curves", "Accuracy against sparsity", caption, png_of(ax))]
    if (rules.costs != 1).any() or rules.related is not None or rules.error_costs.max() != 1:
        label = "mean price paid (unit of costs)"
        ax = figures.curves(summary.settings, titles, x="spent", y="error_cost", x_label=label)
        ax.set(title="What is paid, and what errors cost then", ylabel="mean error cost on the test part")
        caption = f"Down and to the left is better. {_bars(study)}"
        pictures.append(Picture("costs", "Price paid against cost of errors", caption, png_of(ax)))
    return pictures


def _usage(study: Comparison, summary: Summary) -> list[Picture]:
    protocol, titles = study.protocol, _titles(study)
    chosen = equal_sparsity(study)
    told = [f"{titles[n]} {settings_text(c['params'])} ({c['sparsity']:.0%})" for n, c in chosen.items()]
    caption = f"Settings of about equal sparsity: {', '.join(told)}. All splits together."
    counts = figures.used_counts({n: c["histogram"] for n, c in chosen.items()}, titles, protocol.unit)
    counts.set_title(f"Number of {protocol.unit} used")
    usages = {n: c["usage"] for n, c in chosen.items()}
    shares = figures.used_features(usages, protocol.rules.names, titles, protocol.unit)
    return [
        Picture("histogram", f"How many {protocol.unit} are used", caption, png_of(counts)),
        Picture("usage", f"Which {protocol.unit} are used", "The same settings.", png_of(shares)),
    ]


def _prices(study: Comparison, summary: Summary) -> list[Picture]:
    lam = [json.loads(p).get("lam", np.nan) for p in summary.settings["params"]]
    settings = summary.settings.assign(lam=pd.to_numeric(pd.Series(lam, dtype=object), errors="coerce"))
    if settings["lam"].isna().all():
        return []
    plain = (study.protocol.rules.error_costs == 1 - np.eye(study.protocol.dataset.n_classes)).all()
    ax = figures.price_against_sparsity(
        settings, _titles(study), unit="misclassifications" if plain else "units of the error costs"
    )
    ax.set_title("Price against sparsity")
    caption = f"The dearer a feature, the fewer are asked for. {_bars(study)}"
    return [Picture("lambda", "Lambda against sparsity", caption, png_of(ax))]


def png_of(drawn: Axes | Figure) -> bytes:
    """A figure, or that of the axes, as PNG."""
    buffer = io.BytesIO()
    figure = drawn if isinstance(drawn, Figure) else drawn.get_figure(root=True)
    assert figure is not None
    FigureCanvasAgg(figure)
    figure.savefig(buffer, format="png", dpi=150, metadata={"Software": None})
    return buffer.getvalue()


def equal_sparsity(study: Comparison) -> dict[str, dict[str, Any]]:
    """A setting of each method at about the sparsity that the first method has where it loses least.

    The first method's setting is the one of least mean validation loss among those that ask for anything; the
    others' have the mean sparsity nearest to it (as in the paper's Fig. 4; nothing is judged by this choice).
    """
    done = study.results[study.results["error"].isna()]
    done = done.assign(_loss=validation_loss(done, study.protocol.reported[0]))
    means = done.groupby(["method", "setting"], sort=False)[["_loss", "sparsity"]].mean().reset_index()
    first = means[means["method"] == means["method"].iloc[0]]
    asking = first[first["sparsity"] < 0.99]
    first = first if asking.empty else asking
    goal = float(first.loc[first["_loss"].idxmin(), "sparsity"])
    chosen: dict[str, dict[str, Any]] = {}
    for name, rows in means.groupby("method", sort=False):
        setting = rows.loc[(rows["sparsity"] - goal).abs().idxmin(), "setting"]
        cells = [o for o in study.outcomes if (o.row["method"], o.row["setting"]) == (name, setting) and o.histogram]
        chosen[str(name)] = {
            "params": cells[0].row["params"],
            "sparsity": float(np.mean([o.row["sparsity"] for o in cells])),
            "histogram": np.sum([o.histogram or [] for o in cells], axis=0),
            "usage": np.mean([o.usage or [] for o in cells], axis=0),
        }
    return chosen


def examples_of(study: Comparison) -> list[dict[str, Any]]:
    """The examples of each method with an order: its setting of least validation loss in the first split that asks."""
    found = []
    for entrant in study.entrants:
        rows = study.results
        rows = rows[(rows["method"] == entrant.name) & (rows["split"] == 0) & rows["error"].isna()]
        if rows.empty:
            continue
        asking = rows[rows["n_acquisitions"] >= 0.5]
        rows = rows if asking.empty else asking
        best = choose(rows, validation_loss(rows, study.protocol.reported[0])).iloc[0]
        outcome = next(
            o
            for o in study.outcomes
            if (o.row["split"], o.row["method"], o.row["setting"]) == (0, entrant.name, best["setting"])
        )
        if outcome.examples:
            found.append(
                {"title": entrant.title, "setting": settings_text(outcome.row["params"]), "rows": outcome.examples}
            )
    return found


def environment(*folders: str | os.PathLike) -> jinja2.Environment:
    """The templates beside this file and in ``folders``, with the filters of the reports; every value is escaped."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader([Path(__file__).parent / "templates", *map(Path, folders)]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"mean": mean_text, "setting": settings_text, "value": _value, "number": _number}
    return made


def render(study: Comparison, summary: Summary, pictures: list[Picture]) -> str:
    """The report as HTML text; whatever comes from the data is text in it."""
    results, template = study.results, environment().get_template("report.html.j2")
    return template.render(
        study=study,
        protocol=study.protocol,
        dataset=study.protocol.dataset,
        titles=_titles(study),
        imputed=[e.title for e in study.entrants if e.imputed],
        fitted=[e.title for e in study.entrants if e.fitted],
        answer=best_in_words(summary, _titles(study), study.protocol.counted),
        pictures=pictures,
        settings=summary.settings.to_dict("records"),
        within=_by_method(_mark_best(summary.within, "k", -summary.within["accuracy"]), "k"),
        limits=results.attrs["within"],
        losses=_mark_best(summary.losses, "lam", summary.losses["loss"]).to_dict("records"),
        examples=examples_of(study),
        failures=results.loc[results["error"].notna(), ["method", "params", "split", "error"]].to_dict("records"),
        warned=results.loc[results["warning"].notna(), ["method", "params", "split", "warning"]].to_dict("records"),
        VALUES_SHOWN=VALUES_SHOWN,
        versions={"python": platform.python_version(), "fsgym": version("fsgym"), **{p: version(p) for p in PACKAGES}},
        machine=platform.platform(terse=True),
        date=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
    )


def _mark_best(table: pd.DataFrame, key: str, badness: pd.Series) -> pd.DataFrame:
    """The table with a column that tells the best of each ``key`` among what the rules allow."""
    allowed = badness.where(table["admissible"] == 1.0).round(3)
    return table.assign(best=allowed == allowed.groupby(table[key]).transform("min"))


def _by_method(table: pd.DataFrame, key: str) -> dict[str, dict[Any, dict]]:
    found: dict[str, dict[Any, dict]] = {}
    for row in table.to_dict("records"):
        found.setdefault(str(row["method"]), {})[row[key]] = row
    return found


def _number(value: float) -> str:
    return f"{value:.4g}"


def _value(value: float) -> str:
    return "missing" if np.isnan(value) else f"{value:.5g}"
