"""``fetch_dataset``: download a data set of the studies into a folder of data sets."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from fsgym.data.reading.files import check_file
from fsgym.datasets.folder import EMBEDDED, read_manifest
from fsgym.datasets.public.canonical import canonical_file
from fsgym.datasets.public.convert import converted
from fsgym.datasets.public.download import MAX_DOWNLOADED_BYTES, download
from fsgym.datasets.public.record import Download, PublicSet, public_sets
from fsgym.support.writing import opened_whole, writable_folder, write_whole
from fsgym.text.messages import explain_unknown

EMBEDDED_STATE, WRITTEN_STATE = "comes with scikit-learn", "written"
PRESENT_STATE, DIFFERENT_STATE = "already there", "already there, with another content than recorded"
MANIFEST, PRICE_LISTS = "MANIFEST.json", "costs.json"
PRICES_FILE = Path(__file__).with_name(PRICE_LISTS)


class Fetched(NamedTuple):
    """What ``fetch_dataset`` did."""

    name: str
    # {"comes with scikit-learn", "written", "already there", "already there, with another content than recorded"}
    state: str
    files: tuple[Path, ...] = ()  # paths of the files that were written
    untried: tuple[str, ...] = ()  # addresses that were used, and whose whole file nobody had converted before


def fetch_dataset(name: str, data_dir: str | os.PathLike, downloads_dir: str | os.PathLike | None = None) -> Fetched:
    """Download a data set, convert it, check it by its SHA-256, and write it into a folder of data sets.

    ``load_dataset(name, data_dir=data_dir)`` then loads it. A set that the folder has is compared with the record,
    and left as it is. Where the prices of its columns are known, they are written too, unless the folder has a file of
    prices, ``costs.json``.

    Parameters
    ----------
    name : str
        The name of a data set that a study needs; ``docs/data.md`` lists them.
    data_dir : path
        The folder; it is created if it does not exist.
    downloads_dir : path, optional
        A folder with files that you downloaded yourself. Those that it has are not downloaded again.

    Returns
    -------
    Fetched

    Raises
    ------
    ValueError
        If the name is unknown, a download has no public address (the message says what to do), it is damaged, or a
        converted file has another SHA-256 than recorded.
    OSError
        If a download fails, ends early or is too large, or a file cannot be written. Nothing is left half-written.

    Examples
    --------
    >>> import tempfile
    >>> from fsgym.datasets import fetch_dataset, load_dataset
    >>> folder = tempfile.mkdtemp()
    >>> fetch_dataset("wdbc", folder).state
    'written'
    >>> load_dataset("wdbc", data_dir=folder)
    Dataset('wdbc': 569 samples, 30 features, 2 classes)
    """
    if name in EMBEDDED:
        return Fetched(name, EMBEDDED_STATE)
    known = public_sets()
    if name not in known:
        raise ValueError(explain_unknown("data set", name, [*EMBEDDED, *known]))
    folder = writable_folder(Path(data_dir).expanduser())
    public, records = known[name], read_manifest(folder)
    if (
        name in records
        and _has_files(folder, records[name])
        and not _left_by_a_killed_fetch(public, folder, records[name])
    ):
        _write_price_lists(name, folder)
        return Fetched(name, PRESENT_STATE if is_recorded(public, folder, records[name]) else DIFFERENT_STATE)
    given = None if downloads_dir is None else Path(downloads_dir).expanduser()
    contents = [_content(public, d, given) for d in _obtainable(public, given)]
    paths = _write(folder, public, converted(public, contents))
    _write_price_lists(name, folder)
    used = [d for d in public.downloads if given is None or not (given / d.file).exists()]
    return Fetched(name, WRITTEN_STATE, paths, tuple(d.address for d in used if d.address and not d.tried))


def _has_files(folder: Path, record: Mapping[str, Any]) -> bool:
    return all((folder / str(entry["file"])).exists() for entry in record["files"])


def is_recorded(public: PublicSet, folder: Path, record: Mapping[str, Any]) -> bool:
    """Whether the files of a record of a folder hold the recorded data, be they compressed or not."""
    files = [folder / str(entry["file"]) for entry in record["files"]]
    for path in files:
        check_file(path)
    found = [hashlib.sha256(canonical_file(path)).hexdigest() for path in files]
    return found == list(public.checksums.values())


def _left_by_a_killed_fetch(public: PublicSet, folder: Path, record: Mapping[str, Any]) -> bool:
    """Whether the folder has recorded files, but their record is not in its manifest, which is written after them."""
    files = [str(entry["file"]) for entry in record["files"]]
    return "plain" in record and all(
        file in public.checksums and hashlib.sha256(canonical_file(folder / file)).hexdigest() == public.checksums[file]
        for file in files
    )


def _obtainable(public: PublicSet, given: Path | None) -> tuple[Download, ...]:
    """The downloads of a data set; ValueError where one has no address, and its file is not in the given folder."""
    for file in public.by_hand:
        if given is None or not (given / file).exists():
            raise ValueError(f"{public.name!r} has no address that fsgym can download from: {public.advice}")
    return public.downloads


def _content(public: PublicSet, wanted: Download, given: Path | None) -> bytes:
    if given is not None and (given / wanted.file).exists():
        path = given / wanted.file
        check_file(path)
        if path.stat().st_size > MAX_DOWNLOADED_BYTES:
            raise ValueError(f"{path} has more than {MAX_DOWNLOADED_BYTES // 10**6} MB, and is not the expected file")
        return path.read_bytes()
    assert wanted.address is not None  # by ``_obtainable``
    try:
        return download(wanted.address)
    except OSError as error:
        raise OSError(f"{error} (as the file {wanted.file!r})") from None


def _write(folder: Path, public: PublicSet, files: dict[str, bytes]) -> tuple[Path, ...]:
    """Write the files and then the record; where one cannot be written, those before it are removed."""
    written: list[Path] = []
    try:
        for file, content in files.items():
            path = folder / file
            with opened_whole(path, binary=True) as opened:
                opened.write(content)
            written.append(path)
        manifest = folder / MANIFEST
        records = json.loads(manifest.read_text(encoding="utf-8-sig")) if manifest.exists() else {}
        write_whole(manifest, json.dumps({**records, public.name: public.record}, indent=1, sort_keys=True) + "\n")
    except BaseException:
        for path in written:
            with suppress(OSError):
                path.unlink()
        raise
    return tuple(written)


def _write_price_lists(name: str, folder: Path) -> None:
    """Write the prices of the columns, where they are known and the folder has no file of prices."""
    prices = PRICES_FILE.read_text(encoding="utf-8")
    if name in json.loads(prices) and not (folder / PRICE_LISTS).exists():
        write_whole(folder / PRICE_LISTS, prices)
