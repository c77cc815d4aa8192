"""On which kinds of tables the default agent is good: one table of each kind, and a policy that knows its distribution.

python benchmarks/kinds.py --out rows.csv                            # rows that the file has are not measured again
python benchmarks/kinds.py --kinds xor,rare --methods adaptive --seed 7001

Not speed. The reference of a table of bits is the exact optimum (``fsgym.exact``), which knows the distribution and,
before the first acquisition, which values of the row are missing. Its policy is computed once more by other code, which
also does it for features of more values, and followed on the test rows; the script stops where the two disagree. The
reference of the cubes and of Syn is that of ``fsgym.evaluation.reference_policies``, which knows the distribution: an
upper bound of the optimum.

Each kind has one price. Settings that are no prices are chosen by the loss on validation rows, as the suites do. On
test rows, errors count by their probability given all values of the row. A difference is the mean of a method's loss
less that of the reference's policy on the same row (for the cubes and Syn, less the reference). Exits with status 1 if
the first method's is above the limit of a kind. No agent was developed on seeds from 7000.
Some ten minutes on one core.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from numpy.typing import ArrayLike  # noqa: E402
from scipy.optimize import brentq  # noqa: E402
from scipy.special import expit  # noqa: E402

from fsgym import Dataset, Evaluation, Rules, evaluate  # noqa: E402
from fsgym.comparison.cell import fit_on  # noqa: E402
from fsgym.comparison.compared import ComparedMethod  # noqa: E402
from fsgym.comparison.protocol import seed_of  # noqa: E402
from fsgym.comparison.splits import inner_split  # noqa: E402
from fsgym.datasets import Cube, CubeNM, Syn  # noqa: E402
from fsgym.datasets.generators import SyntheticData  # noqa: E402
from fsgym.envs.trajectories import Trajectories  # noqa: E402
from fsgym.evaluation.reference_policies import reference  # noqa: E402
from fsgym.exact import all_rows, optimum  # noqa: E402
from fsgym_studies.suites.methods import chosen_methods  # noqa: E402

METHODS = ("adaptive", "stopping", "panel", "cegb", "cart")
SEED = 7000
TEST_ROWS = 20_000
REFERENCE_ROWS = 50_000  # simulated for the reference of a cube
WARM_ROWS = 1000  # of a first fit, which compiles; from this size on, the default agent tries the network
LIMIT, LARGE_LIMIT = 0.015, 0.02  # above the reference; the second for many classes, or more features than rows
UNEQUAL_LIMIT = 2.0  # of the kind whose errors cost 1000 and 40, where acquiring nothing costs 38; by hand
OUT_OF_REACH = 1e3  # price of a missing value, which no policy pays
TOLERANCE = 1e-9  # between two computations of an optimum
MOST_ERRORS = 4.0  # standard errors between an optimum and the mean loss of its policy over the test rows


class Table(NamedTuple):
    """A table of some kind, with its reference.

    Attributes
    ----------
    train, test : Dataset
    rules : Rules
    shares : float64 (n_test, n_classes), the probabilities of the classes given all values of a test row
    known : float, the expected loss of the reference
    known_losses : float64 (n_test,), the loss of its policy on each test row, or ``known`` for each
    known_error : float, the standard error of ``known``; 0 where it is computed
    """

    train: Dataset
    test: Dataset
    rules: Rules
    shares: np.ndarray
    known: float
    known_losses: np.ndarray
    known_error: float = 0.0


def expected_losses(result: Evaluation, shares: np.ndarray) -> np.ndarray:
    """The loss of each test row; errors count by their probability, which has less noise than whether they are made."""
    errors = result.rules.error_costs
    by_answer = (shares @ errors.T)[np.arange(len(shares)), result.answers]
    return result.losses - errors[result.answers, result.dataset.y] + by_answer


class Optimum(NamedTuple):
    """The optimum of a task; ``actions[taken]`` has the best action for all values of the bits that are known then.

    ``taken`` are the acquisitions in ascending order. The array has length 1 along the bits that are unknown.
    """

    loss: float
    actions: dict[tuple[int, ...], np.ndarray]


def solve(joint: np.ndarray, rules: Rules) -> Optimum:
    """The optimum under groups, prices, costs of errors and prerequisites, without the code of ``fsgym.exact``.

    ``joint`` need not add up to 1.
    """
    n, J = joint.ndim - 1, rules.n_acquisitions
    needs = np.zeros((J, J), bool) if rules.prerequisites is None else rules.prerequisites
    actions: dict[tuple[int, ...], np.ndarray] = {}

    @cache
    def loss(taken: tuple[int, ...]) -> np.ndarray:
        """The remaining loss in each state, times the probability of the state."""
        known = [i for j in taken for i in rules.groups[j]]
        shares = joint.sum(axis=tuple(i for i in range(n) if i not in known), keepdims=True)
        of_answers = np.tensordot(shares, rules.error_costs, axes=(-1, 1))
        best, action = of_answers.min(axis=-1), J + of_answers.argmin(axis=-1)
        for j in range(J):
            if j not in taken and set(np.flatnonzero(needs[j])) <= set(taken):
                later = loss(tuple(sorted((*taken, j)))).sum(axis=rules.groups[j], keepdims=True)
                asked = rules.lam * rules.costs[j] * shares.sum(axis=-1) + later
                best, action = np.minimum(best, asked), np.where(asked < best, j, action)
        actions[taken] = action
        return best

    return Optimum(float(loss(()).sum()), actions)


@dataclass(frozen=True)
class KnownPolicy:
    """The policy of the optimum, on a table whose columns are in another order.

    Attributes
    ----------
    optima : mapping from which of the bits are missing to the optimum of these rows
    own : Rules of the bits
    columns : int (n_bits,), the column of each bit in the table
    acquisitions : int (own.n_acquisitions,), the acquisitions of the bits, as the table counts them
    """

    optima: dict[tuple[bool, ...], Optimum]
    own: Rules
    columns: np.ndarray
    acquisitions: np.ndarray

    def trajectories(self, X: np.ndarray, rules: Rules) -> Trajectories:
        """What the policy does for rows of the table, under its rules."""
        bits, J = X[:, self.columns], self.own.n_acquisitions
        values = np.nan_to_num(bits).astype(int)
        order, answers = np.full((len(X), J), -1, np.int32), np.zeros(len(X), np.int64)

        def follow(best: Optimum, rows: np.ndarray, taken: tuple[int, ...]) -> None:
            known = [i for j in taken for i in self.own.groups[j]]
            state = tuple(values[rows, i] if i in known else 0 for i in range(bits.shape[1]))
            chosen = np.broadcast_to(best.actions[tuple(sorted(taken))][state], rows.shape)
            for action in np.unique(chosen).tolist():
                these = rows[chosen == action]
                if action >= J:
                    answers[these] = action - J
                else:
                    order[these, len(taken)] = self.acquisitions[action]
                    follow(best, these, (*taken, action))

        for pattern, best in self.optima.items():
            follow(best, np.flatnonzero((np.isnan(bits) == pattern).all(axis=1)), ())
        acquired = np.zeros(X.shape, bool)
        for j, group in enumerate(rules.groups):
            acquired[:, group] = (order == j).any(axis=1)[:, None]
        return Trajectories(order, acquired & ~np.isnan(X), answers, np.zeros(len(X), bool))


@dataclass(frozen=True)
class Bits:
    """Bits with a known joint distribution, among acquisitions that are independent of them and of the class.

    They may also be features of more values, 0, 1, 2 and so on.

    Attributes
    ----------
    joint : float64 (2, ..., 2, n_classes), as for ``fsgym.exact``; with other lengths for features of more values
    n_rows : int, for training
    lam : float
    n_noise : int, number of the other acquisitions, of ``noise_size`` random bits each, at price ``noise_cost``
    options : mapping, options of ``Rules`` for the bits, but for ``lam``
    missing : float64 (n_bits, n_classes), the probability in each class that the value of a bit is missing; or 0
    noise_missing : float, that of the other bits
    limit : float, above the reference
    noise_cost : float
    noise_values : int, of the noise in place of the two of bits
    """

    joint: np.ndarray
    n_rows: int
    lam: float
    n_noise: int
    noise_size: int = 1
    options: dict[str, Any] = field(default_factory=dict)
    missing: ArrayLike = 0.0
    noise_missing: float = 0.0
    limit: float = LIMIT
    noise_cost: float = 1.0
    noise_values: int = 2

    def table(self, n_rows: int, rng: np.random.Generator) -> Table:
        """Draw a table with its columns in random order, and compute its reference; RuntimeError if that is wrong."""
        own = Rules(self.joint.ndim - 1, self.joint.shape[-1], lam=self.lam, **self.options)
        rules, features, order = self._with_noise(own, rng)
        train, test = (self._draw(n, features, rng) for n in (n_rows, TEST_ROWS))
        columns, acquisitions = np.argsort(features)[: own.n_features], np.argsort(order)[: own.n_acquisitions]
        optima = self._optima(own)
        known = sum(best.loss for best in optima.values())
        followed = evaluate(KnownPolicy(optima, own, columns, acquisitions), test, rules=rules)
        error = followed.losses.std() / np.sqrt(TEST_ROWS)
        if followed.admissible < 1.0 or abs(followed.loss - known) > MOST_ERRORS * error:
            raise RuntimeError(f"the optimum is {known:.4f}, but its policy has {followed.loss:.4f} +- {error:.4f}")
        shares = self._class_shares(test.X[:, columns])
        return Table(train, test, rules, shares, known, expected_losses(followed, shares))

    def _with_noise(self, own: Rules, rng: np.random.Generator) -> tuple[Rules, np.ndarray, np.ndarray]:
        """The rules of the table, and its features and acquisitions in their order, as numbers before the shuffle."""
        noise = own.n_features + np.arange(self.n_noise * self.noise_size).reshape(self.n_noise, self.noise_size)
        groups = [*map(list, own.groups), *noise.tolist()]
        order = rng.permutation(len(groups))
        features = np.concatenate([groups[j] for j in order])
        rules = Rules(
            len(features),
            own.n_classes,
            lam=own.lam,
            groups=groups,
            costs=np.append(own.costs, np.full(self.n_noise, self.noise_cost)),
            error_costs=own.error_costs,
            prerequisites=None if own.prerequisites is None else np.pad(own.prerequisites, (0, self.n_noise)),
        )
        return rules.reordered(features.tolist(), order.tolist()), features, order

    def _draw(self, n_rows: int, features: np.ndarray, rng: np.random.Generator) -> Dataset:
        cells = rng.choice(self.joint.size, n_rows, p=self.joint.ravel() / self.joint.sum())
        *values, y = np.unravel_index(cells, self.joint.shape)
        bits = np.column_stack(values).astype(np.float32)
        noise = rng.integers(0, self.noise_values, (n_rows, self.n_noise * self.noise_size)).astype(np.float32)
        bits[rng.random(bits.shape) < self._missing()[:, y].T] = np.nan
        noise[rng.random(noise.shape) < self.noise_missing] = np.nan
        return Dataset(np.hstack([bits, noise])[:, features], y, classes=range(self.joint.shape[-1]))

    def _missing(self) -> np.ndarray:
        return np.broadcast_to(np.asarray(self.missing), (self.joint.ndim - 1, self.joint.shape[-1]))

    def _joint_with(self, absent: np.ndarray) -> np.ndarray:
        """The joint distribution times the probability that these bits (bool, n_bits) are missing and no others."""
        missing = self._missing()
        return self.joint * np.where(absent[:, None], missing, 1 - missing).prod(axis=0)

    def _class_shares(self, bits: np.ndarray) -> np.ndarray:
        """The probabilities of the classes given the bits of each row (n, n_bits), NaN where missing."""
        shares, missing = np.empty((len(bits), self.joint.shape[-1])), np.isnan(bits)
        for absent in np.unique(missing, axis=0):
            rows = (missing == absent).all(axis=1)
            joint = self._joint_with(absent).sum(axis=tuple(np.flatnonzero(absent)), keepdims=True)
            shares[rows] = joint[tuple(np.where(absent, 0, bits[rows]).astype(int).T)]
        return shares / shares.sum(axis=1, keepdims=True)

    def _optima(self, own: Rules) -> dict[tuple[bool, ...], Optimum]:
        """The optimum for each pattern of missing bits, times its probability."""
        found = {}
        possible = self._missing().any(axis=1).tolist()
        for pattern in product(*([False, True] if either else [False] for either in possible)):
            joint = self._joint_with(np.array(pattern))
            rules = own.replace(costs=np.where(pattern, OUT_OF_REACH, own.costs)) if any(pattern) else own
            found[pattern] = solve(joint, rules)
            has_bits = joint.shape[:-1] == (2,) * own.n_features
            exact = optimum(joint / joint.sum(), rules) * joint.sum() if has_bits else found[pattern].loss
            if abs(exact - found[pattern].loss) > TOLERANCE:
                raise RuntimeError(f"the optimum is {exact} by fsgym.exact, and {found[pattern].loss} by this script")
        return found


@dataclass(frozen=True)
class Generated:
    """A generator of ``fsgym.datasets``; attributes as of ``Bits``."""

    generator: SyntheticData
    n_rows: int = 2000
    lam: float = 0.01
    limit: float = LIMIT

    def table(self, n_rows: int, rng: np.random.Generator) -> Table:
        """Draw a table and compute its reference."""
        train, test = (self.generator.sample(n, rng) for n in (n_rows, TEST_ROWS))
        best = reference(self.generator, self.lam, REFERENCE_ROWS, int(rng.integers(2**31)))
        rules = Rules.for_dataset(train, lam=self.lam)
        shares, losses = self.generator.posterior(test.X), np.full(TEST_ROWS, best.loss)
        return Table(train, test, rules, shares, best.loss, losses, best.standard_error)


def given_class(ones: ArrayLike, shares: ArrayLike) -> np.ndarray:
    """The joint distribution of bits that are independent given the class.

    ``ones``, float64 (n, n_classes), are probabilities that a bit is 1; ``shares``, (n_classes,), those of the classes.
    """
    p = np.asarray(ones)
    law = np.where(all_rows(len(p))[:, :, None] == 1, p, 1 - p).prod(axis=1) * shares
    return law.reshape((2,) * len(p) + (p.shape[1],))


def equal_to_class(*accuracies: float) -> np.ndarray:
    """As ``given_class``, for bits that equal one of two equally likely classes with these probabilities."""
    equal = np.array(accuracies)
    return given_class(np.column_stack([1 - equal, equal]), [0.5, 0.5])


def noisy_rule(is_one: np.ndarray) -> np.ndarray:
    """The joint distribution of uniform bits, with class 1 in 95 % of the rows in which ``is_one``, (2^n,), and 5 %."""
    p = np.where(is_one, 0.95, 0.05) / len(is_one)
    return np.stack([1 / len(is_one) - p, p], axis=-1).reshape((2,) * int(np.log2(len(is_one))) + (2,))


def xor(rng: np.random.Generator) -> Bits:
    """Two bits of 32 whose XOR is the class; neither says anything alone."""
    return Bits(noisy_rule(all_rows(2).sum(axis=1) == 1), n_rows=1000, lam=0.02, n_noise=30)


def contexts(rng: np.random.Generator) -> Bits:
    """A bit selects which of two others selects the one of four that is the class."""
    X = all_rows(7).astype(int)
    row, first = np.arange(len(X)), X[:, 0]
    return Bits(noisy_rule(X[row, 3 + 2 * first + X[row, 1 + first]] == 1), n_rows=2000, lam=0.02, n_noise=13)


def proxy(rng: np.random.Generator) -> Bits:
    """Two cheap bits of moderate accuracy, and an accurate one at eight times their price, for cases of doubt."""
    return Bits(equal_to_class(0.8, 0.75, 0.98), n_rows=1000, lam=0.02, n_noise=12, options={"costs": [1, 1, 8]})


def rare(rng: np.random.Generator) -> Bits:
    """2 % positives; missing one costs as much as twenty false alarms."""
    ones = [[0.1, 0.9], [0.15, 0.85], [0.2, 0.8], [0.2, 0.8], [0.3, 0.75], [0.3, 0.7]]
    options = {"error_costs": [[0, 20], [1, 0]]}
    return Bits(given_class(ones, [0.98, 0.02]), n_rows=2000, lam=0.02, n_noise=14, options=options)


def unequal(rng: np.random.Generator) -> Bits:
    """6 % positives, whose risk rises with the upper half of four numbers; missing one costs 25 false alarms."""
    levels, strength = (24, 11, 16, 12), rng.uniform(0.7, 1.3, 4) * [1.2, 1.0, 0.6, 0.8]
    scores = [np.linspace(-2.2, 2.2, n) for n in levels]
    shares = [np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum() for z in scores]
    share = np.prod(np.meshgrid(*shares, indexing="ij"), axis=0)
    score = sum(2 * k * np.maximum(z - 0.3, 0) for k, z in zip(strength, np.meshgrid(*scores, indexing="ij")))
    offset = brentq(lambda b: (share * expit(score + b)).sum() - 0.06, -20, 5)
    joint = share[..., None] * np.stack([expit(-score - offset), expit(score + offset)], axis=-1)
    options = {"error_costs": [[0, 1000], [40, 0]], "costs": [0, 0.5, 1, 4]}
    return Bits(joint, 2600, 1.0, 5, options=options, noise_cost=0.0, noise_values=20, limit=UNEQUAL_LIMIT)


def missing_tells(rng: np.random.Generator) -> Bits:
    """The first bit is missing in 10 % of the rows of class 0 and in 80 % of class 1, which can be seen for free."""
    missing = np.zeros((5, 2))
    missing[0] = 0.1, 0.8
    return Bits(equal_to_class(0.75, 0.85, 0.8, 0.75, 0.7), n_rows=1000, lam=0.02, n_noise=15, missing=missing)


def missing_random(rng: np.random.Generator) -> Bits:
    """45 % of all values are missing completely at random."""
    joint = equal_to_class(0.9, 0.85, 0.8, 0.8, 0.75, 0.75)
    return Bits(joint, n_rows=1500, lam=0.02, n_noise=14, missing=0.45, noise_missing=0.45)


def panels(rng: np.random.Generator) -> Bits:
    """A visit, which says nothing, before a panel of three bits, before one of two; and a cheap weak panel of three."""
    joint = equal_to_class(0.5, 0.8, 0.75, 0.7, 0.9, 0.85, 0.65, 0.65, 0.65)
    needs = np.zeros((4, 4), bool)
    needs[1, 0] = needs[2, 1] = True
    options = {"groups": [[0], [1, 2, 3], [4, 5], [6, 7, 8]], "costs": [1, 2, 4, 1], "prerequisites": needs}
    return Bits(joint, n_rows=1000, lam=0.02, n_noise=4, noise_size=3, options=options)


def classes(rng: np.random.Generator) -> Bits:
    """50 classes, each a random word of twelve bits, which are wrong in 5 % of the cases."""
    ones = np.where(rng.random((12, 50)) < 0.5, 0.95, 0.05)
    return Bits(given_class(ones, np.full(50, 1 / 50)), n_rows=1500, lam=0.01, n_noise=8, limit=LARGE_LIMIT)


def wide(rng: np.random.Generator) -> Bits:
    """500 features with 300 rows; five of the features matter."""
    joint = equal_to_class(0.85, 0.85, 0.8, 0.75, 0.7)
    return Bits(joint, n_rows=300, lam=0.02, n_noise=495, limit=LARGE_LIMIT)


KINDS: Mapping[str, Callable[[np.random.Generator], Bits | Generated]] = {
    make.__name__: make
    for make in (xor, contexts, proxy, rare, unequal, missing_tells, missing_random, panels, classes, wide)
} | {
    generator.name: lambda rng, generator=generator: Generated(generator)
    for generator in (Cube(), CubeNM(), Syn(1), Syn(2), Syn(3))
}


def fitted(table: Table, method: str, seed: int) -> Any:
    """The method fitted at the price; of several settings, that with the lowest loss on validation rows."""
    compared = _compared(table, method)
    candidate, *others = compared.candidates
    if others:
        fit, validation = inner_split(table.train, seed)
        tried = [
            evaluate(fit_on(fit, c, table.rules, seed), validation, rules=table.rules).loss for c in compared.candidates
        ]
        candidate = compared.candidates[int(np.argmin(tried))]
    return fit_on(table.train, candidate, table.rules, seed)


def _compared(table: Table, method: str) -> ComparedMethod:
    options = {name: value for name, value in table.rules.options().items() if name != "lam"}
    found = chosen_methods((method,), {}).settings(table.train, (table.rules.lam,), options)
    return next(m for m in found if m.name == method)


def measure(kind: str, table: Table, method: str, seed: int) -> dict[str, Any]:
    """The line of a method in the file of results."""
    with warnings.catch_warnings(action="ignore"):  # as of solvers that stop early; such models are tested as they are
        begun = time.process_time()
        model = fitted(table, method, seed_of((kind, seed, method)))
        seconds = time.process_time() - begun
        result = evaluate(model, table.test, rules=table.rules)
    losses = expected_losses(result, table.shares)
    difference = losses - table.known_losses
    error = np.hypot(difference.std() / np.sqrt(len(difference)), table.known_error)
    return {
        "kind": kind,
        "seed": seed,
        "rows": table.train.n_samples,
        "method": method,
        "price": table.rules.lam,
        "nothing": (table.rules.error_costs @ table.shares.mean(axis=0)).min(),
        "reference": table.known,
        "loss": losses.mean(),
        "difference": difference.mean(),
        "error": error,
        "seconds": seconds,
        "learner": getattr(model, "learner_", ""),
        "admissible": result.admissible,
    }


def report(rows: pd.DataFrame, limits: dict[str, float], methods: list[str]) -> bool:
    """Print the table; return whether the first method keeps the limits of all kinds."""
    losses = rows.pivot_table(index="kind", columns="method", values="loss")
    first = rows[rows.method == methods[0]].set_index("kind").loc[list(limits)]
    shown = first[["rows", "price", "nothing", "reference"]].copy()
    shown[methods[0]] = first.loss
    shown["difference"] = [f"{d:+.4f} ({e:.4f})" for d, e in zip(first.difference, first.error)]
    shown["limit"] = pd.Series(limits)
    shown["is"] = np.where(first.difference <= shown.limit, "within", "MISS")
    shown["learner"], shown["CPU s"] = first.learner.fillna(""), first.seconds.round(1)
    shown = shown.join(losses[methods[1:]])
    print(shown.round(4).to_string())
    print("in brackets: standard error over the test rows; nothing: the loss of the best answer without acquiring")
    for row in rows[rows.admissible < 1].itertuples():
        print(f"{row.method} breaks the rules of {row.kind} in {1 - row.admissible:.1%} of the rows")
    missed = (shown["is"] == "MISS").sum()
    print(f"{methods[0]}: {missed} of {len(shown)} kinds above their limit")
    return missed == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", default=",".join(METHODS), help="names, separated by commas; the first is judged")
    parser.add_argument("--kinds", default=",".join(KINDS), help="names, separated by commas")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--rows", type=int, help="number of training rows, in place of each kind's own")
    parser.add_argument("--out", type=Path, help="CSV file to which rows are added")
    given = parser.parse_args()
    names, methods = given.kinds.split(","), given.methods.split(",")
    rows = pd.read_csv(given.out) if given.out and given.out.exists() else pd.DataFrame()
    if unknown := set(names) - set(KINDS):
        parser.error(f"unknown kinds {', '.join(sorted(unknown))}; there are {', '.join(KINDS)}")
    kept, limits, compiled = [], {}, set()
    for name in names:
        rng = np.random.default_rng(seed_of(given.seed, name))
        kind = KINDS[name](rng)
        limits[name] = kind.limit
        n_rows, table = given.rows or kind.n_rows, None
        for method in methods:
            key = {"kind": name, "seed": given.seed, "rows": n_rows, "method": method}
            done = rows[(rows[list(key)] == pd.Series(key)).all(axis=1)] if len(rows) else rows
            if not len(done):
                if method not in compiled:
                    compiled.add(method)
                    measure("", proxy(rng).table(WARM_ROWS, np.random.default_rng(0)), method, 0)
                table = table or kind.table(n_rows, rng)
                done = pd.DataFrame([measure(name, table, method, given.seed)])
                rows = pd.concat([rows, done], ignore_index=True)
                print(f"{name} {method}: {done.loss[0]:.4f}, {done.seconds[0]:.1f} s", file=sys.stderr, flush=True)
                if given.out:
                    rows.to_csv(given.out, index=False)
            kept.append(done)
    return int(not report(pd.concat(kept, ignore_index=True), limits, methods))


if __name__ == "__main__":
    sys.exit(main())
