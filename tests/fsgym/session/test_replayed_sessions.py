"""Sessions and predictions on demand do for every agent and every variant of the rules what ``predict`` does."""

from __future__ import annotations

import asyncio

import numpy as np
import pandas as pd
import pytest

from fsgym.envs.trajectories import price_orders
from support.asked_models import QUICK, REST, ask_row, asked_model, asked_table

# small lattices, which are quick to learn, reach their limits
pytestmark = pytest.mark.filterwarnings("ignore:at lam=.* the lattice reached its limit:UserWarning")

every_case = pytest.mark.parametrize(
    ("agent", "variant"), QUICK + [pytest.param(*case, marks=pytest.mark.slow) for case in REST]
)


@every_case
@pytest.mark.one_in(4)
def test_a_session_on_each_row_does_what_predict_does(agent, variant):
    model, (X, _) = asked_model(agent, variant), asked_table(variant)
    X = X[:40]
    done, rules = model.trajectories(X), model.rules_
    spent, _, _ = price_orders(rules, X.to_numpy(np.float32), done.order)
    predicted, used = model.predict(X), model.features_used(X)
    for i, (_, row) in enumerate(X.iterrows()):
        session = ask_row(model, row)
        log = session.log()
        assert [e.name for e in log] == [rules.names[j] for j in done.order[i] if j >= 0]
        assert {e.kind for e in log} <= {"asked"}
        assert session.stop() == predicted[i]
        assert session.spent == spent[i]
        known = {column for e in log for column in e.values}
        assert [name in known for name in X.columns] == used[i].tolist()
        if done.probabilities is not None:
            np.testing.assert_allclose(list(session.probabilities.values()), done.probabilities[i], rtol=1e-9)


@every_case
@pytest.mark.one_in(4)
def test_on_demand_fetches_exactly_what_predict_uses(agent, variant):
    model, (X, _) = asked_model(agent, variant), asked_table(variant)
    fetched = pd.DataFrame(False, index=X.index, columns=X.columns)
    groups = {model.rules_.names[j]: [X.columns[i] for i in g] for j, g in enumerate(model.rules_.groups)}

    def get(name, rows):
        assert len(rows)
        columns = groups[name]
        assert not fetched.loc[rows, columns].to_numpy().any()
        fetched.loc[rows, columns] = X.loc[rows, columns].notna()
        return X.loc[rows, columns] if len(columns) > 1 else X.loc[rows, columns[0]].to_numpy()

    labels = model.predict_on_demand(get, X.index, available=X.notna())
    np.testing.assert_array_equal(labels, model.predict(X))
    np.testing.assert_array_equal(fetched.to_numpy(), model.features_used(X))

    async def get_later(name, rows):
        await asyncio.sleep(0)
        return {column: X.loc[rows, column].tolist() for column in groups[name]}

    again = asyncio.run(model.predict_on_demand_async(get_later, X.index, available=X.notna()))
    np.testing.assert_array_equal(again, labels)


@pytest.mark.parametrize("agent", ["linear", "lattice", "mixture", "any_network", "dqn"])
def test_alternatives_are_the_legal_acquisitions_and_begin_with_the_question(agent):
    model, (X, _) = asked_model(agent, "everything"), asked_table("everything")
    for _, row in X[:15].iterrows():
        session = ask_row(model, row)
        while True:
            step = session.step
            names = [a.name for a in step.alternatives]
            assert len(set(names)) == len(names)
            if step.question is not None:
                assert names[0] == step.question.name
                assert step.alternatives[0].price == step.question.price
            assert step.should_stop == (step.question is None)
            stop, go_on = step.expected_cost
            if stop is not None and go_on is not None and step.alternatives:
                assert (go_on < stop) == (not step.should_stop)
                assert go_on == step.alternatives[0].expected_cost
                others = [a.expected_cost for a in step.alternatives if a.expected_cost is not None]
                assert min(others) >= min(go_on, stop)
            if not session.log():
                break
            session.undo()
