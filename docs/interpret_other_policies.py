"""The other kinds of policies, beside interpret_policy.py: linear, network, mixture and any-state network.

python docs/interpret_other_policies.py policy.json '{"age": 61, "ward": "icu"}'
"""

import sys
from itertools import pairwise

import numpy as np
from interpret_policy import Lattice, Policy, main, softmax


class Scored(Policy):
    """The legal action of the highest score. A subclass has ``scores`` of the acquisitions, then the answers."""

    def advise(self, acquired, values, legal):
        n, is_known = len(self.groups), self.known(acquired, legal)
        action, scores = self.replay(acquired, values, legal, is_known, False)
        beyond = action if action < n else self.replay(acquired, values, legal, is_known, True)[0]
        best = scores[n:].argmax()
        if not acquired.any() and self.parameters["empty_answer"] >= 0:
            best = self.parameters["empty_answer"]
        answer = action - n if action >= n else best
        advice = self.advice(*(j if j < n else -1 for j in (action, beyond)), answer, scores[:n].astype(float))
        if self.parameters.get("algorithm") == "dqn":  # its scores are expected returns
            costs = -scores.astype(float) * (np.abs(self.error_costs).max() or 1.0)
            advice["expected"], advice["stop_cost"] = costs[:n], float(costs[n + answer])
        return advice

    def replay(self, acquired, values, legal, is_known, beyond):
        """The first action from the empty state on that is no known acquisition, and the scores before it."""
        n, order, spent, candidates = len(self.groups), [], 0.0, is_known | legal
        while len(order) <= n:
            taken = np.isin(np.arange(n), order)
            now, prices = self.legal_and_prices(taken, spent)
            waits = [candidates[j] and not now[j] and self.legal_after(j, is_known, spent) for j in range(n)]
            allowed = candidates & ~taken & ~np.array(waits)
            if beyond and not allowed.any():
                allowed = candidates & ~taken
            scores = self.scores([i for j in order for i in self.groups[j] if acquired[i]], values)
            if not allowed.any() and not order and self.parameters["empty_answer"] >= 0:
                return n + self.parameters["empty_answer"], scores
            answers = np.full(len(self.answers), not (beyond and allowed.any()))
            action = np.where([*allowed, *answers], scores, -np.inf).argmax()
            if action >= n or not is_known[action]:
                return action, scores
            order.append(action)
            spent += prices[action]
        raise ValueError("an acquisition must not be made twice")

    def legal_after(self, j, is_known, spent):
        others = is_known.copy()
        others[j] = False
        return self.legal_and_prices(others, spent)[0][j]

    def scaled(self, values, most):
        scaled = ((values - self.arrays["offset"]) * self.arrays["scale"]).astype(np.float32)
        return np.clip(scaled, -np.float32(most), np.float32(most))


class Linear(Scored):
    """Linear scores of the known features, in float32."""

    def scores(self, features, values):
        scores, x = self.arrays["intercepts"].clip(-1e29), self.scaled(values, 1e9).astype(float)
        for i in features:
            mask, slope = self.arrays["weights"][i].astype(float)
            scores = scores + (mask + x[i] * slope).astype(np.float32)
        if self.parameters["logistic"]:
            n = len(self.groups)
            logits = scores[n : n + len(self.classes)].astype(float)
            proba = np.exp(logits - logits.max())
            scores[n:] = -self.answer_costs @ (proba / proba.sum())
        return scores


class Network(Scored):
    """The outputs of a network of the mask and of the scaled values, in float32."""

    def scores(self, features, values):
        mask = np.isin(np.arange(self.n_features), features).astype(np.float32)
        signal = np.concatenate([mask, np.where(mask, self.scaled(values, 10), 0)]).astype(np.float32)
        hidden, dqn = len(self.parameters["hidden"]), self.parameters["algorithm"] == "dqn"
        trunk = "q_net.q_net" if dqn else "mlp_extractor.policy_net"
        names = [f"{trunk}.{2 * k}" for k in range(hidden)]
        for name in [*names, f"{trunk}.{2 * hidden}" if dqn else "action_net"]:
            signal = self.arrays[f"network.{name}.weight"] @ signal + self.arrays[f"network.{name}.bias"]
            if name in names:
                signal = np.maximum(signal, 0) if dqn else np.tanh(signal)
        return np.nan_to_num(signal)


