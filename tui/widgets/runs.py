"""The latest runs, or imports, a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from tui import marks
from tui.marks import Glyphs
from tui.widgets.columns import Column, marked
from tui.widgets.columns import lines as table
from tui.widgets.panel import Line, View, clean, section
from tui.widgets.suite import ago

if TYPE_CHECKING:
    from appliance.history.pages import RunSummary
    from tui.sources.overview import Lookback


def run_lines(lookback: Lookback | None, view: View, width: int, *, note: str = "") -> list[Line]:
    """A heading and the latest runs, latest first; of a history without any, its imports. Nothing
    if there is neither, and nothing to be said of it in ``note``.
    """
    runs = () if lookback is None else lookback.runs
    imports = () if lookback is None else lookback.imports
    if not (note or runs or imports):
        return []
    words, glyphs = Content.styled(note or "5 shows all", marks.MUTED), view.glyphs
    title = "IMPORTS" if imports and not runs else "LAST RUNS"
    columns = _columns(view) if runs else _import_columns(view)
    shown = table(columns, runs or imports, width=width, glyphs=glyphs, gap=1, heading=False)
    return [section(title, words, width, glyphs), *shown]


def _columns(view: View) -> tuple[Column, ...]:
    glyphs = view.glyphs
    return (
        Column("", 6, right=True, get=lambda one: (str(one.run.id), marks.MUTED)),
        Column("", 14, get=lambda one: (one.run.suite, "")),
        Column("", 11, get=lambda one: marked(marks.run_state(one.run.state, glyphs))),
        Column("", 13, get=lambda one: (
            ago(view.wall - (one.run.ended_at or one.run.started_at)), marks.MUTED)),
        Column("", 1, grows=True, get=lambda one: _verdicts(one, glyphs)),
    )  # fmt: skip


def _import_columns(view: View) -> tuple[Column, ...]:
    return (
        Column("", 6, right=True, get=lambda one: (str(one.id), marks.MUTED)),
        Column("", 14, grows=True, get=lambda one: (one.file, "")),
        Column("", 13, get=lambda one: (ago(view.wall - one.at), marks.MUTED)),
        Column("", 24, get=lambda one: (
            f"{one.valid} of {one.reports} reports valid",
            marks.MUTED if one.valid == one.reports else marks.WARN)),
    )  # fmt: skip


def _verdicts(one: RunSummary, glyphs: Glyphs) -> tuple[str, str]:
    if one.run.reason:
        return clean(one.run.reason), marks.MUTED
    if not one.results:
        return "", ""
    words = f"{one.valid} of {one.results} valid"
    if not one.code:
        return words, marks.MUTED
    blocks = one.valid < one.results
    glyph = glyphs.bad if blocks else glyphs.warn
    return f"{words} {glyph} {clean(one.code)}", marks.BAD if blocks else marks.MUTED
