"""A real terminal of 80×24: tmux on this host, driven and read by a test."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from tests.rig.errors import RigError

COLUMNS, LINES = 80, 24


class Terminal:
    """One tmux server with one window that runs ``argv``."""

    def __init__(self, argv: Sequence[str], folder: Path) -> None:
        self._socket = folder / f"tmux-{uuid.uuid4().hex[:8]}"
        # What a person's terminal says; nothing of the environment of whoever runs the test.
        self._environment = {
            "PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
        }  # fmt: skip
        self._tmux(
            "-f", "/dev/null", "new-session", "-d", "-x", str(COLUMNS), "-y", str(LINES),
            shlex.join(argv),
        )  # fmt: skip

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-u", "-S", str(self._socket), *arguments],
            env=self._environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise RigError(f"tmux {arguments[0]}: {done.stderr.strip()}", "has the program ended?")
        return done.stdout

    def keys(self, *names: str) -> None:
        """Press keys, by tmux's names (``2``, ``Enter``, ``Right``)."""
        self._tmux("send-keys", *names)

    def write(self, text: str) -> None:
        """Type ``text``, letter by letter."""
        self._tmux("send-keys", "-l", text)

    def text(self) -> str:
        """What the terminal shows now, as text."""
        return self._tmux("capture-pane", "-p")

    def wait_for(self, *wanted: str, without: str = "", deadline_seconds: float = 120) -> str:
        """Wait until everything in ``wanted`` is on the screen and ``without``, if it is not empty,
        is not; the screen's text.
        """
        began = time.monotonic()
        while True:
            text = self.text()
            if all(part in text for part in wanted) and not (without and without in text):
                return text
            if time.monotonic() - began > deadline_seconds:
                raise RigError(f"not on the screen: {wanted}", f"it shows:\n{text}")
            time.sleep(1)

    def close(self) -> None:
        subprocess.run(
            ["tmux", "-S", str(self._socket), "kill-server"],
            env=self._environment, capture_output=True, check=False,
        )  # fmt: skip

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
