"""Ask a policy that ``fsgym export --json`` wrote, with NumPy alone: the reference for docs/policy-format.md.

    python docs/interpret_policy.py policy.json '{"age": 61, "ward": "icu"}' '{"ct": 60}'

The last one, prices of the case, is only for a policy with prices by case.

It has what all policies share, and the policy of the lattice agent; interpret_other_policies.py has the other kinds.
"""

import json
import math
import re
import sys
from base64 import b64decode

import numpy as np

MOST_EMPTY = 2**20  # cells that the shape of an empty array may have beside its zeros
MAX_CELLS = 64  # combinations of bins that have an indicator each


class Case:
    """What is known about one case, and what can be acquired now. Values of columns become features."""

    def __init__(self, policy, known=(), unavailable=()):
        self.policy = policy
        self.values = np.full(policy.n_features, np.nan)
        self.closed = np.zeros(policy.n_features, bool)  # features that cannot be obtained (any more)
        self.paid = np.zeros(len(policy.groups), bool)
        self.spent, self.n_paid = 0.0, 0
        for name in unavailable:
            self.closed[policy.columns[name]["features"]] = True
        for name, value in dict(known).items():
            self.know(name, value)

    def know(self, name, value):
        """Set the value of a column."""
        column = self.policy.columns[name]
        if column["kind"] == "number":
            features = [value - column["offset"]]
        elif column["kind"] == "bool":
            features = [float(value)]
        else:
            features = [level == value for level in column["levels"]]
            if value not in column["levels"]:  # a level that was not in training is unknown
                features = [np.nan] * len(column["features"])
            elif column["kind"] == "codes" or len(column["levels"]) == 2:
                features = [column["levels"].index(value)]
        self.values[column["features"]] = features
        self.closed[column["features"]] = np.isnan(features)

    def acquire(self, name, values):
        """Make an acquisition: ``values`` of its columns by name; what it does not bring is unknown for good."""
        j = [a["name"] for a in self.policy.acquisitions].index(name)
        self.spent += self.legal_and_prices()[1][j]
        self.n_paid += int(self.policy.counts[j])
        self.paid[j] = True
        for column, value in values.items():
            self.know(column, value)
        self.closed[self.policy.groups[j]] = np.isnan(self.values[self.policy.groups[j]])

    def taken_and_open(self):
        """The acquisitions that need not be made any more, and those that would bring something."""
        known = ~np.isnan(self.values)
        some = np.array([known[group].any() for group in self.policy.groups])
        rest = ~self.paid & [(~known & ~self.closed)[group].any() for group in self.policy.groups]
        return self.paid | (some & ~rest), rest

    def legal_and_prices(self):
        """Which acquisitions are legal, and their prices."""
        taken, rest = self.taken_and_open()
        legal, prices = self.policy.legal_and_prices(taken, self.spent)
        budget = self.policy.rules["budget"]
        if budget is not None and self.n_paid >= budget:
            legal &= ~self.policy.counts
        return legal & rest, prices

    def hides_what_is_unavailable(self):
        """Whether something cannot be obtained that is not legal for now anyway, as its prerequisites come first."""
        taken, rest = self.taken_and_open()
        gone, needs = ~taken & ~rest, [a["needs"] for a in self.policy.acquisitions]
        return any(gone[j] and not taken[n].all() and not gone[n].any() for j, n in enumerate(needs))

    def step(self):
        """The next question, or None; the answer if it is given now; probabilities by class; what was spent."""
        legal, prices = self.legal_and_prices()
        values = self.values.astype(np.float32).astype(float)
        advice = self.policy.advise(~np.isnan(values), values, legal)
        answers = self.policy.answer_costs.min(), self.policy.answer_costs.max()
        ranked = [j for j in self.policy.user_order if legal[j]]
        ranked.sort(key=lambda j: (j != advice["beyond"], -advice["preference"][j]))
        rule, certain = self.policy.rule, {}
        if rule is not None:
            certain["certain"] = rule.is_certain(advice["answer"], advice["probabilities"])
            if advice["action"] < 0 and not certain["certain"]:
                self.policy.follow_rule(advice, self.policy.can_change(~np.isnan(values), legal, advice))
        j, classes, shares = advice["action"], self.policy.classes, advice["probabilities"]
        stop_cost = None if advice["stop_cost"] is None else float(np.clip(advice["stop_cost"], *answers))
        expected = np.clip(
            advice["expected"], *self.policy.range_of_costs(prices, stop_cost, shares)
        )  # one may be far out
        if j >= 0 and stop_cost is not None and advice["expected"][j] <= advice["stop_cost"]:
            # an estimate by which it pays, although its price alone is more than an answer now costs, is none
            expected[j] = np.nan if expected[j] > stop_cost else expected[j]
        if self.hides_what_is_unavailable():  # the policy takes it for one that can come later
            expected[:] = np.nan
        costs = [None if np.isnan(cost) else float(cost) for cost in expected]
        return {
            "question": None if j < 0 else self.policy.acquisitions[j]["name"],
            "answer": self.policy.answers[advice["answer"]],
            "probabilities": None if shares is None else [[c, float(p)] for c, p in zip(classes, shares, strict=True)],
            "stop_cost": stop_cost,
            "spent": float(self.spent),
            "alternatives": [[self.policy.acquisitions[i]["name"], float(prices[i]), costs[i]] for i in ranked],
            **certain,
        }


