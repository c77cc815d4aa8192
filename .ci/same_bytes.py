"""Hashes of small fits, pages, charts and tables, to see that a change of the code's form changes no result.

python .ci/same_bytes.py --out before.txt            # some twenty fits, about two minutes
python .ci/same_bytes.py --against before.txt        # exits with status 1 where a hash differs
python .ci/same_bytes.py --all --out before.txt      # two comparisons and cells of all studies too, some 30 minutes

Run it in the checkout to be hashed; the studies need the folder of data (``FSGYM_DATA``). Figures of time are left out.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")
# Numba keeps a compiled function although one that it calls in another file has changed: a folder for each state.
SOURCES = sorted(f for p in ("fsgym", "agents", "baselines") for f in (ROOT / p).rglob("*.py"))
KERNELS = hashlib.sha256(b"".join(text for f in SOURCES if b"njit" in (text := f.read_bytes()))).hexdigest()[:16]
os.environ["NUMBA_CACHE_DIR"] = str(Path(tempfile.gettempdir()) / f"fsgym-kernels-{KERNELS}")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from sklearn.datasets import load_breast_cancer, load_wine  # noqa: E402

import agents  # noqa: E402
import baselines  # noqa: E402
import fsgym  # noqa: E402
from fsgym_studies import STUDIES, find_study  # noqa: E402

Piece = tuple[str, bytes]
CELLS_OF_A_STUDY = 3  # spread over its quick plan
TIME_COLUMNS = r"seconds|_time$|peak_mib"


def wine() -> tuple[pd.DataFrame, Any]:
    X, y = load_wine(return_X_y=True, as_frame=True)
    return X.iloc[:, [0, 1, 6, 9, 10, 12]], y


def with_gaps() -> tuple[pd.DataFrame, Any]:
    """Missing values, and names that are not in alphabetical order."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:200, [3, 20, 7, 1, 27]].mask(np.random.default_rng(0).random((200, 5)) < 0.1)
    return X, y[:200].map({0: "malignant", 1: "benign"})


PRICES = {"costs": [1.0, 2.0, 1.0, 0.5, 4.0, 1.0], "lam": 0.02}
AGENTS: dict[str, Callable[[], Any]] = {
    "adaptive": lambda: agents.AdaptiveClassifier(random_state=0, **PRICES),
    "lattice": lambda: agents.LatticeClassifier(effort=0.1, random_state=0, **PRICES),
    "lattice, groups": lambda: agents.LatticeClassifier(
        effort=0.1, random_state=0, lam=0.02, groups=[[0, 1], [2, 3], [4], [5]]
    ),
    "lattice, budget": lambda: agents.LatticeClassifier(effort=0.1, random_state=0, lam=0.0, budget=2),
    "mixture": lambda: agents.MixtureClassifier(random_state=0, **PRICES),
    "network": lambda: agents.AnyStateNetworkClassifier(n_steps=50, random_state=0, **PRICES),
    "rcpi": lambda: agents.DatumWiseClassifier(n_iterations=3, random_state=0, **PRICES),
    "rcpi, trees": lambda: agents.DatumWiseClassifier(n_iterations=2, acquisitions="trees", random_state=0, **PRICES),
    "rcpi, published": lambda: agents.DatumWiseClassifier.published(lam=0.02, n_iterations=3, random_state=0),
    "cart": lambda: baselines.CARTClassifier(random_state=0),
    "cegb": lambda: baselines.CEGBClassifier(n_estimators=20, random_state=0, **PRICES),
    "panel": lambda: baselines.PanelClassifier(random_state=0, **PRICES),
    "stopping": lambda: baselines.StoppingClassifier(random_state=0, **PRICES),
}
BASELINES: dict[str, Callable[[], Any]] = {
    "l1_logistic": lambda: baselines.L1LogisticClassifier(),
    "lasso": lambda: baselines.LassoPathClassifier(),
    "group_lasso": lambda: baselines.GroupLassoClassifier(tau=0.5, groups=[[0, 1], [2, 3], [4], [5]]),
    "mrmr": lambda: baselines.MRMRClassifier(),
    "hsic_lasso": lambda: baselines.HSICLassoClassifier(),
    "gbfs": lambda: baselines.GBFSClassifier(n_iter=20, random_state=0),
    "hkl": lambda: baselines.DisjunctionClassifier(max_literals=1),
    "svm_plus": lambda: baselines.SVMPlusClassifier(lam2=0.1),
    "lufe": lambda: baselines.LUFeClassifier(3, random_state=0),
    "forest": lambda: baselines.ForestSelectionClassifier(3, n_estimators=20, random_state=0),
    "zero_norm_svm": lambda: baselines.ZeroNormSVMClassifier(3),
    "l1_svm": lambda: baselines.L1SVMClassifier(),
}


