"""One page per method of ``METHODS``, in the form of Stable-Baselines3's documentation."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pandas as pd

import fsgym
from fsgym.comparison.leaderboard import has_stored_rows
from fsgym.envs.ids import VARIANTS
from fsgym.methods import METHODS, REFERENCES, Method, class_of


def method_pages(docs: Path) -> dict[str, str]:
    stored = {name: fsgym.leaderboard(name) for name in VARIANTS if has_stored_rows(name)}
    return {f"methods/{name}.md": method_page(name, method, docs, stored) for name, method in METHODS.items()}


def method_page(name: str, method: Method, docs: Path, stored: dict[str, Any]) -> str:
    cls = class_of(method)
    about = docs / "methods" / "notes" / f"{name}.md"
    path = str(method.estimator).replace(":", ".")
    results = result_rows(name, stored)
    train = f"fsgym train breast_cancer --agent {name} -o model.safetensors\n" if method.kind else ""
    return "\n\n".join(
        [
            f"# {method.title}",
            f"`{name}`, {{py:class}}`{path}`. {first_sentence(cls)}",
            f"Source: {method.reference}." if method.reference else "",
            about.read_text(encoding="utf-8").strip().replace("](../../", "](../") if about.is_file() else "",
            "## Can I use it?\n\n" + can_i_use_it(name, method, cls, time_of_fits(name, docs)),
            "## Example\n\n" + example(method, path),
            f"```sh\nfsgym compare breast_cancer --methods {name} --splits 1\n{train}```",
            "## Results\n\n"
            + (
                results
                or "No results of this method are stored with fsgym; the command above has some in a few minutes. "
                "[](../benchmarks.md), [](../agents.md) and [](../reproduction.md) have what was measured."
            ),
            replicate(name, bool(results)),
            "## Parameters\n\n```{eval-rst}\n.. autoclass:: " + path + "\n   :no-index:\n```",
        ]
    )


def first_sentence(cls: type) -> str:
    return " ".join((inspect.getdoc(cls) or "").split("\n\n")[0].split())


def time_of_fits(name: str, docs: Path) -> str:
    """How long one fit took on tables of several sizes, if ``benchmarks/method_sizes.py`` measured it; else empty."""
    table = pd.read_csv(docs / "methods" / "sizes.csv")
    parts = [
        f"{row.n_samples:,} rows of {row.n_features} features {seconds_text(row.seconds)}"
        for row in table[table["method"] == name].itertuples(index=False)
    ]
    return f"one fit of two classes in one thread, in CPU seconds: {', '.join(parts)}" if parts else ""


def seconds_text(seconds: float) -> str:
    return "more than 20" if seconds == float("inf") else f"{seconds:.1f}" if seconds >= 0.1 else "less than 0.1"


def can_i_use_it(name: str, method: Method, cls: type[Any], times: str) -> str:
    """What the class takes, by its parameters, tags and methods."""
    model = cls(**method.preset)
    parameters, tags = model.get_params(), model.__sklearn_tags__()

    def takes(option: str, otherwise: str) -> str:
        return f"yes: `{option}`" if option in parameters else otherwise

    whole = "not in training; it pays for whole groups in comparisons"
    grouped = method.prices or method.groups or name in REFERENCES  # its ``groups`` are those that have a price
    rows = [
        ("Does it choose by the case?", "yes" if method.adaptive else "no: the same features for every case"),
        (
            "Prices",
            "yes: it is trained at `lam` and `costs`"
            if "costs" in parameters
            else "at `lam`, the same for each feature"
            if method.prices
            else "not in training; it pays them in comparisons",
        ),
        ("Groups at one price", takes("groups", whole) if grouped else whole),
        ("Budgets", takes("budget", "no") + (", `budget_cost`" if "budget_cost" in parameters else "")),
        (
            "Targets for the mean cost",
            takes("target_cost", "no") + (", `target_features`" if "target_features" in parameters else ""),
        ),
        ("Prerequisites", takes("prerequisites", "no")),
        (
            "Missing values",
            "yes" if tags.input_tags.allow_nan else "no; comparisons impute the mean of the training rows",
        ),
        ("Classes", "two or more" if tags.classifier_tags and tags.classifier_tags.multi_class else "two"),
        *([("Rows and features", times)] if times else []),
        ("Costs of errors", takes("error_costs", "no; comparisons answer by least expected cost for it")),
        ("One case at a time", "yes: `step`, `session`" if hasattr(cls, "session") else "no"),
        ("Model files", "yes: `save`, `load`" if method.kind else "no"),
        ("Export to a page", "yes: `save_page`" if hasattr(cls, "save_page") else "no"),
        ("Needs", f"the extra `{method.extra}`" if method.extra else "nothing beyond fsgym"),
        ("Features it uses", method.uses),
    ]
    return "| question | answer |\n| --- | --- |\n" + "\n".join(f"| **{key}** | {value} |" for key, value in rows)


def example(method: Method, path: str) -> str:
    package, _, name = path.rpartition(".")
    given = ", ".join([*(f"{k}={v!r}" for k, v in method.preset.items()), *(["lam=0.02"] if method.prices else [])])
    return f"""```python
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from {package} import {name}

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
model = {name}({given}).fit(X_train, y_train)
print(model.score(X_test, y_test), model.features_used(X_test).sum(axis=1).mean())
```"""


def result_rows(name: str, stored: dict[str, Any]) -> str:
    lines = []
    for env_id, table in stored.items():
        for row in table[table["method"] == name].itertuples(index=False):
            variant = f" ({row.name})" if row.name != name else ""
            lines.append(
                f"| [{env_id}](../envs/{env_id}.md){variant} | {row.rank:.0f} of {len(table)} | "
                f"{row.loss:.4g} ± {row.loss_se:.2g} | {row.accuracy:.3f} | {row.n_features:.2f} |"
            )
    if not lines:
        return ""
    head = "| environment | rank | loss | accuracy | features |\n" + "| --- " * 5 + "|"
    return (
        "\n".join([head, *lines]) + "\n\nOn the test rows, means over the seeds; ± is one standard error over the rows."
    )


def replicate(name: str, has_rows: bool) -> str:
    """How to repeat the stored results, which needs the repository."""
    if not has_rows:
        return ""
    return f"## How to replicate\n\n```text\npython benchmarks/leaderboard.py --fresh --names {name}\n```"
