"""Is the stripe healthy: the first lines of the overview."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from appliance.text import duration, size
from tui import marks
from tui.marks import Glyphs
from tui.widgets.panel import LABEL_CELLS, Line, View, age, clean, labelled

if TYPE_CHECKING:
    from appliance.client.machine_status import Status, VolumeStatus
    from appliance.client.plan_requests import ApplyProgress

_LONG_READ_SECONDS = 3.0
# A filesystem with a smaller share free is about to be full.
_LEAST_FREE = 0.05


def health_lines(view: View, width: int, *, brief: bool = False) -> list[Line]:
    """Health with its reason and what to do, then every volume with geometry and room.

    ``brief``: each of several volumes has but one line.
    """
    snapshot, glyphs = view.snapshot, view.glyphs
    if snapshot is None or snapshot.status is None:
        if snapshot is not None and snapshot.status_problem:
            failed = (f"{glyphs.bad} NOT READ", f"bold {marks.BAD}")
            return labelled(failed, snapshot.status_problem, width, rows=3)
        waited = view.now - view.started
        what = "the state of this machine"
        if waited > _LONG_READ_SECONDS:
            what += f", for {duration(waited)} now"
        return labelled((f"{glyphs.busy} READING", marks.BUSY), what, width, rows=3)
    status = snapshot.status
    if view.history:
        from tui.widgets.history import history_lines

        return history_lines(view, status, width)
    mark = marks.health(status.health, glyphs)
    lead = (mark.text, f"bold {mark.style}")
    lines = labelled(lead, status.summary or mark.word.lower(), width, rows=3)
    if status.hint:
        lines += labelled("next", status.hint, width, rows=2)
    for one in status.host:
        code = (one.code, marks.WARN)
        lines += labelled(code, f"{one.summary}; {one.next_step}", width, marks.WARN, rows=2)
    if view.status_is_stale and view.status_age is not None:
        why = f": {snapshot.status_problem}" if snapshot.status_problem else ""
        stale = ("stale", marks.WARN)
        lines += labelled(stale, f"this is {age(view.status_age)}{why}", width, marks.WARN, rows=2)
    if snapshot.applying is not None:
        lines += _applying(snapshot.applying, view, width)
    if status.drift is not None and status.drift.is_known:
        # The most severe finding is named, the rest counted.
        drift = marks.drift(status.drift, glyphs)
        words = f"{drift.glyph} {status.drift.words}"
        lines += labelled("drift", words, width, drift.style, rows=1)
    several = len(status.volumes) > 1
    for volume in status.volumes:
        lines += _volume(volume, status, width, glyphs)[: 1 if brief and several else None]
    if status.history_problem:
        lines += labelled("history", status.history_problem, width, rows=2)
    return lines


def _applying(doing: ApplyProgress, view: View, width: int) -> list[Line]:
    """The plan that is being carried out, by any operator."""
    since = f", for {duration(max(0.0, view.now - doing.at_monotonic_s))}"
    volume = f"{doing.volume}: " if doing.volume else ""
    words = f"step {doing.step} of {doing.steps}{since}: {volume}{doing.why}"
    return labelled((f"{view.glyphs.busy} APPLYING", f"bold {marks.BUSY}"), words, width, rows=2)


def _volume(volume: VolumeStatus, status: Status, width: int, glyphs: Glyphs) -> list[Line]:
    """Two lines for a volume that is there; what is wrong with it, if it is not the summary."""
    dot = f" {glyphs.dot} "
    name = Content.styled(clean(volume.name), "bold")
    if not volume.is_up:
        if volume.reason in {"", status.summary}:
            return []
        return labelled(name, f"{volume.outcome}: {volume.reason}", width, rows=3)
    count = len(volume.members)
    shape = f"{clean(volume.level)} {glyphs.times} {count}" if volume.level else "one disk"
    geometry = [shape]
    for label, value in (
        ("chunk", volume.chunk_bytes),
        ("sunit", volume.sunit_bytes),
        ("swidth", volume.swidth_bytes),
    ):
        if value:
            geometry.append(f"{label} {size(value)}")
    lead = name.pad_right(max(1, LABEL_CELLS - name.cell_length))
    first = Content.assemble(lead, ", ".join(geometry))
    if volume.degraded:
        missing = f" {glyphs.warn} {volume.degraded} missing {clean(volume.sync)}".rstrip()
        first = Content.assemble(first, (missing, marks.WARN))
    elif volume.level and volume.mount:
        proof = (
            (f"{glyphs.good} aligned", marks.GOOD)
            if volume.geometry_proved
            else (f"{glyphs.warn} not aligned", marks.WARN)
        )
        first = Content.assemble(first, " ", proof)
    return [first, Content.assemble(" " * LABEL_CELLS, Content(dot).join(_room(volume, status)))]


def _room(volume: VolumeStatus, status: Status) -> list[Content]:
    room = [Content(clean(volume.mount) or "no filesystem")]
    if volume.size_bytes:
        free = ("", "")
        if volume.free_bytes is not None:
            full = volume.free_bytes < _LEAST_FREE * volume.size_bytes
            free = (f", {size(volume.free_bytes)} free", marks.WARN if full else "")
        room.append(Content.assemble(size(volume.size_bytes), free))
    room.append(Content(clean(volume.device)))
    if status.epoch is not None:
        room.append(Content(f"epoch {status.epoch.id}"))
    return room
