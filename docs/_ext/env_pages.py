"""One page per environment id, and one for what all have in common, in the form of Gymnasium's documentation."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd

import fsgym
from fsgym.comparison.leaderboard import has_stored_rows, how_to_store
from fsgym.envs.env import DatumWiseEnv
from fsgym.envs.ids import VARIANTS
from fsgym.envs.registration import make_env
from fsgym.rules.checks import describe_error_costs
from fsgym.rules.options import OPTIONS
from fsgym.text.html import options_in_words

COMMON = "common.md"  # the page of what all ids have in common


def env_pages(docs: Path) -> dict[str, str]:
    pages = {f"envs/{name}.md": env_page(name, docs) for name in VARIANTS}
    return pages | {f"envs/{COMMON}": common_page()}


def env_page(name: str, docs: Path) -> str:
    env = gym.make(name, render_mode="ansi")
    about = docs / "envs" / "notes" / f"{name}.md"
    return "\n\n".join(
        [
            f"# {name}",
            about.read_text(encoding="utf-8").strip() if about.is_file() else "",
            moving_card(name),
            facts(name, env),
            f"[What all environments have in common]({COMMON}): observations, actions, rewards, the end of an episode, "
            "`info`, arguments.",
            "## Numbers to beat\n\n" + stored_table(name),
            f"```sh\nfsgym leaderboard {name} --mine examples/my_policy.py:train\n```",
            "This evaluates a policy of your own, and compares it with the best stored row, if there is one.",
            *learning_curves(name, docs),
            '## An episode\n\nActions drawn at random among the legal ones, as `render_mode="ansi"` shows them:',
            f"```text\n{random_episode(env)}\n```",
            "## Version History\n\n" + history(name, docstring_sections()["Version History"]),
        ]
    )


def common_page() -> str:
    """What the docstring of the class says of all ids, and the arguments with their defaults."""
    sections = docstring_sections()
    left_out = ("Description", "Arguments", "Version History")
    return "\n\n".join(
        [
            "# What all environments have in common",
            "The ids differ in their data and rules; [Environments](index.md) lists them. Everything else is the same.",
            *(f"## {title}\n\n{text}" for title, text in sections.items() if title not in left_out),
            "## Arguments\n\n" + sections.get("Arguments", "") + "\n\n" + arguments(),
        ]
    )


def learning_curves(name: str, docs: Path) -> list[str]:
    """The stored learning curves of an id, with their last points; nothing without any."""
    curves = pd.read_csv(docs / "results" / "learning_curves.csv")
    curves = curves[curves["env_id"] == name]
    if curves.empty:
        return []
    last = curves.loc[curves.groupby(["algorithm", "seed"])["steps"].idxmax()]
    rows = [
        f"| {algorithm} | {part['steps'].max():,} | {part['train_loss'].mean():.3f} | {part['test_loss'].mean():.3f} | "
        f"{part['cpu_seconds'].mean():.0f} |"
        for algorithm, part in last.groupby("algorithm")
    ]
    return [
        "## Learning curves",
        f"![Loss of deep agents on {name} by training steps](curves/{name}.png)",
        "Means over three seeds, dotted on training rows. At the end of training:",
        "| agent | steps | training loss | test loss | CPU seconds |\n| --- | --- | --- | --- | --- |\n"
        + "\n".join(rows),
    ]


def with_cards(text: str) -> str:
    """The list of environments with a card of each in place of the table, which a clone has."""
    row = re.compile(r'^\| <a id="([\w-]+)"></a>\[[^|]*\| (.*?) \| (.*?) \|\n', re.MULTILINE)
    cards = [
        f":::{{grid-item-card}} {name}\n:link: {name}\n:link-type: doc\n\n{pictures(name)}\n\n"
        f"{rules[0].upper()}{rules[1:]}; {data}.\n:::"
        for name, rules, data in row.findall(text)
    ]
    head = re.compile(r"^\| id \|.*\n\| --- .*\n", re.MULTILINE)
    grid = "::::{grid} 1 2 2 2\n:gutter: 3\n\n" + "\n\n".join(cards) + "\n::::\n"
    return head.sub(lambda _: grid, row.sub("", text))


def moving_card(name: str) -> str:
    return pictures(name) + "\n\nA test case, and what a lattice policy that was trained on the training rows does."


def pictures(name: str) -> str:
    """The animated card of an episode, and its last picture in print and for those who do not want motion."""
    card, alt = (
        f"../_generated/{name}",
        f"A test case in {name}: what the policy acquires, what it believes, and its answer",
    )
    return "\n\n".join(
        f"```{{image}} {card}.{kind}\n:class: episode-{state}\n:width: 480px\n:alt: {alt}\n```"
        for kind, state in (("gif", "moving"), ("png", "still"))
    )


def docstring_sections() -> dict[str, str]:
    """The sections of the manual page that the class's docstring is, by title."""
    text = inspect.getdoc(DatumWiseEnv) or ""
    parts = re.split(r"^## (.*)$", text.split("\nParameters\n----")[0], flags=re.MULTILINE)[1:]
    sections = {title: body.strip() for title, body in zip(parts[::2], parts[1::2], strict=True)}
    versions = re.search(r"^Version History\n-+\n(.*?)\n\n\w+\n-+$", text, re.MULTILINE | re.DOTALL)
    return sections | {"Version History": versions[1] if versions else "v0: first version."}


def history(name: str, text: str) -> str:
    """The paragraphs of the history that are about this id or about all."""
    return "\n\n".join(part for part in text.split("\n\n") if name in part or not any(v in part for v in VARIANTS))