class CertainRule:
    """A calibrated policy stops only where its answer is certain enough; 1 minus the certainty is a doubt."""

    KINDS = ("error", "recall", "cost")

    def __init__(self, plain, error_costs):
        self.limit = -1.0 if plain["limit"] is None else plain["limit"]
        self.least, self.risks, self.error_costs = plain["min_confidence"], plain["risks"], error_costs
        for risk in self.risks:
            if risk["kind"] not in self.KINDS or not risk["limit"] > 0:
                raise ValueError(f"a risk must be one of {', '.join(self.KINDS)} with a limit, got {risk['kind']!r}")

    def is_certain(self, answer, shares):
        """Whether a stop with this answer counts; one that refers the case does."""
        if shares is None:
            raise ValueError("a policy with a rule must have class probabilities")
        if answer == len(shares):
            return True
        if self.least is not None and shares[answer] < self.least:
            return False
        strictest = min((risk["limit"] for risk in self.risks), default=1.0)
        doubts = [self.doubt(risk, answer, shares) * (strictest / risk["limit"]) for risk in self.risks]
        return all(doubt <= self.limit for doubt in doubts)

    def doubt(self, risk, answer, shares):
        if risk["kind"] == "recall":
            doubt = 0.0 if answer == risk["label"] else shares[risk["label"]]
        elif risk["kind"] == "error":
            doubt = 1 - shares[answer]
        else:
            doubt = (shares @ self.error_costs[answer] - risk["low"]) / (risk["high"] - risk["low"])
        return min(max(doubt, 0.0), 1.0)


RULES = {"certain": CertainRule}


