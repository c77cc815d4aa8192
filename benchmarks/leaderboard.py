"""The stored rows of ``fsgym leaderboard``: all agents and reference points on all environments.

Writes ``fsgym/leaderboard_rows.json`` after each row, so that an interrupted run can be resumed. Rows that exist for
the same data, rules, parameters and version of fsgym are not computed again; ``--fresh`` computes all. A new
id has no rows until ``--ids`` computes them; then ``.ci/tables.py`` writes the page of numbers. Every method is
trained on the training part with its default settings, deep agents for their default number of steps, and evaluated on
the test part. A method that takes a seed has the mean over three of them. CART has the setting with the smallest
cross-validated loss. Rows of deep agents also have the CPU seconds of a training. Needs the extra rl; takes about
twenty minutes on one core.

python benchmarks/leaderboard.py
python benchmarks/leaderboard.py --ids DatumWiseCheap-v0
python benchmarks/leaderboard.py --names rcpi,rcpi_printed
python benchmarks/leaderboard.py --fresh --names maskable_ppo,dqn,ppo,a2c,random
python benchmarks/leaderboard.py --fresh --ids DatumWise-v0 --names lattice,cart
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

import fsgym
from fsgym.comparison import leaderboard
from fsgym.comparison.compared import ExpectedCostClassifier, knows_error_costs
from fsgym.envs.ids import VARIANTS
from fsgym.methods import METHODS, find_method, load_class, supported_options

PATH = Path(fsgym.__file__).parent / "leaderboard_rows.json"
SEEDS, FOLDS = (0, 1, 2), 5


class Entry(NamedTuple):
    """A row: its name, a method of ``fsgym.methods`` and the parameters that are not defaults.

    ``RANDOM`` in the place of a method stands for the policy that draws legal actions.
    """

    name: str
    method: str
    params: Mapping[str, Any] = {}


RANDOM = "random"


ENTRIES = (
    Entry("adaptive", "adaptive"),
    Entry("lattice", "lattice"),
    Entry("mixture", "mixture"),
    Entry("network", "network"),
    Entry("rcpi", "rcpi"),
    Entry("rcpi_printed", "rcpi_printed"),
    Entry("maskable_ppo", "maskable_ppo"),
    Entry("dqn", "dqn"),
    Entry("ppo", "maskable_ppo", {"algorithm": "ppo"}),
    Entry("a2c", "maskable_ppo", {"algorithm": "a2c"}),
    Entry("maskable_ppo (1M steps)", "maskable_ppo", {"total_timesteps": 1_000_000}),
    Entry("dqn (300k steps)", "dqn", {"total_timesteps": 300_000}),
    Entry("ppo (1M steps)", "maskable_ppo", {"algorithm": "ppo", "total_timesteps": 1_000_000}),
    Entry("a2c (1M steps)", "maskable_ppo", {"algorithm": "a2c", "total_timesteps": 1_000_000}),
    Entry("random", RANDOM),
    Entry("panel", "panel"),
    Entry("stopping", "stopping"),
    Entry("cart", "cart"),
    Entry("constant", "constant"),
    Entry("everything (logistic)", "everything", {"classifier": "logistic"}),
    Entry("everything (forest)", "everything", {"classifier": "forest"}),
)


def fitted(model: Any, dataset: fsgym.Dataset, error_costs: Any = None) -> Any:
    """The model, trained on a data set; with ``error_costs`` that it has no parameter for, it answers by them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as of a solver that stops at its largest number of iterations
        if hasattr(model, "labelled_dataset"):
            return model.fit(dataset)
        if error_costs is not None and not knows_error_costs(model):
            model = ExpectedCostClassifier(model, error_costs, dataset.classes.tolist())
        return model.fit(dataset.X, dataset.classes[dataset.y])


def chosen_setting(model: Any, env: Any) -> dict[str, Any]:
    """The setting of least cross-validated loss, among those that never break the rules if there are any."""
    data, rules = env.dataset, env.rules
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(data.X, data.y))

    def loss(params: dict[str, Any]) -> tuple[bool, float]:
        results = []
        for train, held_out in folds:
            candidate = clone(model).set_params(**params)
            candidate = fitted(candidate, data.rows(train), rules.options()["error_costs"])
            results.append(fsgym.evaluate(candidate, data.rows(held_out), rules=rules))
        return any(r.admissible < 1 for r in results), float(np.mean([r.loss for r in results]))

    grid = model.sparsity_grid(data.X, data.classes[data.y])
    return grid[0] if len(grid) == 1 else min(grid, key=loss)


def random_policy(seed: int) -> Callable[[NDArray, NDArray], NDArray]:
    """The policy that takes each legal action with the same probability."""
    rng = np.random.default_rng(seed)
    return lambda observations, masks: (rng.random(masks.shape) * masks).argmax(axis=1)


def random_row(entry: Entry, env_id: str) -> dict[str, Any]:
    """The row of the random policy."""
    unseen = leaderboard.make_part(env_id, "test")
    evaluations = [fsgym.evaluate(random_policy(seed), unseen) for seed in SEEDS]
    return _row(entry, {}, list(SEEDS), "", evaluations)


