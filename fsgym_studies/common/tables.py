"""Tables that several studies have."""

from __future__ import annotations

import pandas as pd

from fsgym_studies.common.render import format_number, with_std
from fsgym_studies.common.study import Table


def settings_table(settings: pd.DataFrame) -> Table:
    """The results of all settings of all methods."""
    frame = settings.assign(
        accuracy=[with_std(a, s, 3) for a, s in zip(settings["accuracy"], settings["accuracy_std"])],
        sparsity=[with_std(a, s) for a, s in zip(settings["sparsity"], settings["sparsity_std"])],
        n_acquisitions=[format_number(float(v), 2) for v in settings["n_acquisitions"]],
    )[["dataset", "share", "method", "params", "accuracy", "sparsity", "n_acquisitions", "splits"]]
    return Table(
        "settings",
        "All settings",
        "Means ± one standard deviation over the splits, on the test parts.",
        frame.rename(columns={"dataset": "data set", "n_acquisitions": "acquisitions"}),
    )
