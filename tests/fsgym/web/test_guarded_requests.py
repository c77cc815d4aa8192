"""Who is refused: wrong names, pages of others, wrong tokens, long and slow bodies; and what the log leaves out."""

from __future__ import annotations

import anyio
import pytest
from starlette.datastructures import Headers
from starlette.websockets import WebSocketDisconnect

from fsgym.web import guard
from fsgym.web.guard import HostNames, is_loopback
from support.browsing import Visitor
from support.clinic import clinic_model


@pytest.fixture
def visitor():
    return Visitor(clinic_model()).sign_in()


def test_the_token_becomes_a_cookie_and_leaves_the_address():
    visitor = Visitor(clinic_model())
    first = visitor.go(f"/start?token={visitor.access.token}").reply
    assert '<meta http-equiv="refresh" content="0; url=/">' in first.text
    assert visitor.access.token not in first.text
    assert visitor.go("/").heading == "A new case"
    cookie = first.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert visitor.access.token not in first.headers["set-cookie"]
    assert "secure" not in cookie
    assert visitor.access.token not in visitor.reply.text


def test_behind_a_server_that_speaks_tls_the_cookie_stays_there():
    visitor = Visitor(clinic_model())
    visitor.client.base_url = "https://127.0.0.1:8765"
    assert "secure" in visitor.go(f"/start?token={visitor.access.token}").reply.headers["set-cookie"].lower()


def test_no_path_is_repeated_by_a_redirect():
    visitor = Visitor(clinic_model())
    for path in (f"/start/?token={visitor.access.token}", "/case/x/"):
        reply = visitor.client.get(path, follow_redirects=False)
        assert reply.status_code in (401, 404)
        assert "location" not in reply.headers


def test_the_code_for_the_browser_opens_once():
    visitor = Visitor(clinic_model())
    code = visitor.access.code
    assert visitor.go("/start?code=").reply.status_code == 401
    assert visitor.go("/start?code=wrong").reply.status_code == 401
    assert visitor.go(f"/start?code={code}").heading == "Signed in"
    assert visitor.go("/").heading == "A new case"
    other = Visitor(clinic_model())
    other.access.code = ""
    for used in (code, ""):
        assert other.go(f"/start?code={used}").reply.status_code == 401


OTHER_COOKIES = (
    'prefs={"theme":"dark"}',
    "name=Jo Smith",
    "a,b=1",
    "flag",
    "=v",
    "(p)=1",
    "[x]=1",
    "n=ä",
    'k="unclosed',
    "path=/",
)


@pytest.mark.parametrize("other", OTHER_COOKIES)
def test_cookies_of_other_programs_do_not_matter(visitor, other):
    own = f"fsgym={visitor.access.cookie}"
    visitor.client.cookies.clear()
    for cookies in (f"{other}; {own}", f"{own}; {other}"):
        reply = visitor.client.get("/", headers={"Cookie": cookies.encode()})
        assert reply.status_code == 200
    assert visitor.client.get("/", headers={"Cookie": other.encode()}).status_code == 401


