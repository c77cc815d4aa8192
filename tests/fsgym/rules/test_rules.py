"""The compiled rules compared with the reference process, identities, and prices of sets."""

from __future__ import annotations

import copy
import itertools
import json
import os
import pickle
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsgym import Dataset, Rules
from fsgym.envs.episodes import EpisodeOutcomes, Episodes
from fsgym.rules import Tables
from support.problems import CHAIN, DATA, LINE, PRICES, VARIANTS, C, N
from support.reference import ReferenceEpisode, ReferenceProcess


def rules_of(data: Dataset, options: dict) -> Rules:
    """The rules of the options and, which is none, ``always_known``."""
    arrays, text = Rules.for_dataset(data, **{k: v for k, v in options.items() if k != "always_known"}).state()
    known = [*options.get("always_known", ())]
    return Rules.from_state(arrays, json.dumps(json.loads(text) | ({"always_known": known} if known else {})))


def walk(data: Dataset, options: dict, row: int, actions: list[int]) -> list[tuple]:
    """Mask, spent, reward and observation after each action, until the end."""
    episodes = Episodes(data, rules_of(data, options), 1)
    episodes.begin(np.zeros(1, np.int64), np.array([row]))
    reward, ended, outcomes = np.zeros(1), np.zeros(1, bool), EpisodeOutcomes.blank(1)
    state = episodes.state
    steps = [(state.legal[0].tolist(), 0.0, 0.0, episodes.observation[0].tolist())]
    for action in actions:
        episodes.step(np.array([action]), reward, ended, outcomes)
        steps.append((state.legal[0].tolist(), state.spent[0], reward[0], episodes.observation[0].tolist()))
        if ended[0]:
            break
    return steps


def twin_walk(data: Dataset, options: dict, row: int, actions: list[int]) -> list[tuple]:
    twin = ReferenceEpisode(data.X[row], int(data.y[row]), data.n_classes, options)
    steps = [(twin.mask(), 0.0, 0.0, twin.observation())]
    for action in actions:
        reward = twin.step(action)
        steps.append((twin.mask(), twin.spent, reward, twin.observation()))
        if twin.answer is not None:
            break
    return steps


def same(one: list[tuple], other: list[tuple]) -> None:
    assert len(one) == len(other)
    for (mask, spent, reward, seen), (mask2, spent2, reward2, seen2) in zip(one, other, strict=True):
        assert mask == mask2
        assert spent == pytest.approx(spent2)
        assert reward == pytest.approx(reward2)
        assert seen == seen2


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_function_that_tells_prices_tells_those_of_the_rules(variant):
    """Also where it does not ask the compiled ones, as prices do not change; and no row pays more than the bound."""
    options, rng = VARIANTS[variant], np.random.default_rng(0)
    rules = Rules.for_dataset(DATA["complete"], **options)
    twin = ReferenceProcess(N, C, options)
    for row in range(5):
        episodes, order = Episodes(DATA["complete"], rules, 1), []
        episodes.begin(np.zeros(1, np.int64), np.array([row]))
        while legal := np.flatnonzero(episodes.state.legal[0, : rules.n_acquisitions]).tolist():
            wanted = [twin.price(j, order) for j in legal]
            assert rules.next_prices(episodes.acquired())[0, legal].tolist() == wanted
            assert ((rules.lowest_costs[legal] == wanted) | (rules.highest_costs[legal] == wanted)).all()
            order.append(int(rng.choice(legal)))
            episodes.step(np.array(order[-1:]), np.zeros(1), np.zeros(1, bool), EpisodeOutcomes.blank(1))
            most = rules.lam * episodes.state.spent[0] + np.abs(rules.answer_costs).max()
            assert most <= rules.largest_loss() + 1e-9


def legal_first(data: Dataset, options: dict, row: int, rng: np.random.Generator) -> list[int]:
    """Random legal acquisitions in the twin, as many as it allows, then an answer."""
    twin, actions = ReferenceEpisode(data.X[row], 0, data.n_classes, options), []
    while (left := np.flatnonzero(twin.mask()[: twin.process.n_acquisitions])).size and rng.random() < 0.9:
        actions.append(int(rng.choice(left)))
        twin.step(actions[-1])
    return [*actions, twin.process.n_acquisitions + int(rng.integers(data.n_classes))]


