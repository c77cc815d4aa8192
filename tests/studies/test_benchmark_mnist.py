"""The suite ``mnist``: its divisions and patches are those of the papers."""

import numpy as np

from fsgym import Dataset
from fsgym_studies.suites.mnist import suite as mnist
from fsgym_studies.suites.suite import RowSplit


def test_rows_are_divided_as_in_the_code_of_gdfs_and_dime():
    validation = np.random.RandomState(0).permutation(60_000)[:10_000]  # what choice without replacement draws
    rows = mnist.mnist_rows()
    np.testing.assert_array_equal(rows[50_000:60_000], validation)
    np.testing.assert_array_equal(rows[60_000:], np.arange(60_000, 70_000))
    np.testing.assert_array_equal(np.sort(rows), np.arange(70_000))


def test_patches_are_squares_of_four_neighbouring_pixels():
    patches = mnist.patches()
    assert (len(patches), patches[0], patches[15]) == (196, [0, 1, 28, 29], [58, 59, 86, 87])
    assert sorted(pixel for patch in patches for pixel in patch) == list(range(784))


def test_problems_have_their_budgets_and_rows(monkeypatch):
    monkeypatch.setattr(mnist.Source, "load", lambda source, _: images({"train": 60_000, "test": 10_000}[source.split]))
    monkeypatch.setattr(mnist, "SIDE", 2)
    monkeypatch.setattr(mnist, "GIVEN_PIXELS", (1, 3))
    quick, full = (mnist.mnist_problems(quick, None, ()) for quick in (True, False))
    assert [p.name for p in full] == ["pixels", "patches", "20 pixels"]
    assert [len(p.runs) for p in (*quick, *full)] == [1, 1, 3, 3, 3]
    parts = [[part.n_samples for part in p.runs[0][1].parts(p.runs[0][0])] for p in (quick[0], full[2])]
    assert parts == [[2_500, 2_000, 500, 1_000], [60_000, 50_000, 10_000, 10_000]]
    assert full[1].runs[0][0].acquisition_names == ("patch0",)
    assert full[2].runs[0][1] == RowSplit(50_000, 10_000, 3295)
    assert quick[0].measurement().prices == (0.003,)


def images(n):
    return Dataset(np.zeros((n, 4), np.float32), np.arange(n) % 10)
