"""Classification where every feature has a price: Gymnasium environments, rules, evaluation."""

from fsgym.dataset import Dataset, Scaling
from fsgym.env import DatumWiseEnv
from fsgym.registration import register
from fsgym.rules import Rules
from fsgym.vector_env import DatumWiseVectorEnv

__version__ = "0.1.0"
__all__ = ["Dataset", "DatumWiseEnv", "DatumWiseVectorEnv", "Rules", "Scaling"]

register()
