"""``report.html`` of one or of several data sets, one self-contained file, and its figures as separate PNG files."""

from __future__ import annotations

import base64
import io
import json
import os
import platform
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from fsgym.comparison import figures
from fsgym.comparison.answer import (
    answer_in_words,
    elsewhere_in_words,
    headline_table,
    losses_table,
    noise_in_words,
    noise_over_datasets,
    price_caution,
)
from fsgym.comparison.examples import case_of, class_names, with_units
from fsgym.comparison.figures import draw, method_styles, tradeoff, tradeoff_axes
from fsgym.comparison.noise import DIGITS_OF_BEST
from fsgym.comparison.planned import Comparison, Outcome
from fsgym.comparison.protocol import TARGETS
from fsgym.comparison.ranking import (
    REFERENCES,
    DatasetsResult,
    RankedMethod,
    Ranking,
    folder_name,
    method_titles,
    rank_methods,
    titles_with_flags,
)
from fsgym.comparison.summary import Summary, fitted_in_all, mean_text, settings_text, summarise, with_lam
from fsgym.data.dataset import Dataset
from fsgym.data.targets import Bins
from fsgym.evaluation.result import RELIABILITY_HEADING
from fsgym.methods import CONSTANT, METHODS, Method
from fsgym.metrics import CALIBRATION_BINS
from fsgym.rules import Rules
from fsgym.support.writing import write_or_remove, write_whole
from fsgym.text.messages import in_script, listing, visible
from fsgym.text.sentences import belief_text, beliefs_in_words, price_text, probability_text, values_text

OF_MOST_CASES = 0.5  # acquisitions per row, below which a setting's cases are not shown
MAX_REPORT_BYTES = 3_000_000  # of a report; cases are left out, and then the chart, where it would be larger
# What ``probability_text`` writes, from the lowest to the highest, with the length of the bar in per cent.
BAR_LENGTHS = {
    "0 %": 0.0,
    "below 1 %": 0.5,
    **{f"{percent} %": float(percent) for percent in range(1, 100)},
    "above 99 %": 99.5,
    "100 %": 100.0,
}


def cards_of(comparison: Comparison, ranking: Ranking) -> list[dict[str, Any]]:
    """Cards of each method with an order, in the order of the ranking: ``title``, ``flag``, ``setting`` and ``cards``.

    They are test rows of the first split, at the setting that was chosen there on validation data. Methods whose
    setting acquires nothing for most rows, and reference points, have none.
    """
    shown = []
    for standing in ranking.standings:
        outcome = comparison.chosen(standing).get(0)
        if standing.reference or outcome is None or outcome["row"]["n_acquisitions"] < OF_MOST_CASES:
            continue
        if outcome["examples"]:
            cards = [card_of(example, comparison, ranking) for example in outcome["examples"]]
            setting = settings_text(outcome["row"]["params"])
            shown.append({"title": standing.title, "flag": standing.flag, "setting": setting, "cards": cards})
    return shown


def card_of(example: dict[str, Any], comparison: Comparison, ranking: Ranking) -> dict[str, Any]:
    """An example with its values, beliefs and costs as text."""
    labels = class_names(comparison.protocol.dataset)
    beliefs = example["beliefs"]
    changes = [""] * len(example["steps"]) if beliefs is None else beliefs_in_words(beliefs, labels)
    steps = [
        {
            "text": values_text(step["name"], step["values"]),
            "price": price_text(step["price"]) if ranking.has_prices else "",
            "belief": change,
        }
        for step, change in zip(example["steps"], changes)
    ]
    prior = "" if beliefs is None else belief_text(beliefs[0], beliefs[0], labels)
    return example | {"steps": steps, "prior": prior, "costs": _costs_in_words(example, ranking)}


def _costs_in_words(example: dict[str, Any], ranking: Ranking) -> str:
    """What a case cost: prices, errors, and their sum."""
    total, error = example["cost"], example["error_cost"]
    text = f"{'cost' if ranking.has_error_costs else 'loss'} {total:.6g}"
    text += f": {total - error:.6g} for prices, {error:.6g} for the error" if error else ""
    return text if ranking.lam == 1 or not ranking.has_prices else f"{text}; {example['paid']:.6g} paid"


