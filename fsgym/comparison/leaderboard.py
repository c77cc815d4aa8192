"""A policy on the official split of an environment, next to stored rows of all agents and reference points.

The stored rows are in ``leaderboard_rows.json``, which ``benchmarks/leaderboard.py`` writes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from fsgym.comparison.noise import MIN_PAIRS, paired_t, rank_table, standard_error
from fsgym.data.dataset import Dataset
from fsgym.evaluation.evaluate import Evaluation
from fsgym.evaluation.evaluate import evaluate as evaluate_policy
from fsgym.methods.factories import load_factory, named_reference, train_policy
from fsgym.metrics import mean_interval
from fsgym.runner.fingerprint import fingerprint
from fsgym.runner.local_code import error_with_line
from fsgym.text.messages import brief, explain_unknown, option_text

if TYPE_CHECKING:
    import pandas as pd

ENTRY_POINT = "fsgym.envs.registration:make_env"
RANKED_FIGURES = (
    "loss",
    "accuracy",
    "balanced_accuracy",
    "n_features",
    "n_acquisitions",
    "spent",
    "error_cost",
    "acquisition_cost",
    "admissible",
    "illegal",
)
WITH_ERRORS = ("loss", "accuracy", "n_features")  # figures that have a standard error over the test rows
DESCRIPTION = ("method", "params", "seeds", "training", "version")  # of how a row was obtained
STORED_DIGITS = 6  # decimals of stored figures


def leaderboard(env_id: str, mine: str | Callable[[gym.Env], Any] | None = None) -> pd.DataFrame:
    """Rank a policy of your own on the official split of an environment, next to stored rows of all agents.

    Parameters
    ----------
    env_id : str
        An id of fsgym, such as ``"DatumWise-v0"``, or one that ``register_variant`` has registered with a named data
        set. Only the ids of ``fsgym.envs.ids.VARIANTS`` have stored rows.
    mine : str or callable, optional
        ``train(env) -> policy``, or where it is: ``"module:train"``, ``"path/to/file.py:train"``, with the name of its
        row before it if you like, ``"NAME=module:train"``. It is called once, with ``gymnasium.make(env_id,
        split="train")``; the training rows are ``env.unwrapped.dataset``, the rules ``env.unwrapped.rules``. The policy
        is anything that ``fsgym.evaluate`` takes, and is evaluated on ``split="test"``.

    Returns
    -------
    pandas.DataFrame
        One row per policy, by increasing loss; policies that break the rules come last and have no rank.

        * rank, name, mine (bool)
        * loss, accuracy, balanced_accuracy, n_features, n_acquisitions, spent, error_cost, acquisition_cost,
          admissible, illegal: as in ``Evaluation``, on the test rows; means over the seeds
        * loss_se, accuracy_se, n_features_se: standard errors over the test rows
        * loss_low, loss_high: 95 % interval of the mean loss, see ``fsgym.metrics.mean_interval``
        * difference, difference_se, difference_low, difference_high: loss of the row minus loss of ``mine`` on the
          same test rows, with its standard error and the 95 % interval of the paired t test; NaN without ``mine``
        * method, params (JSON), seeds, training (its length), version (of fsgym): how a stored row was obtained
        * cpu_seconds: of one training on one core; NaN where it was not measured

        ``attrs`` has ``env_id``, ``n_samples`` (test rows), ``note`` (why there are no stored rows; "" if there are)
        and ``answer``, the result in words. It says so if ``mine`` is known to have test rows among its training rows.

    Raises
    ------
    ValueError, TypeError
        If the id is unknown or has no test part, or if ``mine`` cannot be loaded, trained or evaluated.

    Notes
    -----
    Standard errors and intervals are over test rows, for one training part. The spread over training parts is not in
    them.

    Examples
    --------
    >>> import fsgym
    >>> table = fsgym.leaderboard("DatumWise-v0", lambda env: lambda observations, masks: [31] * len(observations))
    >>> table.loc[table["mine"], ["loss", "n_features"]].round(3).values.tolist()
    [[0.626, 0.0]]
    """
    if mine is not None and not isinstance(mine, str) and not callable(mine):
        raise TypeError(
            f"{option_text('mine')} must be a function train(env) -> policy or 'module:factory', got {brief(mine)}"
        )
    name, factory = _named_factory(mine)  # its module may register an id
    env_id = check_variant(env_id)
    stored, note = stored_rows(env_id)
    if note and factory is None:
        raise ValueError(f"{note}; give a policy of your own with mine to have a row")
    rows = [{**row, "mine": False} for row in stored]
    n_samples, caution = make_part(env_id, "test").dataset.n_samples, ""
    if factory is not None:
        env = gym.make(env_id, split="train", disable_env_checker=True)
        env.reset(seed=0)
        policy = train_policy(factory, name, env)
        rows.append({"name": name, "mine": True, **row_of([_evaluate_on(env_id, policy, name)])})
        caution = _caution(policy, env_id)
    table = _ranked(rows)
    answer = _answer(table, env_id) + caution
    table = table.drop(columns="verdict")
    table.attrs = {"env_id": env_id, "n_samples": n_samples, "note": note, "answer": answer}
    return table


def _named_factory(mine: str | Callable[[gym.Env], Any] | None) -> tuple[str, Callable[[gym.Env], Any] | None]:
    """The user's policy as ``leaderboard`` takes it: its name in the table, and its function."""
    if isinstance(mine, str):
        name, reference = named_reference(mine)
        return name, load_factory(reference)
    return getattr(mine, "__name__", type(mine).__name__), mine


