"""Training with Stable-Baselines3, which needs the optional dependencies ``rl``."""

from fsgym.support.extras import require

require("rl", "agents.deep.sb3")

from agents.deep.sb3.callback import EvaluationCallback  # noqa: E402
from agents.deep.sb3.curve import CurveCallback, learning_curve  # noqa: E402
from agents.deep.sb3.dqn import MaskedDQN, MaskedReplayBuffer  # noqa: E402
from agents.deep.sb3.training import SETTINGS, ModelArguments, Settings, make_model, rebuilt, trained, training_context  # noqa: E402
from agents.deep.sb3.vec_env import DatumWiseVecEnv, ScaledRewards  # noqa: E402

__all__ = [
    "SETTINGS",
    "CurveCallback",
    "DatumWiseVecEnv",
    "EvaluationCallback",
    "MaskedDQN",
    "MaskedReplayBuffer",
    "ModelArguments",
    "ScaledRewards",
    "Settings",
    "learning_curve",
    "make_model",
    "rebuilt",
    "trained",
    "training_context",
]
