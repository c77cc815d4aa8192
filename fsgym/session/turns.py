"""What a person does in a session that takes more than one of its methods."""

from __future__ import annotations

from fsgym.session.session import Session
from fsgym.session.step import Question


def postpone(session: Session, name: str) -> bool:
    """Postpone the question of the model; False where it comes now, because the model would stop without it."""
    if name in session.postponed:
        return False
    session.later(name)
    asked = session.next()
    if asked is not None and asked.name == name:
        session.undo()
        return False
    return True


def choose(session: Session, name: str) -> Question:
    """The question of an acquisition that the model does not ask for, also after the session has ended.

    Raises ValueError where the acquisition is not legal; an ended session has ended then as before.
    """
    stopped = session.stopped
    if stopped:
        session.undo()
    try:
        return session.question(name)
    except ValueError:
        if stopped:
            session.stop()
        raise
