"""The pages in Chromium: each button with and without scripts, at two widths, and by keyboard alone."""

from __future__ import annotations

import json
import re
import socket

import pytest

from support.clinic import clinic_model
from support.hostile import hostile_model
from support.servers import running

pytestmark = pytest.mark.browser
WIDTHS = (1280, 390)
SHOWN = """() => {
    const main = document.querySelector("main").cloneNode(true);
    main.querySelector("#spoken").remove();
    return main.innerHTML.replace(/\\s+/g, "");
}"""


@pytest.fixture(scope="module")
def server():
    with running(clinic_model()) as found:
        yield found


def heading(page, text):
    """Wait for a heading that begins with a text."""
    page.wait_for_selector(f"h1:text-matches('^\\\\s*{re.escape(text)}')")


def press(page, text):
    page.get_by_role("button", name=re.compile(f"^{re.escape(text)}")).first.click()


def saved(page):
    """The session of the case on the page."""
    with page.expect_download() as download:
        page.get_by_text("Save as a file").click()
    return json.loads(download.value.path().read_text())


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
@pytest.mark.parametrize("width", WIDTHS)
def test_every_button(server, open_page, shoot, width, scripts):
    name = f"{width}-{'with' if scripts else 'without'}-scripts"
    session = clinic_model().session()
    with open_page(server.start(), width, scripts) as page:
        heading(page, "A new case")
        assert page.url == f"http://127.0.0.1:{server.port}/"
        page.get_by_text("What is known already").click()
        shoot(page, f"{name}-start")
        press(page, "Begin")
        heading(page, "ward")
        shoot(page, f"{name}-question")
        press(page, "Unknown")
        session.unknown("ward")
        heading(page, session.next().name)
        press(page, "Undo")
        session.undo()
        heading(page, "ward")
        press(page, "Later")
        session.later("ward")
        heading(page, session.next().name)
        press(page, "Acquire this instead blood")
        heading(page, "blood")
        press(page, "Back to the model's question")
        heading(page, session.next().name)
        press(page, "Acquire this instead blood")
        heading(page, "blood")
        page.get_by_label("wbc").fill("900")
        shoot(page, f"{name}-group")
        page.keyboard.press("Enter")
        page.wait_for_selector(".refusal")
        assert page.get_by_label("wbc").input_value() == "900"
        shoot(page, f"{name}-refused")
        page.get_by_label("accept it as it is").check()
        page.keyboard.press("Enter")
        session.answer("blood", {"wbc": 900}, accept=True)
        page.wait_for_selector("text=blood: wbc = 900")
        press(page, "Undo blood")
        session.undo("blood")
        page.wait_for_selector("text=blood is taken back")
        press(page, "Acquire this instead ward")
        heading(page, "ward")
        page.get_by_label("gp").check()
        page.get_by_label("known already").check()
        press(page, "Answer")
        session.answer("ward", "gp", paid=False)
        page.wait_for_selector("text=ward = gp")
        assert page.get_by_text(session.why()).count() == 1
        assert saved(page) == json.loads(session.to_json())
        if page.get_by_text("Stop now").count():
            press(page, "Stop now")
        else:
            press(page, "End with this answer")
        heading(page, f"Answer: {session.stop()}")
        shoot(page, f"{name}-answer")
        page.get_by_text("Print").click()
        page.wait_for_selector("table.log")
        shoot(page, f"{name}-log")
        page.get_by_text("Back to the case").click()
        heading(page, "Answer:")
        page.get_by_text("Delete this case").click()
        press(page, "Delete it")
        heading(page, "A new case")


def test_scripts_change_the_page_in_place(server, open_page):
    with open_page(server.start()) as page:
        press(page, "Begin")
        heading(page, "ward")
        page.evaluate("window.same = document.getElementById('spoken')")
        page.get_by_label("icu").check()
        page.keyboard.press("Enter")
        heading(page, "Answer:")
        assert page.evaluate("window.same === document.getElementById('spoken')")
        assert re.match(r"ill \d+ % \(was \d+ %\)", page.inner_text("#spoken"))
        assert page.evaluate("document.activeElement.textContent").startswith("End with this answer")
        swapped = page.evaluate(SHOWN)
        page.reload()
        assert page.evaluate(SHOWN) == swapped