def check_variant(env_id: Any) -> str:
    """The id, without the prefix ``fsgym:``; ValueError unless it is an environment of fsgym with a test part."""
    known = [name for name, spec in gym.registry.items() if spec.entry_point == ENTRY_POINT]
    name = str(env_id).removeprefix("fsgym:")
    if name not in known:
        raise ValueError(explain_unknown("environment", name, known))
    if isinstance(gym.spec(name).kwargs.get("dataset"), Dataset):
        raise ValueError(
            f"a leaderboard must have training and test rows that are the same for everybody, which {name!r} has not, "
            "as it was made from a Dataset; compare methods on your own rows with fsgym.compare"
        )
    return name


def row_of(evaluations: Sequence[Evaluation]) -> dict[str, Any]:
    """The figures of one policy for each seed: means over the seeds, standard errors over the test rows.

    ``losses`` has the mean loss of each test row, ``loss_by_seed`` the mean loss of each seed.
    """
    by_row = {
        "loss": np.mean([e.losses for e in evaluations], axis=0),
        "accuracy": np.mean([e.answers == e.dataset.y for e in evaluations], axis=0),
        "n_features": np.mean([e.dataset.columns.of_features(e.used).sum(axis=1) for e in evaluations], axis=0),
    }
    row = {name: float(np.mean([getattr(e, name) for e in evaluations])) for name in RANKED_FIGURES}
    row |= {f"{name}_se": standard_error(by_row[name]) for name in WITH_ERRORS}
    row = {name: round(value, STORED_DIGITS) for name, value in row.items()}
    losses = by_row["loss"].round(STORED_DIGITS).tolist()
    return {**row, "loss_by_seed": [round(e.loss, STORED_DIGITS) for e in evaluations], "losses": losses}


def task_fingerprint(env_id: str) -> dict[str, str]:
    """Fingerprints of the rows and labels of both parts, ``data``, and of the options of ``Rules``, ``rules``."""
    train, test = make_part(env_id, "train"), make_part(env_id, "test")
    data = [[d.X, d.y, [str(c) for c in d.classes]] for d in (train.dataset, test.dataset)]
    options = {name: value for name, value in test.rules.options().items() if value is not None}
    if test.rules.refer_cost is None:  # as rows were stored before there was referral
        del options["refer_label"]
    return {"data": fingerprint(data), "rules": fingerprint(options)}


def stored_rows(env_id: str) -> tuple[list[dict[str, Any]], str]:
    """The stored rows of an environment; without them, a message that says why."""
    stored = read_stored_rows().get(env_id)
    if stored is None:
        return [], f"there are no stored rows for {env_id!r}"
    current = task_fingerprint(env_id)
    changed = [part for part in current if current[part] != stored["fingerprint"][part]]
    if changed:
        return [], f"the {' and the '.join(changed)} of {env_id!r} differ from those of its stored rows, not shown"
    return stored["rows"], ""


