"""README and pages keep their word: code prints what they show, commands run, pictures and tables are there.

In README and pages, ``sh`` blocks are run, and ``console`` blocks, whose lines begin with ``$``, are only parsed.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import pickle
import re
import runpy
import shlex
from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from PIL import Image
from typer.main import get_command

from agents import LatticeClassifier
from agents.adaptive.classifier import OPTIMISM_OF_FIRST
from fsgym.cli import app
from fsgym.cli.main import main
from fsgym.comparison.leaderboard import read_stored_rows
from fsgym.comparison.noise import paired_t
from fsgym.envs.ids import VARIANTS
from fsgym.methods import METHODS, class_of
from fsgym_studies import STUDIES
from fsgym_studies.suites import SUITES
from support.outputs import assert_alike

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text()
START = ("start/one_case.md", "start/install.md")
QUICK_GUIDE = ("missing_and_unknown", "stopping", "certain_enough", "explain", "tables", "monitor", "command_line")
DEEP = "guide/deep_agents.md"  # its losses are others on another kind of CPU
GUIDE = sorted({path.relative_to(DOCS).as_posix() for path in (DOCS / "guide").glob("*.md")} - {DEEP})
# A code block, and the output that the page shows for it.
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
# What the tests leave out of ``sh`` blocks, by its beginning, and why.
NOT_RUN = {
    "pip install": "installs, compares and tests; .ci/run has all three",
    "fsgym ask": "asks a person",
}


def commands_of(text: str) -> list[str]:
    """The lines of ``sh`` blocks, which are run."""
    return [line for kind, code, _ in BLOCK.findall(text) if kind == "sh" for line in code.splitlines()]


def all_commands() -> set[str]:
    """The commands of fsgym in README and pages: in ``sh`` and ``console`` blocks, and indented."""
    found: set[str] = set()
    for path in (ROOT / "README.md", *DOCS.glob("*.md"), *DOCS.glob("[a-z]*/*.md")):
        text = path.read_text()
        consoles = "".join(re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
        lines = [*commands_of(text), *re.findall(r"^(?:\$ | {4})(fsgym .*)$", consoles + text, re.MULTILINE)]
        found |= {command.partition(" #")[0].strip() for line in lines for command in line.split(" && ")}
    return {command for command in found if command.startswith("fsgym ")}


@pytest.mark.parametrize("command", sorted(all_commands()))
def test_commands_are_understood(command):
    root = get_command(app)
    name, *arguments = shlex.split(command)[1:]
    if not name.startswith("-"):
        chosen = root.get_command(root.make_context("fsgym", [name]), name)
        chosen.make_context(name, arguments)
        assert chosen.get_short_help_str()


def test_every_command_is_on_a_page():
    page = (DOCS / "guide" / "command_line.md").read_text()
    for name in get_command(app).commands:
        assert f"| `fsgym {name}` |" in page


@pytest.fixture
def shared_fits(monkeypatch):
    """Several pages train the same model on the same rows: it is trained once."""
    fitted, fit = {}, LatticeClassifier.fit

    def fit_once(self, X, y=None, **options):
        key = hashlib.sha256(pickle.dumps((self.get_params(), X, y, options))).digest()
        if key not in fitted:
            fitted[key] = pickle.dumps(fit(self, X, y, **options).__dict__)
        self.__dict__.update(pickle.loads(fitted[key]))
        return self

    monkeypatch.setattr(LatticeClassifier, "fit", fit_once)


def run_page(
    text: str, capsys: pytest.CaptureFixture[str], *, skipped: tuple[str, ...] = (), relative: float = 0.0
) -> dict:
    """Run the blocks of a page from top to bottom, and compare what they print with what the page shows.

    ``skipped`` are beginnings of commands that are not run; ``relative`` is by how much numbers may differ.
    """
    names: dict = {}
    for kind, code, shown in BLOCK.findall(text):
        if kind == "sh":
            lines = [line for line in code.splitlines() if not line.startswith((*NOT_RUN, *skipped))]
            output = "".join(_output_of(line, capsys) for line in lines)
            if lines == code.splitlines():
                assert set(_words_of(shown)) - {"..."} <= set(_words_of(output))
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "page", "exec"), names)
        if relative:
            assert_alike(printed.getvalue(), shown, relative)
        else:
            assert printed.getvalue().rstrip() == shown.rstrip()
    plt.close("all")
    return names


def _output_of(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    with pytest.raises(SystemExit) as finished:
        main(shlex.split(command)[1:])
    printed, error = capsys.readouterr()
    assert finished.value.code == 0, f"{command}: {error}"
    return printed + error


def _words_of(text: str) -> list[str]:
    """The lines, whatever their spaces and the seconds in them."""
    return [" ".join(re.sub(r"\d+\.\d+ s\b", "# s", line).split()) for line in text.splitlines() if line.strip()]


@pytest.fixture
def table_page(tmp_path, monkeypatch, capsys, no_folder, shared_fits):
    """A folder with what the first page writes: a table, prices, a model, predictions."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    run_page((DOCS / "start" / "csv_and_prices.md").read_text(), capsys, skipped=("fsgym compare",))
    return tmp_path


