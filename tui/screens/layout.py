"""Layout."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.content import Content

from tui.screens.base import MainScreen
from tui.widgets.panel import Panel, View, section


class LayoutScreen(MainScreen):
    NAME = "Layout"

    def body(self) -> ComposeResult:
        yield Panel(id="layout-heading")

    def draw(self, view: View, width: int) -> None:
        self.query_one("#layout-heading", Panel).show(
            [section("LAYOUT", Content(""), width, view.glyphs)]
        )
