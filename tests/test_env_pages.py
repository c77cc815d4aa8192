"""What the page of each environment says of prices and costs, read as text, is what episodes cost that are played."""

from __future__ import annotations

import ast
import inspect
import pickle
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import fsgym
from fsgym.envs.ids import VARIANTS

DOCS = Path(__file__).resolve().parent.parent / "docs"
WORDS = ("free", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMBERS = {word: n for n, word in enumerate(WORDS)} | {"thirty": 30}
NUMERAL = re.compile(rf"\d|\b(?:{'|'.join(NUMBERS)})\b", re.IGNORECASE)


def number(text: str) -> float:
    return float(NUMBERS.get(text.lower(), text))


class Game:
    """An environment of an id with its defaults, known only by its rewards, masks and observations."""

    def __init__(self, env_id: str) -> None:
        self.id = env_id
        self.env: Any = gym.make(env_id).unwrapped
        self.data, self.names = self.env.dataset, list(self.env.rules.names)
        self.classes = self.data.classes.tolist()

    def play(self, *actions: int, row: int = 0) -> tuple[list[float], dict[str, Any], np.ndarray]:
        """Rewards, the last info and observation of an episode."""
        self.env.reset(options={"index": row})
        rewards, observation, info = [], np.zeros(0), {}
        for action in actions:
            observation, reward, _, _, info = self.env.step(action)
            rewards.append(float(reward))
        return rewards, info, observation

    def price(self, name: str, *after: str) -> float:
        """What the reward charges for an acquisition, after others."""
        return -self.play(*(self.names.index(n) for n in (*after, name)))[0][-1]

    def prices(self) -> dict[str, float]:
        return {name: self.price(name) for name in self.names}

    def error(self, answer: Any, truth: Any) -> float:
        """What the reward charges for an answer to a row of this class, without any acquisition."""
        row = int(np.flatnonzero(self.data.y == self.classes.index(truth))[0])
        return -self.play(len(self.names) + self.classes.index(answer), row=row)[0][0]

    def errors(self) -> dict[tuple[Any, Any], float]:
        return {(answer, truth): self.error(answer, truth) for answer in self.classes for truth in self.classes}

    def revealed(self, action: int) -> list[str]:
        """The features that are known after one acquisition."""
        known = self.play(action)[2][: self.data.n_features]
        return [self.data.feature_names[i] for i in np.flatnonzero(known)]

    def ranked(self) -> list[dict[str, Any]]:
        return fsgym.leaderboard(self.id).dropna(subset="rank").to_dict("records")


def all_prices_are(game: Game, price: float) -> None:
    assert list(game.prices().values()) == pytest.approx([price] * len(game.names))


def same_price(game: Game) -> None:
    all_prices_are(game, game.price(game.names[0]))


def any_wrong_answer(game: Game, cost: str) -> None:
    assert game.errors() == {(a, t): number(cost) * (a != t) for a in game.classes for t in game.classes}


def a_good_policy(game: Game, some: str, all_of_them: str) -> None:
    assert game.data.n_features == number(all_of_them)
    assert {round(row["n_features"]) for row in game.ranked()[:3]} == {number(some)}


def at_most(game: Game, budget: str) -> None:
    n, J = int(number(budget)), len(game.names)
    assert game.play(*range(n - 1))[1]["action_mask"][:J].any()
    assert not game.play(*range(n))[1]["action_mask"][:J].any()


def all_of_the_budget(game: Game, budget: str, again: str) -> None:
    assert budget == again
    assert not game.play(*range(int(number(budget))), len(game.names))[1]["illegal"]


def exchange_rate(game: Game, lam: str) -> None:
    for j in range(len(game.names)):
        (reward,), info, _ = game.play(j)
        assert reward == pytest.approx(-number(lam) * info["spent"])


def by_statistic(game: Game, mean: str, error: str, largest: str) -> None:
    expected = {}
    for name in game.names:
        kinds = [name.startswith("mean "), name.endswith(" error"), name.startswith("worst ")]
        assert sum(kinds) == 1
        expected[name] = number((mean, error, largest)[kinds.index(True)])
    assert game.prices() == expected


def missed_cancer(game: Game, missed: str, false: str) -> None:
    assert game.errors() == {
        ("benign", "benign"): 0,
        ("malignant", "malignant"): 0,
        ("benign", "malignant"): number(missed),
        ("malignant", "benign"): number(false),
    }


def cheapest_answer(game: Game, answer: str) -> None:
    rows, J = range(game.data.n_samples), len(game.names)
    costs = {a: sum(-game.play(J + k, row=i)[0][0] for i in rows) for k, a in enumerate(game.classes)}
    assert min(costs, key=lambda a: costs[a]) == answer


def large_losses(game: Game, bound: str) -> None:
    assert min(row["loss"] for row in game.ranked()) > 5 * number(bound)


def needs_its_own(game: Game, *options: str) -> None:
    given: dict[str, Any] = {"costs": 1, "error_costs": 1 - np.eye(3)}
    assert set(options) == set(given)
    for missing in options:
        with pytest.raises(ValueError, match=missing):
            gym.make(game.id, dataset="wine", **{k: v for k, v in given.items() if k != missing})
    gym.make(game.id, dataset="wine", **given)


def groups_of_measurements(game: Game, members: str, measurement: str, price: str) -> None:
    assert number(measurement) == number(price) == 1
    plain = Game("DatumWise-v0")
    for j, name in enumerate(game.names):
        found = game.revealed(j)
        assert len(found) == number(members)
        assert len({re.sub(r"^(mean|worst) | error$", "", feature) for feature in found}) == 1
        assert game.price(name) == plain.price(found[0])


def fewer_acquisitions(game: Game, acquisitions: str, features: str, observed: str) -> None:
    game.env.reset()
    assert (game.env.action_masks().sum() - len(game.classes), game.data.n_features) == (
        number(acquisitions),
        number(features),
    )
    assert len(game.play(0)[2]) == 2 * number(observed)


def in_blocks(game: Game, height: str, width: str) -> None:
    for j in range(len(game.names)):
        places = np.array([[int(v) for v in name.split("_")[1:]] for name in game.revealed(j)])
        assert len(places) == number(height) * number(width)
        assert (np.ptp(places, axis=0) + 1).tolist() == [number(height), number(width)]


def adjacency(game: Game, near: str, far: str) -> None:
    corners = [[int(v) for v in game.revealed(j)[0].split("_")[1:]] for j in range(len(game.names))]
    assert list(game.prices().values()) == pytest.approx([number(near)] * len(game.names))
    seen = set()
    for i, (row, column) in enumerate(corners):
        for j, (other_row, other_column) in enumerate(corners):
            if i != j:
                touches = abs(row - other_row) + abs(column - other_column) == 2
                expected = number(near if touches else far)
                assert game.price(game.names[j], game.names[i]) == pytest.approx(expected)
                seen.add(touches)
    assert seen == {True, False}


def more_classes(game: Game, classes: str, others: str) -> None:
    assert (len(game.classes), len(Game("DatumWise-v0").classes)) == (number(classes), number(others))


def own_prices_and_costs(game: Game) -> None:
    errors = {cost for (answer, truth), cost in game.errors().items() if answer != truth}
    assert len(set(game.prices().values())) > 1
    assert len(errors) > 1


def up_to(game: Game, budget: str, price: str) -> None:
    at_most(game, budget)
    all_prices_are(game, number(price))


def in_groups(game: Game) -> None:
    assert all(len(game.revealed(j)) > 1 for j in range(len(game.names)))
    same_price(game)


def groups_of(game: Game, groups: str, members: str) -> None:
    assert [len(game.revealed(j)) for j in range(len(game.names))] == [number(members)] * int(number(groups))


def cheaper_when_related(game: Game) -> None:
    prices = {game.price(name, game.names[0]) for name in game.names[1:]}
    assert min(prices) < max(prices)


def features(game: Game, n: str) -> None:
    assert len(game.data.feature_names) == number(n)


# What people write of an environment. A sentence with a number that none of these patterns reads fails the test.
READERS: dict[str, Callable[..., None]] = {
    r"every feature has the same price": same_price,
    r"any wrong answer costs (\w+)": any_wrong_answer,
    r"default price of ([\d.]+)": lambda game, price: all_prices_are(game, number(price)),
    r"a good policy acquires about (\w+) of the (\w+) features": a_good_policy,
    r"Features are (free)": lambda game, price: all_prices_are(game, number(price)),
    r"a case may have at most (\w+)": at_most,
    r"A policy that uses all (\w+) always is legal; which (\w+)": all_of_the_budget,
    r"Prices and errors in one unit, so `lam` is (\w+)": exchange_rate,
    r"a mean over the nuclei costs (\w+), its standard error (\w+), the mean of the three largest (\w+)": by_statistic,
    r"A missed cancer costs (\w+) and a false alarm (\w+)": missed_cancer,
    r"\*(\w+)\* is the cheapest answer as long as nothing is known": cheapest_answer,
    r"Losses are in the unit of the prices, and much larger than (\w+)": large_losses,
    r"another `dataset` needs its own `(\w+)` and `(\w+)`": needs_its_own,
    r"An acquisition reveals the (\w+) numbers of (\w+) measurement, for the price of (\w+)": groups_of_measurements,
    r"(\w+) acquisitions instead of (\w+), but the observation still has (\w+) features": fewer_acquisitions,
    r"(?:in blocks of |digits, )(\d+) x (\d+) pixels": in_blocks,
    r"A block costs ([\d.]+) if a neighbour is already known \(the first one too\) and ([\d.]+) otherwise": adjacency,
    r"(\w+) classes instead of (\w+)": more_classes,
    r"each feature has its own price, each kind of error its own cost": own_prices_and_costs,
    r"up to (\w+) features, (free) of charge": up_to,
    r"features are acquired in groups(?:, at one price for the group)?": in_groups,
    r"(\w+) groups of (\w+)": groups_of,
    r"a feature is cheaper when a related one is (?:already )?known": cheaper_when_related,
    r"breast cancer, (\d+) features": features,
}


@pytest.fixture(scope="module", params=list(VARIANTS))
def game(request: pytest.FixtureRequest) -> Game:
    return Game(request.param)


@pytest.fixture(scope="module")
def page(game: Game) -> str:
    sys.path.insert(0, str(DOCS / "_ext"))
    try:
        from env_pages import env_page
    finally:
        sys.path.pop(0)
    return env_page(game.id, DOCS)


@pytest.fixture(scope="module")
def facts(page: str) -> dict[str, str]:
    """The rows of the table at the top of the page."""
    return dict(re.findall(r"^\| \*\*(.*?)\*\* \| (.*) \|$", page, re.MULTILINE))


def written(game: Game) -> Iterator[str]:
    """What people write of an environment: its note, and its rows in the tables of all."""
    yield (DOCS / "envs" / "notes" / f"{game.id}.md").read_text()
    for table in ((DOCS / "envs" / "index.md").read_text(), inspect.getdoc(fsgym.DatumWiseEnv) or ""):
        (row,) = re.findall(rf"^\| [^|]*{game.id}[^|]* \| (.*) \|$", table, re.MULTILINE)
        yield row


def test_every_written_number_is_what_is_played(game):
    for text in written(game):
        rest, n_read = " ".join(text.split()), 0
        for pattern, check in READERS.items():
            for match in re.finditer(pattern, rest, re.IGNORECASE):
                check(game, *match.groups())
                n_read += 1
            rest = re.sub(pattern, "", rest, flags=re.IGNORECASE)
        assert not NUMERAL.search(rest), f"no pattern of READERS reads {rest!r}"
        assert n_read or not NUMERAL.search(text)


def test_the_table_of_the_page_has_the_prices_that_are_played(game, facts):
    lam = float(re.search(r"One unit of cost counts as (\S+) units", facts["In words"])[1])
    first, _, unrelated = facts["Prices"].partition("; if unrelated: ")
    prices = listed_prices(first, game.names)
    assert game.prices() == pytest.approx({name: lam * price for name, price in prices.items()})
    if unrelated:
        assert "the first counts as related" in facts["In words"]
        far = listed_prices(unrelated, game.names)
        name = game.names[0]
        for other in game.names[1:]:
            near_or_far = [lam * prices[other], lam * far[other]]
            assert min(abs(game.price(other, name) - price) for price in near_or_far) < 1e-9
    budget = re.search(r"at most (\d+) acquisitions", facts["In words"])
    if budget:
        at_most(game, budget[1])
    else:
        game.play(*range(len(game.names)))


def listed_prices(text: str, names: list[str]) -> dict[str, float]:
    """The price of each acquisition from "1 for each acquisition" or "1 for age, sex; 2 for crp"."""
    if text.endswith(" for each acquisition"):
        return dict.fromkeys(names, float(text.split()[0]))
    found = [
        (n, float(price))
        for price, _, some in (p.partition(" for ") for p in text.split("; "))
        for n in some.split(", ")
    ]
    assert sorted(name for name, _ in found) == sorted(names)
    return dict(found)


def test_the_page_has_the_costs_of_errors_that_are_played(game, facts):
    default = re.fullmatch(r"a wrong answer costs (\w+), a correct one 0", facts["Errors"])
    if default:
        any_wrong_answer(game, default[1])
        assert "error_costs" not in facts["Rules"]
    else:
        assert f"error_costs: {facts['Errors']})" in facts["Rules"]
        for kind, label, cost in re.findall(r"a (missed|false) (\w+) costs (\S+?)(?:, |$)", facts["Errors"]):
            (other,) = (v for v in game.classes if v != label)
            answer, truth = (other, label) if kind == "missed" else (label, other)
            assert game.error(answer, truth) == float(cost)
    given = re.search(r"`error_costs`: `(.*?)`", facts["Its own defaults"])
    assert bool(given) == (default is None)
    for answer, row in (ast.literal_eval(given[1]) if given else {}).items():
        for truth, cost in row.items():
            assert game.error(answer, truth) == cost


def test_the_episode_on_the_page_has_the_prices_of_its_table(game, page, facts):
    (transcript,) = re.findall(r"^```text\n(row .*?)\n```$", page, re.MULTILINE | re.DOTALL)
    prices = listed_prices(facts["Prices"].partition("; if unrelated: ")[0], game.names)
    steps = re.findall(r"^(.*?)(?: = .*?|: .*?), (?:price (\S+)|free); ", transcript, re.MULTILINE)
    assert len(steps) >= 2
    for name, price in steps:
        assert float(price) == prices[name]
    assert transcript.endswith(f"; spent {sum(float(price) for _, price in steps):g}")


def test_a_missed_cancer_costs_500():
    game = Game("DatumWiseCost-v0")
    assert (game.error("benign", "malignant"), game.error("malignant", "benign")) == (500, 100)
    assert game.play(0)[0] == [-1.0]


def test_no_id_has_prices_or_costs_of_errors_by_position():
    for options in VARIANTS.values():
        assert isinstance(options.get("costs", 1.0), float | Mapping)
        assert isinstance(options.get("error_costs", {}), Mapping)


def test_rules_name_the_classes_wherever_they_are_printed():
    rules = gym.make("DatumWiseCost-v0").unwrapped.rules
    words = "a missed malignant costs 500, a false malignant costs 100"
    assert repr(rules) == f"Rules(30 acquisitions, 2 classes, lam=1, costs, error_costs: {words})"
    assert repr(rules.replace(lam=1.0, budget=3)) == f"{repr(rules)[:-1]}, budget=3)"
    assert all(f">truth: {label}<" in rules._repr_html_() for label in ("benign", "malignant"))
    assert repr(pickle.loads(pickle.dumps(rules))) == repr(rules)
    of_wine = gym.make("DatumWise-v0", dataset="wine", error_costs=[[0, 1, 2], [3, 0, 4], [5, 6, 0]]).unwrapped.rules
    assert "error_costs: answering class_2 for a true class_1 costs 6, answering class_2" in repr(of_wine)
    assert repr(of_wine).endswith(", ...)")
    assert repr(fsgym.Rules(3, 2, error_costs=[[0, 1], [2, 0]])).endswith("lam=0.01, error_costs)")


def test_the_page_of_the_id_says_that_its_costs_were_reversed(game, page):
    history = page[page.index("## Version History") :]
    said = re.search(r"charged a missed cancer (\d+) and a false alarm (\d+) before fsgym 0\.3\.0", history)
    assert bool(said) == (game.id == "DatumWiseCost-v0")
    if said:
        assert (float(said[2]), float(said[1])) == (
            game.error("benign", "malignant"),
            game.error("malignant", "benign"),
        )
        assert "`DatumWiseCost-v0` had the costs of its two errors reversed" in (DOCS / "versions.md").read_text()
