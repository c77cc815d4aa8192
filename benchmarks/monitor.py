"""Whether changed rows are found, and unchanged ones are not: batches of 300 rows against a model trained on others.

Each change is made in 20 tables, of one column that the model acquires: its unit changes by a factor of 60 or 1000,
its mean by one standard deviation, the name of a level of at least 10 % of the rows, or all of its values are removed.
Where the model acquires no such category, the columns of numbers are cut into fifths first. Then the share of a class
of at least 10 % doubles. Unchanged batches are those of models trained on at least 1,000 rows. Prints a table, and
exits with status 1 unless each change is found in each table, and at most 5 of 100 unchanged batches are said to
differ.

    python benchmarks/monitor.py
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd

import fsgym
from agents import LatticeClassifier

BATCH, MOST_TRAINED, LEAST_FOR_UNCHANGED = 300, 1000, 1000  # rows
N_TABLES, N_UNCHANGED, MOST_FALSE = 20, 100, 5
LAM = 0.01
TABLES = (
    *("australian", "breast_cancer_wisconsin", "crx", "german_credit", "german_credit_numeric", "pima_diabetes"),
    *("segment", "spambase", "thyroid_ann", "transfusion", "vehicle", "vowel", "wine_quality_red"),
    *("wine_quality_white", "yeast", "adult", "letter", "phishing", "wdbc", "digits"),
    *("tic_tac_toe", "car", "nursery", "mushroom", "splice_uci", "kddcup99_10percent", "a9a"),
)
CHANGES = ("unit x 60", "unit x 1000", "mean + 1 sd", "level renamed", "column emptied", "class doubled")
LEAST_SHARE, MOST_CLASS_SHARE = 0.1, 0.49


class Task:
    """A table in two parts, and a model of the first one.

    ``fifths`` cuts the columns of numbers into fifths, as categories.
    """

    def __init__(self, name: str, seed: int, fifths: bool = False) -> None:
        data = fsgym.load_dataset(name)
        order = np.random.default_rng([seed, len(name)]).permutation(data.n_samples)
        table, self.labels = data.to_frame().iloc[order].reset_index(drop=True), data.classes[data.y[order]]
        self.n_trained = min(MOST_TRAINED, len(table) - BATCH)
        self.model = LatticeClassifier(lam=LAM, random_state=0)
        if fifths:
            table = table.apply(_fifths)
            self.model.fit(table[: self.n_trained], self.labels[: self.n_trained])
        else:
            self.model.fit(data.rows(order[: self.n_trained]))
        self.table, self.name = table, name
        summary = self.model.training_summary_
        self.n_acquired = {} if summary is None else {s.name: s.n_acquired for s in summary.columns}
        self.columns = {c.name: c for c in self.model.columns_ if self.n_acquired.get(c.name)}

    def batch(self, rng: np.random.Generator) -> tuple[pd.DataFrame, Any]:
        """Rows that did not train the model, without replacement, and their labels."""
        rows = rng.choice(np.arange(self.n_trained, len(self.table)), BATCH, replace=False)
        return self.table.iloc[rows].reset_index(drop=True), self.labels[rows]

    def numbers(self) -> list[str]:
        """The acquired columns of numbers, those first that most rows acquire."""
        names = [name for name, column in self.columns.items() if column.kind == "number"]
        return sorted(names, key=lambda name: -self.n_acquired[name])

    def level(self) -> tuple[str, str] | None:
        """An acquired category, and one of several levels that at least 10 % of the rows have."""
        for name, column in self.columns.items():
            if column.levels:
                shares = self.table[name].value_counts(normalize=True)
                common = shares[(shares >= LEAST_SHARE) & (shares < 1 - LEAST_SHARE)]
                if len(common):
                    return name, str(common.index[-1])  # the rarest of these
        return None


def _fifths(cells: pd.Series) -> pd.Series:
    if not pd.api.types.is_numeric_dtype(cells.dtype) or cells.nunique() < 2:
        return cells
    edges = np.unique(np.nanquantile(cells, [0.2, 0.4, 0.6, 0.8]))
    fifths = "part " + pd.Series(np.searchsorted(edges, cells).astype(str), index=cells.index)
    return fifths.where(cells.notna())


def changed(change: str, task: Task, rng: np.random.Generator) -> tuple[pd.DataFrame, Any, str] | None:
    """A batch with the change, its labels, and the column that must be found ("" for the classes); None if none."""
    rows, labels = task.batch(rng)
    if change == "class doubled":
        shares = pd.Series(task.labels).value_counts(normalize=True)
        can_double = shares[(shares >= LEAST_SHARE) & (shares <= MOST_CLASS_SHARE)]
        if not len(can_double):
            return None
        label = can_double.index[0]  # the largest
        held_out = np.arange(task.n_trained, len(task.table))
        of_class = task.labels[held_out] == label
        n_new = round(2 * shares[label] * BATCH)
        parts = [held_out[of_class], held_out[~of_class]]
        chosen = [rng.choice(part, n, replace=n > len(part)) for part, n in zip(parts, (n_new, BATCH - n_new))]
        rows = np.concatenate(chosen)
        return task.table.iloc[rows].reset_index(drop=True), task.labels[rows], ""
    if change == "level renamed":
        found = task.level()
        if found is None:
            return None
        name, level = found
        rows[name] = rows[name].astype(object).where(rows[name] != level, "another name")
        return rows, labels, name
    names = list(task.columns) if change == "column emptied" else task.numbers()
    if not names:
        return None
    name = names[0]
    if change == "column emptied":
        rows[name] = np.nan if task.columns[name].kind == "number" else None
    elif change == "mean + 1 sd":
        rows[name] += task.table[name].std()
    else:
        rows[name] *= float(change.rpartition(" ")[2])
    return rows, labels, name


def main() -> int:
    """Print the table; 1 where a limit is not kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tables", nargs="*", default=TABLES)
    parser.add_argument("--unchanged", type=int, default=N_UNCHANGED)
    given = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    tasks, of_levels, began = [], [], time.process_time()
    for name in given.tables:
        tasks.append(Task(name, given.seed))
        with_level = tasks[-1] if tasks[-1].level() else Task(name, given.seed, fifths=True)
        of_levels.append(with_level)
        print(f"{name}: {tasks[-1].n_trained} rows trained, acquires {len(tasks[-1].columns)} columns", flush=True)
    print(f"{time.process_time() - began:.0f} s of training\n")
    failed = False
    print(f"{'change':16} {'found':>9} {'also of others':>15} {'factor right':>13}   not found")
    for change in CHANGES:
        missed, n_done, n_others, n_factors, without = [], 0, 0, 0, 0
        for task in of_levels if change == "level renamed" else tasks:
            if n_done == N_TABLES:
                break
            made = changed(change, task, np.random.default_rng([given.seed, CHANGES.index(change), n_done]))
            if made is None:
                continue
            rows, labels, name = made
            n_done += 1
            differences = task.model.compare_with_training(rows, labels if not name else None).differences
            found = [d for d in differences if d.column == name]
            n_others += bool([d for d in differences if d.column != name])
            n_factors += bool(found and change.startswith("unit") and found[0].factor == float(change.split()[-1]))
            without += not name and bool(task.model.compare_with_training(rows).differences)
            if not found:
                missed.append(f"{task.name} ({name})")
        factors = n_factors if change.startswith("unit") else ""
        print(
            f"{change:16} {n_done - len(missed):>3} of {n_done:>2} {n_others:>15} {factors:>13}   {', '.join(missed)}"
        )
        if change == "class doubled":
            print(f"{'without labels':16} {without:>3} of {n_done:>2}")
        failed |= bool(missed) or n_done < N_TABLES
    for with_labels in (False, True):
        unchanged, false = 0, []
        usable = [task for task in tasks if task.n_trained >= LEAST_FOR_UNCHANGED]
        rng = np.random.default_rng(given.seed + 1)
        while usable and unchanged < given.unchanged:
            task = usable[unchanged % len(usable)]
            rows, labels = task.batch(rng)
            found = task.model.compare_with_training(rows, labels if with_labels else None).differences
            false += [f"{task.name}: {found[0].column} {found[0].text}"] if found else []
            unchanged += 1
        what = "with labels" if with_labels else "without labels"
        print(f"\nunchanged, {what}: {len(false)} of {unchanged} are said to differ (tables: {len(usable)})")
        print("".join(f"  {sentence}\n" for sentence in false), end="")
        failed |= len(false) > MOST_FALSE * unchanged / 100
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
