"""MNIST as GDFS, DIME and SEFA were evaluated: accuracy within budgets of pixels, patches, and 20 given pixels."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from fsgym.data.dataset import Dataset
from fsgym_studies.common.plan import DataFolder, Source
from fsgym_studies.common.study import bibtex
from fsgym_studies.suites.suite import Problem, RowSplit, Suite, TableOf, counted

MNIST_PARTS = [Source("mnist", "mnist", split=part) for part in ("train", "test")]
SIDE, PATCH_SIDE = 28, 2  # pixels
GIVEN_PIXELS = (  # of the small protocol, counted from 0, row by row
    *(153, 154, 210, 211, 243, 269, 271, 295, 327, 348),
    *(350, 375, 405, 409, 427, 430, 461, 514, 543, 655),
)
GIVEN_ORDER_SEED = 3295
VALIDATION_SEED, N_VALIDATION, N_TEST = 0, 10_000, 10_000
MNIST_PRICES = (0.003,)
PIXEL_BUDGETS = (5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 50.0)
PATCH_BUDGETS = (1.0, 2.0, 3.0, 5.0, 10.0)
GIVEN_BUDGETS = (*map(float, range(1, len(GIVEN_PIXELS) + 1)),)
MNIST_SEEDS = {True: 1, False: 3}  # quick, and full
MNIST_QUICK_ROWS = (2_000, 500, 1_000)  # for training, validation and test
# By hand, for half an hour and 6 hours in all, as most cells need less. The default agent needs 90 to 120 s of the
# quick one, and 620 of the full one: a limit near what a method needs would make its row depend on how busy the machine
# is.
MNIST_LIMITS = {True: 150.0, False: 1_000.0}  # processor seconds of a cell
MNIST_METHODS = ("adaptive", "lattice", "network", "cegb", "stopping", "gdfs", "dime", "maskable_ppo")


def mnist_rows() -> NDArray[np.int64]:
    """The division of GDFS and DIME: rows for training, then those for validation, then the official test rows."""
    validation = np.random.RandomState(VALIDATION_SEED).choice(60_000, N_VALIDATION, replace=False)
    return np.concatenate([np.setdiff1d(np.arange(60_000), validation), validation, np.arange(60_000, 70_000)])


def patches() -> list[list[int]]:
    """The pixels of each patch, row by row."""
    pixels = np.arange(SIDE**2).reshape(SIDE // PATCH_SIDE, PATCH_SIDE, SIDE // PATCH_SIDE, PATCH_SIDE)
    return pixels.transpose(0, 2, 1, 3).reshape(-1, PATCH_SIDE**2).tolist()


def mnist_problems(quick: bool, data_dir: DataFolder, skip: Collection[str]) -> list[Problem]:
    """Pixels and patches; in full also the 20 given pixels. The runs differ in the seed of the method only."""
    train, test = (source.load(data_dir) for source in MNIST_PARTS)
    X = np.concatenate([train.X, test.X]) / np.float32(255)
    y = np.concatenate([train.y, test.y])
    rows, n_fit, n_validation = mnist_rows(), len(X) - N_VALIDATION - N_TEST, N_VALIDATION
    if quick:
        first = (0, n_fit, n_fit + n_validation)
        rows = np.concatenate([rows[start : start + n] for start, n in zip(first, MNIST_QUICK_ROWS)])
        n_fit, n_validation, _ = MNIST_QUICK_ROWS
    images, labels = X[rows], y[rows]
    members = patches()
    sets = [
        (Dataset(images, labels, name="pixels"), PIXEL_BUDGETS, None),
        (
            Dataset(
                images, labels, groups=members, group_names=[f"patch{k}" for k in range(len(members))], name="patches"
            ),
            PATCH_BUDGETS,
            None,
        ),
    ]
    if not quick:
        sets.append((Dataset(X[:, list(GIVEN_PIXELS)], y, name="20 pixels"), GIVEN_BUDGETS, GIVEN_ORDER_SEED))
    return [
        Problem(
            data.name,
            [(data, RowSplit(n_fit, n_validation, order))] * MNIST_SEEDS[quick],
            MNIST_PRICES,
            budgets=budgets,
        )
        for data, budgets, order in sets
    ]


def mnist_protocol(quick: bool) -> str:
    n_fit, n_validation, n_test = MNIST_QUICK_ROWS if quick else (50_000, N_VALIDATION, N_TEST)
    runs = counted(MNIST_SEEDS[quick], "run") + " on these rows" + ("" if quick else ", each with another seed")
    prices = ", ".join(f"{p:g}" for p in MNIST_PRICES)
    cut = "Quick: the first rows of each part, and no given pixels. " if quick else ""
    given = (
        ""
        if quick
        else (
            f' The data set "20 pixels" has {len(GIVEN_PIXELS)} pixels of all 70,000 images, shuffled with seed '
            f"{GIVEN_ORDER_SEED} by numpy.random.default_rng; how they were shuffled for the published figures is not "
            "known, so that those may be of other test rows."
        )
    )
    return (
        f"{cut}MNIST by single pixels (784) and by patches of 2 x 2 pixels (196). {n_fit:,} images for training, "
        f"{n_validation:,} for validation, which numpy.random.RandomState({VALIDATION_SEED}).choice drew as in the "
        f"code of GDFS and DIME, and {n_test:,} of the official images for test.{given} Values are divided by 255. "
        f"{runs}. Each acquisition costs 1, an error costs 1, and lam is {prices}. A method that needs more than "
        f"{MNIST_LIMITS[quick]:g} processor seconds on a data set and run is stopped and has no figures there. No "
        "optimum is known."
    )


MNIST_SUITE = Suite(
    "mnist",
    "MNIST by pixels and by patches",
    mnist_problems,
    mnist_protocol,
    (
        TableOf("loss", "both"),
        TableOf("budget_accuracy", "both"),
        TableOf("auacc", "dataset"),
        TableOf("features", "both"),
    ),
    "MNIST was used while agents of this package were developed, as the official division, whose test images are those "
    "of pixels and patches here, and in pairs of digits. The limit of processor seconds is set by hand, and was raised "
    "for the default agent, which needs 90 to 120 of the 150 in a quick run.",
    published=__file__,
    reference=bibtex(__file__),
    datasets=("mnist",),
    notes=("CEGB knows no groups: in training a row pays for each pixel of a patch the price of the patch.",),
    runs_are="seeds",
    methods=MNIST_METHODS,
    oracle=False,
    limits=MNIST_LIMITS,
)