class ReplayedCase:
    """The recorded cases of the best agent, which has this ``standing``.

    ``settings`` are in the order of their lambda, from the highest to the lowest, that is from the cheapest to the
    dearest; ``start`` is the number of the one at the lambda of the report, or at the closest one; ``moves`` says
    whether there are several lambdas, and so a slider. ``test`` are the test rows of the first split, ``n_recorded`` of
    which were recorded at every setting.

    A setting has a ``label`` such as "lambda 0.01"; ``answer``, the sentences of ``answer_in_words`` at this lambda;
    ``note``, which setting they are about in the first split, if that is another one; and ``cases``: cards, and of each
    step its ``question``, ``asked_price`` and ``paid``. A setting that is no lambda has neither answer nor note.
    """

    def __init__(
        self, comparison: Comparison, ranking: Ranking, standing: RankedMethod, outcomes: list[Outcome]
    ) -> None:
        self.standing, self._protocol = standing, comparison.protocol
        self.test = comparison.protocol.parts(0).test
        given = [json.loads(outcome["row"]["params"]).get("lam") for outcome in outcomes]
        lams = [lam if isinstance(lam, int | float) else None for lam in given]
        by_lam = None not in lams
        order = np.argsort(
            [-(lam or 0.0) if by_lam else o["row"]["spent"] for o, lam in zip(outcomes, lams)], kind="stable"
        )
        self.moves = len(order) > 1 and by_lam
        self.start = int(np.argmin([np.inf if (lam := lams[k]) is None else abs(lam - ranking.lam) for k in order]))
        self.n_recorded = min(len(o["played"]["rows"]) for o in outcomes if o.get("played"))
        self.settings = [self._setting(comparison, ranking, outcomes[k], lams[k]) for k in order]

    @property
    def example(self) -> dict[str, Any]:
        """The first case at the setting ``start`` that acquires anything, if there is one, as a card."""
        cases = self.settings[self.start]["cases"]
        return next((case for case in cases if case["steps"]), cases[0])

    def _setting(self, comparison: Comparison, ranking: Ranking, outcome: Outcome, lam: float | None) -> dict[str, Any]:
        rules, cases = self._protocol.rules, []
        setting: dict[str, Any] = {"label": settings_text(outcome["row"]["params"]), "answer": [], "note": ""}
        if lam is not None:
            at_lam = ranking if lam == ranking.lam else rank_methods(comparison.results, lam)
            note = "" if at_lam is None else _note_on_setting(comparison, at_lam, outcome)
            setting = {"label": f"lambda {lam:.4g}", "answer": answer_in_words(at_lam), "note": note}
        lam = rules.lam if lam is None else lam
        played = outcome.get("played") or {}
        columns = (played[name][: self.n_recorded] for name in ("rows", "order", "beliefs", "answers"))
        for i, order, beliefs, answer in zip(*columns, strict=True):
            example = case_of(rules, self.test, i, np.array(order, np.int32), answer) | {"beliefs": beliefs}
            example["cost"] = lam * example["paid"] + example["error_cost"]
            (example,) = with_units([example], self._protocol.dataset)
            card = card_of(example, comparison, ranking._replace(lam=lam))
            spent = np.cumsum([step["price"] for step in example["steps"]])
            for step, asked, paid, j in zip(card["steps"], example["steps"], spent, order, strict=True):
                step |= {"question": j, "asked_price": price_text(asked["price"]), "paid": f"paid so far {paid:.4g}"}
            cases.append(card)
        return setting | {"cases": cases}

    def to_json(self, room: int) -> tuple[str, int]:
        """All settings with their cases as JSON for a ``script`` element, and how many rows it has.

        The last rows are left out where it would have more than ``room`` bytes, down to none. ``<`` is escaped.
        """
        n = self.n_recorded
        while True:
            compact = json.dumps(self._compact(n), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
            text = in_script(compact)
            size = len(text.encode())
            if size <= room or n == 0:
                return text, n
            n = min(n - 1, n * max(room, 0) // size)

    def _compact(self, n: int) -> dict[str, Any]:
        """The first ``n`` rows; every text stands once, and cases refer to it by its place in ``texts``."""
        protocol, places = self._protocol, {"": 0}

        def place(text: str) -> int:
            return places.setdefault(text, len(places))

        is_number = protocol.dataset.bins is not None
        settings = [
            s | {"cases": [_compact_case(case, place, is_number) for case in s["cases"][:n]]} for s in self.settings
        ]
        return {
            "classes": class_names(protocol.dataset),
            "shares": list(BAR_LENGTHS.items()),
            "questions": list(protocol.rules.names),
            "texts": list(places),
            "start": self.start,
            "settings": settings,
        }


def played_of(comparison: Comparison, ranking: Ranking) -> ReplayedCase | None:
    """The recorded cases of the best method that asks case by case and was recorded; None if there is none.

    Results that were written before cases were recorded have none.
    """
    recorded = [o for o in comparison.outcomes if o["row"]["split"] == 0 and o.get("played")]
    for standing in ranking.standings:
        own = [o for o in recorded if o["row"]["method"] == standing.method]
        if own and not standing.reference and not standing.fixed:
            return ReplayedCase(comparison, ranking, standing, own)
    return None


def chart_of(comparison: Comparison, ranking: Ranking) -> tuple[RankedMethod, str, str] | None:
    """The chart of the best method that has one, as SVG, at its chosen setting in the first split; and its warning."""
    for standing in ranking.standings:
        outcome = comparison.chosen(standing).get(0)
        if outcome is not None and outcome.get("chart"):
            return standing, outcome["chart"], outcome.get("chart_caution", "")
    return None


def _note_on_setting(comparison: Comparison, ranking: Ranking, outcome: Outcome) -> str:
    """Says so where another setting of the method was chosen at this lambda than the one that is played."""
    (standing,) = (s for s in ranking.standings if s.method == outcome["row"]["method"])
    chosen = comparison.chosen(standing).get(0, outcome)
    if chosen["row"]["setting"] == outcome["row"]["setting"]:
        return ""
    played, other = (settings_text(o["row"]["params"]) for o in (outcome, chosen))
    return f"The setting played is {played}; for the answer at this lambda, it is {other} here."


def _compact_case(case: dict[str, Any], place: Callable[[str], int], is_number: bool) -> list[Any]:
    """``[correct, verdict, costs, prior, steps, beliefs]``, texts by their places."""
    verdict = f"answer {case['answer']}, correct"
    if is_number:
        verdict = f"answer {case['answer']}; the number is {case['true_class']}"
    elif not case["correct"]:
        verdict = f"answer {case['answer']}, wrong: the true class is {case['true_class']}"
    steps = [
        [step["question"], *(place(step[name]) for name in ("text", "asked_price", "paid", "belief"))]
        for step in case["steps"]
    ]
    ranks = {text: rank for rank, text in enumerate(BAR_LENGTHS)}
    beliefs = [[ranks[probability_text(abs(share))] for share in belief] for belief in case["beliefs"]]
    return [int(case["correct"]), place(verdict), place(case["costs"]), place(case["prior"]), steps, beliefs]


MAX_CLASSES_LISTED = 5
PAGE_RESERVE = 1_000  # bytes for sentences on the chart and on cases that are left out
REPORTED_PACKAGES = ("numpy", "scipy", "scikit-learn", "gymnasium", "numba", "pandas", "matplotlib")


class Picture(NamedTuple):
    """A figure of a report: the stem of its file name, its heading, its caption, the PNG file's content, the figure."""

    stem: str
    heading: str
    caption: str
    png: bytes
    figure: Figure

    @property
    def uri(self) -> str:
        return "data:image/png;base64," + base64.b64encode(self.png).decode("ascii")


def write_report(comparison: Comparison, folder: Path) -> None:
    """Write the figures and ``report.html`` into ``folder``."""
    summary = summarise(comparison.results)
    ranking = rank_methods(comparison.results)
    pictures = draw_pictures(comparison, summary, ranking)
    for picture in pictures:
        write_picture(picture, folder)
    write_whole(folder / "report.html", render(comparison, summary, ranking, pictures))


def write_datasets_report(result: DatasetsResult, command: str, folder: Path) -> None:
    """Write ``report.html`` and ``ranks.png`` into ``folder``."""
    picture, test = None, result.rank_test
    if test is not None:
        with matplotlib.rc_context(figures.STYLE):
            ax = figures.plot_ranks(test, result.titles)
            caption = "A bar joins methods that the tests of ranks do not separate; 1 is the best rank."
            picture = Picture("ranks", "Mean ranks", caption, *drawn(ax))
        write_picture(picture, folder)
    template = template_environment().get_template("several.html.j2")
    html = template.render(
        result=result,
        elsewhere=elsewhere_in_words(result),
        noise=noise_over_datasets(result.results),
        digits=DIGITS_OF_BEST,
        test=test,
        ranks=[] if test is None else test.to_frame().to_dict("records"),
        picture=picture,
        rows=[
            (name, folder_name(str(name)), lam, row.to_dict(), _lowest_that_pays(result.results[str(name)], lam))
            for (name, lam), row in result.losses_table().sort_index(level=0, sort_remaining=False).iterrows()
        ],
        command=command,
        **provenance(),
    )
    write_whole(folder / "report.html", html)


def draw_pictures(comparison: Comparison, summary: Summary, ranking: Ranking | None) -> list[Picture]:
    """The figures of a comparison, without empty ones; none if all cells failed."""
    if ranking is None:
        return []
    # Matplotlib warns of characters that its font lacks, and draws boxes.
    with matplotlib.rc_context(figures.STYLE), warnings.catch_warnings(action="ignore"):
        pictures = _cost_pictures(comparison, ranking) + _tradeoff_pictures(comparison, summary, ranking)
        pictures += _usage_pictures(comparison, ranking)
        certainty = plot_reliability(comparison, ranking)
        if certainty is not None:
            pictures.append(Picture("reliability", RELIABILITY_HEADING, RELIABILITY_CAPTION, *drawn(certainty)))
        return pictures + _price_pictures(comparison, summary, ranking)


def _error_bar_caption(comparison: Comparison) -> str:
    n = len(comparison.protocol.splits)
    several = f"Means over {n} splits; bars: ± one standard deviation."
    return several if n > 1 else "One split, so there are no error bars."


def _cost_pictures(comparison: Comparison, ranking: Ranking) -> list[Picture]:
    """What a case costs in all, where prices and errors are in one unit."""
    bars = figures.costs(ranking, titles_with_flags(ranking))
    if bars is None:
        return []
    n = len(comparison.protocol.splits)
    means = f"Means over {n} splits" if n > 1 else "One split"
    caption = (
        f"Shorter is better. {means}, each method at its settings in the table; prices and errors are in one unit."
        + (" Lines are 95 % intervals of the whole." if bars["lines"] else "")
    )
    return [Picture("costs", "Cost per case", caption, *drawn(draw(bars)))]


def _tradeoff_pictures(comparison: Comparison, summary: Summary, ranking: Ranking) -> list[Picture]:
    *_, x_label, y_label = tradeoff_axes(ranking)
    settings, left_out = fitted_in_all(summary.settings, len(comparison.protocol.splits))
    curves = tradeoff(ranking, settings, titles_with_flags(ranking))
    if curves is None:
        return []
    heading = f"{y_label[0].upper()}{y_label[1:]} against {x_label}"
    best = ranking.best
    ring = "" if best is None or best.reference else " The ring marks the best method at its chosen settings."
    n = len(comparison.protocol.splits)
    means = f"Means over {n} splits" if n > 1 else "One split"
    logarithmic = "scale" in curves["y"]
    has_zero = logarithmic and "0" in curves["y"]["tick_labels"]
    zero = " The tick 0, for no error, stands where half an error would be." if has_zero else ""
    caption = (
        f"Each point is one setting of a method; lower and further left is better.{ring} {means}, on "
        f"{'a logarithmic' if logarithmic else 'a linear'} vertical axis.{zero}{left_out}"
    )
    return [Picture("curves", heading, caption, *drawn(draw(curves)))]


def _usage_pictures(comparison: Comparison, ranking: Ranking) -> list[Picture]:
    """How many and which acquisitions are made, by the methods that make any at their chosen settings."""
    protocol, titles = comparison.protocol, titles_with_flags(ranking)
    shown = [s for s in ranking.standings if s.acquires and not s.reference]
    if not shown:
        return []
    outcomes = {s.method: comparison.chosen(s).values() for s in shown}
    histograms = {name: np.sum([o["histogram"] for o in found], axis=0) for name, found in outcomes.items()}
    usages = {s.method: np.array([s.shares["usage"].get(name, 0.0) for name in protocol.rules.names]) for s in shown}
    counts = figures.used_counts(histograms, titles, protocol.unit)
    means = np.mean(list(usages.values()), axis=0)
    used = [j for j in np.argsort(-means, kind="stable") if means[j] > 0]
    names = [protocol.rules.names[j] for j in used]
    shares = figures.used_features({n: usage[used] for n, usage in usages.items()}, names, titles, protocol.unit)
    pooled = "test rows of one split" if len(protocol.splits) == 1 else "test rows of all splits are pooled"
    caption = f"Each method at its settings in the first table; {pooled}."
    return [
        Picture("usage", f"Which {protocol.unit} are used", caption, *drawn(draw(shares))),
        Picture("histogram", f"How many {protocol.unit} are used", "Same settings.", *drawn(draw(counts))),
    ]


def _price_pictures(comparison: Comparison, summary: Summary, ranking: Ranking) -> list[Picture]:
    """What price-aware methods acquire at each lambda, where there are several."""
    complete, left_out = fitted_in_all(summary.settings, len(comparison.protocol.splits))
    settings, counted = with_lam(complete), comparison.protocol.counted
    settings = settings[~settings["method"].isin(REFERENCES)]
    if settings["lam"].nunique() < 2:
        return []
    lines = figures.price_against_sparsity(settings, titles_with_flags(ranking), _error_unit(comparison), counted)
    lines["y"]["label"] = f"mean number of {comparison.protocol.unit} used"
    heading = f"Number of {comparison.protocol.unit} used at each lambda"
    caption = f"Methods that take prices into account in training. {_error_bar_caption(comparison)}{left_out}"
    return [Picture("lambda", heading, caption, *drawn(draw(lines)))]


def _error_unit(comparison: Comparison) -> str:
    """What the costs of errors count: misclassifications, if each error costs 1."""
    plain = (comparison.protocol.rules.error_costs == 1 - np.eye(comparison.protocol.dataset.n_classes)).all()
    return "misclassifications" if plain else "units of error cost"


def drawn(plotted: Axes | Figure) -> tuple[bytes, Figure]:
    """A figure, or the figure of some axes, as the content of a PNG file; and the figure."""
    buffer = io.BytesIO()
    figure = plotted if isinstance(plotted, Figure) else plotted.get_figure(root=True)
    assert figure is not None
    FigureCanvasAgg(figure)
    figure.savefig(buffer, format="png", dpi=150, metadata={"Software": None})
    return buffer.getvalue(), figure


_AS_PDF: ContextVar[bool] = ContextVar("_AS_PDF", default=False)


@contextmanager
def figures_as(kind: str) -> Iterator[None]:
    """Write each picture as "png", or as "pdf" too."""
    before = _AS_PDF.set(kind == "pdf")
    try:
        yield
    finally:
        _AS_PDF.reset(before)


def write_picture(picture: Picture, folder: Path) -> None:
    """Write a picture as PNG, and as PDF within ``figures_as("pdf")``, else without an earlier one that shows others.

    Raises OSError if a file cannot be written.
    """
    buffer = io.BytesIO()
    if _AS_PDF.get():
        with matplotlib.rc_context({"pdf.fonttype": 42}):  # fonts that journals take
            picture.figure.savefig(buffer, format="pdf", metadata={"CreationDate": None})
    write_whole(folder / f"{picture.stem}.png", picture.png)
    write_or_remove(folder / f"{picture.stem}.pdf", buffer.getvalue() or None)


def template_environment(*folders: str | os.PathLike) -> jinja2.Environment:
    """Jinja's environment for the templates of this package and of ``folders``, in which every value is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([Path(__file__).parent / "templates", *map(Path, folders)]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    environment.filters |= {
        "mean": mean_text,
        "setting": settings_text,
        "number": "{:.4g}".format,
        "joined": lambda text: text.replace(" %", "\u00a0%"),  # no line ends between a number and its % sign
    }
    return environment


def provenance() -> dict[str, Any]:
    """What every report says of its origin: ``versions`` by package, ``machine`` and ``date``."""
    packages = {name: version(name) for name in ("fsgym", *REPORTED_PACKAGES)}
    return {
        "versions": {"python": platform.python_version(), **packages},
        "machine": platform.platform(terse=True),
        "date": datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
    }


def render(comparison: Comparison, summary: Summary, ranking: Ranking | None, pictures: list[Picture]) -> str:
    """The report as HTML; names and values of the data are escaped.

    Of the cases to play it has as many as fit into ``MAX_REPORT_BYTES``, and the chart if that fits.
    """
    template = template_environment().get_template("report.html.j2")
    played = None if ranking is None else played_of(comparison, ranking)
    chart = None if ranking is None else chart_of(comparison, ranking)
    most = 0 if played is None else played.n_recorded
    parts = {"played": played, "played_data": "", "n_played": most, "chart": None, "chart_fits": True}
    described = _described(comparison, summary, ranking, pictures)
    room = MAX_REPORT_BYTES - len(template.render(**described, **parts).encode()) - PAGE_RESERVE
    if chart is not None:
        fits = len(chart[1].encode()) <= room
        parts |= {"chart": chart, "chart_fits": fits}
        room -= len(chart[1].encode()) if fits else 0
    if played is not None:
        data, n_played = played.to_json(room)
        parts |= {"played_data": data, "n_played": n_played}
    return template.render(**described, **parts)


def _described(
    comparison: Comparison, summary: Summary, ranking: Ranking | None, pictures: list[Picture]
) -> dict[str, Any]:
    """What the template shows apart from cases to play and the chart, by name."""
    results = comparison.results
    within = summary.within.dropna(subset=["accuracy"])
    within = within[~within["method"].isin(REFERENCES)]
    if ranking is None or ranking.has_error_costs:
        within = within[:0]
    few = within[comparison.protocol.counted] <= within["k"] + 0.05  # on the test part, as it is shown
    without = None if ranking is None else ranking.without_acquiring
    if without is not None:
        few &= within["accuracy"].round(3) >= round(without.figures["accuracy"], 3)
    lams, rules = sorted(summary.losses["lam"].unique()), comparison.protocol.rules
    bins = comparison.protocol.dataset.bins
    titles = method_titles(results)
    return dict(
        comparison=comparison,
        error_costs=results.attrs["error_costs"],
        protocol=comparison.protocol,
        dataset=comparison.protocol.dataset,
        titles=titles,
        imputed=[titles[m.name] for m in comparison.methods if m.imputed],
        fitted=[titles[m.name] for m in comparison.methods if m.fitted],
        noise=noise_in_words(results),
        answer=[*answer_in_words(ranking), *filter(None, [price_caution(results)])],
        ranking=ranking,
        table=None if ranking is None else headline_table(ranking),
        error_unit=_error_unit(comparison),
        targeting=[titles[m.name] for m in comparison.methods if any(name in p for p in m.params for name in TARGETS)],
        pictures={picture.stem: picture for picture in pictures},
        settings=summary.settings.to_dict("records"),
        within={
            str(name): {row["k"]: row for row in rows.to_dict("records")}
            for name, rows in _mark_best(within, -within["accuracy"].where(few)).groupby("method", sort=False)
        },
        limits=sorted(within["k"].unique()),
        losses=losses_table(results, lams) if len(lams) > 1 else None,
        examples=[] if ranking is None else cards_of(comparison, ranking),
        failures=results.loc[results["error"].notna(), ["method", "params", "split", "error"]].to_dict("records"),
        warned=results.loc[results["warning"].notna(), ["method", "params", "split", "warning"]].to_dict("records"),
        described=[
            (titles[m.name], "; ".join(filter(None, (own.uses, own.reference, _of_bins(own, bins)))))
            for m in comparison.methods
            if (own := METHODS.get(m.key)) is not None and own.uses
        ],
        class_shares=_class_shares(comparison.protocol.dataset),
        prices=list(zip(rules.names, rules.costs.tolist())) if (rules.costs != 1).any() else [],
        prices_are_means=rules.costs_by_case,
        prerequisites=_prerequisites(rules),
        **provenance(),
    )


def _of_bins(method: Method, bins: Bins | None) -> str:
    """What a method makes of a numeric target that it does not predict as a number; "" elsewhere."""
    return "" if bins is None or method.regressor or method is METHODS[CONSTANT] else "the bins are its classes"


def _class_shares(dataset: Dataset) -> str:
    """Such as "acs 9 %, other 91 %"; "" for many classes."""
    if dataset.n_classes > MAX_CLASSES_LISTED:
        return ""
    shares = np.bincount(dataset.y, minlength=dataset.n_classes) / dataset.n_samples
    return ", ".join(f"{label} {100 * share:.3g} %" for label, share in zip(class_names(dataset), shares))


def _prerequisites(rules: Rules) -> list[str]:
    """Such as "ct only after troponin"."""
    needs = [] if rules.prerequisites is None else rules.prerequisites
    return [
        f"{rules.names[j]} only after {listing(rules.names[i] for i in np.flatnonzero(row))}"
        for j, row in enumerate(needs)
        if row.any()
    ]


def _lowest_that_pays(results: pd.DataFrame, lam: float) -> float:
    """The lowest loss at a lambda, rounded; NaN where answering without acquiring anything has a lower one."""
    ranking = rank_methods(results, lam)
    best = None if ranking is None else ranking.best_of(reference=False)
    if ranking is None or best is None or not ranking.pays(best):
        return float("nan")
    return round(best.figures["loss"], DIGITS_OF_BEST)


def _mark_best(table: pd.DataFrame, criterion: pd.Series) -> pd.DataFrame:
    """The table with a column ``best``: smallest criterion for each ``k``, among rows that respect the rules."""
    allowed = criterion.where(table["admissible"] == 1.0).round(3)
    return table.assign(best=allowed == allowed.groupby(table["k"]).transform("min"))


# How certain methods were of their answers, and how often these were right.

RELIABILITY_CAPTION = (
    "Each method at its settings in the first table; test rows of all splits, in ten bins by the probability of their "
    "answer. On the line the probability is the share of right answers; below it a method is too certain. The area of "
    "a point grows with the number of its rows."
)
MAX_POINT = 120.0  # area of a point of all rows, in square points


def plot_reliability(comparison: Comparison, ranking: Ranking) -> Axes | None:
    """Share of right answers against their mean probability, for methods with probabilities; None if there is none."""
    chosen = {s.method: comparison.chosen(s).values() for s in ranking.standings if not s.reference}
    pooled = {name: pooled_bins(list(outcomes)) for name, outcomes in chosen.items()}
    pooled = {name: bins for name, bins in pooled.items() if len(bins)}
    if not pooled:
        return None
    titles = titles_with_flags(ranking)
    shown = dict(zip(titles, figures.shorten_names(list(titles.values()), figures.LONGEST_TITLE)))
    styles, ax = method_styles(list(titles)), Figure(figsize=(6.4, 4.8), layout="constrained").subplots()
    ax.plot([0, 1], [0, 1], color="#777777", linewidth=0.8)
    lowest = 1.0
    for name, bins in pooled.items():
        certainty, correct, rows = bins.T
        ax.plot(certainty, correct, color=styles[name]["color"], linewidth=1.0)
        area = MAX_POINT * rows / rows.sum()
        ax.scatter(certainty, correct, area, label=shown[name], zorder=3, **styles[name])
        lowest = min(lowest, certainty.min(), correct.min())
    limits = max(0.0, lowest - 0.05), 1.03
    ax.set(xlabel="mean probability of the answer", ylabel="share of right answers", xlim=limits, ylim=limits)
    ax.legend(loc="upper left")
    return ax


def pooled_bins(outcomes: list[Outcome]) -> NDArray[np.float64]:
    """Mean certainty, share correct and number of rows of each bin over several splits, float64 (n_bins, 3)."""
    parts = [
        [line["certainty"], line["correct"], line["rows"]] for o in outcomes for line in o.get("reliability") or ()
    ]
    if not parts:
        return np.empty((0, 3))
    bins = np.array(parts, dtype=np.float64)
    place = np.searchsorted(np.linspace(0, 1, CALIBRATION_BINS + 1)[1:-1], bins[:, 0])
    rows = np.bincount(place, bins[:, 2], CALIBRATION_BINS)
    sums = [np.bincount(place, bins[:, k] * bins[:, 2], CALIBRATION_BINS) for k in (0, 1)]
    kept = rows > 0
    return np.column_stack([*(total[kept] / rows[kept] for total in sums), rows[kept].astype(np.float64)])
