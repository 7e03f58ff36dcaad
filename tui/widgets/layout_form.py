"""The parts of the form: a choice of words, and a field with its label and what is wrong there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Button, Input, Label, Static

from tui import marks


class Choice(Widget, can_focus=True):
    """One of a few words, all of them shown, in as many lines as they take."""

    DEFAULT_CSS = """
    Choice { height: auto; width: 1fr; }
    Choice:focus { background: $cursor; }
    Choice:ansi:focus { background: ansi_default; text-style: reverse; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "other(-1)", "Before", tooltip="choose the previous word", show=False,
                id="choice.before"),
        Binding("right,space", "other(1)", "Next", tooltip="choose the next word", show=False,
                id="choice.next"),
    ]  # fmt: skip

    class Changed(Message):
        """Another word was chosen."""

    def __init__(self, words: Sequence[str], value: str) -> None:
        super().__init__()
        self.words = tuple(words)
        self.value = value

    def action_other(self, step: int) -> None:
        at = self.words.index(self.value) if self.value in self.words else 0
        self.value = self.words[(at + step) % len(self.words)]
        self.refresh()
        self.post_message(self.Changed())

    def on_click(self) -> None:
        self.action_other(1)

    def render(self) -> Content:
        parts = [
            # Brackets: colour alone shows nothing on a terminal without it.
            Content.styled(f"[{word}]", "bold")
            if word == self.value
            else Content.styled(f" {word} ", marks.MUTED)
            for word in self.words
        ]
        return Content(" ").join(parts)


class Field(Vertical):
    """A label, where it is typed, chosen or (without ``words`` and text) picked elsewhere, and a
    line below it for what is wrong.
    """

    DEFAULT_CSS = """
    Field { height: auto; }
    Field Horizontal { height: auto; }
    Field Label { width: 17; color: $foreground-muted; }
    Field Input { width: 1fr; }
    Field Button { width: 1fr; content-align: left middle; text-align: left; }
    Field .problem { display: none; height: auto; padding-left: 17; color: $error; }
    """

    class Changed(Message):
        """Something else is in the field."""

        def __init__(self, field: Field) -> None:
            super().__init__()
            self.field = field

    class Opened(Message):
        """What the field holds is to be picked."""

    def __init__(
        self,
        name: str,
        value: str | tuple[str, ...],
        *,
        words: Sequence[str] = (),
        placeholder: str = "",
    ) -> None:
        super().__init__(id=f"field-{name.replace('_', '-')}")
        self.field = name
        self._editor: Choice | Input | Button
        if words:
            self._editor = Choice(words, str(value) or words[0])
        elif isinstance(value, str):
            self._editor = Input(
                value, placeholder=placeholder, compact=True, select_on_focus=False
            )
        else:
            self._editor = Button(compact=True)

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Label(self.field, markup=False)
            yield self._editor
        yield Static("", classes="problem", markup=False)

    @property
    def value(self) -> str:
        """What is typed or chosen."""
        return "" if isinstance(self._editor, Button) else self._editor.value

    def focus_editor(self) -> None:
        self._editor.focus()

    def show(self, picked: str) -> None:
        """What was picked, in words."""
        if isinstance(self._editor, Button):
            self._editor.label = Content(picked)

    def say(self, problem: str) -> None:
        """What is wrong here, in a line of its own; empty takes it away."""
        line = self.query_one(".problem", Static)
        line.display = bool(problem)
        line.update(problem)

    @on(Input.Changed)
    @on(Choice.Changed)
    def _changed(self, event: Message) -> None:
        event.stop()
        self.post_message(self.Changed(self))

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.post_message(self.Opened())
