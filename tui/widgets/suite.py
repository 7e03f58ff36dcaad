"""The suite that is running, or else the last one: progress, and a verdict for every job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content

from appliance.bench.run_progress import Progress, Step, StepState, progress, steps
from appliance.text import bandwidth, count, duration, workload
from tui import marks
from tui.marks import Glyphs, Mark
from tui.snapshot import Snapshot
from tui.widgets import columns
from tui.widgets.columns import Cell, Column
from tui.widgets.panel import ALL, Line, View, cell, clean, nanoseconds, section

if TYPE_CHECKING:
    from appliance.client.machine_status import Status
    from appliance.model.measurement import JobResult
    from appliance.model.runs import Job, RunRecord
    from tui.sources.overview import Level

MARK_CELLS = 12
JOB_CELLS = 16
_WIDE_FROM = 96
# Findings in words need so many cells, and that much beside the figures.
_WORDS_CELLS, _FINDINGS_FROM = 24, 118

Levels = Mapping[tuple[str, str], "Level"]


def suite_lines(view: View, width: int, rows: int = ALL, *, levels: Levels) -> list[Line]:
    """Heading, progress bar, column names, and one line a result, in at most ``rows`` lines.

    ``levels`` are what is normal for the jobs of the last suite, as far as that is known.
    """
    snapshot, glyphs = view.snapshot, view.glyphs
    if snapshot is None or snapshot.status is None:
        return [section("LAST SUITE", Content.styled("not read yet", marks.MUTED), width, glyphs)]
    status = snapshot.status
    if status.running is not None:
        return _running(status.running, snapshot, view, width, rows)
    if snapshot.starting:
        note = Content.styled(f"asked systemd to start {clean(snapshot.starting)}", marks.BUSY)
        return [section("STARTING", note, width, glyphs, style=f"bold {marks.BUSY}")]
    if status.last_run is None:
        note = Content.styled(f"{_nothing(view, snapshot)}{_next(status, view)}", marks.MUTED)
        return [section("LAST SUITE", note, width, glyphs), *_first_steps(view, snapshot)][:rows]
    return _last(status.last_run, status, view, width, rows, levels=levels)


def _nothing(view: View, snapshot: Snapshot) -> str:
    """Why there is no last suite, and the next key."""
    if snapshot.status is not None and snapshot.status.history_problem:
        return "not read"
    if view.history:
        return "no suite has run in this history"
    return "nothing measured yet"


def _first_steps(view: View, snapshot: Snapshot) -> list[Line]:
    """The next key, on a machine on which nothing has been measured."""
    if view.history or snapshot.status is None or snapshot.status.history_problem:
        return []
    steps = [("s", "starts smoke, the short suite; it asks first")]
    if snapshot.mounted_volume is None:
        steps = [
            ("2", "which disks there are, and why each can be used or not"),
            ("3", "make a volume of them: nothing is written before you confirm the plan"),
        ]
    return [Content.assemble(("  " + key, "bold"), f"  {words}") for key, words in steps]


def _running(run: RunRecord, snapshot: Snapshot, view: View, width: int, rows: int) -> list[Line]:
    glyphs = view.glyphs
    done = progress(run, snapshot.run_suite, view.wall)
    left = "" if done.seconds_left is None else f" {glyphs.dot} {duration(done.seconds_left)} left"
    job = f"job {run.job_index} of {run.job_count}" if run.job_index else ""
    note = Content.assemble(
        (f"{job} " if job else "", marks.MUTED), clean(run.phase), (left, f"bold {marks.BUSY}")
    )
    title = f"{glyphs.pointer} RUNNING {clean(run.suite)}"
    heading = section(title, note, width, glyphs, style=f"bold {marks.BUSY}")
    body = _job_rows(run, snapshot, view, width)
    return [
        heading,
        progress_bar(done, width, glyphs),
        column_names(width, glyphs),
        *_most_recent(body, rows - 3, run.job_index),
    ]


def progress_bar(done: Progress, width: int, glyphs: Glyphs) -> Line:
    """Draw a bar over the whole width, with per cent and time spent in figures."""
    spent = f"{duration(done.elapsed_seconds)} spent"
    figures = f" {done.fraction * 100:3.0f} %  {spent}"
    room = max(10, width - len(figures))
    full = round(done.fraction * room)
    return Content.assemble(
        (glyphs.bar_full * full, marks.BUSY),
        (glyphs.bar_empty * (room - full), marks.RULE),
        (figures, ""),
    )


def _job_rows(run: RunRecord, snapshot: Snapshot, view: View, width: int) -> list[Line]:
    """Finished jobs with their results, then the present one and those that wait."""
    lines: list[Line] = []
    for step in steps(run, snapshot.run_suite, snapshot.run_results):
        lines += step_lines(step, width, view.glyphs)
    return lines


def step_lines(step: Step, width: int, glyphs: Glyphs, *, beside: bool = True) -> list[Line]:
    """A line for each result of what is done; one for what is not, with what it will be."""
    if step.results:
        return [result_line(result, width, glyphs, beside=beside) for result in step.results]
    mark = {
        StepState.DONE: Mark(glyphs.idle, "no result", marks.WARN),
        StepState.MEASURING: Mark(glyphs.pointer, "measuring", marks.BUSY),
        StepState.WAITING: Mark(glyphs.idle, "waiting", marks.MUTED),
    }[step.state]
    name = job_cell(step.job.name, step.pass_index, step.member, glyphs)
    return [
        Content.assemble(
            (cell(mark.text, MARK_CELLS, glyphs), mark.style),
            " ",
            (name, marks.MUTED if step.state is StepState.WAITING else ""),
            " ",
            (describe_job(step.job, glyphs), marks.MUTED),
        )
    ]


def job_cell(
    name: str, pass_index: int, member: str, glyphs: Glyphs, *, cells: int = JOB_CELLS
) -> str:
    """A job's name, with the disk that is measured alone and the pass: those are never cut.

    A long name loses its middle: what tells jobs apart is often at the end.
    """
    more = f" {clean(member)}" if member else ""
    more += f" #{pass_index}" if pass_index > 1 else ""
    more = more[-cells + 4 :]
    known, room = clean(name), cells - cell_len(more)
    if cell_len(known) > room:
        known = cell(known, room // 2 + 1, glyphs) + known[-(room - room // 2 - 1) :]
    return cell(known + more, cells, glyphs)


def describe_job(job: Job, glyphs: Glyphs) -> str:
    """Say what a job does, in one line of the usual terms."""
    words = workload(
        job.rw, block_size_bytes=job.block_size_bytes, iodepth=job.iodepth, jobs=job.jobs
    )
    return f"{words.replace('×', glyphs.times)}, {duration(job.runtime_seconds)}"


def _most_recent(body: list[Line], rows: int, present: int) -> list[Line]:
    """``rows`` lines of ``body`` around the present job, for screens that cannot show all."""
    if len(body) <= rows:
        return body
    start = min(max(0, present - rows + 2), len(body) - rows)
    return body[start : start + rows]


def _last(
    run: RunRecord, status: Status, view: View, width: int, rows: int, *, levels: Levels
) -> list[Line]:
    glyphs = view.glyphs
    mark = marks.run_state(run.state, glyphs)
    results = status.last_results
    good = sum(result.valid for result in results)
    verdicts = f" {glyphs.dot} {good} of {len(results)} valid" if results else ""
    verdict_style = "" if good == len(results) else marks.WARN
    ended = run.ended_at if run.ended_at is not None else run.started_at
    note = Content.assemble(
        (mark.text, mark.style),
        (verdicts, verdict_style),
        (f" {glyphs.dot} scaled, not to be quoted" if run.scaled else "", marks.WARN),
        (f" {glyphs.dot} {ago(view.wall - ended)}{_next(status, view)}", marks.MUTED),
    )
    lines = [section(f"LAST SUITE {clean(run.suite)}", note, width, glyphs)]
    if run.reason:
        lines.append(Content.styled(clean(run.reason), marks.WARN))
    if not results:
        return lines
    lines.append(column_names(width, glyphs))
    room = rows - len(lines)
    hidden = max(0, len(results) - room)
    if hidden:
        hidden += 1
    shown = results[: len(results) - hidden]
    lines += [
        result_line(result, width, glyphs, level=levels.get((result.job, result.direction)))
        for result in shown
    ]
    if hidden:
        bad = sum(not result.valid for result in results[len(shown) :])
        words = f"{hidden} more" + (f", {bad} of them not valid" if bad else "")
        lines.append(
            Content.styled(f"{glyphs.ellipsis} {words}: press r", marks.BAD if bad else marks.MUTED)
        )
    return lines


def ago(seconds: float) -> str:
    """How long ago something ended, coarse: the exact time is in the results."""
    if seconds < -90:
        # The clock was put back, or the history is from a machine whose clock is ahead.
        return "in the future"
    if seconds < 90:
        return "just now"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min ago"
    if seconds < 129_600:
        return f"{seconds / 3600:.0f} h ago"
    return f"{seconds / 86_400:.0f} days ago"


def _next(status: Status, view: View) -> str:
    if status.next_run_at is None or status.next_run_at <= view.wall:
        return ""
    return f" {view.glyphs.dot} next in {duration(status.next_run_at - view.wall)}"


def column_names(width: int, glyphs: Glyphs, *, beside: bool = True) -> Line:
    """Write the names over :func:`result_line`."""
    made = _columns(width, glyphs, None, beside=beside)
    return columns.lines(made, (), width=width, glyphs=glyphs, gap=1)[0]


def result_line(
    result: JobResult,
    width: int,
    glyphs: Glyphs,
    *,
    level: Level | None = None,
    beside: bool = True,
) -> Line:
    """One result: verdict, job, direction, figures, and on wide screens why, in words.

    Not ``beside`` anything, its p99 stands on narrow screens, too.
    ``published`` is its share of what is published; ``baseline`` how far it is from ``level``, in
    parentheses where that is provisional. What cannot be true is compared with nothing.
    """
    made = _columns(width, glyphs, level, beside=beside)
    return columns.lines(made, [result], width=width, glyphs=glyphs, gap=1, heading=False)[0]


def _columns(
    width: int, glyphs: Glyphs, level: Level | None, *, beside: bool
) -> tuple[Column, ...]:
    wide, way = width >= _WIDE_FROM, way_cells(width)

    def figure(name: str, cells: int, text: Callable[[JobResult], str]) -> Column:
        return Column(
            name, cells, True, get=lambda one: (text(one), "" if one.valid else marks.MUTED)
        )

    def verdict(one: JobResult) -> Cell:
        return columns.marked(marks.verdict(one, glyphs))

    def why(one: JobResult) -> Cell:
        said = "; ".join(finding.message for finding in one.findings)
        return f"  {said}", verdict(one)[1]

    figures = [
        figure("IOPS", 7, lambda one: count(one.iops)),
        figure("bandwidth", 11, lambda one: bandwidth(one.bandwidth_bytes)),
        figure("mean", 9, lambda one: nanoseconds(one.latency_mean_ns, glyphs)),
    ]
    if wide or not beside:
        figures.append(figure("p99", 9, lambda one: _p99(one, glyphs)))
    if beside:
        name, cells = ("published", 9) if wide else ("publ.", 6)
        figures.append(figure(name, cells, _share))
        figures.append(figure("baseline", 8, lambda one: _beside(one, level)))
    return (
        Column("verdict", MARK_CELLS, get=verdict),
        Column(
            "job", JOB_CELLS,
            get=lambda one: (job_cell(one.job, one.pass_index, one.member, glyphs), ""),
        ),
        Column("", way, get=lambda one: (one.direction[:way], marks.MUTED)),
        *figures,
        Column("  findings", _WORDS_CELLS, grows=True, get=why, wide=_FINDINGS_FROM),
    )  # fmt: skip


def _p99(result: JobResult, glyphs: Glyphs) -> str:
    from appliance.figures.quantities import percentile_ns

    p99 = percentile_ns(result, 99.0)
    return "-" if p99 is None else nanoseconds(p99, glyphs)


def _share(result: JobResult) -> str:
    from appliance.clouds.capability import percent_of_published

    share = percent_of_published(result) if result.valid else None
    return "-" if share is None else f"{share:.0f} %"


def _beside(result: JobResult, level: Level | None) -> str:
    if level is None or not level.iops or not result.valid:
        return "-"
    percent = round(100 * (result.iops / level.iops - 1))
    words = f"{percent:+d} %" if percent else "0 %"
    return f"({words})" if level.provisional else words


def way_cells(width: int) -> int:
    """Cells for read or write; narrow screens have the first letter."""
    return 5 if width >= _WIDE_FROM else 1
