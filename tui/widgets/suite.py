"""The suite that is running, or else the last one: progress, and a verdict for every job."""

from __future__ import annotations

from textual.content import Content

from appliance.bench.validity import percentile_ns
from appliance.model import Job, JobResult, RunRecord
from appliance.status import Status
from appliance.text import bandwidth, count, duration, size
from tui import marks
from tui.marks import Glyphs, Mark
from tui.progress import Progress, progress
from tui.snapshot import Snapshot
from tui.widgets.panel import Line, View, cell, clean, nanoseconds, section

_MARK_CELLS = 15
_JOB_CELLS = 16
_COLUMNS = (("IOPS", 7), ("bandwidth", 11), ("mean", 9), ("p99", 9))


def suite_lines(view: View, width: int, rows: int) -> list[Line]:
    """Heading, progress bar or column names, and one line a result, in ``rows`` lines."""
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
        note = Content.styled(f"none yet{_next(status, view)}", marks.MUTED)
        return [section("LAST SUITE", note, width, glyphs)]
    return _last(status.last_run, status, view, width, rows)


def wanted_rows(view: View) -> int:
    """How many lines :func:`suite_lines` would fill if it could."""
    snapshot = view.snapshot
    if snapshot is None or snapshot.status is None:
        return 1
    running = snapshot.status.running
    if running is not None:
        return 2 + len(_job_rows(running, snapshot, view, 80))
    run = snapshot.status.last_run
    if snapshot.starting or run is None:
        return 1
    results = len(snapshot.status.last_results)
    return 1 + bool(run.reason) + (1 + results if results else 0)


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
        *_most_recent(body, rows - 2, run.job_index),
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
    glyphs, suite, results = view.glyphs, snapshot.run_suite, snapshot.run_results
    lines = []
    finished = {result.job for result in results}
    lines += [result_line(result, width, glyphs) for result in results]
    for job in () if suite is None else suite.jobs:
        if job.name in finished:
            continue
        now = job.name == run.phase
        mark = (
            Mark(glyphs.pointer, "measuring", marks.BUSY)
            if now
            else Mark(glyphs.idle, "waiting", marks.MUTED)
        )
        lines.append(
            Content.assemble(
                (cell(mark.text, _MARK_CELLS, glyphs), mark.style),
                " ",
                (cell(clean(job.name), _JOB_CELLS, glyphs), "" if now else marks.MUTED),
                " ",
                (describe_job(job, glyphs), marks.MUTED),
            )
        )
    return lines


def describe_job(job: Job, glyphs: Glyphs) -> str:
    """Say what a job does, in one line of the usual terms."""
    depth = f"QD {job.iodepth}" + (f" {glyphs.times} {job.jobs}" if job.jobs > 1 else "")
    return f"{job.rw} {size(job.block_size_bytes)} {depth}, {duration(job.runtime_seconds)}"


def _most_recent(body: list[Line], rows: int, present: int) -> list[Line]:
    """``rows`` lines of ``body`` around the present job, for screens that cannot show all."""
    if len(body) <= rows:
        return body
    start = min(max(0, present - rows + 2), len(body) - rows)
    return body[start : start + rows]


def _last(run: RunRecord, status: Status, view: View, width: int, rows: int) -> list[Line]:
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
        (f" {glyphs.dot} {_ago(view.wall - ended)}{_next(status, view)}", marks.MUTED),
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
    lines += [result_line(result, width, glyphs) for result in shown]
    if hidden:
        bad = sum(not result.valid for result in results[len(shown) :])
        words = f"{hidden} more" + (f", {bad} of them not valid" if bad else "")
        lines.append(
            Content.styled(f"{glyphs.ellipsis} {words}: press r", marks.BAD if bad else marks.MUTED)
        )
    return lines


def _ago(seconds: float) -> str:
    """How long ago something ended, coarse: the exact time is in the results."""
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


def column_names(width: int, glyphs: Glyphs) -> Line:
    """Write the names over :func:`result_line`."""
    names = " ".join(cell(name, cells, glyphs, right=True) for name, cells in _COLUMNS)
    rest = "   findings" if width >= _findings_from() else ""
    lead = f"{cell('verdict', _MARK_CELLS, glyphs)} {cell('job', _JOB_CELLS, glyphs)}       "
    return Content.styled(f"{lead}{names}{rest}", marks.MUTED)


def result_line(result: JobResult, width: int, glyphs: Glyphs) -> Line:
    """One result: verdict, job, direction, figures, and on wide screens why, in words."""
    mark = marks.verdict(result, glyphs)
    p99 = percentile_ns(result, 99.0)
    figures = (
        count(result.iops),
        bandwidth(result.bandwidth_bytes),
        nanoseconds(result.latency_mean_ns, glyphs),
        "-" if p99 is None else nanoseconds(p99, glyphs),
    )
    cells = " ".join(
        cell(figure, room, glyphs, right=True)
        for figure, (_, room) in zip(figures, _COLUMNS, strict=True)
    )
    why = ""
    if width >= _findings_from() and result.findings:
        why = "   " + clean("; ".join(finding.message for finding in result.findings))
    return Content.assemble(
        (cell(mark.text, _MARK_CELLS, glyphs), mark.style),
        " ",
        cell(clean(result.job), _JOB_CELLS, glyphs),
        " ",
        (cell(clean(result.direction), 5, glyphs), marks.MUTED),
        " ",
        (cells, "" if result.valid else marks.MUTED),
        (why, mark.style),
    )


def _findings_from() -> int:
    """Least width at which findings get a column of their own."""
    return _MARK_CELLS + _JOB_CELLS + 7 + sum(cells + 1 for _, cells in _COLUMNS) + 24
