"""The table of all runs and imports; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from appliance.history.pages import Order, RunSummary
from appliance.history.queries import ImportRecord
from appliance.model.layout_words import stripe_words
from appliance.model.runs import RunState
from appliance.text import bandwidth, count, duration, moment
from tui import marks
from tui.charts.strip import sparkline
from tui.marks import Glyphs, Mark
from tui.widgets.columns import Cell, marked
from tui.widgets.panel import Line, clean, nanoseconds, section, wrapped
from tui.widgets.table import Column, Row

if TYPE_CHECKING:
    from appliance.drift.series.run_figures import Change, RunFigures

_WIDE_CELLS, _WIDEST_CELLS = 130, 165
_FOOT_ROWS = 3
# A date without its year is of the last ten months.
_THIS_YEAR_SECONDS = 300 * 86_400.0
_SPARK_CELLS = 5, 12
# By the name of the column.
_Cells = dict[str, Cell]


def columns(width: int) -> tuple[Column, ...]:
    """The table's columns in ``width`` cells; their names are those of :class:`Order`."""
    wide = width >= _WIDE_CELLS
    return (
        Column(Order.RUN, 7),
        Column(Order.WHEN, 16 if wide else 11),
        Column(Order.SUITE, 8 if wide else 6),
        Column("workload", 26, sorts=False, wide=_WIDE_CELLS),
        Column(Order.FIGURE, 10 if wide else 9, right=True),
        Column(Order.P99, 9, right=True),
        Column(Order.CHANGE, 6, right=True),
        Column("trend", _SPARK_CELLS[wide], sorts=False),
        Column(Order.VERDICT, 12 if wide else 9, grows=width < _WIDEST_CELLS),
        Column(Order.LAYOUT, 8, wide=_WIDE_CELLS),
        Column(Order.TOOK, 11, right=True, wide=_WIDEST_CELLS),
        Column(Order.TARGET, 12, grows=True, wide=_WIDEST_CELLS),
    )


def table_rows(
    runs: Sequence[RunSummary],
    figures: Mapping[int, RunFigures],
    imports: Sequence[ImportRecord],
    stripes: Mapping[int, str],
    *,
    by_run: bool,
    more: bool,
    pinned: Sequence[str],
    width: int,
    now: float,
    glyphs: Glyphs,
) -> tuple[Row, ...]:
    """A row for each run and import. Keys are what can be compared: ``12``, ``import:3``;
    ``stripes`` are fingerprints' by epoch; ``by_run``: the latest is first, so that imports stand
    between runs, and ``more`` that there are older ones; ``now`` is seconds since the epoch.
    """
    made: list[Row] = []
    every = columns(width)

    def add(key: str, at: float, cells: _Cells) -> None:
        cells |= {Order.RUN: pin(key, pinned, glyphs), Order.WHEN: (_when(at, width, now), "")}
        nothing = ("-", marks.MUTED)
        made.append(Row(key, tuple(cells.get(column.name, nothing) for column in every)))

    waiting = list(imports)
    # Runs by number, which no clock moves; each import before the first run that is older.
    for one in runs:
        while by_run and waiting and waiting[0].at >= one.run.started_at:
            before = waiting.pop(0)
            add(f"import:{before.id}", before.at, _import_cells(before, glyphs))
        cells, found = _run_cells(one, stripes, glyphs), figures.get(one.run.id)
        if found is not None:
            cells |= _figure_cells(found, width, glyphs)
        add(str(one.run.id), one.run.started_at, cells)
    # What is older than all runs here is shown with those runs.
    for left in () if more else waiting:
        add(f"import:{left.id}", left.at, _import_cells(left, glyphs))
    return tuple(made)


def has_words(one: ImportRecord, words: Sequence[str]) -> bool:
    """Whether an import has each of ``words``, which are lower case."""
    text = f"imp import {one.id} {one.file} {one.machine_type} {moment(one.at)}".lower()
    return all(word in text for word in words)


