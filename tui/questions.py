"""The texts of the questions that are asked before something is done; pure."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from appliance.bench.run_progress import suite_seconds
from appliance.client.machine_status import VolumeStatus
from appliance.client.suite_facts import written_words
from appliance.model.runs import RunRecord, Suite
from appliance.text import duration, size
from tui import marks
from tui.marks import Glyphs
from tui.widgets.panel import Line, clean, labelled
from tui.widgets.suite import describe_job

# What fits into the question on a terminal of 80 columns, and of 24 lines.
_TEXT_CELLS = 72
_MOST_JOBS = 6


def start_question(suite: Suite, volume: VolumeStatus, glyphs: Glyphs) -> Content:
    """Say what ``suite`` does, where it writes and how long it takes."""
    passes = f" in {suite.passes} passes" if suite.passes > 1 else ""
    jobs = f"{len(suite.jobs)} job{'s' * (len(suite.jobs) > 1)}"
    facts = [
        (
            "measures",
            f"{jobs}{passes}, {duration(suite_seconds(suite))} in all, after its files are written",
        ),
        ("writes", written_words(suite, volume)),
    ]
    if volume.free_bytes is not None:
        facts.append(("free", f"{size(volume.free_bytes)} on {volume.name} now"))
    facts.append(("effect", "other I/O on these disks gets slower, and distorts the figures"))
    lines = _lines(facts)
    lines.append(Content(""))
    hidden = len(suite.jobs) - _MOST_JOBS
    shown = suite.jobs if hidden <= 0 else suite.jobs[: _MOST_JOBS - 1]
    lines += [
        Content.assemble(f"  {clean(job.name):18}", (describe_job(job, glyphs), marks.MUTED))
        for job in shown
    ]
    if hidden > 0:
        lines.append(Content.styled(f"  {glyphs.ellipsis} {hidden + 1} more jobs", marks.MUTED))
    return Content("\n").join(lines)


def cancel_question(run: RunRecord | None, suite: str) -> Content:
    """Say what is lost when a run is stopped."""
    if run is None:
        return Content(f"{clean(suite)} was asked to start and has not reported yet.")
    facts = [
        ("stops", f"{run.suite}, now in {run.phase}"),
        ("measures", run.target),
        ("keeps", "the results of finished jobs"),
        ("loses", "the running job; the run is marked as aborted"),
    ]
    return Content("\n").join(_lines(facts))


def _lines(facts: Sequence[tuple[str, str]]) -> list[Line]:
    return [line for label, text in facts for line in labelled(label, text, _TEXT_CELLS)]
