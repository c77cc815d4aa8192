"""Commands that are wrong in some way, drawn by a seed, and the files that they name."""

from __future__ import annotations

import io
import random
import re
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import typer

from fsgym import cli
from support.hostile_files import FILES, LONG

GROUNDS = "GROUNDS/"  # stands for the folder of the files in the commands drawn
DIGITS = "9" * 22
PLAIN_VALUES = """
0 -1 -0 1 3 1e999 nan inf -inf 1e22 1e-320 0x10 1_000 007 1,5 1;2 ,,, = x= =x - -- . .. * ? %s null None NaN NA
true False [] {} ' é ½ ١٢ 🙂 file:x http://127.0.0.1:9/x openml: openml:-1 wine digits x.csv x.npz x.json
no/such/file.csv wine.csv ill crp crp,age cart lattice adaptive rcpi no_such all train dask ray tab , forbid any
á
"""
VALUES = (
    *PLAIN_VALUES.split(),
    *("", " ", DIGITS, "-" + DIGITS, "9" * 5000, "openml:" + DIGITS, "\\", '"', "a\nb", "a\tb", "a b"),
    *("\udcff\udcfe", "\ud800", "\u202egnp.exe", "\x1b[31mred\x1b[0m", "\x9b31m", "\u2066x", "\ufeffx"),
    *(LONG, "/".join(["d"] * 2000), "f" * 300, "é" * 200 + ".csv"),
)
MODEL, DATA, NEW = GROUNDS + "model.fsgym", GROUNDS + "labelled.csv", GROUNDS + "new.csv"
BASES: dict[str, tuple[list[str], list[str]]] = {  # arguments and options of a cheap command without a mistake
    "compare": ([DATA], ["--target", "ill", "--methods", "cart", "--no-references", "--splits", "1", "--jobs", "1"]),
    "reproduce": (["dwsm-cost"], ["--jobs", "1"]),
    "benchmark": (["small"], ["--quick", "--methods", "constant", "--jobs", "1"]),
    "train": ([DATA], ["--target", "ill", "-o", GROUNDS + "new.fsgym", "--agent", "rcpi", "--steps", "1"]),
    "evaluate": ([MODEL, DATA], ["--target", "ill"]),
    "calibrate": ([MODEL, DATA], ["--target", "ill", "-o", GROUNDS + "new.fsgym", "--min-confidence", "0.9"]),
    "predict": ([MODEL, NEW], []),
    "monitor": ([MODEL, NEW], []),
    "ask": ([MODEL], ["--json"]),
    "serve": ([MODEL], ["--port", "0"]),
    "explain": ([MODEL, NEW], []),
    "chart": ([MODEL], []),
    "export": ([MODEL, GROUNDS + "page.html"], []),
    "describe": ([DATA], ["--target", "ill"]),
    "leaderboard": (["DatumWise-v0"], []),
    "datasets": ([], []),
}
INPUTS = ("", "{}\n", "not json\n", '{"answer": {"crp": NaN}}\n', '{"stop": true}\n', "[" * 100_000 + "\n", "\x00\n")
SECONDS = 60  # after which a command counts as one that never answers
LONGEST_LINE = 620  # characters of a sentence on stderr


