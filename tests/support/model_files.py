"""Model files for tests: valid ones, changed ones, and the check of refusals."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import save

from agents import RCPI, LinearPolicy, model_file
from fsgym import DatumWiseEnv, Scaling
from support.rcpi_twin import problem

REFUSED = (ValueError, OSError)


def agent_of(variant="everything", missing=False, seed=0):
    """An agent with random scores."""
    dataset, rules = problem(variant, missing)
    rng = np.random.default_rng(seed)
    agent = RCPI(DatumWiseEnv(dataset, rules))
    weights = rng.normal(size=(rules.n_features, 2, rules.n_actions)).astype(np.float32)
    intercepts = rng.normal(size=rules.n_actions).astype(np.float32)
    agent.policy = LinearPolicy(weights, intercepts, Scaling.fit(dataset.X), rules)
    return agent


def same(one, other):
    np.testing.assert_array_equal(one.order, other.order)
    np.testing.assert_array_equal(one.answers, other.answers)
    np.testing.assert_array_equal(one.acquired, other.acquired)


def refused(path, match=".", load=RCPI.load):
    with pytest.raises(REFUSED, match=match) as caught:
        load(path)
    message = str(caught.value)
    assert message
    assert "\n" not in message
    assert len(message) < 400


def changed(file, header=None, rules=None, drop=(), **arrays):
    """The good file with some arrays, header entries and entries of the rules changed."""
    path, _, old_header, old_arrays = file
    text = {**json.loads(old_header["rules"]), **(rules or {})}
    new = {k: v for k, v in {**old_arrays, **arrays}.items() if k not in drop}
    full = {**old_header, "rules": json.dumps(text), **(header or {})}
    path.write_bytes(save(new, {model_file.FORMAT: json.dumps(full)}))
    return path


def spoiled(array, value, at=0):
    array = array.copy()
    array.flat[at] = value
    return array
