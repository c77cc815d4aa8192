"""The command ``chart``: what a model asks in which state, as a drawing, as Markdown or as text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from fsgym.cli import options
from fsgym.cli.mistakes import check_data, check_model, refuse_folder, whole_number
from fsgym.cli.terminal import opened_output, say, show
from fsgym.text.messages import visible

if TYPE_CHECKING:
    from fsgym.chart import Chart

MAX_CHART_BOXES = 1000  # of a chart: more than anybody reads
NO_CHARTS = {"mixture": "mixture", "network": "network", "any_network": "network"}  # learners, in words
CHART_SUFFIXES = (".svg", ".md", ".txt", ".json")


@options.with_sign_options
def chart(
    model: options.ModelArgument,
    data: Annotated[
        str | None,
        typer.Argument(
            help="Labelled data by which shares and figures are measured, as in evaluate: rows that were not used in "
            "training, if there are any. Default: what the model file says of rows of the training."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="A .svg, .md (Mermaid), .txt or .json file; default: text."
        ),
    ] = None,
    target: options.TargetOption = None,
    case_price: options.CasePriceOption = None,
    max_boxes: Annotated[
        int,
        typer.Option(
            callback=whole_number(1, MAX_CHART_BOXES),
            help="The chart is cut after so many boxes; at most 60 are found.",
        ),
    ] = 30,
    data_dir: options.DataDirOption = None,
    **signs: Any,
) -> None:
    """Draw what a model asks in which state, and where each answer leads.

    Where one value decides, the conditions are the model's own; where several do, a small tree imitates it. The first
    lines say how often the chart asks and answers as the model does, and the loss of both.

    Of rows with empty cells the policy's figures may differ from those of evaluate, which knows from the start which
    cells are empty: here that shows when the value is asked for.

    Example: fsgym chart model.safetensors -o chart.svg
    """
    if output is not None and output.suffix not in CHART_SUFFIXES:
        raise ValueError(f"--output must end in {', '.join(CHART_SUFFIXES)}, got {output}")
    check_model(model)
    refuse_folder(output, "--output", "the chart")
    if data is not None:
        check_data(data, data_dir)
    from fsgym.cli.model_data import ModelData

    opened = ModelData.open(model, {"target": target, **signs}, case_price)
    rows = None if data is None else _unseen_rows(opened, data, data_dir)
    drawn = opened.classifier.chart(rows, max_boxes=max_boxes)
    writers = {".svg": drawn.to_svg, ".md": drawn.to_markdown, ".json": drawn.to_json}
    text = writers.get("" if output is None else output.suffix, drawn.to_text)()
    text = text if output is not None and output.suffix == ".json" else visible(text)
    with opened_output(output) as file:
        file.write(f"{text.rstrip()}\n")
    if output is not None:
        show(f"Written: {output}. {drawn.headline}")
    learner = getattr(opened.classifier, "learner_", opened.classifier.without_promise().policy_.acting.kind)
    if learner in NO_CHARTS:
        better = "; train with --agent lattice for a policy that a chart shows better"
        by_case = opened.classifier.rules_.costs_by_case  # which the lattice does not take
        say(f"the model is a {NO_CHARTS[learner]}, which a chart can only imitate{'' if by_case else better}")
    if rows is not None and not opened.classifier.rules_.costs_by_case:
        _say_other_figures(opened.classifier, rows, drawn)


def _say_other_figures(model: Any, rows: Any, drawn: Chart) -> None:
    """Say what ``evaluate`` has for the same rows, where it is something else."""
    from fsgym.evaluation.evaluate import evaluate

    found = evaluate(model, rows)
    if not np.allclose((found.loss, found.spent), (drawn.policy_loss, drawn.policy_paid)):
        say(
            f"fsgym evaluate has a loss of {found.loss:.4g} and a price of {found.spent:.4g} for these rows: it knows "
            "from the start which cells are empty, and a person who follows the chart finds out by asking"
        )


def _unseen_rows(opened: Any, data: str, data_dir: Path | None) -> Any:
    """The rows of labelled data that the model was not trained on; all, with a remark, where that is not known."""
    from fsgym.cli.model_data import read_labelled
    from fsgym.datasets.loading import part_index

    with options.warnings_printed():
        labelled = read_labelled(opened, data, data_dir, "error")
    rows = part_index(labelled.loaded, labelled.default_split, labelled.reading.row_groups)
    if labelled.default_split == "all":
        say(labelled.caution(rows))
    return labelled.loaded.dataset.rows(rows)
