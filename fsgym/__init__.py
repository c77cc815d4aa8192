"""Classification where every feature has a price: Gymnasium environments, rules, evaluation."""

from fsgym.dataset import Dataset, Scaling
from fsgym.datasets import list_datasets, load_costs, load_dataset
from fsgym.env import DatumWiseEnv
from fsgym.evaluation import Evaluation, Trajectories, evaluate, loss_scorer
from fsgym.registration import register
from fsgym.rules import Rules
from fsgym.vector_env import DatumWiseVectorEnv

__version__ = "0.1.0"
__all__ = [
    "Dataset", "DatumWiseEnv", "DatumWiseVectorEnv", "Evaluation", "Rules", "Scaling", "Trajectories", "evaluate",
    "list_datasets", "load_costs", "load_dataset", "loss_scorer",
]  # fmt: skip

register()
