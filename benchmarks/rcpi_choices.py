"""Not speed: the defaults of RCPI against their alternatives, and rules for the choice among its iterations.

A cell is a table, a split and a price: six tables (two of scikit-learn; four need ``FSGYM_DATA``), three splits with
half of the rows for training (their seeds, 100 to 102, give no other result of RCPI), three prices. Prints two tables:

1. For each alternative of one parameter, with the defaults of all others: the geometric mean over the cells of its test
   loss divided by that of the defaults. For the defaults, and for ``select="last"``, which chooses among the same
   policies, three seeds are averaged. Two standard errors of this ratio: over the cells, and over the means of the
   tables, since cells of one table are not independent. Then the ratio at each price, and the number of cells in which
   the alternative has the lower loss. The share of states of the policy is no parameter; the script replaces the
   constant ``POLICY_SHARE``.
2. For each rule of the choice, over five trainings in each cell (three seeds, and twice the first seed without 5 % of
   the rows): the ratio of its test loss to that of ``select="best"``, as above. The candidates are the policy that
   answers without acquiring anything, and that of each iteration. "within k" are the candidates whose training loss is
   above the lowest by at most k standard errors of the paired difference; within 0 are those with the lowest loss
   exactly. Then the instability: the standard deviation of the test loss over the seeds, and over the rows left out, in
   percent of the loss of ``select="best"``, and how far their mean is above that of ``select="best"``. Then how often
   the rule chooses another candidate than ``select="best"``, and how often it chooses another one of the same
   candidates when 5 % of the rows are left out of their training losses. The last line names the rules with a clear
   gain: a loss lower by 1 % and by two standard errors, or an instability lower by two standard errors and a loss that
   is not higher.

About four minutes of processor time.

    FSGYM_DATA=FOLDER python benchmarks/rcpi_choices.py
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, cast
from unittest.mock import patch

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from agents.rcpi import RCPI, rcpi
from agents.rcpi.policy import LinearPolicy, best_constant_policy
from fsgym import Dataset, DatumWiseEnv, Rules, evaluate
from fsgym.comparison.noise import standard_error
from fsgym.comparison.splits import Split, random_splits
from fsgym_studies.common.plan import Source

SOURCES = (
    Source("breast_cancer", "breast cancer"),
    Source("wine", "wine"),
    Source("heart_statlog", "heart"),
    Source("ionosphere", "ionosphere"),
    Source("sonar", "sonar"),
    Source("vowel", "vowel"),
)
OF_SCIKIT_LEARN = ("breast_cancer", "wine")
SPLITS = random_splits(0.5, 3, seed=100)
PRICES = (0.01, 0.03, 0.1)
DROPPED = 0.05  # of the training rows
N_DRAWS = 40  # of the rows that are left out of the training losses
LEAST_GAIN = 0.01  # of the loss, for a gain to be clear


@dataclass(frozen=True)
class Training:
    """One training in each cell; ``dropped`` is the seed of the rows left out, None for all rows."""

    options: Mapping[str, Any] = field(default_factory=dict)
    policy_share: float = rcpi.POLICY_SHARE
    seed: int = 0
    dropped: int | None = None


REFITS = (Training(), Training(seed=1), Training(seed=2), Training(dropped=0), Training(dropped=1))
SEEDS, DROPS = [0, 1, 2], [0, 3, 4]  # positions in ``REFITS``: the same rows, and the same seed
ALTERNATIVES = {
    "states='uniform'": Training({"states": "uniform"}),
    "states='policy'": Training({"states": "policy"}),
    "states='both', half of the policy": Training(policy_share=0.5),
    "states='both', 0.9 of the policy": Training(policy_share=0.9),
    "mixture='trajectory'": Training({"mixture": "trajectory"}),
    "start='uniform'": Training({"start": "uniform"}),
    "answers='linear'": Training({"answers": "linear"}),
    "acquisitions='linear'": Training({"acquisitions": "linear"}),
    "20 iterations": Training({"n_iterations": 20}),
}


class Candidates(NamedTuple):
    """The candidates of one training: the constant policy, then those of the iterations.

    Attributes
    ----------
    losses : float64 (n_candidates, n_samples), of the training rows
    n_acquisitions : float64 (n_candidates,), means over the training rows
    test_loss : float64 (n_candidates,), means over the test rows
    """

    losses: NDArray[np.float64]
    n_acquisitions: NDArray[np.float64]
    test_loss: NDArray[np.float64]


Rule = Callable[[Candidates], int]


def trained(data: Dataset, split: Split, lam: float, training: Training) -> Candidates:
    """The candidates of a training, in the order of the iterations."""
    train, test = split.divide(data)
    if training.dropped is not None:
        train = train.split(1 - DROPPED, training.dropped)[0]
    rules = Rules.for_dataset(train, lam=lam)
    agent = RCPI(DatumWiseEnv(train, rules), select="last", random_state=training.seed, **training.options)
    policies: list[LinearPolicy] = []
    with patch.object(rcpi, "POLICY_SHARE", training.policy_share):
        agent.learn(lambda _: policies.append(cast(LinearPolicy, agent.policy)))
    policies.insert(0, best_constant_policy(train, None, policies[0].scaling, rules))
    results = [evaluate(policy, train, rules) for policy in policies]
    return Candidates(
        np.array([result.losses for result in results]),
        np.array([result.n_acquisitions for result in results]),
        np.array([evaluate(policy, test, rules).loss for policy in policies]),
    )


def first_of_lowest(candidates: Candidates) -> int:
    """The rule of ``select="best"``: of equal training losses the earliest candidate."""
    return int(candidates.losses.mean(axis=1).argmin())


def last_iteration(candidates: Candidates) -> int:
    return len(candidates.losses) - 1


def lowest_of_three(candidates: Candidates) -> int:
    """The lowest mean training loss of an iteration and its neighbours; the constant policy has its own loss."""
    means = candidates.losses.mean(axis=1)
    padded = np.pad(means[1:], 1, constant_values=np.nan)
    smooth = np.nanmean([padded[:-2], padded[1:-1], padded[2:]], axis=0)
    return int(np.append(means[0], smooth).argmin())


def within(candidates: Candidates, k: float) -> NDArray[np.int64]:
    """The candidates whose training loss is at most k standard errors above the lowest."""
    excess = candidates.losses - candidates.losses[first_of_lowest(candidates)]
    errors = excess.std(axis=1, ddof=1) / np.sqrt(excess.shape[1])
    return np.flatnonzero(excess.mean(axis=1) <= k * errors + 1e-12)


def latest(candidates: Candidates, k: float) -> int:
    return int(within(candidates, k)[-1])


def fewest_acquisitions(candidates: Candidates, k: float) -> int:
    near = within(candidates, k)
    return int(near[candidates.n_acquisitions[near].argmin()])


def most_acquisitions(candidates: Candidates, k: float) -> int:
    near = within(candidates, k)
    return int(near[candidates.n_acquisitions[near].argmax()])


BEST = "first of the lowest ('best')"
RULES: dict[str, Rule] = {
    BEST: first_of_lowest,
    "lowest mean of three in a row": lowest_of_three,
    "last iteration": last_iteration,
}
ERRORS = (0.0, 0.25, 0.5, 1.0)  # numbers of standard errors
NEAR = {"latest": latest, "fewest acquisitions": fewest_acquisitions, "most acquisitions": most_acquisitions}
RULES |= {f"{title} within {k:g}": partial(rule, k=k) for title, rule in NEAR.items() for k in ERRORS}


class Means(NamedTuple):
    """A mean of logarithms of ratios, with its standard errors over the cells and over the means of the tables."""

    mean: float
    over_cells: float
    over_tables: float

    @classmethod
    def of(cls, figures: NDArray[np.float64]) -> Means:
        """Of ``figures``, float64 (n_tables, n_splits, n_prices)."""
        return cls(float(figures.mean()), standard_error(figures.ravel()), standard_error(figures.mean(axis=(1, 2))))

    @property
    def error(self) -> float:
        """The larger standard error; with one table, that over the cells."""
        return float(np.nanmax([self.over_cells, self.over_tables]))


def ratio(means: Means) -> str:
    height = np.exp(means.mean)
    return f"{height:.3f} ± {height * means.over_cells:.3f} / {height * means.over_tables:.3f}"


def print_alternatives(losses: Mapping[str, NDArray[np.float64]], default: NDArray[np.float64]) -> None:
    """Part 1, from test losses, float64 (n_tables, n_splits, n_prices)."""
    prices = "".join(f"{f'at {price:g}':>9}" for price in PRICES)
    print(f"{'in place of the default':36}{'loss, ratio ± over cells / tables':36}{prices}  lower in")
    for title, loss in losses.items():
        logs = np.log(loss / default)
        at_prices = "".join(f"{height:9.3f}" for height in np.exp(logs.mean(axis=(0, 1))))
        lower = f"{(loss < default).sum()} of {loss.size}"
        print(f"{title:36}{ratio(Means.of(logs)):36}{at_prices}  {lower}")


def share_of_changes(candidates: Candidates, rule: Rule, chosen: int) -> float:
    """How often the rule chooses another policy when a share ``DROPPED`` of the rows is left out of the losses."""
    rng, n = np.random.default_rng(0), candidates.losses.shape[1]
    draws = (rng.choice(n, round((1 - DROPPED) * n), replace=False) for _ in range(N_DRAWS))
    return float(np.mean([rule(candidates._replace(losses=candidates.losses[:, rows])) != chosen for rows in draws]))


class Outcome(NamedTuple):
    """What a rule chooses; all float64 or int64 (n_tables, n_splits, n_prices, n_refits)."""

    chosen: NDArray[np.int64]
    loss: NDArray[np.float64]
    changes: NDArray[np.float64]

    @classmethod
    def of(cls, rule: Rule, trainings: Sequence[Candidates], shape: tuple[int, ...]) -> Outcome:
        chosen = [rule(t) for t in trainings]
        loss = [t.test_loss[c] for t, c in zip(trainings, chosen)]
        changes = [share_of_changes(t, rule, c) for t, c in zip(trainings, chosen)]
        return cls(np.reshape(chosen, shape), np.reshape(loss, shape), np.reshape(changes, shape))

    def deviations(self, unit: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of the loss, over seeds and over rows left out, in percent of the unit: float64 (2, *unit.shape)."""
        both = [self.loss[..., which].std(axis=-1, ddof=1) for which in (SEEDS, DROPS)]
        return 100 * np.array(both) / unit