class AnyState(Policy):
    """The preferred acquisition as long as a regression on numbers of the state says that going on is worth it."""

    def __init__(self, plain):
        super().__init__(plain)
        unit = self.parameters.get("unit", 1.0)
        if type(unit) not in (int, float) or not 0 < unit < np.inf:
            raise ValueError(f"its unit of costs is no number above 0: {unit!r}")

    @property
    def regrets(self):
        return self.answer_costs - self.answer_costs.min(axis=0)

    @property
    def deciding(self):
        """The costs of answers by which it decides: regrets, or where no unit is said costs as they are."""
        return self.regrets if "unit" in self.parameters else self.answer_costs

    def advise(self, acquired, values, legal):
        any_known = np.array([acquired[group].any() for group in self.groups])
        prices = self.rules["lam"] * self.legal_and_prices(any_known, 0.0)[1]
        skipped = legal & np.isin(np.arange(len(legal)), self.arrays.get("skipped", []))
        first = legal & ~self.counts
        open_ = legal & ~skipped & ~first  # the stop rule was learnt where all that comes first is made
        proba, preference, inputs = self.estimate(acquired, values, open_, prices)
        preference = np.where(skipped, -1e300, preference)
        costs, floor, later = self.deciding @ proba, self.deciding.min(), preference.argmax()
        advantage = self.advantage(proba, costs.min() - floor, prices[later], inputs)
        pays = open_.any() and costs.min() - floor > prices[later] and advantage < 0
        pays = pays and (any_known & self.counts).sum() < self.arrays.get("most", [np.inf])[0]
        preference = np.where(first, 1e300, preference)
        preferred = preference.argmax()
        wanted = legal.any() and not skipped[preferred]
        beyond = preferred if legal.any() else -1
        goes_on = wanted and (pays or first.any())
        advice = self.advice(preferred if goes_on else -1, beyond, costs.argmin(), preference, proba)
        if wanted:
            stop_cost = (self.answer_costs @ proba).min()
            advice["expected"][preferred] = stop_cost + (0.0 if first.any() and not pays else advantage)
        return advice

    def advantage(self, proba, excess, price, inputs):
        unit = np.abs(self.deciding).max() or 1.0
        entropy, ranked, e = -proba @ np.log(np.maximum(proba, 1e-12)), np.sort(proba)[::-1], excess / unit
        logs = [np.log(e + 1e-3), np.log((e + 1e-3) / (price / unit + 1e-3))]
        numbers = np.array([e, *logs, ranked[0], ranked[1], entropy, *inputs])
        z = np.clip((numbers - self.arrays["stop.centre"]) / self.arrays["stop.scale"], -4.0, 4.0)
        hinges = np.maximum(z[:, None] - self.arrays["stop.knots"], 0.0)
        return np.concatenate([[1.0], z, hinges.ravel()]) @ self.arrays["stop.theta"]


class Mixture(AnyState):
    """A mixture of each class, in which variables are independent; the most informative acquisition per price."""

    def __init__(self, plain):
        super().__init__(plain)
        self.__dict__ |= {name.removeprefix("model."): array for name, array in self.arrays.items()}
        levels = np.diff(self.first_level)
        self.first_column = np.concatenate([[0], np.cumsum(np.where(levels == 0, 3, levels))])
        n = len(self.class_of)
        self.points = [self.mass[a:b].reshape(n, -1).astype(float) for a, b in pairwise(self.first_point)]

    def code(self, v, acquired, values):
        """The code of variable v, NaN where it is not known."""
        features, levels = (
            getattr(self, n)[slice(*getattr(self, f"first_{n}")[v : v + 2])] for n in ("feature", "level")
        )
        knots = slice(*self.first_knot[v : v + 2])
        x = values[features]
        if not acquired[features].all():
            return np.nan
        if len(x) > 1:
            return float((x > 0.5).argmax()) if (x > 0.5).any() else np.nan
        if len(levels):
            return float(np.searchsorted((levels[1:] + levels[:-1]) / 2, x[0]))  # the nearest one
        if knots.start < knots.stop:
            return np.interp(x[0], self.knot[knots], self.score[knots])
        return np.clip((x[0] - self.center[v]) / self.scale[v], -6.0, 6.0)

    def estimate(self, acquired, values, legal, prices):
        evidence, n_known = np.zeros(len(self.class_of)), 0
        for v, column in enumerate(self.first_column[:-1]):
            z = self.code(v, acquired, values)
            if np.isnan(z):
                continue
            n_known += 1
            if self.first_level[v] == self.first_level[v + 1]:
                evidence += (self.theta[column] + self.theta[column + 1] * z) * z + self.theta[column + 2]
            else:
                evidence += self.theta[column + int(z)]
        joint = softmax((1.0 + n_known) ** self.parameters["count_power"] * evidence + self.log_share)
        proba = np.bincount(self.class_of, joint, len(self.classes))
        active = joint > 1e-3
        joint[active] /= joint[active].sum()
        unit = self.parameters.get("unit", 1.0)
        cost, gains = (self.deciding @ proba).min(), np.zeros((len(legal), 2))
        for j in np.flatnonzero(legal):
            gains[j] = self.gains(self.points[j][active], joint[active], self.class_of[active])
            gains[j, 0] = max(cost - gains[j, 0], 0.0) / unit
        prices = prices / unit
        total = prices[legal].sum()
        least = 0.01 * total / legal.sum() if total > 0 else 1.0
        preference = np.where(legal, gains @ [1.0, self.parameters["weights"][2]] / np.maximum(prices, least), -np.inf)
        inputs = np.zeros(11)
        inputs[9] = np.sqrt(n_known) / 3.0
        if legal.any():
            excess = (cost - self.deciding.min()) / unit
            self.write_inputs(inputs, excess, (proba, joint), gains, prices, preference)
        return proba, preference, inputs

    def gains(self, table, joint, class_of):
        """The remaining error cost after an acquisition, and the information about class and component."""
        mass = joint[:, None] * table
        by_class = np.array([mass[class_of == k].sum(axis=0) for k in np.unique(class_of)])
        entropy = -sum_x_log_x(by_class.sum(axis=0))
        remaining = (self.deciding[:, np.unique(class_of)] @ by_class).min(axis=0).sum()
        within = joint @ [entropy_of(row) for row in table]
        return remaining, entropy - within

    def write_inputs(self, inputs, cost, shares, gains, prices, preference):
        ranked = np.argsort(-preference, kind="stable")
        best, least = ranked[0], cost + 1e-3
        legal = np.isfinite(preference)
        entropies = [entropy_of(p) for p in shares]
        inputs[:9] = [
            cost,
            np.log(least) / 3.0,
            gains[best, 0] / least,
            gains[legal, 0].max() / least,
            (gains[:, 0] - prices)[legal].max() / least,
            entropies[0],
            entropies[1] - entropies[0],
            gains[best, 1],
            prices[best] / least,
        ]
        if legal.sum() > 1 and preference[ranked[1]] > 0:
            inputs[10] = np.log(preference[best] / preference[ranked[1]])
        inputs[:] = np.clip(inputs, -10.0, 10.0)


