"""Tasks in threads, and on workers of other processes."""

import joblib
import numpy as np
import pytest

from agents.parallel import MAX_SENT_BYTES, task_runner


def scaled(factor, values):
    return factor * float(values[0])


@pytest.mark.parametrize("n_values", [3, MAX_SENT_BYTES // 8 + 1], ids=["sent", "large"])
@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])  # workers start slowly
def test_results_are_in_the_order_of_the_tasks(backend, n_values):
    values = np.full(n_values, 2.0)
    with joblib.parallel_config(backend=backend), task_runner(2, shared_memory=False) as run:
        for n_tasks in (0, 1, 2, 8, 11):
            tasks = [(k, values) for k in range(n_tasks)]
            assert run(scaled, tasks) == [2.0 * k for k in range(n_tasks)]
