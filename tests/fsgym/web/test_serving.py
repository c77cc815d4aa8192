"""The command ``serve``: where it listens, its token, and how it ends."""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import subprocess
import sys
from contextlib import suppress

import httpx2
import pytest

from fsgym.cli.main import main
from fsgym.support import extras
from fsgym.web import serving
from support.clinic import clinic_model
from support.servers import running


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("served") / "clinic.fsgym"
    clinic_model().save(path)
    return path


def refusal(capsys, *arguments):
    """The sentence with which the command ends."""
    with pytest.raises(SystemExit) as ended:
        main(["serve", *map(str, arguments)])
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


@pytest.mark.slow  # the signal to end is answered by the same server
def test_from_the_address_that_is_printed_to_ctrl_c(model_file):
    command = [sys.executable, "-m", "fsgym", "serve", str(model_file), "--port", "0"]
    environment = {k: v for k, v in os.environ.items() if k != serving.TOKEN_VARIABLE}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    ) as server:
        try:
            address = re.fullmatch(r"Open (http://127.0.0.1:\d+)/start\?token=([\w-]{43})\n", server.stdout.readline())
            assert address is not None
            assert server.stdout.readline() == "Ctrl-C ends.\n"
            with httpx2.Client(base_url=address[1], follow_redirects=True) as client:
                assert "Signed in" in client.get("/start", params={"token": address[2]}).text
                assert "A new case" in client.get("/").text
                reply = client.post("/api/step", json={}, headers={"Authorization": f"Bearer {address[2]}"})
            assert reply.json()["question"]["name"] == "ward"
            assert reply.headers.get("server") is None
        finally:
            server.send_signal(signal.SIGINT)
            printed, said = server.communicate(timeout=60)
    assert server.returncode == 0
    assert printed == "Stopped; cases that were not saved as files are gone.\n"
    assert [re.sub(r"\d+ ms", "", line) for line in said.splitlines()] == [
        "GET /start 200 ",
        "GET / 200 ",
        "POST /api/step 200 ",
    ]


def test_a_port_in_use_is_a_sentence(model_file, capsys):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        line = refusal(capsys, model_file, "--port", port)
    words = "Address already in use; give another --port, or --port 0 for a free one"
    assert line == f"fsgym: cannot serve at 127.0.0.1, port {port}: {words}"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3", "example.org"])
def test_other_machines_need_a_token(model_file, host, capsys, monkeypatch):
    monkeypatch.delenv(serving.TOKEN_VARIABLE, raising=False)
    assert "and needs a token of yours: give --token-file, or set FSGYM_TOKEN" in refusal(
        capsys, model_file, "--host", host
    )


def test_tokens(tmp_path, monkeypatch):
    monkeypatch.delenv(serving.TOKEN_VARIABLE, raising=False)
    assert serving.given_token(None) is None
    monkeypatch.setenv(serving.TOKEN_VARIABLE, "0123456789abcdef")
    assert serving.given_token(None) == "0123456789abcdef"
    path = tmp_path / "token"
    path.write_text("fedcba9876543210\n")
    assert serving.given_token(path) == "fedcba9876543210"
    for wrong in ("short", "with blanks in between it", "ümlaute-sind-nicht-gut"):
        path.write_text(wrong)
        with pytest.raises(ValueError, match="must have a token of at least 16 letters, digits and signs"):
            serving.given_token(path)
    with pytest.raises(OSError, match="nowhere"):
        serving.given_token(tmp_path / "nowhere")


def test_what_is_printed_for_other_machines(capsys):
    serving._greet("0.0.0.0", 80, None)
    printed = capsys.readouterr().out
    assert "Open http://localhost:80/\nand enter the token that you gave.\nThis is plain HTTP: everyone" in printed
    serving._greet("::1", 80, "secret")
    assert "Open http://[::1]:80/start?token=secret\nCtrl-C ends.\n" in capsys.readouterr().out


