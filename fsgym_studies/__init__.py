"""The studies that can be reproduced by name. A new study is one file and one entry in ``STUDIES``."""

from __future__ import annotations

import difflib
import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsgym_studies.common.study import Study

STUDIES: dict[str, str] = {
    "dwsm-binary": "fsgym_studies.dwsm.binary:STUDY",
    "dwsm-multiclass": "fsgym_studies.dwsm.multiclass:STUDY",
    "dwsm-budget": "fsgym_studies.dwsm.budget:STUDY",
    "dwsm-cost": "fsgym_studies.dwsm.cost:STUDY",
    "dwsm-groups": "fsgym_studies.dwsm.groups:STUDY",
    "dwsm-relational": "fsgym_studies.dwsm.relational:STUDY",
    "gbfs": "fsgym_studies.gbfs.study:STUDY",
    "lufe": "fsgym_studies.lufe.study:STUDY",
    "uncertain-sgl": "fsgym_studies.uncertain_sgl.study:STUDY",
    "hkl": "fsgym_studies.hkl.study:STUDY",
    "strong": "fsgym_studies.lattice_vs_peers.study:STUDY",
}


def find_study(name: str) -> Study:
    """The study of that name; ValueError with a suggestion where there is none."""
    if name not in STUDIES:
        close = difflib.get_close_matches(str(name), STUDIES, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"they are {', '.join(STUDIES)}"
        raise ValueError(f"unknown study {name!r}; {hint}")
    module, _, attribute = STUDIES[name].partition(":")
    return getattr(importlib.import_module(module), attribute)
