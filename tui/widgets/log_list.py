"""A list of log entries that is drawn a line at a time: only what is seen costs anything.

Entries come and go at both ends. The view stays where it is, and the cursor on its entry; only
while the end is followed does it move with what is new.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style
from textual.visual import Visual

from tui.sources.journal import Entry

DrawLine = Callable[[Entry, int], Content]


class LogList(ScrollView, can_focus=True):
    """Shows entries, each as the one line that ``draw_line`` makes of it and a width."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"log--cursor"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home,g", "first", "Oldest", tooltip="go to the oldest entry", show=False,
                id="log.first"),
        Binding("end,G", "follow", "Follow", tooltip="go to the newest entry and stay there",
                id="log.follow"),
        Binding("enter", "choose", "Detail", tooltip="all fields of this entry, and what it means",
                id="log.detail"),
    ]  # fmt: skip

    class Moved(Message):
        """The cursor is on another entry, or what is followed has changed."""

    class Chosen(Message):
        """Enter on an entry."""

        def __init__(self, entry: Entry) -> None:
            super().__init__()
            self.entry = entry

    def __init__(self, draw_line: DrawLine, *, id: str) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._draw_line = draw_line
        self._entries: tuple[Entry, ...] = ()
        self._at = 0
        self._following = True

    @property
    def following(self) -> bool:
        return self._following

    @property
    def current(self) -> Entry | None:
        """The entry under the cursor."""
        return self._entries[self._at] if self._entries else None

    @property
    def below(self) -> int:
        """How many entries are below the last that is seen."""
        return max(0, len(self._entries) - self.scroll_offset.y - self.size.height)

    def show(self, entries: Sequence[Entry]) -> None:
        """Draw ``entries``, oldest first; keeps the view and the cursor on what they are on."""
        entries = tuple(entries)
        if entries == self._entries:
            return
        top = self.scroll_offset.y
        before = self._entries[top].key if top < len(self._entries) else ""
        current = self.current
        self._entries = entries
        self.virtual_size = Size(self.size.width, len(entries))
        if self._following:
            self._go_to_end()
        else:
            places = {entry.key: place for place, entry in enumerate(entries)}
            last = max(0, len(entries) - 1)
            self._at = places.get(current.key, 0) if current else 0
            self._at = min(self._at, last)
            self._scroll(places.get(before, 0))
        self.refresh()
        self.post_message(self.Moved())

    def render_line(self, y: int) -> Strip:
        place = self.scroll_offset.y + y
        width = self.size.width
        style = self.visual_style
        if place >= len(self._entries):
            return Strip.blank(width, self.rich_style)
        if place == self._at and self.has_focus:
            style += Style.from_styles(self.get_component_styles("log--cursor"))
        line = self._draw_line(self._entries[place], max(0, width - 2))
        content = Content.assemble(" ", line, " ")
        (strip,) = Visual.to_strips(self, content, width, 1, style, apply_selection=False)[:1]
        return strip.adjust_cell_length(width, style.rich_style)

    def on_resize(self) -> None:
        self.virtual_size = Size(self.size.width, len(self._entries))
        if self._following:
            self._go_to_end()
        else:
            self._show_cursor()

    # -- moving

    @property
    def entries(self) -> tuple[Entry, ...]:
        return self._entries

    @property
    def at(self) -> int:
        """The place of the cursor in :attr:`entries`."""
        return self._at

    def action_move(self, lines: int) -> None:
        self.move_to(self._at + lines)

    def action_page(self, pages: int) -> None:
        self.move_to(self._at + pages * max(1, self.size.height - 1))

    def action_first(self) -> None:
        self.move_to(0)

    def action_follow(self) -> None:
        self._following = True
        self._go_to_end()
        self.refresh()
        self.post_message(self.Moved())

    def action_choose(self) -> None:
        if self.current is not None:
            self.post_message(self.Chosen(self.current))

    def on_click(self, event: events.Click) -> None:
        self.move_to(self.scroll_offset.y + event.y)

    def on_mouse_scroll_up(self) -> None:
        self._following = False
        self.post_message(self.Moved())

    def move_to(self, place: int) -> None:
        """Put the cursor on entry ``place``, or on the nearest there is; following ends."""
        if not self._entries:
            return
        self._following = False
        self._at = min(max(0, place), len(self._entries) - 1)
        self._show_cursor()
        self.refresh()
        self.post_message(self.Moved())

    def _show_cursor(self) -> None:
        top, height = self.scroll_offset.y, self.size.height
        if self._at < top:
            self._scroll(self._at)
        elif height and self._at >= top + height:
            self._scroll(self._at - height + 1)

    def _go_to_end(self) -> None:
        self._at = max(0, len(self._entries) - 1)
        self._scroll(max(0, len(self._entries) - self.size.height))

    def _scroll(self, top: int) -> None:
        # By force: more entries than before may not have their scroll bar yet.
        self.scroll_to(y=top, animate=False, immediate=True, force=True)
