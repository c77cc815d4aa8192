"""Where a policy that looks one question ahead fails: a context says which block of questions tells the class.

Not speed: python benchmarks/context.py   (a minute; writes docs/context.md and docs/context.png)

All losses are exact, under the known distribution. Leaves with status 1 unless the lattice agent is within 0.015 of the
optimum at every price and the policy that looks one question ahead is 0.1 above it wherever it asks at all.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from agents import DatumWiseClassifier, LatticeClassifier
from baselines import CARTClassifier
from fsgym import Rules
from fsgym.comparison.figures import COLOURS, STYLE, method_styles
from fsgym.evaluation import Trajectories
from fsgym.exact import all_rows, expected_loss, optimum, sample

BLOCKS, WIDE, RIGHT, N = 3, 3, 0.85, 12
GROUPS = [list(range(BLOCKS)), *([i] for i in range(BLOCKS, N))]
QUESTIONS = ["context", *(f"{block}{k + 1}" for block in "abc" for k in range(WIDE))]
PRICES, SHOWN = (0.005, 0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2), 0.02
DOCS = Path(__file__).resolve().parent.parent / "docs"
ROWS = all_rows(N)
CONTEXT = ROWS[:, :BLOCKS].argmax(axis=1)


def task() -> np.ndarray:
    """Three categories in as many bits, asked together, and three blocks of three bits, of which the category's block
    tells the class, each bit rightly with probability .85; the other bits are coins."""
    one = (ROWS[:, :BLOCKS].sum(axis=1) == 1) / BLOCKS * 0.5 ** (N - BLOCKS - WIDE)
    bits = ROWS[np.arange(len(ROWS))[:, None], BLOCKS + WIDE * CONTEXT[:, None] + np.arange(WIDE)]
    law = [one / 2 * np.where(bits == k, RIGHT, 1 - RIGHT).prod(axis=1) for k in (0, 1)]
    return np.stack(law, axis=-1).reshape((2,) * N + (2,))


def look_one_ahead(joint: np.ndarray, lam: float) -> Trajectories:
    """What a policy does that knows the distribution and asks while a question lowers the expected error, if it were
    the last, by more than its price."""
    table = joint.reshape(len(ROWS), 2)
    order, answers = np.full((len(ROWS), len(GROUPS)), -1, np.int32), np.zeros(len(ROWS), np.int64)

    def go_on(rows: np.ndarray, asked: list[int]) -> None:
        if not table[rows].any():  # never happens
            return
        answers[rows] = table[rows].sum(axis=0).argmax()
        least, best, parts = table[rows].sum(axis=0).min() - 1e-12, -1, []
        for j in range(len(GROUPS)):
            values, cell = np.unique(ROWS[rows][:, GROUPS[j]], axis=0, return_inverse=True)
            split = [rows[cell == v] for v in range(len(values))]
            loss = lam * table[rows].sum() + sum(table[part].sum(axis=0).min() for part in split)
            if j not in asked and loss < least:
                least, best, parts = loss, j, split
        for part in parts:
            order[part, len(asked)] = best
            go_on(part, [*asked, best])

    go_on(np.arange(len(ROWS)), [])
    acquired = np.zeros(ROWS.shape, bool)
    for j, group in enumerate(GROUPS):
        acquired[:, group] = (order == j).any(axis=1)[:, None]
    return Trajectories(order, acquired, answers, np.zeros(len(ROWS), bool))


def best_tree(trees: list[CARTClassifier], joint: np.ndarray, rules: Rules) -> float:
    """The least loss of any of the trees."""
    table = joint.reshape(len(ROWS), 2)

    def loss(tree: CARTClassifier) -> float:
        spent = rules.price_sets(rules.acquisitions_of(tree.features_used(ROWS)))[0]
        return float((rules.error_costs[tree.predict(ROWS)] * table).sum() + rules.lam * (table.sum(axis=1) @ spent))

    return min(loss(tree) for tree in trees)


def asked(done: Trajectories, joint: np.ndarray, step: int) -> np.ndarray:
    """Shares of what is done at a step in each context, (contexts, questions); the last is that it has answered."""
    weight = joint.reshape(len(ROWS), 2).sum(axis=1)
    j = done.order[:, step] if step < done.order.shape[1] else np.full(len(ROWS), -1)
    shares = np.zeros((BLOCKS, len(GROUPS) + 1))
    np.add.at(shares, (CONTEXT, np.where(j < 0, len(GROUPS), j)), weight * BLOCKS)
    return shares


def draw_picture(
    policies: dict[str, Trajectories], joint: np.ndarray, losses: dict[str, list[float]], prices: Sequence[float]
) -> Figure:
    """Above each other what the policies ask at steps 1 to 4; beside it loss against price."""
    with mpl.rc_context({**STYLE, "axes.grid": False, "font.size": 9, "axes.titlesize": 9.5}):
        figure = Figure(figsize=(11, 6.2), layout="constrained")
        left, right = figure.subfigures(1, 2, width_ratios=(1.5, 1))
        axes = left.subplots(4, len(policies), sharex=True, sharey=True)
        for k, (name, done) in enumerate(policies.items()):
            for step in range(4):
                ax = axes[step, k]
                ax.imshow(asked(done, joint, step), cmap="Blues", vmin=0, vmax=1, aspect="auto")
                ax.set_yticks(range(BLOCKS), [f"context {b}" for b in "abc"])
                ax.set_xticks(range(len(GROUPS) + 1), [*QUESTIONS, "answered"], rotation=90)
                ax.set_title(f"{name}, step {step + 1}")
        ax = right.subplots()
        for name, look in method_styles(list(losses)[1:]).items():
            ax.plot(prices, losses[name], label=name, markersize=5, **look)
        ax.plot(prices, losses["optimum"], color=COLOURS[6], linestyle="--", label="optimum")
        ax.set(xlabel="price of a question", ylabel="expected error + price", ylim=(0, 0.62))
        ax.legend()
    return figure


def page(
    policies: dict[str, Trajectories],
    joint: np.ndarray,
    losses: dict[str, list[float]],
    prices: Sequence[float],
    n_rows: int,
) -> str:
    """The manual page, in Markdown."""
    weight = joint.reshape(len(ROWS), 2).sum(axis=1)
    lattice, ahead = (float(weight @ done.lengths) for done in policies.values())
    table = ["| " + " | ".join(["price", *losses]) + " |", "| --- " * (1 + len(losses)) + "|"]
    for k, lam in enumerate(prices):
        table.append(f"| {lam:g} | " + " | ".join(f"{values[k]:.4f}" for values in losses.values()) + " |")
    alone = (RIGHT + 0.5 * (BLOCKS - 1)) / BLOCKS
    return f"""# A question that tells what to ask

