"""Two runs, imports or epochs side by side."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from appliance.figures.metric import Metric
from tui import marks
from tui.screens.charted import Charted, chart_keys
from tui.screens.results_page import PageScreen
from tui.sources.results import Comparison
from tui.widgets.keys import Scroll
from tui.widgets.panel import Panel, clean
from tui.widgets.results_compare import compare_lines


class CompareScreen(PageScreen[None], Charted[None]):
    """``a`` and ``b`` are keys as :meth:`tui.sources.results.Results.compare` has them."""

    NAME = "a comparison"
    BINDINGS: ClassVar[list[BindingType]] = [
        *chart_keys("m", footer="m"),
        Binding("I", "swap", "Invert", tooltip="B becomes A", id="compare.swap"),
    ]

    metric: Metric = Metric.IOPS

    def __init__(self, a: str, b: str) -> None:
        super().__init__()
        self._a, self._b = a, b
        self._found: Comparison | None = None

    def parts(self) -> ComposeResult:
        with Scroll(id="compare-scroll"):
            yield Panel(id="compare")

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(Scroll).focus()
        self._ask()

    def _ask(self) -> None:
        results, a, b, metric = self.main.world.results, self._a, self._b, self.metric

        def compared(found: Comparison) -> None:
            self._found = found
            # The run before has its number now; what was asked for meanwhile is still to come.
            if (a, b, metric) == (self._a, self._b, self.metric):
                self._a, self._b = found.a_key, found.b_key

        self.read("both sides", lambda: results.compare(a, b, metric), compared)

    def heading(self) -> tuple[str, Content]:
        names = f"{self._a or 'the run before'} and {self._b}".replace(":", " ")
        note = f"{self.metric}, {clean(names)}"
        return "COMPARE", Content.styled(note, marks.MUTED)

    def draw(self, width: int) -> None:
        found = self._found
        lines = [] if found is None else compare_lines(found, width - 1, self.glyphs)
        self.query_one("#compare", Panel).show(lines)

    def why_not(self, action: str) -> str:
        if action == "swap" and self._found is None:
            return "" if self.is_reading and self._a else "there is nothing to compare yet"
        return ""

    def action_swap(self) -> None:
        self._a, self._b = self._b, self._a
        self._ask()

    def metric_changed(self) -> None:
        self._ask()
