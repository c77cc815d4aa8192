"""Two small data sets with the answers of their servers, which are recorded here."""

import gzip
import hashlib

from fsgym.datasets.public.record import Download, PublicSet

TRAIN, TEST = b"7 ,1.50,a\n8,2,b\n", gzip.compress(b"id,x,label\n9,3,b\n10,?,a\n", mtime=0)
RECORDED = {"https://example.org/a.data": TRAIN, "https://example.org/b": TEST}
CONTENTS = {"train": b"x,target\n1.5,ill\n2,well\n", "test": b"x,target\n3,well\n,ill\n"}


def recorded_set(name: str) -> PublicSet:
    return PublicSet(
        name,
        "table",
        (Download("a.data", "https://example.org/a.data"), Download("b.data.gz", "https://example.org/b", tried=True)),
        {
            "features": ["x"],
            "columns": ["", "x", "target"],
            "labels": {"a": "ill", "b": "well"},
            "separator": ",",
            "quote": '"',
        },
        {
            "original_source": "a hospital",
            "licence": "CC0",
            "n_samples": 4,
            "n_features": 1,
            "n_classes": 2,
            "categorical_columns": [],
            "class_counts": {"ill": 2, "well": 2},
            "files": [{"file": file, "sha256": hashlib.sha256(c).hexdigest()} for file, c in files_of(name).items()],
        },
    )


def files_of(name: str) -> dict[str, bytes]:
    """The converted files."""
    return {f"{name}.{part}.csv": content for part, content in CONTENTS.items()}
