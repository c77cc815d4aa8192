"""How the study of boosted features plans the cells of its curves."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fsgym.comparison.protocol import seed_of
from fsgym.comparison.splits import OfficialSplit, Split
from fsgym.dataset import Dataset
from fsgym.runner import Task
from fsgym_studies.common.plan import cell_labels, share_of, study_task
from fsgym_studies.gbfs.cell import ERROR_CURVE_CALL


def curve_cells(
    data: Dataset,
    methods: Mapping[str, tuple[str, Any]],
    splits: Sequence[Split | OfficialSplit],
    svm_splits: int,
) -> list[Task]:
    """One cell for each method and split."""
    cells = []
    for number, split in enumerate(splits):
        for title, (method, options) in methods.items():
            # Methods whose own classifier is that SVM need no second one.
            own = svm_splits if "inner" not in options else 0
            arguments = {
                "method": method,
                "options": options,
                "svm_splits": own,
                "seed": seed_of((data.name, number, method)),
            }
            row = cell_labels(data.name, share_of(split, data), number, title, json.dumps(options))
            cells.append(study_task(ERROR_CURVE_CALL, arguments, row, data, split))
    return cells