def run_mark(one: RunSummary, glyphs: Glyphs) -> Mark:
    """The most severe verdict of a run; how it ended, if it is not complete."""
    if one.run.state is not RunState.COMPLETE:
        return marks.run_state(one.run.state, glyphs)
    if one.severity is not None:
        glyph, style = marks.severity(one.severity, glyphs)
        return Mark(glyph, clean(one.code), style)
    if not one.results:
        return Mark(glyphs.idle, "no results", marks.WARN)
    return Mark(glyphs.good, "valid", marks.GOOD)


def import_mark(one: ImportRecord, glyphs: Glyphs) -> Mark:
    """Whether all reports of an import are valid."""
    if not one.reports:
        return Mark(glyphs.idle, "no reports", marks.WARN)
    if one.valid == one.reports:
        return Mark(glyphs.good, "valid", marks.GOOD)
    return Mark(glyphs.bad, "not all", marks.BAD)


def pin(key: str, pinned: Sequence[str], glyphs: Glyphs) -> Cell:
    """The name of what has ``key``, with whether it is marked."""
    name = key.replace("import:", "imp ")
    if key in pinned:
        return f"{glyphs.marked} {name}", f"bold {marks.BUSY}"
    return f"  {name}", ""


def _run_cells(one: RunSummary, stripes: Mapping[int, str], glyphs: Glyphs) -> _Cells:
    run = one.run
    return {
        Order.SUITE: (run.suite, ""),
        Order.VERDICT: marked(run_mark(one, glyphs)),
        Order.LAYOUT: (short_layout(layout_of(one, stripes), glyphs), marks.MUTED),
        Order.TOOK: (_took(one), ""),
        Order.TARGET: (run.target, marks.MUTED),
    }


def _figure_cells(one: RunFigures, width: int, glyphs: Glyphs) -> _Cells:
    style = "" if one.valid else marks.BAD
    cells: _Cells = {
        "workload": (shown(one.workload, glyphs), marks.MUTED),
        Order.FIGURE: (figure(one), style),
        "trend": (sparkline(one.recent, _SPARK_CELLS[width >= _WIDE_CELLS], glyphs), marks.BUSY),
    }
    if one.p99_ns is not None:
        cells[Order.P99] = (nanoseconds(one.p99_ns, glyphs), style)
    if one.change is not None:
        cells[Order.CHANGE] = (change_cell(one.change, glyphs), change_style(one.change))
    return cells


def figure(one: RunFigures) -> str:
    """The headline: bandwidth of large blocks, IOPS of small ones."""
    return bandwidth(one.bandwidth_bytes) if one.is_large else count(one.iops)


def change_cell(one: Change, glyphs: Glyphs) -> str:
    """``-8.0 %``; with an arrow where it is not normal: ``↓30 %``."""
    percent = 100 * one.share
    if one.side:
        return f"{glyphs.ascending if one.side > 0 else glyphs.descending}{abs(percent):.0f} %"
    return f"{percent:+.1f} %"


def change_style(one: Change, *, less_is_better: bool = False) -> str:
    """A warning where it is worse than normal."""
    side = -one.side if less_is_better else one.side
    return {-1: marks.WARN, 0: marks.MUTED, 1: marks.BUSY}[side]


def _import_cells(one: ImportRecord, glyphs: Glyphs) -> _Cells:
    return {
        Order.SUITE: ("import", marks.MUTED),
        "workload": (one.file, marks.MUTED),
        Order.VERDICT: marked(import_mark(one, glyphs)),
        Order.TARGET: (one.machine_type, marks.MUTED),
    }


def _when(at: float, width: int, now: float) -> str:
    words = moment(at)
    if width >= _WIDE_CELLS:
        return words[:16]
    return words[5:16] if abs(now - at) < _THIS_YEAR_SECONDS else words[:10]


def layout_of(one: RunSummary, stripes: Mapping[int, str]) -> str:
    """What a run measured, in words."""
    stripe = "" if one.run.epoch_id is None else stripes.get(one.run.epoch_id, "")
    return stripe_words(stripe) or one.run.device or one.run.target


