"""Sessions from files: damaged ones are refused, values of any size are shown and written."""

from __future__ import annotations

import json

import pytest

from fsgym.data.columns import Column
from fsgym.session.words import value_text
from support.clinic import clinic_model


def nested(depth):
    value = {}
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "damage",
    [
        lambda plain: plain.update(format="fsgym-session-9"),
        lambda plain: plain.update(policy="0" * 64),
        lambda plain: plain.pop("known"),
        lambda plain: plain.update(known=[]),
        lambda plain: plain.update(known={"age": "old"}),
        lambda plain: plain.update(unavailable="ct"),
        lambda plain: plain.update(unavailable=[3]),
        lambda plain: plain.update(note=3),
        lambda plain: plain.update(note="x" * 501),
        lambda plain: plain.update(stopped=1),
        lambda plain: plain.update(answers={}),
        lambda plain: plain["answers"].append(3),
        lambda plain: plain["answers"].append({"kind": "answer", "name": "age"}),
        lambda plain: plain["answers"].append({"kind": "answer", "name": "nobody", "values": {"age": 3}}),
        lambda plain: plain["answers"].append({"kind": "answer", "name": "age", "values": {"crp": 3}}),
        lambda plain: plain["answers"].append({"kind": "answer", "name": "age", "values": {"age": []}}),
        lambda plain: plain["answers"].append({"kind": "sing", "name": "age", "values": {"age": 20}}),
        lambda plain: plain["answers"][0].update(serial="1"),
        lambda plain: plain["answers"][0].update(extra=1),
        lambda plain: plain["answers"][0].update(serial=10**400),
        lambda plain: plain["answers"][0].update(serial=-1),
        lambda plain: plain["answers"].append({"kind": "unknown", "name": "age", "values": {"age": 20}}),
        lambda plain: plain["answers"].append({"kind": "unknown", "name": "ward", "values": {"ward": "icu"}}),
        lambda plain: plain["answers"].append({"kind": "unknown", "name": "age", "values": {"age": [10**400]}}),
        lambda plain: plain["answers"].append({"kind": "unknown", "name": "age", "values": {"age": float("nan")}}),
        lambda plain: plain["answers"].append(
            {"kind": "answer", "name": "ward", "values": {"ward": "\ud800"}, "accept": True}
        ),
        lambda plain: plain["answers"].extend([{"kind": "later", "name": "ward", "values": {}}] * 10_000),
        lambda plain: plain.update(known={"ward": "\ud800"}, accept=True),
        lambda plain: plain.update(known={"age": float("inf")}),
        lambda plain: plain.update(known={"age": nested(600)}),
    ],
)
def test_damaged_sessions_and_those_of_other_models_are_refused(damage):
    model = clinic_model("rcpi")
    session = model.session({"age": 63}, unavailable=["ct"])
    session.answer("crp", 12.5)
    plain = json.loads(session.to_json())
    assert model.resume(json.dumps(plain)).step == session.step
    damage(plain)
    with pytest.raises(ValueError, match="session") as caught:
        model.resume(json.dumps(plain))
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="JSON text"):
        model.resume("{")


def test_numbers_and_texts_of_any_size_are_shown_and_written_when_they_are_accepted():
    session = clinic_model("rcpi").session()
    session.answer("ward", 10**400, paid=False, accept=True)
    assert "ward" in session.to_json()
    assert session.log()[0].values == {"ward": 10**400}
    assert value_text(Column("ward"), 10**400) == "1" + "0" * 400
    with pytest.raises(ValueError, match="text must be Unicode"):
        session.answer("ward", "\ud800", paid=False, accept=True)
