"""What the stripe and its members did in the last minutes, or since the job began; pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.content import Content

from appliance.client.suite_facts import volume_of
from appliance.model.runs import RunRecord
from tui import marks
from tui.charts.axes import Axis, Unit
from tui.charts.line import Chart, Series
from tui.charts.markers import Marker
from tui.charts.table import table_of
from tui.marks import Glyphs
from tui.snapshot import TREND_SECONDS, Snapshot
from tui.tracks import Followed, Second, group, points, spread, waits
from tui.widgets.live import Shown, slow_words
from tui.widgets.panel import Line, View, clean, section

# More lines than these cannot be told apart: then the least, the median and the most are drawn.
_MOST_MEMBERS = 6
_STYLES = ("$secondary", "$accent", "$warning", "$success", "$foreground-muted")
# A second without readable counters is a gap.
_GAP_SECONDS = 5.0
_LEAST_ROWS = 5
# The last minutes advance in steps: if each second moved every cell, SSH would carry it.
_STEP_SECONDS = 5.0
# What is drawn of many members: fields of a Spread.
_OF_MANY = ("least", "median", "most")


@dataclass(frozen=True, slots=True)
class Choice:
    """How the chart is drawn: ``since_job`` from the beginning of the job on."""

    shown: Shown = Shown.IOPS
    since_job: bool = False


def group_of(run: RunRecord, snapshot: Snapshot) -> tuple[Followed, ...]:
    """The device that ``run`` measures and its members; nothing if they are not followed."""
    devices = snapshot.seconds[-1].devices if snapshot.seconds else ()
    volume = volume_of(run, snapshot.status)
    for one in devices:
        if one.member:
            continue
        if one.device == run.device or (volume is not None and one.label == volume.name):
            return group(devices, one)
    return ()


def chart_lines(
    run: RunRecord, view: View, width: int, rows: int, *, choice: Choice, marker: Marker
) -> list[Line]:
    """Heading with what is true now, legend, and chart, in ``rows`` lines."""
    snapshot, glyphs = view.snapshot, view.glyphs
    if rows < 1 or snapshot is None:
        return []
    devices = group_of(run, snapshot)
    # With the keys that change it.
    title = f"{choice.shown.words.upper()} (m), {_span(choice)} (z)"
    if not devices:
        words = "these disks are not followed here" if snapshot.seconds else "no figures yet"
        return [section(title, Content.styled(words, marks.MUTED), width, glyphs)]
    now = _now(devices, snapshot.seconds, choice.shown, width - cell_len(title) - 3, glyphs)
    if view.live_is_stale and view.live_age is not None:
        now = Content.styled(f"{glyphs.warn} {view.live_age:.0f} s old", marks.WARN)
    head = section(title, now, width, glyphs)
    if rows < _LEAST_ROWS:
        return [head]
    # Of what adds up, the volume would leave its members a flat line; it stands in the heading.
    summed = choice.shown is Shown.AWAIT or len(devices) == 1
    drawn = _chart(run, devices, view, choice, summed=summed)
    return [
        head,
        drawn.legend(width=width, marker=marker),
        *drawn.lines(width=width, height=rows - 2, marker=marker),
    ]


def numbers(run: RunRecord, view: View, choice: Choice) -> Content:
    """The numbers of the volume and its members, a second a line, the latest first."""
    devices = () if view.snapshot is None else group_of(run, view.snapshot)
    if not devices:
        return Content("there are no figures of these disks")
    made = table_of(_chart(run, devices, view, choice, summed=True))
    return Content("\n").join(made.lines(view.glyphs))


def _span(choice: Choice) -> str:
    return "this job" if choice.since_job else f"last {TREND_SECONDS // 60} min"


def _chart(
    run: RunRecord, devices: tuple[Followed, ...], view: View, choice: Choice, *, summed: bool
) -> Chart:
    """``summed``: with the volume itself."""
    seconds = () if view.snapshot is None else view.snapshot.seconds
    began = view.now - (view.wall - run.phase_started_at)
    if choice.since_job:
        elapsed = max(0.0, view.now - began)
        x = Axis(Unit.ELAPSED, low=0.0, high=max(run.phase_seconds, elapsed, 1.0))
        seconds = tuple(one for one in seconds if one.at >= began)
        shift = began
    else:
        high = math.ceil(view.now / _STEP_SECONDS) * _STEP_SECONDS
        x = Axis(Unit.AGO, low=high - TREND_SECONDS, high=high)
        shift = 0.0
    lines = _series(devices, seconds, choice.shown, shift)
    return Chart(lines if summed else lines[1:], x, Axis(choice.shown.unit))


def _series(
    devices: tuple[Followed, ...], seconds: Sequence[Second], shown: Shown, shift: float
) -> list[Series]:
    stripe, *members = devices
    lines = [_line(clean(stripe.label), _scaled(stripe, seconds, shown, shift), "bold $primary")]
    if len(members) <= _MOST_MEMBERS:
        lines += [
            _line(clean(one.label), _scaled(one, seconds, shown, shift), style)
            for one, style in zip(members, _STYLES * 2, strict=False)
        ]
        return lines
    apart = [(second.at - shift, spread(second, stripe, shown.figure)) for second in seconds]
    for number, (words, style) in enumerate(zip(_OF_MANY, _STYLES, strict=False)):
        made = [(at, _times(getattr(one, words), shown)) for at, one in apart]
        # All names must fit into 78 cells.
        name = words if number else f"{words} of {len(members)} members"
        lines.append(_line(name, made, style))
    return lines


def _line(name: str, found: Sequence[tuple[float, float | None]], style: str) -> Series:
    return Series(name, found, style, gap=_GAP_SECONDS)


def _scaled(
    device: Followed, seconds: Sequence[Second], shown: Shown, shift: float
) -> list[tuple[float, float | None]]:
    return [
        (at - shift, _times(value, shown)) for at, value in points(seconds, device, shown.figure)
    ]


def _now(
    devices: tuple[Followed, ...],
    seconds: Sequence[Second],
    shown: Shown,
    room: int,
    glyphs: Glyphs,
) -> Content:
    """The last second in figures, and the member that is slow; without one, as far as there is
    room, what the members do.
    """
    last = seconds[-1]
    value = points([last], devices[0], shown.figure)[0][1]
    now = Content.styled(f"now {shown.text(value, glyphs)}", marks.MUTED)
    between = spread(last, devices[0], shown.figure)
    low, high = (shown.text(one, glyphs) for one in (between.least, between.most))
    more = slow_words(waits(seconds, devices[0]), glyphs)
    if not more and between.least is not None:
        more = Content.styled(f"members {low} to {high}", marks.MUTED)
    both = Content.assemble(now, (f" {glyphs.dot} ", marks.MUTED), more)
    return both if more and both.cell_length <= room else now


def _times(value: float | None, shown: Shown) -> float | None:
    return None if value is None else value * shown.factor
