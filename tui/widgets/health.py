"""Is the stripe healthy: the first lines of the overview."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from appliance.text import duration, size
from tui import marks
from tui.marks import Glyphs
from tui.widgets.panel import Line, View, age, clean, wrapped

if TYPE_CHECKING:
    from appliance.client.machine_status import Status, VolumeStatus
    from appliance.client.plan_requests import ApplyProgress
    from appliance.drift.check_summary import DriftSummary

_INDENT = 11
_LONG_READ_SECONDS = 3.0


def health_lines(view: View, width: int, *, brief: bool = False) -> list[Line]:
    """Health with its reason and what to do, then every volume with geometry and room.

    ``brief``: each of several volumes has but one line.
    """
    snapshot, glyphs = view.snapshot, view.glyphs
    if snapshot is None or snapshot.status is None:
        if snapshot is not None and snapshot.status_problem:
            failed = Content.styled(f"{glyphs.bad} NOT READ", f"bold {marks.BAD}")
            problem = clean(snapshot.status_problem)
            return wrapped(problem, first=failed, indent=_INDENT, width=width)
        reading = Content.styled(f"{glyphs.busy} READING", marks.BUSY)
        waited = view.now - view.started
        what = "the state of this machine"
        if waited > _LONG_READ_SECONDS:
            what += f", for {duration(waited)} now"
        return wrapped(what, first=reading, indent=_INDENT, width=width)
    status = snapshot.status
    if view.history:
        from tui.widgets.history import history_lines

        return history_lines(view, status, width)
    mark = marks.health(status.health, glyphs)
    lines = wrapped(
        clean(status.summary) or mark.word.lower(),
        first=Content.styled(mark.text, f"bold {mark.style}"),
        indent=_INDENT,
        width=width,
    )
    if status.hint:
        lines += _labelled("next", clean(status.hint), width)
    for one in status.host:
        lines += _labelled(one.code, clean(f"{one.summary}; {one.next_step}"), width, marks.WARN)
    if view.status_is_stale and view.status_age is not None:
        why = f": {clean(snapshot.status_problem)}" if snapshot.status_problem else ""
        lines += _labelled("stale", f"this is {age(view.status_age)}{why}", width, marks.WARN)
    if snapshot.applying is not None:
        lines += _applying(snapshot.applying, view, width)
    if status.drift is not None and status.drift.is_known:
        lines += _drift(status.drift, width, glyphs)
    several = len(status.volumes) > 1
    for volume in status.volumes:
        lines += _volume(volume, status, width, glyphs)[: 1 if brief and several else None]
    if status.history_problem:
        lines += _labelled("history", clean(status.history_problem), width)
    return lines


def _applying(doing: ApplyProgress, view: View, width: int) -> list[Line]:
    """The plan that is being carried out, by any operator."""
    since = f", for {duration(max(0.0, view.now - doing.at_monotonic_s))}"
    volume = f"{clean(doing.volume)}: " if doing.volume else ""
    words = f"step {doing.step} of {doing.steps}{since}: {volume}{clean(doing.why)}"
    first = Content.styled(f"{view.glyphs.busy} APPLYING", f"bold {marks.BUSY}")
    return wrapped(words, first=first, indent=_INDENT, width=width, rows=2)


def _labelled(label: str, text: str, width: int, style: str = "") -> list[Line]:
    first = Content.styled(label, style or marks.MUTED)
    return wrapped(text, first=first, indent=_INDENT, width=width, style=style, rows=2)


def _drift(drift: DriftSummary, width: int, glyphs: Glyphs) -> list[Line]:
    """One line: the most severe finding is named, the rest counted."""
    mark = marks.drift(drift, glyphs)
    return wrapped(
        f"{mark.glyph} {clean(drift.words)}",
        first=Content.styled("drift", marks.MUTED),
        indent=_INDENT,
        width=width,
        style=mark.style,
        rows=1,
    )


def _volume(volume: VolumeStatus, status: Status, width: int, glyphs: Glyphs) -> list[Line]:
    """Two lines for a volume that is there; what is wrong with it, if it is not the summary."""
    dot = f" {glyphs.dot} "
    name = Content.styled(clean(volume.name), "bold")
    if not volume.is_up:
        if volume.reason in {"", status.summary}:
            return []
        return wrapped(
            f"{clean(volume.outcome)}: {clean(volume.reason)}",
            first=name,
            indent=_INDENT,
            width=width,
        )
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
    lead = name.pad_right(max(1, _INDENT - name.cell_length))
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
    return [first, Content.assemble(" " * _INDENT, dot.join(_room(volume, status)))]


def _room(volume: VolumeStatus, status: Status) -> list[str]:
    room = [clean(volume.mount) or "no filesystem"]
    if volume.size_bytes:
        free = "" if volume.free_bytes is None else f", {size(volume.free_bytes)} free"
        room.append(f"{size(volume.size_bytes)}{free}")
    room.append(clean(volume.device))
    if status.epoch is not None:
        room.append(f"epoch {status.epoch.id}")
    return room
