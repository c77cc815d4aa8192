"""Cases asked by a model, by the interpreter in JavaScript and by the reference interpreter, step by step."""

from __future__ import annotations

import importlib
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from fsgym.cli.predict import cells_by_name
from fsgym.session import words

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPTS = ROOT / "fsgym" / "export"
ASK = Path(__file__).with_name("ask_exported.js")
NODE = shutil.which("node")
# With FSGYM_REQUIRE_NODE the tests run, and fail where there is no Node.
needs_node = pytest.mark.skipif(
    NODE is None and not os.environ.get("FSGYM_REQUIRE_NODE"), reason="Node.js is not installed"
)


class AskedCase(NamedTuple):
    """A row by column, None where it has no value, the columns that are known in advance, and prices of the case."""

    row: dict[str, Any]
    known: tuple[str, ...]
    prices: dict[str, float] | None = None

    @property
    def unavailable(self) -> list[str]:
        return [name for name, value in self.row.items() if value is None]

    @property
    def given(self) -> dict[str, Any]:
        return {name: self.row[name] for name in self.known}


def cases_of(model: Any, table: pd.DataFrame, n: int, seed: int = 0) -> list[AskedCase]:
    """n cases from the rows of a table; in two thirds of them, some values are known in advance."""
    rng, columns, cases = np.random.default_rng(seed), model.columns_, []
    features = columns.encode(table)
    for k in range(n):
        row = cells_by_name(features[k % len(features)], range(columns.n_features), columns)
        present = [name for name, value in row.items() if value is not None]
        n_known = 0 if k % 3 == 0 else int(rng.integers(0, min(len(present), 4) + 1))
        cases.append(AskedCase(row, tuple(rng.permutation(present)[:n_known].tolist())))
    return cases


def asked_by_model(model: Any, cases: list[AskedCase]) -> list[list[dict[str, Any]]]:
    """The steps of sessions."""
    records, place = [], {label: k for k, label in enumerate(model.rules_.answer_labels(model.answers_).tolist())}
    for case in cases:
        session, steps = model.session(case.given, case.unavailable, accept=True, prices=case.prices), []
        while True:
            step = session.step
            steps.append(
                {
                    "question": step.question and step.question.name,
                    "answer": place[step.answer],
                    "probabilities": None if step.probabilities is None else list(step.probabilities.values()),
                    "stop_cost": step.expected_cost.stop,
                    "spent": step.spent,
                    "why": session.why(),
                    "certain": step.certainty and step.certainty.enough,
                    "certainty": "" if step.certainty is None else step.certainty.text,
                    "free_left": words.free_left_text(step),
                    "stop_ends": session.stop_ends,
                    "alternatives": [[a.name, a.price, a.expected_cost] for a in step.alternatives],
                }
            )
            if step.question is None:
                break
            values = {column.name: case.row[column.name] for column in step.question.columns}
            session.answer(step.question.name, values, accept=True)
        records.append(steps)
    return records


def asked_by_javascript(text: str, cases: list[AskedCase]) -> list[list[dict[str, Any]]]:
    """The steps that the interpreter takes in Node with the policy of a JSON text."""
    policy = json.loads(text)
    names = [column["name"] for column in policy["columns"]]
    place = {name: k for k, name in enumerate(names)}
    listed = [
        {
            "known": [[place[name], value] for name, value in case.given.items()],
            "unavailable": [place[name] for name in case.unavailable],
            "row": [case.row[name] for name in names],
            "prices": case.prices and [case.prices.get(one["name"], one["price"]) for one in policy["acquisitions"]],
        }
        for case in cases
    ]
    given = json.dumps({"folder": str(SCRIPTS), "policy": policy, "cases": listed})
    return run_node(ASK, given)