@pytest.mark.one_in(2)
def test_compiled_rules_are_the_twin(data, options):
    rng = np.random.default_rng(1)
    J = Rules.for_dataset(data, **options).n_acquisitions
    for row in range(data.n_samples):
        actions = legal_first(data, options, row, rng)
        same(walk(data, options, row, actions), twin_walk(data, options, row, actions))
        wild = rng.integers(J + C, size=J + 1).tolist()
        same(walk(data, options, row, wild), twin_walk(data, options, row, wild))


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("variant", VARIANTS)
def test_what_is_always_known_does_not_count_for_the_budget(variant, name):
    data, rng, options = DATA[name], np.random.default_rng(2), VARIANTS[variant] | {"always_known": (2, 0)}
    for budget, row in itertools.product((0, 1, 2), range(6)):
        given = options | {"budget": budget}
        actions = legal_first(data, given, row, rng)
        same(walk(data, given, row, actions), twin_walk(data, given, row, actions))
    rules = rules_of(data, options | {"budget": 1})
    assert rules.always_known == (0, 2)
    assert rules.replace(lam=0.2).always_known == pickle.loads(pickle.dumps(rules)).always_known == (0, 2)
    backwards = rules.reordered(range(N)[::-1], range(rules.n_acquisitions)[::-1])
    assert [backwards.names[j] for j in backwards.always_known] == [rules.names[2], rules.names[0]]
    assert rules.most_acquisitions == min(3, rules.n_acquisitions)
    with pytest.raises(ValueError, match="always_known must be numbers of acquisitions, below"):
        Rules(2, 2, always_known=[2])


@pytest.mark.parametrize("budget", [None, 0, 1, 3])
def test_legality_of_sets_is_that_of_the_kernel(budget):
    """Rules whose acquisitions do not change each other have a way of their own; a vast budget_cost takes it away."""
    rng = np.random.default_rng(0)
    for known in ((), (1, 3)):
        rules = rules_of(DATA["complete"], {"lam": 0.1, "costs": PRICES, "budget": budget, "always_known": known})
        taken = rng.random((60, rules.n_acquisitions)) < 0.4
        for n_paid in (None, rng.integers(0, 5, 60)):
            own = rules.legal_and_prices(taken, n_paid=n_paid)
            compiled = rules.replace(budget_cost=1e9).legal_and_prices(taken, n_paid=n_paid)
            assert all((a == b).all() for a, b in zip(own, compiled, strict=True))


@st.composite
def any_rules(draw):
    """Options of ``Rules`` on N features, C classes."""
    numbers = draw(st.lists(st.integers(0, 3), min_size=N, max_size=N))
    numbers_used = sorted(set(numbers))
    groups = draw(st.sampled_from([None, [[i for i in range(N) if numbers[i] == k] for k in numbers_used]]))
    J = N if groups is None else len(groups)
    price = st.integers(0, 12).map(lambda v: v / 4)
    matrix = st.lists(st.lists(st.integers(0, 1), min_size=J, max_size=J), min_size=J, max_size=J)
    options = {
        "lam": draw(st.sampled_from([0.0, 0.1, 1.0])),
        "costs": draw(st.lists(price, min_size=J, max_size=J)),
        "budget": draw(st.none() | st.integers(0, J)),
    }
    if groups is not None:
        options["groups"] = groups
    if draw(st.booleans()):
        options["always_known"] = draw(st.lists(st.integers(0, J - 1), max_size=J))
    if draw(st.booleans()):
        options["related"] = draw(matrix)
        unrelated = st.just("forbid") | price | st.lists(price, min_size=J, max_size=J)
        options["unrelated_costs"] = draw(unrelated)
        options["relation"] = draw(st.sampled_from(["any", "all"]))
        options["empty_is_related"] = draw(st.booleans())
    if draw(st.booleans()):
        full = draw(matrix)  # entries below the diagonal only, so that there is no cycle
        options["prerequisites"] = [[full[j][i] if i < j else 0 for i in range(J)] for j in range(J)]
    if draw(st.booleans()):
        options["budget_cost"] = draw(st.sampled_from([3.0, 4.5, 7.0]))
    if draw(st.booleans()):
        number = st.integers(-9, 9).map(float)
        options["error_costs"] = draw(st.lists(st.lists(number, min_size=C, max_size=C), min_size=C, max_size=C))
    return options


