"""Classification where every feature has a price: Gymnasium environments, rules, evaluation, comparison."""

import importlib
import warnings
from importlib.metadata import version
from typing import TYPE_CHECKING

from fsgym.dataset import Dataset
from fsgym.env import DatumWiseEnv
from fsgym.evaluation import Evaluation, evaluate, loss_scorer
from fsgym.methods import OWN_PACKAGES, Method, import_conflict, register_method
from fsgym.registration import register, register_variant
from fsgym.rules import Rules
from fsgym.scaling import Scaling
from fsgym.trajectories import Trajectories
from fsgym.vector_env import DatumWiseVectorEnv

if TYPE_CHECKING:
    from fsgym import plot
    from fsgym.comparison import as_method, compare, compare_datasets, summarise
    from fsgym.datasets import list_datasets, load_costs, load_dataset
    from fsgym.description import describe
    from fsgym.env_checker import check_vector_env
    from fsgym.ranking import leaderboard

__version__ = version("fsgym")
__all__ = [
    "Dataset",
    "DatumWiseEnv",
    "DatumWiseVectorEnv",
    "Evaluation",
    "Method",
    "Rules",
    "Scaling",
    "Trajectories",
    "as_method",
    "check_vector_env",
    "compare",
    "compare_datasets",
    "describe",
    "evaluate",
    "leaderboard",
    "list_datasets",
    "load_costs",
    "load_dataset",
    "loss_scorer",
    "plot",
    "register_method",
    "register_variant",
    "summarise",
]

# Imported at first use, as environments do not need them.
_LATER = {
    "check_vector_env": "fsgym.env_checker",
    "as_method": "fsgym.comparison",
    "compare": "fsgym.comparison",
    "compare_datasets": "fsgym.comparison",
    "describe": "fsgym.description",
    "leaderboard": "fsgym.ranking",
    "summarise": "fsgym.comparison",
    "list_datasets": "fsgym.datasets",
    "load_costs": "fsgym.datasets",
    "load_dataset": "fsgym.datasets",
}


def __getattr__(name: str):
    if name == "plot":
        return importlib.import_module("fsgym.plot")
    if name not in _LATER:
        raise AttributeError(f"module 'fsgym' has no attribute {name!r}")
    value = getattr(importlib.import_module(_LATER[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


for _package in OWN_PACKAGES:
    _conflict = import_conflict(_package)
    if _conflict:
        warnings.warn(_conflict, stacklevel=2)

register()
