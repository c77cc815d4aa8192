"""Stop only where an answer is certain enough: the threshold that keeps what is promised, found on rows of one's own.

A policy that stops somewhere goes on in its order while its answer is not certain enough, and answers where nothing is
left to acquire. How certain is certain enough is chosen by Learn then Test (Angelopoulos et al., 2021) along a fixed
sequence of thresholds: it starts at the strictest one, never to stop early, and ends before the first that fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from fsgym.data.row_groups import encode_row_groups
from fsgym.envs.trajectories import price_orders
from fsgym.evaluation import risk_control
from fsgym.rules import Rules
from fsgym.rules.labels import is_frame, position_of
from fsgym.session.step import Certainty
from fsgym.support.arrays import array_form, digest_of_form
from fsgym.support.checks import check_choice, check_number
from fsgym.text.messages import brief, listing
from fsgym.text.speech import cost_text, money_text, number_text, said

# The largest doubt, 1 minus the certainty, at which a stop counts, from the strictest on. The first lets no early stop
# count. By hand; measured on digits at a limit of .05: 8 thresholds 21.9 features, 20 18.3, 81 17.4, 600 17.2.
LIMITS = np.concatenate([[-1.0], 10.0 ** np.linspace(-5, 0, 79)])
NEVER = 0  # the place of the first
# Rows of the training among those to calibrate on, beyond equal rows by chance: a share, and standard errors; by hand
MAX_SHARE_TRAINED, N_ERRORS_OF_SHARE = 0.05, 3.0
BROKEN_AT = 0.05  # p-value at which a promise is said to be broken
MIN_DOUBT = 1e-6  # that is said in figures; by hand
KINDS = ("error", "recall", "cost")
TESTS = {
    "betting": risk_control.betting_p_value,
    "hoeffding-bentkus": risk_control.hoeffding_bentkus_p_value,
}


class Risk(NamedTuple):
    """What is promised to be at most a limit.

    Attributes
    ----------
    kind : "error", the share of wrong answers; "recall", of a class; "cost", the mean error cost
    target : float, as it was given: a share of wrong answers, a recall, or a cost
    limit : float between 0 and 1
        The share of wrong answers; the share of the rows of a class that are missed; the mean error cost, mapped to 0
        for the lowest entry of the error costs and 1 for the highest.
    label : int, the class code of a recall, else -1
    name : str, the label of that class, else ""
    low, high : float, the lowest and the highest error cost, for a cost
    """

    kind: str
    target: float
    limit: float
    label: int = -1
    name: str = ""
    low: float = 0.0
    high: float = 1.0

    def __str__(self) -> str:
        if self.kind == "recall":
            return f"a recall of {self.name} of {self.target:g}"
        return f"a share of wrong answers of {self.target:g}" if self.kind == "error" else f"a cost of {self.target:g}"

    def doubts(
        self, answers: NDArray[np.int64], probabilities: NDArray[np.float64], error_costs: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The expected loss of n answers, float64 (n,) between 0 and 1: 1 minus how certain they are.

        For an error the probability of all other classes; for the recall of a class its probability, 0 where it is the
        answer; for a cost the expected error cost, mapped as ``limit``.
        """
        if self.kind == "recall":
            doubts = np.where(answers == self.label, 0.0, probabilities[:, self.label])
        elif self.kind == "error":
            doubts = 1 - probabilities[np.arange(len(answers)), answers]
        else:
            doubts = self._mapped((probabilities * error_costs[answers]).sum(axis=1))
        return doubts.clip(0.0, 1.0)

    def losses(
        self, answers: NDArray[np.int64], y: NDArray[np.int64], error_costs: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The losses of answers (n, ...) to rows of the classes ``y`` (n,), between 0 and 1."""
        y = y.reshape(-1, *[1] * (answers.ndim - 1))
        if self.kind == "cost":
            return self._mapped(error_costs[answers, y])
        return (answers != y).astype(np.float64)

    def _mapped(self, costs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Error costs, mapped to 0 for the lowest and 1 for the highest."""
        return (costs - self.low) / (self.high - self.low)

    def counted(self, y: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which rows count, bool (n,): those of the class for a recall, else all."""
        return y == self.label if self.kind == "recall" else np.ones(len(y), bool)


def promised_risks(
    target_error: Any, target_recall: Any, target_error_cost: Any, classes: Sequence[Any], error_costs: NDArray
) -> tuple[Risk, ...]:
    """The risks that the targets of ``calibrate`` limit, checked."""
    risks = []
    if target_error is not None:
        limit = _share(target_error, "target_error")
        risks.append(Risk("error", limit, limit))
    if target_recall is not None:
        if not isinstance(target_recall, Mapping) or not target_recall:
            raise TypeError(
                f"target_recall must map classes to recalls, as {{{str(classes[-1])!r}: 0.95}}, got "
                f"{brief(target_recall)}"
            )
        for label, given in target_recall.items():
            code = position_of(label, classes, "target_recall", "class")
            recall = _share(given, f"target_recall of {str(label)!r}")
            risks.append(Risk("recall", recall, round(1 - recall, 15), code, str(classes[code])))
    if target_error_cost is not None:
        low, high = float(error_costs.min()), float(error_costs.max())
        cost = check_number(target_error_cost, "target_error_cost", low)
        if not low < cost < high:
            raise ValueError(
                f"target_error_cost must be above {low:g} and below {high:g}, the lowest and the highest error cost, "
                f"got {cost:g}"
            )
        risks.append(Risk("cost", cost, (cost - low) / (high - low), low=low, high=high))
    return tuple(risks)


def _share(value: Any, what: str) -> float:
    share = check_number(value, what, 0.0)
    if not 0 < share < 1:
        raise ValueError(f"{what} must be above 0 and below 1, got {share:g}")
    return share


class PathRecord(NamedTuple):
    """What a policy says at each step of n rows that go on past its stops, as far as anything can change.

    The steps of row i are ``first[i]`` to ``first[i + 1]``; there is at least one, and the last one is an answer.

    Attributes
    ----------
    first : int64 (n + 1,)
    stops : bool (n_steps,), whether the policy itself would stop there
    answers : int64 (n_steps,), class codes
    probabilities : float64 (n_steps, n_classes)
    lengths : int64 (n_steps,), how many acquisitions were made by then
    order : int32 (n, longest), the acquisitions of each row, then -1
    """

    first: NDArray[np.int64]
    stops: NDArray[np.bool_]
    answers: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    lengths: NDArray[np.int64]
    order: NDArray[np.int32]

    def ends(self, may_end: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The first step of each row where it may end, bool (n_steps,), or else its last one; int64 (n,)."""
        places = np.where(may_end, np.arange(len(may_end)), len(may_end))
        return np.minimum(np.minimum.reduceat(places, self.first[:-1]), self.first[1:] - 1)

    def confident(self, min_confidence: float | None) -> NDArray[np.bool_]:
        """The stops of the policy whose answer has at least this probability, bool (n_steps,)."""
        if min_confidence is None:
            return self.stops
        return self.stops & (self.probabilities[np.arange(len(self.answers)), self.answers] >= min_confidence)

    def ends_at_limits(self, doubts: NDArray[np.float64], may_end: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The step at which each row is answered with each of ``LIMITS``, int64 (n, n_limits)."""
        return np.stack([self.ends(may_end & (doubts <= limit)) for limit in LIMITS], axis=1)

    def order_until(self, ends: NDArray[np.int64]) -> NDArray[np.int32]:
        """The acquisitions of each row up to a step of it, (n,), then -1."""
        return np.where(np.arange(self.order.shape[1]) < self.lengths[ends][:, None], self.order, -1)


class RiskTest(NamedTuple):
    """The test of one risk at the threshold that was chosen.

    Attributes
    ----------
    risk : Risk
    group : str, the value of ``by``, or ""
    n : int, rows that count, or groups of rows
    loss : float, the sum of their losses: the number of errors, of missed rows, or of mapped costs
    p_value : float
    """

    risk: Risk
    group: str
    n: int
    loss: float
    p_value: float


class WatchedRisk(NamedTuple):
    """How often one risk is found on other rows, and the probability of so many errors where the promise is just kept.

    Attributes
    ----------
    risk : Risk
    n, n_errors : int, the rows that count, and those of them with an error
    p_value : float, ``P(Bin(n, limit) >= n_errors)``, times the number of risks
    """

    risk: Risk
    n: int
    n_errors: int
    p_value: float

    @property
    def is_broken(self) -> bool:
        """Whether at most 5 % of such sets of rows have so many errors where the promise is kept."""
        return self.p_value <= BROKEN_AT

    def sentence(self) -> str:
        """The count and the test in words."""
        rows, found = (f"rows of {self.risk.name}", "missed") if self.risk.kind == "recall" else ("answers", "wrong")
        verdict = "too many for the promise of at most" if self.is_broken else "the promise of at most"
        end = "" if self.is_broken else " is not refuted"
        return (
            f"{self.n_errors:,} of {self.n:,} {rows} are {found}, {verdict} {percent(self.risk.limit)}{end} "
            f"(p = {self.p_value:.2g})."
        )


def refuse_promise_with_referral(rules: Any) -> None:
    """ValueError where cases may be referred to a person: no promise is tested for the answered ones alone yet."""
    if rules.refer_cost is not None:
        raise ValueError(
            "calibrate must have a model without refer_cost, got one that refers cases to a person; train it without"
        )


def combined_doubts(
    risks: Sequence[Risk],
    answers: NDArray[np.int64],
    probabilities: NDArray[np.float64],
    error_costs: NDArray[np.float64],
) -> NDArray[np.float64]:
    """The doubts of all risks as one number, float64 (n,): the largest, each in proportion to its limit.

    The doubt of a risk with twice the limit counts half, so that thresholds on this number are those of the risk with
    the lowest limit, and one sequence tests them all.
    """
    strictest = min(risk.limit for risk in risks)
    each = [r.doubts(answers, probabilities, error_costs) * (strictest / r.limit) for r in risks]
    return np.max(each, axis=0)


@dataclass(frozen=True)
class Promise:
    """What a model promises about its answers, and when it stops for that.

    The promise is about the mean over all cases that come as the calibration rows came, and follow the rule. It ends
    with another policy, other rules, another share of classes or missing values, or a person who overrides the rule.

    Attributes
    ----------
    risks : tuple of Risk, none if only ``min_confidence`` was given
    confidence : float, of all risks together: how often such a calibration keeps its promise
    limit : float, or None
        The largest ``combined_doubts`` at which a stop of the policy counts; None where none counts before the end.
    min_confidence : float, or None
        The lowest probability of the answer at which a stop counts. Nothing is tested about it.
    by : str, what the risks are promised for each value of; "" for all rows together
    test : "betting" or "hoeffding-bentkus", of mean costs, and of means over groups of rows
    tests : tuple of RiskTest
    n_rows : int, of the calibration
    grouped : bool, whether the rows are in groups, such as those of a patient
    n_acquisitions, n_acquisitions_without : float, means over these rows, and what they are without the rule
    spent, spent_without : float, the mean prices, in the unit of ``costs``
    n_calibrations : int
        How often these rows were used for a calibration of this model, with this one. Of several promises by the same
        rows, one fails more often than ``confidence`` says.
    rows, policy : str, SHA-256 of the calibration rows and of the policy without the rule

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from agents import LatticeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LatticeClassifier(lam=0.01, random_state=0).fit(X[:300, :4], y[:300])
    >>> promise = model.calibrate(X[300:, :4], y[300:], target_error=0.2).promise_
    >>> promise.tests[0].n, promise.confidence, promise.n_acquisitions >= promise.n_acquisitions_without
    (269, 0.9, True)
    """

    risks: tuple[Risk, ...]
    confidence: float
    limit: float | None
    min_confidence: float | None
    by: str
    test: str
    tests: tuple[RiskTest, ...]
    n_rows: int
    grouped: bool
    n_acquisitions: float
    n_acquisitions_without: float
    spent: float
    spent_without: float
    n_calibrations: int
    rows: str
    policy: str

    @property
    def threshold(self) -> float:
        """The lowest certainty at which a stop counts, that of the risk with the lowest limit; inf if none counts."""
        return np.inf if self.limit is None else 1 - self.limit

    def is_certain(
        self, answers: NDArray[np.int64], probabilities: NDArray[np.float64], error_costs: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Whether a stop with each of n answers counts, bool (n,)."""
        certain = np.ones(len(answers), bool)
        if self.min_confidence is not None:
            certain &= probabilities[np.arange(len(answers)), answers] >= self.min_confidence
        if self.risks:
            limit = LIMITS[NEVER] if self.limit is None else self.limit
            certain &= combined_doubts(self.risks, answers, probabilities, error_costs) <= limit
        return certain

    def certainty(
        self, answer: int, probabilities: NDArray[np.float64], error_costs: NDArray[np.float64], stops: bool
    ) -> Certainty:
        """How certain an answer is in words, and whether that is enough to stop.

        Parameters
        ----------
        answer : int, a class code
        probabilities : float64 (n_classes,)
        error_costs : float64 (n_classes, n_classes)
        stops : bool, whether the model would give the answer now
        """
        answers, shares = np.array([answer]), np.asarray(probabilities)[None]
        enough = bool(self.is_certain(answers, shares, error_costs)[0])
        right = [] if self.min_confidence is None else [(1 - float(shares[0, answer]), 1 - self.min_confidence)]
        parts = []
        for risk in self.risks:
            doubt, limit = float(risk.doubts(answers, shares, error_costs)[0]), self.limit_of(risk)
            if risk.kind == "error":
                right.append((doubt, limit))
            elif risk.kind == "recall":
                is_answer, missed = risk.label == answer, said("that_none_missed", name=risk.name)
                parts.append(said("none_missed", name=risk.name) if is_answer else _compared(doubt, limit, missed))
            else:
                parts.append(_compared_cost(risk, doubt, limit))
        if right:
            parts.insert(0, _compared(right[0][0], min(limit for _, limit in right), said("that_right")))
        head = said("certain_enough" if enough else "not_certain" if stops else "not_certain_yet")
        end = said("nothing_changes") if stops and not enough else ""
        end = said("worth_its_price") if enough and not stops else end
        return Certainty(enough, f"{head}: {_joined(parts)}{end}.")

    @property
    def end(self) -> str:
        """What is said where a person overrides the rule."""
        return said("end_promise" if self.risks else "end_rule")

    def sentences(self) -> list[str]:
        """What is promised, by which rows, and at what price."""
        lines = []
        if self.risks:
            promised = _joined([_promised(risk, self.grouped) for risk in self.risks])
            values = {"confidence": percent(self.confidence), "promised": promised}
            lines.append(said("promised_each", by=self.by, **values) if self.by else said("promised", **values))
            lines += [_shown(test, self.by, self.grouped) for test in self.tests]
        lines.append(self._condition())
        if self.n_rows:
            more, price = self.n_acquisitions - self.n_acquisitions_without, self.spent - self.spent_without
            means = {"mean": number_text(self.n_acquisitions, ".2f"), "more": number_text(more, ".2f")}
            lines.append(said("rule_price", **means, spent=money_text(self.spent), price=money_text(price)))
        if self.risks:
            lines.append(said("promise_scope", share=percent(1 - self.confidence)))
        if self.n_calibrations > 1:
            lines.append(said("promise_again", n=self.n_calibrations))
        return lines

    def found(
        self,
        answers: NDArray[np.int64],
        y: NDArray[np.int64],
        error_costs: NDArray[np.float64],
        groups: NDArray[np.int64] | None = None,
    ) -> list[str]:
        """What is found of each risk on other rows, in sentences; all rows together, also where it is promised by part.

        Parameters
        ----------
        answers, y : int64 (n,), class codes
        error_costs : float64 (n_classes, n_classes)
        groups : int64 (n,), codes of groups of rows, of which the means count if they did in the calibration
        """
        rows, found = CalibrationRows(y, groups if self.grouped else None), []
        for risk in self.risks:
            losses = _tested(risk, "", np.ones(len(y), bool), rows, answers[:, None], error_costs).losses
            if len(losses):
                test = RiskTest(risk, "", len(losses), float(losses.sum()), np.nan)
                found.append(_shown(test, "", rows.groups is not None, "on_these"))
            else:
                found.append(f"These have no rows of {risk.name}.")
        return found

    def watch(self, answers: NDArray[np.int64], y: NDArray[np.int64]) -> list[WatchedRisk]:
        """Whether the errors on other rows are more than the promise allows, by the exact binomial test of each risk.

        A promise that is kept is said to be broken by at most 5 % of such sets of rows, if each is looked at once. The
        p-values of several risks are corrected for their number. Not tested: a mean cost, and means over groups.

        Parameters
        ----------
        answers, y : int64 (n,), class codes
        """
        shares = [] if self.grouped else [risk for risk in self.risks if risk.kind != "cost" and risk.counted(y).any()]
        watched = []
        for risk in shares:
            wrong = (answers != y)[risk.counted(y)]
            p_value = float(binom.sf(wrong.sum() - 1, len(wrong), risk.limit))
            watched.append(WatchedRisk(risk, len(wrong), int(wrong.sum()), min(p_value * len(shares), 1.0)))
        return watched

    def is_by(self, X: NDArray[np.float32], y: NDArray[np.int64]) -> bool:
        """Whether it was made by these rows, in the order of the policy, with these class codes."""
        return digest_of_rows(X, y) == self.rows

    def _condition(self) -> str:
        if self.risks and self.limit is None:
            return said("acquires_everything")
        least = self.min_confidence
        parts = [] if least is None else [said("where_probable", least=number_text(least, "g"))]
        for risk in self.risks:
            certainty = 1 - self.limit_of(risk)
            if risk.kind == "cost":
                sure = said("where_cheap")
            elif risk.kind == "error":
                sure = said("where_right", share=percent(certainty))
            else:
                sure = said("where_none_missed", share=percent(certainty), name=risk.name)
            parts += [sure] if certainty > 0 else []
        if not parts:
            return said("stops_as_before")
        return said("stops_where", parts=_joined(parts))

    def limit_of(self, risk: Risk) -> float:
        """The largest doubt of one of the risks at which a stop counts, between 0 and 1; -1 where none counts."""
        strictest = min(other.limit for other in self.risks)
        return -1.0 if self.limit is None else min(self.limit * risk.limit / strictest, 1.0)

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def as_json(self) -> dict[str, Any]:
        """Everything as plain JSON values."""
        plain = asdict(self)
        plain["risks"] = [risk._asdict() for risk in self.risks]
        plain["tests"] = [test._asdict() | {"risk": self.risks.index(test.risk)} for test in self.tests]
        return plain

    @classmethod
    def from_json(cls, plain: Any, classes: Sequence[Any]) -> Self:
        """What ``as_json`` wrote for a model with these classes; ValueError, TypeError or KeyError if it is damaged."""
        if not isinstance(plain, dict) or set(plain) != {field.name for field in fields(cls)}:
            raise ValueError("a promise must have its fields")
        risks = tuple(Risk(**_typed(risk, Risk)) for risk in plain["risks"])
        for risk in risks:
            known = risk.kind in KINDS and 0 < risk.limit < 1 and risk.low < risk.high
            of_class = 0 <= risk.label < len(classes) and risk.name == str(classes[risk.label])
            if not known or not (of_class if risk.kind == "recall" else (risk.label, risk.name) == (-1, "")):
                raise ValueError("a risk of the promise is damaged")
        tests = []
        for test in plain["tests"]:
            place = test["risk"]
            if type(place) is not int or not 0 <= place < len(risks):
                raise ValueError("a test of the promise is of no risk")
            tests.append(RiskTest(**_typed(test | {"risk": risks[place]}, RiskTest)))
            if tests[-1].n < 1:
                raise ValueError("a test of the promise has no rows")
        promise = cls(**_typed(plain | {"risks": risks, "tests": tuple(tests)}, cls))
        shares = [promise.confidence, 0.5 if promise.min_confidence is None else promise.min_confidence]
        if not all(0 < share < 1 for share in shares) or promise.test not in TESTS:
            raise ValueError("the confidence of the promise is damaged")
        if promise.limit is not None and not 0 <= promise.limit <= 1:
            raise ValueError("the threshold of the promise is damaged")
        if not risks and promise.min_confidence is None:
            raise ValueError("the promise is empty")
        return promise


LARGEST = {int: 2**53, float: 1e300}  # numbers in a file, so that nothing overflows
PLAIN_TYPES = {
    "float": (float, int),
    "float | None": (float, int, type(None)),
    "int": (int,),
    "str": (str,),
    "bool": (bool,),
}


def _typed(plain: Any, record: Any) -> dict[str, Any]:
    """The fields of a record, of the types that it declares and finite; ValueError otherwise."""
    types = record.__annotations__
    if not isinstance(plain, dict) or set(plain) != set(types):
        raise ValueError(f"a {record.__name__} of the promise must have its fields")
    typed = {}
    for name, value in plain.items():
        declared = getattr(types[name], "__forward_arg__", types[name])
        allowed = PLAIN_TYPES.get(declared)
        if allowed is not None and type(value) not in allowed:
            raise ValueError(f"{name} of the promise must be {declared}, got {brief(value)}")
        if type(value) in LARGEST and not abs(value) <= LARGEST[type(value)]:
            raise ValueError(f"{name} of the promise must be finite and at most {LARGEST[type(value)]:g}")
        typed[name] = float(value) if allowed == PLAIN_TYPES["float"] else value
    return typed


def percent(share: float) -> str:
    """A share in words, such as 99.995 %."""
    return f"{number_text(100 * share, '.6g')} %"


def _percent_beside(doubt: float, digits: int) -> str:
    """1 minus a doubt in per cent, with so many digits of the doubt."""
    if 0 < doubt < MIN_DOUBT:
        return said("above_share", share=f"{number_text(100 - 100 * MIN_DOUBT, '.10g')} %")
    return f"{number_text(100 - 100 * float(f'{max(doubt, 0.0):.{digits}g}'), '.10g')} %"


def _compared(doubt: float, limit: float, what: str) -> str:
    """How certain something is, and how certain it must be, in as many digits as it takes to see which is more."""
    if limit < 0:
        return said("compared", share=_percent_beside(doubt, 2), what=what, needed=said("no_certainty"))
    digits = 2
    while doubt > limit and digits < 8 and _percent_beside(doubt, digits) == _percent_beside(limit, digits):
        digits += 1
    needed = said("any_enough") if limit >= 1 else said("needed", share=_percent_beside(limit, digits))
    return said("compared", share=_percent_beside(doubt, digits), what=what, needed=needed)


def _compared_cost(risk: Risk, doubt: float, limit: float) -> str:
    """The expected error cost, and how low it must be."""
    cost, most = (risk.low + share * (risk.high - risk.low) for share in (doubt, limit))
    needed = said("no_cost_low") if limit < 0 else said("at_most_needed", most=cost_text(most, ".4g"))
    return said("expected_error_cost", cost=cost_text(cost, ".4g"), needed=needed)


def _joined(parts: Any) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    *others, last = parts
    return said("and", first=", ".join(others), last=last) if others else last


def _promised(risk: Risk, grouped: bool) -> str:
    sentence = f"promised_{risk.kind}{'_grouped' if grouped else ''}"
    if risk.kind == "error":
        return said(sentence, share=percent(risk.target))
    if risk.kind == "recall":
        return said(sentence, share=percent(risk.target), name=risk.name)
    return said(sentence, cost=cost_text(risk.target, "g"))


def _units(risk: Risk, grouped: bool) -> str:
    of_class = f" of {risk.name}" if risk.kind == "recall" else ""
    if not grouped:
        return f"rows{of_class}"
    return f"groups with rows{of_class}" if of_class else "groups of rows"


def _where(by: str, group: str) -> str:
    return f" where {by} is {group}" if by else ""


def _counted(n: int, risk: Risk, grouped: bool) -> str:
    count = f"{n:,}".replace(",", "." if said("decimal") == "," else ",")
    kind = "units_groups" if grouped else "units_rows"
    return said(f"{kind}_of", n=count, name=risk.name) if risk.kind == "recall" else said(kind, n=count)


def _shown(test: RiskTest, by: str, grouped: bool, begin: str = "shown_by") -> str:
    risk, mean = test.risk, test.loss / test.n
    units = _counted(test.n, risk, grouped)
    values = {"begin": said(begin), "units": said("units_where", units=units, by=by, group=test.group) if by else units}
    if risk.kind == "cost":
        return said("shown_cost", **values, cost=cost_text(risk.low + mean * (risk.high - risk.low), ".4g"))
    sentence, share = f"shown_{'missed' if risk.kind == 'recall' else 'wrong'}", number_text(100 * mean, ".3g")
    if grouped:
        return said(f"{sentence}_grouped", **values, share=share)
    return said(sentence, **values, n=number_text(test.loss, "g"), share=share)


# The calibration.


class CalibrationRows(NamedTuple):
    """The labels of the rows of a ``PathRecord``, and how they are grouped.

    Attributes
    ----------
    y : int64 (n,), class codes
    groups : int64 (n,), codes of the groups of rows whose mean is promised, such as patients; None for single rows
    parts : int64 (n,), codes of the parts of the rows for each of which the risks are promised; None for all together
    part_names : list of str
    by : str, what the parts are, such as "ward"
    """

    y: NDArray[np.int64]
    groups: NDArray[np.int64] | None = None
    parts: NDArray[np.int64] | None = None
    part_names: Sequence[str] = ("",)
    by: str = ""


class _Tested(NamedTuple):
    """One risk on one part of the rows: its losses at all limits, (n, n_limits), of rows or groups of rows."""

    risk: Risk
    group: str
    losses: NDArray[np.float64]
    binary: bool

    def p_values(self, test: risk_control.MeanTest) -> NDArray[np.float64]:
        if not self.binary:
            return test(self.losses, self.risk.limit)
        return risk_control.binomial_p_value(self.losses.sum(axis=0).round(), len(self.losses), self.risk.limit)

    def fewest(self, delta: float, test: risk_control.MeanTest) -> int:
        if self.binary:
            return risk_control.fewest_rows(self.risk.limit, delta)
        return risk_control.fewest_rows_of_mean(self.risk.limit, delta, test)

    def bound(self, delta: float, test: risk_control.MeanTest) -> float:
        """The upper limit of the risk where everything is acquired."""
        losses = self.losses[:, NEVER]
        if self.binary:
            return float(risk_control.binomial_upper_bound(losses.sum().round(), len(losses), delta))
        return risk_control.mean_upper_bound(losses, delta, test)


def choose_limit(
    record: PathRecord,
    rows: CalibrationRows,
    risks: Sequence[Risk],
    error_costs: NDArray[np.float64],
    confidence: float = 0.9,
    min_confidence: float | None = None,
    test: str = "betting",
) -> tuple[int, tuple[RiskTest, ...]]:
    """The place in ``LIMITS`` of the laxest threshold that keeps all risks, and their tests there.

    A threshold passes where each risk passes in each part of the rows (an intersection-union test: Berger, 1982), so
    nothing is shared out among them. Shares of rows are tested exactly, mean costs and means over groups by ``test``.

    Raises
    ------
    ValueError
        If there are fewer rows than show the limit without any error; or if no threshold passes, with the lowest risk
        that the rows could promise where everything is acquired.

    References
    ----------
    A. Angelopoulos et al., 2021, section 3; R. Berger. Multiparameter hypothesis testing and acceptance sampling.
    Technometrics, 1982. Selective answers: Y. Geifman, R. El-Yaniv. Selective classification for deep neural networks.
    NeurIPS, 2017.
    """
    delta, of_means = round(1 - confidence, 15), TESTS[test]
    doubts = combined_doubts(risks, record.answers, record.probabilities, error_costs)
    answers = record.answers[record.ends_at_limits(doubts, record.confident(min_confidence))]
    parts = _parts(rows)
    tested = [_tested(risk, name, part, rows, answers, error_costs) for risk in risks for name, part in parts]
    for one in tested:
        fewest, n = one.fewest(delta, of_means), len(one.losses)
        if n < fewest:
            units = _units(one.risk, rows.groups is not None) + _where(rows.by, one.group)
            raise ValueError(
                f"{one.risk} at confidence {confidence:g} needs at least {fewest:,} {units} for the calibration, these "
                f"are {n:,}; give more, or aim lower"
            )
    p_values = np.array([one.p_values(of_means) for one in tested])
    place = risk_control.last_of_sequence(p_values.max(axis=0), delta)
    if place < 0:
        failed = [one for one, p in zip(tested, p_values[:, NEVER], strict=True) if p > delta]
        could = [_could(one, delta, of_means, rows) for one in failed]
        raise ValueError(
            f"{_joined(str(one.risk) + _where(rows.by, one.group) for one in failed)} cannot be promised at confidence "
            f"{confidence:g}: with everything acquired these rows could promise at best {_joined(could)}"
        )
    losses = [float(one.losses[:, place].sum()) for one in tested]
    return place, tuple(
        RiskTest(one.risk, one.group, len(one.losses), loss, float(p))
        for one, loss, p in zip(tested, losses, p_values[:, place], strict=True)
    )


def _parts(rows: CalibrationRows) -> list[tuple[str, NDArray[np.bool_]]]:
    if rows.parts is None:
        return [("", np.ones(len(rows.y), bool))]
    return [(name, rows.parts == code) for code, name in enumerate(rows.part_names)]


def _tested(
    risk: Risk,
    name: str,
    part: NDArray[np.bool_],
    rows: CalibrationRows,
    answers: NDArray[np.int64],
    error_costs: NDArray[np.float64],
) -> _Tested:
    counted = part & risk.counted(rows.y)
    losses = risk.losses(answers[counted], rows.y[counted], error_costs)
    if rows.groups is None:
        return _Tested(risk, name, losses, risk.kind != "cost")
    _, codes, sizes = np.unique(rows.groups[counted], return_inverse=True, return_counts=True)
    means = np.zeros((len(sizes), losses.shape[1]))
    np.add.at(means, codes, losses)
    return _Tested(risk, name, means / sizes[:, None], risk.kind != "cost" and bool((sizes == 1).all()))


def _could(one: _Tested, delta: float, test: risk_control.MeanTest, rows: CalibrationRows) -> str:
    """What these rows could promise of a risk where everything is acquired, rounded to what they would pass."""
    up = min(float(np.ceil(one.bound(delta, test) * 1e4) / 1e4), 1.0)
    low, high = one.risk.low, one.risk.high
    best = {"error": up, "recall": round(1 - up, 4), "cost": low + up * (high - low)}[one.risk.kind]
    return f"{one.risk._replace(target=best)}{_where(rows.by, one.group)}"


class Wanted(NamedTuple):
    """What ``calibrate`` is to promise, checked; the attributes are those of ``Promise``."""

    risks: tuple[Risk, ...]
    confidence: float
    min_confidence: float | None
    test: str


def check_targets(
    target_error: Any,
    target_recall: Any,
    target_error_cost: Any,
    min_confidence: Any,
    confidence: Any,
    test: Any,
    classes: Sequence[Any],
    error_costs: NDArray[np.float64],
) -> Wanted:
    """The parameters of ``calibrate``, checked; raises its errors."""
    risks = promised_risks(target_error, target_recall, target_error_cost, classes, error_costs)
    least = None if min_confidence is None else _share(min_confidence, "min_confidence")
    if not risks and least is None:
        raise ValueError("give a target: target_error, target_recall, target_error_cost or min_confidence")
    return Wanted(risks, _share(confidence, "confidence"), least, check_choice(test, "test", *TESTS))


def calibration_rows(y: NDArray[np.int64], X: Any, by: Any, groups: Any) -> CalibrationRows:
    """The rows with their groups; ``by`` is the name of a column of ``X``, or a label for each row (a named Series).

    Raises ValueError or TypeError where these are not labels of the rows, or ``X`` has no such column.
    """
    codes = None if groups is None else encode_row_groups(groups, len(y), "groups")
    if by is None:
        return CalibrationRows(y, codes)
    labels, what = by, str(getattr(by, "name", None) or "group")
    if isinstance(by, str):
        table = X.to_frame() if hasattr(X, "to_frame") and not is_frame(X) else X
        if not is_frame(table) or by not in table.columns:
            names = listing([str(c) for c in table.columns], 8) if is_frame(table) else "no names"
            raise ValueError(f"by must be a column of X, or a label for each row, got {by!r}; X has {names}")
        labels, what = table[by], by
    labels = np.asarray(labels, dtype=object)
    parts = encode_row_groups(labels, len(y), "by")
    firsts = np.unique(parts, return_index=True)[1]
    return CalibrationRows(y, codes, parts, [str(label) for label in labels[firsts]], what)


def has_rows(wanted: Wanted, X: Any, y: Any, by: Any, groups: Any) -> bool:
    """Whether there are rows to calibrate on; ValueError where there are none and what is wanted needs them."""
    if X is None and (wanted.risks or y is not None or by is not None or groups is not None):
        raise ValueError("calibrate needs X, the rows to calibrate on; only min_confidence does without")
    return X is not None


def digest_of_rows(X: NDArray, y: NDArray[np.int64]) -> str:
    """SHA-256 of rows with their class codes, by which calibrations of the same rows are counted."""
    return digest_of_form([array_form(X), array_form(y)])


class TrainedRows:
    """The rows that trained a model, a number of 64 bits of each, by which they are found among others.

    Parameters
    ----------
    X : float32 (n_samples, n_features), NaN where missing
    y : int64 (n_samples,), class codes

    Examples
    --------
    >>> X, y = np.arange(40, dtype=np.float32).reshape(20, 2), np.arange(20) % 2
    >>> trained = TrainedRows(X[:10], y[:10])
    >>> trained.refuse(X[10:], y[10:])
    >>> trained.refuse(X[5:15], y[5:15])
    Traceback (most recent call last):
        ...
    ValueError: calibrate needs rows that did not train the model, but 50% of these are among its training rows
    """

    def __init__(self, X: NDArray[np.float32], y: NDArray[np.int64]) -> None:
        self._keys, counts = np.unique(_keys_of_rows(X, y), return_counts=True)
        self._repeated = float(counts[counts > 1].sum() / max(len(X), 1))

    def refuse(self, X: NDArray[np.float32], y: NDArray[np.int64]) -> None:
        """ValueError where more of these rows are in the training than rows of such a table are in it twice."""
        among = float(np.isin(_keys_of_rows(X, y), self._keys).mean())
        error = np.sqrt(self._repeated * (1 - self._repeated) / len(X))
        if among > self._repeated + MAX_SHARE_TRAINED + N_ERRORS_OF_SHARE * error:
            by_chance = "" if not self._repeated else f", where {self._repeated:.0%} would be by chance"
            raise ValueError(
                f"calibrate needs rows that did not train the model, but {among:.0%} of these are among its training "
                f"rows{by_chance}"
            )


def _keys_of_rows(X: NDArray[np.float32], y: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A number for each row with its class, uint64 (n_samples,), equal for equal rows."""
    bits = np.where(np.isnan(X), np.float32(np.nan), X + np.float32(0)).astype(np.float32).view(np.uint32)
    factors = np.random.default_rng(0).integers(1, 2**63, X.shape[1] + 1, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    keys = y.astype(np.uint64) * factors[-1]
    for i in range(X.shape[1]):  # a column at a time, for memory
        keys = (keys ^ (keys >> np.uint64(29))) * factors[i] + bits[:, i]
    return keys


def make_promise(
    record: PathRecord,
    X: NDArray[np.float32],
    rows: CalibrationRows,
    wanted: Wanted,
    rules: Rules,
    *,
    n_calibrations: int = 1,
    policy: str = "",
) -> Promise:
    """The promise at the laxest threshold that keeps the risks on rows ``X`` (n, n_features); raises ``choose_limit``.

    Parameters
    ----------
    record : PathRecord, of these rows
    X : float32 (n, n_features), in the order of ``rules``
    rows : CalibrationRows
    wanted : Wanted
    rules : Rules
    n_calibrations, policy
        As in ``Promise``.
    """
    risks, confidence, min_confidence, test = wanted
    place, tests, may_end = NEVER, (), record.confident(min_confidence)
    if risks:
        place, tests = choose_limit(record, rows, risks, rules.error_costs, confidence, min_confidence, test)
        may_end = may_end & (
            combined_doubts(risks, record.answers, record.probabilities, rules.error_costs) <= LIMITS[place]
        )
    ends, plain = record.ends(may_end), record.ends(record.stops)
    return Promise(
        risks=risks,
        confidence=confidence,
        limit=None if place == NEVER else float(LIMITS[place]),
        min_confidence=min_confidence,
        by=rows.by,
        test=test,
        tests=tests,
        n_rows=len(X),
        grouped=rows.groups is not None,
        n_acquisitions=float(record.lengths[ends].mean()),
        n_acquisitions_without=float(record.lengths[plain].mean()),
        spent=_mean_price(rules, X, record.order_until(ends)),
        spent_without=_mean_price(rules, X, record.order_until(plain)),
        n_calibrations=n_calibrations,
        rows=digest_of_rows(X, rows.y),
        policy=policy,
    )


def _mean_price(rules: Rules, X: NDArray[np.float32], order: NDArray[np.int32]) -> float:
    return float(price_orders(rules, X, order)[0].mean())


def without_rows(wanted: Wanted, policy: str) -> Promise:
    """The rule of ``min_confidence`` alone, which promises nothing."""
    _, confidence, least, test = wanted
    return Promise((), confidence, None, least, "", test, (), 0, False, 0.0, 0.0, 0.0, 0.0, 1, "", policy)
