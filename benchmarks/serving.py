"""The page under load: 100 people at once, on loopback, with the client in another process than the server.

First each person answers a question every second, for 20 seconds: 95 % of the steps must take less than 50 ms, and
none may fail. Then each answers at once, for 20 seconds: none may fail. A step is a form that is sent, the redirect and
the page after it. Prints the figures, beside the time of one step of the model alone; exits with status 1 if a limit is
exceeded.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
from sklearn.datasets import load_breast_cancer

from agents import LatticeClassifier

PEOPLE, SECONDS, PAUSE = 100, 20.0, 1.0
MOST_MILLISECONDS = 50.0  # of 95 % of the steps with a pause between them
TOKEN = "a-token-of-the-benchmark"
FIELD = re.compile(r'name="(value\d+)".*?a number from (\S+) to (\S+?)[<\s]', re.DOTALL)
HIDDEN = re.compile(r'type="hidden" name="(\w+)" value="([^"]*)"')


class Person:
    """One connection to the server, kept open, and one case after the other on it."""

    def __init__(self, port: int, cookie: str, number: int) -> None:
        self.port, self.cookie, self.draw = port, cookie, np.random.default_rng(number)
        self.times: list[float] = []
        self.errors = 0

    async def connect(self) -> None:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)

    async def request(self, method: str, path: str, fields: dict[str, str] | None = None) -> tuple[int, str, str]:
        """Status, place of a redirect and text of a reply."""
        body = urlencode(fields or {}).encode()
        kind = "Content-Type: application/x-www-form-urlencoded\r\n" if body else ""
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nCookie: {self.cookie}\r\n{kind}"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self.writer.write(head.encode() + body)
        headers = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        length = re.search(r"content-length: (\d+)", headers)
        text = (await self.reader.readexactly(int(length[1]))).decode() if length else ""
        location = re.search(r"location: (\S+)", headers)
        return int(headers.split()[1]), location[1] if location else "", text

    async def step(self, page: str) -> str:
        """Answer the question of a page, or begin another case; returns the next page."""
        fields = dict(HIDDEN.findall(page.partition("</form>")[0]))
        asked = FIELD.search(page.partition("</form>")[0]) if 'action="/case/' in page else None
        if asked is None:
            path, fields = "/case", {"proof": fields["proof"]}
        else:
            low, high = float(asked[2]), float(asked[3])
            path = re.search(r'action="(/case/[^"]+/answer)"', page)[1]  # type: ignore[index]
            fields |= {asked[1]: f"{self.draw.uniform(low, high):.3g}", f"accept{asked[1][5:]}": "1"}
        began = time.perf_counter()
        status, location, _ = await self.request("POST", path, fields)
        if status == 303:
            status, _, page = await self.request("GET", location)
        self.times.append(1e3 * (time.perf_counter() - began))
        self.errors += status != 200
        return page

    async def work(self, seconds: float, pause: float) -> None:
        await asyncio.sleep(pause * self.draw.random())
        end = time.perf_counter() + seconds
        _, _, page = await self.request("GET", "/")
        while time.perf_counter() < end:
            page = await self.step(page)
            await asyncio.sleep(pause)


async def load(port: int, cookie: str, pause: float) -> tuple[np.ndarray, int]:
    """Milliseconds of all steps of all people, and the number of steps that failed."""
    people = [Person(port, cookie, k) for k in range(PEOPLE)]
    for person in people:
        await person.connect()
    done = await asyncio.gather(*(person.work(SECONDS, pause) for person in people), return_exceptions=True)
    broken = [error for error in done if isinstance(error, BaseException)]
    for error in broken[:3]:
        print(f"a connection broke: {error!r}")
    for person in people:
        person.writer.close()
    return np.concatenate([person.times for person in people]), sum(p.errors for p in people) + len(broken)


async def sign_in(port: int) -> str:
    """The cookie for the token."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET /start?token={TOKEN} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    headers = (await reader.readuntil(b"\r\n\r\n")).decode()
    writer.close()
    return re.search(r"set-cookie: ([^;]+)", headers)[1]  # type: ignore[index]


def write_model(path: Path) -> float:
    """Fit and save a model; returns the milliseconds of one of its steps."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the model is small on purpose
        model = LatticeClassifier(lam=0.003, effort=0.1, random_state=0).fit(X, y)
    model.save(path)
    model.step({})
    began = time.perf_counter()
    for value in X["worst area"][:200]:
        model.step({"worst area": value})
    return 1e3 * (time.perf_counter() - began) / 200


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.fsgym"
        alone = write_model(path)
        print(f"a step of the model alone: {alone:.2f} ms")
        command = [sys.executable, "-m", "fsgym", "serve", str(path), "--port", "0"]
        environment = os.environ | {"FSGYM_TOKEN": TOKEN}
        with (Path(folder) / "log").open("w") as log:
            server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
            try:
                port = int(re.search(r":(\d+)/", server.stdout.readline())[1])  # type: ignore[index, union-attr]
                cookie = asyncio.run(sign_in(port))
                failed = 0
                for pause, words in ((PAUSE, "a second between steps"), (0.0, "no pause")):
                    times, errors = asyncio.run(load(port, cookie, pause))
                    p50, p95 = np.quantile(times, [0.5, 0.95])
                    slow = pause > 0 and p95 > MOST_MILLISECONDS
                    failed += bool(errors) + slow
                    print(
                        f"{PEOPLE} people, {words}: {len(times)} steps, {len(times) / SECONDS:.0f} per second, median "
                        f"{p50:.1f} ms, 95 % below {p95:.1f} ms ({p95 / alone:.0f} steps of the model), longest "
                        f"{times.max():.0f} ms, {errors} errors"
                    )
            finally:
                server.terminate()
                server.wait()
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
