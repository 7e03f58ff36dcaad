"""Every disk in one line: what the overview shows while no volume is there."""

from __future__ import annotations

from textual.content import Content

from appliance.text import size
from tui import marks
from tui.details import disk_reason, disk_use
from tui.widgets.columns import Column, marked
from tui.widgets.columns import lines as table
from tui.widgets.panel import ALL, Line, View, section


def disk_lines(view: View, width: int, rows: int = ALL) -> list[Line]:
    """Use, name, size and reason of every disk, in at most ``rows`` lines."""
    status, glyphs = view.status, view.glyphs
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
    columns = (
        Column("", 9, get=lambda disk: marked(disk_use(disk, status, glyphs))),
        Column("", 9, get=lambda disk: (disk.path.removeprefix("/dev/"), "")),
        Column("", 9, right=True, get=lambda disk: (size(disk.size_bytes), marks.MUTED)),
        Column("", 9, grows=True, get=lambda disk: (disk_reason(disk, status), "")),
    )
    shown = disks[: len(disks) - hidden]
    lines += table(columns, shown, width=width, glyphs=glyphs, gap=1, heading=False)
    if hidden:
        lines.append(Content.styled(f"{glyphs.ellipsis} {hidden} more", marks.MUTED))
    return lines
