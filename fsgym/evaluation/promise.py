"""Stop only where an answer is certain enough for what is promised: the risks, the rule, and its words.

A policy that stops somewhere goes on in its order while its answer is not certain enough. Where nothing is left to
acquire it answers; if it may refer cases, it refers this one. ``fsgym.evaluation.calibrate`` finds how certain is
certain enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from fsgym.evaluation import risk_control
from fsgym.session.step import Certainty
from fsgym.support.arrays import array_form, digest_of_form
from fsgym.text.messages import brief
from fsgym.text.sentences import class_name
from fsgym.text.speech import cost_text, money_text, number_text, said

# The largest doubt, 1 minus the certainty, at which a stop counts, from the strictest on. The first lets no early stop
# count. By hand; measured on digits at a limit of .05: 8 thresholds 21.9 features, 20 18.3, 81 17.4, 600 17.2.
LIMITS = np.concatenate([[-1.0], 10.0 ** np.linspace(-5, 0, 79)])
NEVER = 0  # the place of the first
BROKEN_AT = 0.05  # p-value at which a promise is said to be broken
MIN_DOUBT = 1e-6  # that is said in figures; by hand
TIE = 1e-9  # by hand: a class that costs this much more than to refer costs the same
KINDS = ("error", "recall", "cost", "referred")
OF_ANSWERS = ("error", "recall")  # those that count answered rows alone
TESTS = {
    "betting": risk_control.betting_p_value,
    "hoeffding-bentkus": risk_control.hoeffding_bentkus_p_value,
}


class Risk(NamedTuple):
    """What is promised to be at most a limit.

    Attributes
    ----------
    kind : str
        "error", the share of wrong answers; "recall", of a class; "cost", the mean error cost; "referred", the share of
        rows that are referred to a person, of which errors and recalls do not count.
    target : float, as it was given: a share of wrong answers, a recall, a cost, or a share referred
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
            return f"a recall of {class_name(self.name)} of {self.target:g}"
        what = {"error": "share of wrong answers", "cost": "cost", "referred": "share referred"}[self.kind]
        return f"a {what} of {self.target:g}"

    def doubts(
        self, answers: NDArray[np.int64], probabilities: NDArray[np.float64], answer_costs: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The expected loss of n answers, float64 (n,) between 0 and 1: 1 minus how certain they are.

        For an error the probability of all other classes; for the recall of a class its probability, 0 where it is the
        answer; for a cost the expected error cost, mapped as ``limit``; for the share referred 0. To refer is certain.
        """
        n_classes = probabilities.shape[1]
        given = np.minimum(answers, n_classes - 1)
        if self.kind == "recall":
            doubts = np.where(given == self.label, 0.0, probabilities[:, self.label])
        elif self.kind == "error":
            doubts = 1 - probabilities[np.arange(len(given)), given]
        elif self.kind == "cost":
            doubts = self._mapped((probabilities * answer_costs[given]).sum(axis=1))
        else:
            doubts = np.zeros(len(given))
        return np.where(answers < n_classes, doubts, 0.0).clip(0.0, 1.0)

    def losses(
        self, answers: NDArray[np.int64], y: NDArray[np.int64], answer_costs: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The losses of answers (n, ...) to rows of the classes ``y`` (n,), between 0 and 1; NaN is not counted.

        Not counted are referred rows, for an error or a recall.
        """
        y = y.reshape(-1, *[1] * (answers.ndim - 1))
        if self.kind == "cost":
            return self._mapped(answer_costs[answers, y])
        refers = answers == answer_costs.shape[1]
        return refers.astype(np.float64) if self.kind == "referred" else np.where(refers, np.nan, answers != y)

    def _mapped(self, costs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Error costs, mapped to 0 for the lowest and 1 for the highest."""
        return (costs - self.low) / (self.high - self.low)

    def counted(self, y: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which rows count, bool (n,): those of the class for a recall, else all."""
        return y == self.label if self.kind == "recall" else np.ones(len(y), bool)


class RiskTest(NamedTuple):
    """The test of one risk at the threshold that was chosen."""

    risk: Risk
    group: str  # the value of ``by``, or ""
    n: int  # rows that count, or groups of rows
    loss: float  # the sum of their losses: the number of errors, of missed rows, or of mapped costs
    p_value: float


class WatchedRisk(NamedTuple):
    """What is found of one risk on other rows, and the probability of so much where the promise is just kept."""

    risk: Risk
    n: int  # the rows that count, or the groups of rows
    loss: float  # the sum of their losses: the errors, the missed or the referred rows, or mapped costs
    # that the sum is as high or higher: by the binomial distribution, or for means, of groups or of costs, by betting.
    # It is corrected for the number of risks (Bonferroni).
    p_value: float
    power: float | None  # the probability that twice the limit would be seen by the binomial test; None for means
    grouped: bool  # whether means of groups count
    refers: bool  # whether the model may refer cases
    by: str = ""  # what it is promised for each value of, and tested, or ""
    group: str = ""  # the value of ``by`` of these rows, or ""

    @property
    def is_broken(self) -> bool:
        """Whether at most 5 % of such sets of rows have so high a loss where the promise is kept."""
        return self.p_value <= BROKEN_AT

    def sentence(self) -> str:
        """What is found, and the test, in words."""
        test = RiskTest(self.risk, self.group, self.n, self.loss, self.p_value)
        most = f"{self.risk.target:g}" if self.risk.kind == "cost" else percent(self.risk.limit)
        found = _shown(test, self.by, self.grouped, self.refers, "on_these")
        if self.is_broken:
            return f"{found} That is too much for the promise of at most {most} (p = {self.p_value:.2g})."
        kept = f"{found} The promise of at most {most} is not refuted (p = {self.p_value:.2g})"
        seen = (
            "" if self.power is None else f"; twice that would be seen in {percent(round(self.power, 2))} of such sets"
        )
        return f"{kept}{seen}."


def needed_limits(
    risks: Sequence[Risk],
    min_confidence: float | None,
    answers: NDArray[np.int64],
    probabilities: NDArray[np.float64],
    answer_costs: NDArray[np.float64],
) -> NDArray[np.float64]:
    """The lowest limit at which a stop with each of n answers counts, float64 (n,); infinite where none is enough.

    It is the largest doubt of the risks, each in proportion to its limit: the doubt of a risk with twice the limit
    counts half, so that limits of this number are those of the risk with the lowest one, and one sequence tests them
    all. An answer that is less probable than ``min_confidence`` never counts. One that refers always does, and where
    nothing is promised each other one.
    """
    strictest, always = _strictest(risks), np.full(len(answers), LIMITS[NEVER])
    each = [r.doubts(answers, probabilities, answer_costs) * (strictest / r.limit) for r in risks]
    needed, n_classes = np.max([always, *each], axis=0), probabilities.shape[1]
    if min_confidence is not None:
        shares = probabilities[np.arange(len(answers)), np.minimum(answers, n_classes - 1)]
        needed = np.where(shares >= min_confidence, needed, np.inf)
    return np.where(answers == n_classes, always, needed)


def _strictest(risks: Sequence[Risk]) -> float:
    """The lowest limit of the risks that have doubts; 1 if there are none."""
    return min((risk.limit for risk in risks if risk.kind != "referred"), default=1.0)


def unit_losses(losses: NDArray[np.float64], groups: NDArray[np.int64] | None) -> tuple[NDArray[np.float64], bool]:
    """The losses of rows (n, k), or their means over groups, NaN where no row counts; and whether each is of one row.

    Rows and groups that count nowhere are left out.
    """
    counted = ~np.isnan(losses)
    if groups is not None:
        _, codes = np.unique(groups, return_inverse=True)
        totals, sizes = np.zeros((2, codes.max(initial=-1) + 1, losses.shape[1]))
        np.add.at(totals, codes, np.where(counted, losses, 0.0))
        np.add.at(sizes, codes, counted)
        losses, counted = np.where(sizes > 0, totals / np.maximum(sizes, 1), np.nan), sizes > 0
        return losses[counted.any(axis=1)], bool((sizes <= 1).all())
    return losses[counted.any(axis=1)], True


@dataclass(frozen=True)
class Promise:
    """What a model promises about its answers, and when it stops for that.

    The promise is about the mean over all cases that come as the calibration rows came, and follow the rule. It ends
    with another policy, other rules, another share of classes or missing values, or a person who overrides the rule.

    Attributes
    ----------
    risks : tuple of Risk, none if only ``min_confidence`` was given
    confidence : float, of all risks together: which share of all calibrations, refused ones counted in, keep theirs
    limit : float, or None
        The highest of ``needed_limits`` at which a stop of the policy counts; None where none counts before the end.
    min_confidence : float, or None
        The lowest probability of the answer at which a stop counts. Nothing is tested about it.
    by : str, what the risks are promised for each value of; "" for all rows together
    test : "betting" or "hoeffding-bentkus", of mean costs, and of means over groups of rows
    tests : tuple of RiskTest
    n_rows : int, of the calibration
    grouped : bool, whether the rows are in groups, such as those of a patient
    n_acquisitions, n_acquisitions_without : float, means over these rows, and what they are without the rule
    spent, spent_without : float, the mean prices, in the unit of ``costs``
    referred, referred_without : float, or None
        The shares of these rows that are referred to a person; None for a model that refers none.
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
    referred: float | None
    referred_without: float | None
    n_calibrations: int
    rows: str
    policy: str

    @property
    def threshold(self) -> float:
        """The lowest certainty at which a stop counts, that of the risk with the lowest limit; inf if none counts."""
        return np.inf if self.limit is None else 1 - self.limit

    @property
    def refers(self) -> bool:
        """Whether the model may refer cases to a person: then it refers those that end without a certain answer."""
        return self.referred is not None

    def is_certain(
        self, answers: NDArray[np.int64], probabilities: NDArray[np.float64], answer_costs: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Whether a stop with each of n answers counts, bool (n,); one that refers does."""
        limit = LIMITS[NEVER] if self.limit is None else self.limit
        return needed_limits(self.risks, self.min_confidence, answers, probabilities, answer_costs) <= limit

    def certainty(
        self, answer: int, probabilities: NDArray[np.float64], answer_costs: NDArray[np.float64], stops: bool
    ) -> Certainty:
        """How certain an answer is in words, and whether that is enough to stop.

        Parameters
        ----------
        answer : int, a class code, or n_classes to refer the case
        probabilities : float64 (n_classes,)
        answer_costs : float64 (n_answers, n_classes)
        stops : bool, whether the model would give the answer now
        """
        shares, refers = np.asarray(probabilities)[None], answer == len(probabilities)
        if refers:  # either as it is cheapest, or as the cheapest class is not certain enough
            by_class = shares[0] @ answer_costs[:answer].T
            answer = int(by_class.argmin())
        answers = np.array([answer])
        enough = bool(self.is_certain(answers, shares, answer_costs)[0])
        if refers and (enough or by_class[answer] > shares[0] @ answer_costs[-1] + TIE):
            end = "" if stops else said("worth_its_price")
            return Certainty(True, f"{self._head(True, stops)}: {said('none_needed_refers')}{end}.")
        right = [] if self.min_confidence is None else [(1 - float(shares[0, answer]), 1 - self.min_confidence)]
        parts = []
        for risk in self.risks:
            doubt, limit = float(risk.doubts(answers, shares, answer_costs)[0]), self.limit_of(risk)
            if risk.kind == "error":
                right.append((doubt, limit))
            elif risk.kind == "recall":
                is_answer, name = risk.label == answer, class_name(risk.name)
                missed = said("that_none_missed", name=name)
                parts.append(said("none_missed", name=name) if is_answer else _compared(doubt, limit, missed))
            elif risk.kind == "cost":
                parts.append(_compared_cost(risk, doubt, limit))
        if right:
            parts.insert(0, _compared(right[0][0], min(limit for _, limit in right), said("that_right")))
        end = said("nothing_changes") if stops and not enough else ""
        end = said("worth_its_price") if enough and not stops else end
        end += said("so_referred") if refers else ""
        return Certainty(enough, f"{self._head(enough, stops)}: {joined(parts or [said('none_needed')])}{end}.")

    def _head(self, enough: bool, stops: bool) -> str:
        """How the sentence on the certainty of an answer begins."""
        if not enough:
            return said("not_certain" if stops else "not_certain_yet")
        return said("certain_enough" if stops else "promise_met" if self.promises else "rule_met")

    @property
    def end(self) -> str:
        """What is said where a person overrides the rule."""
        return said("end_promise" if self.promises else "end_rule")

    @property
    def promises(self) -> bool:
        """Whether it promises something, and not only stops by a rule."""
        return bool(self.risks)

    def sentences(self) -> list[str]:
        """What is promised, by which rows, and at what price."""
        lines = []
        if self.risks:
            promised = joined([_promised(risk, self.grouped, self.refers) for risk in self.risks])
            values = {"confidence": percent(self.confidence), "promised": promised}
            lines.append(said("promised_each", by=self.by, **values) if self.by else said("promised", **values))
            lines += [_shown(test, self.by, self.grouped, self.refers) for test in self.tests]
            if self.refers:
                lines.append(said("fifth_chose_grouped" if self.grouped else "fifth_chose"))
        lines.append(self._condition())
        if self.n_rows:
            more, price = self.n_acquisitions - self.n_acquisitions_without, self.spent - self.spent_without
            means = {"mean": number_text(self.n_acquisitions, ".2f"), "more": number_text(more, ".2f")}
            lines.append(said("rule_price", **means, spent=money_text(self.spent), price=money_text(price)))
        if self.n_rows and self.referred is not None and self.referred_without is not None:
            share, without = (percent(round(s, 4)) for s in (self.referred, self.referred_without))
            lines.append(said("rule_referred", share=share, without=without))
        if self.risks:
            lines.append(said("promise_scope", share=percent(1 - self.confidence)))
        if self.n_calibrations > 1:
            lines.append(said("promise_again", n=self.n_calibrations))
        return lines

    def found(
        self,
        answers: NDArray[np.int64],
        y: NDArray[np.int64],
        answer_costs: NDArray[np.float64],
        groups: NDArray[np.int64] | None = None,
    ) -> list[str]:
        """What is found of each risk on other rows, in sentences; all rows together, also where it is promised by part.

        Parameters
        ----------
        answers : int64 (n,), class codes; n_classes for a referred row
        y : int64 (n,), class codes
        answer_costs : float64 (n_answers, n_classes)
        groups : int64 (n,), codes of groups of rows, of which the means count if they did in the calibration
        """
        found, grouped = [], self.grouped and groups is not None
        for risk in self.risks:
            losses, _ = self._losses(risk, answers, y, answer_costs, groups)
            if len(losses):
                test = RiskTest(risk, "", len(losses), float(losses.sum()), np.nan)
                found.append(_shown(test, "", grouped, self.refers, "on_these"))
            else:
                found.append(f"These have no {units_text(risk, False, self.refers)}.")
        return found

    def watch(
        self,
        answers: NDArray[np.int64],
        y: NDArray[np.int64],
        answer_costs: NDArray[np.float64],
        groups: NDArray[np.int64] | None = None,
        parts: Sequence[str] | None = None,
    ) -> list[WatchedRisk]:
        """Whether other rows have more errors than the promise allows; without the risks of which no row counts.

        A promise that is kept is said to be broken by at most 5 % of such sets of rows, if each is looked at once.
        Errors and recalls are those of the answered rows. Nothing is tested of means over groups where the rows have
        no ``groups``. What is promised for each value of ``by`` is tested for each that the calibration had, if
        ``parts``, (n,) texts, are the values of these rows; else in all rows together, which finds less. The other
        parameters are as for ``found``.
        """
        watched: list[WatchedRisk] = []
        if self.grouped and groups is None:  # of rows that depend on each other too many are wrong too often
            return watched
        of_parts = [("", np.ones(len(y), bool))]
        if self.by and parts is not None:
            of_parts = [(name, np.array(parts, dtype=object) == name) for name in self.parts]
        each = []
        for part, own in of_parts:
            given = answers[own], y[own], answer_costs, None if groups is None else groups[own]
            each += [(risk, part, *self._losses(risk, *given)) for risk in self.risks]
        found = [
            (risk, part, losses, single and risk.kind != "cost") for risk, part, losses, single in each if len(losses)
        ]
        for risk, part, losses, single in found:
            n, loss, level, power = len(losses), float(losses.sum()), BROKEN_AT / len(found), None
            if single:
                p_value = float(binom.sf(round(loss) - 1, n, risk.limit))
                least = binom.isf(level, n, risk.limit)  # more errors than these are too many
                power = float(binom.sf(least, n, min(2 * risk.limit, 1.0)))
            else:  # a bet that the mean of 1 - loss is below 1 - limit
                p_value = float(risk_control.betting_p_value(1 - losses, 1 - risk.limit))
            p_value = min(p_value * len(found), 1.0)
            of_part = self.by if part else "", part
            watched.append(WatchedRisk(risk, n, loss, p_value, power, self.grouped, self.refers, *of_part))
        return watched

    @property
    def parts(self) -> list[str]:
        """The values of ``by`` that the calibration had; [""] where it is promised for all rows together."""
        return list(dict.fromkeys(test.group for test in self.tests))

    def _losses(
        self,
        risk: Risk,
        answers: NDArray[np.int64],
        y: NDArray[np.int64],
        answer_costs: NDArray[np.float64],
        groups: NDArray[np.int64] | None,
    ) -> tuple[NDArray[np.float64], bool]:
        """The losses of the rows that count, or their means over groups, and whether each is of one row."""
        counted = risk.counted(y)
        losses = risk.losses(answers[counted, None], y[counted], answer_costs)
        units, single = unit_losses(losses, groups[counted] if self.grouped and groups is not None else None)
        return units[:, 0], single

    def is_by(self, X: NDArray[np.float32], y: NDArray[np.int64]) -> bool:
        """Whether it was made by these rows, in the order of the policy, with these class codes."""
        return digest_of_rows(X, y) == self.rows

    def _condition(self) -> str:
        if self.risks and self.limit is None:
            return said("refers_everything" if self.refers else "acquires_everything")
        least = self.min_confidence
        parts = [] if least is None else [said("where_probable", least=number_text(least, "g"))]
        for risk in (risk for risk in self.risks if risk.kind != "referred"):
            certainty = 1 - self.limit_of(risk)
            if risk.kind == "cost":
                sure = said("where_cheap")
            elif risk.kind == "error":
                sure = said("where_right", share=percent(certainty))
            else:
                sure = said("where_none_missed", share=percent(certainty), name=class_name(risk.name))
            parts += [sure] if certainty > 0 else []
        if not parts:
            return said("stops_as_before")
        return said("answers_where" if self.refers else "stops_where", parts=joined(parts))

    def limit_of(self, risk: Risk) -> float:
        """The largest doubt of one of the risks at which a stop counts, between 0 and 1; -1 where none counts."""
        return -1.0 if self.limit is None else min(self.limit * risk.limit / _strictest(self.risks), 1.0)

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
        referred = (promise.referred, promise.referred_without)
        if (None in referred) != (referred == (None, None)) or not all(0 <= share <= 1 for share in referred if share):
            raise ValueError("the shares referred of the promise are damaged")
        if not promise.refers and any(risk.kind == "referred" for risk in risks):
            raise ValueError("the promise is about cases that are referred, and none is")
        if not risks and promise.min_confidence is None:
            raise ValueError("the promise is empty")
        return promise


class RuleAlone(Promise):
    """The rule of a promise, for cases that the promise is not about: of which it is not said what is missing."""

    @property
    def promises(self) -> bool:
        return False

    def sentences(self) -> list[str]:
        """That nothing is promised of these cases, and why."""
        return [said("rule_without_evidence")] if self.risks else [self._condition()]

    @classmethod
    def of(cls, promise: Promise) -> Self:
        """The rule of this promise."""
        return cls(**{field.name: getattr(promise, field.name) for field in fields(promise)})


def digest_of_rows(X: NDArray, y: NDArray[np.int64]) -> str:
    """SHA-256 of rows with their class codes, by which calibrations of the same rows are counted."""
    return digest_of_form([array_form(X), array_form(y)])


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


def joined(parts: Any) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    *others, last = parts
    return said("and", first=", ".join(others), last=last) if others else last


def _promised(risk: Risk, grouped: bool, refers: bool) -> str:
    of_answers = "_refers" if refers and risk.kind != "referred" else ""
    sentence = f"promised_{risk.kind}{of_answers}{'_grouped' if grouped else ''}"
    if risk.kind == "recall":
        return said(sentence, share=percent(risk.target), name=class_name(risk.name))
    if risk.kind == "cost":
        return said(sentence, cost=cost_text(risk.target, "g"))
    return said(sentence, share=percent(risk.target))


def units_text(risk: Risk, grouped: bool, refers: bool) -> str:
    rows = f"rows of {class_name(risk.name)}" if risk.kind == "recall" else "rows"
    if refers and risk.kind in OF_ANSWERS:
        rows = f"{rows} that are answered"
    if not grouped:
        return rows
    return "groups of rows" if rows == "rows" else f"groups with {rows}"


def where_text(by: str, group: str) -> str:
    return f" where {by} is {group}" if by else ""


def _counted(n: int, risk: Risk, grouped: bool, refers: bool) -> str:
    count = f"{n:,}".replace(",", "." if said("decimal") == "," else ",")
    kind = "units_groups" if grouped else "units_rows"
    answered = "_answered" if refers and risk.kind in OF_ANSWERS else ""
    if risk.kind == "recall":
        return said(f"{kind}_of{answered}", n=count, name=class_name(risk.name))
    return said(f"{kind}{answered}", n=count)


def _shown(test: RiskTest, by: str, grouped: bool, refers: bool, begin: str = "shown_by") -> str:
    risk, mean = test.risk, test.loss / test.n
    units = _counted(test.n, risk, grouped, refers)
    values = {"begin": said(begin), "units": said("units_where", units=units, by=by, group=test.group) if by else units}
    if risk.kind == "cost":
        return said("shown_cost", **values, cost=cost_text(risk.low + mean * (risk.high - risk.low), ".4g"))
    lost = {"error": "wrong", "recall": "missed", "referred": "referred"}[risk.kind]
    share = number_text(100 * mean, ".3g")
    if grouped:
        answered = "_answered" if refers and risk.kind in OF_ANSWERS else ""
        return said(f"shown_{lost}{answered}_grouped", **values, share=share)
    return said(f"shown_{lost}", **values, n=number_text(test.loss, "g"), share=share)