@settings(max_examples=150, deadline=None)
@given(options=any_rules(), name=st.sampled_from(list(DATA)), seed=st.integers(0, 10**6))
def test_any_compiled_rules_are_the_twin(options, name, seed):
    data, rng = DATA[name], np.random.default_rng(seed)
    row = int(rng.integers(data.n_samples))
    try:
        rules_of(data, options)
    except ValueError as error:
        assert "nothing could be acquired" in str(error)  # noqa: PT017
        return
    actions = legal_first(data, options, row, rng)
    same(walk(data, options, row, actions), twin_walk(data, options, row, actions))


IDENTITIES = {
    "infinite budget": ({}, {"budget": N}),
    "infinite budget_cost": ({"costs": PRICES}, {"costs": PRICES, "budget_cost": 1e9}),
    "immense budget": ({}, {"budget": 10**30}),
    "groups of one": ({}, {"groups": [[i] for i in range(N)]}),
    "numbered groups of one": ({}, {"groups": list(range(N))}),
    "costs of one": ({}, {"costs": 1.0}),
    "price named": ({"costs": PRICES}, {"costs": dict(zip("abcdef", PRICES, strict=True))}),
    "unrelated costs the same": ({"costs": PRICES}, {"costs": PRICES, "unrelated_costs": PRICES, "related": LINE}),
    "all related": (
        {"costs": PRICES},
        {"costs": PRICES, "unrelated_costs": 9.0, "related": np.ones((N, N)), "relation": "all"},
    ),
    "forbidden, all related": (
        {"costs": PRICES}, {"costs": PRICES, "unrelated_costs": "forbid", "related": np.ones((N, N))}
    ),
    "no prerequisites": ({}, {"prerequisites": np.zeros((N, N))}),
    "errors of one": ({}, {"error_costs": 1 - np.eye(C)}),
    "scale": ({"lam": 0.5, "costs": 2.0}, {"lam": 1.0, "costs": 1.0}),
}  # fmt: skip


@pytest.mark.parametrize("name", list(IDENTITIES))
def test_identities(name, data):
    one, other = IDENTITIES[name]
    rng = np.random.default_rng(2)
    for row in range(10):
        actions = rng.integers(N + C, size=N + 1).tolist()
        a, b = (walk(data, {"lam": 0.1} | options, row, actions) for options in (one, other))
        for (mask, spent, *rest), (mask2, spent2, *rest2) in zip(a, b, strict=True):
            assert mask == mask2
            assert rest == rest2
            assert spent == spent2 or name == "scale"


def in_order(twin: ReferenceProcess, x: np.ndarray, order: tuple[int, ...]) -> tuple[float, bool]:
    """What the reference pays for acquisitions in this order, and whether each is legal."""
    return twin.spent(order), all(twin.is_legal(j, order[:k], x) for k, j in enumerate(order))


def test_price_sets_against_all_orders(data, options):
    rules = Rules.for_dataset(data, **options)
    rng, J = np.random.default_rng(3), rules.n_acquisitions
    rows = rng.integers(data.n_samples, size=12)
    wanted = rng.random((12, J)) < 0.5
    wanted[:, 4:] = False  # 24 orders are enough
    twin = ReferenceProcess(N, C, options)
    spent, admissible, taken = rules.price_sets(wanted, data.X[rows])
    for i, row in enumerate(rows):
        bought = np.flatnonzero(taken[i])
        can = [j for j in range(J) if twin.is_available(j, data.X[row])]
        assert set(bought) >= set(np.flatnonzero(wanted[i])) & set(can)
        assert set(bought) <= set(can)
        found = [in_order(twin, data.X[row], order) for order in itertools.permutations(bought)]
        prices = [p for p, _ in found]
        assert min(prices) - 1e-9 <= spent[i] <= max(prices) + 1e-9
        if rules.related is None:
            assert spent[i] == pytest.approx(prices[0])
            assert admissible[i] == any(ok for _, ok in found)
        else:  # a greedy order is one of the orders
            assert any(ok == admissible[i] and p == pytest.approx(spent[i]) for p, ok in found)


