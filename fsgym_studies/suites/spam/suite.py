"""Spambase as GDFS was evaluated: accuracy and AUROC within hard budgets."""

from __future__ import annotations

from collections.abc import Collection

from fsgym.data.scaling import Scaling
from fsgym_studies.common.plan import DataFolder, Source, subsample
from fsgym_studies.common.study import bibtex
from fsgym_studies.suites.suite import Problem, RowSplit, Suite, TableOf, counted

SPAM_SOURCE = Source("spambase", "spam")
SPAM_PRICES = (0.003, 0.01, 0.03)
SPAM_BUDGETS = (*map(float, range(1, 11)), 15.0, 20.0, 25.0)
SPAM_RUNS = {True: 1, False: 5}  # quick, and full
SPAM_QUICK_ROWS = 1_500
SPAM_HELD_OUT = 0.2  # of the rows, for test, and as many for validation
SPAM_ORDER_SEED = 0


def spam_problems(quick: bool, data_dir: DataFolder, skip: Collection[str]) -> list[Problem]:
    """One division of the rows; the runs differ in the seed of the method only."""
    data = subsample(SPAM_SOURCE.load(data_dir), SPAM_QUICK_ROWS if quick else None)
    n_held_out = int(SPAM_HELD_OUT * data.n_samples)
    split = RowSplit(data.n_samples - 2 * n_held_out, n_held_out, SPAM_ORDER_SEED, test_first=True)
    mean = split.parts(data).fit.X.mean(axis=0, dtype=float)
    centred = data.scaled(Scaling(mean, mean * 0 + 1))
    return [Problem(SPAM_SOURCE.title, [(centred, split)] * SPAM_RUNS[quick], SPAM_PRICES, budgets=SPAM_BUDGETS)]


def spam_protocol(quick: bool) -> str:
    prices = ", ".join(f"{p:g}" for p in SPAM_PRICES)
    rows = f"Quick: {SPAM_QUICK_ROWS:,} random rows of spambase" if quick else "Spambase (4,601 rows, 57 features)"
    return (
        f"{rows}, in the order of numpy.random.default_rng({SPAM_ORDER_SEED}).permutation: the first fifth for test, "
        "the next for validation, the rest for training, as in the code of GDFS, but its file has the rows in another "
        "order, so that its test rows are others. The means of the training part are subtracted; the notebook of GDFS "
        "subtracts those of all rows, and trains for 35 acquisitions and up to 250 epochs at each temperature (97 in "
        "all). "
        f"{counted(SPAM_RUNS[quick], 'run')} on these rows"
        f"{'' if quick else ', each with another seed of the methods'}. Each feature costs 1, an error costs 1, and "
        f"lam is {prices}. No optimum is known."
    )


SPAM_SUITE = Suite(
    "spam",
    "Spambase within hard budgets",
    spam_problems,
    spam_protocol,
    (
        TableOf("loss"),
        TableOf("budget_accuracy"),
        TableOf("budget_auroc"),
        TableOf("price_accuracy"),
        TableOf("features"),
    ),
    "The adaptive agent, the lattice and the mixture are this package's own, RCPI, GDFS and DIME its "
    "re-implementations. Spambase was used, at prices of this suite too, while they, but for RCPI, were developed, in "
    "other orders of its rows, so also with rows that are test rows here. The adaptive agent chooses between the "
    "lattice and the mixture.",
    published=__file__,
    reference=bibtex(__file__),
    datasets=(SPAM_SOURCE.name,),
    runs_are="seeds",
)