def short_layout(words: str, glyphs: Glyphs) -> str:
    """``md-raid0 of 4, chunk 256 KiB`` as ``raid0×4``."""
    return words.partition(",")[0].removeprefix("md-").replace(" of ", glyphs.times)


def _took(one: RunSummary) -> str:
    run = one.run
    seconds = -1.0 if run.ended_at is None else run.ended_at - run.started_at
    # Negative if the clock was put back meanwhile: then it is unknown.
    return duration(seconds) if seconds >= 0 else "-"


def run_lines(
    one: RunSummary,
    figures: RunFigures | None,
    stripes: Mapping[int, str],
    width: int,
    glyphs: Glyphs,
) -> list[Line]:
    """The run under the cursor: its figures, what is not normal, and why it ended as it did."""
    run, mark = one.run, marks.run_state(one.run.state, glyphs)
    name = clean(f"run {run.id} {run.suite}")
    took = "" if _took(one) == "-" else f" in {_took(one)}"
    ended = Mark(mark.glyph, mark.word + took, mark.style)
    valid = f"{one.valid} of {one.results} results valid" if one.results else ""
    facts = [part for part in (valid, layout_of(one, stripes), run.target) if part]
    said = "; ".join(part for part in (run.reason, run.scaled, *run.notes) if part)
    lines = _lines(name, ended, facts, said, width=width, glyphs=glyphs)
    if figures is not None:
        lines[1:1] = headline(figures, width, glyphs)
    return lines


def headline(one: RunFigures, width: int, glyphs: Glyphs) -> list[Line]:
    """The figures of the headline in words, then each workload that is not normal."""
    p99 = "" if one.p99_ns is None else f", p99 {nanoseconds(one.p99_ns, glyphs)}"
    unit = "" if one.is_large else " IOPS"
    bad = "" if one.valid else f"{glyphs.bad} "
    words = f"{one.workload}: {bad}{figure(one)}{unit}{p99}"
    off = [change for change in one.changes if change.side]
    style = ""
    if not one.changes:
        words += ", normal not known yet"
    elif not off:
        words += ", all workloads normal"
    elif off[0].key == one.key:
        change = off.pop(0)
        words += f", {off_normal(change, glyphs)}"
        style = change_style(change)
    lines = wrapped(shown(words, glyphs), width=width, style=style, rows=2)
    for change in off[:_FOOT_ROWS]:
        text = f"{change.workload}: {off_normal(change, glyphs)}"
        lines += wrapped(shown(text, glyphs), width=width, style=change_style(change), rows=1)
    return lines


def off_normal(change: Change, glyphs: Glyphs) -> str:
    """``↓8 % below normal``, of what is not normal."""
    return f"{change_cell(change, glyphs)} {'below' if change.side < 0 else 'above'} normal"


def shown(words: str, glyphs: Glyphs) -> str:
    """Words of the engine as this terminal can show them."""
    words = clean(words).replace("×", glyphs.times)
    return words.replace("µ", "u") if glyphs is marks.ASCII else words


def import_lines(one: ImportRecord, width: int, glyphs: Glyphs) -> list[Line]:
    """The import under the cursor."""
    facts = [one.file, one.machine_type or "machine type not given"]
    said = f"{one.valid} of {one.reports} imported reports are valid"
    mark = import_mark(one, glyphs)
    return _lines(f"import {one.id}", mark, facts, said, width=width, glyphs=glyphs)


def _lines(
    name: str, mark: Mark, facts: Sequence[str], said: str, *, width: int, glyphs: Glyphs
) -> list[Line]:
    words = f" {glyphs.dot} ".join(clean(fact) for fact in facts)
    return [
        section(name, Content.styled(mark.text, mark.style), width, glyphs),
        *wrapped(words, width=width, style=marks.MUTED, rows=2),
        *(wrapped(clean(said), width=width, rows=_FOOT_ROWS) if said else []),
    ]
