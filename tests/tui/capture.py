"""Writes what the documentation shows of the screens, from example data: ``make screens``.

Text of every screen at 80×24 into docs/screens, some pictures into docs/images, and captures
and keys into docs/tui.md. ``tests/tui/test_captures.py`` fails when they are not what this
gives now. With ``--pictures FOLDER``, every screen at 140×45 in each theme as SVG there instead,
to look at; with ``--tmux FOLDER``, as tmux shows it in 256 colours, to be looked at with ``cat``.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from textual.binding import Binding
from textual.pilot import Pilot

from tests.rig.terminal import Terminal
from tests.tui.fakes import Stage, screen_text
from tests.tui.scenes import WALKS, Step, Walk
from tui.app import StripewrightApp
from tui.help import described
from tui.screens.base import MainScreen
from tui.theme import THEMES

TOP = Path(__file__).resolve().parents[2]
GUIDE = TOP / "docs" / "tui.md"
TEXTS = TOP / "docs" / "screens"
PICTURES = TOP / "docs" / "images"
SIZE = (80, 24)
# Name of the picture, and of what is drawn; all of them larger than the text.
PICTURE_SIZE = (110, 32)
LARGE = (140, 45)
DRAWN = {"overview": "running", "layout": "layout-plan", "results": "results-trend"}
_PART = re.compile(
    r"(?P<begin><!-- (?P<what>capture|keys) (?P<name>[a-z-]+) -->\n).*?(?P<end><!-- end -->)",
    re.DOTALL,
)
# Keys that work on every main screen are told once.
_EVERYWHERE = frozenset(
    binding.id for binding in MainScreen.BINDINGS if isinstance(binding, Binding)
)


@dataclass(frozen=True, slots=True)
class Kept:
    """One scene: its text, its picture if that was asked for, and the keys that work there."""

    text: str
    picture: str
    keys: str


def key_rows(app: StripewrightApp, *, everywhere: bool) -> str:
    """The bindings of the present screen as the rows of a table."""
    rows = ["| key | name | what it does |", "|---|---|---|"]
    for entry in described(app.screen.active_bindings):
        binding = entry.binding
        if (binding.id in _EVERYWHERE or binding.id is None) is not everywhere:
            continue
        key = app.get_key_display(binding)
        rows.append(f"| `{key}` | {binding.description} | {binding.tooltip} |")
    return "\n".join(rows)


async def walked(
    walk: Walk, size: tuple[int, int] = SIZE, *, pictures: bool = False, theme: str = ""
) -> dict[str, Kept]:
    """Everything that ``walk`` names, on a terminal of ``size``."""
    acted, kept = walk.make(), {}
    acted.app.theme = theme or acted.app.theme
    # What is said of the present directory is the same wherever this runs.
    with contextlib.chdir("/"):
        await _walk(acted, walk.steps, kept, size, pictures=pictures)
    return kept


async def _walk(
    acted: Stage,
    steps: Sequence[Step],
    kept: dict[str, Kept],
    size: tuple[int, int],
    *,
    pictures: bool,
) -> None:
    async with acted.app.run_test(size=size) as pilot:
        async for name in _taken(acted, pilot, steps):
            title = f"stripewright: {name} (example data)"
            kept[name] = Kept(
                screen_text(acted.app) + "\n",
                _quiet(acted.app.export_screenshot(title=title)) if pictures else "",
                key_rows(acted.app, everywhere=name == "overview"),
            )


async def _taken(acted: Stage, pilot: Pilot[Any], steps: Sequence[Step]) -> AsyncIterator[str]:
    """Take ``steps``; the name of each that is to be kept, as soon as the screen shows it."""
    await pilot.pause()
    for step in steps:
        for key in step.keys.split():
            await pilot.press(key)
            await pilot.pause()
        for happen in step.happens:
            happen(acted)
            await pilot.pause()
        await _still(pilot)
        if step.name:
            yield step.name


async def _still(pilot: Pilot[Any]) -> None:
    """Wait until a repaint changes nothing any more."""
    before = ""
    while (text := screen_text(cast(StripewrightApp, pilot.app))) != before:
        before = text
        await pilot.pause()
        await pilot.pause()


def _quiet(picture: str) -> str:
    """Without the web fonts that Textual names: a picture in the documentation loads nothing."""
    picture = re.sub(r"@font-face\s*\{.*?\}", "", picture, flags=re.DOTALL)
    return picture.replace("font-family: Fira Code", "font-family: ui-monospace")


def drawn(name: str) -> str:
    """The picture called ``name``, as SVG."""
    scene = DRAWN[name]
    walk = next(one for one in WALKS if any(step.name == scene for step in one.steps))
    return asyncio.run(walked(walk, PICTURE_SIZE, pictures=True))[scene].picture


def filled(guide: str, kept: Mapping[str, Kept]) -> str:
    """``guide`` with its captures and tables of keys as they are in ``kept``, where they are."""

    def fill(part: re.Match[str]) -> str:
        scene = kept.get(part["name"])
        if scene is None:
            return part[0]
        text = scene.keys if part["what"] == "keys" else f"```\n{scene.text.rstrip()}\n```"
        return f"{part['begin']}{text}\n{part['end']}"

    return _PART.sub(fill, guide)


def asked_for(guide: str) -> frozenset[str]:
    """The scenes that ``guide`` shows."""
    return frozenset(part["name"] for part in _PART.finditer(guide))


def draw_all(folder: Path) -> None:
    """Every screen, large, in each theme."""
    folder.mkdir(parents=True, exist_ok=True)
    for theme, walk in itertools.product(THEMES, WALKS):
        kept = asyncio.run(walked(walk, LARGE, pictures=True, theme=theme.name))
        for name, scene in kept.items():
            (folder / f"{name}-{theme.name}.svg").write_text(scene.picture, encoding="utf-8")


def through_tmux(folder: Path, scene: str = "") -> None:
    """What tmux shows of every screen, or of those of the walk to ``scene``, with its colours."""
    folder.mkdir(parents=True, exist_ok=True)
    inside = shlex.join(
        [sys.executable, "-m", "tests.tui.capture", "--inside", scene, str(folder.resolve())]
    )
    # The status line would take one of the 24.
    script = f"tmux set status off; cd {TOP}; TERM=tmux-256color {inside} && echo captured; cat"
    with (
        tempfile.TemporaryDirectory() as home,
        Terminal(["sh", "-c", script], Path(home)) as terminal,
    ):
        terminal.wait_for("captured", deadline_seconds=300)


def _inside(scene: str, folder: Path) -> None:
    """Walk in this terminal, which is tmux's."""
    for walk in WALKS:
        if not scene or any(step.name == scene for step in walk.steps):
            acted = walk.make()
            with contextlib.chdir("/"):
                acted.app.run(auto_pilot=partial(_captured, acted, walk.steps, folder))


