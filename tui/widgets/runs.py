"""The latest runs, or imports, a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from tui import marks
from tui.marks import Glyphs
from tui.widgets.panel import Line, View, cell, clean, section
from tui.widgets.suite import ago

if TYPE_CHECKING:
    from appliance.history.pages import RunSummary
    from appliance.history.queries import ImportRecord
    from tui.sources.overview import Lookback

_NUMBER_CELLS, _SUITE_CELLS, _STATE_CELLS, _AGO_CELLS = 6, 14, 11, 13


def run_lines(lookback: Lookback | None, view: View, width: int, *, note: str = "") -> list[Line]:
    """A heading and the latest runs, latest first; of a history without any, its imports. Nothing
    if there is neither, and nothing to be said of it in ``note``.
    """
    runs = () if lookback is None else lookback.runs
    imports = () if lookback is None else lookback.imports
    if not (note or runs or imports):
        return []
    words = Content.styled(note or "5 shows all", marks.MUTED)
    if imports and not runs:
        heading = section("IMPORTS", words, width, view.glyphs)
        return [heading, *(_import(one, view, width) for one in imports)]
    heading = section("LAST RUNS", words, width, view.glyphs)
    return [heading, *(_line(one, view, width) for one in runs)]


def _import(one: ImportRecord, view: View, width: int) -> Line:
    glyphs = view.glyphs
    style = marks.MUTED if one.valid == one.reports else marks.WARN
    words = f"{one.valid} of {one.reports} reports valid"
    name = max(_SUITE_CELLS, width - _NUMBER_CELLS - _AGO_CELLS - len(words) - 4)
    return Content.assemble(
        (cell(str(one.id), _NUMBER_CELLS, glyphs, right=True), marks.MUTED),
        f" {cell(clean(one.file), name, glyphs)} ",
        (f"{cell(ago(view.wall - one.at), _AGO_CELLS, glyphs)} ", marks.MUTED),
        (words, style),
    )


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
