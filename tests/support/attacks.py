"""Kinds of attacks on fsgym, each drawn by a seed for some seconds; what they find is a sentence each.

An attack is a function ``(seed, seconds, folder) -> Found``; a new kind is a function and an entry in ``ATTACKS``.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import httpx2
import numpy as np

import fsgym
from agents import DatumWiseClassifier, MixtureClassifier
from fsgym import Dataset, Rules
from fsgym.web import guard
from fsgym_studies.suites.cell import continued, continued_within
from support.asked_models import RULES, asked_model
from support.browsing import Browser, headers_of
from support.clinic import BLOOD, clinic_model
from support.early_stops import stopped_after
from support.flood import flood
from support.kills import COMMANDS, files_in
from support.label_hunter import Searching, numbered_rows, search
from support.servers import Running, running
from support.session_walks import SessionWalk

ROOT = Path(__file__).resolve().parent.parent.parent


class Found(NamedTuple):
    """What an attack did.

    Attributes
    ----------
    n : int, how many tries
    findings : list of str, a sentence each
    """

    n: int
    findings: list[str]


def until(seconds: float) -> Iterator[int]:
    """0, 1, ... until the time is over; at least one."""
    end, k = time.monotonic() + seconds, 0
    while k == 0 or time.monotonic() < end:
        yield k
        k += 1


def changed_files(*options: str) -> Callable[[int, float, Path], Found]:
    """Files of a kind that ``.ci/mutate.py`` changes."""

    def attack(seed: int, seconds: float, folder: Path) -> Found:
        command = [
            sys.executable,
            ".ci/mutate.py",
            "--processes",
            "2",
            "--seed",
            str(seed),
            "--seconds",
            str(seconds),
            *options,
        ]
        done = subprocess.run([*command, "--keep", str(folder)], cwd=ROOT, capture_output=True, text=True, check=False)
        n = re.search(r"^(\d+) files in", done.stdout, re.MULTILINE)
        found = re.findall(r"^\d+ x .*$", done.stdout, re.MULTILINE)
        if n is None or (done.returncode and not found):
            found.append(f"{' '.join(command[1:])} failed: {done.stderr.strip()[-200:]}")
        return Found(int(n[1]) if n else 0, found)

    return attack


def session_walks(seed: int, seconds: float, folder: Path) -> Found:
    """Sessions with undo and resume under all rules, compared with a session in plain Python."""
    findings, variants = [], list(RULES)
    for k in until(seconds):
        variant = variants[k % len(variants)]
        try:
            SessionWalk(asked_model("linear", variant), RULES[variant], np.random.default_rng([seed, k])).run()
        except Exception as error:
            findings.append(f"walk {k}, {variant}: {type(error).__name__}: {str(error)[:200]}")
    return Found(k + 1, findings)


NUMBERS = (0, 1, -1, 3.5, 10**400, 1e308, float("nan"), float("inf"), Fraction(7, 2), Decimal("3.5"), 2**63)
NUMPY = (
    np.float16(3.5),
    np.float32(3.5),
    np.longdouble(3.5),
    np.longdouble("inf"),
    np.int8(3),
    np.uint64(3),
    np.bool_(1),
)
OTHERS = (
    True,
    False,
    None,
    "",
    "icu",
    "3.5",
    "\ud800",
    "\x00",
    b"icu",
    1j,
    [],
    {},
    [3.5],
    {"wbc": 3.5},
    object(),
    np.zeros(1),
)
VALUES: tuple[Any, ...] = (*NUMBERS, *NUMPY, *OTHERS)


def session_values(seed: int, seconds: float, folder: Path) -> Found:
    """Values of any type as answers, known values and prices: refused in a sentence, or the session can be saved."""
    rng, findings, model = random.Random(seed), set(), clinic_model()
    columns = ["ct", "age", "ward", "fever", "crp", "blood", *BLOOD]
    for k in until(seconds):
        name, value, accept = rng.choice(columns), rng.choice(VALUES), rng.random() < 0.5
        shown = f"{name} = {value!r:.40} (a {type(value).__name__})"
        try:
            session = model.session()
            if k % 3 == 0:
                session = model.session(known={name: value}, accept=accept)
            elif k % 3 == 1:
                session.answer(name, value, accept=accept)
            else:
                shown = f"spent = {value!r:.40}"
                model.step({}, spent=value)
                if isinstance(value, bool | np.bool_):
                    findings.add(f"{shown} is taken as a number")
        except (ValueError, TypeError):
            continue
        except Exception as error:
            findings.add(f"{shown}: {type(error).__name__}: {error}")
            continue
        try:
            text = session.to_json()
            if model.resume(text).to_json() != text:
                findings.add(f"{shown}: resumed otherwise")
        except Exception as error:
            findings.add(f"{shown}: accepted, and then {type(error).__name__}: {error}")
    return Found(k + 1, sorted(findings))


def environments(seed: int, seconds: float, folder: Path) -> Found:
    """Arguments of ``make``, ``make_vec`` and ``reset`` that are wrong: refused in a sentence that helps."""
    rng, findings = random.Random(seed), set()
    for k in until(seconds):
        make: Any = (gym.make, gym.make_vec)[k % 2]
        key = "".join(rng.sample("index", rng.randint(1, 5)))
        if key != "index":
            try:
                make("DatumWise-v0").reset(options={key: 0})
                findings.add("a misspelt option of reset passes")
            except ValueError:
                pass
        data = Dataset(np.eye(3), [0, 1, rng.randint(0, 1)])
        given: Any = rng.choice([{"dataset": data}, {"costs": np.ones(30)}, {"belief": print}])
        try:
            make("DatumWise-v0", **given).unwrapped.spec.to_json()
            findings.add(f"spec.to_json writes {list(given)}")
        except Exception as error:
            if not isinstance(error, ValueError) or next(iter(given)) not in str(error):
                findings.add(f"spec.to_json with {list(given)}: {type(error).__name__}: {error}")
        try:
            make("DatumWise-v0", **({"max_episode_steps": 3} if k % 2 else {"render_mode": "rgb_array_list"})).reset()
        except Exception as error:
            if "did you mean 'max_episode_steps'" in str(error) or not k % 2:
                findings.add(f"{type(error).__name__}: {error}")
    return Found(k + 1, sorted(findings))


BODIES = (
    b"",
    b"{}",
    b'{"spent": true}',
    b'{"known": {"crp": 1e999}}',
    b"[" * 60_000,
    b"\xff",
    b"{" * 100,
    b'{"known": 1}',
)


def requests(seed: int, seconds: float, folder: Path) -> Found:
    """Requests that are wrong in some way, also as a server in front passes them on: no error inside, no leak."""
    rng, findings = random.Random(seed), set()
    with running(clinic_model()) as server:
        n_cases = guard.MAX_BODY_BYTES * 2
        for k in until(seconds):
            length = rng.choice([[b"Content-Length: %d"], [b"Transfer-Encoding: chunked"]])
            both, trusted = rng.random() < 0.2, rng.random() < 0.6
            body = rng.choice(BODIES)
            path = rng.choice(
                [b"/api/step", b"/case", b"/resume", b"/start", b"/api/openapi.json", b"/%2e%2e/", b"/case/x"]
            )
            host = rng.choice([b"127.0.0.1:%d" % server.port] * 4 + [b"example.org", b""])
            if both:
                length = [b"Content-Length: %d", b"Transfer-Encoding: chunked"]
            status = _status(server, path, host, length, body, trusted)
            if status >= 500 or status == 0:
                findings.add(f"POST {path.decode()} with {body[:30]!r}: status {status}")
            if both and status not in (400, 421):
                findings.add(f"two lengths of a body: status {status}")
            if b"true" in body and path == b"/api/step" and trusted and status == 200:
                findings.add("spent: true is taken as a number")
            if not trusted and path != b"/start" and status < 400:
                findings.add(f"POST {path.decode()} without a token: status {status}")
            if k % 50 == 0:
                for token, expected in ((True, 415), (False, 413)):  # long, and no form
                    status = _status(
                        server,
                        b"/resume",
                        b"127.0.0.1:%d" % server.port,
                        [b"Content-Length: %d"],
                        b" " * n_cases,
                        token,
                    )
                    if status != expected:
                        findings.add(f"a case of {n_cases} bytes {'with' if token else 'without'} a token: {status}")
        if _status(server, b"/api/step", b"127.0.0.1:%d" % server.port, [b"Content-Length: %d"], b"{}", True) != 200:
            findings.add("the server does not answer afterwards")
        secret = [line for line in server.lines if server.token in line]
        if secret:
            findings.add(f"the token is in the log: {secret[0]}")
    return Found(k + 1, sorted(findings))


def _status(server: Running, path: bytes, host: bytes, lengths: list[bytes], body: bytes, trusted: bool) -> int:
    """The status of the reply; 0 where there is none."""
    head = [b"POST %s HTTP/1.1" % path, b"Host: %s" % host, b"Connection: close", b"X-Forwarded-Proto: https"]
    head += [length % len(body) if b"%" in length else length for length in lengths]
    head.append(b"Content-Type: application/json")
    if trusted:
        head.append(f"Authorization: Bearer {server.token}".encode())
    sent = (
        body
        if len(lengths) == 1 and b"%" in lengths[0]
        else b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        if body
        else b"0\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as sender:
        with suppress(OSError):
            sender.sendall(b"\r\n".join([*head, b"", b""]) + sent)
        try:
            reply = http.client.HTTPResponse(sender)
            reply.begin()
            return reply.status
        except (OSError, http.client.HTTPException):
            return 0


def connections(seed: int, seconds: float, folder: Path) -> Found:
    """Connections that never read or say nothing, beside a client with the token, and Ctrl-C."""
    path = folder / "clinic.safetensors"
    clinic_model().save(path)
    seen = flood(path, 505, 600, max(2.0, (seconds - 10) / 2))
    return Found(505 + 600, seen.findings())


def stops(seed: int, seconds: float, folder: Path) -> Found:
    """Ctrl-C soon after a command begins."""
    rng, findings, n = random.Random(seed), set(), 0
    command = (sys.executable, "-m", "fsgym", "compare", "wine", "--splits", "1", "--jobs", "1")
    for _ in until(seconds):
        n += 1
        after = rng.uniform(0.2, 2.5)  # a busy machine reaches the first line of fsgym in .1 s
        status, said = stopped_after(after, command)
        if "Traceback" in said or status not in (0, 130, -signal.SIGINT):
            what = "a Traceback, " * ("Traceback" in said)
            findings.add(f"Ctrl-C after {after:.2f} s: {what}status {status}, {said.strip()[-120:]}")
    return Found(n, sorted(findings))


def kills_of(command: str) -> Callable[[int, float, Path], Found]:
    """A long command killed at random times and run again: the same results, and no file left over."""

    def attack(seed: int, seconds: float, folder: Path) -> Found:
        script = [sys.executable, "tests/support/kills.py", command, "--seed", str(seed), "--seconds", str(seconds)]
        done = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, check=False)
        try:
            found = json.loads(done.stdout)
        except ValueError:
            return Found(0, [f"{' '.join(script[1:])} failed: {done.stderr.strip()[-200:]}"])
        return Found(found["n"], found["findings"])

    return attack


def _started(place: Path, **variables: str) -> subprocess.Popen:
    (place / "out").mkdir(parents=True, exist_ok=True)
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH", "")) if p)
    return subprocess.Popen(
        [sys.executable, "-m", "fsgym", *COMMANDS["compare"]],
        cwd=place,
        env=os.environ | {"PYTHONPATH": path} | variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def kills_of_serve(seed: int, seconds: float, folder: Path) -> Found:
    """A server killed with open cases: its port is free, open cases are gone, a case that was saved goes on."""
    rng, findings, path = random.Random(seed), set(), folder / "clinic.safetensors"
    clinic_model().save(path)
    port, n = 0, 0
    for _ in until(seconds):
        n += 1
        with served(path, port) as (server, port, browser):
            browser.go("/").press("Begin")
            case = browser.reply.url.path
            browser.press("Answer", value2="2")
            saved = browser.client.get(f"{case}/session.json").text
            time.sleep(rng.uniform(0, 0.1))
            server.kill()
        try:
            with served(path, port) as (server, _, browser):
                if browser.go(case).reply.status_code != 404:
                    findings.add(f"an open case is still there: status {browser.reply.status_code}")
                browser.go("/").press("Go on", saved=saved)
                again = browser.client.get(f"{browser.reply.url.path}/session.json").text
                if again != saved:
                    findings.add(f"a case that was saved is {again}, not {saved}")
        except (OSError, ValueError) as error:
            findings.add(f"the port is not free: {error}")
    return Found(n, sorted(findings))


@contextmanager
def served(model: Path, port: int) -> Iterator[tuple[subprocess.Popen, int, Browser]]:
    """A server of its own process, its port, and a browser that is signed in."""
    command = [sys.executable, "-m", "fsgym", "serve", str(model), "--port", str(port)]
    environment = os.environ | {"FSGYM_TOKEN": "token-of-the-attacks", "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as run:
        try:
            assert run.stdout is not None
            address = run.stdout.readline().removeprefix("Open ").strip().rstrip("/")
            with httpx2.Client(base_url=address, headers=headers_of(address), follow_redirects=True) as client:
                browser = Browser(client)
                browser.go("/start?token=token-of-the-attacks")
                yield run, int(address.rpartition(":")[2]), browser
        finally:
            run.kill()


def shared_places(seed: int, seconds: float, folder: Path) -> Found:
    """Two runs at once in one folder of results, with one empty Numba cache or with none that can be written."""
    rng, findings = random.Random(seed), []
    _started(folder / "whole").communicate()
    wanted = files_in(folder / "whole", "compare")
    (folder / "file").write_text("")
    for k in until(seconds / 2):  # kernels are compiled anew in some of them
        place, cache = folder / f"{k}", folder / ("file/cache" if k % 2 else f"cache {k}")
        first = _started(place, NUMBA_CACHE_DIR=str(cache))
        time.sleep(rng.uniform(0, 3))
        second = _started(place, NUMBA_CACHE_DIR=str(cache))
        said = [run.communicate()[1] for run in (first, second)]
        states = [run.returncode for run in (first, second)]
        if any("Traceback" in text for text in said) or 0 not in states or not {0, 1, 2} >= set(states):
            findings.append(f"two runs, try {k}: statuses {states}, {[text.strip()[-200:] for text in said]}")
        _started(place).communicate()
        if files_in(place, "compare") != wanted:
            findings.append(f"two runs, try {k}: other results")
    return Found(k + 1, findings)


FORKED = """
import os, sys, threading
from sklearn.datasets import load_wine
from agents import LatticeClassifier
X, y = load_wine(return_X_y=True)
def fitted():
    return LatticeClassifier(lam=0.02, random_state=0, unknown=0).fit(X, y).predict(X).tolist()
