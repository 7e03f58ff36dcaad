"""The run that is on, or has just ended: each job, how far it is, and its figures so far; pure."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content

from appliance.bench.live_file import LiveJob
from appliance.bench.run_progress import Progress, StepState, plan_of, progress, steps
from appliance.client.suite_facts import volume_of
from appliance.model.measurement import JobResult
from appliance.model.runs import RunRecord, Suite
from appliance.text import count, duration
from tui import marks
from tui.charts.strip import sparkline
from tui.marks import Glyphs
from tui.snapshot import Snapshot
from tui.tracks import Figure, points
from tui.widgets.panel import Line, View, cell, clean, nanoseconds, section, wrapped
from tui.widgets.suite import (
    JOB_CELLS,
    MARK_CELLS,
    column_names,
    job_cell,
    progress_bar,
    result_line,
    step_lines,
    way_cells,
)
from tui.widgets.suites_chart import group_of

_BAR_CELLS = 8
_SPARK_CELLS = 12
_PERCENTILES = (
    ("p50", "50.000000", 0.5),
    ("p99", "99.000000", 0.99),
    ("p99.9", "99.900000", 0.999),
)
# A percentile that fewer I/Os lie above may still move by much.
_FEW_ABOVE = 10
# The runner asks fio at the most so often, and of a long job this many times (bench/running).
_ASKED_SECONDS, _ASKED_TIMES = 3.0, 60
# Not at all in its last seconds.
_QUIET_SECONDS = 5.0
_PHASES = {"check": "waits until the disks are quiet", "prepare": "writes its files in full"}


def run_heading(run: RunRecord, view: View, width: int) -> list[Line]:
    """Which suite on what, how far the whole of it is, and how long it still takes."""
    snapshot, glyphs = view.snapshot, view.glyphs
    suite = None if snapshot is None else snapshot.run_suite
    done = progress(run, suite, view.wall)
    title = f"{glyphs.pointer} RUNNING {clean(run.suite)} on {_where(run, snapshot)}"
    job = f"job {run.job_index} of {run.job_count}" if run.job_index else clean(run.phase)
    left = "time left not known"
    if done.seconds_left is not None:
        left = f"{duration(done.seconds_left)} left"
    note = Content.assemble((f"{job} {glyphs.dot} ", marks.MUTED), (left, f"bold {marks.BUSY}"))
    room = max(12, width - note.cell_length - 4)
    heading = section(
        cell(title, room, glyphs).rstrip(), note, width, glyphs, style=f"bold {marks.BUSY}"
    )
    lines = [heading, progress_bar(done, width, glyphs)]
    if run.scaled:
        lines.append(Content.styled(f"{glyphs.warn} {run.scaled}", marks.WARN))
    if view.status_is_stale and view.status_age is not None:
        # Bars advance by the clock; their starting point is old.
        words = f"{glyphs.warn} progress read {duration(view.status_age)} ago"
        lines.append(Content.styled(words, marks.WARN))
    return lines


def ended_heading(
    run: RunRecord, results: Sequence[JobResult], view: View, width: int
) -> list[Line]:
    """How a run ended, and what comes next."""
    glyphs = view.glyphs
    mark = marks.run_state(run.state, glyphs)
    valid = sum(one.valid for one in results)
    note = Content.assemble(
        (mark.text, f"bold {mark.style}"),
        (f" {glyphs.dot} {valid} of {len(results)} results valid", ""),
    )
    title = f"ENDED {clean(run.suite)} on {_where(run, view.snapshot)}"
    room = max(12, width - note.cell_length - 4)
    lines = [section(cell(title, room, glyphs).rstrip(), note, width, glyphs)]
    if run.reason:
        lines += wrapped(clean(run.reason), width=width, style=marks.WARN, rows=2)
    words = "enter shows its results in full, w the table of suites"
    if run.ended_at is not None:
        words = f"took {duration(max(0.0, run.ended_at - run.started_at))}; {words}"
    lines.append(Content.styled(words, marks.MUTED))
    return lines


def _where(run: RunRecord, snapshot: Snapshot | None) -> str:
    volume = volume_of(run, None if snapshot is None else snapshot.status)
    return clean(run.target if volume is None else volume.name)


# ----------------------------------------------------------------------------------- its jobs


def job_lines(run: RunRecord, view: View, width: int, rows: int) -> list[Line]:
    """Column names, and a line for each thing that is measured, around the present one.

    At most ``rows`` lines; the last says how many are not shown.
    """
    snapshot, glyphs = view.snapshot, view.glyphs
    suite: Suite | None = None if snapshot is None else snapshot.run_suite
    results = () if snapshot is None else snapshot.run_results
    done = progress(run, suite, view.wall)
    lines: list[Line] = []
    present = 0
    for step in steps(run, suite, results):
        if step.state is StepState.MEASURING:
            present = len(lines)
            name = job_cell(step.job.name, step.pass_index, step.member, glyphs)
            lines.append(_measuring(name, run, done, view, width))
            continue
        if step.state is StepState.DONE:
            present = len(lines) + len(step.results)
        lines += step_lines(step, width, glyphs, beside=False)
    phase = []
    if run.phase in _PHASES:
        phase = [_phase(run, done, width, glyphs)]
    elif not plan_of(run, suite):
        # A suite that is not known here: what it measures now is all there is to say.
        lines.append(_measuring(cell(clean(run.phase), JOB_CELLS, glyphs), run, done, view, width))
        present = len(lines) - 1
    names = [column_names(width, glyphs, beside=False)]
    return [*phase, *_window(names, lines, present, rows - len(phase), glyphs)]


def ended_lines(results: Sequence[JobResult], width: int, rows: int, glyphs: Glyphs) -> list[Line]:
    """The same of a run that is over: its results."""
    if not results:
        return [Content.styled("it has no results", marks.MUTED)]
    lines = [result_line(result, width, glyphs, beside=False) for result in results]
    return _window([column_names(width, glyphs, beside=False)], lines, 0, rows, glyphs)


def _window(
    head: list[Line], lines: list[Line], present: int, rows: int, glyphs: Glyphs
) -> list[Line]:
    room = max(1, rows - len(head))
    if len(lines) <= room:
        return [*head, *lines]
    room = max(1, room - 1)
    # The one before the present is seen, too: its figure has just come.
    first = min(max(0, present - 1 - room // 3), len(lines) - room)
    hidden = len(lines) - room
    words = f"{glyphs.ellipsis} {first} above, {hidden - first} below"
    return [*head, *lines[first : first + room], Content.styled(words, marks.MUTED)]


def _phase(run: RunRecord, done: Progress, width: int, glyphs: Glyphs) -> Line:
    """What is done before anything is measured."""
    words = _PHASES[run.phase]
    if run.phase == "prepare" and run.target_kind != "filesystem":
        words = "writes until it is steady"
    line = Content.assemble(
        (cell(f"{glyphs.pointer} {clean(run.phase)}", MARK_CELLS, glyphs), marks.BUSY),
        " ",
        *_bar(done, glyphs),
    )
    room = max(0, width - line.cell_length - 2)
    return Content.assemble(line, f"  {cell(words, room, glyphs).rstrip()}")


def _measuring(name: str, run: RunRecord, done: Progress, view: View, width: int) -> Line:
    """The present job: its IOPS so far, those of each second since it began, and how long it still
    takes, under the columns of what is done.
    """
    glyphs, snapshot = view.glyphs, view.snapshot
    told = _told(run, () if snapshot is None else snapshot.live_jobs)
    so_far = count(sum(one.iops for one in told)) if told else ""
    spark = "" if snapshot is None else sparkline(_iops(run, view), _SPARK_CELLS, glyphs)
    return Content.assemble(
        (cell(f"{glyphs.pointer} measuring", MARK_CELLS, glyphs), marks.BUSY),
        " ",
        (name, "bold"),
        f" {'':{way_cells(width)}} {cell(so_far, 7, glyphs, right=True)} ",
        (spark, marks.BUSY),
        " ",
        *_bar(done, glyphs),
    )


def _iops(run: RunRecord, view: View) -> list[float | None]:
    """What the disks did in each second since the present job began."""
    snapshot = view.snapshot
    devices = () if snapshot is None else group_of(run, snapshot)
    if snapshot is None or not devices:
        return []
    began = view.now - (view.wall - run.phase_started_at)
    seconds = [one for one in snapshot.seconds if one.at >= began]
    return [value for _, value in points(seconds, devices[0], Figure.IOPS)]


def _bar(done: Progress, glyphs: Glyphs) -> list[tuple[str, str]]:
    """How far the present phase is, and how long it still takes."""
    full = round(done.phase_fraction * _BAR_CELLS)
    left = "" if done.phase_left is None else f" {duration(done.phase_left)} left"
    return [
        (glyphs.bar_full * full, marks.BUSY),
        (glyphs.bar_empty * (_BAR_CELLS - full), marks.RULE),
        (left, ""),
    ]


# --------------------------------------------------------------------------- latency so far


def latency_lines(run: RunRecord, view: View, width: int) -> list[Line]:
    """Percentiles of the job that is measured, as far as they are known; none before a job."""
    snapshot, glyphs = view.snapshot, view.glyphs
    if run.phase in _PHASES or not run.job_index:
        return []
    told = _told(run, () if snapshot is None else snapshot.live_jobs)
    title = f"LATENCY {clean(run.phase)}"
    if not told:
        words = _why_none(run, view)
        words = cell(words, max(0, width - cell_len(title) - 4), glyphs).rstrip()
        return [section(title, Content.styled(words, marks.MUTED), width, glyphs)]
    ios = sum(one.ios for one in told)
    old = max(0.0, view.wall - max(one.at for one in told))
    late = old > 2 * max(_ASKED_SECONDS, run.phase_seconds / _ASKED_TIMES) + _QUIET_SECONDS
    note = Content.styled(
        f"so far: {count(ios)} I/Os, {duration(old)} old {glyphs.dot} not judged",
        marks.WARN if late else marks.MUTED,
    )
    return [
        section(title, note, width, glyphs),
        *(_latency_line(one, width, glyphs) for one in told),
    ]


def _told(run: RunRecord, jobs: Sequence[LiveJob]) -> tuple[LiveJob, ...]:
    """The rows of the present job, without leftovers of another run or the previous job."""
    return tuple(one for one in jobs if one.run_id == run.id and one.job == run.phase)


def _why_none(run: RunRecord, view: View) -> str:
    seconds = view.wall - run.phase_started_at
    if run.phase_seconds < _ASKED_SECONDS + _QUIET_SECONDS:
        return "none: the job is too short for that"
    if seconds < 3 * max(_ASKED_SECONDS, run.phase_seconds / _ASKED_TIMES):
        return "none yet; the first come some seconds into the job"
    return "no live percentiles for runs started by hand"


def _latency_line(job: LiveJob, width: int, glyphs: Glyphs) -> Line:
    parts: list[tuple[str, str]] = [(f"  {clean(job.direction):6}", marks.MUTED)]
    for name, key, share in _PERCENTILES:
        value = job.percentiles_ns.get(key)
        above = int(job.ios * (1 - share))
        few = value is not None and above < _FEW_ABOVE
        text = "-" if value is None else nanoseconds(value, glyphs)
        if few:
            # Too few I/Os are slower than this to say where it will end.
            text += f" {glyphs.unknown}"
        parts += [(f"  {name} ", marks.MUTED), (text, marks.MUTED if few else "bold")]
    parts += [("  mean ", marks.MUTED), (nanoseconds(job.latency_mean_ns, glyphs), "")]
    line = Content.assemble(*parts)
    rest = (
        f"  of {count(job.ios)} I/Os in {duration(job.elapsed_seconds)}, "
        f"{int(job.ios * 0.001):,} of them above p99.9"
    )
    if line.cell_length + len(rest) <= width:
        line = Content.assemble(line, (rest, marks.MUTED))
    return line
