"""Log."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.content import Content

from tui.screens.base import MainScreen
from tui.widgets.panel import Panel, View, section


class LogScreen(MainScreen):
    NAME = "Log"

    def body(self) -> ComposeResult:
        yield Panel(id="log-heading")

    def draw(self, view: View, width: int) -> None:
        self.query_one("#log-heading", Panel).show(
            [section("LOG", Content(""), width, view.glyphs)]
        )
