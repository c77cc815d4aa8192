"""No serious defect that axe-core finds, in light and dark, on a screen and on a phone."""

from __future__ import annotations

import pytest

from support.accessible import defects
from support.clinic import clinic_model
from support.servers import running

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_have_no_serious_defect(open_page, shoot, scheme, width):
    name = f"{scheme}-{width}"
    with running(clinic_model()) as server:
        address = f"http://127.0.0.1:{server.port}/"
        with open_page(address, width, scheme=scheme, bypass_csp=True) as page:
            assert defects(page) == []
            shoot(page, f"{name}-sign-in")
            page.get_by_label("Token").fill(server.token)
            page.keyboard.press("Enter")
            page.get_by_text("What is known already").click()
            page.get_by_text("Go on with a saved case").click()
            assert defects(page) == []
            shoot(page, f"{name}-start")
            page.get_by_role("textbox", name="age").fill("x")
            page.keyboard.press("Enter")
            page.wait_for_selector(".refusal")
            assert defects(page) == []
            page.get_by_role("textbox", name="age").fill("")
            page.keyboard.press("Enter")
            page.wait_for_selector("h1:has-text('ward')")
            assert defects(page) == []
            shoot(page, f"{name}-question")
            page.get_by_role("button", name="Acquire this instead crp").click()
            page.get_by_role("textbox", name="crp").fill("9000")
            page.keyboard.press("Enter")
            page.wait_for_selector(".refusal")
            assert defects(page) == []
            shoot(page, f"{name}-refused")
            page.get_by_label("accept it as it is").check()
            page.keyboard.press("Enter")
            page.wait_for_selector("text=crp = 9000")
            page.get_by_text("Delete this case").click()
            assert defects(page) == []
            page.get_by_text("Print").click()
            page.wait_for_selector("table.log")
            assert defects(page) == []
            shoot(page, f"{name}-log")
            page.goto(f"{address}case/none")
            assert defects(page) == []
