"""What a history says of its machine: the first lines of the overview over a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from appliance.text import moment
from tui import marks
from tui.widgets.panel import Line, View, age, clean, labelled

if TYPE_CHECKING:
    from appliance.client.machine_status import Status
    from appliance.model.runs import EpochRecord

# Volumes whose layout is shown in full.
_VOLUMES = 4


def history_lines(view: View, status: Status, width: int) -> list[Line]:
    """Of which machine, since when it is as it was, its layout, and what drift it last knew."""
    glyphs, epoch = view.glyphs, status.epoch
    machine = "" if status.machine is None else status.machine.machine_type
    of = ", ".join(clean(part) for part in (status.summary, machine) if part)
    words = f"of {of or 'a machine without a name'}; nothing here is live"
    mark = marks.history(glyphs)
    lines = labelled((mark.text, f"bold {mark.style}"), words, width, rows=3)
    lines += labelled("file", view.history, width, rows=2)
    if view.status_is_stale and view.status_age is not None:
        lines += labelled(
            ("stale", marks.WARN), f"this is {age(view.status_age)}", width, marks.WARN, rows=2
        )
    if status.drift is not None and status.drift.is_known:
        drift = marks.drift(status.drift, glyphs)
        at = status.drift.checked_at
        when = "" if at is None else f", as of {moment(at)}"
        kept = f"{drift.glyph} {status.drift.words}{when}"
        lines += labelled(("drift", drift.style), kept, width, drift.style, rows=2)
    if epoch is not None:
        lines += _epoch(epoch, width)
    if status.history_problem:
        lines += labelled("history", status.history_problem, width, rows=2)
    return lines


def _epoch(epoch: EpochRecord, width: int) -> list[Line]:
    from appliance.model.layout_words import filesystem_words, stripe_words

    known = epoch.fingerprint
    software = [f"{name} {known[name]}" for name in ("kernel", "fio") if known.get(name)]
    since = ", ".join([f"{epoch.id}, since {moment(epoch.opened_at)}", *software])
    lines = labelled("epoch", since, width, rows=2)
    stripes = known.get("stripe", "").split("; ")
    filesystems = known.get("filesystem", "").split("; ")
    for number, stripe in enumerate(stripes[:_VOLUMES]):
        if not stripe:
            continue
        parts = [stripe_words(stripe)]
        if len(filesystems) == len(stripes):
            parts.append(filesystem_words(filesystems[number]))
        label = "layout" if len(stripes) == 1 else f"volume {number + 1}"
        lines += labelled(label, "; ".join(part for part in parts if part), width, rows=2)
    if len(stripes) > _VOLUMES:
        lines += labelled("", f"and {len(stripes) - _VOLUMES} more volumes", width)
    return lines