def test_a_note_that_is_kept_leaves_what_was_typed(server, open_page):
    with open_page(server.start()) as page:
        page.keyboard.press("Enter")
        heading(page, "ward")
        page.get_by_text("Another value").click()
        page.get_by_label("another value of ward").fill("icu")
        for note, reply in (("bed 4", "The note is kept."), ("x" * 501, "a note may have at most 500 characters")):
            page.get_by_label("Reference or note").evaluate("(area, note) => (area.value = note)", note)
            press(page, "Keep the note")
            page.wait_for_selector(f"text={reply}")
            assert page.get_by_label("another value of ward").input_value() == "icu"
        press(page, "Answer")
        page.wait_for_selector("text=ward = icu")
        assert page.get_by_label("Reference or note").input_value() == "x" * 501
        assert saved(page)["note"] == "bed 4"


def test_a_note_that_is_not_kept_yet_stays(chromium, server):
    """It was lost with the next answer."""
    page, asked = chromium.new_page(), []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    page.goto(server.start())
    page.wait_for_url(lambda url: "/start?" not in url)
    press(page, "Begin")
    heading(page, "ward")
    note = page.get_by_label("Reference or note")
    note.press_sequentially("s" * 501)  # no more fits, where it would be refused
    assert note.input_value() == "s" * 500
    note.fill("Mrs  Smith")
    for button, text in (("Unknown", "ward is unknown"), ("Later", "comes later"), ("Undo", "postponed no longer")):
        press(page, button)
        page.wait_for_selector(f"text={text}")
        assert note.input_value() == "Mrs  Smith"
    press(page, "Keep the note")
    page.wait_for_selector("text=The note is kept.")
    press(page, "Unknown")
    page.wait_for_selector("text=is unknown")
    assert note.input_value() == "Mrs Smith"
    assert (saved(page)["note"], asked) == ("Mrs Smith", [])
    note.fill("Mr Miller")
    press(page, "Keep the note")
    page.wait_for_selector("text=The note is kept.")
    note.fill("Mrs Smith")  # as it was before
    press(page, "Undo")
    page.wait_for_selector("text=taken back")
    assert note.input_value() == "Mrs Smith"
    press(page, "Keep the note")
    page.wait_for_selector("text=The note is kept.")
    page.reload()
    assert asked == []
    note.fill("Mr Smith")
    page.get_by_text("Print").click()
    page.wait_for_selector("table.log")
    assert asked == ["beforeunload"]
    page.close()


def press_access_key(page, key):
    """Alt and a key, as a keyboard sends it."""
    event = {"modifiers": 1, "key": key, "code": f"Key{key.upper()}", "text": key, "unmodifiedText": key}
    keyboard = page.context.new_cdp_session(page)
    for kind in ("rawKeyDown", "char", "keyUp"):
        keyboard.send("Input.dispatchKeyEvent", {"type": kind, "windowsVirtualKeyCode": ord(key.upper())} | event)


def test_by_keyboard_alone(server, open_page):
    with open_page(server.start()) as page:
        page.wait_for_selector("button:focus")
        page.keyboard.press("Enter")
        heading(page, "ward")
        press_access_key(page, "l")
        page.wait_for_selector("text=ward comes later")
        press_access_key(page, "u")
        page.wait_for_selector("text=ward is postponed no longer")
        page.keyboard.press("Space")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=ward = gp")
        press_access_key(page, "u")
        page.wait_for_selector("text=ward is taken back")
        press_access_key(page, "x")
        heading(page, "Answer:")
        press_access_key(page, "n")
        heading(page, "A new case")


