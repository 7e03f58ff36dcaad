"""A sheet of text over the present screen: details, results, help."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, Static


class ReadingScreen(ModalScreen[None]):
    """Shows ``text`` under ``title``, scrolling where it is longer than the screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "escape", "dismiss", "Back", tooltip="go back to the screen below", id="sheet.back"
        ),
        Binding("q", "app.quit", "Quit", tooltip="leave; running work continues", id="sheet.quit"),
    ]

    def __init__(self, title: str, text: Content) -> None:
        super().__init__()
        self._title = title
        self._text = text

    def compose(self) -> ComposeResult:
        with Vertical(classes="sheet"):
            yield Static(self._title, classes="sheet-title", markup=False)
            with VerticalScroll(classes="sheet-body"):
                yield Static(self._text, markup=False)
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()
