"""A loaded model used as people use it; AssertionError where an answer is out of range."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pandas as pd

N_ROWS = 5
FAR = 1e30  # a value that no training row has


def use_model(model: Any, seed: int) -> None:
    """Predictions, a session, the chart and the exports of a classifier, or the episodes of an agent."""
    rng = np.random.default_rng(seed)
    if not hasattr(model, "classes_"):
        _use_agent(model, rng)
        return
    table = rows_for(model, rng)
    answers = model.predict(table)
    assert len(answers) == len(table), "rows"
    assert np.isin(answers, model.classes_).all(), "labels"
    done = model.trajectories(table)
    _check_episodes(done, model.rules_)
    if seed % 3 == 0:
        _check_episodes(model.trajectories(table, continue_after_stop=True), model.rules_)
    known = rng.random((len(table), model.rules_.n_features)) < 0.5
    _check_probabilities(model.probabilities_at(table, known))
    if _can_ask(model):
        _ask(model, table, rng)
        _predict_on_demand(model, table)
    repr(model), model._repr_mimebundle_()
    if seed % 2 == 0:
        _use_chart(model)
    else:
        _export(model)


def _use_agent(agent: Any, rng: np.random.Generator) -> None:
    n = agent.policy.rules.n_features
    X = rng.normal(size=(N_ROWS, n)).astype(np.float32)
    _check_episodes(agent.trajectories(X), agent.policy.rules)


def rows_for(model: Any, rng: np.random.Generator) -> pd.DataFrame:
    """Rows with the columns of a model: some values in range, some far outside, some missing."""
    cells: dict[str, Any] = {}
    complete = model.rules_.missing == "error"
    for column in model.columns_:
        if column.kind == "number":
            low, high = (0.0 if v is None else _clipped(v) for v in (column.low, column.high))
            values: Any = low + rng.random(N_ROWS) * (high - low)
            values[0] = -FAR
            values[1] = low
        elif column.kind == "bool":
            values = (rng.random(N_ROWS) < 0.5).astype(object)
        else:
            levels = column.levels or ("x",)
            values = np.array([levels[int(k)] for k in rng.integers(0, len(levels), N_ROWS)], dtype=object)
        if not complete:
            values[2] = None if values.dtype == object else np.nan
        cells[column.name] = values
    table = pd.DataFrame(cells)
    return table if hasattr(model, "feature_names_in_") else table.set_axis(range(len(cells)), axis=1)


def _clipped(value: float) -> float:
    return float(max(min(value, 1e38), -1e38))


def _check_episodes(done: Any, rules: Any) -> None:
    assert ((done.answers >= 0) & (done.answers < rules.n_classes)).all(), "answers"
    assert ((done.order >= -1) & (done.order < rules.n_acquisitions)).all(), "order"
    for row in done.order.tolist():
        acquisitions = [j for j in row if j >= 0]
        assert len(set(acquisitions)) == len(acquisitions), "an acquisition twice"
        assert rules.budget is None or len(acquisitions) <= rules.budget, "budget"
    _check_probabilities(done.probabilities)


def _check_probabilities(shares: Any) -> None:
    if shares is not None:
        assert ((shares >= 0) & (shares <= 1 + 1e-9)).all(), "probabilities"
        assert np.allclose(shares.sum(axis=1), 1, atol=1e-4), "sum of probabilities"


def _ask(model: Any, table: pd.DataFrame, rng: np.random.Generator) -> None:
    """A session to its end, with values known in advance and unknown ones."""
    row, rules = table.set_axis(model.columns_.names, axis=1).iloc[int(rng.integers(len(table)))], model.rules_
    absent = [name for name in row.index if pd.isna(row[name])]
    present = [name for name in row.index if name not in absent]
    given = {name: row[name] for name in present[: int(rng.integers(0, 2))]}
    session = model.session(given, absent, accept=True)
    for _ in range(rules.n_acquisitions + 2):
        _check_step(session.step, model)
        session.why()
        question = session.next()
        if question is None:
            break
        values = {c.name: row[c.name] for c in question.columns if c.name not in absent}
        if rng.random() < 0.2 or not values:
            session.unknown(question.name)
        else:
            session.answer(question.name, values, accept=True)
    else:
        raise AssertionError("a session without an end")
    assert session.stop() in model.classes_.tolist(), "label"
    json.dumps(session.step.as_json(), allow_nan=False)
    assert len(session.log()) <= rules.n_acquisitions, "log"


def _predict_on_demand(model: Any, table: pd.DataFrame) -> None:
    acquisitions, named = model.acquisitions_, table.set_axis(model.columns_.names, axis=1)

    def get(name: str, rows: Any) -> Any:
        columns = [model.columns_.names[k] for k in acquisitions.find(name)[1]]
        values = named.iloc[list(rows)][columns]
        return values.iloc[:, 0].tolist() if len(columns) == 1 else values

    fetched = model.predict_on_demand(get, len(table))
    assert np.isin(fetched, model.classes_).all(), "labels on demand"


def _can_ask(model: Any) -> bool:
    """Whether each acquisition reveals whole columns, as that of a model that was fitted on other groups need not."""
    try:
        return model.acquisitions_ is not None
    except ValueError as error:
        if "must reveal whole columns" not in str(error):
            raise
        return False


def _check_step(step: Any, model: Any) -> None:
    assert step.answer in model.classes_.tolist(), "label"
    assert 0 <= step.spent < math.inf, "spent"
    if step.probabilities is not None:
        _check_probabilities(np.array([list(step.probabilities.values())]))
    numbers = [*step.expected_cost, *(v for a in step.alternatives for v in (a.price, a.expected_cost, a.gain))]
    assert all(v is None or math.isfinite(v) for v in numbers), "expected costs"
    assert all(a.price >= 0 for a in step.alternatives), "prices"


def _use_chart(model: Any) -> None:
    if model._chart is None:
        return
    chart = model.chart()
    for text in (chart.to_text(), chart.to_svg(), chart.to_markdown()):
        assert isinstance(text, str)
    json.loads(chart.to_json(), parse_constant=_no_constant)


def _export(model: Any) -> None:
    from fsgym.export.page import page_html

    if not _can_ask(model):
        return
    text = model.policy_json()
    page_html(json.loads(text, parse_constant=_no_constant), "title", "")


def _no_constant(name: str) -> None:
    raise AssertionError(f"{name} in JSON")
