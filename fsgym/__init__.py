"""Classification where every feature has a price: Gymnasium environments, rules, evaluation, comparison."""

import importlib
import warnings
from importlib.metadata import version
from typing import TYPE_CHECKING

from fsgym.data.dataset import Dataset
from fsgym.data.scaling import Scaling
from fsgym.envs.env import DatumWiseEnv
from fsgym.envs.registration import register, register_variant
from fsgym.envs.trajectories import Trajectories
from fsgym.envs.vector_env import DatumWiseVectorEnv
from fsgym.evaluation.evaluate import Evaluation, evaluate, loss_scorer
from fsgym.methods import OWN_PACKAGES, Method, register_method
from fsgym.rules import Rules
from fsgym.support.extras import import_conflict

if TYPE_CHECKING:
    from fsgym.comparison import as_method, compare, compare_datasets, summarise
    from fsgym.comparison.leaderboard import leaderboard
    from fsgym.datasets import list_datasets, load_costs, load_dataset
    from fsgym.datasets.description import describe
    from fsgym.envs.checker import check_vector_env

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
    "check_vector_env": "fsgym.envs.checker",
    "as_method": "fsgym.comparison",
    "compare": "fsgym.comparison",
    "compare_datasets": "fsgym.comparison",
    "describe": "fsgym.datasets.description",
    "leaderboard": "fsgym.comparison.leaderboard",
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