def test_a_missing_extra_is_a_sentence(model_file, capsys, monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    install = 'in the clone, pip install -c constraints.txt -e ".[web]"'
    assert refusal(capsys, model_file) == f"fsgym: fsgym serve needs starlette, uvicorn: {install}"


def test_a_body_in_chunks_is_limited_over_the_network():
    with running(clinic_model()) as server, httpx2.Client(base_url=f"http://127.0.0.1:{server.port}") as client:
        headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
        reply = client.post("/api/step", content=(b" " * 1000 for _ in range(200)), headers=headers)
        assert reply.status_code == 413
        assert client.post("/api/step", content=b"{}", headers=headers).status_code == 200


@pytest.mark.slow
def test_the_signal_to_end_is_answered_like_ctrl_c(model_file):
    command = [sys.executable, "-m", "fsgym", "serve", str(model_file), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as server:
        server.stdout.readline()
        assert server.stdout.readline() == "Ctrl-C ends.\n"
        server.send_signal(signal.SIGTERM)
        printed, _ = server.communicate(timeout=60)
    assert (server.returncode, printed) == (0, "Stopped; cases that were not saved as files are gone.\n")


def test_the_browser_is_given_a_code_that_counts_once_and_not_the_token(model_file, monkeypatch):
    opened, ready = [], []

    async def end_at_once(server):
        ready.append(server.started)

    monkeypatch.setattr(serving.webbrowser, "open", opened.append)
    monkeypatch.setattr(serving.uvicorn.Server, "main_loop", end_at_once)
    monkeypatch.delenv(serving.TOKEN_VARIABLE, raising=False)
    before = signal.getsignal(signal.SIGTERM)
    try:
        serving.serve(clinic_model(), "clinic", "127.0.0.1", 0, browser=True)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ready == [True]
    assert re.fullmatch(r"http://127.0.0.1:\d+/start\?code=[\w-]{43}", opened[0])


def test_connections_that_say_nothing_are_closed_and_there_is_a_most_of_them(monkeypatch):
    monkeypatch.setattr(serving, "MAX_CONNECTIONS", 12)
    monkeypatch.setattr(serving, "MAX_IDLE_SECONDS", 0.3)
    with running(clinic_model()) as server:
        silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(20)]
        for each in silent[::2]:
            each.sendall(b"GET / HT")
        for each in silent:
            each.settimeout(20)
            with suppress(ConnectionResetError):
                assert each.recv(1) == b""  # closed by the server
            each.close()
        with httpx2.Client(base_url=f"http://127.0.0.1:{server.port}") as client:
            headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
            for _ in range(3):  # also on a connection that is used again
                assert client.post("/api/step", content=b"{}", headers=headers).status_code == 200


def test_long_heads_are_refused():
    with running(clinic_model()) as server, socket.create_connection(("127.0.0.1", server.port)) as sender:
        sender.settimeout(20)
        sender.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        with pytest.raises(OSError, match=r"pipe|reset|aborted"):
            sender.sendall((b"X-Padding: " + b"x" * 4000 + b"\r\n") * 5000)


STYLE = b"GET /static/style.css HTTP/1.1\r\nHost: 127.0.0.1\r\n%s\r\n"


def connected(server):
    sender = socket.create_connection(("127.0.0.1", server.port))
    sender.settimeout(20)
    return sender


def style(server, token=True):
    """A request for a file that needs no token."""
    bearer = f"Authorization: Bearer {server.token}\r\n".encode() if token else b""
    return STYLE.replace(b"127.0.0.1", f"127.0.0.1:{server.port}".encode()) % bearer


def all_of(sender):
    """What comes until the server closes."""
    parts = []
    with suppress(ConnectionResetError):
        while part := sender.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)


def test_a_connection_that_is_never_read_is_closed(monkeypatch):
    monkeypatch.setattr(serving, "MAX_UNREAD_SECONDS", 0.2)
    monkeypatch.setattr(serving, "MAX_REQUESTS", 100_000)
    with running(clinic_model()) as server, connected(server) as sender:
        sender.setblocking(False)
        with suppress(BlockingIOError):
            while sender.send(style(server) * 2000):
                pass
        closed = select.poll()
        closed.register(sender, 0)  # its end is reported, but not that there is something to read
        assert closed.poll(20_000)


def test_a_connection_has_a_most_of_requests(monkeypatch):
    monkeypatch.setattr(serving, "MAX_REQUESTS", 3)
    with running(clinic_model()) as server, connected(server) as sender:
        sender.sendall(style(server) * 9)
        replies = all_of(sender)
    assert replies.count(b"HTTP/1.1 200 OK") == 3
    assert replies.count(b"connection: close") == 1


@pytest.mark.parametrize(("token", "replies"), [(True, 3), (False, 1)])
def test_without_the_token_a_request_before_the_reply_to_the_last_ends_a_connection(monkeypatch, token, replies):
    monkeypatch.setattr(serving, "MAX_REQUESTS", 3)
    with running(clinic_model()) as server, connected(server) as sender:
        sender.sendall(style(server, token) * 3)
        assert all_of(sender).count(b"HTTP/1.1 200 OK") == replies


def test_a_new_connection_takes_the_place_of_the_one_without_the_token_that_waits_longest(monkeypatch):
    monkeypatch.setattr(serving, "MAX_CONNECTIONS", 3)
    with running(clinic_model()) as server, connected(server) as trusted:
        trusted.sendall(style(server))
        assert trusted.recv(1 << 16).startswith(b"HTTP/1.1 200")
        first, second, third = connected(server), connected(server), connected(server)
        with first, second, third:
            assert all_of(first) == b""
            for each in (second, third):
                each.sendall(style(server))
                assert each.recv(1 << 16).startswith(b"HTTP/1.1 200")
            with connected(server) as newest:  # the others have the token
                assert all_of(newest) == b""
            trusted.sendall(style(server))
            assert trusted.recv(1 << 16)


def test_two_lengths_of_a_body_are_refused_and_the_connection_is_closed():
    head = b"POST /api/step HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
    with running(clinic_model()) as server, connected(server) as sender:
        sender.sendall(head % server.port + b"0\r\n\r\n" + style(server))
        reply = all_of(sender)
    assert reply.startswith(b"HTTP/1.1 400")
    assert b"not both" in reply
    assert reply.count(b"HTTP/1.1") == 1
