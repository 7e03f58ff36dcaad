"""Screens compared with pictures that somebody has looked at: the SVGs in ``pictures/``.

``STRIPEWRIGHT_DRAW=1`` draws them anew; look at every one that has changed before it is kept.
"""

from __future__ import annotations

import difflib
import itertools
import os
import re
import tempfile
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from tui.app import StripewrightApp

_KEPT = Path(__file__).parent / "pictures"
_LOOKS = 20


async def assert_looks_as_kept(app: StripewrightApp, pilot: Pilot[Any], name: str) -> None:
    """Compare what ``app`` shows with the kept picture ``name``; it may have to draw first."""
    kept = _KEPT / f"{name}.svg"
    if os.environ.get("STRIPEWRIGHT_DRAW"):
        kept.parent.mkdir(exist_ok=True)
        for _ in range(_LOOKS):
            await pilot.pause()
        kept.write_text(app.export_screenshot(title=name), encoding="utf-8")
        return
    wanted = kept.read_text(encoding="utf-8") if kept.exists() else ""
    for _ in range(_LOOKS):
        drawn = app.export_screenshot(title=name)
        if drawn == wanted:
            return
        await pilot.pause()
    with tempfile.NamedTemporaryFile(
        "w", prefix=f"{name}-", suffix=".svg", delete=False, encoding="utf-8"
    ) as other:
        other.write(drawn)
    difference = _difference(wanted, drawn)
    raise AssertionError(f"{name} does not look as {kept}: see {other.name}\n{difference}")


def _difference(before: str, drawn: str) -> str:
    """The first lines that differ, without what styles them."""
    lines = difflib.unified_diff(_words(before), _words(drawn), "kept", "drawn", lineterm="", n=0)
    return "\n".join(itertools.islice(lines, 40))


def _words(picture: str) -> list[str]:
    return [re.sub(r"<[^>]*>", "", line).strip() or line for line in picture.splitlines()]
