"""Suites."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.content import Content

from tui.screens.base import MainScreen
from tui.widgets.panel import Panel, View, section


class SuitesScreen(MainScreen):
    NAME = "Suites"

    def body(self) -> ComposeResult:
        yield Panel(id="suites-heading")

    def draw(self, view: View, width: int) -> None:
        self.query_one("#suites-heading", Panel).show(
            [section("SUITES", Content(""), width, view.glyphs)]
        )