HARMLESS = ("help", "version")
WEIGHTS = {"compare": 3, "train": 3, "evaluate": 2, "describe": 2, "predict": 2}  # of the commands that are drawn
PLAIN_NUMBERS = "0 -1 1 3 1000000 2147483648 9223372036854775808 nan inf 1e308 1e-320 -0.0 0.5 1e22"
NUMBERS = (*PLAIN_NUMBERS.split(), DIGITS, "-" + DIGITS, "9" * 5000)
LISTS = (
    *NUMBERS,
    "0,,1",
    "0.1,nan",
    "1e-9,1e300",
    ",".join(map(str, range(5000))),
    "1,1,1",
    "-0.5",
    "0.1;0.2",
    ",",
    "",
)
COLUMN_NAMES = "ill crp crp,age age,crp,wbc,ward,smoker crp,crp no_such , ward smoker,ill"
NAMES = (*COLUMN_NAMES.split(), "", "\u202ecrp", LONG)
DATA_FILES = tuple(GROUNDS + name for name in FILES if name.endswith((".csv", ".gz", ".npz", ".fsgym")))
JSON_FILES = tuple(GROUNDS + name for name in FILES if name.endswith((".json", "csv")))
FOLDERS = tuple(GROUNDS + name for name in FILES if "." not in name)
OUTPUT_FILES = """
full.csv folder.csv pipe.csv new.csv null.json loop.csv full closed/x/y.csv x.svg labelled.csv/x.csv half.fsgym
x.md x.jsonl
"""
OUTPUT_NAMES = (*OUTPUT_FILES.split(), "f" * 300 + ".csv")
COUNTS = ("splits", "seed", "jobs", "steps", "budget", "max_boxes", "row", "port", "most_cases")
WORDS = {  # values of the kind of an option of text, by its name
    "methods": ("cart", "cart,cart", "cart,no_such", "lars,", "panel", LONG),
    "name": ("x", "a,b", ""),
    "agent": ("rcpi", "no_such", "cart", "stopping", "l1_svm", ""),
    "split": ("train", "test", "all", "none"),
    "separator": (",", ";", "tab", "a", "\x1b", "\u202e"),
    "decimal": (".", ",", ";"),
    "backend": ("dask", "loky", "no"),
    "units": ("crp=\x1b[31m", "crp=", "crp=mg/l,no=1", GROUNDS + "units.json", GROUNDS + "folder.json"),
    "host": ("x", "", "256.1.1.1", "127.0.0.1"),
    "costs": (*NUMBERS, *JSON_FILES),
    "unrelated_costs": ("forbid", *JSON_FILES),
    "relation": ("any", "all", "none"),
    "missing": ("error", "unavailable", "no"),
    "missing_columns": ("error", "unavailable", "no"),
    "title": ("\x1b[31m", LONG, ""),
    "mine": (
        "os:system",
        "os:no",
        "no_such:f",
        "x.py:f",
        ":",
        GROUNDS + "text.csv:f",
        GROUNDS + "pipe:f",
        "json:loads",
    ),
    "data_dir": FOLDERS,
}
LIKELY: dict[str, Sequence[str]] = {
    **dict.fromkeys((*COUNTS, "train_share", "budget_cost"), NUMBERS),
    **dict.fromkeys(("lam", "target_cost", "target_features"), LISTS),
    **dict.fromkeys(("target_error", "target_error_cost", "min_confidence", "confidence"), NUMBERS),
    "target_recall": ("yes=0.9", "yes=", "=0.9", "yes=2", "no=nan", "yes=0.5,no=1e999", "x", "no_such=0.5"),
    "by": NAMES,
    **dict.fromkeys(("target", "drop", "row_groups", "category", "numeric", "keep", "panel", "unavailable"), NAMES),
    **dict.fromkeys(("output", "out", "save", "doc", "json_file"), tuple(GROUNDS + name for name in OUTPUT_NAMES)),
    **WORDS,
}


class Drawn(NamedTuple):
    """A command: its arguments, and what it reads from standard input."""

    arguments: list[str]
    typed: str


def hostile_commands(n: int, seed: int = 0) -> list[Drawn]:
    """``n`` commands, the same for the same seed and the same options of the commands, in a random order.

    Each option of each command has a wrong value in one of them, and each count a huge one; the others are drawn.
    """
    rng = random.Random(seed)
    commands: dict[str, Any] = dict(typer.main.get_command(cli.app).commands)  # type: ignore[attr-defined]
    del commands["warm"]  # takes nothing, and minutes
    drawn = []
    for name, command in commands.items():
        for option in _options(command):
            values = [_with_value(rng, option)]
            values += [[option.opts[0], number] for number in (DIGITS, "1000000000000") if option.name in COUNTS]
            drawn += [Drawn([name, *BASES[name][0], *BASES[name][1], *words], rng.choice(INPUTS)) for words in values]
    drawn += [_draw(rng, commands) for _ in range(n - len(drawn))]
    rng.shuffle(drawn)
    return drawn


