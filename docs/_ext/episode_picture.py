"""The picture of an episode on the first page: a test case of breast cancer, asked by the lattice agent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

CASE = 0  # the first test case in which three features are acquired
LAM = 0.005  # a feature costs a two-hundredth of an error
STYLES = {"light": ("#1a1a1a", "#0b6e99", "#d0d7de"), "dark": ("#e6e6e6", "#6cb6ff", "#3d444d")}


def draw_episode_pictures(folder: Path) -> None:
    paths = {style: folder / f"episode-{style}.png" for style in STYLES}
    if all(path.is_file() for path in paths.values()):
        return
    folder.mkdir(exist_ok=True)
    steps, answer, truth = one_episode()
    for style, path in paths.items():
        draw(path, STYLES[style], steps, answer, truth)


def one_episode() -> tuple[list[tuple[str, float, float]], str, str]:
    """Question and value, price paid by then and share of malignant after it, for each step; answer and truth."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    from agents import LatticeClassifier

    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    named = y.map({0: "malignant", 1: "benign"})
    X_train, X_test, y_train, y_test = train_test_split(X, named, stratify=named, random_state=0)
    model = LatticeClassifier(lam=LAM, random_state=0).fit(X_train, y_train)
    lengths = model.trajectories(X_test).lengths
    row = X_test.index[(lengths == lengths[lengths <= 3].max()).nonzero()[0][CASE]]
    session = model.session()
    steps = [("nothing known", 0.0, believed(session))]
    while question := session.next():
        value = float(X_test.loc[row, question.name])
        session.answer(question.name, value, accept=True)
        steps.append((f"{question.name} = {value:.4g}", session.spent, believed(session)))
    return steps, str(session.stop()), str(y_test[row])


def believed(session: Any) -> float:
    return session.probabilities["malignant"]


def draw(path: Path, colours: tuple[str, str, str], steps: list, answer: str, truth: str) -> None:
    import matplotlib.pyplot as plt

    from fsgym.text.sentences import probability_text

    ink, bar, empty = colours
    figure, axes = plt.subplots(figsize=(6.2, 0.5 * len(steps) + 0.9), layout="constrained")
    for i, (text, spent, share) in enumerate(steps):
        y = -i
        axes.barh(y, 1.0, height=0.42, color=empty)
        axes.barh(y, share, height=0.42, color=bar)
        axes.text(-0.03, y, text, ha="right", va="center", color=ink, fontsize=11)
        axes.text(1.03, y, probability_text(share), ha="left", va="center", color=ink, fontsize=11)
        axes.text(1.48, y, f"paid {spent:g}", ha="left", va="center", color=ink, fontsize=11)
    last = -len(steps)
    axes.text(-0.03, last, f"answer: {answer}", ha="right", va="center", color=bar, fontsize=12, weight="bold")
    axes.text(0.0, last, f"(true class: {truth})", ha="left", va="center", color=ink, fontsize=11)
    axes.text(0.0, 0.62, "believed chance of malignant", ha="left", va="center", color=ink, fontsize=10)
    axes.set(xlim=(-1.0, 1.74), ylim=(last - 0.4, 0.9))
    axes.axis("off")
    figure.savefig(path, dpi=160, transparent=True)
    plt.close(figure)
