"""How fast it is now: one row for each volume and each of its members."""

from __future__ import annotations

from textual.content import Content

from appliance.model import Sample
from appliance.text import bandwidth, count
from tui import marks
from tui.marks import Glyphs
from tui.snapshot import LiveDevice
from tui.widgets.panel import Line, View, age, cell, clean, milliseconds

_NAME_CELLS = 12
_COLUMNS = (
    ("read", 11),
    ("write", 11),
    ("IOPS read", 11),
    ("IOPS write", 11),
    ("await", 9),
    ("busy", 5),
)


def live_lines(view: View, width: int, rows: int) -> list[Line]:
    """Heading and figures in at most ``rows`` lines (at least three)."""
    snapshot, glyphs = view.snapshot, view.glyphs
    devices = () if snapshot is None else snapshot.live
    hidden = max(0, len(devices) - (rows - 1))
    if hidden:
        hidden += 1
        devices = devices[: len(devices) - hidden]
    extra = _extra_cells(width)
    lines = [_heading(view, extra)]
    lines += [_row(device, view, extra) for device in devices]
    if hidden:
        lines.append(Content.styled(f"  {glyphs.ellipsis} {hidden} more members", marks.MUTED))
    return lines


def _extra_cells(width: int) -> int:
    """Cells that each column may be wider than on a terminal of 80, to fill wide ones calmly."""
    spare = width - _NAME_CELLS - sum(cells + 1 for _, cells in _COLUMNS)
    return max(0, min(6, spare // (len(_COLUMNS) + 1)))


def _heading(view: View, extra: int) -> Line:
    glyphs = view.glyphs
    if view.live_is_stale and view.live_age is not None:
        title, style = f"{glyphs.warn} {age(view.live_age)}", f"bold {marks.WARN}"
    else:
        title, style = "NOW", marks.TITLE
    names = " ".join(cell(name, cells + extra, glyphs, right=True) for name, cells in _COLUMNS)
    return Content.assemble(
        (cell(title, _NAME_CELLS + extra, glyphs), style), " ", (names, marks.MUTED)
    )


def _row(device: LiveDevice, view: View, extra: int) -> Line:
    glyphs = view.glyphs
    label = f"  {clean(device.label)}" if device.member else clean(device.label)
    name_style = "" if device.member else "bold"
    sample = device.sample
    figures = ["-"] * len(_COLUMNS) if sample is None else _figures(sample, glyphs)
    style = marks.MUTED if view.live_is_stale else name_style
    cells = " ".join(
        cell(figure, cells + extra, glyphs, right=True)
        for figure, (_, cells) in zip(figures, _COLUMNS, strict=True)
    )
    return Content.assemble(
        (cell(label, _NAME_CELLS + extra, glyphs), name_style), " ", (cells, style)
    )


def _figures(sample: Sample, glyphs: Glyphs) -> list[str]:
    idle = sample.read_iops + sample.write_iops == 0
    return [
        bandwidth(sample.read_bytes_per_s),
        bandwidth(sample.write_bytes_per_s),
        count(sample.read_iops),
        count(sample.write_iops),
        "-" if idle else milliseconds(sample.await_ms, glyphs),
        f"{min(1.0, sample.util) * 100:.0f} %",
    ]
