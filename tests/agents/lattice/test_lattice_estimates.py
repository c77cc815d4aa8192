"""What a lattice says that going on costs where all rows go on: figures that decide nothing."""

import numpy as np
import pytest

from agents import LatticeClassifier, load_classifier, model_file
from agents.lattice.sweep import ALWAYS, STOP
from fsgym.session.row_steps import RowCases, steps_of_rows
from support.exported_policies import cases_of, check_interpreters, needs_node
from support.model_files import assert_refused, assert_same_trajectories
from support.patients import RULES, features_and_labels, patients

N_ROWS, N_NEW = 600, 8000  # patients


def complete(n, seed):
    """Patients of whom all values are known."""
    X, y = features_and_labels(patients(n, seed).dropna())
    return X.reset_index(drop=True), y.to_numpy()


@pytest.fixture(scope="module")
def model():
    return LatticeClassifier(effort=0.3, random_state=0, **RULES).fit(*complete(N_ROWS, seed=0))


def with_theta(model, path, change):
    """A copy from a file in which ``change`` was made to the coefficients of each subset, by its mode."""
    model.save(path)
    arrays, header = model_file.read(path, "lattice")
    parts = np.split(arrays["plan.theta"], arrays["plan.theta_first"][1:-1])
    parts = [change(mode, part) for mode, part in zip(arrays["plan.mode"], parts, strict=True)]
    first = np.append(0, np.cumsum([len(part) for part in parts]))
    model_file.write(path, "lattice", arrays | {"plan.theta": np.concatenate(parts), "plan.theta_first": first}, header)
    return load_classifier(path)


@pytest.fixture(scope="module")
def before(model, tmp_path_factory):
    """The model as a file has it that was written before there were such figures."""
    path = tmp_path_factory.mktemp("before") / "model"
    return with_theta(model, path, lambda mode, part: part[:0] if mode == ALWAYS else part)


def steps_with(models, told):
    cases = RowCases(told, np.zeros(told.shape, bool))
    return [steps_of_rows(model, cases) for model in models]


def walked(models, X, y):
    """What each model says that going on costs, at each question with a price, and what it then costs.

    All of them ask the same.
    """
    one, (features, rules) = models[0], (models[0].acquisitions_.columns.encode(X), models[0].acquisitions_.rules)
    told, rows, spent = np.full(features.shape, np.nan, np.float32), np.arange(len(X)), np.zeros(len(X))
    loss, truth, found = np.zeros(len(X)), np.searchsorted(one.classes_, y), []
    while len(rows):
        steps = steps_with(models, told[rows])
        first = steps[0]
        for other in steps[1:]:
            np.testing.assert_array_equal(first.question, other.question)
            np.testing.assert_array_equal(first.answers, other.answers)
        found.append(np.stack([rows, spent[rows], first.stop_cost, *(s.go_on_cost for s in steps)])[:, first.price > 0])
        ends = first.question < 0
        loss[rows[ends]] = spent[rows[ends]] + rules.answer_costs[first.answers[ends], truth[rows[ends]]]
        rows, question = rows[~ends], first.question[~ends]
        spent[rows] += rules.lam * first.price[~ends]
        for j in np.unique(question):
            revealed = np.ix_(rows[question == j], rules.groups[j])
            told[revealed] = features[revealed]
    row, paid, stop, *go_on = np.concatenate(found, axis=1)
    return stop, go_on, loss[row.astype(int)] - paid


@pytest.mark.slow
def test_going_on_costs_what_is_said_where_all_rows_go_on(model, before):
    stop, (now, then), real = walked([model, before], *complete(N_NEW, seed=10))
    had = ~np.isnan(then)
    np.testing.assert_array_equal(now[had], then[had])
    said = ~had & ~np.isnan(now)
    assert said.sum() > max(3000, 0.7 * (~had).sum())
    assert (now[said] <= stop[said]).all()
    low, high = (now <= np.quantile(now[said], 0.3)), (now >= np.quantile(now[said], 0.7))
    for some in (said, said & low, said & high):
        of_training = some.sum() * N_ROWS / N_NEW  # about so many rows made the figure
        error = real[some].std() * np.sqrt(1 / some.sum() + 1 / of_training)
        assert abs(now[some].mean() - real[some].mean()) < 2 * error
    assert real[said & high].mean() > 1.5 * real[said & low].mean()


@pytest.mark.parametrize("change", [lambda part: part[:0], np.zeros_like, lambda part: part - 100])
def test_the_figures_decide_nothing(model, change, tmp_path):
    other, (X, _) = (
        with_theta(model, tmp_path / "m", lambda mode, p: change(p) if mode == ALWAYS else p),
        complete(3000, 2),
    )
    assert_same_trajectories(model.trajectories(X), other.trajectories(X))
    rng, values = np.random.default_rng(0), model.acquisitions_.columns.encode(X)
    known = rng.random(values.shape) < rng.random((len(X), 1))
    one, two = steps_with([model, other], np.where(known, values, np.nan).astype(np.float32))
    for name in ("question", "answers", "probabilities", "stop_cost"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_no_figure_contradicts_the_question(model, before, tmp_path):
    """All rows go on there, as that is better on average, whatever the regression says of this one."""

    def raised(mode, part):
        return part + np.where(np.arange(len(part)) == 0, 1e5, 0) if mode == ALWAYS else part

    _, (now, then), _ = walked([with_theta(model, tmp_path / "m", raised), before], *complete(1000, seed=11))
    np.testing.assert_array_equal(now, then)


@needs_node
@pytest.mark.slow
def test_exported_policies_have_the_figures_of_sessions(model, before):
    cases = cases_of(model, complete(200, seed=3)[0], 30)
    figures = [
        [a[2] for one in check_interpreters(each, cases) for step in one for a in step["alternatives"]]
        for each in (model, before)
    ]
    now, then = (sum(cost is not None for cost in costs) for costs in figures)
    assert now > then


@pytest.mark.parametrize(
    "change",
    [
        lambda mode, part: np.ones(6) if mode == STOP else part,
        lambda mode, part: part[:-1] if mode == ALWAYS else part,
        lambda mode, part: np.append(part, part) if mode == ALWAYS else part,
        lambda mode, part: part if mode in (STOP, ALWAYS) else part[:0],
    ],
    ids=["where none is made", "too few", "too many", "none where they decide"],
)
def test_coefficients_of_other_lengths_are_refused(model, change, tmp_path):
    model.save(tmp_path / "good")
    assert_refused(tmp_path / "m", "theta", lambda path: with_theta(model, path, change))
