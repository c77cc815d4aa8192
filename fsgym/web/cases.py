"""The open cases of a server: held in memory, at most a given number, the least recently used one dropped first."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

from fsgym.session import Session

ID_BYTES = 16  # 128 random bits
DROPPED_REMEMBERED = 10  # for each case held: ids of dropped cases


class CaseGone(Exception):
    """A case that is not held: its message is a sentence, ``status`` 410 where it was dropped and 404 elsewhere."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class OpenCase:
    """A session on the page, and what the page shows beside it.

    Attributes
    ----------
    id : str, random
    number : int, from 1 in the order in which cases began
    began : float, seconds since 1970
    session : Session
    known : dict name -> value, known before the first question; what the log has is not among it
    unavailable : sequence of names, what could not be obtained from the beginning
    chosen : str or None, the acquisition that the person chose, to be asked next
    notice : str, what the last change has to say
    before : dict label -> float, the beliefs before the last change, or None
    prior : dict label -> float, the beliefs at the beginning, or None
    version : int, how many changes there were: a form of an earlier version changes nothing
    last : the last change, as it was sent
    lock : held while the case is read or changed
    """

    def __init__(
        self, number: int, session: Session, known: Mapping[str, Any] | None = None, unavailable: Sequence[str] = ()
    ) -> None:
        self.id, self.number, self.began, self.session = secrets.token_urlsafe(ID_BYTES), number, time.time(), session
        self.known, self.unavailable = dict(known or {}), tuple(unavailable)
        self.chosen: str | None = None
        self.notice, self.version = "", 0
        self.before = self.prior = session.probabilities
        self.last: object = None
        self.lock = Lock()


class Cases:
    """The open cases, by id.

    Parameters
    ----------
    most : int, how many are held
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._lock = Lock()
        self._open: OrderedDict[str, OpenCase] = OrderedDict()
        self._dropped: OrderedDict[str, None] = OrderedDict()
        self._n_begun = 0

    def add(
        self, session: Session, known: Mapping[str, Any] | None = None, unavailable: Sequence[str] = ()
    ) -> OpenCase:
        """Hold a session, and drop the least recently used one where there are too many."""
        with self._lock:
            self._n_begun += 1
            case = OpenCase(self._n_begun, session, known, unavailable)
            self._open[case.id] = case
            while len(self._open) > self.most:
                self._dropped[self._open.popitem(last=False)[0]] = None
            while len(self._dropped) > DROPPED_REMEMBERED * self.most:
                self._dropped.popitem(last=False)
        return case

    def find(self, case_id: str) -> OpenCase:
        """The case, which is the most recently used one from now on; raises CaseGone."""
        with self._lock:
            case = self._open.get(case_id)
            if case is not None:
                self._open.move_to_end(case_id)
                return case
            if case_id in self._dropped:
                raise CaseGone(
                    410,
                    f"This case was dropped: at most {self.most} cases are held, and it was the one that had not been "
                    "used for the longest time.",
                )
        raise CaseGone(404, "There is no such case: it was deleted, or the server was started again since.")

    def delete(self, case_id: str) -> None:
        """Forget a case."""
        with self._lock:
            self._open.pop(case_id, None)

    def listed(self) -> list[OpenCase]:
        """The cases held, the most recently used one first."""
        with self._lock:
            return list(reversed(self._open.values()))