class Policy:
    """The rules and names of a policy. A subclass decides in ``advise``."""

    def __init__(self, plain):
        self.acquisitions, self.classes, self.rules = plain["acquisitions"], plain["classes"], plain["rules"]
        self.columns = {column["name"]: column for column in plain["columns"]}
        self.user_order, self.parameters = plain["user_order"], plain["parameters"]
        self.groups = [a["features"] for a in self.acquisitions]
        always, places = self.rules.get("always_known", []), range(len(self.groups))
        if type(always) is not list or not all(type(j) is int and j in places for j in always):
            raise ValueError(f"what is always known must be places of acquisitions, got {always!r}")
        self.counts = ~np.isin(places, always)  # for the budget
        self.n_features = sum(map(len, self.groups))
        self.error_costs = self.answer_costs = np.array(self.rules["error_costs"])
        self.answers = self.classes
        if "refer_cost" in self.rules:  # the last answer refers the case to a person
            self.answer_costs = np.vstack([self.error_costs, np.full(len(self.classes), self.rules["refer_cost"])])
            self.answers = [*self.classes, self.rules["refer_label"]]
        self.arrays = {name: read_array(**array) for name, array in plain["arrays"].items()}
        rule = plain.get("rule")
        self.rule = None if rule is None else RULES[rule["kind"]](rule, self.error_costs)
        longest = max(array.size for array in self.arrays.values())
        for name, first in self.arrays.items():
            if (
                re.search("_first$|first_|entry_start$", name)
                and ((np.diff(first, prepend=0) < 0) | (first > longest)).any()
            ):
                raise ValueError(f"{name} must rise from 0, within another array")

    def legal_and_prices(self, taken, spent):
        """Which acquisitions are legal after those ``taken``, apart from ``budget``, and the prices of all."""
        rules, n = self.rules, taken.sum()
        legal, prices = ~taken, np.array([a["price"] for a in self.acquisitions])
        for j, a in enumerate(self.acquisitions):
            touching = taken[a["related"]].sum()
            related = (
                (touching == n if rules["relation"] == "all" else touching > 0) if n else rules["empty_is_related"]
            )
            if rules["relational"] and not related:
                prices[j] = a["unrelated_price"]
                legal[j] &= n == 0 or not rules["forbid_unrelated"]
            legal[j] &= taken[a["needs"]].all()
        if rules["budget_cost"] is not None:
            legal &= spent + prices <= rules["budget_cost"] * (1 + 1e-9)
        return legal, prices

    def range_of_costs(self, prices, stop_cost=None, shares=None):
        """The least and the most that going on with each acquisition can cost; the answer of now can still be given."""
        least = self.answer_costs.min() if shares is None else shares @ self.answer_costs.min(axis=0)
        whole = sum(max(a["price"], a["unrelated_price"]) for a in self.acquisitions)
        most = self.rules["lam"] * whole + np.abs(self.answer_costs).max()
        priced = self.rules["lam"] * prices
        return priced + least, most if stop_cost is None else np.minimum(priced + stop_cost, most)

    def known(self, acquired, legal):
        """The acquisitions that need not be paid any more."""
        some = np.array([acquired[group].any() for group in self.groups])
        return np.array([acquired[group].all() for group in self.groups]) | (some & ~legal)

    def can_change(self, acquired, legal, advice):
        """Whether going on after a stop can change the answer."""
        return advice["beyond"] >= 0

    def follow_rule(self, advice, can_change):
        """Go on where the answer is not certain enough; refer the case where nothing is left, if the rules allow it."""
        if can_change:
            advice["action"] = advice["beyond"]
        elif len(self.answers) > len(self.classes):
            advice["answer"], advice["stop_cost"] = len(self.classes), self.rules["refer_cost"]

    def advice(self, action, beyond, answer, preference, probabilities=None):
        """Acquisitions are -1 for none; expected costs are NaN where there is no estimate."""
        expected, stop_cost = np.full(len(self.groups), np.nan), None
        if probabilities is not None:
            stop_cost = float(probabilities @ self.answer_costs[answer])
        given = {"action": action, "beyond": beyond, "answer": answer, "preference": preference}
        return given | {"expected": expected, "stop_cost": stop_cost, "probabilities": probabilities}


def read_array(dtype, shape, base64):
    if any(n < 0 for n in shape) or math.prod(n for n in shape if n) > max(len(base64), MOST_EMPTY):
        raise ValueError(f"the shape {shape} is not that of the array")
    array = np.frombuffer(b64decode(base64), np.dtype(dtype).newbyteorder("<")).reshape(shape)
    return array.astype(np.int64) if array.dtype.kind in "iu" else array


