"""Not speed: how many files of ours a call enters, and how many modules it imports: what a reader must open.

A file is entered where one of its functions is called; what a module does when it is imported does not count. All runs
are in one process, threads included.

    python benchmarks/traces.py              # the counts
    python benchmarks/traces.py --files      # each file too, by calls, with its functions
"""

from __future__ import annotations

import argparse
import inspect
import sys
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from sklearn.datasets import load_breast_cancer

ROOT = Path(__file__).resolve().parent.parent
OURS = ("fsgym", "agents", "baselines")
FOLDERS = tuple(f"{ROOT / package}/" for package in OURS)


def calls_of(run: Callable[[], Any]) -> Counter[tuple[str, str]]:
    """How often ``run`` calls each function of ours, by file and name."""
    calls: Counter[tuple[str, str]] = Counter()

    def count(frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_flags & inspect.CO_OPTIMIZED and code.co_filename.startswith(FOLDERS):
            calls[str(Path(code.co_filename).relative_to(ROOT)), code.co_qualname] += 1

    threading.setprofile(count)
    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return calls


def loaded() -> set[str]:
    return {name for name in sys.modules if name.partition(".")[0] in OURS}


def show(what: str, run: Callable[[], Any], with_files: bool) -> None:
    calls = calls_of(run)
    files = Counter({file: 0 for file, _ in calls})
    for (file, _), n in calls.items():
        files[file] += n
    n_sets = calls["fsgym/data/dataset.py", "Dataset.__init__"]
    print(f"{what}: {len(files)} files entered, {len(loaded())} modules of ours are loaded, {n_sets} Datasets built")
    for file, n in files.most_common() if with_files else ():
        functions = Counter({name: k for (f, name), k in calls.items() if f == file})
        print(f"  {n:8,} {file}: {', '.join(name for name, _ in functions.most_common())}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--files", action="store_true", help="each file too")
    with_files = options.parse_args().files
    warnings.simplefilter("ignore")
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :8]
    import fsgym

    rows = fsgym.Dataset(X.to_numpy(), y.to_numpy())
    asked: dict[str, Any] = {"splits": 2, "lam": 0.01, "n_jobs": 1, "progress": False}
    show("compare of two methods", lambda: fsgym.compare(rows, ["cart", "stopping"], **asked), with_files)
    from agents import AdaptiveClassifier

    model = AdaptiveClassifier(lam=0.01, learner="lattice", random_state=0)
    show("fit of AdaptiveClassifier(learner='lattice')", lambda: model.fit(X, y), with_files)
    session = model.session()

    def answer() -> None:
        question = session.next()
        assert question is not None
        session.answer(question.name, {c.name: float(X.iloc[0][c.name]) for c in question.columns})

    show("an answer in a session", answer, with_files)
    show("the step after it", lambda: session.step, with_files)
    show("predict", lambda: model.predict(X), with_files)


if __name__ == "__main__":
    main()
