"""Which learner was chosen, and why."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from fsgym.text.html import HtmlTable, html_block

if TYPE_CHECKING:
    import pandas as pd


class LearnerTrial(NamedTuple):
    """How a learner did on rows that were held out of its training.

    Attributes
    ----------
    learner : str
    loss : float, mean of the held-out rows
    difference, standard_error : float
        Of the loss and that of the first learner on the same rows; 0 for the first learner.
    seconds : float, of its training for the trial, on the wall clock; None for a loaded model
    """

    learner: str
    loss: float
    difference: float
    standard_error: float
    seconds: float | None


class LearnerReport(NamedTuple):
    """The choice among learners.

    Attributes
    ----------
    learner : str, the one that was chosen
    reason : str, a sentence
    n_held_out : int, rows held out of the trials; 0 without a trial
    trials : tuple of LearnerTrial
    seconds : float, of the training on all rows, on the wall clock; None for a loaded model

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from agents import AdaptiveClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> report = AdaptiveClassifier(lam=0.05, learner="lattice", random_state=0).fit(X[:, [6, 10]], y).report_
    >>> report.learner, report.n_held_out
    ('lattice', 0)
    """

    learner: str
    reason: str
    n_held_out: int
    trials: tuple[LearnerTrial, ...]
    seconds: float | None

    def __str__(self) -> str:
        lines = [self.reason]
        for trial in self.trials:
            compared = f", {trial.difference:+.4f} (standard error {trial.standard_error:.4f})"
            first = trial is self.trials[0]
            seconds = "" if trial.seconds is None else f", {_seconds_text(trial.seconds)} s"
            lines.append(f"{trial.learner}: loss {trial.loss:.4f}{'' if first else compared}{seconds}")
        return "\n".join(lines)

    def to_frame(self) -> pd.DataFrame:
        """The trials as a table, one line per learner."""
        import pandas as pd

        return pd.DataFrame(self.trials, columns=list(LearnerTrial._fields))

    def _repr_html_(self) -> str:
        header = ["learner", "loss", "difference", "standard error", "seconds"]
        rows = [
            (t.learner, f"{t.loss:.4f}", f"{t.difference:+.4f}", f"{t.standard_error:.4f}", _seconds_text(t.seconds))
            for t in self.trials
        ]
        return html_block("LearnerReport", self.reason, HtmlTable(header, iter(rows), len(rows)))

    def as_json(self) -> dict[str, Any]:
        """Plain JSON, for model files; without the seconds, so that a seed fixes every byte of a file."""
        entry = {**self._asdict(), "trials": [list(trial[:-1]) for trial in self.trials]}
        del entry["seconds"]
        return entry

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> Self:
        """The report from what ``as_json`` returned; ValueError or another error of damaged files if it is none."""
        learner, reason, n_held_out = (entry[k] for k in ("learner", "reason", "n_held_out"))
        if not isinstance(reason, str) or type(n_held_out) is not int or n_held_out < 0:
            raise ValueError("the report of a model needs a sentence and a number of rows")
        trials = tuple(LearnerTrial(name, float(a), float(b), float(c), None) for name, a, b, c in entry["trials"])
        if not all(isinstance(name, str) for name in (learner, *(t.learner for t in trials))):
            raise ValueError("the report of a model must name its learners")
        if not all(math.isfinite(v) for t in trials for v in (t.loss, t.difference, t.standard_error)):
            raise ValueError("the losses in the report of a model must be finite")
        return cls(learner, reason, n_held_out, trials, None)


def _seconds_text(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.1f}"
