"""What is known of each data set of the studies: source, licence, shape, addresses and SHA-256."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

SETS_FILE = Path(__file__).with_name("sets.json")


@dataclass(frozen=True)
class Download:
    """A file that a data set is converted from."""

    file: str  # its name
    address: str | None  # where it can be downloaded; None where it must be fetched by hand
    tried: bool = False  # whether the whole file that is published at this address has given the recorded SHA-256


@dataclass(frozen=True)
class PublicSet:
    """A data set of the studies."""

    name: str  # its name in ``load_dataset``
    form: str  # the form of its downloads, a key of ``FORMS``
    downloads: tuple[Download, ...]  # the files that it is converted from; none where it comes with scikit-learn
    options: Mapping[str, Any]  # how its downloads are read
    record: Mapping[str, Any]  # its record in ``MANIFEST.json``; ``files`` are the converted ones with their SHA-256
    advice: str = ""  # what the user must do where a download has no address

    @property
    def checksums(self) -> dict[str, str]:
        """The SHA-256 of each converted file."""
        return {str(entry["file"]): str(entry["sha256"]) for entry in self.record["files"]}

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of samples and of features."""
        return self.record["n_samples"], self.record["n_features"]

    @property
    def by_hand(self) -> tuple[str, ...]:
        """The downloads that have no address."""
        return tuple(d.file for d in self.downloads if d.address is None)

    @property
    def untried(self) -> tuple[str, ...]:
        """The addresses whose whole file nobody has converted."""
        return tuple(d.address for d in self.downloads if d.address is not None and not d.tried)


@cache
def public_sets() -> Mapping[str, PublicSet]:
    """All data sets of the studies that do not come ready with scikit-learn, by name."""
    entries = json.loads(SETS_FILE.read_text(encoding="utf-8"))
    return {
        name: PublicSet(
            name,
            entry["form"],
            tuple(Download(**d) for d in entry["downloads"]),
            entry["options"],
            entry["record"],
            entry.get("advice", ""),
        )
        for name, entry in entries.items()
    }
