"""Exported policies from strangers: both interpreters end, in the time and memory of the text."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest

from agents.policy_export import array_as_json
from support.asked_models import asked_model
from support.changed_policies import ChangedPolicies, ask_reference
from support.exported_policies import import_document, needs_node
from tests.agents.test_exported_policies import with_rule

KINDS = ("lattice", "linear", "any_network")
pytestmark = [needs_node, pytest.mark.filterwarnings("ignore:at lam=.* the lattice reached its limit")]


@pytest.fixture(scope="module")
def interpreters():
    """The policies of three kinds as plain values, and what asks a text with both interpreters."""
    policies = {kind: json.loads(asked_model(kind, "panel with a needle").policy_json()) for kind in KINDS}
    asking = ChangedPolicies({}, 0)

    def refused(plain):
        text = json.dumps(plain)
        said = [ask_reference(text), asking.ask_node(text.encode())]
        return [one != "used" for one in said]

    yield policies, refused
    asking.stop_node()


def with_array(plain, name, change):
    """A copy of a policy with one array changed."""
    old = plain["arrays"][name]
    array = np.frombuffer(base64.b64decode(old["base64"]), old["dtype"]).reshape(old["shape"]).copy()
    return plain | {"arrays": plain["arrays"] | {name: array_as_json(change(array))}}


def test_policies_as_they_are(interpreters):
    policies, refused = interpreters
    assert [refused(plain) for plain in policies.values()] == [[False, False]] * 3


@pytest.mark.parametrize("name", ["plan.child", "continuation.backup_child"])
def test_moves_in_a_circle_are_refused(interpreters, name):
    policies, refused = interpreters
    assert refused(with_array(policies["lattice"], name, lambda array: array * 0)) == [True, True]


def test_nodes_in_a_circle_are_refused(interpreters):
    policies, refused = interpreters
    assert refused(with_array(policies["lattice"], "plan.node_child", lambda _: np.zeros(3, np.int64))) == [True, True]


def test_millions_of_cells(interpreters):
    policies, refused = interpreters
    assert refused(with_array(policies["lattice"], "plan.cells", lambda array: np.full(len(array), 2**31 - 1)))[0]


def test_starts_beyond_all_arrays_are_refused(interpreters):
    policies, refused = interpreters

    def far(array):
        return np.where(array == array.max(), 2**31 - 1, array.astype(np.int64))

    for name in ("plan.tree_first", "plan.child_first", "continuation.saving_first"):
        assert refused(with_array(policies["lattice"], name, far))[1], name


def test_shapes_that_do_not_fit_are_refused(interpreters):
    policies, refused = interpreters
    for kind, name in (("linear", "intercepts"), ("lattice", "plan.thresholds"), ("any_network", "model.predictors")):
        plain = policies[kind]
        for shape in ([2**40, 0], [-1], [2**62], [1.5, 0]):
            wrong = {"dtype": "float32", "shape": shape, "base64": ""}
            assert refused(plain | {"arrays": plain["arrays"] | {name: wrong}}) == [True, True], (kind, shape)


def test_a_policy_without_scores_is_refused(interpreters):
    """The best of no scores is the first acquisition, again and again."""
    policies, refused = interpreters
    plain = policies["linear"]
    nothing = {"dtype": "float32", "shape": [564, 564, 0], "base64": ""}
    for name in ("intercepts", "weights"):
        refused(plain | {"arrays": plain["arrays"] | {name: nothing}})  # ends


def test_layers_that_do_not_fit_their_parameters_are_refused(interpreters):
    policies, refused = interpreters
    plain = policies["any_network"]
    for hidden in ([[2**30], [4]], [[4], [10**18]], [[0.5], [4]]):
        assert refused(plain | {"parameters": plain["parameters"] | {"hidden": hidden}}) == [True, True], hidden


@pytest.mark.parametrize("kind", ["toString", "constructor", "__proto__", None])
def test_kinds_that_no_interpreter_has(interpreters, kind):
    policies, refused = interpreters
    assert refused(policies["linear"] | {"kind": kind}) == [True, True]


def ruled(**changes):
    plain = json.loads(with_rule(asked_model("lattice", "panel with a needle")).policy_json())
    return plain | {"rule": plain["rule"] | changes}


@pytest.mark.parametrize("kind", ["conformal", "toString", "__proto__", None, 3])
def test_rules_that_no_interpreter_knows_are_refused_in_a_sentence(interpreters, kind):
    _, refused = interpreters
    assert refused(ruled()) == [False, False]
    plain = ruled(kind=kind)
    assert refused(plain) == [True, True]
    with pytest.raises(ValueError, match="stops by a rule that this interpreter does not know"):
        import_document("interpret_policy").read_policy(json.dumps(plain))


def test_a_rule_needs_probabilities(interpreters):
    policies, refused = interpreters
    assert refused(policies["linear"] | {"rule": ruled()["rule"]}) == [True, True]


@pytest.mark.parametrize("listed", [5, "0", {"0": 1}, [-1], [99], [0.5], ["0"], [None], [[0]]])
def test_what_is_always_known_must_be_acquisitions(interpreters, listed):
    policies, refused = interpreters
    plain = policies["lattice"]
    assert refused(plain | {"rules": plain["rules"] | {"always_known": [0]}}) == [False, False]
    assert refused(plain | {"rules": plain["rules"] | {"always_known": listed}}) == [True, True]


def test_damaged_risks_are_refused(interpreters):
    _, refused = interpreters
    risk = ruled()["rule"]["risks"][0]
    for change in ({"kind": "referral"}, {"limit": 0}, {"limit": -1}):
        assert refused(ruled(risks=[risk | change])) == [True, True], change
    for change in ({"limit": "x"}, {"risks": None}, {"risks": [{}]}):
        assert refused(ruled(**change)) == [True, True], change