def run_node(script: Path, given: str) -> Any:
    """What a script prints as JSON, with a text on its standard input."""
    done = subprocess.run([NODE or "node", str(script)], input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def import_document(name: str) -> Any:
    """A module of the folder of documents."""
    folder = str(ROOT / "docs")
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module(name)


def asked_by_reference(text: str, cases: list[AskedCase]) -> list[list[dict[str, Any]]]:
    """The steps of docs/interpret_policy.py."""
    reference, others = (import_document(name) for name in ("interpret_policy", "interpret_other_policies"))
    usual, records = reference.read_policy(text, others.KINDS), []
    columns_of = {a["name"]: a["features"] for a in usual.acquisitions}
    place = {label: k for k, label in enumerate(usual.answers)}
    for case in cases:
        policy = usual if case.prices is None else reference.read_policy(text, others.KINDS, case.prices)
        one, steps = reference.Case(policy, case.given, case.unavailable), []
        while True:
            step = one.step()
            shares = step["probabilities"]
            step |= {"answer": place[step["answer"]], "probabilities": shares and [p for _, p in shares]}
            steps.append(step)
            if step["question"] is None:
                break
            members = set(columns_of[step["question"]])
            revealed = [c for c in policy.columns.values() if members & set(c["features"])]
            known = [c["name"] for c in revealed if not np.isnan(one.values[c["features"]]).any()]
            names = [c["name"] for c in revealed if c["name"] not in known and case.row[c["name"]] is not None]
            one.acquire(step["question"], {name: case.row[name] for name in names})
        records.append(steps)
    return records


def check_interpreters(model: Any, cases: list[AskedCase]) -> list[list[dict[str, Any]]]:
    """The steps of sessions; AssertionError where an interpreter takes others."""
    text, wanted = model.policy_json(), asked_by_model(model, cases)
    # Expected costs of networks are sums in float32, whose order is that of a library, some in units of the largest
    # cost. A mixture that is certain up to 1e-20 extrapolates its stop rule far out, where the last digits count.
    largest = 1e-7 * float(np.abs(model.rules_.error_costs).max())
    loose = {"network": 1e-4, "mixture": 1e-5, "any_network": max(1e-6, largest)}.get(json.loads(text)["kind"], 1e-6)
    for ask in (asked_by_javascript, asked_by_reference):
        found = differences(wanted, ask(text, cases), loose)
        assert not found, f"{ask.__name__}, {len(found)} differences: {found[0]}"
    return wanted


def differences(wanted: list[list[dict]], got: list[list[dict]], loose: float = 1e-6) -> list[str]:
    """In words, where two interpreters differ: questions, answers and prices; probabilities by more than 1e-9."""
    found = []
    for k, (ours, theirs) in enumerate(zip(wanted, got, strict=True)):
        paths = [[step["question"] for step in steps] for steps in (ours, theirs)]
        if paths[0] != paths[1]:
            found.append(f"case {k}: questions {paths[0]} and {paths[1]}")
            continue
        for m, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            where = f"case {k}, step {m}"
            if a["answer"] != b["answer"] or not _near(a["spent"], b["spent"], 1e-9):
                found.append(f"{where}: answers {a['answer']}, {b['answer']}, spent {a['spent']}, {b['spent']}")
            if a["certain"] != b.get("certain"):
                found.append(f"{where}: certain {a['certain']} and {b.get('certain')}")
            shares = [s["probabilities"] for s in (a, b)]
            if not all(_near(p, q, 1e-9) for p, q in zip(*(s or [None] for s in shares), strict=True)):
                found.append(f"{where}: probabilities {shares}")
            if not _near(a["stop_cost"], b["stop_cost"], loose):
                found.append(f"{where}: cost of stopping {a['stop_cost']} and {b['stop_cost']}")
            found += _alternatives(where, a["alternatives"], b["alternatives"], loose)
    return found


def _alternatives(where: str, ours: list, theirs: list, loose: float) -> list[str]:
    if [a[0] for a in ours] != [b[0] for b in theirs]:
        return [f"{where}: alternatives {[a[0] for a in ours]} and {[b[0] for b in theirs]}"]
    pairs = zip(ours, theirs, strict=True)
    if not all(_near(a[1], b[1], 1e-9) and _near(a[2], b[2], loose) for a, b in pairs):
        return [f"{where}: prices or expected costs {ours} and {theirs}"]
    return []


def _near(a: float | None, b: float | None, most: float) -> bool:
    """Whether two numbers are near each other; None and NaN are no number."""
    a, b = (math.nan if x is None else x for x in (a, b))
    return (a != a and b != b) or abs(a - b) <= most * max(1.0, abs(a))
