"""What sessions, charts, pages and the command line need of a model that is asked case by case."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fsgym.rules import State
from fsgym.session.acquisitions import Acquisitions
from fsgym.session.step import Advice
from fsgym.session.walk import Walk, WalkOrder


def as_told(model: Any, is_told: bool) -> Any:
    """The model of cases of which it is told what is missing, or is not; the same for one without ``evidence_``."""
    return model if is_told or not getattr(model, "evidence_", ()) else model.without_evidence()


class AskedModel(Protocol):
    """A fitted classifier that asks for one acquisition after the other, and answers.

    Whatever has these six members can be asked in a terminal, on a page and in Python: ``Session(model)`` holds a
    session with it. Four are the model's own. ``AskingMixin`` has the last two, and makes of the four the methods
    ``step``, ``session``, ``resume`` and ``predict_on_demand`` of a classifier. With F features, J acquisitions and
    n_actions = J + n_answers, action j < J acquires j, and action J + c answers the class of code c. Where the rules
    have a ``refer_cost``, code n_classes refers the case to a person. All arrays are in the order of ``acquisitions_``.

    A model must answer wherever no acquisition is legal, name legal acquisitions only, and say the same about the same
    state. Values that are not known, and those that cannot be obtained, are NaN; which of them can still be acquired
    ``legal`` says.

    A model for which it is evidence that values are missing has a seventh one, ``evidence_``, the names of these
    columns. Its ``advise`` and ``walk`` are then called with ``missing=``, bool (n, F), where a person said which
    values the case does not have, and without it where nobody did. ``without_evidence()`` is the model of these cases.

    A calibrated model has ``promise_``, a ``fsgym.session.step.CertaintyRule``: steps and logs then say how certain the
    answer is, and where a person overrides the rule.

    Attributes
    ----------
    classes_ : array (n_classes,), the labels by class code
    acquisitions_ : Acquisitions, made once
        The rules, and the columns of their features with kinds, units, levels and ranges, by which a person's answers
        are checked and encoded.

    Examples
    --------
    A model that asks for the cheapest column, and then answers by its sign:

    >>> import numpy as np
    >>> from fsgym import Rules
    >>> from fsgym.data.columns import Column, Columns
    >>> from fsgym.session.acquisitions import Acquisitions
    >>> from fsgym.session.mixin import AskingMixin
    >>> from fsgym.session.step import Advice
    >>> class BySign(AskingMixin):
    ...     classes_ = np.array(["below", "above"])
    ...     acquisitions_ = Acquisitions(
    ...         Rules(2, 2, costs=[3.0, 1.0], names=["scan", "pulse"]), Columns([Column("scan"), Column("pulse")])
    ...     )
    ...     def advise(self, acquired, values, legal):
    ...         n, cheapest = len(acquired), 1
    ...         answers = (values[:, cheapest] > 0).astype(np.int64)
    ...         actions = np.where(legal[:, cheapest], cheapest, 2 + answers)
    ...         preference = np.where(legal[:, :2], [-1.0, 0.0], -np.inf)
    ...         beyond = np.where(legal[:, :2].any(axis=1), preference.argmax(axis=1), -1)
    ...         nothing, unused = np.full((n, 2), np.nan), np.zeros((n, 2), bool)
    ...         return Advice(actions, beyond, answers, preference, nothing, np.full(n, np.nan), None, unused)
    ...     def policy_digest(self):
    ...         return "by sign, version 1"
    >>> session = BySign().session()
    >>> session.next().name
    'pulse'
    >>> session.answer("pulse", 0.3)
    >>> print(session.next(), session.stop())
    None above
    """

    classes_: NDArray

    @property
    def acquisitions_(self) -> Acquisitions:
        """The rules and the columns by name."""
        ...

    def advise(self, acquired: NDArray[np.bool_], values: NDArray[np.float64], legal: NDArray[np.bool_]) -> Advice:
        """What the model says about n states.

        Parameters
        ----------
        acquired : bool (n, F), where values are known
        values : float64 (n, F), NaN where they are not
        legal : bool (n, n_actions)
        """
        ...

    def policy_digest(self) -> str:
        """A text that two models have in common only if they ask and answer the same: a session goes on with it."""
        ...

    def walk_order(self) -> WalkOrder:
        """The order in which ``walk`` counts features and acquisitions."""
        ...

    def walk(self, state: State) -> Walk:
        """Begin with nothing acquired in each of n states, started under the rules of ``walk_order``.

        For many cases at a time, where each step goes on from the last one.
        """
        ...