@pytest.mark.slow
def test_the_first_pages_print_what_they_show(table_page, capsys):
    assert (table_page / "patients.safetensors").is_file()
    for page in (*START, *(f"guide/{name}.md" for name in QUICK_GUIDE)):
        run_page((DOCS / page).read_text(), capsys)


@pytest.mark.slow  # the test above runs the pages on which the others build
def test_all_pages_print_what_they_show(table_page, capsys):
    for page in ("index.md", "start/csv_and_prices.md", *GUIDE):
        run_page((DOCS / page).read_text(), capsys)


@pytest.mark.slow  # trains two deep agents; the examples of EvaluationCallback and SB3Classifier train briefly
def test_the_page_on_deep_agents_prints_what_it_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    history = run_page((DOCS / DEEP).read_text(), capsys, relative=0.5)["callback"].history
    assert [row["timesteps"] for row in history] == [30_208, 60_416, 61_440]
    assert history[-1]["loss"] < 0.9 * history[0]["loss"]
    assert (tmp_path / "best.zip").is_file()


def test_the_list_of_environments_shows_the_help_that_it_names(capsys):
    (block,) = BLOCK.finditer((DOCS / "envs" / "index.md").read_text())
    exec(compile(block[2], "page", "exec"), {})
    shown = capsys.readouterr().out
    assert "class DatumWiseEnv(" in shown
    assert "Action Space" in shown
    assert "make_env(" in shown
    assert "A named data set is loaded and scaled" in shown


def test_the_reasons_why_deep_agents_are_behind_have_the_measured_figures():
    """Each reason says whether it was measured; those of stored rows and curves have their figures."""
    section = (DOCS / DEEP).read_text().partition("## Why deep agents are level or behind\n")[2].partition("\n## ")[0]
    reasons = [" ".join(text.split()) for text in section.split("\n* ")[1:]]
    assert all(re.search(r"\*(Measured|not measured)", text) for text in reasons)
    base, heart, _, plain, brief, relational, cube = reasons
    losses = {env_id: {row["name"]: row["loss"] for row in of["rows"]} for env_id, of in read_stored_rows().items()}
    long = ["maskable_ppo (1M steps)", "ppo (1M steps)"]
    for text, env_id, names in (
        (base, "DatumWise-v0", ("maskable_ppo", "stopping")),
        (heart, "DatumWise-v0", long),
        (brief, "DatumWise-v0", ("dqn", "dqn (300k steps)", "a2c", "a2c (1M steps)")),
        (brief, "DatumWiseGroup-v0", ("dqn", "dqn (300k steps)")),
        (brief, "DatumWiseRelational-v0", ("a2c (1M steps)",)),
        (brief, "DatumWiseGroup-v0", ("ppo", "ppo (1M steps)")),
        (brief, "DatumWiseRelational-v0", ("ppo", "ppo (1M steps)")),
        (relational, "DatumWiseRelational-v0", ("maskable_ppo", "adaptive", "network", "dqn (300k steps)", *long)),
    ):
        assert all(f"{losses[env_id][name]:.3f}" in text for name in names)
    lowest = min(losses["DatumWise-v0"], key=lambda name: losses["DatumWise-v0"][name])
    assert f"from the lowest stored loss, {losses['DatumWise-v0'][lowest]:.3f} of `{lowest}`." in base
    lower = {"dqn (300k steps)": 4, "a2c (1M steps)": 5, "ppo (1M steps)": 2, "maskable_ppo (1M steps)": 3}
    for longer, better in lower.items():
        short = longer.partition(" (")[0]
        assert sum(of[longer] < of[short] for of in losses.values()) == better
    curves = pd.read_csv(DOCS / "results" / "learning_curves.csv").set_index("env_id")
    ends = curves.loc["DatumWiseRelational-v0"].query("algorithm == 'maskable_ppo' and steps == 303104")
    assert all(f"{ends[part].mean():.3f}" in relational for part in ("train_loss", "test_loss"))
    curves = curves.loc["DatumWise-v0"].set_index(["algorithm", "steps"])
    curve = curves.groupby(["algorithm", "steps"])[["train_loss", "test_loss"]].mean()
    for at in (163_840, 303_104):
        assert all(f"{loss:.3f}" in heart for loss in curve.loc["maskable_ppo", at])
    assert f"{curve.loc[('ppo', 303_104), 'test_loss']:.3f}" in plain
    used = curves.loc["ppo", "test_n_features"].reset_index().to_numpy()
    assert (used[(used[:, 0] > 20_000) & (used[:, 0] < 31_000), 1] == 0).all()
    assert (used[used[:, 0] > 50_000, 1] > 0).all()
    (row,) = re.findall(r"^\| MaskablePPO .*", (DOCS / "benchmarks" / "cube-nm.md").read_text(), re.MULTILINE)[:1]
    assert row.split("|")[2].strip() in cube


