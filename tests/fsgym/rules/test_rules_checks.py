"""Arguments that the rules refuse, and the messages."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsgym import Rules
from fsgym.envs.episodes import EpisodeOutcomes, Episodes
from fsgym.rules.checks import doubtful_costs
from support.problems import DATA, ERRORS, LINE, RELATED, C, N


@pytest.mark.parametrize(
    "text", ["", "{", "3", "[]", "null", '{"n_features": 6}', '{"n_features": "a", "n_classes": 2}']
)
def test_a_damaged_state_is_reported(text):
    with pytest.raises(ValueError, match="damaged"):
        Rules.from_state(Rules(N, C).state()[0], text)


@pytest.mark.parametrize("name", ["costs", "groups", "error_costs"])
@pytest.mark.parametrize("bad", [np.full(3, np.nan), np.array(["x"]), np.zeros((0, 2)), np.array(None)])
def test_damaged_arrays_are_reported(name, bad):
    arrays, text = Rules(N, C).state()
    with pytest.raises((ValueError, TypeError), match="damaged"):
        Rules.from_state(arrays | {name: bad}, text)


REFUSED = [
    ({"costs": [1.0] * 5}, r"costs must have shape \(6,\), got \(5,\)"),
    ({"costs": [1, 1, np.nan, 1, 1, 1]}, "costs must be finite"),
    ({"costs": [1, 1, -2, 1, 1, 1]}, "costs must not be negative"),
    ({"costs": {"x0": 1}}, "costs gives no price for 'x1'"),
    ({"costs": {"x9": 1}}, "x9"),
    ({"costs": True}, "costs must be one number, .* got True"),
    ({"costs": [True, 1.5, 1, 1, 1, 1]}, "costs must be one number"),
    ({"costs": np.array(["1", 1, 1, 1, 1, 1], dtype=object)}, "costs must be one number"),
    ({"costs": dict.fromkeys([f"x{j}" for j in range(6)], True)}, "costs must be one number"),
    ({"costs": "dear"}, "costs must be one number, a mapping name -> price, .* got 'dear'; fsgym.load_costs reads"),
    ({"lam": -0.1}, "lam must be finite and at least 0"),
    ({"lam": np.nan}, "lam must be finite"),
    ({"lam": "0.1"}, "lam must be a number"),
    ({"lam": 10**400}, "lam must be a number"),
    ({"lam": 1e300, "costs": 1e300}, "must be small enough to be added up"),
    ({"groups": [[0, 1], [1, 2, 3, 4, 5]]}, "must not overlap, but feature 1"),
    ({"groups": [[0, 1], [2, 3, 4]]}, "must cover every feature, but feature 5"),
    ({"groups": [[0, 1], [], [2, 3, 4, 5]]}, "group 1 is empty"),
    ({"groups": [[0, 1], [2, 3, 4, 5, 6]]}, "name feature 6"),
    ({"groups": 3}, "groups must be lists"),
    ({"error_costs": np.eye(2)}, r"error_costs must have shape \(3, 3\).*got \(2, 2\)"),
    ({"error_costs": [[np.nan] * 3] * 3}, "error_costs must be finite"),
    ({"error_costs": [[0, 1, 2], [True, 0, 1], [1, 1, 0]]}, "error_costs must be a matrix of numbers"),
    ({"error_costs": ~np.eye(3, dtype=bool)}, "error_costs must be a matrix of numbers"),
    (
        {"classes": ["a", "b", "c"], "error_costs": {"a": {"b": True}}},
        "error_costs of answering 'a' when it is 'b' must be a finite number, got True",
    ),
    ({"error_costs": [["a"] * 3] * 3}, "error_costs must be a matrix of numbers"),
    ({"refer_cost": -0.1}, "refer_cost must be finite and at least 0"),
    ({"refer_cost": np.inf}, "refer_cost must be finite"),
    ({"refer_cost": "0.1"}, "refer_cost must be a number"),
    ({"refer_cost": True}, "refer_cost must be a number, got True"),
    ({"refer_cost": 1.0, "refer_label": "b", "classes": ["a", "b", "c"]}, "refer_label must not be a class, got 'b'"),
    ({"refer_cost": 1.0, "refer_label": "1", "classes": [1, 2, 3]}, "refer_label must not be a class, got '1'"),
    ({"refer_label": " "}, "refer_label must be a text"),
    ({"refer_label": "the ward"}, "refer_label must come with refer_cost, got 'the ward' alone"),
    ({"refer_label": None}, "refer_label must be a text"),
    ({"budget": -1}, "budget must be a whole number"),
    ({"budget": 2.5}, "budget must be a whole number"),
    ({"budget": True}, "budget must be a whole number"),
    ({"budget_cost": 0.2}, r"budget_cost 0.2 is below the cheapest acquisition \(1\)"),
    ({"budget_cost": np.inf}, "budget_cost must be finite"),
    (
        {"budget_cost": 1.0, "costs": [1, 2, 2, 2, 2, 2], "prerequisites": [[0, 1, 0, 0, 0, 0]] + [[0] * 6] * 5},
        "nothing could",
    ),
    (RELATED | {"budget_cost": 2.0, "empty_is_related": False}, r"cheapest acquisition \(3\)"),
    ({"related": LINE}, "related needs unrelated_costs"),
    ({"unrelated_costs": 3.0}, "unrelated_costs needs related"),
    (RELATED | {"unrelated_costs": "no"}, "'forbid'"),
    (RELATED | {"unrelated_costs": [1, 2]}, r"unrelated_costs must have shape \(6,\)"),
    (RELATED | {"related": np.ones((5, 5))}, r"related must have shape \(6, 6\)"),
    (RELATED | {"related": np.full((6, 6), 2)}, "only 0 and 1"),
    (RELATED | {"related": [("x0", "x1", "x2")]}, r"pairs of two different names, .* got \('x0', 'x1', 'x2'\)"),
    (RELATED | {"related": [("x0", "x1"), ["x0"]]}, "pairs of two different names"),
    (RELATED | {"related": [("x0", "x0")]}, "pairs of two different names"),
    (RELATED | {"related": [("x0", "x1"), ("x0", 3)]}, "pairs of two different names"),
    (RELATED | {"relation": "some"}, "relation must be 'any' or 'all'"),
    (RELATED | {"empty_is_related": "yes"}, "empty_is_related must be True or False"),
    ({"prerequisites": np.eye(6)}, "must not form a cycle: 'x0'"),
    ({"prerequisites": np.roll(np.eye(6), 1, axis=1)}, "cycle"),
    ({"prerequisites": [[0, 1]]}, r"prerequisites must have shape \(6, 6\)"),
    ({"missing": "drop"}, "missing must be"),
    ({"names": ["a"]}, "names must be 6 distinct names"),
    ({"names": list("aabcde")}, "distinct"),
    ({"names": 5}, "names must be a sequence"),
    ({"classes": "abc"}, "classes must be the labels of the 3 classes, got 'abc'"),
    ({"classes": ["a", "b"]}, "classes must be the labels of the 3 classes"),
    ({"classes": {"a", "b", "c"}}, "classes must be the labels of the 3 classes"),
    ({"classes": ["b", "a", "c"]}, "classes must be distinct and in sorted order"),
    ({"classes": [1, 1, 2]}, "classes must be distinct and in sorted order"),
    ({"classes": ["a", "b", "c"], "error_costs": {"x": {}}}, "error_costs: unknown class 'x'; they are a, b, c"),
]


@pytest.mark.parametrize(
    ("options", "message"), REFUSED, ids=[f"{i} {','.join(o)}" for i, (o, _) in enumerate(REFUSED)]
)
def test_refused_in_a_sentence(options, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        Rules(N, C, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("size", [(0, 2), (3, 1), (-1, 2), ("a", 2), (3.5, 2), (3, None), (True, 2)])
def test_refused_sizes(size):
    with pytest.raises(ValueError, match="n_features and n_classes must be whole numbers"):
        Rules(*size)


def test_data_that_do_not_fit():
    with pytest.raises(ValueError, match="the rules are for 5 features"):
        Episodes(DATA["complete"], Rules(5, C), 1)
    with pytest.raises(ValueError, match="missing='error'"):
        Rules.for_dataset(DATA["missing"], missing="error")
    with pytest.raises(TypeError, match="dataset must be a Dataset"):
        Rules.for_dataset("wine")
    with pytest.raises(ValueError, match="wanted must have shape"):
        Rules(N, C).price_sets([[1, 0]])
    with pytest.raises(ValueError, match="X must have shape"):
        Rules(N, C).price_sets(np.ones((2, N)), np.ones((3, N)))


JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=4)
    | st.binary(max_size=3)
    | st.complex_numbers()
    | st.sampled_from(["any", "forbid", np.nan, np.zeros(3), np.ones((2, 2, 2)), object]),
    lambda inner: st.lists(inner, max_size=7) | st.dictionaries(st.text(max_size=3), st.integers(0, 9), max_size=3),
    max_leaves=12,
)
OPTIONS = [
    "lam",
    "groups",
    "costs",
    "unrelated_costs",
    "related",
    "relation",
    "empty_is_related",
    "error_costs",
    "budget",
    "budget_cost",
    "prerequisites",
    "missing",
    "names",
]


@settings(max_examples=300, deadline=None)
@given(junk=st.dictionaries(st.sampled_from(OPTIONS), JUNK, min_size=1, max_size=3), with_relation=st.booleans())
def test_junk_gets_one_sentence(junk, with_relation):
    given_ = (RELATED if with_relation else {}) | junk
    try:
        Rules(N, C, **given_)
    except (ValueError, TypeError) as error:
        message = str(error)
        assert "\n" not in message
        assert len(message) < 300
        assert any(
            word in message
            for word in ("must", "unknown", "needs", "below", "names", "gives no", "is empty", "name feature")
        )


def test_errors_contain_the_reason():
    data = DATA["missing"]
    episodes = Episodes(data, Rules.for_dataset(data, budget=1, error_costs=ERRORS), 2)
    episodes.begin(np.arange(2), np.array([0, 2]))
    out = np.zeros(2), np.zeros(2, bool), EpisodeOutcomes.blank(2)
    first = int(np.flatnonzero(episodes.state.legal[1])[0])
    for actions, message in (
        [[0, N], "action 0 \\(a\\) has no value"],
        [[N, N + C], "action must be 0 to 8"],
        [[-1, N], "got -1"],
    ):
        with pytest.raises(ValueError, match=message):
            episodes.step(np.array(actions), *out, strict=True)
        assert episodes.active.all()
    episodes.step(np.array([N, first]), *out, strict=True)
    for action, message in (
        (first, "already acquired"),
        (int(np.flatnonzero(episodes.state.status[1] == 0)[-1]), "not allowed now"),
    ):
        with pytest.raises(ValueError, match=message):
            episodes.step(np.array([N, action]), *out, strict=True)


@pytest.mark.parametrize(
    ("errors", "refer_cost", "said"),
    [
        ([[0, 1], [1, 0]], None, []),
        ([[80, 900], [120, 0]], 110, []),
        ([[0, -5], [1, 0]], None, ["answering 'a' for a true 'b' costs -5, less than the right answer (0)"]),
        ([[0, 1], [9, 5]], 2, ["answering 'a' for a true 'b' costs 1, less than the right answer (5)"]),
        ([[0, 6], [7, 5]], 2, ["a correct 'b' costs 5, more than to refer the case"]),
        ([[0, 5], [7, 5]], 2, ["a correct 'b' costs 5, more than to refer the case"]),  # and 'a' no less than to refer
        ([[0, 0], [0, 0]], None, ["answering 'a' never costs more than another answer"]),
        ([[0, 0], [7, 0]], None, ["answering 'a' never costs more than another answer: nothing is worth acquiring"]),
        (
            [[0, 1], [1, 0]],
            110,
            ["to refer a case costs 110, but however uncertain, some answer is expected"],
        ),
        ([[0, 1], [1, 0]], 0.5, ["some answer is expected to cost at most 0.5: none is referred"]),
        ([[0, 1], [1, 0]], 0.49, []),
        ([[0, 300], [100, 0]], 75, ["at most 75: none is referred"]),  # three quarters of the first class
        ([[0, 300], [100, 0]], 74.9, []),
        ([[80, 900], [120, 0]], 75, ["a correct 'a' costs 80, more than to refer the case: whoever seems to be it is"]),
    ],
)
def test_costs_that_are_probably_not_meant(errors, refer_cost, said):
    doubts = doubtful_costs(np.array(errors, float), refer_cost, ["a", "b"])
    assert len(doubts) == len(said)
    assert all(part in doubt for part, doubt in zip(said, doubts, strict=True))
