"""The studies that can be reproduced by name. A new study is one file and one entry in ``STUDIES``."""

from __future__ import annotations

import difflib
import importlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from fsgym.study.conclusion import Conclusion
    from fsgym.study.plan import Planned

STUDIES: dict[str, str] = {
    "dwsm-binary": "fsgym.study.studies.dwsm_binary:STUDY",
    "dwsm-multiclass": "fsgym.study.studies.dwsm_multiclass:STUDY",
    "dwsm-budget": "fsgym.study.studies.dwsm_budget:STUDY",
    "dwsm-cost": "fsgym.study.studies.dwsm_cost:STUDY",
    "dwsm-groups": "fsgym.study.studies.dwsm_groups:STUDY",
    "dwsm-relational": "fsgym.study.studies.dwsm_relational:STUDY",
    "gbfs": "fsgym.study.studies.gbfs:STUDY",
    "lufe": "fsgym.study.studies.lufe:STUDY",
    "uncertain-sgl": "fsgym.study.studies.uncertain_sgl:STUDY",
    "hkl": "fsgym.study.studies.hkl:STUDY",
    "strong": "fsgym.study.studies.strong:STUDY",
}


@dataclass(frozen=True)
class Study:
    """A study, as its file declares it.

    Attributes
    ----------
    name : str, of the command line
    title : str
    reference : str, BibTeX of what is reproduced
    minutes : (float, float), processor time of the quick study, measured, and of the whole one, extrapolated
    datasets : names that ``load_dataset`` must know
    plan : callable (full, data_dir) -> list of Planned, the cells
    conclude : callable (plan, table, full) -> Conclusion; ``table`` is that of ``table_of``, and may lack figures
    """

    name: str
    title: str
    reference: str
    minutes: tuple[float, float]
    datasets: tuple[str, ...]
    plan: Callable[[bool, str | os.PathLike | None], list[Planned]]
    conclude: Callable[[Sequence[Planned], pd.DataFrame, bool], Conclusion]


def find_study(name: str) -> Study:
    """The study of that name; ValueError with a suggestion where there is none."""
    if name not in STUDIES:
        close = difflib.get_close_matches(str(name), STUDIES, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"they are {', '.join(STUDIES)}"
        raise ValueError(f"unknown study {name!r}; {hint}")
    module, _, attribute = STUDIES[name].partition(":")
    return getattr(importlib.import_module(module), attribute)
