"""The texts of the questions that are asked before something is done; pure."""

from __future__ import annotations

from textual.content import Content

from appliance.model import RunRecord, Suite
from appliance.paths import BENCH_DIR_NAME
from appliance.status import VolumeStatus
from appliance.text import duration, size
from tui import marks
from tui.marks import Glyphs
from tui.progress import suite_seconds
from tui.widgets.panel import clean, wrapped
from tui.widgets.suite import describe_job

_LABEL_CELLS = 10
# What fits into the question on a terminal of 80 columns.
_TEXT_CELLS = 72


def start_question(suite: Suite, volume: VolumeStatus, glyphs: Glyphs) -> Content:
    """Say what ``suite`` does, where it writes and how long it takes."""
    folder = f"{clean(volume.mount).rstrip('/')}/{BENCH_DIR_NAME}"
    free = "" if volume.free_bytes is None else f"; {size(volume.free_bytes)} are free"
    facts = [
        ("measures", f"{len(suite.jobs)} jobs, {duration(suite_seconds(suite))} in all"),
        ("before", "writes its files in full, so that there is something to read"),
        ("writes", f"only its own files in {folder}"),
        ("leaves", f"everything else on the volume as it is{free}"),
        ("effect", "other work on these disks gets slower, and spoils the figures"),
    ]
    lines = [line for label, text in facts for line in _fact(label, text)]
    lines.append(Content(""))
    lines += [
        Content.assemble(f"  {clean(job.name):18}", (describe_job(job, glyphs), marks.MUTED))
        for job in suite.jobs
    ]
    return Content("\n").join(lines)


def cancel_question(run: RunRecord | None, suite: str) -> Content:
    """Say what is lost when a run is stopped."""
    if run is None:
        return Content(f"{clean(suite)} was asked to start and has not reported yet.")
    facts = [
        ("stops", f"{clean(run.suite)}, now in {clean(run.phase)}"),
        ("keeps", "the results of the jobs that are finished"),
        ("loses", "the job that is being measured; the run is marked as aborted"),
    ]
    return Content("\n").join([line for label, text in facts for line in _fact(label, text)])


def _fact(label: str, text: str) -> list[Content]:
    first = Content.styled(label, marks.MUTED)
    return wrapped(text, first=first, indent=_LABEL_CELLS, width=_TEXT_CELLS)
