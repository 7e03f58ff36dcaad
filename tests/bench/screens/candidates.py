"""What is measured: the screens, and two programs of others that draw comparable ones."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.bench.screens.places import Places
from tests.rig.errors import RigError
from tui.tabs import TABS

_TOP = Path(__file__).parents[3]
_START = "from tests.bench.screens.subject import main; main()"


@dataclass(frozen=True, slots=True)
class Candidate:
    """``number`` is a pattern of the first live figure, empty if there is none. ``screens`` are
    names and the keys that show them, as far as there are several.
    """

    name: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    number: str = ""
    screens: tuple[tuple[str, str], ...] = (("", ""),)


def ours(places: Places, *, speed: float = 1.0) -> Candidate:
    """The screens over the machine in ``places``; ``speed`` makes all its clocks run faster."""
    return Candidate(
        "stripewright",
        (sys.executable, "-c", _START, str(places.folder), str(speed)),
        {
            **_environment(places.folder),
            "PYTHONPATH": str(_TOP),
            # Compiled as on the appliance, whatever the shell that measures says.
            "PYTHONPYCACHEPREFIX": str(places.folder / "compiled"),
        },
        number=r"(700\.\d|699\.9) µs",
        screens=tuple((tab.name, tab.key) for tab in TABS),
    )


def btop(places: Places) -> Candidate:
    """The Debian package, once a second as ours."""
    program = shutil.which("btop")
    if program is None:
        raise RigError("there is no btop", "install btop (make bench does)")
    configuration = places.folder / "config/btop"
    configuration.mkdir(parents=True, exist_ok=True)
    (configuration / "btop.conf").write_text("update_ms = 1000\n")
    environment = {**_environment(places.folder), "XDG_CONFIG_HOME": str(configuration.parent)}
    return Candidate("btop", (program, "--utf-force"), environment, number=r"\d ?%")


def harlequin(places: Places, program: Path) -> Candidate:
    """A Textual application of others, of the same release of Textual: an SQL editor, here with
    the same ten years.
    """
    return Candidate(
        "harlequin",
        (str(program), "--adapter", "sqlite", "--read-only", str(places.history)),
        _environment(places.folder),
    )


def _environment(home: Path) -> dict[str, str]:
    """What a person's terminal says; nothing of the environment of whoever measures."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LANG": "C.UTF-8",
    }
