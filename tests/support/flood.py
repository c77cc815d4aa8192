"""A script: connections to ``fsgym serve`` that are never read, or say nothing, beside a client with the token.

Prints the longest step of the client in each part of the attack, and how long Ctrl-C took:

python tests/support/flood.py --unread 505 --idle 600
"""

from __future__ import annotations

import argparse
import http.client
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

TOKEN = "token-of-the-flood-test"
REQUEST = b"GET /static/style.css HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n"
PIPELINED = 2000
MOST_SECONDS = 2.0  # of a step
MOST_SECONDS_TO_END = 3.0
FEW = 20  # unread connections, too few for one of them to give way to another
MOST_SECONDS_UNREAD = 20.0  # of each of the few


class Flood(NamedTuple):
    """What a client with the token saw.

    Attributes
    ----------
    longest : dict, the longest step in each part of the attack, in seconds; inf where a step failed
    still_open : int, how many of a few connections that are never read are never closed
    to_end : float, seconds from Ctrl-C to the end
    said : str, what the server wrote besides its log
    """

    longest: dict[str, float]
    still_open: int
    to_end: float
    said: str

    def findings(self) -> list[str]:
        """What is not as it must be."""
        found = [f"{part}: a step took {took:.1f} s" for part, took in self.longest.items() if took > MOST_SECONDS]
        if self.still_open:
            found.append(f"{self.still_open} of {FEW} unread connections are open after {MOST_SECONDS_UNREAD:g} s")
        if self.to_end > MOST_SECONDS_TO_END:
            found.append(f"Ctrl-C took {self.to_end:.1f} s")
        return found + ([f"the server said: {self.said}"] if "Traceback" in self.said else [])


def flood(model: Path, unread: int, idle: int, seconds: float) -> Flood:
    """Attack a server of this model for so many seconds with each kind of connection."""
    environment = os.environ | {"FSGYM_TOKEN": TOKEN}
    command = [sys.executable, "-m", "fsgym", "serve", str(model), "--port", "0"]
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment, start_new_session=True
        ) as server,
    ):
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline().rstrip("/\n").rpartition(":")[2])
            held: list[socket.socket] = []
            longest = {"no attack": _step(port)}
            still_open = _still_open(port)
            longest["unread"] = _attacked(port, held, unread, REQUEST % port * PIPELINED, seconds)
            longest["unread and idle"] = _attacked(port, held, idle, b"", seconds)
            threading.Thread(target=_connect, args=(port, held, unread, REQUEST % port * PIPELINED)).start()
            time.sleep(1)
            began = time.perf_counter()
            server.send_signal(signal.SIGINT)
            server.wait(timeout=60)
            to_end = time.perf_counter() - began
        finally:
            server.kill()
        log.seek(0)
        said = "".join(line for line in log if not line.startswith(("POST ", "GET ")))
    for each in held:
        each.close()
    return Flood(longest, still_open, to_end, said)


def _still_open(port: int) -> int:
    """How many of a few connections with the token, which read nothing, the server has not closed in time."""
    held: list[socket.socket] = []
    _connect(port, held, FEW, (REQUEST[:-2] % port + f"Authorization: Bearer {TOKEN}\r\n\r\n".encode()) * PIPELINED)
    closed = select.poll()
    for each in held:
        closed.register(each, 0)  # its end is reported, but not that there is something to read
    end = time.perf_counter() + MOST_SECONDS_UNREAD
    while (n := len(held) - len(closed.poll(0))) and time.perf_counter() < end:
        time.sleep(0.5)
    for each in held:
        each.close()
    return n


def _attacked(port: int, held: list[socket.socket], n: int, text: bytes, seconds: float) -> float:
    """The longest step of the client while so many connections send this text and read nothing."""
    attack = threading.Thread(target=_connect, args=(port, held, n, text))
    attack.start()
    longest, end = 0.0, time.perf_counter() + seconds
    while time.perf_counter() < end or attack.is_alive():
        longest = max(longest, _step(port))
        time.sleep(0.1)
    attack.join()
    return longest


def _connect(port: int, held: list[socket.socket], n: int, text: bytes) -> None:
    """Open connections, and send the text on each as far as the server takes it."""
    left = {}
    for _ in range(n):
        with suppress(OSError):
            each = socket.create_connection(("127.0.0.1", port), timeout=5)
            each.setblocking(False)
            held.append(each)
            left[each] = memoryview(text)
    for _ in range(20):  # what did not fit at first
        for each, rest in list(left.items()):
            try:
                left[each] = rest[each.send(rest) :]
            except BlockingIOError:
                continue
            except OSError:
                del left[each]
        time.sleep(0.05)


def _step(port: int) -> float:
    """The seconds of a step on a connection of its own; inf where it failed."""
    began = time.perf_counter()
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        client.request("POST", "/api/step", b"{}", headers)
        status = client.getresponse().status
    except (OSError, http.client.HTTPException):
        status = 0
    finally:
        client.close()
    return time.perf_counter() - began if status == 200 else float("inf")


def main() -> int:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from support.clinic import clinic_model

    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--unread", type=int, default=505)
    options.add_argument("--idle", type=int, default=600)
    options.add_argument("--seconds", type=float, default=15.0, help="of each part")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "clinic.safetensors"
        clinic_model().save(model)
        seen = flood(model, given.unread, given.idle, given.seconds)
    for part, took in seen.longest.items():
        print(f"longest step, {part}: {took:.2f} s")
    print(f"unread connections that stay open: {seen.still_open} of {FEW}")
    print(f"Ctrl-C: {seen.to_end:.2f} s")
    for finding in seen.findings():
        print("FINDING", finding)
    return bool(seen.findings())


if __name__ == "__main__":
    sys.exit(main())