def test_the_guide_on_deep_agents_has_the_measured_times():
    text = " ".join((DOCS / DEEP).read_text().split())
    runs = pd.read_csv(DOCS / "results" / "learning_seconds.csv", dtype={"settings": str})
    means = runs.groupby(["settings", "steps"])[["cpu_seconds", "test_loss"]].mean().reset_index("steps")
    last, before = means.groupby("settings").tail(1), means.groupby("settings").nth(slice(-1))
    assert (last["test_loss"] <= 0.06).all()
    assert (before["test_loss"] > 0.06).all()
    sums = runs.groupby("settings")[["cpu_seconds", "steps"]].sum()
    a_million = 1e6 * sums["cpu_seconds"] / sums["steps"]
    for name, words in (("today", "over three seeds, has {:,.0f} steps"), ("0.2.0", "the former settings {:,.0f}")):
        assert f"{words.format(last.loc[name, 'steps'])} ({last.loc[name, 'cpu_seconds']:.1f} CPU seconds)" in text
    today, former = (f"{a_million[name]:.0f}" for name in ("today", "0.2.0"))
    a_step = f"{a_million['today'] / a_million['0.2.0']:.2f}"
    assert f"cost {a_step} of one with the settings of 0.2.0 ({today} and {former} CPU seconds" in text
    seconds = last["cpu_seconds"]
    assert f"That is {seconds['today'] / seconds['0.2.0']:.2f} of the time" in text
    shares = 100 * pd.read_csv(DOCS / "results" / "learning_shares.csv", index_col="part")["today"]
    passes = shares["passes in updates"] + shares["passes in episodes"]
    assert f"{passes:.0f} % are passes through the network, {shares['optimiser']:.0f} % the optimiser" in text
    assert f"and {shares['environment and masks']:.0f} % the environment with its masks" in text


@pytest.mark.slow  # trains three deep agents; test_examples.py and test_readme.py train them briefly
def test_from_gymnasium_to_a_result_prints_what_it_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    text = (DOCS / "start" / "from_gym.md").read_text()
    if find_spec("torchrl") is None:  # .ci/full installs it for the test below
        text = BLOCK.sub(lambda block: "" if "torchrl" in block[2] else block[0], text)
    run_page(text, capsys, relative=0.3)


@pytest.mark.filterwarnings("ignore")  # of TorchRL's own
def test_torchrl_reads_the_masks(capsys):
    pytest.importorskip("torchrl", reason="TorchRL is no dependency; .ci/full installs it")
    blocks = BLOCK.finditer((DOCS / "start" / "from_gym.md").read_text())
    (lines,) = [block[0] for block in blocks if "torchrl" in block[2]]
    made = '```python\nimport gymnasium as gym\nimport torch\nenv = gym.make("fsgym:DatumWise-v0")\n```\n\n'
    run_page(made + lines, capsys)


