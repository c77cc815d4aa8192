"""Which learner was chosen and why, and what doing nothing, acquiring everything or one fixed panel would cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from fsgym.text.html import HtmlTable, html_block

if TYPE_CHECKING:
    import pandas as pd

NOISE = 2.0  # standard errors up to which a difference counts as noise


class LearnerTrial(NamedTuple):
    """How a learner did on the training rows, out of fold.

    Attributes
    ----------
    learner : str
    loss : float, realised mean loss; NaN where the learner was not trained
    difference, standard_error : float
        Of the loss and that of the first learner on the same rows; 0 for the first learner.
    seconds : float
        Of its training, on the wall clock, with that for a target; None where it was not trained, and for a loaded
        model. With prices by case, the lattice trains the mixture, too, which then counts as the lattice's.
    error : float, standard error of the loss; NaN in model files of before version 0.3
    left : str, when the learner was left and why; empty for the one that was chosen
    """

    learner: str
    loss: float
    difference: float
    standard_error: float
    seconds: float | None
    error: float = math.nan
    left: str = ""


class ReferencePoint(NamedTuple):
    """A simple policy to compare with, on the same training rows, out of fold.

    Attributes
    ----------
    name : str
        "nothing", the answer of lowest cost for all rows; "everything", all acquisitions for all rows; or "best fixed
        panel", the acquisitions of lowest loss among the subsets that the lattice holds, with those that come first.
    loss, error : float, mean loss and its standard error
    difference, standard_error : float, of this loss and that of the chosen learner on the same rows
    acquisitions : tuple of str, those of the panel
    """

    name: str
    loss: float
    error: float
    difference: float
    standard_error: float
    acquisitions: tuple[str, ...] = ()

    @property
    def is_noise(self) -> bool:
        """Whether the difference is at most two standard errors."""
        return abs(self.difference) <= NOISE * self.standard_error


class LearnerReport(NamedTuple):
    """The choice among learners.

    Attributes
    ----------
    learner : str, the one that was chosen
    reason : str, a sentence
    n_held_out : int
        Rows on which the learners of a model of before version 0.3 were compared; now 0: all are training rows.
    trials : tuple of LearnerTrial
    seconds : float, of the final fit, on the wall clock; None for a loaded model
    references : tuple of ReferencePoint, those that the learners know; none without the lattice
    limited_by : str or None, "subsets" or "operations" where a limit ended the growth of the lattice
    evidence : tuple of str
        Columns for which it goes with the class whether their value is missing. The losses are those of cases of which
        this is known from the start, as of a row of a table.
    compared_at : float or None
        The ``lam`` of all losses where it is not that of the model: with a target, the one that the first learner needs
        for it, where another one is chosen.

    Notes
    -----
    Losses are realised on the training rows, each by a policy whose models have not seen the row. They are somewhat too
    low, as the structure is chosen on the same rows: ``agents.estimate_loss`` estimates the loss on new rows.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from agents import AdaptiveClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> report = AdaptiveClassifier(lam=0.05, learner="lattice", random_state=0).fit(X[:, [6, 10]], y).report_
    >>> report.learner, [point.name for point in report.references]
    ('lattice', ['nothing', 'everything', 'best fixed panel'])
    """

    learner: str
    reason: str
    n_held_out: int
    trials: tuple[LearnerTrial, ...]
    seconds: float | None
    references: tuple[ReferencePoint, ...] = ()
    limited_by: str | None = None
    evidence: tuple[str, ...] = ()
    compared_at: float | None = None

    def __str__(self) -> str:
        lines = [self.reason]
        for name, *parts in self._rows():
            loss, difference, seconds, remark = parts
            shown = [f"loss {loss}" if loss else "", difference, f"{seconds} s" if seconds else "", remark]
            lines.append(f"{name}: {', '.join(part for part in shown if part)}")
        return "\n".join(lines)

    def _rows(self) -> list[tuple[str, str, str, str, str]]:
        """Name, loss, difference, seconds and remark of each learner and each reference point, as text."""
        rows = []
        for t in self.trials:
            loss = "" if math.isnan(t.loss) else f"{t.loss:.4f}" + ("" if math.isnan(t.error) else f" ± {t.error:.4f}")
            compared = "" if t is self.trials[0] or not loss else f"{t.difference:+.4f} ± {t.standard_error:.4f}"
            rows.append((t.learner, loss, compared, "" if t.seconds is None else f"{t.seconds:.1f}", t.left))
        for p in self.references:
            remark = [f"as good as {self.learner} within noise"] if p.is_noise else []
            remark += [", ".join(p.acquisitions)] if p.acquisitions else []
            compared = f"{p.difference:+.4f} ± {p.standard_error:.4f}"
            rows.append((p.name, f"{p.loss:.4f} ± {p.error:.4f}", compared, "", ": ".join(remark)))
        if self.compared_at is not None:
            remark = f"losses at {self.compared_at:g}, which {self.trials[0].learner} needs for the target"
            rows.append(("lambda", "", "", "", remark))
        if self.limited_by is not None:
            remark = f"{self.limited_by} of the lattice; LatticeClassifier with a larger effort may help"
            rows.append(("limit", "", "", "", remark))
        if self.evidence:
            rows.append(("evidence", "", "", "", f"whether there is a value of {', '.join(self.evidence)}"))
        return rows

    def to_frame(self) -> pd.DataFrame:
        """The trials as a table, one line per learner."""
        import pandas as pd

        return pd.DataFrame(self.trials, columns=list(LearnerTrial._fields))

    def html_parts(self) -> list[str | HtmlTable]:
        """The reason, and a table of learners and reference points, for ``html_block``."""
        rows = self._rows()
        return [self.reason, HtmlTable(["policy", "loss", "difference", "seconds", "remark"], iter(rows), len(rows))]

    def _repr_html_(self) -> str:
        return html_block("LearnerReport", *self.html_parts())

    def as_json(self) -> dict[str, Any]:
        """Plain JSON, for model files; without the seconds, so that a seed fixes every byte of a file."""
        entry = {**self._asdict(), "trials": [_trial_as_json(trial) for trial in self.trials]}
        del entry["seconds"], entry["evidence"]
        if self.compared_at is None:
            del entry["compared_at"]
        if self.evidence:
            entry["evidence"] = list(self.evidence)
        if not self.references and self.limited_by is None:  # as before version 0.3, so that digests stay
            del entry["references"], entry["limited_by"]
            return entry
        return entry | {"references": [[*point[:-1], list(point.acquisitions)] for point in self.references]}

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> Self:
        """The report from what ``as_json`` returned; ValueError or another error of damaged files if it is none."""
        learner, reason, n_held_out = (entry[k] for k in ("learner", "reason", "n_held_out"))
        limited_by = entry.get("limited_by")
        if not isinstance(reason, str) or type(n_held_out) is not int or n_held_out < 0:
            raise ValueError("the report of a model needs a sentence and a number of rows")
        trials = tuple(_trial_from_json(*values) for values in entry["trials"])
        references = tuple(_reference_from_json(*values) for values in entry.get("references", []))
        names = [learner, *(t.learner for t in trials), *(t.left for t in trials), *(p.name for p in references)]
        evidence = tuple(entry.get("evidence", ()))
        names += [name for point in references for name in point.acquisitions] + [limited_by or "", *evidence]
        if not all(isinstance(name, str) for name in names):
            raise ValueError("the report of a model must name its learners")
        compared_at = None if "compared_at" not in entry else _finite(entry["compared_at"])
        return cls(learner, reason, n_held_out, trials, None, references, limited_by, evidence, compared_at)


def _trial_as_json(trial: LearnerTrial) -> list[Any]:
    first = [trial.learner, None if math.isnan(trial.loss) else trial.loss, trial.difference, trial.standard_error]
    if math.isnan(trial.error) and not trial.left:
        return first
    return [*first, None if math.isnan(trial.error) else trial.error, trial.left]


def _trial_from_json(learner, loss, difference, standard_error, error=None, left="") -> LearnerTrial:
    if loss is None and left:
        return LearnerTrial(learner, math.nan, 0.0, 0.0, None, left=left)
    loss, difference, standard_error = (_finite(v) for v in (loss, difference, standard_error))
    error = math.nan if error is None else _finite(error)
    return LearnerTrial(learner, loss, difference, standard_error, None, error, left)


def _reference_from_json(name, loss, error, difference, standard_error, acquisitions) -> ReferencePoint:
    loss, error, difference, standard_error = (_finite(v) for v in (loss, error, difference, standard_error))
    return ReferencePoint(name, loss, error, difference, standard_error, tuple(acquisitions))


def _finite(value: Any) -> float:
    if not math.isfinite(float(value)):
        raise ValueError("the losses in the report of a model must be finite")
    return float(value)