@pytest.mark.parametrize("path", ["/", "/case/x", "/api/openapi.json", "/nothing"])
def test_without_a_token_there_is_nothing(path):
    visitor = Visitor(clinic_model())
    assert visitor.go(path).reply.status_code == 401
    assert visitor.client.get(path, headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert visitor.client.get(path, headers={"Cookie": 'fsgym=wrong; x="y'}).status_code == 401
    assert visitor.go("/start?token=wrong").reply.status_code == 401
    assert "That is not the token of this server." in visitor.text


def test_the_token_can_be_typed():
    visitor = Visitor(clinic_model()).go("/")
    assert visitor.press("Open", token="wrong").reply.status_code == 401
    assert visitor.press("Open", token=visitor.access.token).heading == "A new case"


@pytest.mark.parametrize("host", ["example.org", "127.0.0.1", "127.0.0.1:1", "a@127.0.0.1:8765", "", "[::1"])
def test_a_wrong_host_is_refused(visitor, host):
    reply = visitor.client.get("/", headers={"Host": host})
    assert reply.status_code == 421
    assert "This server does not answer under that name" in reply.text


@pytest.mark.parametrize(
    ("bound", "more", "allowed", "refused"),
    [
        ("127.0.0.1", (), ["127.0.0.1:80", "localhost", "LOCALHOST:80", "[::1]:80"], ["10.0.0.1:80", "x:80"]),
        (
            "0.0.0.0",
            ("ward.example",),
            ["10.0.0.1:80", "[fe80::1]:80", "ward.example", "localhost:80"],
            ["x:80", "10.0.0.1:81"],
        ),
        ("10.0.0.7", (), ["10.0.0.7"], ["10.0.0.8", "localhost"]),
    ],
)
def test_names_of_a_server(bound, more, allowed, refused):
    names = HostNames(bound, 80, more)
    assert [host for host in [*allowed, *refused] if names.allow(host)] == allowed


def test_addresses_of_this_machine_alone():
    own, others = ["127.0.0.1", "::1", "localhost", "127.8.8.8"], ["0.0.0.0", "::", "10.0.0.1", "x"]
    assert [host for host in own + others if is_loopback(host)] == own


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://example.org"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "file://"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_pages_of_others_are_refused(visitor, headers):
    fields = visitor.page.forms[0][1]
    reply = visitor.client.post("/case", data=fields, headers=headers)
    assert reply.status_code == 403
    assert "takes nothing from pages of others" in reply.text
    assert visitor.step(**headers).status_code == 403


def test_a_form_without_its_proof_is_refused(visitor):
    for proof in ({}, {"proof": "wrong"}):
        reply = visitor.client.post("/case", data=proof | {"x": "y"})
        assert reply.status_code == 403
    fields = visitor.page.forms[0][1]
    for headers in ({"Origin": "null"}, {"Origin": "null", "Sec-Fetch-Site": "same-origin"}):
        assert visitor.client.post("/case", data=fields, headers=headers).status_code == 200


def test_long_bodies_are_refused(visitor):
    fields = visitor.page.forms[0][1] | {"text": "x" * guard.MAX_CASE_BYTES}
    assert visitor.post("/case", fields).reply.status_code == 413
    chunks = (b"x" * 100_000 for _ in range(100))
    assert visitor.client.post("/case", content=chunks).status_code == 413
    assert visitor.step(b" " * (guard.MAX_BODY_BYTES + 1)).status_code == 413
    assert visitor.client.post("/case", content=b"a=1", headers={"Content-Length": "many"}).status_code == 413
    assert visitor.step(b" " * 1000 + b"{}").status_code == 200


def test_long_cases_need_the_token(visitor):
    fields = visitor.page.forms[0][1] | {"text": "x" * guard.MAX_BODY_BYTES}
    assert visitor.post("/case", fields).reply.status_code == 200
    saved = {"proof": fields["proof"], "saved": " " * guard.MAX_BODY_BYTES}
    assert "a session must be" in visitor.post("/resume", saved).text
    for cookie in (f"fsgym={visitor.access.cookie}", "fsgym=wrong"):
        visitor.client.cookies.clear()
        assert visitor.client.post("/start", data=fields, headers={"Cookie": cookie}).status_code == 413
    assert visitor.client.post("/case", data=fields).status_code == 413


def test_slow_bodies_are_refused(monkeypatch):
    monkeypatch.setattr(guard, "MAX_SECONDS", 0.01)

    async def receive():
        await anyio.sleep(60)

    with pytest.raises(guard.Refused, match="took too long"):
        anyio.run(guard.read_body, Headers({}), receive)


def test_forms_are_sent_as_forms(visitor):
    assert visitor.client.post("/case", json={"proof": "x"}).status_code == 415
    assert (
        visitor.client.post(
            "/case", content=b"a&" * 30_000, headers={"Content-Type": "application/x-www-form-urlencoded"}
        ).status_code
        == 413
    )


@pytest.mark.parametrize(
    "path", ["/", "/static/style.css", "/static/nothing", "/api/openapi.json", "/case/x", "/nothing"]
)
def test_every_reply_has_its_headers(visitor, path):
    headers = visitor.go(path).reply.headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")
    assert headers["cache-control"] == "no-store"


def test_other_methods_and_addresses(visitor):
    assert visitor.client.put("/case/x").status_code == 415
    assert visitor.client.get("/case").status_code == 405
    assert visitor.go("/nothing").reply.status_code == 404
    assert visitor.go("/static/../pages.py").reply.status_code == 404


def test_the_log_has_no_values(visitor, capsys, monkeypatch):
    visitor.begin().press("Answer", text2="a secret")
    visitor.press("Answer", value2="2", text2="")

    def fail(*arguments):
        raise RuntimeError(visitor.text)

    monkeypatch.setattr("fsgym.web.pages.case_view", fail)
    path = visitor.reply.url.path
    visitor.client._transport.raise_server_exceptions = False
    assert visitor.go(path).reply.status_code == 500
    assert "Something failed in the server" in visitor.text
    printed = "\n".join([*visitor.lines, capsys.readouterr().err])
    assert "POST /case/{id}/answer 303" in printed
    assert "RuntimeError in /case/{id}" in printed
    for secret in ("secret", "icu", visitor.access.token, path.rpartition("/")[2]):
        assert secret not in printed


def test_a_web_socket_is_closed(visitor):
    with pytest.raises(WebSocketDisconnect), visitor.client.websocket_connect("/"):
        pass
