"""Options of ``Rules`` by name or class label instead of position, error costs in words, and answers of least cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsgym.text.messages import brief, explain_unknown, listing

# Answers from class probabilities.


def cheapest_answers(shares: NDArray[np.float64], answer_costs: NDArray[np.float64]) -> NDArray[np.int64]:
    """The answer of least expected cost for class probabilities (n_samples, n_classes), int64 (n_samples,).

    ``answer_costs`` (n_answers, n_classes) are those of ``Rules``: error costs, and a row for the answer that refers.
    Ties go to the first answer, so to a class.

    References
    ----------
    C. Elkan. The foundations of cost-sensitive learning. IJCAI, 2001, eq. 1. C. K. Chow. On optimum recognition error
    and reject tradeoff. IEEE Transactions on Information Theory, 1970.

    Examples
    --------
    >>> cheapest_answers(np.array([[0.8, 0.2]]), np.array([[0.0, 10.0], [1.0, 0.0]]))
    array([1])
    """
    return (shares @ answer_costs.T).argmin(axis=1)


# Names of the axes of a DataFrame of error costs that say which of them is which.
ANSWER_NAMES = ("answer", "answers", "predicted", "prediction", "predicted class", "y_pred", "decision")
TRUTH_NAMES = ("truth", "truths", "true", "true class", "true_class", "actual", "y_true", "label")


def is_frame(value: Any) -> bool:
    """Whether the value is a pandas DataFrame, without importing pandas."""
    return hasattr(value, "columns") and hasattr(value, "index") and hasattr(value, "to_numpy")


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
        costs = _rows_of(costs, "error_costs", ("answers", ANSWER_NAMES), ("true classes", TRUTH_NAMES))
    if not isinstance(costs, Mapping):
        return costs
    matrix = np.full((len(classes), len(classes)), np.nan)
    np.fill_diagonal(matrix, 0.0)
    for answer, row in costs.items():
        i = position_of(answer, classes, "error_costs", "class")
        if not isinstance(row, Mapping):
            raise TypeError(
                f"error_costs must map each answer to its costs by true class, as {{'no': {{'yes': 5}}}}, "
                f"got {brief(row)} for {str(answer)!r}"
            )
        for truth, cost in row.items():
            j = position_of(truth, classes, f"error_costs of the answer {str(answer)!r}", "class")
            matrix[i, j] = _number(cost, f"error_costs of answering {str(answer)!r} when it is {str(truth)!r}")
    if np.isnan(matrix).any():
        i, j = (int(v) for v in np.argwhere(np.isnan(matrix))[0])
        raise ValueError(
            f"error_costs must have a cost for each wrong answer, got none for answering {str(classes[i])!r} "
            f"when it is {str(classes[j])!r}"
        )
    return matrix


def _number(value: Any, what: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if isinstance(value, str | bytes) or not np.isfinite(number):
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
        symmetric = False
    elif symmetric and _is_pairs(relation):
        relation = [(i, [j]) for i, j in relation]
    if isinstance(relation, Mapping):
        relation = list(relation.items())
        symmetric = False
    elif not (isinstance(relation, list) and symmetric and relation and isinstance(relation[0], tuple)):
        return relation
    matrix = np.zeros((len(names), len(names)), dtype=bool)
    for name, others in relation:
        i = position_of(name, names, what, "acquisition")
        others = [others] if isinstance(others, str) else others
        if not isinstance(others, Iterable) or isinstance(others, Mapping):
            raise TypeError(f"{what} must map names to lists of names, got {brief(others)} for {name!r}")
        for other in others:
            j = position_of(other, names, what, "acquisition")
            matrix[i, j] = True
            matrix[j, i] |= symmetric
    return matrix


def _is_pairs(relation: Any) -> bool:
    """Whether it is a list of pairs of names."""
    return (
        isinstance(relation, list | tuple)
        and len(relation) > 0
        and all(isinstance(p, list | tuple) and len(p) == 2 and all(isinstance(v, str) for v in p) for p in relation)
    )


def _flag(value: Any, what: str) -> bool:
    if value not in (0, 1):
        raise ValueError(f"{what} must hold only 0 and 1 (or bool), got {brief(value)}")
    return bool(value)


def describe_error_costs(error_costs: NDArray[np.float64], classes: Sequence[Any], most: int = 8) -> str:
    """Error costs in words; "" for the default, 1 for each wrong answer.

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
    """
    n = len(classes)
    if (error_costs == 1.0 - np.eye(n)).all():
        return ""
    parts = [f"a correct {classes[k]} costs {error_costs[k, k]:g}" for k in range(n) if error_costs[k, k] != 0]
    if n == 2:
        sick = 0 if error_costs[1, 0] > error_costs[0, 1] else 1  # the class whose misses cost more
        well = 1 - sick
        wrong = [
            f"a missed {classes[sick]} costs {error_costs[well, sick]:g}",
            f"a false {classes[sick]} costs {error_costs[sick, well]:g}",
        ]
    else:
        pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
        pairs.sort(key=lambda pair: -error_costs[pair])
        wrong = [f"answering {classes[i]} for a true {classes[j]} costs {error_costs[i, j]:g}" for i, j in pairs]
    return listing(wrong + parts, most)
