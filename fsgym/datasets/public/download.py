"""Downloads: whole or not at all, of bounded size, with one sentence where one fails."""

from __future__ import annotations

import gzip
import http.client
import io
import urllib.error
import urllib.request

from fsgym.data.reading.files import PACKING_ERRORS, first_line, most_unpacked

MAX_DOWNLOADED_BYTES = 100_000_000  # bytes; the largest download has 14 MB
WAIT_SECONDS = 30.0  # for a connection, and for each answer of a server
BY_HAND = "try again later, or download it yourself and name its folder with --from"


def download(address: str) -> bytes:
    """The content at an address.

    Raises
    ------
    OSError
        If the server cannot be reached or answers with an error, or if the content is empty, ends early or is too
        large.
    """
    request = urllib.request.Request(address, headers={"User-Agent": "fsgym"})
    try:
        with urllib.request.urlopen(request, timeout=WAIT_SECONDS) as response:
            expected = response.headers.get("Content-Length")
            content = response.read(MAX_DOWNLOADED_BYTES + 1)
    except urllib.error.HTTPError as error:
        error.close()
        raise OSError(f"{address} cannot be downloaded: HTTP status {error.code}; {BY_HAND}") from None
    except http.client.IncompleteRead as error:
        n = len(error.partial)
        whole = "its" if error.expected is None else f"{n + error.expected}"  # of one in chunks nobody knows
        raise OSError(f"the download from {address} ended after {n} of {whole} bytes; {BY_HAND}") from None
    except (OSError, http.client.HTTPException) as error:
        reason = first_line(getattr(error, "reason", None) or error)
        raise OSError(f"{address} cannot be downloaded: {reason}; check the network, or {BY_HAND}") from None
    if len(content) > MAX_DOWNLOADED_BYTES:
        raise OSError(f"{address} has more than {MAX_DOWNLOADED_BYTES // 10**6} MB, and is not the expected file")
    if expected is not None and expected.isdecimal() and len(content) != int(expected):
        raise OSError(f"the download from {address} ended after {len(content)} of {expected} bytes; {BY_HAND}")
    if not content:
        raise OSError(f"the download from {address} is empty; {BY_HAND}")
    return content


def unpacked(content: bytes) -> bytes:
    """The content, unpacked if it is gzip.

    Raises
    ------
    ValueError
        If it is damaged, or larger than a file of its size may be.
    """
    if not content.startswith(b"\x1f\x8b"):
        return content
    limit = most_unpacked(len(content))
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            plain = file.read(limit + 1)
    except PACKING_ERRORS as error:
        raise ValueError(f"it cannot be unpacked: {first_line(error)}") from None
    if len(plain) > limit:
        raise ValueError(f"it has more than {limit // 10**6} MB unpacked")
    return plain