@pytest.mark.one_in(2)
def test_price_sets_is_greedy_and_steps_agree(data, options):
    rules = Rules.for_dataset(data, **options)
    rng, J = np.random.default_rng(4), rules.n_acquisitions
    wanted = rng.random((data.n_samples, J)) < 0.4
    spent, admissible, taken = rules.price_sets(wanted, data.X)
    twin = ReferenceProcess(N, C, options)
    for row in range(data.n_samples):
        x, order, left, allowed = data.X[row], [], set(np.flatnonzero(taken[row]).tolist()), True
        while left:  # the cheapest of the legal, else the cheapest
            j = min(left, key=lambda j: (not twin.is_legal(j, order, x), twin.price(j, order), j))
            allowed &= twin.is_legal(j, order, x)
            order.append(j)
            left.remove(j)
        assert spent[row] == pytest.approx(twin.spent(order))
        assert admissible[row] == allowed
        if allowed:
            steps = walk(data, options, row, [*order, J])
            assert steps[-1][1] == pytest.approx(spent[row])


def test_prerequisites_are_bought_too():
    rules = Rules(N, C, prerequisites=CHAIN)
    spent, admissible, taken = rules.price_sets([[0, 0, 1, 0, 0, 0]])
    assert (spent[0], admissible[0], taken[0].tolist()) == (2.0, True, [False, True, True, False, False, False])


def test_missing_prerequisite_makes_what_needs_it_unavailable():
    X = np.zeros((2, N))
    X[0, 1] = np.nan
    data = Dataset(X, [0, 1])
    assert walk(data, {"prerequisites": CHAIN}, 0, [0])[-1][0][:N] == [0, 0, 0, 1, 0, 1]
    rules = Rules.for_dataset(data, prerequisites=CHAIN)
    assert rules.price_sets([[0, 0, 1, 0, 0, 0]], data.X[:1])[1].tolist() == [False]


def test_acquisitions_of():
    rules = Rules(4, 2, groups=[[3, 1], [0], [2]])
    assert rules.acquisitions_of([[0, 1, 0, 0], [1, 0, 1, 0]]).tolist() == [[True, False, False], [False, True, True]]
    swapped = Rules(2, 2, groups=[[1], [0]])
    assert swapped.acquisitions_of([[1, 0]]).tolist() == [[False, True]]


def equal(one: Rules, other: Rules) -> None:
    assert repr(one) == repr(other)
    assert one.names == other.names
    assert (one.error_costs == other.error_costs).all()
    for a, b in zip(one.tables, other.tables, strict=True):
        assert np.array_equal(a, b)


def test_round_trips(options):
    rules = Rules(N, C, **options)
    arrays, text = rules.state()
    equal(rules, Rules.from_state({k: v.copy() for k, v in arrays.items()}, text))
    equal(rules, pickle.loads(pickle.dumps(rules)))
    assert copy.deepcopy(rules) is rules
    assert not rules.costs.flags.writeable
    assert isinstance(rules.tables, Tables)


def test_the_labels_of_the_classes_stay_with_the_rules():
    for labels in (["ill", "well"], [False, True], [-1, 10], [9, 10], [0.5, 1e10], np.array(["a", "b"])):
        first, second = labels
        rules = Rules(3, 2, classes=labels, error_costs={second: {first: 500}, first: {second: 100}})
        assert rules.error_costs.tolist() == [[0, 100], [500, 0]]
        name = first if first in ("ill", "a") else f"'{first}'"
        assert repr(rules).endswith(f"error_costs: a missed {name} costs 500, a false {name} costs 100)")
        equal(rules, Rules.from_state(*rules.state()))
        equal(rules, rules.replace(lam=rules.lam))
        equal(rules, rules.reordered(range(3), range(3)))
        cheap = rules.replace(error_costs={first: {second: 2}, second: {first: 3}})
        assert cheap.error_costs.tolist() == [[0, 2], [3, 0]]
    unnamed = Rules(3, 2, error_costs={1: {0: 500}, 0: {1: 100}})
    assert repr(unnamed) == "Rules(3 acquisitions, 2 classes, lam=0.01, error_costs)"
    grouped = Rules(3, 2, groups=[[0, 1], [2]])  # of the user, or the levels of a column
    assert repr(grouped) == "Rules(2 acquisitions of 3 features, 2 classes, lam=0.01)"
    assert '"classes"' not in unnamed.state()[1]