def entropy_of(p):
    return -(p[p > 0] * np.log(p[p > 0])).sum()


def sum_x_log_x(x):
    """By the policy's own logarithm, a series in the mantissa with an error below 1e-9.

    Where nothing is left to learn, this error is what ranks the acquisitions.
    """
    mantissa, exponent = np.frexp(x)
    s = (2 * mantissa - np.sqrt(2)) / (2 * mantissa + np.sqrt(2))
    q = s * s
    series = 1 + q * (1 / 3 + q * (1 / 5 + q * (1 / 7 + q * (1 / 9))))
    return x @ ((exponent - 0.5) * np.log(2) + 2 * s * series)


class AnyStateNetwork(AnyState):
    """Networks for class probabilities and for the ranking of acquisitions, in float32."""

    def estimate(self, acquired, values, legal, prices):
        e = {name.split(".")[-1]: array for name, array in self.arrays.items() if name.startswith("model.")}
        known, x = acquired[e["features"]], values[e["features"]]
        z = np.where(known, np.clip((x - e["center"]) / e["scale"], -5, 5), 0).astype(np.float32)
        hinges = np.clip((np.maximum(z - e["knots"], 0) - e["shift"]) / e["spread"], -5, 5)
        inputs = np.concatenate([z, np.where(known, hinges, 0).ravel(), known]).astype(np.float32)
        sizes, n = self.parameters["hidden"], len(e["predictors"])
        scores = sum(outputs(p, [len(inputs), *sizes[0], len(self.classes)], inputs) for p in e["predictors"])
        scores = scores * np.float32(1 / (self.parameters["temperature"] * n))
        proba = softmax((scores - scores.max()).astype(float))
        unit = self.regrets[: len(self.classes)].max() or 1.0
        p = proba.astype(np.float32)
        error = ((self.regrets / unit).astype(np.float32) @ p).min()
        inputs = np.concatenate([inputs, p, [error]]).astype(np.float32)
        outs = outputs(e["ranking"], [len(inputs), *sizes[1], len(e["candidates"]) + 1], inputs)
        cheap = np.minimum(prices[e["candidates"]] / unit, 1e6).astype(np.float32)
        advantage = cheap - error * outs[:-1]
        preference = np.where(legal, -1e6 * unit, -np.inf)
        can = legal[e["candidates"]]
        preference[e["candidates"][can]] = -advantage[can].astype(float) * unit
        ranked = np.sort(advantage[can].astype(float))
        reduction = max(0.0, *(cheap - advantage)[can].astype(float)) if can.any() else 0.0
        gain, floor = error * np.clip(outs[-1], np.float32(0), np.float32(1)), float(error) + 1e-3
        best_price = cheap[np.where(can, advantage, np.inf).argmin()].astype(float) if can.any() else 0.0
        numbers = [
            np.log(floor),
            reduction / floor,
            (best_price - gain) / floor if can.any() else 0.0,
            known.sum() / len(known),
            ranked[1] - ranked[0] if len(ranked) > 1 else 0.0,
        ]
        return proba, preference, np.array(numbers, float)


def outputs(parameters, sizes, x):
    """The outputs of rectified layers, float32; the parameters of a layer are weights (n_in, n_out), then biases."""
    first = 0
    for k, (n, m) in enumerate(pairwise(sizes)):
        weights, biases = parameters[first : first + n * m].reshape(n, m), parameters[first + n * m : first + n * m + m]
        active = np.flatnonzero(x > 0 if k else x)
        x = np.add.accumulate([biases, *(x[active, None] * weights[active])])[-1]  # in this order, in float32
        first += (n + 1) * m
    return x


KINDS = {"lattice": Lattice, "linear": Linear, "network": Network, "mixture": Mixture, "any_network": AnyStateNetwork}

if __name__ == "__main__":
    main(*sys.argv[1:], kinds=KINDS)
