"""The command ``train``: one model, written to a file and evaluated."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from fsgym.cli import mistakes, options
from fsgym.cli.evaluate import JsonOption, part_in_words, print_evaluations, print_json, print_rules, references_of
from fsgym.cli.options import agent_names, complete_agent
from fsgym.cli.terminal import say, show
from fsgym.cli.warm import compilations, say_of_first_run
from fsgym.methods import DEFAULT_AGENT, Method, find_method, load_class, method_names
from fsgym.support.writing import writable_folder
from fsgym.text.messages import brief, did_you_mean, listing, option_text

if TYPE_CHECKING:
    from fsgym.data.dataset import Dataset
    from fsgym.data.reading.reading import Reading
    from fsgym.datasets.folder import LoadedDataset
    from fsgym.evaluation.evaluate import Evaluation

ROWS_TOO_GOOD = 50  # held out, from which on it is remarkable that all are answered right; by hand
OTHER_PART = {"train": "test", "test": "train"}  # the part that was not used for training


@options.with_table_options
@options.with_rule_options
def train(
    data: options.DataArgument,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="File for the model.")],
    agent: Annotated[
        str,
        typer.Option(
            help=f"One of {', '.join(agent_names())}. maskable_ppo and dqn need the extra rl: in the clone, "
            "pip install -c constraints.txt -e '.[rl]'; gdfs and dime need the extra deep.",
            autocompletion=complete_agent,
        ),
    ] = DEFAULT_AGENT,
    lam: Annotated[
        float | None,
        typer.Option(
            help="Exchange rate (lambda): the value of one unit of --costs, in units of error cost. "
            "Default: 0.01, or 1 with --error-costs, --ordered or --numeric-target, which bring error costs."
        ),
    ] = None,
    target_cost: Annotated[
        float | None,
        typer.Option(help="Find the lambda at which the mean price paid is at most this, in units of --costs."),
    ] = None,
    target_features: Annotated[
        float | None,
        typer.Option(help="Find the lambda at which the mean number of features used is at most this."),
    ] = None,
    known: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMNS",
            help="Columns that every case brings, such as age,sex: the model begins with them, at no price and outside "
            "a budget. `fsgym ask --known` gives their values.",
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            callback=mistakes.whole_number(1, mistakes.MAX_TRAINING_SECONDS),
            help="Length of the training: iterations of rcpi, environment steps of maskable_ppo and dqn, "
            "passes through the rows of gdfs and dime.",
        ),
    ] = None,
    split: Annotated[
        str,
        typer.Option(
            help="Part of the data to train on: train, test or all. Uses the data set's official split if it has one, "
            "otherwise a random 70/30 split with seed 0. The other part is held out, to evaluate the model."
        ),
    ] = "train",
    target: options.TargetOption = None,
    drop: options.DropOption = None,
    row_groups: options.RowGroupsOption = None,
    data_dir: options.DataDirOption = None,
    seed: Annotated[
        int,
        typer.Option(callback=mistakes.whole_number(0, mistakes.MAX_SEED), help="The same seed gives the same model."),
    ] = 0,
    as_json: JsonOption = False,
    **rules: Any,
) -> None:
    """Train an agent that acquires features one by one, and write it to a model file.

    The file also says how the data were read, so that evaluate and predict need no such options.

    A Parquet or .npz file of more than 50 million values is read in blocks, for the default agent.

    With --json, one object: model, agent, learner (the one that adaptive chose, with evidence for cases of which
    nothing is said; otherwise null), data, part, lam, evidence (columns for which it tells something that a value is
    missing), seconds, and the evaluations training,
    held_out (null with --split all) and held_out_asked (of the same rows where nothing is said of what is missing;
    null without evidence), each with the keys that evaluate --json has in evaluation; of a numeric target also
    references. What a first run compiles is not in seconds, but in compiling.

    Example: fsgym train ward.csv --target died --drop pid -o model.safetensors
    """
    method = _find_agent(agent)
    mistakes.refuse_folder(output, "--output", "the model")
    mistakes.check_rule_files({"lam": lam, **rules})
    mistakes.check_data(data, data_dir, split)
    from fsgym.cli.case_prices import in_words
    from fsgym.cli.model_data import DataOrigin
    from fsgym.datasets.loading import part_index
    from fsgym.session.held_out import HeldOut

    targets = {"target_cost": target_cost, "target_features": target_features}
    model = method_with(method, agent, steps=steps, lam=lam, known=options.comma_separated(known), **targets)
    writable_folder(output.parent)
    mistakes.refuse_other_file(output)
    loaded, given, reading = options.read_task(
        data,
        rules,
        data_dir=data_dir,
        target=target,
        drop=drop,
        row_groups=row_groups,
        split=split,
        in_blocks=getattr(load_class(method), "takes_blocks", False),
    )
    has_costs = given["error_costs"] is not None or loaded.dataset.error_costs is not None
    price = (1.0 if has_costs else 0.01) if lam is None else lam
    model.set_params(lam=price, random_state=seed, **given)
    _warn_of_codes(data, getattr(loaded.dataset, "sketch", loaded.dataset), reading)
    rows = part_index(loaded, split, row_groups)
    say_of_first_run()
    compiled = compilations()
    seconds = _seconds_of_fit(model, loaded.dataset.rows(rows).with_own_bins(), compiled)
    model.training_data_ = DataOrigin.of(data, loaded.dataset, split, reading).to_json()
    model.save(output)
    results, asked = _evaluate_parts(model, loaded, split, row_groups), None
    if "held out" in results:
        found = results["held out"]
        model.held_out_ = HeldOut.of(found.confusion, found.absolute_errors, model.policy_digest())
        if asked := _evaluate_asked(model, found):
            digest = model.without_evidence().policy_digest()
            model.held_out_asked_ = HeldOut.of(asked.confusion, asked.absolute_errors, digest)
        model.save(output)  # again, as it is there already if the evaluation fails
    _, compiling = compiled()
    shown = results[list(results)[-1]]
    references = references_of(shown, loaded.dataset.rows(rows) if "held out" in results else None)
    if as_json:
        head = {"model": str(output), "agent": agent, "learner": getattr(model, "learner_", None), "data": data}
        head |= {"part": split, "lam": model.rules_.lam, "evidence": list(getattr(model, "evidence_", ()))}
        evaluations = results["training"], results.get("held out"), asked
        names = "training", "held_out", "held_out_asked"
        parts = {name: found and found.to_json() for name, found in zip(names, evaluations, strict=True)}
        if references:
            parts["references"] = references
        print_json(head | {"seconds": seconds, "compiling": compiling} | parts)
        return
    show(f"{method.title}, trained in {seconds:.1f} s: {part_in_words(loaded, split, row_groups)}, {model.rules_}")
    if compiling > 1.0:
        show(f"Besides, {compiling:.0f} s went to compiling code, which later runs do not need.")
    if reading.case_price:
        show(f"Each row has its own prices: {in_words(reading.case_price)}.")
    if hasattr(model, "report_"):
        show(f"Of several learners, {model.report_}")
        show("Out of fold: each row is judged by models trained without it. Left: trained, too, but not taken.")
    print_rules(model, "target_cost" if target_cost is not None else "target_features")
    print_evaluations(results, references, "held out" in results)
    _print_held_out(results, split)
    if asked is not None:
        _print_asked(model, results["held out"], asked, has_costs)
    if has_costs and model.bins_ is None:
        show("Errors have costs of their own: the model makes more of the cheap ones, so accuracy alone says little.")
    place = [] if data_dir is None else ["--data-dir", str(data_dir)]
    show(f"Model: {output}")
    rows_of = "Classify rows" if model.bins_ is None else "Predict numbers"
    for command, purpose in (("evaluate", "Evaluate it"), ("predict", rows_of)):
        show(f"{purpose}: {shlex.join(['fsgym', command, str(output), data, *place])}")
    evidence, known, asked = getattr(model, "evidence_", ()), model.rules_.always_known, results["training"]
    orders = [] if asked.trajectories is None else asked.trajectories.order  # None of a table in blocks
    asks_none = asked.n_acquisitions == 0 or (bool(known) and len(orders) > 0 and np.isin(orders, [-1, *known]).all())
    if asks_none and not evidence:
        forbidding = [option_text(*option) for option in model.rules_.options_that_forbid_all().items()]
        why = f"{listing(forbidding)} forbids all acquisitions" if forbidding else "at these prices no acquisition pays"
        gets = "is answered by what is known of it" if known else "gets the same answer"
        show(f"The model acquires nothing{' else' * bool(known)}: {why}, and every case {gets}.")
    else:
        if asks_none:
            show(
                f"Told whether there is a value of {', '.join(evidence)}, as it is of these rows, the model acquires "
                "nothing; where nothing is said of it, as in a new case, it may."
            )
        show(f"Ask about one case: {shlex.join(['fsgym', 'ask', str(output)])}")
        show(f"In the browser: {shlex.join(['fsgym', 'serve', str(output)])}")
        with suppress(ValueError):  # a policy that no interpreter knows
            model.policy_json()
            page = str(output.with_suffix(".html"))
            show(f"As a page that works offline: {shlex.join(['fsgym', 'export', str(output), page])}")


def _seconds_of_fit(model: Any, dataset: Dataset, compiled: Callable[[], tuple[int, float]]) -> float:
    """Fit the model; return the seconds that it took, without those of compiling."""
    start = time.perf_counter() - compiled()[1]
    try:
        model.fit(dataset)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("stopped; no model was written") from None
    return time.perf_counter() - start - compiled()[1]


def _warn_of_codes(data: str, dataset: Dataset, reading: Reading) -> None:
    """Print which columns of a file may be codes, except those that an option names."""
    from fsgym.datasets.description import possible_codes
    from fsgym.datasets.loading import is_path

    found = [name for name in possible_codes(dataset) if name not in reading.numeric] if is_path(data) else []
    if found:
        names = ",".join(found)
        say(
            f"few distinct whole numbers, which may be a code: {listing(found, 5)}; if they count nothing, pass "
            f"{shlex.join(['--category', names])}, and otherwise {shlex.join(['--numeric', names])}"
        )


def _find_agent(agent: str) -> Method:
    if agent not in agent_names() and not (agent in method_names() and find_method(agent).kind):
        remedy = did_you_mean(agent, agent_names())
        if agent in method_names():  # of which there are no model files
            cls = load_class(find_method(agent))
            remedy = f": train {agent} in Python, by {cls.__module__}.{cls.__name__}, and store it with joblib.dump"
        raise ValueError(f"--agent must be one of {', '.join(agent_names())}, got {brief(agent)}{remedy}")
    return find_method(agent)


def method_with(
    method: Method,
    agent: str,
    *,
    steps: int | None,
    lam: float | None,
    known: Sequence[str] = (),
    **targets: float | None,
) -> Any:
    """An unfitted agent with these options; ValueError for one that it does not have."""
    cls = load_class(method)
    model = cls(**method.preset)
    if steps is not None:
        if not cls.length_parameter:
            raise ValueError(f"--steps sets the length of the training, which {agent} does not have; leave it out")
        model.set_params(**{cls.length_parameter: steps})
    for name, value in {"known": list(known) or None, **targets}.items():
        if value is None:
            continue
        option = f"--{name.replace('_', '-')}"
        if name not in model.get_params():
            raise ValueError(f"{option} is not an option of {agent}; leave it out, or use --agent {DEFAULT_AGENT}")
        if name in targets and lam is not None:
            raise ValueError(f"{option} finds lambda, so that --lam cannot be given, too; leave one of them out")
        model.set_params(**{name: value})
    if "progress_bar" in model.get_params():
        model.set_params(progress_bar=sys.stderr.isatty())
    return model


def _evaluate_parts(model: Any, loaded: LoadedDataset, split: str, row_groups: str | None) -> dict[str, Evaluation]:
    """Evaluations of the "training" rows and, if there are any, of those "held out"."""
    from fsgym.datasets.loading import part_index
    from fsgym.evaluation.evaluate import evaluate as evaluate_model

    parts = {"training": split} | ({"held out": OTHER_PART[split]} if split in OTHER_PART else {})
    return {
        title: evaluate_model(model, loaded.dataset.rows(part_index(loaded, part, row_groups)))
        for title, part in parts.items()
    }


def _evaluate_asked(model: Any, told: Evaluation) -> Evaluation | None:
    """The evaluation of the same rows where it is not told what is missing; None for a model without evidence."""
    from fsgym.data.dataset import Dataset
    from fsgym.evaluation.asked import evaluate_asked

    if not getattr(model, "evidence_", ()) or not isinstance(told.dataset, Dataset):
        return None
    return evaluate_asked(model, told.dataset)


def _print_asked(model: Any, told: Evaluation, asked: Evaluation, has_costs: bool) -> None:
    """Print how the model does where it is not told what is missing, if that differs."""
    from fsgym.session.held_out import held_out_text

    if (told.answers == asked.answers).all() and told.loss == asked.loss:
        return
    per_case = "cost per case" if has_costs else "loss"
    show(
        "The rows held out tell the model whether there is a value of "
        f"{', '.join(model.evidence_)}. Where nobody does, as "
        "in fsgym ask without --missing, in fsgym serve where it is left open, and on exported pages: "
        f"{per_case} {asked.loss:.4g} instead of {told.loss:.4g}."
    )
    show(held_out_text(model, is_told=False))


def _print_held_out(results: dict[str, Evaluation], split: str) -> None:
    optimistic = "the figures of the training rows are optimistic"
    if "held out" in results:
        n = results["held out"].dataset.n_samples
        show(f"Held out are the {n} rows of the {OTHER_PART[split]} part, not used in training; {optimistic}.")
        if n >= ROWS_TOO_GOOD and results["held out"].accuracy == 1.0 and results["held out"].predicted is None:
            show(
                "Each of them is answered right: perhaps a column is filled in only afterwards. fsgym describe names "
                "those that tell the class alone, and --drop leaves columns out."
            )
    else:
        show(f"No rows are held out with --split all; {optimistic}.")
