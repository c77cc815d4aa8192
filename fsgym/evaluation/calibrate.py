"""The threshold of certainty that keeps what is promised, found on rows of one's own.

It is chosen by Learn then Test (Angelopoulos et al., 2021) along a fixed sequence of thresholds: it starts at the
strictest one, never to stop early, and ends before the first that fails. Where uncertain cases are referred to a
person, nothing would be answered at the strictest one, so that a fifth of the rows chooses where the others begin
(Ringel et al., 2024).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsgym.data.cells import level_text
from fsgym.data.checks import is_frame
from fsgym.data.row_groups import encode_row_groups
from fsgym.envs.trajectories import price_orders
from fsgym.evaluation import risk_control
from fsgym.evaluation.promise import (
    LIMITS,
    NEVER,
    TESTS,
    Promise,
    Risk,
    RiskTest,
    digest_of_rows,
    joined,
    needed_limits,
    unit_losses,
    units_text,
    where_text,
)
from fsgym.metrics import binomial_upper_bound
from fsgym.rules import Rules
from fsgym.rules.checks import position_of
from fsgym.rules.rules import unavoidable
from fsgym.support.checks import check_choice, check_number
from fsgym.text.messages import brief, listing, option_text

# Of the rows, or groups of rows, of a model that refers; as in Ringel et al. (2024).
SHARE_FOR_START = 0.2
TARGETS = ("target_error", "target_recall", "target_error_cost", "max_referred", "min_confidence")  # of ``calibrate``
# Rows of the training among those to calibrate on, beyond equal rows by chance: a share, and standard errors; by hand
MAX_SHARE_TRAINED, N_ERRORS_OF_SHARE = 0.05, 3.0


class PathRecord(NamedTuple):
    """What a policy says at each step of n rows that go on past its stops, as far as anything can change.

    The steps of row i are ``first[i]`` to ``first[i + 1]``; there is at least one, and the last one is an answer.
    """

    first: NDArray[np.int64]  # (n + 1,)
    stops: NDArray[np.bool_]  # (n_steps,), whether the policy itself would stop there
    answers: NDArray[np.int64]  # (n_steps,), class codes; n_classes refers the row
    probabilities: NDArray[np.float64]  # (n_steps, n_classes)
    lengths: NDArray[np.int64]  # (n_steps,), how many acquisitions were made by then
    order: NDArray[np.int32]  # (n, longest), the acquisitions of each row, then -1

    def ends(self, may_end: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The first step of each row where it may end, bool (n_steps,), or else its last one; int64 (n,)."""
        places = np.where(may_end, np.arange(len(may_end)), len(may_end))
        return np.minimum(np.minimum.reduceat(places, self.first[:-1]), self.first[1:] - 1)

    def ends_at(
        self, limit: float, needed: NDArray[np.float64], refers: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The step at which each row ends if only stops that need at most this limit count, and its answer, (n,) each.

        ``needed`` is ``needed_limits`` of the steps, (n_steps,). If the model ``refers`` cases, those that end without
        a certain answer are referred.
        """
        counts = self.stops & (needed <= limit)
        ends = self.ends(counts)
        return ends, np.where(counts[ends] | (not refers), self.answers[ends], self.probabilities.shape[1])

    def order_until(self, ends: NDArray[np.int64]) -> NDArray[np.int32]:
        """The acquisitions of each row up to a step of it, (n,), then -1."""
        return np.where(np.arange(self.order.shape[1]) < self.lengths[ends][:, None], self.order, -1)


def promised_risks(
    target_error: Any,
    target_recall: Any,
    target_error_cost: Any,
    max_referred: Any,
    classes: Sequence[Any],
    answer_costs: NDArray[np.float64],
) -> tuple[Risk, ...]:
    """The risks that the targets of ``calibrate`` limit, checked."""
    risks = []
    if target_error is not None:
        limit = _share(target_error, option_text("target_error"))
        risks.append(Risk("error", limit, limit))
    if target_recall is not None:
        if not isinstance(target_recall, Mapping) or not target_recall:
            raise TypeError(
                f"{option_text('target_recall')} must map classes to recalls, as {{{str(classes[-1])!r}: 0.95}}, "
                "got "
                f"{brief(target_recall)}"
            )
        for label, given in target_recall.items():
            code = position_of(label, classes, option_text("target_recall"), "class")
            recall = _share(given, f"{option_text('target_recall')} of {str(label)!r}")
            risks.append(Risk("recall", recall, round(1 - recall, 15), code, str(classes[code])))
    if target_error_cost is not None:
        low, high = float(answer_costs.min()), float(answer_costs.max())
        cost = check_number(target_error_cost, option_text("target_error_cost"), low)
        if not low < cost < high:
            raise ValueError(
                f"{option_text('target_error_cost')} must be above {low:g} and below {high:g}, the lowest and the "
                "highest error cost, "
                f"got {cost:g}"
            )
        risks.append(Risk("cost", cost, (cost - low) / (high - low), low=low, high=high))
    if max_referred is not None:
        limit = _share(max_referred, option_text("max_referred"))
        if len(answer_costs) == answer_costs.shape[1]:
            raise ValueError(
                f"{option_text('max_referred')} needs a model that may refer cases, got one without "
                f"{option_text('refer_cost')}; train with it"
            )
        risks.append(Risk("referred", limit, limit))
    return tuple(risks)


def _share(value: Any, what: str) -> float:
    share = check_number(value, what, 0.0)
    if not 0 < share < 1:
        raise ValueError(f"{what} must be above 0 and below 1, got {share:g}")
    return share


class CalibrationRows(NamedTuple):
    """The labels of the rows of a ``PathRecord``, and how they are grouped."""

    y: NDArray[np.int64]  # (n,), class codes
    # (n,), codes of the groups of rows whose mean is promised, such as patients; None for single rows
    groups: NDArray[np.int64] | None = None
    # (n,), codes of the parts of the rows for each of which the risks are promised; None for all together
    parts: NDArray[np.int64] | None = None
    part_names: Sequence[str] = ("",)
    by: str = ""  # what the parts are, such as "ward"


class _Tested(NamedTuple):
    """One risk on one part of the rows: losses of rows or groups of rows at all limits, (n, n_limits).

    NaN where they do not count, as they are not answered. ``binary`` where each is 0 or 1.
    """

    risk: Risk
    group: str
    losses: NDArray[np.float64]
    binary: bool

    def counts(self) -> NDArray[np.int64]:
        return (~np.isnan(self.losses)).sum(axis=0)

    def sums(self) -> NDArray[np.float64]:
        return np.nansum(self.losses, axis=0)

    def p_values(self, test: risk_control.MeanTest) -> NDArray[np.float64]:
        if self.binary:
            return risk_control.binomial_p_value(self.sums().round(), self.counts(), self.risk.limit)
        columns = [column[~np.isnan(column)] for column in self.losses.T]
        return np.array([test(column, self.risk.limit) if len(column) else 1.0 for column in columns])

    def fewest(self, delta: float, test: risk_control.MeanTest) -> int:
        if self.binary:
            return risk_control.fewest_rows(self.risk.limit, delta)
        return risk_control.fewest_rows_of_mean(self.risk.limit, delta, test)

    def bound(self, place: int, delta: float, test: risk_control.MeanTest) -> float:
        """The upper limit of the risk at one of the limits."""
        losses = self.losses[~np.isnan(self.losses[:, place]), place]
        if self.binary:
            return float(binomial_upper_bound(losses.sum().round(), len(losses), delta))
        return risk_control.mean_upper_bound(losses, delta, test) if len(losses) else 1.0


def choose_limit(
    record: PathRecord,
    rows: CalibrationRows,
    risks: Sequence[Risk],
    answer_costs: NDArray[np.float64],
    confidence: float = 0.9,
    min_confidence: float | None = None,
    test: str = "betting",
) -> tuple[int, tuple[RiskTest, ...]]:
    """The place in ``LIMITS`` of the laxest threshold that keeps all risks, and their tests there.

    A threshold passes where each risk passes in each part of the rows (an intersection-union test: Berger, 1982), so
    nothing is shared out among them. Shares of rows are tested exactly, mean costs and means over groups by ``test``.

    Where cases may be referred, those that end uncertain are. The error and the recalls are then those of the answered
    rows: given which rows are answered, which depends on their features alone, errors are binomial.

    Raises
    ------
    ValueError
        If there are fewer rows than show the limit without any error; or if no threshold passes, with the lowest risk
        that the rows could promise where everything is acquired, or where the tests began.

    References
    ----------
    A. Angelopoulos et al., 2021, section 3; R. Berger. Multiparameter hypothesis testing and acceptance sampling.
    Technometrics, 1982. Selective answers: Y. Geifman, R. El-Yaniv. Selective classification for deep neural networks.
    NeurIPS, 2017. L. Ringel et al., 2024, section 3, for the two stages.
    """
    delta, of_means = round(1 - confidence, 15), TESTS[test]
    refers = len(answer_costs) > answer_costs.shape[1]
    needed = needed_limits(risks, min_confidence, record.answers, record.probabilities, answer_costs)
    answers = np.stack([record.ends_at(limit, needed, refers)[1] for limit in LIMITS], axis=1)
    first = chooses_start(rows) if refers else np.zeros(len(rows.y), bool)

    def tested_by(chosen: NDArray[np.bool_]) -> list[_Tested]:
        parts = [(name, part & chosen) for name, part in _parts(rows)]
        return [_tested(risk, name, part, rows, answers, answer_costs) for risk in risks for name, part in parts]

    tested = tested_by(~first)
    for one in tested:
        if one.risk.kind == "cost" and (least := _least_cost(one, rows, answer_costs)) >= one.risk.target:
            raise ValueError(
                f"{one.risk} cannot be promised{where_text(rows.by, one.group)}: the best answer to each of these rows "
                f"costs {least:.4g} on average; promise more than that"
            )
        fewest, n = one.fewest(delta, of_means), int(one.counts().max())
        if n < fewest:
            units = units_text(one.risk, rows.groups is not None, refers) + where_text(rows.by, one.group)
            besides = ", besides the fifth that chooses where the tests begin" if refers else ""
            raise ValueError(
                f"{one.risk} at confidence {confidence:g} needs at least {fewest:,} {units} for the calibration"
                f"{besides}, these are {n:,}; give more, or promise less"
            )
    start = NEVER
    if refers:
        start = risk_control.start_of_sequence(np.max([one.p_values(of_means) for one in tested_by(first)], axis=0))
    p_values = np.array([one.p_values(of_means) for one in tested])
    passed = risk_control.last_of_sequence(p_values.max(axis=0)[start:], delta)
    if passed < 0:
        failed = [one for one, p in zip(tested, p_values[:, start], strict=True) if p > delta]
        could = joined(_could(one, start, delta, of_means, rows) for one in failed)
        where = (
            f"answered from the certainty on that a fifth of these rows chose, the others could promise {could}"
            if refers
            else f"with all that may be acquired these rows could promise at best {could}"
        )
        wanted = joined(str(one.risk) + where_text(rows.by, one.group) for one in failed)
        raise ValueError(
            f"{wanted} cannot be promised at confidence {confidence:g}: {where}; more rows may show more, else "
            "promise less, which is another attempt by these rows"
        )
    place = start + passed
    return place, tuple(
        RiskTest(one.risk, one.group, int(one.counts()[place]), float(one.sums()[place]), float(p))
        for one, p in zip(tested, p_values[:, place], strict=True)
    )


def chooses_start(rows: CalibrationRows) -> NDArray[np.bool_]:
    """Which rows choose where the others begin to test, bool (n,): a fifth of them, or of their groups, by chance.

    The choice has a fixed seed, so that the same rows in the same order always make the same promise.
    """
    units = np.arange(len(rows.y)) if rows.groups is None else np.unique(rows.groups, return_inverse=True)[1]
    n_units = int(units.max(initial=-1)) + 1
    chosen = np.zeros(n_units, bool)
    chosen[np.random.default_rng(0).permutation(n_units)[: int(n_units * SHARE_FOR_START)]] = True
    return chosen[units]


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
    answer_costs: NDArray[np.float64],
) -> _Tested:
    counted = part & risk.counted(rows.y)
    losses = risk.losses(answers[counted], rows.y[counted], answer_costs)
    losses, single = unit_losses(losses, None if rows.groups is None else rows.groups[counted])
    return _Tested(risk, name, losses, risk.kind != "cost" and single)


def _least_cost(one: _Tested, rows: CalibrationRows, answer_costs: NDArray[np.float64]) -> float:
    """The mean cost of the best answers to the rows, or groups of rows, of one part."""
    part = dict(_parts(rows))[one.group]
    groups = None if rows.groups is None else rows.groups[part]
    return float(unit_losses(unavoidable(answer_costs, rows.y[part])[:, None], groups)[0].mean())


def _could(one: _Tested, place: int, delta: float, test: risk_control.MeanTest, rows: CalibrationRows) -> str:
    """What these rows could promise of a risk at one of the limits, rounded to what they would pass."""
    up = min(float(np.ceil(one.bound(place, delta, test) * 1e4) / 1e4), 1.0)
    low, high = one.risk.low, one.risk.high
    best = {"recall": round(1 - up, 4), "cost": low + up * (high - low)}.get(one.risk.kind, up)
    return f"{one.risk._replace(target=best)}{where_text(rows.by, one.group)}"


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
    max_referred: Any,
    min_confidence: Any,
    confidence: Any,
    test: Any,
    classes: Sequence[Any],
    answer_costs: NDArray[np.float64],
) -> Wanted:
    """The parameters of ``calibrate``, checked; raises its errors."""
    risks = promised_risks(target_error, target_recall, target_error_cost, max_referred, classes, answer_costs)
    least = None if min_confidence is None else _share(min_confidence, option_text("min_confidence"))
    if not risks and least is None:
        *others, last = map(option_text, TARGETS)
        raise ValueError(f"give a target: {', '.join(others)} or {last}")
    return Wanted(risks, _share(confidence, option_text("confidence")), least, check_choice(test, "test", *TESTS))


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
            raise ValueError(
                f"{option_text('by')} must be a column of X, or a label for each row, got {by!r}; X has {names}"
            )
        labels, what = table[by], by
    labels = np.asarray(labels, dtype=object)
    parts = encode_row_groups(labels, len(y), "by")
    firsts = np.unique(parts, return_index=True)[1]
    return CalibrationRows(y, codes, parts, [level_text(v) for v in labels[firsts]], what)


def has_rows(wanted: Wanted, X: Any, y: Any, by: Any, groups: Any) -> bool:
    """Whether there are rows to calibrate on; ValueError where there are none and what is wanted needs them."""
    if X is None and (wanted.risks or y is not None or by is not None or groups is not None):
        raise ValueError(
            f"calibrate needs X, the rows to calibrate on; only {option_text('min_confidence')} does without"
        )
    if by is not None and not wanted.risks:
        raise ValueError(
            f"{option_text('by')} is for what is promised, and {option_text('min_confidence')} alone promises nothing; "
            "leave it out, or give a target"
        )
    return X is not None


class TrainedRows:
    """The rows that trained a model, a number of 64 bits of each, by which they are found among others.

    Parameters
    ----------
    X : float32 (n_samples, n_features), NaN where missing
    y : int64 (n_samples,), class codes

    Attributes
    ----------
    share : float, of the training rows that are here; 1 unless they are a sample

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
        self.share = 1.0
        self._keys, counts = np.unique(_keys_of_rows(X, y), return_counts=True)
        self._n, self._repeated = len(X), float(counts[counts > 1].sum() / max(len(X), 1))

    def refuse(self, X: NDArray[np.float32], y: NDArray[np.int64]) -> None:
        """ValueError where more of these rows are in the training than rows of such a table are in it twice."""
        among = float(np.isin(_keys_of_rows(X, y), self._keys).mean())
        share = (self._repeated * self._n + 1) / (self._n + 2)  # where no rows were equal, some may be
        error = np.sqrt(share * (1 - share) * (1 / len(X) + 1 / self._n))
        if among > self._repeated + MAX_SHARE_TRAINED * self.share + N_ERRORS_OF_SHARE * error:
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
    n_calibrations: dict[str, int],
    policy: str = "",
) -> tuple[Promise, NDArray[np.int64]]:
    """The promise at the laxest threshold that keeps the risks on rows ``X`` (n, n_features); raises ``choose_limit``.

    Returns the promise, and the answers that it gives to these rows, int64 (n,): class codes, n_classes for a referred
    row.

    Parameters
    ----------
    record : PathRecord, of these rows
    X : float32 (n, n_features), in the order of ``rules``
    rows : CalibrationRows
    wanted : Wanted
    rules : Rules
    n_calibrations : dict, how often rows were used for a calibration, by their digest; these are counted in it
    policy : as in ``Promise``
    """
    digest = digest_of_rows(X, rows.y)
    n_calibrations[digest] = n_calibrations.get(digest, 0) + 1
    risks, confidence, min_confidence, test = wanted
    costs, place, tests = rules.answer_costs, NEVER, ()
    if risks:
        place, tests = choose_limit(record, rows, risks, costs, confidence, min_confidence, test)
    needed = needed_limits(risks, min_confidence, record.answers, record.probabilities, costs)
    ends, answers = record.ends_at(LIMITS[place], needed, rules.refer_cost is not None)
    plain = record.ends(record.stops)
    promise = Promise(
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
        referred=_share_referred(rules, answers),
        referred_without=_share_referred(rules, record.answers[plain]),
        n_calibrations=n_calibrations[digest],
        rows=digest,
        policy=policy,
    )
    return promise, answers


def _mean_price(rules: Rules, X: NDArray[np.float32], order: NDArray[np.int32]) -> float:
    return float(price_orders(rules, X, order)[0].mean())


def _share_referred(rules: Rules, answers: NDArray[np.int64]) -> float | None:
    return None if rules.refer_cost is None else float((answers == rules.n_classes).mean())


def without_rows(wanted: Wanted, rules: Rules, policy: str) -> Promise:
    """The rule of ``min_confidence`` alone, which promises nothing."""
    _, confidence, least, test = wanted
    referred = None if rules.refer_cost is None else 0.0
    return Promise(
        (), confidence, None, least, "", test, (), 0, False, 0.0, 0.0, 0.0, 0.0, referred, referred, 1, "", policy
    )