def row_for(entry: Entry, env_id: str) -> dict[str, Any]:
    """A row, from training to figures."""
    if entry.method == RANDOM:
        return random_row(entry, env_id)
    env, unseen = (leaderboard.make_part(env_id, split) for split in ("train", "test"))
    options = env.rules.options()
    method = find_method(entry.method)
    cls = load_class(method)
    model = cls(**{**method.preset, **supported_options(cls, options), **entry.params})
    random = "random_state" in model.get_params()
    if random:
        model.set_params(random_state=SEEDS[0])
    params = dict(entry.params) if method.prices or entry.params else chosen_setting(model, env)
    evaluations, seconds = [], []
    for seed in SEEDS if random else SEEDS[:1]:
        candidate = clone(model).set_params(**params, **({"random_state": seed} if random else {}))
        began = time.process_time()
        candidate = fitted(candidate, env.dataset, options["error_costs"])
        seconds.append(time.process_time() - began)
        evaluations.append(fsgym.evaluate(candidate, unseen))
    seeds, length = list(SEEDS[: len(evaluations)]) if random else [], training_length(model)
    timing = {"cpu_seconds": round(float(np.mean(seconds)), 1)} if length.endswith("steps") else {}
    return _row(entry, params, seeds, length, evaluations) | timing


def _row(entry: Entry, params: dict[str, Any], seeds: list[int], training: str, evaluations: Any) -> dict[str, Any]:
    return {
        "name": entry.name,
        "method": entry.method,
        "given": dict(entry.params),
        "params": params,
        "seeds": seeds,
        "training": training,
        "version": fsgym.__version__,
        **leaderboard.row_of(evaluations),
    }


def training_length(model: Any) -> str:
    """How long an agent trains, in words; "" for a method without a length."""
    name = getattr(model, "length_parameter", "")
    if not name:
        return ""
    length = getattr(model, name)
    if length is None and not hasattr(model, "algorithm"):
        return ""  # as long as the model itself decides
    if length is None:
        from agents.deep.algorithms import find_algorithm

        length = find_algorithm(model.algorithm).total_timesteps
    return f"{length:,} {'steps' if name == 'total_timesteps' else 'iterations'}"


def missing_rows(stored: dict[str, Any], ids: list[str], names: list[str], fresh: bool) -> Iterator[tuple[str, Entry]]:
    """Environments and entries to compute; rows of other data or rules are removed from ``stored``."""
    for env_id in ids:
        current = leaderboard.task_fingerprint(env_id)
        if stored.get(env_id, {}).get("fingerprint") != current:
            stored[env_id] = {"fingerprint": current, "rows": []}
        for entry in (e for e in ENTRIES if e.name in names):
            done = [
                row
                for row in stored[env_id]["rows"]
                if (row["name"], row["given"], row["version"]) == (entry.name, entry.params, fsgym.__version__)
            ]
            if entry.method not in (*METHODS, RANDOM):
                print(f"{env_id:<24}{entry.name:<22}skipped: there is no such method")
            elif fresh or not done:
                yield env_id, entry


def write(stored: dict[str, Any]) -> None:
    """Write the file with one line per row, through a temporary file."""
    order = [e.name for e in ENTRIES]
    text = "{\n" + ",\n".join(
        f'"{env_id}": {{"fingerprint": {json.dumps(stored[env_id]["fingerprint"])}, "rows": [\n'
        + ",\n".join(json.dumps(r) for r in sorted(stored[env_id]["rows"], key=lambda r: order.index(r["name"])))
        + "\n]}"
        for env_id in VARIANTS
        if env_id in stored
    )
    temporary = PATH.with_suffix(".new")
    temporary.write_text(text + "\n}\n", encoding="utf-8")
    temporary.replace(PATH)


def main(ids: str = ",".join(VARIANTS), names: str = "", fresh: bool = False) -> None:
    stored = leaderboard.read_stored_rows()
    chosen = [n.strip() for n in names.split(",")] if names else [e.name for e in ENTRIES]
    for env_id, entry in missing_rows(stored, ids.split(","), chosen, fresh):
        began = time.perf_counter()
        row = row_for(entry, env_id)
        rows = stored[env_id]["rows"]
        stored[env_id]["rows"] = [r for r in rows if r["name"] != entry.name] + [row]
        write(stored)
        seconds = time.perf_counter() - began
        print(
            f"{env_id:<24}{entry.name:<22}loss {row['loss']:.4g} ± {row['loss_se']:.2g} {row['params']} "
            f"({seconds:.0f} s)",
            flush=True,
        )
    print(f"rows: {PATH}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--ids", default=",".join(VARIANTS), help="environments, separated by commas")
    parser.add_argument("--names", default="", help="rows, separated by commas; default: all")
    parser.add_argument("--fresh", action="store_true", help="compute rows that exist, too")
    main(**vars(parser.parse_args()))
