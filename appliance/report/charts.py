"""The charts of a run: throughput over time, and each job's stripe and members. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from appliance import text
from appliance.report import svg
from appliance.report.markup import Markup, tag
from appliance.report.page import Band, JobDetail, MemberShare, Point, Series, Timeline

# Lines of this many members can still be told apart; more become a band.
MAX_LINES = 6
DETAIL_WIDTH = 400
_LEFT, _RIGHT = 46, 8
_TIMELINE_TOP = 30
# Room for the names at the ends of the members' lines.
_NAMES_PX = 88
# Dash patterns beside colours: a reader without colours, and a grey printer, tell lines apart.
_LINES = tuple(f"l m{index}" for index in range(MAX_LINES))


def timeline(timeline: Timeline, width: int) -> Markup:
    """What the stripe did over the whole run, with the jobs behind it."""
    plot_top, plot_bottom = _TIMELINE_TOP, 210
    highest = max((point.high for one in timeline.series for point in one.points), default=0.0)
    ticks, unit = svg.rate_ticks(highest, 4)
    x = svg.Scale(timeline.end_s, _LEFT, width - _RIGHT)
    y = svg.Scale(ticks[-1][0], plot_bottom, plot_top)
    parts = [_bands(timeline.bands, x, plot_top, plot_bottom)]
    parts += _y_axis(ticks, unit, y, width, top=plot_top)
    parts += _time_axis(timeline.end_s, x, plot_bottom, most=9 if width > 500 else 4)
    for one, kind in zip(timeline.series, ("read", "write"), strict=True):
        if any(point.high > 0 for point in one.points):
            parts += _curve(one, x, y, kind, banded=timeline.is_downsampled)
    parts += _peaks(timeline.series, x, y, width)
    words = "; ".join(
        f"{one.name} up to {text.bandwidth(max(point.high for point in one.points))}"
        for one in timeline.series
        if one.points
    )
    return svg.drawing(
        width,
        plot_bottom + 34,
        "Throughput of the stripe over time",
        f"Bytes a second in {len(timeline.bands)} jobs over {text.duration(timeline.end_s)}: "
        f"{words}. The table below has each job's figures.",
        *parts,
        kind="wide" if width > 500 else "narrow",
    )


def over_time(detail: JobDetail) -> Markup | None:
    """One job: the stripe above, its members below with a scale of their own."""
    if detail.whole is None:
        return None
    name = f"Throughput during {detail.row.label}"
    panels = [(detail.whole, "whole", 112)]
    if detail.members is not None:
        panels.append((detail.members, "members", 96))
    parts: list[Markup] = []
    top = 0.0
    for position, (timeline, kind, height) in enumerate(panels):
        last = position == len(panels) - 1
        parts += _panel(timeline, kind, detail, top=top, height=height, has_axis=last)
        top += height
    return svg.drawing(
        DETAIL_WIDTH,
        top + 32,
        name,
        f"Bytes a second of {detail.whole.series[0].name}"
        + ("; below, its members" if detail.members is not None else "")
        + ". The table below has the figures.",
        *parts,
    )


def _panel(
    timeline: Timeline, kind: str, detail: JobDetail, *, top: float, height: float, has_axis: bool
) -> list[Markup]:
    many = len(timeline.series) > MAX_LINES
    labels = kind == "members" and not many
    right = _NAMES_PX if labels else _RIGHT
    plot_top, plot_bottom = top + 24, top + height - 2
    highest = max((point.high for one in timeline.series for point in one.points), default=0.0)
    ticks, unit = svg.rate_ticks(highest, 3)
    # Panels above each other share their time: the plot ends where the labels begin.
    shared = (
        _NAMES_PX
        if detail.members is not None and len(detail.members.series) <= MAX_LINES
        else right
    )
    x = svg.Scale(timeline.end_s, _LEFT, DETAIL_WIDTH - shared)
    y = svg.Scale(ticks[-1][0], plot_bottom, plot_top)
    title = f"{timeline.series[0].name}, {detail.row.of.direction}"
    if kind == "members":
        title = f"{len(timeline.series)} members, read and written"
    if many:
        slowest = svg.fitting(_slowest(timeline).name, 80)
        title = f"{len(timeline.series)} members, dashed: slowest, {slowest}"
    parts = [
        *_y_axis(ticks, unit, y, DETAIL_WIDTH - shared + _RIGHT, top=plot_top),
        svg.label(
            DETAIL_WIDTH - shared,
            top + 15,
            svg.fitting(title, DETAIL_WIDTH - shared - _LEFT),
            anchor="end",
        ),
    ]
    if has_axis:
        parts += _time_axis(timeline.end_s, x, plot_bottom, most=4)
    if kind == "whole":
        tone = "write" if detail.row.of.direction == "write" else "read"
        parts += _curve(timeline.series[0], x, y, tone, banded=timeline.is_downsampled)
    elif many:
        parts += _spread_of_members(timeline, x, y)
    else:
        for one, line in zip(timeline.series, _LINES, strict=False):
            parts += [_line(segment, x, y, line) for segment in one.segments]
        parts += _end_labels(timeline.series, y, DETAIL_WIDTH - shared, plot_top, plot_bottom)
    return parts


def balance(detail: JobDetail) -> Markup | None:
    """Bytes (I/Os where bytes are not known) and await of each member, beside each other."""
    shares = detail.shares
    if not shares:
        return None
    step = 18 if len(shares) <= 12 else 15
    top, name_px, value_px = 40, 78, 66
    room = (DETAIL_WIDTH - name_px - 2 * value_px - 16) / 2
    begin = name_px + room + value_px + 12
    bottom = top + step * len(shares)
    moved = [_moved(share) for share in shares]
    awaits = [share.await_ms for share in shares if share.await_ms is not None]
    moved_x = svg.Scale(max(value for value, _ in moved), name_px, name_px + room)
    await_x = svg.Scale(max(awaits, default=1.0), begin, begin + room)
    what = "Bytes" if shares[0].size_bytes is not None else "I/Os"
    verb = "written" if detail.row.of.direction == "write" else "read"
    parts: list[Markup] = [
        svg.label(name_px, 14, f"{what} {verb}"),
        svg.label(begin, 14, "Await (mean)"),
    ]
    for x, values in ((moved_x, [value for value, _ in moved]), (await_x, awaits)):
        if values:
            middle = x(statistics.median(values))
            parts.append(svg.line(middle, top - 6, middle, bottom, "median"))
            parts.append(svg.label(x.begin, top - 10, "dashed: median", kind="t small"))
    for index, share in enumerate(shares):
        parts += _share(share, (top + step * index, step), moved_x, await_x)
    return svg.drawing(
        DETAIL_WIDTH,
        bottom + 6,
        f"Members during {detail.row.label}",
        f"{what} {verb} and mean time of an I/O for {len(shares)} members; "
        "the table below has the same figures.",
        *parts,
    )


def _moved(share: MemberShare) -> tuple[float, str]:
    if share.size_bytes is None:
        return float(share.ios), text.count(share.ios)
    return float(share.size_bytes), text.size(share.size_bytes)


def _share(
    share: MemberShare, place: tuple[float, float], moved_x: svg.Scale, await_x: svg.Scale
) -> list[Markup]:
    """One member's line; ``place`` is its top and its height."""
    y, step = place
    left, baseline = moved_x.begin, y + step - 5
    value, words = _moved(share)
    end = moved_x(value)
    parts = [
        svg.label(left - 6, baseline, svg.fitting(share.member, left - 8), anchor="end"),
        svg.rect(left, y + 2, end - left, step - 5, "bar"),
        svg.label(end + 4, baseline, words),
    ]
    if share.await_ms is None:
        return [
            *parts,
            svg.label(await_x.begin, baseline, "no I/O" if share.ios == 0 else "not known"),
        ]
    at = await_x(share.await_ms)
    return [
        *parts,
        svg.line(await_x.begin, y + step / 2, at, y + step / 2, "stem"),
        svg.mark("dot", at, y + step / 2, "dot"),
        svg.label(at + 8, baseline, text.latency(share.await_ms * 1e6)),
    ]