def print_rules(outcomes: Mapping[str, Outcome]) -> None:
    """Part 2; ends with the rules that have a clear gain."""
    best, clear = outcomes[BEST], []
    unit = best.loss.mean(axis=-1)
    before = best.deviations(unit)
    print(
        f"{'rule':34}{'loss, ratio ± over cells / tables':36}{'deviation % over seeds, rows':32}"
        f"{'above that of best':24}{'other choice':14}{'without 5 %':12}"
    )
    for title, outcome in outcomes.items():
        loss = Means.of(np.log(outcome.loss / best.loss).mean(axis=-1))
        deviations = outcome.deviations(unit)
        change = Means.of((deviations - before).mean(axis=0))
        seeds, rows = deviations.mean(axis=(1, 2, 3))
        other, moved = (outcome.chosen != best.chosen).mean(), outcome.changes.mean()
        difference = f"{change.mean:+.2f} ± {change.over_cells:.2f} / {change.over_tables:.2f}"
        deviation = f"{seeds:.2f}, {rows:.2f}"
        print(f"{title:34}{ratio(loss):36}{deviation:32}{difference:24}{f'{other:.0%}':14}{moved:.0%}")
        lower = loss.mean < np.log(1 - LEAST_GAIN) and loss.mean < -2 * loss.error
        if lower or (change.mean < -2 * change.error and loss.mean <= 0):
            clear.append(title)
    print("rules with a clear gain:", ", ".join(clear) or "none")


