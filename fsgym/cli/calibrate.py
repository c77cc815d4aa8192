"""The command ``calibrate``: a model that stops only where it is certain enough for what is promised."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from fsgym.cli import mistakes, options
from fsgym.cli.evaluate import part_in_words
from fsgym.cli.terminal import show
from fsgym.support.writing import writable_folder


@options.with_sign_options
def calibrate(
    model: options.ModelArgument,
    data: options.DataArgument,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="MODEL", help="File for the calibrated model; it may be the same file."),
    ],
    target_error: Annotated[
        float | None,
        typer.Option(help="At most this share of all answers is wrong, such as 0.05; referred cases have none."),
    ] = None,
    target_recall: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CLASS=SHARE",
            help="At least this share of the rows of a class is found, such as acs=0.98; separate several by commas.",
        ),
    ] = None,
    target_error_cost: Annotated[
        float | None,
        typer.Option(help="The mean error cost is at most this, in units of the error costs of the model."),
    ] = None,
    max_referred: Annotated[
        float | None,
        typer.Option(help="At most this share of all cases is referred to a person, by a model with a --refer-cost."),
    ] = None,
    min_confidence: Annotated[
        float | None,
        typer.Option(help="Stop only where the model gives its answer at least this probability; nothing is tested."),
    ] = None,
    confidence: Annotated[
        float, typer.Option(help="In at least this share of calibrations, all that is promised holds.")
    ] = 0.9,
    by: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="What is promised holds for each value of this column, such as each ward."),
    ] = None,
    target: options.TargetOption = None,
    row_groups: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of a CSV file that says which rows belong together, such as the patient of each visit: what "
            "is promised is the mean over patients. Default: as in training.",
        ),
    ] = None,
    data_dir: options.DataDirOption = None,
    **signs: Any,
) -> None:
    """Make a model stop only where it is certain enough for what is promised, tested on rows of your own.

    The rows must have had no part in training: of the training file, the part that was held out is used. Where nothing
    can be promised, the sentence says what these rows could promise, or how many are needed, and no file is written.

    Example: fsgym calibrate old.model rows.csv --target-error 0.05 -o new.model
    """
    mistakes.check_model(model)
    mistakes.check_data(data, data_dir)
    mistakes.refuse_folder(output, "--output", "the model")
    recalls = options.numbers_by_name(target_recall, "--target-recall", "CLASS=SHARE")
    from fsgym.cli.model_data import ModelData, labelled_data
    from fsgym.data.reading.model_tables import refuse_unknown_columns
    from fsgym.datasets.loading import part_index
    from fsgym.session.held_out import reliability_text

    writable_folder(output.parent)
    mistakes.refuse_other_file(output)
    opened = ModelData.open(
        model,
        {"target": target, "row_groups": row_groups, **signs},
    )
    kept = () if by is None else (by,)
    with options.warnings_printed():
        table, loaded = opened.read(data, data_dir, kept)
        refuse_unknown_columns(kept, table, f"--by, {data}")
        labelled = labelled_data(opened, data, table, loaded, "error")
    part = labelled.default_split
    rows = part_index(labelled.loaded, part, labelled.reading.row_groups)
    labelled.refuse_training_rows(rows)
    calibrated = opened.classifier.calibrate(
        labelled.loaded.dataset.rows(rows),
        target_error=target_error,
        target_recall=recalls,
        target_error_cost=target_error_cost,
        max_referred=max_referred,
        min_confidence=min_confidence,
        confidence=confidence,
        by=None if by is None else table[by].iloc[rows],
    )
    calibrated.save(output)
    words = part_in_words(labelled.loaded, part, labelled.reading.row_groups)
    show(f"{type(calibrated).__name__} from {model}, calibrated on {words}")
    for sentence in calibrated.promise_.sentences():
        show(sentence)
    show(reliability_text(calibrated, in_case=True))
    show(labelled.remark)
    if not len(labelled.training):  # whether any did is not known
        show("If some of these rows had a part in training, the promise does not hold.")
    show(f"Model: {output}")
    show(f"Ask about one case: {shlex.join(['fsgym', 'ask', str(output)])}")
