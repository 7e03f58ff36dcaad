"""Sheets over the present screen: a text to read, a question to answer, a list to choose from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, OptionList, Static
from textual.widgets.option_list import Option

from tui import marks
from tui.widgets.keys import Keys, Options, Scroll
from tui.widgets.panel import Line, hung

# What a sheet shows: a text, or what makes its lines for a width.
Body = Content | Callable[[int], list[Line]]


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer to a question. What cannot be undone is a ``danger``, and red."""

    id: str
    label: str
    danger: bool = False


class Sheet(ModalScreen[str]):
    """Shows ``body`` under ``title``; returns the id of the reply, empty if left without one.

    Without ``replies`` it is a text to read. With them there is also one to leave, called
    ``leave``. The focus is on the last reply, so that enter does what was asked for; where one is
    a danger it is on the one that leaves. Text is wrapped under where it begins.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "Back", tooltip="go back to the screen below",
                key_display="esc", id="sheet.back"),
        Binding("left", "reply(-1)", show=False),
        Binding("right", "reply(1)", show=False),
        Binding("down,j", "down(1)", show=False),
        Binding("up,k", "down(-1)", show=False),
        Binding("g,home", "ends(0)", show=False),
        Binding("G,end", "ends(1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("y", "app.copy", "Copy", tooltip="copy this text", show=False, id="sheet.copy"),
    ]  # fmt: skip

    def __init__(
        self,
        title: str,
        body: Body,
        replies: Sequence[Reply] = (),
        *,
        leave: str = "Cancel",
    ) -> None:
        super().__init__()
        self._title = title
        self._body = body
        self._replies = tuple(replies)
        self._leave = leave
        self._width = 0

    def compose(self) -> ComposeResult:
        with Vertical(classes="sheet question" if self._replies else "sheet"):
            yield Static(self._title, classes="sheet-title", markup=False)
            yield from self.body()
            if self._replies:
                with Horizontal(classes="answers"):
                    yield Button(Content(self._leave), id="leave", compact=True)
                    for reply in self._replies:
                        classes = "-danger" if reply.danger else ""
                        yield Button(
                            Content(reply.label), id=reply.id, classes=classes, compact=True
                        )
        yield Keys()

    def body(self) -> ComposeResult:
        """What is between title and answers; a subclass may have lines to fill in there."""
        with Scroll(classes="sheet-body", can_focus=not self._replies):
            yield Static(id="sheet-text", markup=False)

    def on_mount(self) -> None:
        self.focus_first()

    def focus_first(self) -> None:
        """Put the focus where it begins."""
        if not self._replies:
            self.query_one(Scroll).focus()
            return
        careful = any(reply.danger for reply in self._replies)
        self.query_one(f"#{'leave' if careful else self._replies[-1].id}", Button).focus()

    def on_resize(self) -> None:
        self.call_after_refresh(self.draw)

    def draw(self) -> None:
        """Draw what depends on the size; also after a resize, and so when it is shown first."""
        for text in self.query("#sheet-text").results(Static):
            width = self.query_one(Scroll).scrollable_content_region.width
            if width > 0 and width != self._width:
                self._width = width
                text.update(Content("\n").join(self._lines(width)))
        # On a terminal of a few lines, what enter does is seen before what is asked.
        if isinstance(self.focused, Button):
            self.focused.scroll_visible(animate=False)

    def _lines(self, width: int) -> list[Line]:
        return hung(self._body, width) if isinstance(self._body, Content) else self._body(width)

    def copy_text(self) -> str:
        """What is copied: all of the text."""
        return "\n".join(line.plain.rstrip() for line in self._lines(10_000))

    @on(Button.Pressed)
    def _chosen(self, event: Button.Pressed) -> None:
        event.stop()
        self.dismiss("" if event.button.id == "leave" else event.button.id)

    def action_leave(self) -> None:
        self.dismiss("")

    def action_reply(self, by: int) -> None:
        """Go to another reply; it ends at the ends."""
        buttons = list(self.query(Button))
        if isinstance(self.focused, Button):
            at = buttons.index(self.focused) + by
            buttons[max(0, min(len(buttons) - 1, at))].focus()

    def action_down(self, by: int) -> None:
        """Read on; where all of it is seen, go to another reply."""
        text = self.query_one(Scroll)
        if text.max_scroll_y:
            text.scroll_relative(y=by, animate=False)
        elif self._replies:
            self.action_reply(by)

    def action_page(self, by: int) -> None:
        """Read on by a page."""
        text = self.query_one(Scroll)
        text.scroll_relative(y=by * text.size.height, animate=False)

    def action_ends(self, end: int) -> None:
        """To the beginning (0) or the end (1)."""
        text = self.query_one(Scroll)
        text.scroll_to(y=text.max_scroll_y * end, animate=False)


# Of a sheet in which one types: letters are no keys there.
FORM_KEYS: list[BindingType] = [
    Binding("escape", "leave", "Back", tooltip="go back and change nothing", id="sheet.back"),
    Binding("tab", "app.focus_next", show=False),
    Binding("shift+tab", "app.focus_previous", show=False),
]


@dataclass(frozen=True, slots=True)
class Item:
    """Something to choose; where ``why_not`` says why, it cannot be chosen now."""

    key: str
    name: Content
    why_not: str = ""


class Pick(ModalScreen[str | None]):
    """Returns the key of the item that was chosen, or ``None``; the cursor begins at ``present``.

    What is typed goes to the next item whose name begins so, unless it is a key that moves.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "Back", tooltip="go back without a choice",
                key_display="esc", id="pick.back"),
    ]  # fmt: skip

    def __init__(self, title: str, items: Sequence[Item], *, present: str = "") -> None:
        super().__init__()
        self._title = title
        self._items = tuple(items)
        self._present = present

    def compose(self) -> ComposeResult:
        with Vertical(classes="sheet question"):
            yield Static(self._title, classes="sheet-title", markup=False)
            yield Options(*map(self._option, self._items), id="items")
        yield Keys()

    def on_mount(self) -> None:
        options = self.query_one(Options)
        keys = [item.key for item in self._items]
        if self._present in keys:
            options.highlighted = keys.index(self._present)
        options.focus()

    def on_key(self, event: events.Key) -> None:
        letter = (event.character or "").lower()
        if not letter.isalnum():
            return
        options = self.query_one(Options)
        at = options.highlighted or 0
        for step in range(1, len(self._items) + 1):
            number = (at + step) % len(self._items)
            item = self._items[number]
            if not item.why_not and item.name.plain.lstrip().lower().startswith(letter):
                options.highlighted = number
                return

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._items[event.option_index].key)

    def action_leave(self) -> None:
        self.dismiss(None)

    @staticmethod
    def _option(item: Item) -> Option:
        if not item.why_not:
            return Option(item.name)
        words = Content.assemble(item.name, (f"  not now: {item.why_not}", marks.MUTED))
        return Option(words, disabled=True)