def print_ties(trainings: Sequence[Candidates]) -> None:
    n_near = {k: np.array([len(within(t, k)) for t in trainings]) for k in ERRORS}
    near = ", ".join(f"{n.mean():.1f} within {k:g}" for k, n in n_near.items())
    print(
        f"of {len(trainings[0].losses)} candidates, on average: {near}; two or more have exactly the lowest loss in "
        f"{(n_near[0.0] > 1).mean():.0%} of {len(trainings)} trainings"
    )
    bound = np.mean([np.log(t.test_loss.min() / t.test_loss[first_of_lowest(t)]) for t in trainings])
    print(f"the lowest test loss of any candidate, a bound for all rules: {np.exp(bound):.3f} of that of 'best'")


def main() -> None:
    folder = os.environ.get("FSGYM_DATA")
    if folder is None:
        print("FSGYM_DATA is not set: only the tables of scikit-learn are used")
    tables = [s.load(folder) for s in SOURCES if folder or s.name in OF_SCIKIT_LEARN]
    cells = [(data, split, lam) for data in tables for split in SPLITS for lam in PRICES]
    trainings = [*REFITS, *ALTERNATIVES.values()]
    done = Parallel(n_jobs=-1)(delayed(trained)(*cell, training) for cell in cells for training in trainings)
    n, n_refits, shape = len(trainings), len(REFITS), (len(tables), len(SPLITS), len(PRICES))

    def losses(position: int, rule: Rule) -> NDArray[np.float64]:
        return np.reshape([c.test_loss[rule(c)] for c in done[position::n]], shape)

    def over_seeds(rule: Rule) -> NDArray[np.float64]:
        return np.exp(np.mean([np.log(losses(k, rule)) for k in SEEDS], axis=0))

    alternatives = {title: losses(n_refits + i, first_of_lowest) for i, title in enumerate(ALTERNATIVES)}
    alternatives["select='last'"] = over_seeds(last_iteration)
    print(f"{', '.join(data.name for data in tables)}; {len(cells)} cells")
    print_alternatives(alternatives, over_seeds(first_of_lowest))
    refits = [done[i + k] for i in range(0, len(done), n) for k in range(n_refits)]
    print()
    print_ties(refits)
    print_rules({title: Outcome.of(rule, refits, (*shape, n_refits)) for title, rule in RULES.items()})


if __name__ == "__main__":
    main()
