"""Data sets from OpenML: those of the papers, checked, and any other by name or number."""

from __future__ import annotations

import gzip
import socket
import urllib.error
import warnings
import zlib
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from fsgym.data.dataset import Dataset
from fsgym.data.reading.files import READ_ERRORS, first_line
from fsgym.data.reading.frames import check_size, take_target
from fsgym.data.reading.reading import OF_NUMBERS, Reading, dataset_of_table
from fsgym.datasets.folder import LoadedDataset, without_features
from fsgym.text.messages import listing, option_text

TIMEOUT_SECONDS = 30.0  # of a connection
AS_PUBLISHED = Reading()


class Entry(NamedTuple):
    """A data set's number on OpenML and its expected shape (before one-hot encoding) and class sizes, largest first."""

    data_id: int
    n_samples: int
    n_features: int
    class_sizes: tuple[int, ...]
    target: str | None = None
    not_features: tuple[str, ...] = ()
    image_shape: tuple[int, int] | None = None


OPENML = {
    "adult": Entry(1590, 48842, 14, (37155, 11687)),
    "arcene": Entry(1458, 200, 10000, (112, 88)),
    "australian": Entry(40981, 690, 14, (383, 307)),
    "breast_cancer_ljubljana": Entry(13, 286, 9, (201, 85)),
    "breast_cancer_wisconsin": Entry(15, 699, 9, (458, 241)),
    "car": Entry(40975, 1728, 6, (1210, 384, 69, 65)),
    "crx": Entry(29, 690, 15, (383, 307)),
    "german_credit": Entry(31, 1000, 20, (700, 300)),
    "heart_statlog": Entry(53, 270, 13, (150, 120)),
    "hepatitis": Entry(55, 155, 19, (123, 32)),
    "ionosphere": Entry(59, 351, 34, (225, 126)),
    "letter": Entry(
        6, 20000, 16,
        (813, 805, 803, 796, 792, 789, 787, 786, 783, 783, 775, 773, 768,
         766, 764, 761, 758, 755, 753, 752, 748, 747, 739, 736, 734, 734),
    ),
    # The donors' train/test selector, which most papers use as the class.
    "liver_disorders": Entry(8, 345, 6, (200, 145), target="selector"),
    "madelon": Entry(1485, 2600, 500, (1300, 1300)),
    "mnist": Entry(
        554, 70000, 784, (7877, 7293, 7141, 6990, 6958, 6903, 6876, 6825, 6824, 6313), image_shape=(28, 28)
    ),
    "monk1": Entry(333, 556, 6, (278, 278)),
    "monk2": Entry(334, 601, 6, (395, 206)),
    "monk3": Entry(335, 554, 6, (288, 266)),
    "mushroom": Entry(24, 8124, 22, (4208, 3916)),
    "nursery": Entry(26, 12960, 8, (4320, 4266, 4044, 328, 2)),
    "phishing": Entry(4534, 11055, 30, (6157, 4898)),
    "pima_diabetes": Entry(37, 768, 8, (500, 268)),
    "segment": Entry(36, 2310, 19, (330,) * 7),
    "sonar": Entry(40, 208, 60, (111, 97)),
    "spambase": Entry(44, 4601, 57, (2788, 1813)),
    "splice_uci": Entry(46, 3190, 60, (1655, 768, 767), not_features=("Instance_name",)),
    "tic_tac_toe": Entry(50, 958, 9, (626, 332)),
    "transfusion": Entry(1464, 748, 4, (570, 178)),
    "vehicle": Entry(54, 846, 18, (218, 217, 212, 199)),
    "vote": Entry(56, 435, 16, (267, 168)),
    # The speaker is not a measurement; the papers use the ten features of the signal.
    "vowel": Entry(307, 990, 10, (90,) * 11, not_features=("Train_or_Test", "Speaker_Number", "Sex")),
    "wdbc": Entry(1510, 569, 30, (357, 212)),
    "wine_quality_red": Entry(40691, 1599, 11, (681, 638, 199, 53, 18, 10)),
    "wine_quality_white": Entry(40498, 4898, 11, (2198, 1457, 880, 175, 163, 20, 5)),
    "yeast": Entry(181, 1484, 8, (463, 429, 244, 163, 51, 44, 35, 30, 20, 5)),
}  # fmt: skip