def plain(values: Any) -> bytes:
    array = np.asarray(values)
    return np.ascontiguousarray(array).tobytes() if array.dtype != object else repr(array.tolist()).encode()


def pieces_of_agent(name: str, make: Callable[[], Any], folder: Path) -> Iterator[Piece]:
    for table, (X, y) in {"wine": wine(), "gaps": with_gaps()}.items():
        model = make()
        given = {k: v for k, v in model.get_params().items() if k in ("costs", "groups")}
        if table == "gaps":
            if given.get("groups") is not None or name == "rcpi, published":
                continue
            if given.get("costs") is not None:
                model.set_params(costs=given["costs"][:5])
        try:
            model.fit(X, y)
        except ValueError as error:  # such as of a method that takes no missing values
            yield f"{name}, {table}: refused", str(error).encode()
            continue
        yield f"{name}, {table}: predictions", plain(model.predict(X))
        if hasattr(model, "predict_proba"):
            yield f"{name}, {table}: probabilities", plain(model.predict_proba(X))
        yield f"{name}, {table}: features", plain(model.features_used(X))
        if hasattr(model, "save"):
            model.save(folder / "model.safetensors")
            yield f"{name}, {table}: file", (folder / "model.safetensors").read_bytes()
            again = agents.load_classifier(folder / "model.safetensors")
            yield f"{name}, {table}: predictions of the file", plain(again.predict(X))
        if hasattr(model, "session"):
            yield f"{name}, {table}: session", session_of(model, X.iloc[0]).encode()
        if hasattr(model, "chart"):
            chart = model.chart(X, y)
            yield f"{name}, {table}: chart", (chart.to_svg() + str(chart)).encode()
        if hasattr(model, "save_page"):
            try:
                model.save_page(folder / "page.html", "a page")
            except ValueError as error:
                yield f"{name}, {table}: page", str(error).encode()
            else:
                yield f"{name}, {table}: page", (folder / "page.html").read_bytes()


def session_of(model: Any, row: pd.Series) -> str:
    session = model.session()
    shown = []
    while question := session.next():
        shown.append(str(question))
        values = {column.name: row[column.name] for column in question.columns}
        if any(value != value for value in values.values()):
            session.unknown(question.name)
        else:
            session.answer(question.name, values)
    return "\n".join([*shown, str(session.step), session.why(), session.to_json()])


def pieces_of_baseline(name: str, make: Callable[[], Any], folder: Path) -> Iterator[Piece]:
    X, y = wine()
    y = y if name not in ("svm_plus", "lufe", "hkl", "zero_norm_svm", "gbfs") else y == 1
    more = {"X_privileged": X.to_numpy()[:, ::-1]} if name == "svm_plus" else {}
    model = make().fit(X.to_numpy(), np.asarray(y), **more)
    yield f"{name}: predictions", plain(model.predict(X.to_numpy()))
    yield f"{name}: features", plain(model.features_used(X.to_numpy()))


def pieces_of_environments(folder: Path) -> Iterator[Piece]:
    import gymnasium

    for name in ("DatumWise-v0", "DatumWiseCost-v0", "DatumWiseBudget-v0", "DatumWiseGroup-v0"):
        env = gymnasium.make(name)
        rng, seen = np.random.default_rng(0), []
        for episode in range(20):
            observation, info = env.reset(seed=episode)
            done = False
            while not done:
                legal = np.flatnonzero(info["action_mask"])
                observation, reward, over, cut, info = env.step(int(rng.choice(legal)))
                done = over or cut
                seen += [plain(observation), plain(reward)]
        yield f"{name}: episodes", b"".join(seen)


