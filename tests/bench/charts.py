"""What a chart costs over an hour: our own beside libraries (docs/decisions/0035-charts.md).

``python -m tests.bench.charts own|plotext|textual-plot|none`` prints one JSON object. The libraries
are not among the dependencies: install them into an environment of their own, with this
repository on ``PYTHONPATH``. Every candidate draws the same two lines of 300 seconds with axes on
a screen of 200 × 60 cells without a terminal, 3,600 times with one second more each time.
``none`` shows a text of that size: what Textual costs by itself. The modules that every screen of
ours needs are loaded before anything is measured.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from textual.app import App
from textual.content import Content
from textual.widget import Widget

COLUMNS, ROWS, SECONDS, REDRAWS = 200, 60, 300, 3600


def rss_kib() -> int:
    """Resident memory of this process."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))


def values(end: int) -> tuple[list[float], list[float], list[float]]:
    """Times and two lines of bytes a second, up to the second ``end``."""
    times = [float(at) for at in range(end - SECONDS, end)]
    read = [
        1.6e9 * (1 + 0.08 * math.sin(at / 9) + 0.03 * ((at * 7919) % 13 - 6) / 6) for at in times
    ]
    return times, read, [0.5 * one for one in read]


def own() -> tuple[Widget, Callable[[int], None]]:
    from tui.charts.axes import Axis, Unit
    from tui.charts.line import Chart, Series
    from tui.charts.markers import Marker

    class Drawn(Widget):
        lines: list[Content] = []  # noqa: RUF012

        def render(self) -> Content:
            return Content("\n").join(self.lines)

    widget = Drawn()

    def draw(end: int) -> None:
        times, *both = values(end)
        widget.lines = Chart(
            [
                Series(name, list(zip(times, one, strict=True)), style)
                for name, one, style in zip(
                    ("read", "write"), both, ("cyan", "magenta"), strict=True
                )
            ],
            Axis(Unit.AGO, end - SECONDS, end - 1),
            Axis(Unit.BANDWIDTH),
        ).lines(width=COLUMNS, height=ROWS, marker=Marker.BRAILLE)
        widget.refresh()

    return widget, draw


def plotext() -> tuple[Widget, Callable[[int], None]]:
    from textual_plotext import PlotextPlot

    widget = PlotextPlot()

    def draw(end: int) -> None:
        times, *both = values(end)
        widget.plt.clear_data()
        for one in both:
            widget.plt.plot(times, one, marker="braille")
        widget.refresh()

    return widget, draw


def textual_plot() -> tuple[Widget, Callable[[int], None]]:
    from textual_plot import HiResMode, PlotWidget

    widget = PlotWidget()

    def draw(end: int) -> None:
        times, *both = values(end)
        widget.clear()
        for one, style in zip(both, ("cyan", "magenta"), strict=True):
            widget.plot(times, one, line_style=style, hires_mode=HiResMode.BRAILLE)

    return widget, draw


def none() -> tuple[Widget, Callable[[int], None]]:
    class Plain(Widget):
        text = ""

        def render(self) -> Content:
            return Content(self.text)

    widget = Plain()

    def draw(end: int) -> None:
        row = "".join(chr(0x2800 + (end * 31 + column) % 256) for column in range(COLUMNS))
        widget.text = "\n".join([row] * ROWS)
        widget.refresh()

    return widget, draw


async def measure(make: Callable[[], tuple[Widget, Callable[[int], None]]]) -> dict[str, Any]:
    importlib.import_module("tui.marks")
    before, began = rss_kib(), time.perf_counter()
    widget, draw = make()
    import_s = time.perf_counter() - began

    class Stage(App[None]):
        def compose(self) -> Any:
            yield widget

    app = Stage()
    async with app.run_test(size=(COLUMNS, ROWS)) as pilot:
        await pilot.pause()
        draw(SECONDS)
        await pilot.pause()
        started = rss_kib()
        marks = {}
        cpu = time.process_time()
        for second in range(1, REDRAWS + 1):
            draw(SECONDS + second)
            await pilot.pause()
            if second in {60, 600, REDRAWS}:
                marks[second] = rss_kib()
        cpu = time.process_time() - cpu
    return {
        "import_ms": round(import_s * 1000, 1),
        "rss_before_kib": before,
        "rss_first_redraw_kib": started,
        "rss_after_redraws_kib": marks,
        "cpu_ms_a_redraw": round(cpu / REDRAWS * 1000, 2),
    }


if __name__ == "__main__":
    name = sys.argv[1]
    made = {"own": own, "plotext": plotext, "textual-plot": textual_plot, "none": none}[name]
    print(json.dumps({"candidate": name, **asyncio.run(measure(made))}))
