"""The run that is on, or has just ended: each job, how far it is, and its figures so far; pure."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content

from appliance.bench.live_file import LiveJob
from appliance.model.measurement import JobResult
from appliance.model.runs import RunRecord, Suite
from appliance.text import bandwidth, count, duration
from tui import marks
from tui.marks import Glyphs
from tui.progress import Progress, Step, StepState, plan_of, progress, steps
from tui.snapshot import Snapshot
from tui.suite_facts import volume_of
from tui.widgets.panel import Line, View, cell, clean, nanoseconds, section, wrapped
from tui.widgets.suite import JOB_CELLS, describe_job, job_cell, progress_bar

_MARK_CELLS, _WAY_CELLS = 14, 5
_COLUMNS = (("IOPS", 8), ("bandwidth", 11), ("mean", 9), ("p99", 9))
_FINDINGS_FROM = 120
# Job names get so many cells more where there is room for them.
_MORE_FROM, _MORE_CELLS = 100, 10
_BAR_CELLS = 20
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
_PHASES = {
    "check": "waits until the disks are quiet",
    "prepare": "writes its files in full",
}


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
        lines += wrapped(
            clean(run.reason), first=Content(""), indent=0, width=width, style=marks.WARN, rows=2
        )
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
            lines.append(_measuring(_job(step, width, glyphs), done, view, width))
            continue
        if step.state is StepState.DONE:
            present = len(lines) + len(step.results)
        lines += _step_lines(step, width, glyphs)
    phase = []
    if run.phase in _PHASES:
        phase = [_phase(run, done, width, glyphs)]
    elif not plan_of(run, suite):
        # A suite that is not known here: what it measures now is all there is to say.
        lines.append(_measuring(clean(run.phase), done, view, width))
        present = len(lines) - 1
    return [
        *phase,
        *_window([_names(width, glyphs)], lines, present, rows - len(phase), glyphs),
    ]


def ended_lines(results: Sequence[JobResult], width: int, rows: int, glyphs: Glyphs) -> list[Line]:
    """The same of a run that is over: its results."""
    if not results:
        return [Content.styled("it has no results", marks.MUTED)]
    lines = [_result_line(result, width, glyphs) for result in results]
    return _window([_names(width, glyphs)], lines, 0, rows, glyphs)


def _job_cells(width: int) -> int:
    return JOB_CELLS + (_MORE_CELLS if width >= _MORE_FROM else 0)


def _job(of: Step | JobResult, width: int, glyphs: Glyphs) -> str:
    name = of.job.name if isinstance(of, Step) else of.job
    return job_cell(name, of.pass_index, of.member, glyphs, cells=_job_cells(width))


def _names(width: int, glyphs: Glyphs) -> Line:
    lead = f"{cell('verdict', _MARK_CELLS, glyphs)} {cell('job', _job_cells(width), glyphs)}"
    names = " ".join(cell(name, cells, glyphs, right=True) for name, cells in _COLUMNS)
    rest = "   findings" if width >= _FINDINGS_FROM else ""
    return Content.styled(f"{lead} {'':{_WAY_CELLS}} {names}{rest}", marks.MUTED)


def _step_lines(step: Step, width: int, glyphs: Glyphs) -> list[Line]:
    """A line for each result of what is done; one for what waits, with what it will be."""
    if step.results:
        return [_result_line(result, width, glyphs) for result in step.results]
    word = "no result" if step.state is StepState.DONE else "waiting"
    name = _job(step, width, glyphs)
    return [
        Content.assemble(
            (cell(f"{glyphs.idle} {word}", _MARK_CELLS, glyphs), marks.MUTED),
            (f" {name} {describe_job(step.job, glyphs)}", marks.MUTED),
        )
    ]


def _result_line(result: JobResult, width: int, glyphs: Glyphs) -> Line:
    """Verdict, job, direction, figures, and on wide screens the findings in words."""
    from appliance.figures.quantities import percentile_ns

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
    line = Content.assemble(
        (cell(mark.text, _MARK_CELLS, glyphs), mark.style),
        f" {_job(result, width, glyphs)} ",
        (cell(clean(result.direction), _WAY_CELLS, glyphs), marks.MUTED),
        (f" {cells}", "" if result.valid else marks.MUTED),
    )
    if width < _FINDINGS_FROM or not result.findings:
        return line
    why = clean("; ".join(finding.message for finding in result.findings))
    return Content.assemble(line, (f"   {why}", mark.style))


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
        (cell(f"{glyphs.pointer} {clean(run.phase)}", _MARK_CELLS, glyphs), marks.BUSY),
        " ",
        *_bar(done, glyphs),
    )
    room = max(0, width - line.cell_length - 2)
    return Content.assemble(line, f"  {cell(words, room, glyphs).rstrip()}")


def _measuring(name: str, done: Progress, view: View, width: int) -> Line:
    glyphs, snapshot = view.glyphs, view.snapshot
    iops: list[float] = []
    if snapshot is not None and snapshot.running is not None:
        iops = [one.iops for one in _told(snapshot.running, snapshot.live_jobs)]
    so_far = f"  {count(sum(iops))} IOPS so far" if iops else ""
    line = Content.assemble(
        (cell(f"{glyphs.pointer} measuring", _MARK_CELLS, glyphs), marks.BUSY),
        " ",
        (cell(name, _job_cells(width), glyphs), "bold"),
        " ",
        *_bar(done, glyphs),
    )
    return Content.assemble(line, so_far) if line.cell_length + len(so_far) <= width else line


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
