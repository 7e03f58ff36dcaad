"""Writes the pictures and text captures of the documentation, from example data.

Run by hand from the top of the repository: ``python -m tests.tui.capture``.
"""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

from tests.tui.fakes import REFUSED_STATUS, Stage, running_snapshot, screen_text, snapshot, stage
from tui.snapshot import Snapshot

PICTURES = Path("docs/images")
TEXTS = Path("docs/screens")
SCENES: dict[str, tuple[Snapshot, tuple[str, ...]]] = {
    "overview": (snapshot(), ()),
    "running": (running_snapshot(), ()),
    "refused": (snapshot(REFUSED_STATUS, live=(), trend=()), ()),
    "disks": (snapshot(), ("2", "down", "down")),
    "disk-detail": (snapshot(), ("2", *["down"] * 5, "enter")),
    "start": (snapshot(), ("s",)),
    "cancel": (running_snapshot(), ("x",)),
    "results": (snapshot(), ("r",)),
    "help": (snapshot(), ("question_mark",)),
}


async def shown(scene: str, size: tuple[int, int]) -> tuple[str, str]:
    """Text and SVG of ``scene`` on a terminal of ``size``."""
    first, keys = SCENES[scene]
    acted: Stage = stage(first)
    async with acted.app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.pause()
        if keys:
            await pilot.press(*keys)
        await pilot.pause()
        title = f"stripewright: {scene} (example data)"
        return screen_text(acted.app), acted.app.export_screenshot(title=title)


def main() -> None:
    """Write every scene at 80x24 as text, and the overview as a picture."""
    TEXTS.mkdir(parents=True, exist_ok=True)
    PICTURES.mkdir(parents=True, exist_ok=True)
    for scene in SCENES:
        text, _ = asyncio.run(shown(scene, (80, 24)))
        (TEXTS / f"{scene}.txt").write_text(text + "\n", encoding="utf-8")
    _, picture = asyncio.run(shown("running", (110, 32)))
    # Without the web fonts that Textual names: a picture in the documentation loads nothing.
    picture = re.sub(r"@font-face\s*\{.*?\}", "", picture, flags=re.DOTALL)
    picture = picture.replace("font-family: Fira Code", "font-family: ui-monospace")
    (PICTURES / "overview.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    os.environ.pop("NO_COLOR", None)
    main()
