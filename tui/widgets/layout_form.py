"""The parts of the form: a choice in one line, and a field with its label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Button, Input, Label

from tui import marks

LABEL_WIDTH = 17


class Choice(Widget, can_focus=True):
    """One of a few words, all of them shown; left and right choose."""

    DEFAULT_CSS = """
    Choice { height: 1; width: 1fr; }
    Choice:focus { background: $cursor; }
    Choice:ansi:focus { background: ansi_default; text-style: reverse; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "other(-1)", "Before", tooltip="choose the one before", show=False,
                id="choice.before"),
        Binding("right,space", "other(1)", "Next", tooltip="choose the next one", show=False,
                id="choice.next"),
    ]  # fmt: skip

    class Changed(Message):
        """Another word was chosen."""

        def __init__(self, choice: Choice) -> None:
            super().__init__()
            self.choice = choice

    def __init__(self, words: Sequence[str], value: str) -> None:
        super().__init__()
        self.words = tuple(words)
        self._value = value

    @property
    def value(self) -> str:
        return self._value

    def action_other(self, step: int) -> None:
        at = self.words.index(self._value) if self._value in self.words else 0
        self._choose((at + step) % len(self.words))

    def on_click(self) -> None:
        self.action_other(1)

    def _choose(self, at: int) -> None:
        self._value = self.words[at]
        self.refresh()
        self.post_message(self.Changed(self))

    def render(self) -> Content:
        parts = [
            # Brackets: colour alone shows nothing on a terminal without it.
            Content.styled(f"[{word}]", "bold")
            if word == self._value
            else Content.styled(f" {word} ", marks.MUTED)
            for word in self.words
        ]
        return Content(" ").join(parts)


def field_id(name: str) -> str:
    """The id of the field called ``name``."""
    return f"field-{name.replace('_', '-')}"


class Field(Horizontal):
    """A label, and where it is typed, chosen or picked."""

    DEFAULT_CSS = f"""
    Field {{ height: 1; }}
    Field Label {{ width: {LABEL_WIDTH}; color: $text-muted; }}
    Field Input {{ width: 1fr; }}
    Field Button {{ width: 1fr; content-align: left middle; text-align: left; }}
    """

    class Changed(Message):
        """Something else is in the field."""

        def __init__(self, field: Field) -> None:
            super().__init__()
            self.field = field

    class Opened(Message):
        """The field's button was pressed: what it holds is chosen elsewhere."""

        def __init__(self, field: Field) -> None:
            super().__init__()
            self.field = field

    def __init__(
        self, name: str, label: str, value: str, *, words: Sequence[str] = (), hint: str = ""
    ) -> None:
        super().__init__(id=field_id(name))
        self.field = name
        self._label = label
        self._first = value
        self._words = words
        self._hint = hint

    def compose(self) -> ComposeResult:
        yield Label(self._label, markup=False)
        yield self._editor()

    def _editor(self) -> Widget:
        if self._words:
            return Choice(self._words, self._first)
        return Input(self._first, placeholder=self._hint, compact=True, select_on_focus=False)

    @property
    def value(self) -> str:
        """What is typed or chosen."""
        if self._words:
            return self.query_one(Choice).value
        return self.query_one(Input).value

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Changed(self))

    @on(Choice.Changed)
    def _chosen(self, event: Choice.Changed) -> None:
        event.stop()
        self.post_message(self.Changed(self))


class PickField(Field):
    """A field whose value is picked on another screen: a button that shows it."""

    def _editor(self) -> Widget:
        return Button(Content(self._first), compact=True)

    @property
    def value(self) -> str:
        return ""

    def show(self, text: str) -> None:
        """What was picked, in words."""
        self.query_one(Button).label = Content(text)

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.post_message(self.Opened(self))
