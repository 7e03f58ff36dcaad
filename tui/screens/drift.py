"""Drift."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.content import Content

from tui.screens.base import MainScreen
from tui.widgets.panel import Panel, View, section


class DriftScreen(MainScreen):
    NAME = "Drift"

    def body(self) -> ComposeResult:
        yield Panel(id="drift-heading")

    def draw(self, view: View, width: int) -> None:
        self.query_one("#drift-heading", Panel).show(
            [section("DRIFT", Content(""), width, view.glyphs)]
        )