def facts(name: str, env: gym.Env) -> str:
    inner: Any = env.unwrapped
    data, rules, box = inner.dataset, inner.rules, inner.observation_space
    test = gym.make(name, split="test").unwrapped
    rows = [
        ("Its own defaults", ", ".join(f"`{key}`: {shown(value)}" for key, value in VARIANTS[name].items())),
        ("Make it", f'`gymnasium.make("fsgym:{name}")`, `gymnasium.make_vec("fsgym:{name}", num_envs=64)`'),
        (
            "Action space",
            f"`Discrete({inner.action_space.n})`: {rules.n_acquisitions} acquisitions, {rules.n_classes} answers",
        ),
        (
            "Observation space",
            f"`Box({box.low.min():g}, {box.high.max():g}, {box.shape}, {box.dtype})`, whose bounds cover test rows too",
        ),
        (
            "Data",
            f"{data.name}: {data.n_samples} training and {test.dataset.n_samples} test rows, "  # type: ignore
            f"{data.n_features} features, {data.n_classes} classes",
        ),
        ("Rules", f"`{rules!r}`"),
        ("Prices", prices_in_words(rules)),
        ("Errors", errors_in_words(rules, data.classes.tolist())),
        ("In words", " ".join(options_in_words(rules))),
    ]
    return "| what | in this environment |\n| --- | --- |\n" + "\n".join(
        f"| **{key}** | {value} |" for key, value in rows
    )


def prices_in_words(rules: Any) -> str:
    """The price of each acquisition, and that of an unrelated one where it differs."""
    text = by_price(rules.names, rules.costs)
    if rules.related is None:
        return text
    unrelated = "forbidden" if rules.forbids_unrelated else by_price(rules.names, rules.unrelated_costs)
    return f"{text}; if unrelated: {unrelated}"


def by_price(names: Sequence[str], prices: Sequence[float]) -> str:
    of_price: dict[float, list[str]] = {}
    for name, price in zip(names, prices, strict=True):
        of_price.setdefault(float(price), []).append(name)
    if len(of_price) == 1:
        return f"{prices[0]:g} for each acquisition"
    return "; ".join(f"{price:g} for {', '.join(found)}" for price, found in of_price.items())


def errors_in_words(rules: Any, classes: Sequence[Any]) -> str:
    return describe_error_costs(rules.error_costs, classes) or "a wrong answer costs 1, a correct one 0"


def random_episode(env: gym.Env) -> str:
    """The transcript of the first episode, with seed 0, 1, ..., in which two to four features are acquired."""
    for seed in range(1000):
        rng, (_, info), ended = np.random.default_rng(seed), env.reset(seed=seed), False
        while not ended:
            _, _, ended, _, info = env.step(rng.choice(np.flatnonzero(info["action_mask"])))
        if 2 <= info["n_acquired"] <= 4:
            return env.render().strip()  # type: ignore[union-attr]
    raise RuntimeError("no short episode among 1000")


def arguments() -> str:
    """The arguments of ``gymnasium.make``: those of data and rendering, and the options of the rules."""
    lines = ["| argument | default | meaning |", "| --- | --- | --- |"]
    parameters = inspect.signature(make_env).parameters
    for names, meaning in documented_parameters(inspect.getdoc(make_env) or ""):
        for argument in names.split(", "):
            if argument in parameters:
                lines.append(f"| `{argument}` | {shown(parameters[argument].default)} | {meaning} |")
    for option in OPTIONS:
        lines.append(f"| `{option.name}` | {shown(option.default)} | {option.help} |")
    return (
        "\n".join(lines)
        + "\n\nThe options of the rules are described in {py:class}`fsgym.Rules`. An id has its own defaults for some"
        " of them, which its page names."
    )


def shown(value: Any) -> str:
    if isinstance(value, str) or value is None or np.isscalar(value) or isinstance(value, tuple):
        return f"`{value!r}`"
    text = repr(value)
    return f"`{text}`" if len(text) < 80 else f"`{text[:40]} ...` ({len(value)} values)"


def documented_parameters(docstring: str) -> list[tuple[str, str]]:
    """The names and the description of each entry of the section Parameters of a docstring in NumPy's form."""
    section = docstring.split("Parameters\n----------\n")[1].split("\n\n")[0]
    entries = re.findall(r"^(\S[^:\n]*)(?: :[^\n]*)?\n((?: +[^\n]*\n?)*)", section + "\n", re.MULTILINE)
    return [(names.strip(), " ".join(text.replace("|", "\\|").split())) for names, text in entries]


def stored_table(name: str) -> str:
    """The stored rows of an id, by loss, in Markdown; without any, how to store them."""
    if not has_stored_rows(name):
        return how_to_store(name)
    table = fsgym.leaderboard(name)
    rows = [
        f"| {row.rank:.0f} | {row.name} | {row.loss:.4g} ± {row.loss_se:.2g} | {row.accuracy:.3f} | "
        f"{row.n_features:.2f} | {row.spent:.4g} | {row.training} |"
        for row in table.itertuples(index=False)
        if pd.notna(row.rank)
    ]
    head = "| rank | method | loss | accuracy | features | price paid | training |\n" + "| --- " * 7 + "|"
    return (
        "\n".join([head, *rows])
        + f"\n\nMeans on the {table.attrs['n_samples']} test rows over the seeds; ± is one standard error."
        " Stored by `python benchmarks/leaderboard.py`."
    )
