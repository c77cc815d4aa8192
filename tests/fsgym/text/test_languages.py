"""The sentences of pages in each language: none is missing or left over, and a page has no other language in it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import fsgym
from fsgym.text.speech import ENGLISH, Speech, check_speech, languages, said, sentences_of, speaking
from support.browsing import Visitor
from support.clinic import certain_clinic, clinic_model
from support.refusals import refused

ROOT = Path(fsgym.__file__).parent.parent
SOURCES = [
    p for part in ("fsgym", "agents") for p in (ROOT / part).rglob("*") if p.suffix in (".py", ".js", ".html", ".jinja")
]
OTHERS = [name for name in languages() if name != "en"]
ENGLISH_ONLY = re.compile(r"\b(the|is|are|and|paid|price|this|answer|case|Unknown|Undo|Print)\b")


def places(text):
    return set(re.findall(r"\{\w*\}", text))


@pytest.mark.parametrize("language", OTHERS)
def test_each_language_has_all_sentences_with_their_values(language):
    english, other = sentences_of("en"), sentences_of(language)
    assert list(other) == list(english)
    for name, text in other.items():
        assert places(text) == places(english[name]), name
        assert text.strip(), name
        assert (text[0] == " ", text[-1] == " ") == (english[name][0] == " ", english[name][-1] == " "), name


def test_each_sentence_is_said_and_each_that_is_said_is_there():
    code = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
    said_names = set(re.findall(r"""\bsaid\(\s*["'](\w+)["']""", code))
    assert said_names <= set(sentences_of("en"))
    begun = ("promised_", "shown_", "units_", "kind_")  # names that are put together
    unused = [
        name
        for name in sentences_of("en")
        if not re.search(rf"""["']{name}["']""", code) and not name.startswith(begun)
    ]
    assert unused == []


def test_a_speech_is_checked():
    refused(ValueError, "language must be one of de, en, got 'fr'", "fr", "", 1.0, call=check_speech)
    refused(ValueError, "currency must be a word", "en", "E" * 13, 1.0, call=check_speech)
    refused(ValueError, "currency must be a word", "en", "\x1b[0m", 1.0, call=check_speech)
    assert check_speech("en", "", 0.5) == ENGLISH
    assert check_speech("de", "EUR", 1.0) == Speech("de", "EUR", same_unit=True)


def shown(visitor, model):
    """The text of a page without names, levels and classes of the data, and of the charts and its keys."""
    text = re.sub(r"<svg.*?</svg>|<kbd>.*?</kbd>|<style>.*?</style>", " ", visitor.reply.text, flags=re.DOTALL)
    return re.sub(r"<[^>]*>", " ", text)


def test_a_page_in_german_has_no_english_and_shows_the_currency():
    model = certain_clinic()
    visitor = Visitor(model, speech=Speech("de", "EUR")).sign_in()
    pages = [shown(visitor, model)]
    visitor.press("Beginnen")
    assert "bisher bezahlt: 0 EUR" in visitor.text
    assert "Preis 1 EUR" in visitor.text
    pages.append(shown(visitor, model))
    visitor.press("Unbekannt")
    pages.append(shown(visitor, model))
    visitor.press("Antworten")
    pages.append(shown(visitor, model))
    visitor.press("Später")
    pages.append(shown(visitor, model))
    visitor.press(next(name for name in ("Jetzt aufhören: well", "Jetzt aufhören: ill") if name in visitor.text))
    pages.append(shown(visitor, model))
    visitor.go(f"{visitor.reply.url.path}/log")
    pages.append(shown(visitor, model))
    visitor.go("/nowhere")
    pages.append(shown(visitor, model))
    assert '<html lang="de">' in visitor.reply.text
    for text in pages:
        found = [text[max(m.start() - 30, 0) : m.end() + 30] for m in ENGLISH_ONLY.finditer(text)]
        assert found == []
    assert Visitor(model).sign_in().press("Begin").text.count("EUR") == 0


def test_refusals_are_in_the_language_of_the_pages():
    """They were English on German pages, but for those whose English text was looked up."""
    visitor = Visitor(clinic_model(), speech=Speech("de"), most_cases=1).sign_in()
    visitor.press("Beginnen")
    page, found, ward = visitor.reply.url.path, [], str(clinic_model().rules_.names.index("ward"))

    def post(path, text, **more):
        fields = next(fields for _, fields, _ in visitor.page.forms if "proof" in fields)
        before = visitor.reply.url.path
        visitor.post(path, fields | more)
        assert text in visitor.text
        found.append(visitor.text)
        visitor.go(before)

    post(f"{page}/undo", "es gibt nichts zurückzunehmen.")
    post(f"{page}/take-back", "es gibt nichts zurückzunehmen.", entry="0")
    post(f"{page}/answer", "das Formular muss sagen, um welche Erhebung es geht", about="x")
    visitor.press("Antworten", value2="2")
    post(f"{page}/answer", "'ward' ist schon bekannt.", about=ward, value2="2")
    post(f"{page}/instead", "'ward' ist schon bekannt.", about=ward)
    post("/resume", "ein gespeicherter Fall muss das Format 'fsgym-session-2' haben", saved="{}")
    post("/resume", "ein gespeicherter Fall muss der JSON-Text sein", saved="no")
    post(f"{page}/undo", "Eine Anfrage darf höchstens 4096 KiB haben.", more="x" * 5_000_000)
    post("/nowhere", "Diese Seite gibt es nicht.")
    visitor.go("/").press("Beginnen")
    assert "Dieser Fall wurde verworfen: Höchstens 1 Fälle" in visitor.go(page).text
    assert "Diesen Fall gibt es nicht" in visitor.go("/case/other").text
    assert visitor.client.post("/case", content=b"{}", headers={"Content-Type": "text/plain"}).status_code == 415
    assert visitor.step(b"[").json() == {"error": "The body must be a JSON object, and cannot be read as JSON."}
    assert [text for text in found if re.search(r"\b(must|already|nothing|session has)\b", text)] == []


def test_an_exported_page_has_the_sentences_of_its_language(tmp_path):
    pages = {}
    for language, currency in (("en", ""), ("de", "EUR")):
        path = tmp_path / f"{language}.html"
        clinic_model().save_page(path, language=language, currency=currency)
        pages[language] = path.read_text(encoding="utf-8")
    assert "Nothing more can be acquired" in pages["en"]
    assert ">Bekannte Werte eingeben<" in pages["de"]
    told = json.loads(re.search(r'data-speech="([^"]*)"', pages["de"])[1].replace("&#34;", '"'))
    script = "\n".join((ROOT / "fsgym/export" / name).read_text() for name in ("words.js", "page.js"))
    named = set(re.findall(r'\bsaid\(\s*"(\w+)"', script))
    assert named <= set(told["sentences"])
    assert told["sentences"]["nothing_more"] == "Es kann nichts mehr erhoben werden."
    assert told["currency"] == "EUR"
    assert "aller Fälle" in pages["de"]  # the chart
    refused(ValueError, "language must be", tmp_path / "x.html", language="xx", call=clinic_model().save_page)


def test_english_is_spoken_again_after_another_language():
    with speaking(Speech("de")):
        assert said("free") == "kostenlos"
    assert said("free") == "free"