def test_the_commands_of_the_readme_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    commands = re.sub(r"^```python\n.*?^```$", "", README, flags=re.MULTILINE | re.DOTALL)  # test_readme.py runs these
    run_page(commands.replace("fsgym train breast_cancer", "fsgym train breast_cancer --agent rcpi"), capsys)
    assert (tmp_path / "model.safetensors").stat().st_size > 1000


def test_the_readme_counts_right_and_links_to_what_is_there():
    counts = {
        "environments": VARIANTS,
        "agents and baselines": METHODS,
        "studies": STUDIES,
        "suites": SUITES,
        "commands": get_command(app).commands,
    }
    for what, table in counts.items():
        assert re.search(rf"^\| {what} \| {len(table)}\b", README, re.MULTILINE), f"{what}: run .ci/tables.py"
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", README):
        assert (ROOT / target).exists(), target
    for picture in re.findall(r"!\[[^]]*\]\(([^)]*)\)", README):
        assert (ROOT / picture).read_bytes().startswith(b"\x89PNG")


def test_the_tables_of_environments_and_methods_are_complete():
    environments, methods = ((DOCS / name / "index.md").read_text() for name in ("envs", "methods"))
    assert all(f'| <a id="{name}"></a>[{name}](index.md#{name}) |' in environments for name in VARIANTS)
    noted = {path.stem for path in (DOCS / "methods" / "notes").glob("*.md")}
    pages = {name: f"notes/{name}.md" if name in noted else f"index.md#{name}" for name in METHODS}
    assert all(f'| <a id="{name}"></a>[`{name}`]({page}) |' in methods for name, page in pages.items())
    tables = runpy.run_path(str(ROOT / ".ci" / "tables.py"))
    assert tables["with_tables"](methods) == methods


def rows_of(section: str) -> list[list[str]]:
    """The cells of the first table in a section of the page on choosing a method."""
    text = (DOCS / "guide" / "choose_a_method.md").read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.*) \|$", text, re.MULTILINE)[2:]
    return [re.split(r" \| ", row) for row in rows]


def test_the_table_of_papers_has_the_classes_and_studies_of_its_methods():
    rows = rows_of("A paper that you know")
    assert len(rows) == 5
    for paper, methods, classes, study in rows:
        names, paths = re.findall(r"\[`(\w+)`\]", methods), re.findall(r"`(\w+\.\w+)`", classes)
        assert names
        for name in names:
            assert METHODS[name].estimator == paths[0].replace(".", ":")
            assert re.search(r"\((\d{4})\)", paper)[1] in METHODS[name].reference
        assert re.match(r"`([a-z-]+)`", study)[1] in STUDIES


def test_what_each_method_takes_is_what_it_is_given():
    for names, *answers in rows_of("What each method takes"):
        for name in re.findall(r"`(\w+)`", names):
            method = METHODS[name]
            model = class_of(method)(**method.preset)
            known = model.get_params()
            grouped = method.groups or (method.prices and "groups" in known)
            takes = [grouped, model.__sklearn_tags__().input_tags.allow_nan, "target_cost" in known]
            assert [answer != "no" for answer in answers] == takes, name


def test_every_script_that_a_page_names_is_there():
    scripts = {path.name for path in (ROOT / "examples").glob("*.py")}
    for path in (ROOT / "README.md", *DOCS.glob("*.md"), *DOCS.glob("[a-z]*/*.md")):
        text = path.read_text()
        named = re.findall(r"examples/(\w+\.py)", text)
        for table in re.findall(r"^\| [^\n]*`examples/`[^\n]*\n((?:\|[^\n]*\n)+)", text, re.MULTILINE):
            named += re.findall(r"`(\w+\.py)`", table)
        assert set(named) <= scripts, path.name


def test_the_tutorial_prints_what_it_shows_and_draws_the_card(capsys):
    place = run_page((DOCS / "tutorial.md").read_text(), capsys)
    with Image.open(DOCS / "card.png") as card:
        assert np.abs(np.asarray(card.convert("RGB"), int) - place["picture"]).mean() < 2


@pytest.mark.slow  # deep agents and a mixture; the test above has the tutorial
@pytest.mark.parametrize("page", ["budget", "relations", "cube"])
def test_a_lesson_prints_what_it_shows(page, capsys):
    run_page((DOCS / "lessons" / f"{page}.md").read_text(), capsys, relative=0.2)


