"""What users of 0.2.0 have goes on: names that they import, models, sessions and keys; and what imports load."""

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import agents
from agents import load_classifier
from fsgym.web.interface import openapi_description
from support.public_names import public_names

OLD = Path(__file__).parent / "data" / "of-0.2.0"
FACTS = json.loads((OLD / "facts.json").read_text(encoding="utf-8"))
ABSTRACT = {"actions", "from_arrays", "to_arrays"}
LAZY = ("fsgym", "agents", "baselines", "fsgym.datasets")


def test_the_names_of_users_with_their_parameters_and_attributes():
    before, now = json.loads((OLD / "public_names.json").read_text(encoding="utf-8")), public_names()
    assert not set(before) - set(now)
    for name, entry in before.items():
        assert not set(entry.get("parameters", "").split()) - set(now[name].get("parameters", "").split()), name
        assert not set(entry.get("attributes", "").split()) - set(now[name].get("attributes", "").split()), name
        members, kept = members_of(entry), members_of(now[name])
        assert not set(members) - set(kept), name
        assert not {(m, p) for m in members for p in set(members[m]) - set(kept[m])}, name


def members_of(entry):
    return {first: more for first, *more in (m.split() for m in entry.get("members", "").split("; ") if m)}


def test_what_an_own_policy_must_have():
    assert agents.Policy.__abstractmethods__ <= ABSTRACT


@pytest.mark.parametrize("kind", FACTS["models"])
def test_models_and_sessions_that_were_saved(kind):
    facts, cases = FACTS["models"][kind], pd.read_csv(OLD / "cases.csv")
    model = load_classifier(OLD / f"{kind}.safetensors")
    assert model.predict(cases).tolist() == facts["predictions"]
    assert model.features_used(cases).sum(axis=1).tolist() == facts["acquired"]
    session = model.resume(facts["session"])
    assert (str(session.step.answer), session.spent) == (facts["answer"], facts["spent"])


def test_keys_of_json():
    model = load_classifier(OLD / "lattice.safetensors")
    description, policy = openapi_description(model, "a title"), json.loads(model.policy_json())
    schemas = {name: set(s.get("properties", ())) for name, s in description["components"]["schemas"].items()}
    now = schemas | {"paths": set(description["paths"])}
    assert not {(name, key) for name, keys in FACTS["keys"]["http"].items() for key in set(keys) - now[name]}
    now = {"policy": set(policy), "rules": set(policy["rules"]), "columns": set(policy["columns"][0])}
    assert not {(name, key) for name, keys in FACTS["keys"]["policy"].items() for key in set(keys) - now[name]}
    assert not set(FACTS["keys"]["session"]) - set(json.loads(model.session().to_json()))


@pytest.mark.parametrize("package", LAZY)
def test_a_package_that_imports_later_says_its_names_alike_in_three_places(package):
    module = importlib.import_module(package)
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    seen = {f"{n.module}.{a.name}" if a.name == "plot" else n.module: n for n in block.body for a in n.names}
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    call = next(node for node in calls if ast.unparse(node.func) == "imported_later")
    table = ast.literal_eval(call.args[1])
    assert {home: " ".join(a.name for a in n.names if a.name != "plot") for home, n in seen.items()} == table
    names = {name for own in table.values() for name in own.split()}
    assert names <= set(module.__all__) <= set(dir(module))
    assert all(getattr(module, name) is not None for name in module.__all__)
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        _ = module.nothing


@pytest.mark.parametrize(
    ("statement", "most", "absent"),
    [
        ("import agents", 60, ()),
        ("from agents import AdaptiveClassifier", 150, ()),
        pytest.param("from baselines import CARTClassifier", 90, (), marks=pytest.mark.slow),
        (
            "import fsgym; from baselines import reference; reference.N_TREES = 30  # for half of the time\n"
            "fsgym.compare('wine', ['cart', 'stopping'], splits=1, progress=False)",
            116,
            ("figures", "pipelines", "policies", "report"),
        ),
        (
            "import fsgym, gymnasium; gymnasium.make('DatumWise-v0')",
            60,
            ("archives", "openml", "public"),
        ),
    ],
)
@pytest.mark.one_in(3)
def test_modules_of_ours_that_an_import_loads(statement, most, absent):
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    ours = [m for m in done.stdout.split() if m.partition(".")[0] in ("fsgym", "agents", "baselines", "fsgym_studies")]
    assert len(ours) <= most
    assert not {name for name in ours for part in absent if part in name.split(".")}
