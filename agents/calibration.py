"""Calibrated probabilities: a temperature for each number of known acquisitions, and the policy that applies them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from agents.policy import AdviseRows, DelegatingPolicy, Policy
from fsgym.envs.trajectories import Trajectories
from fsgym.rules import Rules, State
from fsgym.rules.rules import cheapest_answers
from fsgym.session.step import Advice
from fsgym.session.walk import Walk
from fsgym.text.messages import explain_unknown

Calibration = Literal["none", "auto", "temperature"]
CALIBRATIONS = ("none", "auto", "temperature")

TEMPERATURES = "temperatures"  # in the header of a model file, and in the parameters of an exported policy
LIMITS = (0.25, 4.0)  # of a fitted temperature; by hand
FILE_LIMITS = (0.01, 100.0)  # of one in a file
SHRINKAGE = 10.0  # states that the common temperature counts as at each size; by hand
TOLERANCE = 1e-3  # of the logarithm of a temperature
MIN_PROBA = 1e-12  # probabilities are raised to it before a logarithm
TIE = 1e-12  # error costs that differ by less count as equal
N_PARTS = 5  # the folds of the training are united to so many parts, each of which judges temperatures of the others
MAX_STATES = 20_000  # from which temperatures are fitted, so that the time stays small
# Standard errors by which "auto" must lower the log-loss. Measured on 14 small sets, five prices, two splits, mean
# log-loss at the stop: mixture without .4181, 0 .4108, .5 .4120, 1 .4134; lattice (one split) .3846 and 0 .3848, others
# .3849.
MARGIN = 0.5


class PathStates(NamedTuple):
    """The states of training rows on the policy's own paths, from the first one to the stop, out of fold."""

    probabilities: NDArray[np.float64]  # (n_states, n_classes)
    y: NDArray[np.int64]  # (n_states,), the true classes
    size: NDArray[np.int64]  # (n_states,), the number of known acquisitions
    stop: NDArray[np.bool_]  # (n_states,), whether the policy answers there
    fold: NDArray[np.int64]  # (n_states,), of the row
    weight: NDArray[np.float64]  # (n_states,), of the row

    def select(self, index: Any) -> PathStates:
        """Some of the states."""
        return PathStates._make(array[index] for array in self)


def check_calibration(calibration: Any) -> Calibration:
    """ValueError unless it is one of ``CALIBRATIONS``."""
    if not isinstance(calibration, str) or calibration not in CALIBRATIONS:
        raise ValueError(explain_unknown("calibration", calibration, CALIBRATIONS))
    return calibration


def tempered(probabilities: NDArray[np.float64], temperature: Any) -> NDArray[np.float64]:
    """Probabilities ``p ** (1 / T)``, divided by their sum (Guo et al., 2017); T above 1 makes them less certain.

    The order of the classes stays the same.

    Parameters
    ----------
    probabilities : float64 (n, n_classes)
    temperature : float, or float64 (n,)

    References
    ----------
    Guo, Pleiss, Sun and Weinberger (2017), On calibration of modern neural networks, section 4.2.

    Examples
    --------
    >>> tempered(np.array([[0.9, 0.1], [0.9, 0.1]]), np.array([1.0, 2.0])).round(3).tolist()
    [[0.9, 0.1], [0.75, 0.25]]
    """
    raised = probabilities ** (1.0 / np.broadcast_to(temperature, len(probabilities)))[:, None]
    return raised / raised.sum(axis=1, keepdims=True)


def temperatures_at(sizes: NDArray[np.int64], temperatures: NDArray[np.float64]) -> NDArray[np.float64]:
    """The temperature of each size; of larger ones than there are, the last temperature."""
    return temperatures[np.minimum(sizes, len(temperatures) - 1)]


def fit_temperatures(states: PathStates) -> NDArray[np.float64]:
    """A temperature for each size, and the common one as the last entry, float64 (largest size + 2,).

    The common one, T, has the lowest mean log-loss of all states; that of size m minimises the mean log-loss of the n
    states of this size plus ``(SHRINKAGE / n) (ln T_m - ln T) ** 2``, so that a size of few states has about the common
    one.
    """
    log_proba = np.log(np.maximum(states.probabilities, MIN_PROBA))
    common = _fit_temperature(log_proba, states.y, states.weight, 0.0, 0.0)
    found = np.full(int(states.size.max()) + 2, common)
    for m in np.unique(states.size):
        here = states.size == m
        found[m] = _fit_temperature(log_proba[here], states.y[here], states.weight[here], common, SHRINKAGE)
    return np.exp(found)