def masks_of(seed: int) -> bytes:
    """A random walk under rules that use all of the compiled code."""
    rng = np.random.default_rng(seed)
    data, steps = DATA["missing"], []
    for options in (VARIANTS["base"], VARIANTS["everything"], VARIANTS["panel with a needle"]):
        for row in range(20):
            actions = rng.integers(3 if "groups" in options else N, size=4).tolist()
            steps.append(walk(data, options, row, actions))
    return repr(steps).encode()


def test_a_forked_worker_and_two_threads():
    expected = [masks_of(seed) for seed in (5, 6)]
    found: dict[int, bytes] = {}
    threads = [threading.Thread(target=lambda s=s: found.update({s: masks_of(s)})) for s in (5, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[5], found[6]] == expected
    read, write = os.pipe()
    child = os.fork()
    if not child:  # no pytest in the child: answer and be gone
        try:
            os.write(write, b"same" if masks_of(5) == expected[0] else b"other")
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        assert pipe.read() == b"same"
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("name", VARIANTS)
def test_an_order_is_followed_as_far_as_the_process_allows(name):
    rules, process = Rules(N, C, **VARIANTS[name]), ReferenceProcess(N, C, VARIANTS[name])
    rng = np.random.default_rng(0)
    X = np.where(rng.random((12, N)) < 0.3, np.nan, 0.5)
    for _ in range(3):
        order = rng.permutation(rules.n_acquisitions)
        taken, spent = rules.follow(order, rules.acquisitions_of(~np.isnan(X)))
        for i, x in enumerate(X):
            sequence: list[int] = []
            for k, j in enumerate(order):
                legal = process.is_legal(j, sequence, x)
                assert taken[i, k] == legal
                sequence += [j] if legal else []
                assert spent[i, k + 1] == pytest.approx(process.spent(sequence))


def test_prerequisites_come_first():
    rules = Rules(4, 2, prerequisites={"x2": ["x1"], "x1": ["x0"]})
    assert rules.prerequisites_of(2) == [0, 1]
    assert rules.prerequisites_of(2, met=[1]) == []
    assert rules.prerequisites_of(3) == []
    assert rules.legal_order([2, 3, 0, 1]) == [3, 0, 1, 2]
    assert rules.legal_order([2, 3]) is None


def test_options_recreate_the_rules_on_data_with_their_own():
    """An option that is the usual one, but not that of the data, is no None: they would bring theirs."""
    X, prices = np.arange(12.0).reshape(4, 3), [5.0, 6.0, 7.0]
    graded = Dataset(X, [0, 1, 2, 1], ordered=[0, 1, 2], ordered_costs="squared")
    for data, option in (
        (graded, {"error_costs": 1 - np.eye(3)}),
        (Dataset(X, [1.0, 2.0, 3.5, 4.0], bins=2), {"error_costs": 1 - np.eye(2)}),
        (Dataset(X, [0, 1, 2, 1], costs=prices), {"costs": 1}),
        (Dataset(X, [0, 1, 2, 1], groups=[[0, 1], [2]]), {"groups": [[0], [1], [2]]}),
    ):
        usual, other = Rules.for_dataset(data), Rules.for_dataset(data, **option)
        for rules in (usual, other):
            again = Rules.for_dataset(data, **rules.options(data))
            assert again.groups == rules.groups
            np.testing.assert_array_equal(again.costs, rules.costs)
            np.testing.assert_array_equal(again.error_costs, rules.error_costs)
        name = next(iter(option))
        assert other.options(data)[name] is not None
        assert other.options()[name] is None