async def _captured(acted: Stage, steps: Sequence[Step], folder: Path, pilot: Pilot[Any]) -> None:
    async for name in _taken(acted, pilot, steps):
        before, shown = "", "-"
        while shown != before:
            await asyncio.sleep(0.2)
            before, shown = (
                shown,
                subprocess.check_output(["tmux", "capture-pane", "-ep"], text=True),
            )
        (folder / f"{name}.txt").write_text(shown, encoding="utf-8")
    acted.app.exit()


def main() -> None:
    """Write everything, or what is asked for."""
    os.environ.pop("NO_COLOR", None)
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pictures", type=Path)
    options.add_argument("--tmux", type=Path)
    options.add_argument("--inside", nargs=2, help=argparse.SUPPRESS)
    asked = options.parse_args()
    if asked.inside is not None:
        _inside(asked.inside[0], Path(asked.inside[1]))
    elif asked.tmux is not None:
        through_tmux(asked.tmux)
    elif asked.pictures is not None:
        draw_all(asked.pictures)
    else:
        _write_all()


def _write_all() -> None:
    TEXTS.mkdir(parents=True, exist_ok=True)
    PICTURES.mkdir(parents=True, exist_ok=True)
    kept: dict[str, Kept] = {}
    for walk in WALKS:
        kept |= asyncio.run(walked(walk))
    for name, scene in kept.items():
        (TEXTS / f"{name}.txt").write_text(scene.text, encoding="utf-8")
    for name in DRAWN:
        (PICTURES / f"{name}.svg").write_text(drawn(name), encoding="utf-8")
    GUIDE.write_text(filled(GUIDE.read_text(encoding="utf-8"), kept), encoding="utf-8")


if __name__ == "__main__":
    main()
