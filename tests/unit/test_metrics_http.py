"""One HTTP request on a socket: what is answered, and what a hostile one can do."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from appliance.cli import main, metrics_http
from appliance.errors import OperatorError

_TEXT = "# TYPE a gauge\na 1\n# EOF\n"
_PROMETHEUS = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.settimeout(5)
        yield ours, theirs


def ask(ends: tuple[socket.socket, socket.socket], request: bytes) -> bytes:
    ours, theirs = ends
    theirs.sendall(request)
    theirs.shutdown(socket.SHUT_WR)
    metrics_http.serve(ours, lambda: _TEXT)
    ours.close()
    got = b""
    while more := theirs.recv(65536):
        got += more
    return got


def get(line: str, *fields: str) -> bytes:
    return "\r\n".join([line, *fields, "", ""]).encode("latin-1")


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        (None, "text/plain; version=0.0.4"),
        ("*/*", "text/plain; version=0.0.4"),
        (_PROMETHEUS, "application/openmetrics-text; version=1.0.0"),
        ("Application/OpenMetrics-Text", "application/openmetrics-text; version=1.0.0"),
        ("application/openmetrics-text; version=0.0.1", "text/plain; version=0.0.4"),
        ("application/openmetrics-text;version=1.0.0;q=0.0", "text/plain; version=0.0.4"),
        (";;;,=,;q=", "text/plain; version=0.0.4"),
    ],
)
def test_the_form_is_the_one_that_is_accepted(ends, accept, kind):
    fields = ["Host: x", *([] if accept is None else [f"ACCEPT: {accept}"])]
    head, _, body = ask(ends, get("GET /metrics HTTP/1.1", *fields)).partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "HTTP/1.1 200 OK"
    assert f"Content-Type: {kind}; charset=utf-8" in lines
    assert f"Content-Length: {len(_TEXT)}" in lines
    assert "Connection: close" in lines
    assert body.decode() == _TEXT


def test_head_is_get_without_the_text(ends):
    head, _, body = ask(ends, get("HEAD /metrics?a=b HTTP/1.0")).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK")
    assert f"Content-Length: {len(_TEXT)}".encode() in head
    assert body == b""


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (get("GET / HTTP/1.1"), 404),
        (get("GET /metrics/ HTTP/1.1"), 404),
        (get("GET /metrics/../../etc/passwd HTTP/1.1"), 404),
        (get("GET http://x/metrics HTTP/1.1"), 404),
        (get("OPTIONS * HTTP/1.1"), 404),
        (get("POST /metrics HTTP/1.1", "Content-Length: 3") + b"abc", 405),
        (get("DELETE /metrics HTTP/1.1"), 405),
        (get("get /metrics HTTP/1.1"), 400),
        (get("GET /metrics HTTP/2.0"), 400),
        (get("GET /metrics"), 400),
        (get("GET  /metrics HTTP/1.1"), 400),
        (get("GET /\xffmetrics HTTP/1.1"), 400),
        (get("GET /\x1b[2J HTTP/1.1"), 400),
        (b"\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00" + bytes(range(128, 192)) + b"\r\n\r\n", 400),
        (get("GET /metrics HTTP/1.1", *["A: " + "b" * 100] * 200), 431),
        (b"x" * 100_000, 431),
    ],
)
def test_everything_else_gets_a_status_and_no_more(ends, capsys, request_, status):
    said = ask(ends, request_)
    assert said.startswith(f"HTTP/1.1 {status} ".encode())
    assert len(said) < 300
    assert (b"\r\nAllow: GET, HEAD\r\n" in said) is (status == 405)
    assert capsys.readouterr() == ("", "")


def test_who_asks_and_goes_leaves_no_word(ends, capsys):
    assert ask(ends, b"GET /met") == b""
    assert capsys.readouterr() == ("", "")


def test_who_sends_slowly_is_cut_off_in_time(ends, monkeypatch):
    monkeypatch.setattr(metrics_http, "_REQUEST_SECONDS", 0.3)
    ours, theirs = ends

    def drip() -> None:
        for byte in get("GET /metrics HTTP/1.1", "A: b" * 50):
            try:
                theirs.send(bytes([byte]))
            except OSError:
                return
            time.sleep(0.02)

    thread = threading.Thread(target=drip)
    thread.start()
    began = time.monotonic()
    metrics_http.serve(ours, lambda: _TEXT)
    assert time.monotonic() - began < 2
    ours.close()
    assert theirs.recv(4096).startswith(b"HTTP/1.1 408 ")
    thread.join()


def test_who_never_reads_is_left(ends, monkeypatch):
    monkeypatch.setattr(metrics_http, "_ANSWER_SECONDS", 0.2)
    ours, theirs = ends
    theirs.sendall(get("GET /metrics HTTP/1.1"))
    began = time.monotonic()
    metrics_http.serve(ours, lambda: "a 1\n" * 4_000_000)
    assert time.monotonic() - began < 2


def test_a_history_that_cannot_be_read_is_503_with_the_reason():
    def broken() -> str:
        raise OperatorError("history \x1b[2J is damaged", "do this")

    said = metrics_http.respond("GET /metrics HTTP/1.1", broken)
    assert said.startswith(b"HTTP/1.1 503 ")
    assert said.endswith(b"\r\n\r\nhistory \\x1b[2J is damaged\ndo this\n")


def test_on_a_terminal_it_says_who_runs_it(capsys, tmp_path, monkeypatch):
    file = (tmp_path / "file").open("w+")
    monkeypatch.setattr(metrics_http.os, "dup", lambda _: file.fileno())
    assert main.main(["metrics-http"]) == 2
    assert "stripewright-metrics.socket" in capsys.readouterr().err