class Lattice(Policy):
    """At each held subset v of the acquisitions, answer with the classifier of that subset or acquire one more."""

    STOP, ALWAYS, ADAPTIVE = 0, 1, 2

    def __init__(self, plain):
        super().__init__(plain)
        for name, array in self.arrays.items():  # plan.mode becomes self.mode
            setattr(self, name.split(".")[-1], array)
        sizes, inner = np.diff(self.feature_first), np.flatnonzero(self.node_child >= 0)
        for first, child in ((self.child_first, self.child), (self.backup_first, self.backup_child)):
            if (sizes[child] <= np.repeat(sizes, np.diff(first))).any():
                raise ValueError("each move must lead to a larger subset, so that each case ends")
        if (self.node_child[inner] <= inner).any() or (self.cells > MAX_CELLS).any():
            raise ValueError(f"nodes must lead to later ones, and a subset must have at most {MAX_CELLS} cells")

    def part(self, name, v):
        """The entries of subset v of an array."""
        first = getattr(self, f"{name}_first")
        return getattr(self, name)[first[v] : first[v + 1]]

    def advise(self, acquired, values, legal):
        n, self.legal = len(self.groups), legal
        self.is_known = self.known(acquired, legal)
        self.usable = self.is_known | legal
        self.shown = np.zeros(self.n_features, bool)
        for j in np.flatnonzero(self.is_known):
            self.shown[self.groups[j]] = True
        x = np.where(self.shown & acquired, values, np.nan)
        z = np.where(np.isnan(x), 0.0, (x - self.mean) * self.inverse_std)[:, None]
        z = np.concatenate([z, np.maximum(z - self.knots[:, 1:], 0.0)], axis=1)
        self.z = np.clip((z - self.column_mean) * self.inverse_column_std, -6.0, 6.0)
        self.code = (self.thresholds < np.where(np.isnan(x), self.mean, x)[:, None]).sum(axis=1)

        action, v, own = self.next_acquisition()
        beyond = action if action >= 0 else self.acquisition_beyond(v)
        w = v if own else self.best_contained(v, self.answer_cost)
        proba = self.probabilities(w)
        answer, stop_cost = 0, np.inf
        for a, cost in enumerate(self.answer_costs @ proba):
            if cost < stop_cost - 1e-12:
                answer, stop_cost = a, cost
        rank = np.empty(n)
        rank[self.order] = 2 * n + np.arange(n)
        for name, first in (("backup_acquisition", n), ("acquisition", 0)):
            moves = self.moves(name, v)
            rank[moves] = first + np.arange(len(moves))
        advice = self.advice(action, beyond, answer, None, proba)
        advice["place"] = w
        if w == v:
            self.write_expected(advice["expected"], v, action, stop_cost, proba)
        order = np.lexsort((rank, np.nan_to_num(advice["expected"], nan=np.inf)))
        advice["preference"] = -np.argsort(order).astype(float)
        return advice

    def can_change(self, acquired, legal, advice):
        """Only where a held subset is in reach at which answers cost less; what lacks a prerequisite can still come."""
        known = np.array([acquired[group].any() for group in self.groups])
        lacking = np.array([not known[a["needs"]].all() for a in self.acquisitions])
        obtainable = known | legal | lacking | bool(self.rules["forbid_unrelated"])
        in_reach = ~((self.taken > 0) & ~obtainable).any(axis=1)
        better = self.answer_cost < self.answer_cost[advice["place"]] - 1e-12
        return advice["beyond"] >= 0 and bool((in_reach & better).any())

    def moves(self, name, v):
        first = self.child_first if name in ("acquisition", "child") else self.backup_first
        return getattr(self, name)[first[v] : first[v + 1]]

    def write_expected(self, expected, v, action, stop_cost, proba):
        moves, design, wants_other = self.moves("acquisition", v), self.design(v, proba), False
        advantage = self.advantages("theta", v, design)
        expected[moves[: len(advantage)]] = stop_cost + advantage
        if self.mode[v] == self.ADAPTIVE:
            wants_other = (advantage[~self.usable[moves]] < 0).any()
        if action not in moves and (action >= 0 or wants_other):
            advantage = self.advantages("backup_theta", v, design)
            expected[self.moves("backup_acquisition", v)[: len(advantage)]] = stop_cost + advantage
        if not len(self.part("feature", v)):
            prices = self.rules["lam"] * np.asarray(
                self.legal_and_prices(np.zeros(len(self.acquisitions), bool), 0.0)[1]
            )
            expected[moves] = prices[moves] + self.start_value[self.moves("child", v)]
        if action >= 0 and expected[action] > stop_cost:  # all cases go on there, whatever is estimated for this one
            expected[action] = np.nan

    def next_acquisition(self):
        """The acquisition (-1 to answer), the subset at which it is made, whether the policy itself can get there."""
        n_base, root = 0, 0
        if len(self.base) and self.usable[self.base].all():
            open_base = self.base[~self.is_known[self.base]]
            if len(open_base):
                return open_base[0], 0, True
            n_base, root = len(self.base), self.base_place[0]
        j, v, n_free = self.replay(root)
        if n_base + n_free == self.is_known.sum():
            return j, v, True
        start = self.best_contained(root, np.array([self.value_from(v) for v in range(len(self.mode))]))
        return (*(self.replay(start) if start != root else (j, v))[:2], False)

    def value_from(self, v):
        """The mean cost of going on from subset v, less what is known already; of answers where nothing is obtained."""
        moves = np.concatenate([self.moves("acquisition", v), self.moves("backup_acquisition", v)])
        if self.mode[v] != self.STOP and len(self.moves("acquisition", v)) and not self.usable[moves].any():
            return self.answer_cost[v]
        known = self.is_known[self.saving_acquisition[slice(*self.saving_first[v : v + 2])]]
        return self.start_value[v] - self.part("saving", v) @ known

    def best_contained(self, best, loss):
        """The subset of known acquisitions of lowest loss; ``best`` among equal ones."""
        lowest = loss[best]
        for v in range(len(loss)):
            if self.shown[self.part("feature", v)].all() and loss[v] < lowest - 1e-12:
                best, lowest = v, loss[v]
        return best

    def replay(self, v):
        """Move on at no cost while the next acquisition is known."""
        n_free = 0
        while True:
            j, child = self.choose(v)
            if j < 0 or not self.is_known[j]:
                return j, v, n_free
            v, n_free = child, n_free + 1

    def choose(self, v):
        """The acquisition to make at subset v and the subset with it; (-1, v) to answer."""
        moves = self.moves("acquisition", v)
        if self.mode[v] == self.STOP or not len(moves):
            return -1, v
        can = self.usable[moves]
        if self.mode[v] == self.ALWAYS:
            if can[0]:
                return moves[0], self.moves("child", v)[0]
        else:
            advantage = self.advantages("theta", v, self.design(v, self.probabilities(v)))
            best = advantage.argmin() if advantage.min() < 0 else -1
            legal = np.where(can, advantage, np.inf)
            best_legal = legal.argmin() if legal.min() < 0 else -1
            if best == best_legal or not len(self.moves("backup_child", v)):
                return (moves[best_legal], self.moves("child", v)[best_legal]) if best_legal >= 0 else (-1, v)
        return self.choose_backup(v)

    def choose_backup(self, v):
        moves = self.moves("backup_acquisition", v)
        if not len(moves):
            return -1, v
        can, advantage = self.usable[moves], self.advantages("backup_theta", v, self.design(v, self.probabilities(v)))
        best, n = -1, len(advantage)
        if can[:n].any():
            legal = np.where(can[:n], advantage, np.inf)
            best = legal.argmin() if legal.min() < 0 else -1
        elif can[n:].any():
            best = n + can[n:].argmax()
        return (moves[best], self.moves("backup_child", v)[best]) if best >= 0 else (-1, v)

    def acquisition_beyond(self, v):
        """The acquisition if the case goes on after the answer at subset v; -1 if none is legal."""
        moves = self.moves("acquisition", v)
        if self.mode[v] == self.ADAPTIVE and self.legal[moves].any():
            advantage = self.advantages("theta", v, self.design(v, self.probabilities(v)))
            return moves[np.where(self.legal[moves], advantage, np.inf).argmin()]
        rest = [*self.moves("backup_acquisition", v), *self.order]
        return next((j for j in rest if self.legal[j]), -1)

    def probabilities(self, v):
        """Class probabilities by the classifier of subset v."""
        features, n_classes = self.part("feature", v), len(self.classes)
        codes, blended = self.code[features], np.zeros(n_classes)
        if self.blend[v, 0] > 0:  # boosted complete trees
            n_outputs, scores = self.start_score.shape[1], np.zeros(n_classes)
            scores[-n_outputs:] = self.start_score[v]
            for k, t in enumerate(range(*self.tree_first[v : v + 2])):
                node, n_splits = 0, self.split_place.shape[1]
                while node < n_splits:
                    node = 2 * node + 1 + int(codes[self.split_place[t, node]] > self.split_cut[t, node])
                scores[n_classes - n_outputs + k % n_outputs] += self.leaf_value[t, node - n_splits]
            blended += self.blend[v, 0] * softmax(scores)
        if self.blend[v, 1] > 0:  # logistic regression
            coefficient = self.part("coefficient", v).reshape(-1, n_classes)
            blended += self.blend[v, 1] * softmax(coefficient[0] + self.z[features].ravel() @ coefficient[1:])
        if self.blend[v, 2] > 0:  # forest
            shares, roots = np.zeros(n_classes), self.part("root", v)
            for node in roots:
                while self.node_child[node] >= 0:
                    node = self.node_child[node] + int(codes[self.node_place[node]] > self.node_cut[node])
                leaf = -1 - self.node_child[node]
                entries = slice(*self.entry_start[leaf : leaf + 2])
                shares[self.entry_class[entries]] += self.entry_share[entries]
            blended += self.blend[v, 2] * (shares / len(roots) + 0.01 / n_classes) / 1.01
        return softmax(np.log(np.maximum(blended, 1e-12)) / self.temperature[v])

    def design(self, v, p):
        """The numbers from which advantages at subset v are predicted: beliefs, values, an indicator of the cell."""
        features, ranked = self.part("feature", v), np.sort(p)
        beliefs = [1.0, (self.answer_costs @ p).min()]
        if len(p) == 2:
            half = np.clip(0.5 * np.log(max(p[1], 1e-9) / max(p[0], 1e-9)), -6.0, 6.0)
            beliefs += [half, abs(half), 4 * p[0] * p[1], max(abs(half) - 1.0, 0.0)]
        else:
            entropy = -p @ np.log(np.maximum(p, 1e-12))
            beliefs += [ranked[-1], ranked[-1] - ranked[-2], entropy, ranked[-2], *np.sqrt(p)]
        shown = 4 if len(features) <= 4 else 1 if len(features) <= 20 else 0
        cells, cell, stride = np.zeros(self.cells[v]), 0, 1
        if len(cells):
            for i in features:
                cell, stride = cell + stride * self.code[i], stride * self.n_bins[i]
            cells[cell] = 1.0
        return np.concatenate([beliefs, self.z[features, :shown].ravel(), cells])

    def advantages(self, name, v, design):
        """The predicted advantages of the moves at subset v, below 0 better than to answer, as far as they can be."""
        advantage = design @ self.part(name, v).reshape(len(design), -1)
        taken = np.isin([group[0] for group in self.groups], self.part("feature", v))
        moves = self.moves("acquisition" if name == "theta" else "backup_acquisition", v)[: len(advantage)]
        least = self.range_of_costs(self.legal_and_prices(taken, 0.0)[1])[0]
        return np.maximum(advantage, least[moves] - design[1])


