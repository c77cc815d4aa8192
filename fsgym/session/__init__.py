"""One case at a time: what to ask next, sessions that can be undone and resumed, predictions on demand."""

from typing import TYPE_CHECKING

from fsgym.support.lazy import imported_later

if TYPE_CHECKING:
    from fsgym.session.asked_model import AskedModel
    from fsgym.session.session import LogEntry, Session
    from fsgym.session.step import Advice, Alternative, AskedColumn, Certainty, ExpectedCost, Question, Step

__all__ = [
    "Advice",
    "Alternative",
    "AskedColumn",
    "AskedModel",
    "Certainty",
    "ExpectedCost",
    "LogEntry",
    "Question",
    "Session",
    "Step",
]

__getattr__, __dir__ = imported_later(  # a fitted model alone needs no sessions
    __name__,
    {
        "fsgym.session.asked_model": "AskedModel",
        "fsgym.session.session": "LogEntry Session",
        "fsgym.session.step": "Advice Alternative AskedColumn Certainty ExpectedCost Question Step",
    },
)