def has_stored_rows(env_id: str) -> bool:
    """Whether rows are stored for an environment, of whatever data and rules; ValueError if the id is unknown."""
    return check_variant(env_id) in read_stored_rows()


def how_to_store(env_id: str) -> str:
    """The sentence that pages have where an environment has no stored rows yet.

    >>> how_to_store("DatumWise-v0")
    'No rows are stored yet; `python benchmarks/leaderboard.py --ids DatumWise-v0` computes and stores them.'
    """
    return f"No rows are stored yet; `python benchmarks/leaderboard.py --ids {env_id}` computes and stores them."


def read_stored_rows() -> dict[str, Any]:
    """The content of ``leaderboard_rows.json``: fingerprints and rows by id of the environment."""
    return json.loads((files("fsgym") / "leaderboard_rows.json").read_text(encoding="utf-8"))


def numbers_to_beat(env_id: str) -> str:
    """The stored rows of an environment as a table in Markdown, by increasing loss.

    Rows that break the rules for some test row come last, marked by a dash. The last column has the difference from the
    first on the same test rows, with its 95 % interval (``paired_t``), and "noise" where this contains 0. For an id
    without stored rows, the sentence of ``how_to_store``.

    Raises ValueError if the id is unknown, or if its stored rows are of other data or rules.

    Examples
    --------
    >>> from fsgym.comparison.leaderboard import numbers_to_beat
    >>> print(numbers_to_beat("DatumWise-v0").splitlines()[0])
    | rank | policy | loss | accuracy | features used | price paid | loss minus the first | training | version |
    """
    if not has_stored_rows(env_id):
        return f"{how_to_store(env_id)}\n"
    table, losses = leaderboard(env_id), {row["name"]: np.array(row["losses"]) for row in stored_rows(env_id)[0]}
    lines = [
        "| rank | policy | loss | accuracy | features used | price paid | loss minus the first | training | version |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    first = table["name"].iloc[0] if table["rank"].notna().any() else ""
    for row in table.to_dict("records"):
        compared = row["admissible"] >= 1 and row["name"] != first
        difference = difference_in_words(losses[row["name"]] - losses[first]) if compared else "–"
        rank = "–" if row["admissible"] < 1 else row["rank"]
        lines.append(
            f"| {rank} | {row['name']} | {row['loss']:.4g} ± {row['loss_se']:.2g} | {row['accuracy']:.3f} "
            f"| {row['n_features']:.2f} | {row['spent']:.4g} | {difference} | {training_in_words(row)} "
            f"| {row['version']} |"
        )
    return "\n".join(lines) + "\n"


def difference_in_words(differences: NDArray[np.float64]) -> str:
    """Such as "+0.01 (0.001 to 0.02)", of differences on the same test rows."""
    mean, _, low, high, _, verdict = paired_t(differences)
    return f"{_interval_in_words(mean, low, high, digits=2)}{', noise' if verdict == 'noise' else ''}"


def _interval_in_words(mean: float, low: float, high: float, digits: int, named: str = "") -> str:
    """A difference with the ends of its 95 % interval, which has a name before it; the difference alone without one."""
    mean, low, high = (round(value, STORED_DIGITS) + 0.0 for value in (mean, low, high))  # without a -0
    interval = "" if np.isnan(low) else f" ({named}{low:.{digits}g} to {high:.{digits}g})"
    return f"{mean:+.{digits}g}{interval}"


def training_in_words(row: Mapping[Any, Any]) -> str:
    """The length of a training and its CPU seconds, as far as they are known; "" if neither is.

    >>> training_in_words({"training": "300,000 steps", "cpu_seconds": 11.2})
    '300,000 steps, 11 CPU s'
    """
    seconds = "" if np.isnan(row["cpu_seconds"]) else f"{row['cpu_seconds']:.2g} CPU s"
    return ", ".join(part for part in (row["training"], seconds) if part)


def make_part(env_id: str, split: str) -> Any:
    """The environment of the training or test part, without wrappers."""
    return gym.make(env_id, split=split, disable_env_checker=True).unwrapped


def _evaluate_on(env_id: str, policy: Any, name: str) -> Evaluation:
    try:
        return evaluate_policy(policy, make_part(env_id, "test"))
    except Exception as error:
        raise ValueError(f"the policy of {name} cannot be evaluated: {error_with_line(error)}") from error


def _caution(policy: Any, env_id: str) -> str:
    """A sentence if the policy is known to be trained on test rows, such as those of ``split="all"``."""
    from fsgym.comparison.policies import training_origin

    origin = training_origin(policy)
    seen = None if origin is None else make_part(env_id, "test").dataset.origin.share_in(origin)
    return (
        f" Your policy has seen {100 * seen:.3g} % of the test rows in training: its figures are optimistic."
        if seen
        else ""
    )


def _ranked(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """The table of the rows, by rank, with a column ``verdict`` on the difference."""
    import pandas as pd

    mine = next((k for k, row in enumerate(rows) if row["mine"]), None)
    ranks = rank_table(
        pd.DataFrame({k: row["losses"] for k, row in enumerate(rows)}),
        by=pd.Series([row["loss"] if row["admissible"] >= 1 else np.nan for row in rows]),
        against=mine or 0,
    )
    differences = ranks.drop(columns=["rank", "difference_p"])
    if mine is None:
        differences[:] = np.nan
    records = []
    for k, row in enumerate(rows):
        record: dict[str, Any] = {"rank": None, "name": row["name"], "mine": row["mine"]}
        for figure in RANKED_FIGURES:
            record[figure] = row[figure]
            if figure in WITH_ERRORS:
                record[f"{figure}_se"] = row[f"{figure}_se"]
        interval = mean_interval(row["losses"])
        record |= {"loss_low": interval.low, "loss_high": interval.high} | differences.loc[k].to_dict()
        record |= {name: row.get(name, "") for name in DESCRIPTION}
        record["cpu_seconds"] = row.get("cpu_seconds", np.nan)
        record["params"] = json.dumps(row["params"]) if "params" in row else ""
        record["seeds"] = ", ".join(map(str, row.get("seeds", [])))
        records.append(record)
    table = pd.DataFrame(records)
    table["rank"] = ranks["rank"].astype("Int64")
    order = table.assign(breaks=table["admissible"] < 1).sort_values(["breaks", "loss", "mine"], kind="stable")
    return table.loc[order.index].reset_index(drop=True)


def _answer(table: pd.DataFrame, env_id: str) -> str:
    """The result in words: the difference to the best stored row, and whether it is within noise."""
    stored = table[~table["mine"] & table["rank"].notna()]
    own = table[table["mine"]]
    best = None if stored.empty else stored.iloc[0]
    if own.empty:
        named = "" if best is None else f"{best['name']}: loss {_loss_in_words(best)}"
        return f"The best stored row of {env_id} is {named}." if named else ""
    mine = own.iloc[0]
    begin = f"{mine['name']} has a loss of {_loss_in_words(mine)}"
    if mine["admissible"] < 1:
        broken = 100 * (1 - mine["admissible"])
        return f"{begin}, but breaks the rules for {broken:.3g} % of the test rows, so it has no rank."
    if best is None:
        return f"{begin}."
    ends = (-best[name] for name in ("difference", "difference_high", "difference_low"))
    difference = _interval_in_words(*ends, digits=3, named="95 % interval ")
    noise = VERDICTS.get(best["verdict"], "larger than noise")
    return (
        f"{begin}, rank {mine['rank']} of {table['rank'].notna().sum()}. The difference to the best stored row, "
        f"{best['name']}, is {difference}: {noise}.{_seeds_in_words(stored)}"
    )


VERDICTS = {"noise": "within noise", "unknown": f"whether it is noise is not known, which takes {MIN_PAIRS} test rows"}


def _seeds_in_words(stored: pd.DataFrame) -> str:
    """A sentence if stored rows are means over several trainings, while that of the user is one."""
    n_seeds = stored["seeds"].str.count(",").max() + 1
    if n_seeds < 2:
        return ""
    return (
        " This is the noise of the test rows only: your policy was trained once, and the stored rows of agents are "
        f"means over {n_seeds} seeds."
    )


def _loss_in_words(row: pd.Series) -> str:
    return f"{row['loss']:.4g} (standard error {row['loss_se']:.2g})"
