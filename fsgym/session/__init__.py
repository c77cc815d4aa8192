"""One case at a time: what to ask next, sessions that can be undone and resumed, predictions on demand."""

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
