"""The table of suites, and the one under the cursor in full; pure."""

from __future__ import annotations

from textual.content import Content

from appliance.bench.run_progress import suite_seconds
from appliance.client.schedule_fields import Holds, holds
from appliance.client.schedule_requests import ScheduleNow
from appliance.client.suite_facts import volume_of, written, written_words
from appliance.history.pages import RunSummary
from appliance.model.runs import Suite
from appliance.text import duration, moment
from tui import marks
from tui.marks import Glyphs
from tui.snapshot import Snapshot
from tui.sources.suites import Catalog
from tui.widgets.columns import Cell, Column, Row, row
from tui.widgets.panel import Line, View, cell, clean, labelled, section, wrapped
from tui.widgets.results import run_mark
from tui.widgets.suite import ago, describe_job

_WIDE_CELLS = 120
_LABEL_CELLS = 8
_FACT_ROWS, _SHEET_FACT_ROWS = 2, 4
# What fits into a sheet on a terminal of 80 columns.
_SHEET_CELLS = 72
_ABOUT_TIMES = "It measures the first volume; times are local unless they say UTC."

# The catalog, and the schedule as far as it is known.
Known = tuple[Catalog, ScheduleNow | None]


def columns(
    width: int, catalog: Catalog | None, schedule: ScheduleNow | None, view: View
) -> tuple[Column, ...]:
    wide, snapshot, glyphs = width >= _WIDE_CELLS, view.snapshot, view.glyphs
    volume = None if snapshot is None else snapshot.mounted_volume
    running = None if snapshot is None else snapshot.running

    def files(suite: Suite) -> Cell:
        words = written(suite, volume)
        return words, marks.WARN if words == "no room" else ""

    def last(suite: Suite) -> Cell:
        if running is not None and running.suite == suite.name:
            return f"{glyphs.pointer} running", marks.BUSY
        if catalog is None or catalog.problem:
            return f"{glyphs.unknown} not known", marks.MUTED
        return _last(catalog.last.get(suite.name), view, wide=wide)

    return (
        Column("suite", 18 if wide else 16, get=lambda suite: (suite.name, "")),
        Column(
            "what it does", 30, grows=wide, wide=_WIDE_CELLS,
            get=lambda suite: (suite.summary, marks.MUTED),
        ),
        Column(
            "takes", 11, right=True, get=lambda suite: (duration(suite_seconds(suite)), ""),
            sort=suite_seconds,
        ),
        Column("files", 16 if wide else 15, get=files),
        Column("last run", 26 if wide else 15, get=last),
        Column(
            "next", 15 if wide else 13, grows=not wide,
            get=lambda suite: _next(holds(schedule, suite.name), view),
        ),
    )  # fmt: skip


def table_rows(
    catalog: Catalog | None, schedule: ScheduleNow | None, view: View, width: int
) -> list[Row]:
    """A row a suite, in the order of the catalog."""
    made = columns(width, catalog, schedule, view)
    return [
        row(made, suite, key=suite.name, also=suite.summary)
        for suite in (() if catalog is None else catalog.suites)
    ]


def _last(last: RunSummary | None, view: View, *, wide: bool) -> tuple[str, str]:
    """The verdict of the last run as a glyph and a word, and how long ago it was."""
    if last is None:
        return f"{view.glyphs.idle} never", marks.MUTED
    mark = run_mark(last, view.glyphs)
    when = ago(view.wall - _ended(last))
    if not wide:
        return mark.text, mark.style
    return f"{mark.text}, {when}", mark.style


def _ended(last: RunSummary) -> float:
    return last.run.started_at if last.run.ended_at is None else last.run.ended_at


def _next(found: Holds | None, view: View) -> tuple[str, str]:
    if found is None:
        return "?", marks.MUTED
    if not found.runs:
        return "never", marks.MUTED
    if found.next_at is None:
        return "not known", marks.MUTED
    left = found.next_at - view.wall
    if left <= 0:
        return "due", ""
    return (f"in {duration(left)}" if left < 129_600 else f"in {left / 86_400:.0f} days"), ""


# ------------------------------------------------------------------------------- in full


