"""A stored result of own code is not used after a module of the user changed on which it depends."""

import importlib
import pickle
import shutil
import subprocess
import sys
from functools import partial
from itertools import count
from textwrap import dedent

import cloudpickle
import pytest

from agents import RCPI
from fsgym.comparison.policies import load_method
from fsgym.runner import local_code as code_of
from fsgym.runner.fingerprint import fingerprint
from fsgym.runner.local_code import SENT_CODE, error_with_line, local_code

NAMES = count()


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write modules of the user into a folder of the import path."""
    monkeypatch.syspath_prepend(tmp_path)

    def files(**texts):
        for name, text in texts.items():
            path = tmp_path / f"{name}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(dedent(text))
        code_of._digest.cache_clear()

    return files


def factory(module):
    importlib.invalidate_caches()
    return importlib.import_module(module).train


@pytest.mark.parametrize(
    "body",
    [
        "import {helper}\ndef train(env): return {helper}.depth",
        "def train(env):\n    from {helper} import depth\n    return depth",
        "import {helper}\nclass train:\n    def predict(self, X): return {helper}.depth",
        "import {helper}\nfrom functools import partial\ndef fit(depth, env): return {helper}\ntrain = partial(fit, 2)",
        "import {helper}\nclass Trainer:\n    def __call__(self, env): return {helper}.depth\ntrain = Trainer()",
    ],
)
def test_a_module_that_is_imported_changes_the_fingerprint(write, body):
    helper, mine = f"helper{next(NAMES)}", f"mine{next(NAMES)}"
    write(**{mine: body.format(helper=helper), helper: f"import deeper{mine}\ndepth = 3", f"deeper{mine}": "a = 1"})
    train = factory(mine)
    before = fingerprint(train)
    write(unrelated="a = 1")
    assert fingerprint(train) == before
    write(**{helper: f"import deeper{mine}\ndepth = 4"})
    changed = fingerprint(train)
    assert changed != before
    write(**{f"deeper{mine}": "a = 2"})
    assert len({before, changed, fingerprint(train)}) == 3


@pytest.mark.parametrize("with_file", [True, False], ids=["package", "folder"])
@pytest.mark.parametrize(
    "line", ["from . import tree", "from .tree import depth", "import {0}.tree", "from {0} import tree as t"]
)
def test_a_module_of_a_package_counts(write, with_file, line):
    package = f"package{next(NAMES)}"
    first = {f"{package}/__init__": ""} if with_file else {}
    write(
        **first, **{f"{package}/tree": "depth = 3", f"{package}/mine": line.format(package) + "\ndef train(env): ..."}
    )
    train = factory(f"{package}.mine")
    before = local_code(train)
    assert before
    write(**{f"{package}/tree": "depth = 4"})
    changed = local_code(train)
    assert changed != before
    if with_file:
        write(**{f"{package}/__init__": "a = 1"})
        assert local_code(train) not in (before, changed)


def test_what_cannot_be_read_counts_by_its_bytes(write):
    mine, broken = f"mine{next(NAMES)}", f"broken{next(NAMES)}"
    write(**{mine: f"def train(env):\n    import {broken}, nothing_like_it", broken: "def ("})
    train = factory(mine)
    before = local_code(train)
    write(**{broken: "def (("})
    assert local_code(train) != before


def test_a_script_counts_by_its_imports_only(write, tmp_path):
    """What a script prints or compares does not change what its function trains; that changes its source."""
    text = """
        import helper_of_script
        from fsgym.runner.local_code import local_code
        def train(env): return helper_of_script.depth
        print(local_code(train){})
        """
    digests = []
    for depth, end in ((3, ""), (3, ", end=''"), (4, "")):
        write(helper_of_script=f"depth = {depth}", script=text.format(end))
        run = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
        digests.append(run.stdout.strip())
    assert digests[0] == digests[1] != digests[2]


def test_installed_code_does_not_count():
    from sklearn.tree import DecisionTreeClassifier

    assert [local_code(known) for known in (RCPI, DecisionTreeClassifier, dedent, len)] == [""] * 4


def test_an_error_of_own_code_names_its_line(write):
    mine = f"mine{next(NAMES)}"
    write(**{mine: "def train(env):\n    return {}[env]\n"})
    with pytest.raises(KeyError) as caught:
        factory(mine)("x")
    assert error_with_line(caught.value) == f"KeyError: 'x' ({mine}.py, line 2)"


def test_an_error_of_code_that_was_sent_names_its_function(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.py").write_text("def train(env):\n    return {}[1]\n")
    (tmp_path / "sent").write_bytes(cloudpickle.dumps(load_method("bad.py:train")))
    lines = [
        "import pickle; from fsgym.runner.local_code import error_with_line",
        "try: pickle.load(open('sent', 'rb'))(None)",
        "except KeyError as error: print(error_with_line(error))",
    ]
    run = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    places = ("bad.py", "function train")  # cloudpickle keeps the name of the file until 3.1.2
    assert run.stdout in [f"KeyError: 1 ({place}, line 2)\n" for place in places]
    namespace: dict = {}
    exec(compile("def train(env):\n    return {}[1]\n", SENT_CODE, "exec"), namespace)
    with pytest.raises(KeyError) as caught:
        namespace["train"](None)
    assert error_with_line(caught.value) == "KeyError: 1 (function train, line 2)"


OWN_CLASS = """
    class Policy:
        def __call__(self, observations, masks): return observations
    def train(env): return Policy()
    def other(env): return Policy() if "a" in {"a", "b"} else None