def _y_axis(
    ticks: Iterable[tuple[float, str]], unit: str, y: svg.Scale, right: float, *, top: float
) -> list[Markup]:
    parts = [svg.label(2, top - 9, unit, kind="t axis")]
    for value, words in ticks:
        kind = "zero" if value == 0 else "grid"
        parts.append(svg.line(_LEFT, y(value), right - _RIGHT, y(value), kind))
        parts.append(svg.label(_LEFT - 6, y(value) + 4, words, anchor="end", kind="t axis"))
    return parts


def _time_axis(end_s: float, x: svg.Scale, bottom: float, *, most: int) -> list[Markup]:
    parts = []
    for at, words in svg.time_ticks(end_s, most):
        anchor = "middle" if x.begin < x(at) < x.end - 16 else "start" if at == 0 else "end"
        parts.append(svg.line(x(at), bottom, x(at), bottom + 4, "zero"))
        parts.append(svg.label(x(at), bottom + 17, words, anchor=anchor, kind="t axis"))
    return parts


def _bands(bands: Sequence[Band], x: svg.Scale, top: float, bottom: float) -> Markup:
    parts = []
    for index, band in enumerate(bands):
        begin, end = x(band.begin_s), x(band.end_s)
        parts.append(svg.rect(begin, top - 18, end - begin, bottom - top + 18, f"band{index % 2}"))
        room = end - begin - 6
        named = f"{band.number} {band.job}"
        words = svg.fitting(named, room)
        # A name that is mostly cut says less than the number alone.
        if len(words) < min(len(named), 12):
            words = str(band.number) if svg.width_of(str(band.number)) <= room + 4 else ""
        if words:
            parts.append(
                svg.label((begin + end) / 2, top - 5, words, anchor="middle", kind="t over")
            )
    return tag("g", *parts)