class Calibrated:
    """A policy with a temperature for each number of known acquisitions; the last one is that of larger numbers."""

    def __init__(self, policy):
        self.policy, self.temperatures = policy, policy.parameters["temperatures"]
        if not self.temperatures or min(self.temperatures) < 0.01 or max(self.temperatures) > 100:
            raise ValueError("a temperature must be from 0.01 to 100")

    def __getattr__(self, name):
        return getattr(self.policy, name)

    def advise(self, acquired, values, legal):
        advice = self.policy.advise(acquired, values, legal)
        size = sum(acquired[group].any() for group in self.groups)
        raised = advice["probabilities"] ** (1 / self.temperatures[min(size, len(self.temperatures) - 1)])
        proba = raised / raised.sum()
        costs, before = self.answer_costs @ proba, advice["stop_cost"]
        if costs[advice["answer"]] > costs.min() + 1e-12:
            advice["answer"] = costs.argmin()
        stop_cost = float(costs[advice["answer"]])
        return advice | {
            "probabilities": proba,
            "stop_cost": stop_cost,
            "expected": advice["expected"] + stop_cost - before,
        }


def softmax(scores):
    shares = np.exp(scores - scores.max())
    return shares / shares.sum()


MOST_POLICIES = 9  # at eight lists of prices, and at all others


