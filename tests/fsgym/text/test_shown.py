"""Texts of users in messages, in the terminal and in HTML: no character is obeyed, and none is too long."""

from __future__ import annotations

import json

import numpy as np
import pytest

from fsgym import Dataset, load_dataset, register_method
from fsgym.cli.terminal import console, say, show
from fsgym.comparison.report import template_environment
from fsgym.text.messages import brief, explain_unknown, listing, shortened, visible, visible_json

ODD = "c\x1b[31mp\u202e\x9b\u2066\ufeff\ud800\r"
LONG = "v" * 10_000


def test_what_is_visible():
    assert visible(ODD) == r"c\x1b[31mp\u202e\x9b\u2066\ufeff\ud800\r"
    for text in ("naïve 🙂", "a\u00a0b", "می\u200cخواهم", "two\nlines\tand tabs"):
        assert visible(text) == text
    text = json.dumps({ODD: [ODD]}, ensure_ascii=False)
    assert json.loads(visible_json(text)) == {ODD: [ODD]}
    assert visible(visible_json(text)) == visible_json(text)


@pytest.mark.parametrize("longest", [7, 8, 100, 9_999, 10_000])
def test_shortened_texts_fit(longest):
    assert len(shortened(LONG, longest)) == longest


def test_messages_are_short_and_visible(capsys):
    for text in (brief(LONG), brief(ODD), brief(10**5000), explain_unknown("kind", LONG, ["a"]), listing([LONG, ODD])):
        assert len(text) < 200
        assert text.isprintable()
    with pytest.raises(TypeError) as caught:
        register_method("x", LONG)
    assert len(str(caught.value)) < 400
    say(f"{ODD} {LONG} {' '.join([LONG] * 9)}")
    show(ODD)
    console().print(ODD)
    console(markup=True).print("mine.py:train: 1")
    printed = capsys.readouterr()
    assert len(printed.err) < 640
    assert printed.out.endswith("mine.py:train: 1\n")
    for line in (printed.out + printed.err).splitlines():
        assert line.isprintable()


def test_html_has_no_characters_that_a_page_obeys():
    data = Dataset(np.eye(4), np.array([ODD, "b"] * 2), feature_names=[ODD, "b", "c", "d"])
    assert visible(data._repr_html_()) == data._repr_html_()
    assert r"c\x1b[31mp\u202e" in data._repr_html_()
    assert data.feature_names[0] == ODD
    page = template_environment().from_string("<p>{{ name }}</p>").render(name=ODD + "<")
    assert page == f"<p>{visible(ODD)}&lt;</p>"


def test_names_stay_as_they_are(tmp_path):
    rows = "".join(f"{k % 7},{k % 5},{'yes' if k % 3 else 'no'}\n" for k in range(60))
    (tmp_path / "t.csv").write_text(f"a\x1b[31m,b\u202e,target\n{rows}", encoding="utf-8")
    assert load_dataset(tmp_path / "t.csv").feature_names == ("a\x1b[31m", "b\u202e")
