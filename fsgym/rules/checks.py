"""Checks of the options of ``fsgym.Rules``: each returns its option in one form, by position, or raises."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsgym.data.cells import plain_number
from fsgym.data.checks import is_frame
from fsgym.rules.options import REFER_LABEL
from fsgym.support.checks import check_number, check_prices, is_integer, number_array
from fsgym.text.messages import brief, explain_unknown, listing, option_text
from fsgym.text.sentences import class_name

MANY_CLASSES = 200  # a linear program of more of them takes seconds
LONG_NUMBER = 12  # characters of one that float noise may have made


def check_sizes(n_features: Any, n_classes: Any) -> tuple[int, int]:
    """Both numbers as int."""
    if not (is_integer(n_features) and is_integer(n_classes) and n_features >= 1 and n_classes >= 2):
        raise ValueError(
            f"n_features and n_classes must be whole numbers, at least 1 and 2, "
            f"got {brief(n_features)} and {brief(n_classes)}"
        )
    return int(n_features), int(n_classes)


def check_acquisition_names(names: Sequence[str] | None, n: int, default: str) -> tuple[str, ...]:
    """``n`` distinct names; by default ``default`` with the index in place of {}."""
    if isinstance(names, str) or not isinstance(names, Sequence | None):
        raise TypeError(f"names must be a sequence of {n} names, got {brief(names)}")
    texts = tuple(default.format(j) for j in range(n)) if names is None else tuple(str(v) for v in names)
    if len(set(texts)) != len(texts) or len(texts) != n:
        raise ValueError(f"names must be {n} distinct names, one per acquisition, got {brief(names)}")
    return texts


def check_class_labels(classes: Sequence[Any] | None, n: int) -> tuple[str, ...] | None:
    """The labels of ``n`` classes as text; None where they are not known."""
    if classes is None:
        return None
    if isinstance(classes, str) or not isinstance(classes, Sequence | np.ndarray) or len(classes) != n:
        raise ValueError(f"classes must be the labels of the {n} classes, got {brief(classes)}")
    if not (_increases(classes) or _increases(_as_numbers(classes))):
        raise ValueError(f"classes must be distinct and in sorted order, as those of a Dataset, got {brief(classes)}")
    return tuple(str(v) for v in classes)


def _as_numbers(labels: Sequence[Any]) -> list[float]:
    """Labels as numbers, as which texts of numbers are sorted, too; none where they are no numbers."""
    try:
        return [float(v) for v in labels]
    except (TypeError, ValueError):
        return []


def _increases(labels: Sequence[Any]) -> bool:
    try:
        return len(labels) > 0 and all(a < b for a, b in pairwise(labels))
    except TypeError:
        return False


def check_bool(value: Any, what: str) -> bool:
    """The value, which must be True or False; ``what`` names it in messages."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{what} must be True or False, got {brief(value)}")
    return bool(value)


def check_unrelated_costs(unrelated: Any, related: Any, costs: NDArray[np.float64], names: Sequence[str]) -> NDArray:
    """Prices of unrelated acquisitions, float64 (J,); ``costs`` if there is no relation or "forbid" is given."""
    if (unrelated is None) != (related is None):
        given, other = ("related", "unrelated_costs") if unrelated is None else ("unrelated_costs", "related")
        raise ValueError(f"{option_text(given)} needs {option_text(other)}: give both or neither")
    if isinstance(unrelated, str) and unrelated != "forbid":
        raise ValueError(f"{option_text('unrelated_costs')} must be prices or 'forbid', got {brief(unrelated)}")
    if unrelated is None or isinstance(unrelated, str):
        return costs
    return check_prices(unrelated, names, option_text("unrelated_costs"))


