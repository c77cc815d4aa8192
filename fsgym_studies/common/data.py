"""Which data sets of a study are there, and what to do about those that are not."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence

from fsgym.datasets import list_datasets, load_dataset
from fsgym.text.messages import listing
from fsgym_studies.common.study import Study

MAX_LISTED = 30  # names of data sets in a sentence


def missing_datasets(names: Sequence[str], data_dir: str | os.PathLike | None = None) -> list[str]:
    """The data sets that are neither with scikit-learn, nor in the data folder, nor at OpenML, in their order."""
    known = set(list_datasets(data_dir)["name"])
    return [name for name in dict.fromkeys(names) if name not in known]


def _can_be_loaded(name: str, data_dir: str | os.PathLike | None, tell: Callable[[str], object]) -> bool:
    """Whether a data set at OpenML can be loaded now; it is then on the disk."""
    tell(f"looking for {name}, at OpenML unless it is on the disk")  # some seconds where there is no network
    try:
        load_dataset(name, data_dir=data_dir)
    except (OSError, ValueError):
        return False
    return True


def data_state(study: Study, data_dir: str | os.PathLike | None = None) -> str:
    """Whether the data of a study are there: ``complete``, what a run loads from OpenML, or ``lacks pcmac, a9a``."""
    table = list_datasets(data_dir)
    lacking = missing_datasets(study.datasets, data_dir)
    if not lacking:
        n_openml = int((table["name"].isin(study.datasets) & (table["source"] == "openml")).sum())
        return (
            f"{n_openml} of {len(study.datasets)} are loaded from OpenML at the first run" if n_openml else "complete"
        )
    quick = missing_datasets(study.needed_datasets(False), data_dir)
    return f"lacks {', '.join(lacking)}" + ("" if quick else "; complete for --quick")


def require_datasets(names: Sequence[str], study: str, data_dir: str | os.PathLike | None = None) -> None:
    """Raise ValueError if a data set of the study is neither embedded, nor in the data folder, nor at OpenML."""
    missing_names = missing_datasets(names, data_dir)
    if missing_names:
        raise ValueError(
            f"study {study!r} needs the data sets {listing(missing_names, MAX_LISTED)}, which are not there: download "
            f"them with `fsgym datasets fetch {study} --data-dir FOLDER` and name that folder with --data-dir or the "
            "variable FSGYM_DATA, or leave them out with --skip-missing"
        )


def skipped_datasets(
    study: Study,
    full: bool,
    data_dir: str | os.PathLike | None = None,
    tell: Callable[[str], object] = lambda sentence: None,
) -> list[str]:
    """The data sets that a run with ``--skip-missing`` leaves out; ValueError where nothing is left.

    ``tell`` gets a sentence before each one that is looked for at OpenML.
    """
    needed, table = list(dict.fromkeys(study.needed_datasets(full))), list_datasets(data_dir)
    sources = dict(zip(table["name"], table["source"], strict=True))
    skip = [
        name
        for name in needed
        if name not in sources or (sources[name] == "openml" and not _can_be_loaded(name, data_dir, tell))
    ]
    if len(skip) == len(needed):
        raise ValueError(
            f"study {study.name!r} has none of its data sets ({listing(skip, MAX_LISTED)}); download them with "
            f"`fsgym datasets fetch {study.name} --data-dir FOLDER`"
        )
    return skip


def skipped_note(skip: Collection[str]) -> str:
    """The note of a report on the data sets that were left out."""
    return f"Skipped, because the data are missing: {', '.join(skip)}. The results are without them."
