"""Compare a trained policy with LUFe, GBFS, HKL and CEGB on the split of its environment, as the training scripts do.

pip install -c constraints.txt -e ".[cegb]"   (CEGB is left out without it)
"""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import gymnasium as gym
import pandas as pd

import fsgym

BASELINES = ("lufe", "gbfs", "hkl", "cegb")


def compare_with_baselines(
    policy: Any, name: str, env_id: str = "fsgym:DatumWise-v0", methods: Sequence[str] = BASELINES
) -> pd.DataFrame:
    """Print the losses on the test rows, and return them.

    ``policy`` is trained on ``gymnasium.make(env_id)``, which its ``get_env()`` or its attribute ``env`` returns.
    """
    env: Any = gym.make(env_id).unwrapped
    options = env.rules.options()
    methods = [method for method in methods if method != "cegb" or find_spec("lightgbm") is not None]
    # The split that the environments have, so the policy has seen no test row. The baselines choose their settings on
    # a quarter of the training rows.
    results = fsgym.compare(
        env.dataset.name,
        {name: policy, **{method: method for method in methods}},
        lam=options.pop("lam"),
        splits=1,
        train_share=0.7,
        seed=0,
        **options,
    )
    losses = fsgym.summarise(results).losses.sort_values("loss", ignore_index=True)
    print(losses[["method", "loss", "accuracy", "n_features"]].round(4).to_string(index=False))
    return losses
