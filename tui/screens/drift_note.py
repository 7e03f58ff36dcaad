"""A question with a line for a note on a finding."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input

from appliance.drift.lifecycle import MAX_NOTE_CHARS
from tui.screens.sheet import Reply, Sheet


class NoteSheet(Sheet):
    """Its :attr:`note` may be empty.

    The focus is on the line for the note, where enter does what is asked; with ``careful`` it is
    on the answer that does nothing, and enter in the line goes back there.
    """

    def __init__(self, title: str, text: Content, do: str, *, careful: bool = False) -> None:
        super().__init__(title, text, [Reply("do", do)])
        self._careful = careful

    @property
    def note(self) -> str:
        return self.query_one(Input).value

    def body(self) -> ComposeResult:
        yield from super().body()
        yield Input(
            placeholder="a note for later readers", max_length=MAX_NOTE_CHARS, classes="note-line"
        )

    def focus_first(self) -> None:
        self.query_one("#leave" if self._careful else "Input").focus()

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        if self._careful:
            self.query_one("#leave").focus()
        else:
            self.dismiss("do")
