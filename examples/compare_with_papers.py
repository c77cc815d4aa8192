"""Compare agents with LUFe, sparse group LASSO, GBFS and HKL: one call, one table and one picture.

pip install -c constraints.txt -e ".[rl]"   (for the agent of Stable-Baselines3, which is left out without it)
python examples/compare_with_papers.py   (about three minutes on two cores, one without that agent)
"""

from collections.abc import Sequence
from importlib.util import find_spec

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import fsgym

METHODS = {
    "rcpi": "Dulac-Arnold et al. (2012), an agent with linear scores",
    "maskable_ppo": "MaskablePPO of Stable-Baselines3, an agent with a network",
    "lufe": "Taylor et al. (2016), learning using unselected features",
    "sparse_group_lasso": "Simon et al. (2013)",
    "uncertain_sgl": "Xie and Xu (2013), sparse group LASSO on uncertain features",
    "gbfs": "Xu et al. (2014), gradient boosted feature selection",
    "hkl": "discriminative disjunctive features, by hierarchical kernel learning (Bach, 2009)",
}


def table_of(results: pd.DataFrame) -> pd.DataFrame:
    """At each lambda the setting that was chosen on validation rows, with its figures on the test rows."""
    table = fsgym.summarise(results).losses.sort_values(["lam", "loss"], ignore_index=True)
    shown = table[["lam", "method"]].rename(columns={"lam": "lambda"})
    shown["loss"] = [f"{mean:.3f} ± {std:.3f}" for mean, std in zip(table["loss"], table["loss_std"])]
    shown["accuracy"], shown["features"] = table["accuracy"].round(3), table["n_features"].round(1)
    low = table["difference_low"]  # of the 95 % interval over the splits, from three splits on
    words = {"lowest": table["method"] == table["lowest"], "within noise": low <= 0, "higher": low > 0}
    shown["from lowest"] = np.select([*words.values()], [*words], "too few splits")
    return shown


def main(
    dataset: str = "breast_cancer",
    lam: Sequence[float] = (0.003, 0.01, 0.03),  # what a feature costs, in errors
    splits: int = 3,
    methods: Sequence[str] = tuple(METHODS),
    path: str = "papers.png",
) -> pd.DataFrame:
    if find_spec("sb3_contrib") is None:
        methods = [name for name in methods if name != "maskable_ppo"]
    results = fsgym.compare(dataset, methods, lam=lam, splits=splits, n_jobs=-1)
    print(table_of(results).to_string(index=False))
    print(results.attrs["answer"])
    fsgym.plot.curves(results)
    plt.savefig(path, dpi=150)
    print(f"wrote {path}")
    return results


if __name__ == "__main__":
    for name, source in METHODS.items():
        print(f"{name:<20}{source}")
    main()
