"""Where the command ``ask`` writes a session, and how it reads one."""

from __future__ import annotations

import json
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

from fsgym.cli.terminal import opened_output
from fsgym.data.columns import Columns
from fsgym.session import Session
from fsgym.session.values import check_value
from fsgym.text.messages import brief


class Unfinished(NamedTuple):
    """An acquisition of which some columns are answered, and others are not yet.

    Attributes
    ----------
    name : str, of the acquisition
    values : dict column -> value, None for an unknown column
    accept : bool, whether a value was accepted that is not as in training
    """

    name: str
    values: dict[str, Any]
    accept: bool = False


class SessionFile:
    """The file of a session. It never replaces the file of another session: it takes a free name instead.

    Parameters
    ----------
    model : Path of the model file, after which the session is named by default
    save : Path or None, where to write the session
    resumed : Path or None, the file that the session was read from
    """

    def __init__(self, model: Path, save: Path | None, resumed: Path | None) -> None:
        self.path = save or resumed or Path(f"{model.stem}.session.json")
        self._own = set() if resumed is None else {resumed.resolve()}

    def write(self, session: Session, unfinished: Unfinished | None = None, path: Path | None = None) -> Path:
        """Write the session, and an acquisition that is not finished; returns the path of the file."""
        path = self._free_path(path or self.path)
        text = session.to_json()
        if unfinished is not None:
            text = json.dumps(json.loads(text) | {"unfinished": unfinished._asdict()}, ensure_ascii=False)
        with opened_output(path) as file:
            file.write(text + "\n")
        self._own.add(path.resolve())
        return path

    def _free_path(self, path: Path) -> Path:
        """The path, or the first one with a number that does not exist yet."""
        numbered = (path.with_name(f"{path.stem}-{k}{path.suffix}") for k in count(2))
        names = chain([path], numbered)
        return next(name for name in names if not name.exists() or name.resolve() in self._own)


def read_session(path: Path, model: Any) -> tuple[Session, Unfinished | None]:
    """The session of a file, and the acquisition that was not finished.

    Raises
    ------
    ValueError, OSError
        If the file is not a session, is damaged, or was written with another model.
    """
    from fsgym.data.reading.files import read_text

    text = read_text(path)
    try:
        session = model.resume(text)
        return session, _read_unfinished(json.loads(text).get("unfinished"), session, model.columns_)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _read_unfinished(plain: Any, session: Session, columns: Columns) -> Unfinished | None:
    """The acquisition that was not finished; ValueError where it cannot be made, or a value is not allowed."""
    if plain is None:
        return None
    fields = {"name": str, "values": dict, "accept": bool}
    if not isinstance(plain, dict) or plain.keys() != fields.keys():
        raise ValueError(f"the session is damaged: unfinished must have {', '.join(fields)}, got {brief(plain)}")
    for name, kind in fields.items():
        if not isinstance(plain[name], kind):
            raise ValueError(f"the session is damaged: {name} must be {kind.__name__}, got {brief(plain[name])}")
    unfinished = Unfinished(**plain)
    try:
        open_columns = [column.name for column in session.question(unfinished.name).columns]
        for column in columns:
            value = unfinished.values.get(column.name)
            if value is not None:
                check_value(column, value, unfinished.accept)
    except ValueError as error:
        raise ValueError(f"the session is damaged: {error}") from None
    if not set(unfinished.values) < set(open_columns):
        raise ValueError(f"the session is damaged: {unfinished.name!r} must have some of its columns as values")
    return unfinished
