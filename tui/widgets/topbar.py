"""The first two lines of every screen: which machine and how fresh; which screens there are."""

from __future__ import annotations

from textual.content import Content

from appliance.text import moment
from tui import marks
from tui.tabs import FLEET, TABS, Tab
from tui.widgets.panel import Line, View, age, cell, clean

_GAP = "  "


def topbar_lines(view: View, width: int, *, screen: str) -> list[Line]:
    """Product, machine, clock (UTC) and freshness; below them the screens with what is on."""
    glyphs = view.glyphs
    status = view.status
    machine = None if status is None else status.machine
    kind = "" if machine is None else clean(machine.machine_type)
    host = view.host
    if view.history:
        # Of the machine that the history is of, not of this one.
        host = "" if status is None else status.summary
    if view.fleet:
        host = view.fleet
    where = f" {glyphs.dot} ".join(part for part in (clean(host), kind) if part)
    right = Content.assemble((moment(view.wall)[11:], marks.MUTED), _GAP, _freshness(view))
    tabs = (FLEET,) if view.fleet else TABS
    room = max(0, width - len("stripewright") - right.cell_length - 3)
    return [
        Content.assemble(
            ("stripewright", "bold"), _GAP, (cell(where, room, glyphs), marks.MUTED), " ", right
        ),
        Content(_GAP).join([_tab(tab, view, here=tab.name == screen) for tab in tabs]),
    ]


def _tab(tab: Tab, view: View, *, here: bool) -> Content:
    name_style = f"bold underline {marks.TITLE}" if here else ""
    key = ((tab.key, marks.MUTED), " ") if tab.key else ()
    return Content.assemble(*key, (tab.name, name_style), _flag(tab.mode, view))


def _flag(mode: str, view: View) -> Content:
    """A mark behind the name of a screen on which there is something to see."""
    snapshot, status, glyphs = view.snapshot, view.status, view.glyphs
    if snapshot is None or status is None:
        return Content("")
    if mode == "suites" and (snapshot.running is not None or snapshot.starting):
        return Content.styled(f" {glyphs.pointer}", marks.BUSY)
    if mode == "layout" and snapshot.applying is not None:
        return Content.styled(f" {glyphs.pointer}", marks.BUSY)
    if mode == "drift" and status.drift is not None and status.drift.severity is not None:
        mark = marks.drift(status.drift, glyphs)
        return Content.styled(f" {mark.glyph}", mark.style)
    return Content("")


def _freshness(view: View) -> Content:
    glyphs = view.glyphs
    if view.fleet:
        # How old it is stands with what was read.
        mark = marks.fleet(glyphs)
        return Content.styled(mark.text, mark.style)
    if view.snapshot is None:
        return Content.styled(f"{glyphs.busy} reading", marks.BUSY)
    if view.live_is_stale or view.status_is_stale or view.silence:
        oldest = max(view.live_age or 0.0, view.status_age or 0.0, view.silence)
        return Content.styled(f"{glyphs.warn} {age(oldest)}", f"bold {marks.WARN}")
    if view.snapshot.status_problem or view.snapshot.live_problem:
        return Content.styled(f"{glyphs.warn} feed", marks.WARN)
    if view.history:
        mark = marks.history(glyphs)
        return Content.styled(mark.text, mark.style)
    return Content.styled(f"{glyphs.good} live", marks.GOOD)
