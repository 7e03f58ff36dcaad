"""A question with a line for a note on a finding."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Footer, Input, Static

from appliance.drift.lifecycle import MAX_NOTE_CHARS


class NoteScreen(ModalScreen[str | None]):
    """Returns the note, which may be empty, or ``None`` if it is not to be done.

    The focus is on the line for the note, where enter does it; with ``careful`` it is on the
    answer that does nothing, and only the other answer does it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "app.focus_next", "Next", tooltip="to the next field", id="note.next"),
        Binding("up", "app.focus_previous", "Previous", tooltip="to the field before", show=False,
                id="note.previous"),
        Binding("escape", "leave", "Back", tooltip="go back without doing anything",
                id="note.back"),
    ]  # fmt: skip

    def __init__(
        self,
        title: str,
        text: Content,
        *,
        do: str,
        leave: str,
        careful: bool = False,
    ) -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._do = do
        self._leave = leave
        self._careful = careful

    def compose(self) -> ComposeResult:
        with Vertical(classes="sheet question"):
            yield Static(self._title, classes="sheet-title", markup=False)
            yield Static(self._text, classes="question-text", markup=False)
            yield Input(
                placeholder="a note for later readers",
                max_length=MAX_NOTE_CHARS,
                classes="note-line",
            )
            with Horizontal(classes="answers"):
                yield Button(Content(self._leave), id="leave", compact=True)
                yield Button(Content(self._do), id="do", compact=True)
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one("#leave" if self._careful else "Input").focus()

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        if self._careful:
            self.query_one("#leave").focus()
        else:
            self.dismiss(event.value)

    @on(Button.Pressed)
    def _answered(self, event: Button.Pressed) -> None:
        done = event.button.id == "do"
        self.dismiss(self.query_one(Input).value if done else None)

    def action_leave(self) -> None:
        self.dismiss(None)