def detail_lines(suite: Suite, known: Known, view: View, width: int, rows: int) -> list[Line]:
    """The suite in at most ``rows`` lines: its facts, and as many of its jobs as there is room
    for.
    """
    glyphs = view.glyphs
    lines = [
        section(clean(suite.name), Content(""), width, glyphs),
        *_facts(suite, known, view, width, _FACT_ROWS),
    ]
    jobs = job_rows(suite, glyphs)
    room = rows - len(lines)
    if len(jobs) <= room:
        return lines + jobs
    hidden = len(jobs) - max(0, room - 1)
    more = Content.styled(f"{glyphs.ellipsis} {hidden} more jobs: enter", marks.MUTED)
    return [*lines, *jobs[: max(0, room - 1)], more][: max(0, rows)]


def sheet(suite: Suite, known: Known, view: View, width: int) -> Content:
    """All of it, for a sheet of its own."""
    facts = _facts(suite, known, view, width, _SHEET_FACT_ROWS)
    return Content("\n").join([*facts, Content(""), *job_rows(suite, view.glyphs)])


def _facts(suite: Suite, known: Known, view: View, width: int, rows: int) -> list[Line]:
    catalog, schedule = known
    last = catalog.last.get(suite.name)
    facts = [("does", suite.summary, ""), ("takes", _takes(suite, last), "")]
    facts += [("writes", words, "") for words in _writes(suite, view.snapshot)]
    facts.append(("last", *last_words(last, catalog.problem, view)))
    facts.append(("next", next_words(holds(schedule, suite.name), view), ""))
    return [
        line
        for label, words, style in facts
        for line in labelled(label, words, width, style, cells=_LABEL_CELLS, rows=rows)
    ]


def _takes(suite: Suite, last: RunSummary | None) -> str:
    passes = f" in {suite.passes} passes" if suite.passes > 1 else ""
    words = f"{duration(suite_seconds(suite))} of measuring{passes}, after its files are written"
    complete = last is not None and last.run.state.value == "complete" and not last.run.scaled
    if last is not None and complete and last.run.ended_at is not None:
        words += f"; {duration(last.run.ended_at - last.run.started_at)} in all the last time"
    return words


def _writes(suite: Suite, snapshot: Snapshot | None) -> list[str]:
    """For each volume that can be measured; without any, what it would be."""
    volumes = () if snapshot is None else snapshot.mounted_volumes
    return [written_words(suite, one) for one in volumes] or [written_words(suite, None)]


def last_words(last: RunSummary | None, problem: str, view: View) -> tuple[str, str]:
    """The outcome of the last run, with its style."""
    if last is None:
        never = "never run in this history" if view.history else "never run here: s starts it"
        return f"not known: {problem}" if problem else never, marks.WARN if problem else marks.MUTED
    mark = run_mark(last, view.glyphs)
    words = mark.text
    if last.results:
        words += f", {last.valid} of {last.results} results valid"
    volume = volume_of(last.run, None if view.snapshot is None else view.snapshot.status)
    where = last.run.target if volume is None else volume.name
    words += f", {ago(view.wall - _ended(last))} on {where}, run {last.run.id}"
    if last.run.reason:
        words += f": {last.run.reason}"
    return words, mark.style


def next_words(found: Holds | None, view: View) -> str:
    """When it is started next, and by what."""
    if found is None:
        return "the schedule has not been read"
    if not found.runs:
        return f"never automatically ({found.source}); S sets a time"
    words = f"{found.when} ({found.source})"
    if found.next_at is not None and found.next_at > view.wall:
        words = f"in {duration(found.next_at - view.wall)}, {moment(found.next_at)[:16]}Z; {words}"
    return words


def job_rows(suite: Suite, glyphs: Glyphs) -> list[Line]:
    """A line a job: pattern, block size, queue depth and workers, seconds."""
    lines: list[Line] = []
    for job in suite.jobs:
        more = [describe_job(job, glyphs)]
        if job.read_percent is not None:
            more.append(f"{job.read_percent} % reads")
        if job.engine:
            more.append(job.engine)
        if job.think_time_ms:
            more.append(f"{job.think_time_ms} ms between two I/Os")
        lines.append(
            Content.assemble(
                f"{'':{_LABEL_CELLS}}",
                cell(clean(job.name), 18, glyphs),
                " ",
                (f" {glyphs.dot} ".join(more), marks.MUTED),
            )
        )
    return lines


def schedule_words(suite: str, now: ScheduleNow, view: View) -> Content:
    """What holds for ``suite``, for the question what shall."""
    words = f"Now: {next_words(holds(now, suite), view)}"
    lines = wrapped(clean(words), width=_SHEET_CELLS, rows=2)
    lines.append(Content.styled(_ABOUT_TIMES, marks.MUTED))
    return Content("\n").join(lines)