def without_times(table: pd.DataFrame) -> bytes:
    return table.loc[:, ~table.columns.str.contains(TIME_COLUMNS)].to_csv(index=False).encode()


def pieces_of_comparison(name: str, folder: Path, **options: Any) -> Iterator[Piece]:
    out = folder / name.replace(" ", "-")
    results = fsgym.compare(out=out, n_jobs=2, progress=False, **options)
    yield f"comparison, {name}: results", without_times(results)
    for file in ("results.csv", "losses.csv"):
        yield f"comparison, {name}: {file}", without_times(pd.read_csv(out / file))
    yield f"comparison, {name}: summary", repr(fsgym.summarise(results)).encode()


def pieces_of_study(name: str, folder: Path) -> Iterator[Piece]:
    tasks = find_study(name).cells(False, os.environ["FSGYM_DATA"])
    for k in np.unique(np.linspace(0, len(tasks) - 1, CELLS_OF_A_STUDY).astype(int)):
        task = tasks[k]
        module, _, function = task.call.partition(":")
        found = getattr(importlib.import_module(module), function)(**task.arguments, **task.data)
        yield f"study {name}, cell {k} of {len(tasks)}", json.dumps(without_seconds(found), sort_keys=True).encode()


def without_seconds(found: Any) -> Any:
    if isinstance(found, dict):
        return {k: without_seconds(v) for k, v in found.items() if "seconds" not in str(k)}
    return [without_seconds(v) for v in found] if isinstance(found, list | tuple) else found


def makers(everything: bool) -> Iterator[tuple[str, Callable[[Path], Iterator[Piece]]]]:
    yield "environments", pieces_of_environments
    for name, make in AGENTS.items():
        yield name, partial(pieces_of_agent, name, make)
    for name, make in BASELINES.items():
        yield name, partial(pieces_of_baseline, name, make)
    small = {"methods": ["cart", "l1_logistic", "stopping"], "splits": 2}
    yield "small comparison", lambda folder: pieces_of_comparison("small", folder, dataset="wine", lam=0.02, **small)
    if everything:
        yield "breast cancer", lambda folder: pieces_of_comparison("breast cancer", folder, dataset="breast_cancer")
        options: dict[str, Any] = {"budget_cost": 4.0, "costs": "random", "lam": [0.001, 0.02]}
        options["costs"] = np.round(np.random.default_rng(0).uniform(0.5, 2.0, 13), 2)
        yield "wine", lambda folder: pieces_of_comparison("wine", folder, dataset="wine", **options)
        for name in STUDIES:
            yield f"study {name}", partial(pieces_of_study, name)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--all", action="store_true", help="two comparisons and cells of all studies too")
    options.add_argument("--only", default="", help="those whose name begins so")
    options.add_argument("--out", type=Path)
    options.add_argument("--against", type=Path)
    chosen = options.parse_args()
    warnings.simplefilter("ignore")
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, make in makers(chosen.all):
            if name.startswith(chosen.only):
                begun = time.process_time()
                found |= {piece: hashlib.sha256(value).hexdigest()[:16] for piece, value in make(Path(folder))}
                print(f"{name}: {time.process_time() - begun:.1f} s", file=sys.stderr, flush=True)
    lines = [f"{digest}  {name}" for name, digest in found.items()]
    print(*lines, sep="\n")
    if chosen.out:
        chosen.out.write_text("\n".join(lines) + "\n")
    if chosen.against:
        before = dict(reversed(line.split("  ", 1)) for line in chosen.against.read_text().splitlines())
        differing = [name for name in found if found[name] != before.get(name)]
        print(f"{len(found)} hashes, {len(differing)} differ from {chosen.against}", *differing, sep="\n  ")
        return int(bool(differing))
    return 0


if __name__ == "__main__":
    sys.exit(main())
