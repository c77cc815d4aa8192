"""The commands about one model: train it, evaluate it."""

from __future__ import annotations

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

Split = Annotated[
    str, typer.Option(help="train, test or all: the official parts, else 70 % and 30 %, drawn with seed 0.")
]


def agent_names() -> list[str]:
    """Names of the methods that can be trained and written to a model file."""
    return [name for name, method in METHODS.items() if method.kind]


@options.with_rule_options
def train(
    data: options.Data,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="File to write the model to.")],
    agent: Annotated[
        str, typer.Option(help=f"One of {', '.join(agent_names())}; deep agents need the extra rl.")
    ] = DEFAULT_AGENT,
    lam: Annotated[
        float | None, typer.Option(help="Price of one unit of costs; default .01, with error costs 1.")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(help="Length of the training: n_iterations of rcpi, total_timesteps of deep agents.")
    ] = None,
    split: Split = "train",
    target: options.Target = None,
    drop: options.Drop = None,
    data_dir: options.DataDir = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same model.")] = 0,
    **rules: Any,
) -> None:
    """Train an agent that asks for features one by one, and write it to a model file."""
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
    dataset, given = options.read_task(data, rules, data_dir=data_dir, target=target, drop=drop, split=split)
    price = (0.01 if given["error_costs"] is None else 1.0) if lam is None else lam
    checked = Rules.for_dataset(dataset, lam=price, **given)
    model = cls(**method.preset, **checked.options(), random_state=seed)
    if steps is not None:
        if not cls.length_parameter:
            raise ValueError(f"--steps is for agents that can train longer or shorter, {agent} cannot; leave it out")
        model.set_params(**{cls.length_parameter: steps})
    if "progress_bar" in model.get_params():
        model.set_params(progress_bar=sys.stderr.isatty())
    began = time.perf_counter()
    model.fit(pd.DataFrame(dataset.X, columns=list(dataset.feature_names)), dataset.classes[dataset.y])
    seconds = time.perf_counter() - began
    model.save(output)
    _tell(
        f"{method.title}, {seconds:.1f} s, on the rows it was trained on",
        evaluate(model.policy_, dataset, model.rules_),
    )
    print(f"Model: {output}    On other rows: fsgym evaluate {output} {data}")


def evaluate(
    model: Annotated[Path, typer.Argument(help="A file that `fsgym train` or a classifier's save wrote.")],
    data: options.Data,
    split: Split = "test",
    groups: options.Groups = None,
    target: options.Target = None,
    drop: options.Drop = None,
    data_dir: options.DataDir = None,
) -> None:
    """Evaluate a model file on a data set, under the rules that it was trained with."""
    load_classifier: Any = import_module("agents").load_classifier
    from fsgym.evaluation import evaluate as judge

    classifier = load_classifier(model)
    dataset = options.read_data(data, groups, data_dir=data_dir, target=target, drop=drop, split=split)
    _tell(
        f"{type(classifier).__name__} of {model}",
        judge(classifier.policy_, _fitting(dataset, classifier), classifier.rules_),
    )


def _fitting(dataset: Dataset, classifier: Any) -> Dataset:
    """The data set with the classes of the classifier, whose columns it must have."""
    known = getattr(classifier, "feature_names_in_", dataset.feature_names)
    if list(known) != list(dataset.feature_names):
        lost = [name for name in known if name not in dataset.feature_names]
        why = f"{dataset.name!r} has no {lost[0]!r}" if lost else f"{dataset.name!r} has others, or another order"
        raise ValueError(f"the model needs the {len(known)} columns that it was trained with; {why}")
    return dataset.replace(classes=classifier.classes_)


def _tell(title: str, result: Evaluation) -> None:
    """The figures in the terminal."""
    print(f"{title}: {result.dataset.n_samples} rows of {result.dataset.name}, {result.rules}")
    for name in ("accuracy", "balanced_accuracy", "n_features", "n_acquisitions", "spent", "error_cost", "loss"):
        print(f"  {name.replace('_', ' '):<20}{getattr(result, name):10.4f}")
