"""Classification where every feature has a price: Gymnasium environments, rules, evaluation, comparison."""

# ruff: noqa: E402 (the first thing that is imported lets Ctrl-C stop the other imports)
from fsgym.support.early_interrupts import stop_while_importing

stop_while_importing()

import warnings
from importlib.metadata import version
from typing import TYPE_CHECKING

from fsgym.envs.ids import register
from fsgym.methods import OWN_PACKAGES
from fsgym.methods.registry import import_conflict
from fsgym.support.lazy import imported_later

if TYPE_CHECKING:
    from fsgym import plot
    from fsgym.comparison import as_method, compare, compare_datasets, summarise
    from fsgym.comparison.leaderboard import leaderboard
    from fsgym.data.blocks import Blocks, open_blocks
    from fsgym.data.dataset import Dataset
    from fsgym.data.scaling import Scaling
    from fsgym.data.targets import Bins
    from fsgym.datasets import list_datasets, load_costs, load_dataset
    from fsgym.datasets.description import describe
    from fsgym.envs.checker import check_vector_env
    from fsgym.envs.env import DatumWiseEnv
    from fsgym.envs.registration import register_variant
    from fsgym.envs.trajectories import Trajectories
    from fsgym.envs.vector_env import DatumWiseVectorEnv
    from fsgym.evaluation.evaluate import Evaluation, evaluate, loss_scorer
    from fsgym.methods import Method, register_method
    from fsgym.rules import Rules

__version__ = version("fsgym")
__all__ = [
    "Bins",
    "Blocks",
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
    "open_blocks",
    "plot",
    "register_method",
    "register_variant",
    "summarise",
]

__getattr__, __dir__ = imported_later(  # until then, not even NumPy is needed but by Gymnasium
    __name__,
    {
        "fsgym.comparison": "as_method compare compare_datasets summarise",
        "fsgym.comparison.leaderboard": "leaderboard",
        "fsgym.data.blocks": "Blocks open_blocks",
        "fsgym.data.dataset": "Dataset",
        "fsgym.data.scaling": "Scaling",
        "fsgym.data.targets": "Bins",
        "fsgym.datasets": "list_datasets load_costs load_dataset",
        "fsgym.datasets.description": "describe",
        "fsgym.envs.checker": "check_vector_env",
        "fsgym.envs.env": "DatumWiseEnv",
        "fsgym.envs.registration": "register_variant",
        "fsgym.envs.trajectories": "Trajectories",
        "fsgym.envs.vector_env": "DatumWiseVectorEnv",
        "fsgym.evaluation.evaluate": "Evaluation evaluate loss_scorer",
        "fsgym.methods": "Method register_method",
        "fsgym.rules": "Rules",
        "fsgym.plot": "",
    },
)


for _package in OWN_PACKAGES:
    _conflict = import_conflict(_package)
    if _conflict:
        warnings.warn(_conflict, stacklevel=2)

register()
