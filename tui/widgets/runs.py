"""The latest runs, a line each: what the overview has where there is room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from tui import marks
from tui.marks import Glyphs
from tui.widgets.panel import Line, View, cell, clean, section
from tui.widgets.suite import ago

if TYPE_CHECKING:
    from appliance.history.pages import RunSummary

_NUMBER_CELLS, _SUITE_CELLS, _STATE_CELLS, _AGO_CELLS = 6, 14, 11, 13


def run_lines(
    runs: Sequence[RunSummary], view: View, width: int, rows: int, *, note: str = ""
) -> list[Line]:
    """A heading and the latest of ``runs`` (latest first) in at most ``rows`` lines."""
    if rows < 1:
        return []
    words = note or ("press 5 for all" if runs else "none yet")
    heading = section("LAST RUNS", Content.styled(words, marks.MUTED), width, view.glyphs)
    return [heading, *(_line(one, view, width) for one in runs[: rows - 1])]


def _line(one: RunSummary, view: View, width: int) -> Line:
    glyphs, run = view.glyphs, one.run
    state = marks.run_state(run.state, glyphs)
    ended = run.ended_at if run.ended_at is not None else run.started_at
    words, style = _verdicts(one, glyphs)
    room = max(0, width - _NUMBER_CELLS - _SUITE_CELLS - _STATE_CELLS - _AGO_CELLS - 4)
    return Content.assemble(
        (cell(str(run.id), _NUMBER_CELLS, glyphs, right=True), marks.MUTED),
        " ",
        cell(clean(run.suite), _SUITE_CELLS, glyphs),
        " ",
        (cell(state.text, _STATE_CELLS, glyphs), state.style),
        " ",
        (cell(ago(view.wall - ended), _AGO_CELLS, glyphs), marks.MUTED),
        " ",
        (cell(words, room, glyphs), style),
    )


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
