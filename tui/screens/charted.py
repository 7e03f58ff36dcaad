"""What screens with charts share: the keys for what is drawn, and what of it is remembered."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from textual.binding import Binding, BindingType

from tui import marks
from tui.charts.markers import Marker
from tui.screens.base import FrameScreen
from tui.settings import ZOOMS
from tui.widgets.live import Shown

if TYPE_CHECKING:
    from appliance.figures.metric import Metric

T = TypeVar("T")
_KEYS = {
    "m": ("metric", "Metric", "draw another figure"),
    "z": ("zoom", "Zoom", "change time span"),
    "T": ("numbers", "Numbers", "the figures as a table"),
    "M": ("marker", "Marker", "change chart characters"),
}


def chart_keys(keys: str, *, footer: str = "") -> list[BindingType]:
    """Those of ``m``, ``z``, ``T`` and ``M`` that a screen has; which of them are in the footer."""
    return [
        Binding(key, action, name, tooltip=tooltip, show=key in footer, id=f"chart.{action}")
        for key, (action, name, tooltip) in _KEYS.items()
        if key in keys
    ]


class Charted(FrameScreen[T]):
    """Behind the base that draws: ``class X(PageScreen[None], Charted[None])``."""

    metric: Metric | Shown
    # Numbers are shown in place of the chart.
    numbers = False

    @property
    def marker(self) -> Marker:
        """The one that is remembered, where this terminal can show it."""
        return Marker.chosen(self.main.world.settings.get("marker"), self.glyphs)

    @property
    def days(self) -> int | None:
        """How many days of a series are drawn; ``None`` is all of it."""
        return ZOOMS[self.zoom]

    @property
    def zoom(self) -> str:
        """The same in words, as it is remembered."""
        return self.main.world.settings.get("zoom") or next(iter(ZOOMS))

    def redraw(self) -> None:
        """Draw everything again."""
        raise NotImplementedError

    def metric_changed(self) -> None:
        """Ask for what is drawn now."""

    def why_not(self, action: str) -> str:
        only_ascii = action == "marker" and self.glyphs is marks.ASCII
        return "this terminal shows ASCII only" if only_ascii else ""

    def action_metric(self) -> None:
        self.metric = self.metric.next
        self.metric_changed()
        self.redraw()

    def action_zoom(self) -> None:
        zooms = [*ZOOMS]
        self.main.remember("zoom", zooms[(zooms.index(self.zoom) + 1) % len(zooms)])
        self.redraw()

    def action_numbers(self) -> None:
        self.numbers = not self.numbers
        self.redraw()

    def action_marker(self) -> None:
        self.main.remember("marker", self.marker.next(self.glyphs).value)
        self.redraw()