def _fit_temperature(
    log_proba: NDArray[np.float64],
    y: NDArray[np.int64],
    weight: NDArray[np.float64],
    centre: float,
    shrinkage: float,
) -> float:
    """The logarithm of the temperature of least log-loss; ``shrinkage`` states count for that of ``centre``."""
    of_truth = weight @ log_proba[np.arange(len(y)), y]

    def loss(log_temperature: float) -> float:
        scores = log_proba / np.exp(log_temperature)  # at most 0, and one at least -log(n_classes) / T
        log_total = np.log(np.exp(scores).sum(axis=1))
        total = float(weight @ log_total - of_truth / np.exp(log_temperature))
        return total + shrinkage * (log_temperature - centre) ** 2

    low, high = np.log(LIMITS)
    return float(minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": TOLERANCE}).x)


def choose_temperatures(
    states: PathStates, calibration: Calibration, answer_costs: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """The temperatures of each size, see ``fit_temperatures``; None for probabilities as they are.

    "none" chooses none and "temperature" always fits. "auto" fits them where temperatures of the other folds lower the
    mean log-loss of the states at the stop by more than ``MARGIN`` standard errors, and do not raise the mean cost of
    the answers there by more than that: a temperature above 1 lifts all small probabilities, which moves answers to the
    middle where far errors cost more than near ones.
    """
    if calibration == "none":
        return None
    states = states.select(slice(None, None, -(-len(states.y) // MAX_STATES)))
    if calibration == "temperature":
        return fit_temperatures(states)
    gains, dearer, weights, part = [], [], [], states.fold % N_PARTS
    for k in np.unique(part):
        others, judged = states.select(part != k), states.select((part == k) & states.stop)
        if len(others.y) and len(judged.y):
            by_size = temperatures_at(judged.size, fit_temperatures(others))
            gains.append(_log_of_truth(judged, by_size) - _log_of_truth(judged, 1.0))
            dearer.append(_paid_for(judged, by_size, answer_costs) - _paid_for(judged, 1.0, answer_costs))
            weights.append(judged.weight)
    if not gains:  # all states are of one part
        return None
    share = np.concatenate(weights)
    share /= share.sum()
    gain, gain_error = _mean_and_error(np.concatenate(gains), share)
    more, more_error = _mean_and_error(np.concatenate(dearer), share)
    return fit_temperatures(states) if gain > MARGIN * gain_error and more <= MARGIN * more_error else None


def _mean_and_error(values: NDArray[np.float64], share: NDArray[np.float64]) -> tuple[float, float]:
    mean = share @ values
    return float(mean), float(np.sqrt(share**2 @ (values - mean) ** 2))


def _paid_for(states: PathStates, temperature: Any, answer_costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The cost of the cheapest answer by tempered probabilities at each state."""
    answers = cheapest_answers(tempered(states.probabilities, temperature), answer_costs)
    return answer_costs[answers, states.y]


def _log_of_truth(states: PathStates, temperature: Any) -> NDArray[np.float64]:
    """The logarithm of the probability of each state's true class."""
    proba = tempered(states.probabilities, temperature)
    return np.log(np.maximum(proba[np.arange(len(proba)), states.y], MIN_PROBA))


def calibrated(policy: Policy, states: PathStates, calibration: Calibration) -> Policy:
    """The policy with probabilities calibrated on its own paths, or as it is where that does not help."""
    temperatures = choose_temperatures(states, calibration, policy.rules.answer_costs)
    return policy if temperatures is None else TemperedPolicy(policy, temperatures)


@dataclass(frozen=True, eq=False)
class TemperedPolicy(DelegatingPolicy):
    """A policy with tempered probabilities; it acquires what the policy inside does, and stops where that one does.

    The answer is the class of the lowest expected error cost by the tempered probabilities. If all errors cost the
    same, it is the answer of the policy inside.

    Raises
    ------
    ValueError
        If a temperature is out of range.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from agents import MixtureClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = MixtureClassifier(lam=0.05, calibration="temperature", random_state=0).fit(X[:, [6, 10]], y)
    >>> model.policy_.temperatures.round(1).tolist()  # with no value known, one, both; and the common one
    [0.9, 0.8, 0.8, 0.8]
    """

    policy: Policy  # with probabilities
    # (n_sizes,), by the number of known acquisitions; the last one is also that of all larger numbers
    temperatures: NDArray[np.float64]

    def __post_init__(self) -> None:
        low, high = FILE_LIMITS
        t = self.temperatures
        if t.ndim != 1 or t.dtype != np.float64 or not len(t) or not ((t >= low) & (t <= high)).all():
            raise ValueError(f"the temperatures must be a list of numbers from {low} to {high}")

    @property
    def kind(self) -> str:  # type: ignore[override]
        """The kind of the policy inside."""
        return self.policy.kind

    @property
    def rules(self) -> Rules:  # type: ignore[override]
        """The rules of the policy inside."""
        return self.policy.rules

    @property
    def is_tempered(self) -> bool:
        return True

    def at_prices(self, costs: NDArray[np.float64]) -> TemperedPolicy:
        return replace(self, policy=self.policy.at_prices(costs))

    def advise(self, acquired: NDArray[np.bool_], values: NDArray[np.float32], legal: NDArray[np.bool_]) -> Advice:
        """The advice in n states; parameters as for ``Policy.advise``.

        The expected costs of acquisitions change by as much as that of answering.
        """
        return self._tempered_advice(self.policy.advise(acquired, values, legal), acquired)

    def advising(self, n_rows: int) -> AdviseRows:
        advise = self.policy.advising(n_rows)
        return lambda rows, acquired, *state: self._tempered_advice(advise(rows, acquired, *state), acquired)

    def _tempered_advice(self, advice: Advice, acquired: NDArray[np.bool_]) -> Advice:
        J = self.rules.n_acquisitions
        assert advice.probabilities is not None
        proba = self._tempered(advice.probabilities, acquired)
        answers = self._answers(proba, advice.answers)
        stop_cost = (proba * self.rules.answer_costs[answers]).sum(axis=1)
        return advice._replace(
            actions=np.where(advice.actions < J, advice.actions, J + answers),
            answers=answers,
            expected=advice.expected + (stop_cost - advice.stop_cost)[:, None],
            stop_cost=stop_cost,
            probabilities=proba,
        )

    def walk(self, state: State) -> Walk:
        """That of the policy inside where all errors cost the same, so that its answers stay."""
        C = self.rules.error_costs
        alike = np.ptp(C[~np.eye(len(C), dtype=bool)]) == 0 and np.ptp(np.diag(C)) == 0 and C[0, 0] < C[0, 1]
        return self.policy.walk(state) if alike and self.rules.refer_cost is None else super().walk(state)

    def state_probabilities(
        self,
        acquired: NDArray[np.bool_],
        values: NDArray[np.float32],
        missing: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.float64]:
        proba = self.policy.state_probabilities(acquired, values, missing)
        assert proba is not None
        return self._tempered(proba, acquired)

    def _trajectories(self, X: NDArray[np.float32], rules: Rules) -> Trajectories:
        done = self.policy._trajectories(X, rules)
        assert done.probabilities is not None
        proba = self._tempered(done.probabilities, done.acquired)
        return replace(done, probabilities=proba, answers=self._answers(proba, done.answers))

    def _tempered(self, proba: NDArray[np.float64], acquired: NDArray[np.bool_]) -> NDArray[np.float64]:
        return tempered(proba, temperatures_at(known_sizes(acquired, self.rules), self.temperatures))

    def _answers(self, proba: NDArray[np.float64], answers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The answers of least expected cost; the given ones, unless another costs less by more than rounding."""
        cost = proba @ self.rules.answer_costs.T
        stays = np.take_along_axis(cost, answers[:, None], axis=1)[:, 0] <= cost.min(axis=1) + TIE
        return np.where(stays, answers, cost.argmin(axis=1))

    def to_arrays(self) -> tuple[dict[str, NDArray], dict[str, Any]]:
        arrays, header = self.policy.to_arrays()
        return arrays, header | {TEMPERATURES: self.temperatures.tolist()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], header: Mapping[str, Any], rules: Rules) -> Self:
        raise NotImplementedError("use read_policy, which knows the class of the policy inside")


def known_sizes(acquired: NDArray[np.bool_], rules: Rules) -> NDArray[np.int64]:
    """The number of acquisitions of which something is known, int64 (n,)."""
    return rules.acquisitions_of(acquired).sum(axis=1)


def read_policy(
    policy_class: type[Policy], arrays: Mapping[str, NDArray], header: Mapping[str, Any], rules: Rules
) -> Any:
    """The policy from arrays and a header, with its temperatures if there are any; raises as ``from_arrays``."""
    if rules.costs_by_case and not policy_class.takes_case_costs:
        raise ValueError(f"a policy of {policy_class.kind!r} has no prices by case, got rules with them")
    policy = policy_class.from_arrays(arrays, header, rules)
    if TEMPERATURES not in header:
        return policy
    found = header[TEMPERATURES]
    if not isinstance(found, list) or not all(type(t) in (int, float) for t in found):
        raise ValueError("the temperatures must be a list of numbers")
    return TemperedPolicy(policy, np.array(found, dtype=np.float64))
