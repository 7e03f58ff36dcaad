"""A question before something is done; the answer that does nothing has the focus."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Footer, Static


class ConfirmScreen(ModalScreen[bool]):
    """Returns ``True`` only when the operator chose to do it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "left,right,up,down",
            "other",
            "Choose",
            tooltip="go to the other answer",
            id="confirm.other",
        ),
        Binding(
            "escape", "leave", "Back", tooltip="go back without doing anything", id="confirm.back"
        ),
    ]

    def __init__(self, title: str, text: Content, *, do: str, leave: str) -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._do = do
        self._leave = leave

    def compose(self) -> ComposeResult:
        with Vertical(classes="sheet question"):
            yield Static(self._title, classes="sheet-title", markup=False)
            yield Static(self._text, classes="question-text", markup=False)
            with Horizontal(classes="answers"):
                yield Button(Content(self._leave), id="leave", compact=True)
                yield Button(Content(self._do), id="do", compact=True)
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one("#leave", Button).focus()

    def on_resize(self) -> None:
        self.call_after_refresh(self._show_answer)

    def _show_answer(self) -> None:
        """On a terminal of a few lines, what enter does is seen before what is asked."""
        if self.focused is not None:
            self.focused.scroll_visible(animate=False)

    @on(Button.Pressed)
    def _chosen(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "do")

    def action_other(self) -> None:
        self.focus_next(Button)

    def action_leave(self) -> None:
        self.dismiss(False)