def _draw(rng: random.Random, commands: dict[str, Any]) -> Drawn:
    name = rng.choices(list(commands), [WEIGHTS.get(name, 1) for name in commands])[0]
    arguments, options = (list(part) for part in BASES[name])
    for _ in range(rng.choice((1, 1, 1, 1, 2, 3))):
        match rng.choices(("option", "argument", "foreign", "missing", "more", "again"), (12, 4, 1, 0.5, 0.5, 1))[0]:
            case "option":
                options += _with_value(rng, rng.choice(_options(commands[name])))
            case "argument" if arguments:
                arguments[rng.randrange(len(arguments))] = _value(rng, DATA_FILES)
            case "foreign":
                options += _with_value(rng, rng.choice(_options(commands[rng.choice(list(commands))])))
            case "missing" if arguments:
                del arguments[rng.randrange(len(arguments))]
            case "more":
                options.append(rng.choice((_value(rng), "--" + _value(rng)[:50])))
            case _:
                options.append(rng.choice(_options(commands[name])).opts[0])
    words = [*arguments, *options] if rng.random() < 0.8 else [*options, *arguments]
    return Drawn([name, *words], rng.choice(INPUTS))


def _options(command: Any) -> list[Any]:
    """The options of a command."""
    return [p for p in command.params if p.param_type_name == "option" and p.name not in HARMLESS] or command.params


def _with_value(rng: random.Random, option: Any) -> list[str]:
    """An option with a value that is often of its kind, and wrong all the same."""
    if getattr(option, "is_flag", False):
        return [rng.choice(option.opts + option.secondary_opts)]
    return [option.opts[0], _value(rng, LIKELY.get(option.name, JSON_FILES))]


def _value(rng: random.Random, fitting: Sequence[str] = ()) -> str:
    """A value of ``fitting`` in two of three cases, otherwise any text, or any file."""
    if fitting and rng.random() < 0.7:
        return rng.choice(fitting)
    return rng.choice(VALUES) if rng.random() < 0.5 else GROUNDS + rng.choice(FILES)


class Outcome(NamedTuple):
    """What a command did: exit status, output, and the traceback of an error that it did not catch."""

    code: int
    out: str
    err: str
    traceback: str


class TooLongError(BaseException):
    """A command does not answer."""


def run_command(drawn: Drawn, grounds: Path, seconds: int = SECONDS) -> Outcome:
    """Run a command in this process, with standard streams in UTF-8 as those of a terminal."""
    arguments = [word.replace(GROUNDS, f"{grounds}/") for word in drawn.arguments]
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace", write_through=True)
    code, trace, before = -1, "", sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(drawn.typed.encode()), encoding="utf-8")
    try:
        with redirect_stdout(out), redirect_stderr(err), _alarm(seconds):
            cli.main(arguments)
    except SystemExit as ended:
        code = int(ended.code or 0)
    except BaseException:
        trace = traceback.format_exc()
    finally:
        sys.stdin = before
    return Outcome(code, *(f.buffer.getvalue().decode() for f in (out, err)), trace)  # type: ignore[attr-defined]


@contextmanager
def _alarm(seconds: int) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def faults_of(outcome: Outcome) -> list[str]:
    """What is wrong with the outcome of a command; nothing where each mistake is one sentence."""
    if outcome.traceback:
        return [f"traceback: {outcome.traceback.strip().splitlines()[-1][:200]}"]
    lines = outcome.err.splitlines()
    found = []
    if outcome.code not in (0, 1, 2):
        found.append(f"exit status {outcome.code}")
    if outcome.code and not lines:
        found.append("no sentence")
    if outcome.code == 2 and outcome.out:
        found.append(f"output before a mistake: {outcome.out[:100]!r}")
    if outcome.code == 2 and len([line for line in lines if line.startswith("fsgym: ")]) != len(lines):
        found.append(f"other lines on stderr: {outcome.err[:200]!r}")
    python = "Traceback" in outcome.err or "Error(" in outcome.err or "object at 0x" in outcome.err
    if python or re.search(r"\b(pass|with|or|name one) [a-z_]+=[\['\"]", outcome.err):
        found.append("words of Python in a sentence")
    found += [f"a line of {len(line)} characters" for line in lines if len(line) > LONGEST_LINE]
    odd = sorted({c for c in outcome.err + outcome.out if not c.isprintable() and c not in "\n\t\u00a0\u200c\u200d"})
    if odd:
        found.append(f"characters that a terminal obeys: {odd}")
    return found