def _curve(one: Series, x: svg.Scale, y: svg.Scale, kind: str, *, banded: bool) -> list[Markup]:
    parts = []
    for segment in one.segments:
        if banded:
            edge = [(x(point.at_s), y(point.high)) for point in segment]
            edge += [(x(point.at_s), y(point.low)) for point in reversed(segment)]
            parts.append(svg.path(edge, f"range {kind}", closed=True))
        parts.append(_line(segment, x, y, f"l {kind}"))
    return parts


def _line(segment: Sequence[Point], x: svg.Scale, y: svg.Scale, kind: str) -> Markup:
    return svg.path([(x(point.at_s), y(point.mean)) for point in segment], kind)


def _peaks(series: Sequence[Series], x: svg.Scale, y: svg.Scale, width: float) -> list[Markup]:
    """Each line's name at its highest point: a legend would be far from what it names."""
    parts = []
    for one, kind in zip(series, ("read", "write"), strict=True):
        if not one.points or max(point.high for point in one.points) <= 0:
            continue
        peak = max(one.points, key=lambda point: point.mean)
        at = min(max(x(peak.at_s), _LEFT + 18), width - 30)
        above = y(peak.mean) - 6
        # Not into the names of the jobs.
        place = above if above > _TIMELINE_TOP + 10 else y(peak.mean) + 15
        parts.append(svg.label(at, place, one.name, anchor="middle", kind=f"t {kind}"))
    return parts


def _slowest(timeline: Timeline) -> Series:
    """The member that moved the fewest bytes."""
    return min(
        timeline.series,
        key=lambda one: sum(point.mean for point in one.points) / max(1, len(one.points)),
    )


def _spread_of_members(timeline: Timeline, x: svg.Scale, y: svg.Scale) -> list[Markup]:
    """Many members as the range between the slowest and the fastest, and the slowest alone."""
    steps: dict[float, list[float]] = {}
    for one in timeline.series:
        for point in one.points:
            steps.setdefault(round(point.at_s, 1), []).append(point.mean)
    times = sorted(steps)
    edge = [(x(at), y(max(steps[at]))) for at in times]
    edge += [(x(at), y(min(steps[at]))) for at in reversed(times)]
    middle = [(x(at), y(statistics.median(steps[at]))) for at in times]
    parts = [svg.path(edge, "range members", closed=True), svg.path(middle, "l m0")]
    return parts + [_line(segment, x, y, "l m1") for segment in _slowest(timeline).segments]


def _end_labels(
    series: Sequence[Series], y: svg.Scale, right: float, top: float, bottom: float
) -> list[Markup]:
    """Names at the right ends of the lines, apart from each other, with a thin line to each."""
    ends = sorted(
        (
            (y(one.points[-1].mean), one.name, line)
            for one, line in zip(series, _LINES, strict=False)
        ),
    )
    placed = svg.spread([end for end, _, _ in ends], 12, top + 4, bottom + 4)
    parts = []
    for (end, name, line), at in zip(ends, placed, strict=True):
        parts.append(svg.line(right + 1, end, right + 7, at - 4, "leader"))
        parts.append(svg.line(right + 7, at - 4, right + 21, at - 4, line))
        parts.append(svg.label(right + 24, at, svg.fitting(name, _NAMES_PX - 26)))
    return parts