wanted = fitted()
child = os.fork()
if child == 0:
    os._exit(0 if fitted() == wanted else 3)
found = []
threads = [threading.Thread(target=lambda: found.append(fitted())) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
sys.exit(os.waitpid(child, 0)[1] != 0 or found != 3 * [wanted])
"""


def forks_and_threads(seed: int, seconds: float, folder: Path) -> Found:
    """A process that has fitted a model forks, and both fit again, one of them in three threads: the same answers."""
    findings, n = set(), 0
    for _ in until(seconds):
        n += 1
        given = {"cwd": ROOT, "capture_output": True, "text": True, "timeout": 300}
        try:
            run = subprocess.run([sys.executable, "-c", FORKED], check=False, **given)
        except subprocess.TimeoutExpired:
            findings.add("the process hangs")
            continue
        if run.returncode:
            findings.add(f"status {run.returncode}: {run.stderr.strip()[-200:] or 'other answers'}")
    return Found(n, sorted(findings))


OWN_METHOD = """
def train(env):
    with open("trained", "a") as file:
        file.write(".")
    return lambda seen, masks: masks.shape[1] - 1 - masks[:, ::-1].argmax(axis=1)
"""


def own_methods(seed: int, seconds: float, folder: Path) -> Found:
    """A method of the user that searches its process for labels, and one whose command is run again."""
    rng, findings = random.Random(seed), set()
    (folder / "own.py").write_text(OWN_METHOD)
    command = ("compare", "wine", "--methods", "cart", "--mine", "own.py:train", "--no-references", "--splits", "1")
    for k in until(seconds):
        path = folder / f"found {k}"
        method = rng.choice([search, Searching])(str(path))
        fsgym.compare(numbered_rows(), {"mine": method}, splits=1, lam=rng.uniform(0.001, 0.1), references=False)
        seen = [json.loads(line) for line in path.read_text().splitlines()]
        if {"training": True} not in seen or {"asked": False} not in seen:
            findings.add(f"the search is not asked, or does not search: {seen}")
        if {"asked": True} in seen:
            findings.add("labels of test rows are in the process of a method of the user")
    counts, environment = [], os.environ | {"PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # the second time, Python has bytecode of the file
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-m", "fsgym", *command, "--jobs", "1", "--out", "out"],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            findings.add(f"compare --mine ends with status {done.returncode}: {done.stderr.strip()[-200:]}")
            break
        counts.append((folder / "trained").stat().st_size)
    if len(set(counts)) > 1:
        findings.add(f"a method of the user is trained again when the command is run again: {counts} times")
    return Found(k + 1, sorted(findings))


def continued_policies(seed: int, seconds: float, folder: Path) -> Found:
    """Policies continued past their stop within many budgets at once, and within each alone: the same answers."""
    findings = set()
    for k in until(seconds):
        rng = np.random.default_rng([seed, k])
        values = np.column_stack([rng.normal(size=(300, 5)), rng.integers(0, 3, 300)])
        data = Dataset(values, (values[:, 0] + values[:, 1] > 0) + (values[:, 5] > 1).astype(int))
        train, test = data.split(0.5, k)
        model = (DatumWiseClassifier(0.01, n_iterations=2), MixtureClassifier(0.05))[k % 2].fit(train)

        def rules_at(budget: float, data: Dataset = data) -> Rules:
            return Rules.for_dataset(data, lam=0.01, budget_cost=budget)

        for budget, done in continued_within(model, test, rules_at, [2.0, 4.0, 6.0]).items():
            if not np.array_equal(done.answers, continued(model, test, rules_at(budget)).answers):
                findings.add(f"{type(model).__name__}: other answers within a budget of {budget:g}, table {k}")
    return Found(k + 1, sorted(findings))


ATTACKS: dict[str, tuple[float, Callable[[int, float, Path], Found]]] = {  # share of the time
    "tables": (2, changed_files("--tables")),
    "models": (2, changed_files()),
    "exported policies": (1, changed_files("--exported")),
    "sessions": (1, session_walks),
    "values in sessions": (0.5, session_values),
    "environments": (0.5, environments),
    "requests": (1, requests),
    "connections": (1, connections),
    "Ctrl-C at the start": (1, stops),
    **{f"kills of {command}": (0.5, kills_of(command)) for command in COMMANDS},
    "kills of serve": (0.5, kills_of_serve),
    "shared places": (1, shared_places),
    "own methods": (0.5, own_methods),
    "continued policies": (0.5, continued_policies),
    "forks and threads": (0.5, forks_and_threads),
}
NOT_RUN = {
    "undo in the exported page, random rule sets": "in pytest alone",
    "archives of datasets fetch": "in pytest alone",
    "full disk, read-only folder, another user, clock set back": "this needs rights or a machine of its own",
}
