"""What a person types is read as the numbers in the table of the model, in Python and on the exported page."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import fsgym.export
from fsgym.data.columns import Column
from fsgym.session.values import check_value, typing_text, value_of_text
from fsgym.session.words import value_text
from fsgym.text.speech import Speech, speaking

WORDS = Path(fsgym.export.__file__).parent / "words.js"
PLAIN, COMMA = Column("c"), Column("c", decimal=",")
GERMAN = Column("c", unit="€", decimal=",", thousands=".", censored="half", low=0.5, high=5000.0)
ENGLISH = Column("c", unit="%", thousands=",", censored="limit")
TYPED = {  # column, what is typed, the number; None where it is none
    (PLAIN, "1.5"): 1.5, (PLAIN, "1,5"): None, (PLAIN, "1,007"): None, (PLAIN, "<1.5"): None, (PLAIN, "3 %"): None,
    (COMMA, "1,5"): 1.5, (COMMA, "1.5"): None, (COMMA, "1,007"): 1.007, (COMMA, "1.007"): None, (COMMA, "12"): 12,
    (COMMA, "-0,5"): -0.5, (COMMA, "1,5e2"): 150, (COMMA, "1.234,5"): None, (COMMA, "<1,5"): None,
    (GERMAN, "1.007"): 1007, (GERMAN, "1.007,5"): 1007.5, (GERMAN, "1,5 €"): 1.5, (GERMAN, "<1,5"): 0.75,
    (GERMAN, "> 200"): 200, (GERMAN, "<-5"): -5, (GERMAN, "≤ -1,5"): -1.5,
    (GERMAN, "1.5"): None, (GERMAN, "5 %"): None, (GERMAN, "1007"): 1007,
    (ENGLISH, "1,007"): 1007, (ENGLISH, "94.1 %"): 94.1, (ENGLISH, "<5"): 5, (ENGLISH, "1,5"): None,
}  # fmt: skip


@pytest.mark.parametrize(("column", "text"), TYPED)
def test_what_is_typed(column, text):
    value = value_of_text(column, text)
    assert value == (text if TYPED[column, text] is None else TYPED[column, text])


def test_how_to_type_is_said():
    assert typing_text(COMMA) == "a number, with a decimal comma"
    assert typing_text(GERMAN) == "a number from 0,5 to 5000 €, with a decimal comma and . for thousands"
    assert typing_text(PLAIN) == "a number"
    with pytest.raises(ValueError, match="'c' must be a number, with a decimal point, got '38,2'"):
        check_value(PLAIN, value_of_text(PLAIN, "38,2"))
    with pytest.raises(ValueError, match="'c' must be a number, got 'high'"):
        check_value(PLAIN, value_of_text(PLAIN, "high"))


def test_yes_and_no_are_shown_in_the_language_of_the_page():
    ill = Column("ill", "bool")
    assert [value_text(ill, value) for value in (True, False, "true", 0)] == ["yes", "no", "yes", "no"]
    with speaking(Speech("de")):
        assert [value_text(ill, value) for value in (True, False)] == ["ja", "nein"]


def test_the_page_reads_and_says_the_same():
    node = shutil.which("node")
    if node is None:
        if os.environ.get("FSGYM_REQUIRE_NODE"):
            pytest.fail("Node.js is required, and not installed")
        pytest.skip("Node.js is not installed")
    cases = [[column._asdict(), text] for column, text in TYPED]
    script = f"""
        const words = require({json.dumps(str(WORDS))});
        const read = ([column, text]) => {{
          try {{ return words.readValue(column, text, true).value; }}
          catch (error) {{ if (error instanceof words.Refusal) return null; throw error; }}
        }};
        const cases = {json.dumps(cases)};
        const refused = () => {{
          try {{ words.readValue(cases[0][0], "38,2"); }} catch (error) {{ return error.message; }}
        }};
        console.log(JSON.stringify([refused(), cases.map((one) => [read(one), words.typingText(one[0])])]));
    """
    done = subprocess.run([node, "-e", script], capture_output=True, text=True, check=True, timeout=60)
    refused, read = json.loads(done.stdout)
    assert read == [[TYPED[case], typing_text(case[0])] for case in TYPED]
    assert refused.endswith(" must be a number, with a decimal point, got '38,2'.")
