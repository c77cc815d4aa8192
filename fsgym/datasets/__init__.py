"""Data sets: those that come with scikit-learn, a local folder, any CSV or npz file, and OpenML."""

from typing import TYPE_CHECKING

from fsgym.support.lazy import imported_later

if TYPE_CHECKING:
    from fsgym.data.reading.model_tables import read_table_for
    from fsgym.datasets.catalog import list_datasets
    from fsgym.datasets.generators import GENERATORS, Cube, CubeNM, CubeNUC, Syn
    from fsgym.datasets.loading import load_dataset
    from fsgym.datasets.prices import load_costs
    from fsgym.datasets.public.fetch import fetch_dataset

__all__ = [
    "GENERATORS",
    "Cube",
    "CubeNM",
    "CubeNUC",
    "Syn",
    "fetch_dataset",
    "list_datasets",
    "load_costs",
    "load_dataset",
    "read_table_for",
]

__getattr__, __dir__ = imported_later(
    __name__,
    {
        "fsgym.data.reading.model_tables": "read_table_for",
        "fsgym.datasets.catalog": "list_datasets",
        "fsgym.datasets.generators": "GENERATORS Cube CubeNM CubeNUC Syn",
        "fsgym.datasets.loading": "load_dataset",
        "fsgym.datasets.prices": "load_costs",
        "fsgym.datasets.public.fetch": "fetch_dataset",
    },
)
