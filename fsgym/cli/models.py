"""The commands ``train`` and ``evaluate``, for one model."""

from __future__ import annotations

import shlex
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fsgym.checks import did_you_mean
from fsgym.cli import options
from fsgym.methods import DEFAULT_AGENT, METHODS, find_method, load_class, method_names

if TYPE_CHECKING:
    from fsgym.dataset import Dataset
    from fsgym.evaluation import Evaluation

SplitOption = Annotated[
    str,
    typer.Option(
        help="Part of the data to use: train, test or all. Uses the data set's official split if it has one, otherwise "
        "a random 70/30 split with seed 0."
    ),
]


FIGURE_LABELS = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "n_features": "mean features used",
    "n_acquisitions": "mean acquisitions",
    "spent": "mean price paid",
    "error_cost": "mean error cost",
    "loss": "loss",
}


def agent_names() -> list[str]:
    """Names of the methods of ``METHODS`` that can be trained and saved to a model file."""
    return [name for name, method in METHODS.items() if method.kind]


@options.with_rule_options
def train(
    data: options.DataArgument,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="File for the model.")],
    agent: Annotated[
        str,
        typer.Option(
            help=options.escape_brackets(
                f"One of {', '.join(agent_names())}. maskable_ppo and dqn need the optional dependencies: "
                "pip install 'fsgym[rl]'."
            )
        ),
    ] = DEFAULT_AGENT,
    lam: Annotated[
        float | None,
        typer.Option(
            help="Exchange rate (lambda): the value of one unit of --costs, in units of error cost. "
            "Default: 0.01, or 1 if --error-costs is given."
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(help="Length of the training: iterations of rcpi, environment steps of maskable_ppo and dqn."),
    ] = None,
    split: SplitOption = "train",
    target: options.TargetOption = None,
    drop: options.DropOption = None,
    row_groups: options.RowGroupsOption = None,
    data_dir: options.DataDirOption = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same model.")] = 0,
    **rules: Any,
) -> None:
    """Train an agent that acquires features one by one, and write it to a model file."""
    import pandas as pd

    from fsgym.comparison.compare import writable_folder
    from fsgym.evaluation import evaluate
    from fsgym.rules import Rules

    if agent not in agent_names() and not (agent in method_names() and find_method(agent).kind):
        raise ValueError(
            f"--agent must be one of {', '.join(agent_names())}, got {agent!r}{did_you_mean(agent, agent_names())}"
        )
    method = find_method(agent)
    cls = load_class(method)
    writable_folder(output.parent)
    dataset, given = options.read_task(
        data, rules, data_dir=data_dir, target=target, drop=drop, row_groups=row_groups, split=split
    )
    price = (0.01 if given["error_costs"] is None else 1.0) if lam is None else lam
    checked = Rules.for_dataset(dataset, lam=price, **given)
    model = cls(**method.preset, **checked.options(), random_state=seed)
    if steps is not None:
        if not cls.length_parameter:
            raise ValueError(f"--steps sets the length of the training, which {agent} does not have; leave it out")
        model.set_params(**{cls.length_parameter: steps})
    if "progress_bar" in model.get_params():
        model.set_params(progress_bar=sys.stderr.isatty())
    start = time.perf_counter()
    model.fit(pd.DataFrame(dataset.X, columns=list(dataset.feature_names)), dataset.classes[dataset.y])
    seconds = time.perf_counter() - start
    model.save(output)
    _print_figures(
        f"{method.title}, trained in {seconds:.1f} s, evaluated on its training rows",
        evaluate(model.policy_, dataset, model.rules_),
    )
    same_split = "" if row_groups is None else f" --row-groups {shlex.quote(row_groups)}"
    print(f"Model: {output}    Evaluate it on test rows: fsgym evaluate {output} {data}{same_split}")


def evaluate(
    model: Annotated[Path, typer.Argument(help="A file written by `fsgym train` or by save() of a classifier.")],
    data: options.DataArgument,
    split: SplitOption = "test",
    groups: options.GroupsOption = None,
    target: options.TargetOption = None,
    drop: options.DropOption = None,
    row_groups: options.RowGroupsOption = None,
    data_dir: options.DataDirOption = None,
) -> None:
    """Evaluate a model file on a data set, under the rules of its training."""
    load_classifier: Any = import_module("agents").load_classifier
    from fsgym.evaluation import evaluate as evaluate_policy

    classifier = load_classifier(model)
    dataset = options.read_data(
        data, groups, data_dir=data_dir, target=target, drop=drop, row_groups=row_groups, split=split
    )
    result = evaluate_policy(classifier.policy_, _with_classes_of(classifier, dataset), classifier.rules_)
    _print_figures(f"{type(classifier).__name__} from {model}", result)


def _with_classes_of(classifier: Any, dataset: Dataset) -> Dataset:
    """The data set with the classes of the classifier; ValueError unless its columns are those of the training."""
    columns = list(getattr(classifier, "feature_names_in_", dataset.feature_names))
    if columns != list(dataset.feature_names):
        absent = [name for name in columns if name not in dataset.feature_names]
        fault = f"has no {absent[0]!r}" if absent else "has others, or another order"
        raise ValueError(f"the model needs the {len(columns)} columns of its training; {dataset.name!r} {fault}")
    return dataset.replace(classes=classifier.classes_)


def _print_figures(title: str, result: Evaluation) -> None:
    print(f"{title}: {result.dataset.n_samples} rows of {result.dataset.name}, {result.rules}")
    for name, label in FIGURE_LABELS.items():
        print(f"  {label:<20}{getattr(result, name):10.4f}")
