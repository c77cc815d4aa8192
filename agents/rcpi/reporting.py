"""What ``RCPI.learn`` reports: weighted means and a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from fsgym.evaluation.evaluate import Evaluation


def weighted_means(result: Evaluation, weight: NDArray[np.float64] | None) -> dict[str, float]:
    """Weighted means over the rows of an evaluation: loss, accuracy, n_acquisitions."""
    if weight is None:
        return {name: getattr(result, name) for name in ("loss", "accuracy", "n_acquisitions")}
    n_acquisitions = (result.trajectories.order >= 0).sum(axis=1)  # type: ignore[union-attr]
    by_row = {"loss": result.losses, "accuracy": result.answers == result.dataset.y, "n_acquisitions": n_acquisitions}
    return {name: float(weight @ values / weight.sum()) for name, values in by_row.items()}


@contextmanager
def progress(total: int, shown: bool) -> Iterator[Callable[[], None]]:
    """The function to call after each iteration: it advances a progress bar on the error stream, or does nothing."""
    if not shown:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("RCPI", total=total)
        yield lambda: bar.advance(task)
