"""Further cells of the GBFS study: forests with larger leaves, and pixels that cost less beside selected ones."""

import numpy as np

from baselines import ForestSelectionClassifier
from fsgym import Dataset, load_dataset
from fsgym.comparison.splits import OfficialSplit
from fsgym.runner import run_tasks
from fsgym_studies.common.plan import cells_table
from fsgym_studies.gbfs import cell as gbfs_cell
from fsgym_studies.gbfs import study as gbfs
from fsgym_studies.gbfs.tables import neighbours_table

BREAST = load_dataset("breast_cancer")


def test_pixels_beside_selected_ones_are_selected_where_they_cost_less():
    """A price of 1 is that of GBFS without neighbours."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 16))
    data = Dataset(X, (X @ np.linspace(1, 2, 16) > 0).astype(int), name="images")
    images, test = data.split(0.6, 1)
    boosted = {"params": {"n_iter": 20, "validation_fraction": None}, "mu_rel": [0.5, 0.25], "depths": (3,)}
    plan = gbfs.neighbour_cells(images, test, boosted)
    table = cells_table(plan, run_tasks(plan, None))
    assert table["error"].isna().all()
    plain = gbfs_cell.error_curve(images, method="gbfs", options=boosted, split=OfficialSplit(test), seed=0)
    assert table["n_features"][0] == plain["n_features"]
    frame = neighbours_table(table).frame
    used = frame[frame["regions"] > 0]
    sizes = (used["pixels"] / used["regions"]).groupby(used["price of a neighbour"], sort=False).mean()
    assert list(sizes.index) == ["1", "0.5", "0.1"]
    assert sizes["0.1"] > sizes["1"]
    assert len(frame) == 6
    assert (frame["regions"] <= frame["pixels"]).all()


def test_nodes_of_few_rows_are_leaves():
    _, options = gbfs.larger_leaves({"params": {"n_estimators": 5}, "counts": [30]}, 50)
    model = ForestSelectionClassifier(30, random_state=0, **options["params"]).fit(BREAST.X, BREAST.y)
    for tree in (t.tree_ for t in model.classifier_.estimators_):
        assert tree.n_node_samples[tree.feature >= 0].min() > 50
    assert options["counts"] == [30]
