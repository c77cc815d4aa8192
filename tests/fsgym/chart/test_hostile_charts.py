"""Charts in model files from strangers: what would be drawn for ever, or out of range, is refused."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
from sklearn.datasets import load_wine

from agents import LatticeClassifier, load_classifier, model_file
from fsgym.chart.action_tree import ActionTree
from support.model_files import assert_refused

pytestmark = pytest.mark.filterwarnings("ignore:at lam=.* the lattice reached its limit")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    X, y = load_wine(return_X_y=True)
    path = tmp_path_factory.mktemp("charts") / "model"
    LatticeClassifier(lam=0.01, effort=0.1, random_state=0).fit(X[:, :6], y).save(path)
    return path.with_name("changed"), *model_file.read(path, "lattice")


def refuse(saved, change, match):
    path, arrays, header = saved
    header = copy.deepcopy(header)
    change(header["chart"])
    model_file.write(path, "lattice", arrays, header)
    assert_refused(path, match, load_classifier)


def plain_tree(n, left, right):
    inner = len(left)
    return {
        "feature": [0] * inner + [-1] * (n - inner),
        "threshold": [0.5] * n,
        "left": left + [-1] * (n - inner),
        "right": right + [-1] * (n - inner),
        "action": [0] * n,
        "missing_left": [False] * n,
        "may_miss": False,
        "exact": True,
        "agreement": 1.0,
    }


def test_nodes_with_two_ways_to_them_are_refused():
    """A hundred nodes, both sides of which lead to the next one, have 2 ** 99 ways."""
    both = list(range(1, 100))
    with pytest.raises(ValueError, match="must be a tree"):
        ActionTree.from_json(plain_tree(100, both, both), 3, 3)
    with pytest.raises(ValueError, match="must be a tree"):  # a node that nothing leads to
        ActionTree.from_json(plain_tree(4, [1], [2]), 3, 3)


def test_long_chains_of_limits():
    n = 900
    chain = plain_tree(2 * n + 1, [n + k for k in range(n)], [*range(1, n), 2 * n])
    tree = ActionTree.from_json(chain, 3, 3)
    assert len(tree.splits()) == 2 * n
    assert [depth for depth, *_ in tree.splits()[:4]] == [0, 0, 1, 1]
    n = 1200
    chain = plain_tree(2 * n + 1, [n + k for k in range(n)], [*range(1, n), 2 * n])
    with pytest.raises(ValueError, match="at most 1000 limits"):
        ActionTree.from_json(chain, 3, 3)
    ActionTree.from_json(chain, n, 3)  # as many as there are features


def test_ways_that_are_not_in_the_chart_are_refused(saved):
    way = next(way for way in saved[2]["chart"]["ways"] if len(way[0]) > 1)
    refuse(saved, lambda chart: chart.update(ways=[[[], *way[1:]]]), "must not end before")
    refuse(saved, lambda chart: chart.update(ways=[[way[0][:-1], *way[1:]]]), "must not end before")
    refuse(saved, lambda chart: chart.update(ways=[[way[0][1:], *way[1:]]]), "from each box")
    refuse(saved, lambda chart: chart.update(ways=[[way[0] + way[0][:1], *way[1:]]]), "from each box")
    for n in (0, 2**40, 10**30):
        refuse(saved, lambda chart, n=n: chart.update(ways=[[*way[:-1], n]]), "cases")
    refuse(saved, lambda chart: chart.update(ways=[[*way[:-2], 1e300, 1]]), "a price")


def test_boxes_that_do_not_fit_are_refused(saved):
    boxes = saved[2]["chart"]["boxes"]
    assert len(boxes) > 2
    refuse(saved, lambda chart: chart.update(boxes=boxes[1:]), "first box")
    refuse(saved, lambda chart: chart.update(boxes=[*boxes, boxes[-1]]), "must be different")
    refuse(saved, lambda chart: chart.update(boxes=boxes * 40), "at most 60 boxes")
    refuse(saved, lambda chart: chart["boxes"][0].update(n_cases=10**30), "how many cases")
    shares = boxes[0]["shares"]
    for values in ([2.0, -1.0, 0.0], [0.2, 0.2, 0.2], [float("nan"), 0.0, 1.0]):
        wrong = [[*shares[0][:2], values], *shares[1:]]
        refuse(saved, lambda chart, wrong=wrong: chart["boxes"][0].update(shares=wrong), "shares of the classes")
    k = next(k for k, box in enumerate(boxes) if max(box["answered"]["feature"]) >= 0)
    inner = int(np.flatnonzero(np.array(boxes[k]["answered"]["feature"]) >= 0)[0])
    more = [*boxes[k]["shares"], [True, inner, shares[0][2]]]
    refuse(saved, lambda chart: chart["boxes"][k].update(shares=more), "for no other")


def test_a_chart_is_the_same_after_loading(saved):
    path, arrays, header = saved
    model_file.write(path, "lattice", arrays, header)
    model = load_classifier(path)
    model.save(path.with_name("again"))
    assert model_file.read(path.with_name("again"), "lattice")[1]["chart"] == header["chart"]
    json.loads(model.chart().to_json())