def at_prices(plain, prices):
    """Where prices are by case, the plain policy of a case with these prices by name; others have their mean."""
    named = {a["name"]: a["price"] for a in plain["acquisitions"]}
    listed = list((named | prices).values())
    if len(listed) > len(named) or not all(0 <= price < math.inf for price in listed):
        raise ValueError(f"prices must be 0 or more, of {', '.join(named)}, got {prices}")
    policies = plain.get("policies", [{}])
    part = next((one for one in policies if one.get("prices") == listed), policies[-1])
    acquisitions = [a | {"price": price} for a, price in zip(plain["acquisitions"], listed, strict=True)]
    return plain | part | {"acquisitions": acquisitions, "rules": plain["rules"] | {"costs_by_case": False}}


def read_policy(text, kinds={"lattice": Lattice}, prices=None):  # noqa: B006
    """The policy in a JSON text, as one of the classes in ``kinds``; ValueError if it is of another format or kind.

    ``prices`` are those of one case by name, of a policy with prices by case; by default the means of the training.
    """
    plain = json.loads(text)
    if plain.get("format") not in ("fsgym-policy-1", "fsgym-policy-2"):
        raise ValueError(f"the policy must be of the format fsgym-policy-1 or -2, got {plain.get('format')!r}")
    by_case = plain["rules"].get("costs_by_case", False)
    if "rule" in plain and plain["rule"]["kind"] not in RULES:
        raise ValueError(f"the policy stops by a rule that this interpreter does not know: {plain['rule']['kind']!r}")
    if prices is not None and not by_case:
        raise ValueError("the policy has one price for each acquisition, whatever the case; leave prices out")
    if by_case:
        if not 0 < len(plain.get("policies", [{}])) <= MOST_POLICIES:
            raise ValueError(f"a policy with prices by case must have 1 to {MOST_POLICIES} policies")
        plain = at_prices(plain, prices or {})
    if plain["kind"] not in kinds:
        raise ValueError(f"the policy is of the kind {plain['kind']!r}; interpret_other_policies.py reads all kinds")
    policy = kinds[plain["kind"]](plain)
    return Calibrated(policy) if "temperatures" in policy.parameters else policy


def main(path, known="{}", prices=None, kinds={"lattice": Lattice}):  # noqa: B006
    """Print the step of one case."""
    with open(path, encoding="utf-8") as file:
        policy = read_policy(file.read(), kinds, None if prices is None else json.loads(prices))
    step = Case(policy, json.loads(known)).step()
    print(json.dumps(step, indent=1))
    return step


if __name__ == "__main__":
    main(*sys.argv[1:])