def _check_square(matrix: ArrayLike, n: int, what: str, axis: str, takes_bools: bool = False) -> NDArray[np.float64]:
    """A finite matrix, float64 (n, n); ``axis`` says in messages what a row and a column stand for."""
    try:
        values = number_array(matrix, takes_bools)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{what} must be a matrix of numbers, with a row and a column per {axis}") from None
    if values.shape != (n, n):
        raise ValueError(f"{what} must have shape ({n}, {n}), a row and a column per {axis}, got {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError(f"{what} must be finite, got {values[~np.isfinite(values)][0]}")
    return values


def check_relation(relation: Any, names: Sequence[str], what: str, symmetric: bool = False) -> NDArray[np.bool_] | None:
    """A relation between acquisitions, bool (n, n), from any form that ``relation_matrix`` takes; None for None."""
    if relation is None:
        return None
    values = _check_square(
        relation_matrix(relation, names, what, symmetric), len(names), what, "acquisition", takes_bools=True
    )
    if not np.isin(values, (0.0, 1.0)).all():
        raise ValueError(f"{what} must hold only 0 and 1 (or bool)")
    return values.astype(bool)


def check_error_costs(costs: Any, classes: Sequence[Any]) -> NDArray[np.float64]:
    """``error_costs[answer, true class]``, float64 (n_classes, n_classes); by default 1 for errors and 0 otherwise."""
    if costs is None:
        return 1.0 - np.eye(len(classes))
    return _check_square(error_cost_matrix(costs, classes), len(classes), option_text("error_costs"), "class")


def check_refer_cost(cost: Any) -> float | None:
    """The cost of referring a case, or None."""
    if isinstance(cost, bool | np.bool_):
        raise TypeError(f"{option_text('refer_cost')} must be a number, got {cost}")
    return None if cost is None else check_number(cost, option_text("refer_cost"), 0.0)


def check_refer_label(label: Any, refer_cost: float | None, classes: Sequence[str] | None) -> str:
    """What the answer to refer is called; ValueError where it is a class that can be answered beside it."""
    if not isinstance(label, str) or not label.strip():
        raise TypeError(f"{option_text('refer_label')} must be a text that is not empty, got {brief(label)}")
    if refer_cost is None and label != REFER_LABEL:
        raise ValueError(
            f"{option_text('refer_label')} must come with {option_text('refer_cost')}, got {brief(label)} alone; "
            "give the cost of referring"
        )
    if refer_cost is not None and classes is not None and label in classes:
        raise ValueError(
            f"{option_text('refer_label')} must not be a class, got {brief(label)}; pass another "
            f"{option_text('refer_label')}"
        )
    return label


def refuse_cycles(prerequisites: NDArray[np.bool_], names: Sequence[str]) -> None:
    """ValueError where prerequisites form a cycle."""
    missing = prerequisites.sum(axis=1)  # prerequisites of each acquisition that are not reached yet
    ready = np.flatnonzero(missing == 0).tolist()
    while ready:  # each acquisition once, so that the time is that of reading the matrix
        after = np.flatnonzero(prerequisites[:, ready.pop()])
        missing[after] -= 1
        ready += after[missing[after] == 0].tolist()
    if missing.any():
        stuck = names[int(np.flatnonzero(missing)[0])]
        raise ValueError(f"{option_text('prerequisites')} must not form a cycle: {stuck!r} could never be acquired")


def check_always_known(always_known: Any, n_acquisitions: int) -> tuple[int, ...]:
    """The acquisitions in rising order."""
    listed = list(always_known)
    if not all(is_integer(j) and 0 <= j < n_acquisitions for j in listed):
        raise ValueError(f"always_known must be numbers of acquisitions, below {n_acquisitions}, got {brief(listed)}")
    return tuple(sorted({int(j) for j in listed}))


def check_budget(budget: Any) -> int | None:
    """The largest number of acquisitions; None for no limit."""
    if budget is not None and (not is_integer(budget) or budget < 0):
        raise ValueError(
            f"{option_text('budget')} must be a whole number of acquisitions, 0 or more, got {brief(budget)}"
        )
    return None if budget is None else int(budget)


def check_budget_cost(budget_cost: Any) -> float | None:
    """The largest total price; None for no limit."""
    return None if budget_cost is None else check_number(budget_cost, option_text("budget_cost"), 0.0)


# By name or class label instead of position.

# Names of the axes of a DataFrame of error costs that say which of them is which.
ANSWER_NAMES = ("answer", "answers", "predicted", "prediction", "predicted class", "y_pred", "decision")
TRUTH_NAMES = ("truth", "truths", "true", "true class", "true_class", "actual", "y_true", "label")


def position_of(label: Any, labels: Sequence[Any], what: str, kind: str) -> int:
    """The index of a label, compared as text, so that the keys of a JSON file count; ValueError if it is unknown."""
    texts = [str(v) for v in labels]
    if str(label) not in texts:
        raise ValueError(f"{what}: {explain_unknown(kind, str(label), texts)}")
    return texts.index(str(label))


def error_cost_matrix(costs: Any, classes: Sequence[Any]) -> Any:
    """``error_costs[answer, true class]`` by position, from a mapping or a DataFrame by class label; else unchanged.

    Parameters
    ----------
    costs : mapping answer -> mapping true class -> cost, DataFrame, or matrix
        A mapping may leave out correct answers, which then cost 0. The index of a DataFrame has the answers, its
        columns the true classes.
    classes : sequence of n_classes labels, in sorted order

    Raises
    ------
    ValueError, TypeError
        If a label is unknown or missing, or the axes of a DataFrame are named the other way round.
    """
    if is_frame(costs):
        costs = _rows_of(costs, option_text("error_costs"), ("answers", ANSWER_NAMES), ("true classes", TRUTH_NAMES))
    if not isinstance(costs, Mapping):
        return costs
    matrix = np.full((len(classes), len(classes)), np.nan)
    np.fill_diagonal(matrix, 0.0)
    for answer, row in costs.items():
        i = position_of(answer, classes, option_text("error_costs"), "class")
        if not isinstance(row, Mapping):
            raise TypeError(
                f"{option_text('error_costs')} must map each answer to its costs by true class, as {{'no': {{'yes': "
                "5}}}}, "
                f"got {brief(row)} for {str(answer)!r}"
            )
        for truth, cost in row.items():
            j = position_of(truth, classes, f"{option_text('error_costs')} of the answer {str(answer)!r}", "class")
            matrix[i, j] = _number(
                cost, f"{option_text('error_costs')} of answering {str(answer)!r} when it is {str(truth)!r}"
            )
    if np.isnan(matrix).any():
        i, j = (int(v) for v in np.argwhere(np.isnan(matrix))[0])
        raise ValueError(
            f"{option_text('error_costs')} must have a cost for each wrong answer, got none for answering "
            f"{str(classes[i])!r} "
            f"when it is {str(classes[j])!r}"
        )
    return matrix


def _number(value: Any, what: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if isinstance(value, str | bytes | bool | np.bool_) or not np.isfinite(number):
        raise ValueError(f"{what} must be a finite number, got {brief(value)}")
    return number


def _rows_of(
    frame: Any, what: str, index: tuple[str, Sequence[str]], columns: tuple[str, Sequence[str]]
) -> dict[str, dict[str, Any]]:
    """The rows of a DataFrame as mappings; ``index`` and ``columns`` say what the axes are, and names for that."""
    names = [None if n is None else str(n).strip().lower() for n in (frame.index.name, frame.columns.name)]
    if names[0] in columns[1] or names[1] in index[1]:
        wrong = names[0] if names[0] in columns[1] else names[1]
        raise ValueError(
            f"{what} must have the {index[0]} as its index and the {columns[0]} as its columns, but an axis is named "
            f"{wrong!r}; pass its transpose"
        )
    for labels, axis in ((frame.index, "index"), (frame.columns, "columns")):
        if not labels.is_unique:
            raise ValueError(f"{what} has {brief(str(labels[labels.duplicated()][0]))} twice in its {axis}; remove one")
    return {str(i): {str(j): frame.loc[i, j] for j in frame.columns} for i in frame.index}


def relation_matrix(relation: Any, names: Sequence[str], what: str, symmetric: bool) -> Any:
    """A relation between acquisitions by position, from names; a matrix without names stays as it is.

    Parameters
    ----------
    relation : mapping name -> names, list of pairs of names (only if ``symmetric``), DataFrame, or matrix
        A mapping and the index of a DataFrame have the acquisitions that need or are related to the others.
    names : sequence of n_acquisitions str
    what : str, the name of the option, for messages
    symmetric : bool, whether a pair counts in both directions
    """
    if is_frame(relation):
        rows = _rows_of(relation, what, ("acquisitions", ()), ("others", ()))
        relation = {i: [j for j, v in row.items() if _flag(v, what)] for i, row in rows.items()}
    is_pairs = symmetric and _has_names(relation)
    if not is_pairs and not isinstance(relation, Mapping):
        return relation
    entries = [(i, [j]) for i, j in _check_pairs(relation, what)] if is_pairs else relation.items()
    matrix = np.zeros((len(names), len(names)), dtype=bool)
    for name, others in entries:
        i = position_of(name, names, what, "acquisition")
        others = [others] if isinstance(others, str) else others
        if not isinstance(others, Iterable) or isinstance(others, Mapping):
            raise TypeError(f"{what} must map names to lists of names, got {brief(others)} for {name!r}")
        for other in others:
            j = position_of(other, names, what, "acquisition")
            matrix[i, j] = True
            matrix[j, i] |= is_pairs
    return matrix


def _has_names(relation: Any) -> bool:
    """Whether it is a list of lists or tuples with a name, as pairs of names are and the rows of a matrix are not."""
    return isinstance(relation, list | tuple) and any(
        isinstance(pair, list | tuple) and any(isinstance(name, str) for name in pair) for pair in relation
    )


def _check_pairs(pairs: Any, what: str) -> Sequence[tuple[str, str]]:
    """The pairs; ValueError unless each has two different names."""
    for pair in pairs:
        is_pair = isinstance(pair, list | tuple) and len(pair) == 2 and all(isinstance(name, str) for name in pair)
        if not is_pair or pair[0] == pair[1]:
            raise ValueError(
                f"{what} must be a list of pairs of two different names, such as ('age', 'bmi'), got {brief(pair)}; "
                "write a pair for each two acquisitions that are related"
            )
    return pairs


def _flag(value: Any, what: str) -> bool:
    if value not in (0, 1):
        raise ValueError(f"{what} must hold only 0 and 1 (or bool), got {brief(value)}")
    return bool(value)


def _short_number(label: str) -> str:
    """A label that is a number with many decimals, as of a bin, in 10 digits; another one as it is."""
    number = plain_number(label) if len(label) > LONG_NUMBER and "." in label else None
    return label if number is None else f"{number:.10g}"


def doubtful_costs(error_costs: NDArray[np.float64], refer_cost: float | None, classes: Sequence[Any]) -> list[str]:
    """What is probably not meant, a sentence each.

    A wrong answer that is cheaper than the right one; else a referral that never pays, an answer that is never the
    dearer one, or right answers that are dearer than a referral.

    Parameters
    ----------
    error_costs : float64 (n_classes, n_classes), ``error_costs[answer, true class]``
    refer_cost : float, optional
    classes : sequence of n_classes labels

    Examples
    --------
    >>> import numpy as np
    >>> doubtful_costs(np.array([[0.0, 9.0], [1.0, 0.0]]), 110.0, ["none", "viral"])
    ['to refer a case costs 110, but however uncertain, some answer is expected to cost at most 0.9: none is referred']
    """
    own, least, named = error_costs.diagonal(), error_costs.min(axis=0), [repr(str(label)) for label in classes]
    doubts = []
    for k in np.flatnonzero(least < own).tolist():
        a = int(error_costs[:, k].argmin())
        costs = f"costs {least[k]:.10g}, less than the right answer ({own[k]:.10g})"
        doubts.append(f"answering {named[a]} for a true {named[k]} {costs}: the answer comes first, then what was true")
    if doubts:
        return doubts
    if refer_cost is not None and refer_cost >= (most := _cost_in_doubt(error_costs)):
        sure = f"however uncertain, some answer is expected to cost at most {most:.4g}"
        return [f"to refer a case costs {refer_cost:g}, but {sure}: none is referred"]
    for a in np.flatnonzero((error_costs <= least).all(axis=1)).tolist():
        if refer_cost is None or refer_cost >= error_costs[a].max():
            return [f"answering {named[a]} never costs more than another answer: nothing is worth acquiring"]
    for k in np.flatnonzero(own > (np.inf if refer_cost is None else refer_cost)).tolist():
        more = f"{own[k]:.10g}, more than to refer the case"
        doubts.append(f"a correct {named[k]} costs {more}: whoever seems to be it is referred")
    return doubts


def _cost_in_doubt(error_costs: NDArray[np.float64]) -> float:
    """What the best answer is expected to cost where the class probabilities are the worst ones.

    The value of the game of the answers, which minimise, against the classes, by a linear program (1e-6 less, so that
    the numbers of a user are no less than it by rounding). Of more than ``MANY_CLASSES`` the dearest answer, above it.
    """
    from scipy.optimize import linprog

    n, largest = len(error_costs), float(error_costs.max())
    if n > MANY_CLASSES or not np.isfinite(scale := float(np.abs(error_costs).max())) or scale == 0:
        return largest
    of_mean, whole = np.ones((n, 1)), np.append(np.ones(n), 0.0)[None]
    bounds = [(0.0, None)] * n + [(None, None)]
    costs = np.hstack([-error_costs / scale, of_mean])
    found = linprog(np.append(np.zeros(n), -1.0), costs, np.zeros(n), whole, [1.0], bounds)
    return largest if found.x is None else float(found.x[-1] * scale * (1 - 1e-6))


def describe_error_costs(error_costs: NDArray[np.float64], classes: Sequence[Any], most: int = 8) -> str:
    """Error costs in words; "" for the default, 1 for each wrong answer.

    Those of the bins of a numeric target are means over the rows of the true bin, where it has several numbers: its own
    answer costs something there, too.

    Parameters
    ----------
    error_costs : float64 (n_classes, n_classes), ``error_costs[answer, true class]``
    classes : sequence of n_classes labels
    most : int, how many costs are named; of more classes than two the largest

    Examples
    --------
    >>> import numpy as np
    >>> describe_error_costs(np.array([[0.0, 40.0], [1000.0, 0.0]]), ["acs", "other"])
    'a missed acs costs 1000, a false acs costs 40'
    >>> describe_error_costs(np.array([[0, 9, 1], [2, 0, 3], [4, 5, 0]]), ["48.989999999999995", "114.9", "430.8"], 1)
    'answering 48.99 for a true 114.9 costs 9, ...'
    >>> describe_error_costs(np.array([[0.5, 8.1], [9.0, 0.0]]), ["2.0", "11.0"])
    'answering 11 for about 2 costs 9 (mean), answering 2.0 for a true 11.0 costs 8.1'
    """
    n = len(classes)
    if (error_costs == 1.0 - np.eye(n)).all():
        return ""
    names, own = [_short_number(str(label)) for label in classes], error_costs.diagonal()
    is_mean = (own != 0) & all("." in str(label) and plain_number(str(label)) is not None for label in classes)
    parts = [f"a correct {classes[k]} costs {own[k]:g}" for k in np.flatnonzero((own != 0) & ~is_mean).tolist()]
    if n == 2 and not is_mean.any():
        sick = 0 if error_costs[1, 0] > error_costs[0, 1] else 1  # the class whose misses cost more
        well, name = 1 - sick, class_name(classes[sick])
        wrong = [
            f"a missed {name} costs {error_costs[well, sick]:g}",
            f"a false {name} costs {error_costs[sick, well]:g}",
        ]
    else:
        pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
        pairs.sort(key=lambda pair: -error_costs[pair])
        wrong = [
            f"answering {float(classes[i]):g} for about {float(classes[j]):g} costs {error_costs[i, j]:g} (mean)"
            if is_mean[j]
            else f"answering {names[i]} for a true {names[j]} costs {error_costs[i, j]:g}"
            for i, j in pairs
        ]
    return listing(wrong + parts, most)