"""


@pytest.mark.slow
def test_an_unchanged_file_is_the_same_in_each_process_also_with_a_class(tmp_path):
    """cloudpickle draws an id for each class that it pickles by value, and sets have another order."""
    own = tmp_path / "own_class.py"
    own.write_text(dedent(OWN_CLASS))
    script = (
        "from fsgym.comparison.policies import PolicyFactory, load_method; "
        "from fsgym.runner.fingerprint import fingerprint; "
        f"own = [load_method({str(own)!r} + end) for end in (':train', ':other')]; "
        "print([fingerprint(f) for f in (*own, *(PolicyFactory(f, 0.1) for f in own))])"  # as compare keeps them
    )
    seen = [subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True) for _ in "ab"]
    assert seen[0].stdout == seen[1].stdout
    train, other = (load_method(f"{own}:{name}") for name in ("train", "other"))
    assert train.__globals__ is other.__globals__  # one module, whose functions other processes find by its name
    before = fingerprint(train)
    assert pickle.loads(cloudpickle.dumps(train))(None)(3, None) == 3
    own.write_text(dedent(OWN_CLASS).replace("return observations", "return masks"))
    code_of._digest.cache_clear()
    assert fingerprint(load_method(f"{own}:train")) != before


class WhileKeyIsMade:
    """An object whose pickle says what other threads would then send by value."""

    sent_by_value: frozenset[str] = frozenset()

    def __reduce__(self):
        type(self).sent_by_value = frozenset(cloudpickle.list_registry_pickle_by_value())
        return type(self), ()


def test_a_key_that_is_made_leaves_what_other_threads_send(write):
    own = f"own{next(NAMES)}"
    write(**{own: "class Tree: ...\ndef train(env): ..."})
    importlib.invalidate_caches()
    module = importlib.import_module(own)
    cloudpickle.register_pickle_by_value(module)
    by_value = fingerprint([module.train, module.Tree, partial(module.train, module), WhileKeyIsMade()])
    assert own in WhileKeyIsMade.sent_by_value
    cloudpickle.unregister_pickle_by_value(module)
    assert fingerprint([module.train, module.Tree, partial(module.train, module), WhileKeyIsMade()]) == by_value


def test_in_a_clone_a_method_counts_with_the_files_that_it_imports(monkeypatch, tmp_path):
    """Files of before a change are compared: those of a copy of the two packages."""
    folder = tmp_path / "clone"
    for package in code_of.METHOD_PACKAGES:
        shutil.copytree(code_of.ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(code_of, "ROOT", folder)

    def digests():
        code_of.code_of_method.cache_clear()
        return [
            code_of.code_of_method(str(folder / file)) for file in ("baselines/cart.py", "agents/lattice/policy.py")
        ]

    before = digests()
    assert all(before)
    with (folder / "agents" / "lattice" / "constants.py").open("a") as file:
        file.write("MORE = 1\n")
    assert [a == b for a, b in zip(before, digests())] == [True, False]
    with (folder / "agents" / "__init__.py").open("a") as file:
        file.write("MORE = 1\n")
    with (folder / "baselines" / "cart.py").open("a") as file:
        file.write("MORE = 1\n")
    changed = digests()
    assert changed[0] != before[0]
    monkeypatch.setattr(code_of, "_is_installed", lambda file: True)
    assert digests() == ["", ""]
