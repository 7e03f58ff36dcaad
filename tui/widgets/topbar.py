"""The first line of every screen: which machine, which screen, how fresh."""

from __future__ import annotations

from textual.content import Content

from appliance.text import moment
from tui import marks
from tui.widgets.panel import Line, View, age, cell, clean


def topbar_lines(view: View, width: int, *, screen: str) -> list[Line]:
    """Product and machine at the left; screen, clock (UTC) and freshness at the right."""
    glyphs = view.glyphs
    machine = (
        None
        if view.snapshot is None or view.snapshot.status is None
        else (view.snapshot.status.machine)
    )
    kind = "" if machine is None else clean(machine.machine_type)
    where = f" {glyphs.dot} ".join(part for part in (clean(view.host), kind) if part)
    right = Content.assemble(
        (screen, "bold"), "  ", (moment(view.wall)[11:], marks.MUTED), "  ", _freshness(view)
    )
    room = max(0, width - len("stripewright") - right.cell_length - 3)
    return [
        Content.assemble(
            ("stripewright", "bold"), "  ", (cell(where, room, glyphs), marks.MUTED), " ", right
        )
    ]


def _freshness(view: View) -> Content:
    glyphs = view.glyphs
    if view.snapshot is None:
        return Content.styled(f"{glyphs.busy} reading", marks.BUSY)
    if view.live_is_stale or view.status_is_stale or view.silence:
        oldest = max(view.live_age or 0.0, view.status_age or 0.0, view.silence)
        return Content.styled(f"{glyphs.warn} {age(oldest)}", f"bold {marks.WARN}")
    if view.snapshot.status_problem or view.snapshot.live_problem:
        return Content.styled(f"{glyphs.warn} feed", marks.WARN)
    return Content.styled(f"{glyphs.good} live", marks.GOOD)
