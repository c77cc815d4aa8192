"""What a model says about one case: the question to ask next, or the answer, and what both are expected to cost."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


class AskedColumn(NamedTuple):
    """A column whose value a question asks for.

    Attributes
    ----------
    name : str
    kind : str
        "number", "category", "codes" or "bool", as in ``fsgym.data.columns.Column``.
    unit : str, of a number; "" if it is not known
    levels : tuple of str, the values of a category
    low, high : float, or None
        The range of a number in the training data; None if it is not known.
    """

    name: str
    kind: str
    unit: str
    levels: tuple[str, ...]
    low: float | None
    high: float | None


class Question(NamedTuple):
    """An acquisition that can be made now.

    Attributes
    ----------
    name : str, of the acquisition
    columns : tuple of AskedColumn, the columns whose values it brings; those that are known already are left out
    price : float, now, in the unit of ``costs``

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from agents import LatticeClassifier
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> X = X[["hue", "flavanoids"]]
    >>> model = LatticeClassifier(lam=0.05, unknown=0, random_state=0).fit(X, y)
    >>> question = model.session().next()
    >>> question.name, question.price
    ('flavanoids', 1.0)
    """

    name: str
    columns: tuple[AskedColumn, ...]
    price: float


class Alternative(NamedTuple):
    """One of the legal acquisitions.

    Attributes
    ----------
    name : str
    price : float, now, in the unit of ``costs``
    expected_cost : float, or None
        What the case is expected to cost from here on if this is acquired next, its own price included, in units of the
        error costs. None where the agent has no estimate of it.
    gain : float, or None
        By how much that is below the expected cost of stopping now, for each unit of the price. None for a free
        acquisition, one whose price is almost 0, and where there is no estimate.
    """

    name: str
    price: float
    expected_cost: float | None
    gain: float | None


class ExpectedCost(NamedTuple):
    """What a case is expected to cost from here on, in units of the error costs; None where there is no estimate.

    Attributes
    ----------
    stop : float or None, if it is answered now
    go_on : float or None, if the next question is asked, prices included
    """

    stop: float | None
    go_on: float | None


class Certainty(NamedTuple):
    """How certain the answer is if it is given now, by the rule of a calibrated model.

    Attributes
    ----------
    enough : bool, whether the rule lets the model stop here
    text : str
        A sentence: how certain the answer is, and how certain it must be. After a person overrode the rule, that the
        promise no longer covers the case.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from agents import LatticeClassifier
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = LatticeClassifier(lam=0.05, random_state=0).fit(X[["hue", "flavanoids"]], y)
    >>> print(model.calibrate(min_confidence=0.9).step({"flavanoids": 0.7}).certainty.text)
    Certain enough: 93.8 % that the answer is right (90 % is needed).
    """

    enough: bool
    text: str


class CertaintyRule(Protocol):
    """What a session needs of the promise of a calibrated model, see ``fsgym.evaluation.promise.Promise``."""

    @property
    def end(self) -> str:
        """What is said where a person overrides the rule."""
        ...

    @property
    def promises(self) -> bool:
        """Whether it promises something, and not only stops by a rule."""
        ...

    def certainty(
        self, answer: int, probabilities: NDArray[np.float64], answer_costs: NDArray[np.float64], stops: bool
    ) -> Certainty:
        """How certain an answer is, a class code, or n_classes to refer; ``stops``: the model would give it now."""
        ...

    def sentences(self) -> list[str]:
        """What is promised, by which rows, and at what price."""
        ...


@dataclass(frozen=True)
class Step:
    """What a model says about one case.

    Attributes
    ----------
    question : Question or None
        What the model asks next; None where it stops.
    should_stop : bool
        Whether the model would answer now.
    answer : label
        The answer if it is given now: a class, or ``refer_label`` of the rules. Of a numeric target a number, which
        prints with its range, such as ``about 5, between 4.5 and 5.5``.
    probabilities : dict label -> float, or None for a model without class probabilities
        Of a numeric target by the answers of the bins, which print as their ranges, such as ``4.5 to 5.5``.
    expected_cost : ExpectedCost
    spent : float
        The total price paid so far, in the unit of ``costs``.
    alternatives : tuple of Alternative
        The legal acquisitions, the one that the model prefers first.
    unused : tuple of str
        The columns whose values are known and have no effect on probabilities and answer, until the model asks for what
        it uses together with them.
    certainty : Certainty, or None for a model that is not calibrated
    refers : bool
        Whether this answer refers the case to a person, and is no class.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from agents import LatticeClassifier
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> X = X[["hue", "flavanoids"]]
    >>> model = LatticeClassifier(lam=0.05, unknown=0, random_state=0).fit(X, y)
    >>> step = model.step({"flavanoids": 0.7})
    >>> step.should_stop, int(step.answer), step.spent  # what is known costs nothing
    (True, 2, 0.0)
    """

    question: Question | None
    should_stop: bool
    answer: Any
    probabilities: dict[Any, float] | None
    expected_cost: ExpectedCost
    spent: float
    alternatives: tuple[Alternative, ...]
    unused: tuple[str, ...] = ()
    certainty: Certainty | None = None
    refers: bool = field(default=False, repr=False)

    def as_json(self) -> dict[str, Any]:
        """The step as plain JSON values; probabilities are a list of pairs, as labels need not be text.

        Without ``certainty`` for a model that is not calibrated. That the answer refers is seen from it: it is the
        label that is no class.
        """
        plain = asdict(self) | {
            "question": None
            if self.question is None
            else self.question._asdict() | {"columns": [c._asdict() for c in self.question.columns]},
            "expected_cost": self.expected_cost._asdict(),
            "alternatives": [a._asdict() for a in self.alternatives],
        }
        del plain["refers"]
        if self.probabilities is not None:
            plain["probabilities"] = [list(pair) for pair in self.probabilities.items()]
        if self.certainty is None:
            del plain["certainty"]
        else:
            plain["certainty"] = self.certainty._asdict()
        return plain


class Advice(NamedTuple):
    """What a policy says about n states, with J acquisitions.

    Attributes
    ----------
    actions : int64 (n,), as ``Policy.actions``
    beyond : int64 (n,), the acquisition to make if the episode goes on; -1 where none is legal
    answers : int64 (n,), class codes, the answers if they are given now; n_classes refers the case to a person
    preference : float64 (n, J), higher for acquisitions that come first
    expected : float64 (n, J), as ``Alternative.expected_cost``; NaN where there is no estimate
    stop_cost : float64 (n,), as ``ExpectedCost.stop``; NaN where there is no estimate
    probabilities : float64 (n, n_classes), or None
    unused : bool (n, n_features), the features whose values are known and have no effect on probabilities and answers

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from agents import LatticeClassifier
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = LatticeClassifier(lam=0.05, random_state=0).fit(X[["hue", "flavanoids"]], y)
    >>> nothing = np.full((1, 2), np.nan)
    >>> advice = model.advise(~np.isnan(nothing), nothing, np.ones((1, 5), bool))
    >>> int(advice.actions[0]), advice.preference.shape  # flavanoids come first
    (1, (1, 2))
    """

    actions: NDArray[np.int64]
    beyond: NDArray[np.int64]
    answers: NDArray[np.int64]
    preference: NDArray[np.float64]
    expected: NDArray[np.float64]
    stop_cost: NDArray[np.float64]
    probabilities: NDArray[np.float64] | None
    unused: NDArray[np.bool_]
