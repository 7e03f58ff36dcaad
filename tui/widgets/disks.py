"""Every disk in one line: what the overview shows while no volume is there."""

from __future__ import annotations

from textual.content import Content

from appliance.text import size
from tui import marks
from tui.details import disk_reason, disk_use
from tui.widgets.panel import ALL, Line, View, cell, clean, section

_USE_CELLS, _NAME_CELLS, _SIZE_CELLS = 9, 9, 9


def disk_lines(view: View, width: int, rows: int = ALL) -> list[Line]:
    """Use, name, size and reason of every disk, in at most ``rows`` lines."""
    glyphs = view.glyphs
    status = None if view.snapshot is None else view.snapshot.status
    if view.history:
        return []
    disks = () if status is None else status.disks
    words = "2 shows all" if disks else "none recorded by the boot unit"
    if status is None:
        words = "not read" if view.snapshot and view.snapshot.status_problem else "not read yet"
    lines = [section("DISKS", Content.styled(words, marks.MUTED), width, glyphs)]
    hidden = max(0, len(disks) - (rows - 1))
    if hidden:
        hidden += 1
    for disk in disks[: len(disks) - hidden]:
        mark = disk_use(disk, status, glyphs)
        name = clean(disk.path).removeprefix("/dev/")
        room = width - _USE_CELLS - _NAME_CELLS - _SIZE_CELLS - 3
        lines.append(
            Content.assemble(
                (cell(mark.text, _USE_CELLS, glyphs), mark.style),
                " ",
                cell(name, _NAME_CELLS, glyphs),
                " ",
                (cell(size(disk.size_bytes), _SIZE_CELLS, glyphs, right=True), marks.MUTED),
                " ",
                cell(clean(disk_reason(disk, status)), room, glyphs),
            )
        )
    if hidden:
        lines.append(Content.styled(f"{glyphs.ellipsis} {hidden} more", marks.MUTED))
    return lines
