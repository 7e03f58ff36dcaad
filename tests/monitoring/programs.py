"""Prometheus, Alertmanager and the node exporter: on loopback, free ports, ended by their pid."""

from __future__ import annotations

import http.server
import json
import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from appliance import data

TREE = Path(__file__).parents[2]
RULES = Path(data.__file__).parent / "stripewright.rules.yml"
ALERTMANAGER = TREE / "docs/monitoring/alertmanager.yml"
PROGRAMS = (
    "prometheus", "promtool", "prometheus-alertmanager", "amtool", "prometheus-node-exporter",
)  # fmt: skip
MISSING = [name for name in PROGRAMS if shutil.which(name) is None]
needs_programs = pytest.mark.skipif(
    bool(MISSING), reason=f"not installed: {', '.join(MISSING)}; make monitoring installs them"
)


def checked(*argv: str | Path, text: str = "") -> str:
    """What a checking program says; it must have no complaint."""
    ran = subprocess.run(
        argv, input=text, capture_output=True, text=True, timeout=60, check=False
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(argv: Sequence[str | Path], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as file:
        process = subprocess.Popen(argv, stdout=file, stderr=file, cwd=TREE)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def within(seconds: float, lacking: Callable[[], object]) -> None:
    """Wait until nothing is lacking."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            found = lacking()
        except OSError as error:
            found = error
        if not found:
            return
        assert time.monotonic() < deadline, f"after {seconds} s: {found}"
        time.sleep(0.3)


def ask(url: str, **parameters: str) -> Any:
    whole = f"{url}?{urlencode(parameters)}" if parameters else url
    with urllib.request.urlopen(whole, timeout=10) as answer:  # noqa: S310 - http
        return json.load(answer)


def hurried(text: str) -> str:
    """Rules or routes whose waits are seconds: they would be hours."""
    text = re.sub(r"( for): \S+", r"\1: 0s", text)
    return re.sub(r"(group_wait|group_interval): \S+", r"\1: 1s", text)


class Receivers(http.server.ThreadingHTTPServer):
    """Gets what Alertmanager sends: by receiver, the names of alerts that fired and that ended."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Receiver)
        self.got: dict[tuple[str, str], set[str]] = defaultdict(set)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class _Receiver(http.server.BaseHTTPRequestHandler):
    server: Receivers

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        for alert in sent["alerts"]:
            key = (self.path.strip("/"), alert["status"])
            self.server.got[key].add(alert["labels"]["alertname"])
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class Peers(http.server.ThreadingHTTPServer):
    """Machines of the fleet that only ever say ``text``."""

    def __init__(self, text: str) -> None:
        super().__init__(("127.0.0.1", 0), _Peer)
        self.text = text
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Peer(http.server.BaseHTTPRequestHandler):
    server: Peers

    def do_GET(self) -> None:
        body = self.server.text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass
