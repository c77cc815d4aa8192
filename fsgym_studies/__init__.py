"""The studies that ``fsgym reproduce`` runs by name, one folder per study.

Every folder has the same files. ``study.py`` declares the study: data sets, splits, the plan of its cells, its
protocol in words, and ``STUDY``. ``claims.py`` has the claims and notes, ``tables.py`` the tables and pictures, and
``cell.py`` computes a cell, if ``study_cells`` does not plan it. A file imports only from files that come later in
this list. ``printed.csv`` has the numbers that the paper prints, which ``printed.py`` arranges if they are many, and
``references.bib`` the BibTeX entries of the papers. Code that several studies share is in ``common``. A paper with
several studies, such as ``dwsm``, has one file for each of them, which reads like a section of the paper.

To add a study, add a folder and an entry in ``STUDIES``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fsgym.runner.task import resolve
from fsgym.text.messages import explain_unknown

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
    "lattice-vs-peers": "fsgym_studies.lattice_vs_peers.study:STUDY",
}


def find_declared(kind: str, name: str, places: Mapping[str, str]) -> Any:
    """What ``places[name]``, as "module:attribute", names; ValueError with a suggestion for an unknown name."""
    if name not in places:
        raise ValueError(explain_unknown(kind, name, places))
    return resolve(places[name])


def find_study(name: str) -> Study:
    """Return the study of that name; raise ValueError with a suggestion if there is none."""
    return find_declared("study", name, STUDIES)
