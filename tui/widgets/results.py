"""The table of all runs and imports; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.content import Content

from appliance.history.pages import RunSummary
from appliance.history.queries import ImportRecord
from appliance.model.layout_words import stripe_words
from appliance.model.measurement import Severity
from appliance.model.runs import RunState
from appliance.text import duration, moment
from tui import marks
from tui.marks import Glyphs, Mark
from tui.widgets.panel import Line, clean, section, wrapped
from tui.widgets.table import Column, Row

_WIDE_CELLS = 130
_FOOT_ROWS = 3
_GRAVEST = {Severity.BLOCK: "bad", Severity.WARN: "warn", Severity.LABEL: "label"}
_STYLES = {Severity.BLOCK: marks.BAD, Severity.WARN: marks.WARN, Severity.LABEL: marks.BUSY}


def columns(width: int) -> tuple[Column, ...]:
    """The table's columns in ``width`` cells."""
    first = (
        Column("  run", 7),
        Column("when (UTC)", 16),
        Column("suite", 9),
        Column("valid", 8, right=True),
        Column("verdict", 12),
    )
    if width < _WIDE_CELLS:
        return (*first, Column("layout", 7, grows=True), Column("epoch", 5, right=True))
    return (
        *first,
        Column("layout", 28),
        Column("epoch", 5, right=True),
        Column("took", 10, right=True),
        Column("target", 12, grows=True),
    )


def table_rows(
    runs: Sequence[RunSummary],
    imports: Sequence[ImportRecord],
    stripes: Mapping[int, str],
    *,
    more: bool,
    marked: Sequence[str],
    width: int,
    glyphs: Glyphs,
) -> tuple[Row, ...]:
    """A row for each run and import, latest first. Keys are what can be compared: ``12``,
    ``import:3``; ``stripes`` are fingerprints' by epoch; ``more``: there are older runs.
    """
    wide = width >= _WIDE_CELLS
    made = []
    waiting = list(imports)
    # Runs by number, which no clock moves; each import before the first run that is older.
    for one in runs:
        while waiting and waiting[0].at >= one.run.started_at:
            made.append(_import_row(waiting.pop(0), marked, glyphs, wide=wide))
        made.append(_run_row(one, stripes, marked, glyphs, wide=wide))
    # What is older than all runs here is shown with those runs.
    if not more:
        made += [_import_row(one, marked, glyphs, wide=wide) for one in waiting]
    return tuple(made)


def run_mark(one: RunSummary, glyphs: Glyphs) -> Mark:
    """The most severe verdict of a run; how it ended, if it is not complete."""
    if one.run.state is not RunState.COMPLETE:
        return marks.run_state(one.run.state, glyphs)
    if one.severity is not None:
        glyph = getattr(glyphs, _GRAVEST[one.severity])
        return Mark(glyph, clean(one.code), _STYLES[one.severity])
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


def _pin(key: str, name: str, marked: Sequence[str], glyphs: Glyphs) -> tuple[str, str]:
    if key in marked:
        return f"{glyphs.marked} {name}", f"bold {marks.BUSY}"
    return f"  {name}", ""


def _run_row(
    one: RunSummary,
    stripes: Mapping[int, str],
    marked: Sequence[str],
    glyphs: Glyphs,
    *,
    wide: bool,
) -> Row:
    run, mark = one.run, run_mark(one, glyphs)
    layout = layout_of(one, stripes)
    cells = [
        _pin(str(run.id), str(run.id), marked, glyphs),
        (moment(run.started_at)[:16], ""),
        (run.suite, ""),
        (f"{one.valid} of {one.results}" if one.results else "-", ""),
        (mark.text, mark.style),
        (layout if wide else short_layout(layout, glyphs), ""),
        ("-" if run.epoch_id is None else str(run.epoch_id), marks.MUTED),
    ]
    if wide:
        cells += [(_took(one), ""), (run.target, marks.MUTED)]
    also = f"{run.target} {run.state.value} {run.reason} {run.machine_type} {layout}"
    return Row(str(run.id), tuple(cells), also=also)


def _import_row(one: ImportRecord, marked: Sequence[str], glyphs: Glyphs, *, wide: bool) -> Row:
    mark = import_mark(one, glyphs)
    key = f"import:{one.id}"
    cells = [
        _pin(key, f"imp {one.id}", marked, glyphs),
        (moment(one.at)[:16], ""),
        ("import", marks.MUTED),
        (f"{one.valid} of {one.reports}", ""),
        (mark.text, mark.style),
        (one.machine_type or one.file, marks.MUTED),
        ("-", marks.MUTED),
    ]
    if wide:
        cells += [("-", marks.MUTED), (one.file, marks.MUTED)]
    return Row(key, tuple(cells), also=f"{one.file} {one.machine_type}")


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
    one: RunSummary, stripes: Mapping[int, str], width: int, glyphs: Glyphs
) -> list[Line]:
    """The run under the cursor: what it measured, and why it ended as it did."""
    run, mark = one.run, marks.run_state(one.run.state, glyphs)
    name = clean(f"run {run.id} {run.suite}")
    facts = [layout_of(one, stripes), run.target]
    said = "; ".join(part for part in (run.reason, run.scaled, *run.notes) if part)
    took = "" if _took(one) == "-" else f" in {_took(one)}"
    shown = Mark(mark.glyph, mark.word + took, mark.style)
    return _lines(name, shown, facts, said, width=width, glyphs=glyphs)


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
        *wrapped(words, first=Content(""), indent=0, width=width, style=marks.MUTED, rows=2),
        *(
            wrapped(clean(said), first=Content(""), indent=0, width=width, rows=_FOOT_ROWS)
            if said
            else []
        ),
    ]