def test_pages_on_the_default_agent_say_by_how_much_the_lattice_is_handicapped():
    assert OPTIMISM_OF_FIRST == 0.5
    for page in ("agents.md", "methods/notes/adaptive.md"):
        text = " ".join((DOCS / page).read_text().split())
        assert "the lattice counts as half a standard error higher" in text
        assert "one standard error" not in text


def test_the_bibtex_entry_is_that_of_the_citation_file():
    citation, page = (ROOT / "CITATION.cff").read_text(), (DOCS / "citation.md").read_text()
    given = dict(re.findall(r'^(title|version|date-released|license): "?(.*?)"?$', citation, re.MULTILINE))
    entry = dict(re.findall(r"^  (\w+) = \{(.*)\},$", page, re.MULTILINE))
    author = re.search(r'- name: "(.*)"', citation)
    assert entry["title"].replace("{", "").replace("}", "") == given["title"]
    assert (entry["version"], entry["license"]) == (given["version"], given["license"])
    assert f"{entry['year']}-{entry['month']}" == given["date-released"][:7]
    assert author is not None
    assert entry["author"] == f"{{{author[1]}}}"


def rows_of_measurements(first):
    """The cells of the rows of docs/agent_measurements.md whose first cell matches, without their markup."""
    lines = (DOCS / "agent_measurements.md").read_text().splitlines()
    cells = [
        [cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")
    ]
    return [own for own in cells if re.fullmatch(first, own[0])]


def test_the_verdict_on_agents_is_that_of_their_tables():
    """Three agents are alike within two standard errors but at one price, the default is within noise of the first."""
    losses = {}
    for agent, _, lam, *_, loss, _ in rows_of_measurements("RCPI(?: as printed)?|MaskablePPO|masked DQN"):
        losses[agent, lam] = [float(v) for v in loss.split(" ± ")]
    for lam in ("0.01", "0.03", "0.1"):
        alike = [losses[agent, lam] for agent in ("RCPI", "MaskablePPO", "masked DQN")]
        apart = [(a, b) for a, p in alike for b, q in alike if b - a > 2 * np.hypot(p, q)]
        assert apart == ([(losses["MaskablePPO", lam][0], losses["RCPI", lam][0])] if lam == "0.1" else [])
        printed, error = losses["RCPI as printed", lam]
        assert printed - losses["RCPI", lam][0] > 2 * np.hypot(error, losses["RCPI", lam][1])
    level = {name: set() for name in ("adaptive", "maskable_ppo", "rcpi")}
    lowest, verdicts = [], []
    for env_id, stored in read_stored_rows().items():
        rows = {row["name"]: np.array(row["losses"]) for row in stored["rows"] if row["admissible"] >= 1}
        lowest.append(min(rows, key=lambda name: rows[name].mean()))
        for name, own in level.items():
            own |= {env_id} if paired_t(rows[name] - rows[lowest[-1]])[-1] == "noise" else set()
        assert rows["rcpi_printed"].mean() > rows["rcpi"].mean()
        assert paired_t(rows["network"] - rows["adaptive"])[-1] != "lower"
        difference = rows["maskable_ppo"] - rows["rcpi"]
        verdicts.append((bool(difference.mean() < 0), paired_t(difference)[-1]))
    assert level["adaptive"] == set(VARIANTS)
    behind = {"DatumWiseBudget-v0", "DatumWiseRelational-v0"}
    assert level["maskable_ppo"] == set(VARIANTS) - behind
    assert {env_id for env_id, name in zip(read_stored_rows(), lowest) if name == "network"} == behind
    assert level["rcpi"] == {"DatumWiseBudget-v0"}
    assert sorted(verdicts) == [(False, "higher"), (False, "noise"), *[(True, "lower")] * 3]
    learners = [(own[1:4], own[5]) for own in rows_of_measurements(r"Cube.*|Syn\(.*")]
    best = [min(map(float, own)) for own, _ in learners]
    assert [int(np.argmin([float(v) for v in own])) for own, _ in learners] == [1, 1, 1, 2, 0, 0]
    *others, syn3 = [float(chosen) - least for (_, chosen), least in zip(learners, best)]
    assert max(others) < 0.004
    assert round(syn3, 3) == 0.014