This page is written by `python benchmarks/context.py`.

A first question, the context, has three answers. Each of them makes one of three blocks of three questions tell the
class, each rightly in {100 * RIGHT:.0f} % of the cases; the other blocks are coins. The context by itself
tells nothing about the class. The best policy asks it first. If a question costs little it then asks two of the
block, and the third where these disagree; if it costs more, one.

A policy that looks one question ahead asks what lowers the expected error most, while that is more than the price.
It never asks the context first: no error becomes less likely by it. It asks one question of some block, which is
right in {100 * alone:.0f} % of the cases, finds that no second question lowers the expected error, and answers.
It does so although it is given the distribution; a larger sample would not help it.

![What is asked at each step in each context, and the loss at each price](context.png)

Left: the shares of the cases in which a question is asked, at a price of {SHOWN:g}. The lattice agent asks
{lattice:.2f} questions on average, the policy that looks one ahead {ahead:.2f}. Right, and below: the exact expected
loss, error and prices. The agents have learnt from {n_rows} cases. RCPI is the literal one: its
rollouts look further than one question, its scores are linear. Of CART the best of all prunings is shown, chosen for
each price in hindsight: its impurity, unlike the error, tells that the context is worth asking, but only after a
question of a block, which is paid in vain in most cases.

{chr(10).join(table)}
"""


def main(n_rows: int = 3000, prices: Sequence[float] = PRICES, folder: Path = DOCS) -> dict[str, list[float]]:
    """Losses of each policy at each price, ``SHOWN`` among them; writes the page and the picture to ``folder``."""
    joint, (X, y) = task(), sample(task(), n_rows, 0)
    grid = CARTClassifier().sparsity_grid(X, y)
    trees = [CARTClassifier(random_state=0).set_params(**chosen).fit(X, y) for chosen in grid]
    lattice = LatticeClassifier(groups=GROUPS, random_state=0).path(X, y, prices)
    losses = {name: [] for name in ("optimum", "lattice", "one ahead", "RCPI", "CART")}
    policies = {}
    for lam, model in zip(prices, lattice):
        rules, done, ahead = model.rules_, model.trajectories(ROWS), look_one_ahead(joint, lam)
        literal = DatumWiseClassifier(lam, groups=GROUPS, random_state=0).fit(X, y).trajectories(ROWS)
        for name, actions in (("lattice", done), ("one ahead", ahead), ("RCPI", literal)):
            losses[name].append(expected_loss(actions, joint, rules))
        losses["optimum"].append(optimum(joint, rules))
        losses["CART"].append(best_tree(trees, joint, rules))
        if lam == SHOWN:
            policies = {"lattice": done, "one ahead": ahead}
    draw_picture(policies, joint, losses, prices).savefig(folder / "context.png", dpi=100)
    (folder / "context.md").write_text(page(policies, joint, losses, prices, n_rows))
    return losses


if __name__ == "__main__":
    found = {name: np.array(values) for name, values in main().items()}
    above = {name: found[name] - found["optimum"] for name in ("lattice", "one ahead")}
    print(*(f"{name}: {np.round(gaps, 4)} above the optimum" for name, gaps in above.items()), sep="\n")
    sys.exit(int(above["lattice"].max() > 0.015 or above["one ahead"][found["one ahead"] < 0.5 - 1e-9].min() < 0.1))