def load_from_openml(which: str | int, entry: Entry | None = None, reading: Reading = AS_PUBLISHED) -> LoadedDataset:
    """The data set of that name or number; if ``entry`` is given, shape and class sizes are checked.

    Without ``entry``, suspicious columns are an error.

    Raises
    ------
    OSError
        When OpenML cannot be reached; the message suggests an alternative.
    ValueError
        When there is no such data set, the download is damaged, or shape and class sizes are not those of ``entry``.
    """
    reading.refuse(("separator", "sheet", "header_row", *OF_NUMBERS), f"the OpenML set {which!r}")
    column = reading.target or (entry.target if entry else None)
    bunch = _fetch(which, entry.data_id if entry else None, column or "default-target")
    name = str(which) if isinstance(which, str) else str(bunch.details.get("name", f"openml_{which}"))
    what = f"the OpenML set {which!r}"
    labels_named = list(bunch.target_names or [])
    if len(labels_named) != 1:
        raise ValueError(
            f"{what} must have one target column, got {len(labels_named)}; name it with {option_text('target')}"
        )
    label = labels_named[0]
    if hasattr(bunch.data, "toarray"):
        check_size(bunch.data.shape[0], bunch.data.shape[1], what)
        dataset = Dataset(bunch.data.toarray(), np.asarray(bunch.target), feature_names=bunch.feature_names, name=name)
        return without_features(dataset, reading)
    frame = bunch.frame
    if entry:
        frame = frame.drop(columns=[c for c in entry.not_features if c in frame.columns])
    if entry:
        features, labels = take_target(frame, label, what)
        _check_entry(entry, features.shape, labels, what, sizes=column == entry.target)
    reading = reading._replace(target=label)
    dataset, prices = dataset_of_table(frame, reading, listed=() if entry else None, name=name, what=what)
    if entry is not None and entry.image_shape is not None and not reading.drop and not prices:
        dataset = dataset.replace(image_shape=entry.image_shape)
    return LoadedDataset(dataset, prices=prices)


def _check_entry(entry: Entry, shape: tuple[int, int], labels: np.ndarray, what: str, sizes: bool) -> None:
    class_sizes = tuple(sorted((int(n) for n in np.unique(labels, return_counts=True)[1]), reverse=True))
    expected = (entry.n_samples, entry.n_features)
    if shape != expected:
        raise ValueError(
            f"{what} (number {entry.data_id}) must have {expected[0]} rows and {expected[1]} features, got "
            f"{shape[0]} and {shape[1]}; OpenML's copy has changed, so use a file of your own"
        )
    if sizes and class_sizes != entry.class_sizes:
        raise ValueError(
            f"{what} (number {entry.data_id}) must have classes of {listing(entry.class_sizes)} rows, got "
            f"{listing(class_sizes)}; OpenML's copy has changed, so use a file of your own"
        )


@contextmanager
def _socket_timeout():
    """Limit the time of connections within the block."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(TIMEOUT_SECONDS if before is None else before)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def _fetch(which: str | int, data_id: int | None, target: str) -> Any:
    import http.client

    from sklearn.datasets import fetch_openml

    number = which if isinstance(which, int) else data_id
    try:
        with warnings.catch_warnings(), _socket_timeout():
            warnings.simplefilter("ignore")
            if number is None:
                return fetch_openml(name=str(which), target_column=target)
            return fetch_openml(data_id=number, target_column=target)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise _damaged(which, error) from None
    except urllib.error.HTTPError as error:
        reason = f"HTTP status {error.code}"
        error.close()
    except (OSError, http.client.HTTPException) as error:
        reason = first_line(getattr(error, "reason", error))
    except (ImportError, AttributeError, *READ_ERRORS) as error:
        raise _damaged(which, error) from None
    remedy = "give the path of a CSV file of your own"
    if data_id is not None:
        remedy = f"put {which}.csv into a folder and name it with {option_text('data_dir')} or the variable FSGYM_DATA"
    raise OSError(f"the data set {which!r} could not be loaded from OpenML ({reason}); check the network, or {remedy}")


def _damaged(which: str | int, error: BaseException) -> ValueError:
    return ValueError(f"the data set {which!r} cannot be loaded from OpenML ({first_line(error)})")
