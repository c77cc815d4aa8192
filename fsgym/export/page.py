"""The page of a policy: its JSON, an interpreter, style and script in one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jinja2

from fsgym.support.arrays import canonical_json
from fsgym.text.html import inline_sources, styles_of
from fsgym.text.messages import in_script, visible
from fsgym.text.sentences import answers_text
from fsgym.text.speech import said, sentences_of, spoken

HERE = Path(__file__).parent
SHARED_STYLE = HERE.parent / "text" / "style.css"
SCRIPTS = ("interpreter.js", "words.js", "page.js")


def _question(policy: dict[str, Any]) -> str:
    """What the page is about."""
    labels = policy["words"]["ranges"] if "words" in policy else policy["classes"]
    answers = answers_text(labels, policy["rules"].get("refer_label"), are_ranges="words" in policy)
    return f"{answers} {said('leave_rest')}"


def page_html(
    policy: dict[str, Any],
    title: str,
    chart: str = "",
    *,
    reliability: tuple[str, str] = ("", ""),
    caveat: str = "",
    chart_usable: bool = True,
) -> str:
    """The HTML of a page that asks with a policy, in the language that is spoken (``fsgym.text.speech``).

    Nothing in the page is loaded from elsewhere, and its content security policy forbids it: only its own script and
    style may run, by their SHA-256.

    Parameters
    ----------
    policy : dict, plain JSON in the format of docs/policy-format.md
    title : str
    chart : str, optional
        An SVG element, taken as it is; its elements of class "box" have ``data-known``, ``data-unavailable`` and
        ``data-question``.
    reliability : tuple of two str, optional
        What is said of how reliable the model is, at first and beside a case.
    caveat : str, optional
        What to know before the chart is read.
    chart_usable : bool, default True
        False for a chart that its caveat says not to use: it is not drawn until it is asked for once more.
    """
    script = "\n".join((HERE / name).read_text(encoding="utf-8") for name in SCRIPTS)
    style = SHARED_STYLE.read_text(encoding="utf-8") + (HERE / "page.css").read_text(encoding="utf-8")
    styles = [style, *styles_of(chart)]
    rules = {
        "default-src": "'none'",
        "script-src": inline_sources([script]),
        "style-src": inline_sources(styles),
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    speech = spoken()
    sentences = {name: text for name, text in sentences_of(speech.language).items() if _names(script, name)}
    told = {"sentences": sentences, "currency": speech.currency, "same_unit": speech.same_unit}
    told |= {"target": speech.target, "fine": speech.fine}
    return environment.get_template("page.html.jinja").render(
        said=said,
        language=speech.language,
        speech=canonical_json(told),
        title=visible(title),
        question=_question(policy),
        digest=policy["digest"],
        policy=in_script(canonical_json(policy)),
        style=style,
        script=script,
        chart=chart,
        reliability=[visible(text) for text in reliability],
        caveat=visible(caveat),
        chart_usable=chart_usable,
        security_policy="; ".join(f"{name} {allowed}" for name, allowed in rules.items()),
    )


def _names(script: str, sentence: str) -> bool:
    """Whether a script names a sentence; those of the log are named by their kinds."""
    return f'"{sentence}"' in script or sentence.startswith("kind_")