def test_a_level_is_typed_and_a_file_chosen(server, open_page, tmp_path):
    path = tmp_path / "case.session.json"
    session = clinic_model().session(known={"age": 50})
    path.write_text(session.to_json())
    with open_page(server.start(), 390) as page:
        page.get_by_text("Go on with a saved case").click()
        page.get_by_label("Choose the file").set_input_files(path)
        page.wait_for_function("document.getElementById('saved-text').value")
        page.get_by_role("button", name="Go on").last.click()
        page.wait_for_selector("text=Known before: age = 50 years")
        heading(page, "ward")
        page.get_by_text("Another value").click()
        page.get_by_label("another value of ward").fill("ward 9")
        page.keyboard.press("Enter")
        page.wait_for_selector(".refusal")
        page.get_by_label("accept it as it is").check()
        press(page, "Answer")
        page.wait_for_selector("text=counts as unknown")


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_hostile_names_run_nothing(open_page, shoot, scripts):
    with running(hostile_model()) as server, open_page(server.start(), 390, scripts) as page:
        page.get_by_text("What is known already").click()
        shoot(page, f"hostile-start-{scripts}")
        press(page, "Begin with this")
        page.wait_for_selector("h1:has-text('script')")
        page.get_by_role("textbox").first.fill("<script>alert(9)</script>")
        page.keyboard.press("Enter")
        page.wait_for_selector(".refusal")
        shoot(page, f"hostile-question-{scripts}")
        for text in ("<img src=x", "onfocus", "7 * 191", "a name that is as long"):
            press_containing(page, text)
            page.wait_for_selector(f"h1:has-text('{text}')")
        press(page, "Unknown")
        page.wait_for_selector("text=is unknown")
        press(page, "Stop now")
        heading(page, "Answer:")
        shoot(page, f"hostile-answer-{scripts}")
        page.get_by_text("Print").click()
        page.wait_for_selector("table.log")
        assert page.locator("script").count() == 1
        assert page.locator("img, iframe, [onload], [onerror], [onfocus], [onclick]").count() == 0


def press_containing(page, text):
    page.locator("button[name=about]", has_text=text).first.click()


def test_another_address_of_this_machine(open_page):
    """Browsers tell the server less where it is reached by an address of the network; forms work all the same."""
    address = socket.gethostbyname(socket.gethostname())
    with running(clinic_model(), "0.0.0.0") as server, open_page(server.start(address), scripts=False) as page:
        press(page, "Begin")
        heading(page, "ward")
        press(page, "Unknown")
        page.wait_for_selector("text=ward is unknown")


class WideChart:
    """A chart of three boxes side by side, each wider than a phone."""

    def place(self, known, question, unavailable):
        return len(list(known))

    def to_svg(self, here=None, dark=False):
        boxes = [
            f'<g class="box{" here" * (k == here)}" id="box-{k}"><rect x="{900 * k}" width="800" height="900"/></g>'
            for k in range(3)
        ]
        style = "<style>.box { fill: gray } .box.here { fill: teal }</style>"
        return f'<svg width="2700" height="900" role="img" aria-label="boxes">{style}{"".join(boxes)}</svg>'


def test_the_chart_shows_where_the_case_is(open_page, shoot, monkeypatch):
    monkeypatch.setattr(type(clinic_model()), "chart", lambda self: WideChart(), raising=False)
    with running(clinic_model()) as server, open_page(server.start(), 390) as page:
        press(page, "Begin")
        heading(page, "ward")
        assert not page.locator("#box-0").is_visible()
        page.get_by_text("The model as a chart").click()
        for place in (0, 1):
            shoot(page, f"chart-{place}")
            box = page.locator(f"#box-{place}")
            assert box.evaluate("box => getComputedStyle(box).fill") == "rgb(0, 128, 128)"
            assert 0 <= box.bounding_box()["x"] < 390
            if place == 0:
                page.get_by_label("er", exact=True).check()
                page.keyboard.press("Enter")
                page.wait_for_selector("text=ward = er")
