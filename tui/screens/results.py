"""Results."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.content import Content

from tui.screens.base import MainScreen
from tui.widgets.panel import Panel, View, section


class ResultsScreen(MainScreen):
    NAME = "Results"

    def body(self) -> ComposeResult:
        yield Panel(id="results-heading")

    def draw(self, view: View, width: int) -> None:
        self.query_one("#results-heading", Panel).show(
            [section("RESULTS", Content(""), width, view.glyphs)]
        )
