"""Compare RCPI, MaskablePPO and masked deep Q-learning with feature selection: same splits, same prices, one picture.

pip install -e ".[rl]"
python examples/compare_agents.py   (about ten minutes on two cores; writes agents.png)
"""

from collections.abc import Sequence

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd

import fsgym
from agents import DatumWiseClassifier, SB3Classifier
from fsgym.extras import require


def plot(results: pd.DataFrame, path: str) -> None:
    """Plot accuracy against the mean number of features used, one point per setting, averaged over the splits."""
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for name, rows in results.groupby("method", sort=False):
        means = rows.groupby("setting")[["n_features", "accuracy"]].mean().sort_values("n_features")
        axes.plot(means["n_features"], means["accuracy"], marker="o", markersize=4, label=name)
    axes.set(xscale="symlog", xlabel="mean features used", ylabel="accuracy on test rows")
    axes.legend()
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main(
    dataset: str = "breast_cancer",
    prices: Sequence[float] = (0.003, 0.01, 0.03, 0.1),
    splits: int = 3,
    steps: int | None = None,
    path: str = "agents.png",
) -> pd.DataFrame:
    require("rl", "this example")
    deep = {
        name: [SB3Classifier(lam, algorithm=algorithm, total_timesteps=steps) for lam in prices]
        for name, algorithm in (("MaskablePPO", "maskable_ppo"), ("masked DQN", "dqn"))
    }
    rcpi = [DatumWiseClassifier(lam) for lam in prices]
    methods = {**deep, "RCPI": rcpi, "L1-SVM": "l1_svm", "CART": "cart"}
    results = fsgym.compare(dataset, methods, splits=splits, train_share=0.7, n_jobs=-1, progress=True)
    plot(results, path)
    within = fsgym.summarise(results, within=[1, 2, 4, 8]).within
    print(within.pivot(index="method", columns="k", values="accuracy").round(3).to_string())
    return results


if __name__ == "__main__":
    main()
