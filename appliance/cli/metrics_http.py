"""``metrics-http``: answers one HTTP request for metrics on the socket that systemd gives as stdin.

A client may send anything, for as long as it likes: a request is bounded in bytes and in seconds,
and what is not ``GET /metrics`` gets a status and no more.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from appliance import paths
from appliance.cli.command import Command
from appliance.errors import EXIT_OK, OperatorError, UsageError
from appliance.text import printable

if TYPE_CHECKING:
    from socket import socket

_MAX_REQUEST_BYTES = 8192
_REQUEST_SECONDS = 5.0
# The answer may be hundreds of kilobytes, on a slow line.
_ANSWER_SECONDS = 10.0
_GOODBYE_SECONDS = 1.0
_REQUEST_LINE = re.compile(r"([A-Z]{1,20}) ([!-~]{1,2000}) HTTP/1\.[01]", re.ASCII)
_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_REASONS = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable",
}


class _Refused(Exception):
    """A request that gets this status."""

    def __init__(self, status: int, method: str = "") -> None:
        self.status = status
        self.method = method


def metrics_http() -> int:
    import socket

    try:
        connection = socket.socket(fileno=os.dup(0))
    except OSError as error:
        raise UsageError(
            "metrics-http answers on a socket, and stdin is not one",
            "stripewright-metrics.socket runs it; for a terminal: stripewright export metrics",
        ) from error
    with connection:
        serve(connection, _exposition)
    return EXIT_OK


def _exposition() -> str:
    from appliance.client import monitoring
    from appliance.history import queries

    with queries.open_readonly(paths.HISTORY_DB) as reader:
        return monitoring.exposition(reader)


def serve(connection: socket, exposition: Callable[[], str]) -> None:
    """Read a request, answer it, hang up."""
    import socket

    # The client may be gone, or never read.
    with contextlib.suppress(OSError):
        try:
            answer = respond(_read_head(connection), exposition)
        except _Refused as refused:
            answer = _response(refused.status, method=refused.method)
        connection.settimeout(_ANSWER_SECONDS)
        connection.sendall(answer)
        # Closed with bytes unread, the kernel would reset the connection and the answer be lost.
        connection.shutdown(socket.SHUT_WR)
        deadline = time.monotonic() + _GOODBYE_SECONDS
        while _receive(connection, deadline):
            pass


def _read_head(connection: socket) -> str:
    """The request up to its empty line."""
    deadline = time.monotonic() + _REQUEST_SECONDS
    got = b""
    while b"\r\n\r\n" not in got:
        if len(got) >= _MAX_REQUEST_BYTES:
            raise _Refused(431)
        try:
            more = _receive(connection, deadline)
        except TimeoutError as error:
            raise _Refused(408) from error
        if not more:
            raise ConnectionError
        got += more
    return got.partition(b"\r\n\r\n")[0].decode("latin-1")


def _receive(connection: socket, deadline: float) -> bytes:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    connection.settimeout(left)
    return connection.recv(_MAX_REQUEST_BYTES)


def respond(head: str, exposition: Callable[[], str]) -> bytes:
    """The answer to a request of which ``head`` is the request line and the header."""
    line, *fields = head.split("\r\n")
    request = _REQUEST_LINE.fullmatch(line)
    if request is None:
        raise _Refused(400)
    method, target = request.groups()
    if target.partition("?")[0] != "/metrics":
        raise _Refused(404, method)
    if method not in {"GET", "HEAD"}:
        raise _Refused(405)
    try:
        body = exposition()
    except OperatorError as error:
        words = f"{printable(error.message)}\n{printable(error.hint)}\n"
        return _response(503, words, method=method)
    return _response(200, body, _content_type(fields), method)


def _content_type(fields: Sequence[str]) -> str:
    """OpenMetrics if it is accepted, else the form that every Prometheus reads."""
    accepted = (
        value
        for name, _, values in (field.partition(":") for field in fields)
        if name.lower() == "accept"
        for value in values.lower().split(",")
    )
    for one in accepted:
        media, *parameters = (part.strip() for part in one.split(";"))
        refused = any(re.fullmatch(r"q=0(\.0*)?", each) for each in parameters)
        versions = {each for each in parameters if each.startswith("version=")}
        if (
            media == "application/openmetrics-text"
            and versions <= {"version=1.0.0"}
            and not refused
        ):
            return _OPEN_METRICS
    return _TEXT


def _response(status: int, words: str = "", content: str = "", method: str = "") -> bytes:
    body = (words or f"{_REASONS[status]}\n").encode(errors="backslashreplace")
    head = [
        f"HTTP/1.1 {status} {_REASONS[status]}",
        time.strftime("Date: %a, %d %b %Y %H:%M:%S GMT", time.gmtime()),
        f"Content-Type: {content or 'text/plain; charset=utf-8'}",
        f"Content-Length: {len(body)}",
        *(["Allow: GET, HEAD"] if status == 405 else []),
        "Connection: close",
        "",
        "",
    ]
    return "\r\n".join(head).encode() + (b"" if method == "HEAD" else body)


COMMANDS = (Command("metrics-http", metrics_http),)
