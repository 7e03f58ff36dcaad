"""Log: what the journal has of our units, followed."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from appliance.text import moment
from tui import marks
from tui.asking import Answer
from tui.screens.base import MainScreen
from tui.screens.sheet import Item, Pick, Sheet
from tui.sources.journal import Entry, EntryDetail, LogState
from tui.widgets import log
from tui.widgets.log_list import LogList
from tui.widgets.panel import Panel, View, clean
from tui.widgets.table import FilterLine

_DETAIL = "detail"
# The entry under the cursor in full: on a small screen, and on a high one.
_ENTRY_ROWS, _HIGH_ENTRY_ROWS, _HIGH = 3, 7, 36


class LogScreen(MainScreen):
    """Entries of our units, newest at the end."""

    NAME = "Log"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "level", "Severity", tooltip="raise the lowest severity shown, step by step",
                id="log.level"),
        Binding("v", "unit", "Unit", tooltip="show the entries of one unit", id="log.unit"),
        Binding("slash", "words", "Filter", tooltip="show only entries with these words",
                id="log.words"),
        Binding("n", "match(1)", "Next", tooltip="the next entry with the last words", show=False,
                id="log.next"),
        Binding("N", "match(-1)", "Previous", tooltip="the entry before with the last words",
                show=False, id="log.previous"),
        Binding("o", "older", "Older", tooltip="read older entries, also of earlier boots",
                id="log.older"),
        Binding("escape", "leave", "Back", tooltip="all entries again, or go back", show=False,
                id="log.back"),
    ]  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self._state = LogState()
        self._choice = log.Choice()
        # What was looked for last, also when the filter is gone.
        self._sought: tuple[str, ...] = ()
        # The time (seconds since the epoch) that a link leads to, until it is reached.
        self._goal: float | None = None
        self._reads_back = False
        self._drawn: tuple[object, ...] = ()

    def body(self) -> ComposeResult:
        yield Panel(id="log-heading")
        yield Static("", id="log-nothing", markup=False)
        yield LogList(self._line, id="log-list")
        yield FilterLine(lambda: self._list)
        yield Panel(id="log-entry")

    def on_mount(self) -> None:
        self.focus_first(LogList)

    # -- drawing

    def draw(self, view: View, width: int) -> None:
        self._state = self.main.world.log.state()
        self._fill(view)
        self._go_on()
        self._show_around(view, width)

    def _fill(self, view: View) -> None:
        """Choose and show the entries, if there are others or others are wanted."""
        state, listed = self._state, self._list
        same = (state.entries, self._choice)
        if not self._drawn or self._drawn[0] is not same[0] or self._drawn[1] != same[1]:
            self._drawn = same
            listed.show(log.chosen(state.entries, self._choice))
        nothing = self.query_one("#log-nothing", Static)
        nothing.display = listed.current is None
        if nothing.display:
            nothing.update(log.nothing_words(state, self._choice, view))

    def _show_around(self, view: View, width: int) -> None:
        listed, glyphs = self._list, view.glyphs
        lines = log.heading_lines(
            view,
            self._state,
            self._choice,
            width,
            shown=len(listed.entries),
            following=listed.following,
            below=listed.below,
        )
        if (seconds := self.asking_seconds(_DETAIL)) > 1:
            lines.append(Content(f"reading the entry, for {seconds:.0f} s"))
        self.query_one("#log-heading", Panel).show(lines)
        rows = _HIGH_ENTRY_ROWS if self.size.height >= _HIGH else _ENTRY_ROWS
        self.query_one("#log-entry", Panel).show(
            log.entry_lines(listed.current, width, rows, glyphs)
        )

    def jump(self, name: str) -> None:
        """Show the time ``name``, in seconds since the epoch, or the entries with that word."""
        line = self.query_one(FilterLine)
        line.end()
        goal = None
        with suppress(ValueError):
            goal = float(name)
        self._goal, self._reads_back = goal, False
        self._choose(log.Choice())
        if goal is None:
            line.begin()
            line.value = name
            self._list.focus()

    def _go_on(self) -> None:
        """Put the cursor on the time that is wanted, once the log has been read back to it."""
        goal, state = self._goal, self._state
        if goal is None or not state.entries:
            return
        if state.entries[0].at <= goal or not state.has_older:
            self._goal = None
            self._list.move_to(log.place_of(state.entries, goal))
            if state.entries[0].at > goal:
                self.main.tell(log.too_old_words(state, goal), "warning")
        elif not self._reads_back:
            self._reads_back = True
            self.main.world.log.load_older(back_to=goal)

    def _line(self, entry: Entry, width: int) -> Content:
        view = self.view
        if view is None:
            return Content("")
        return log.log_line(entry, width, view.wall, view.glyphs)

    @property
    def _list(self) -> LogList:
        return self.query_one("#log-list", LogList)

    @on(LogList.Moved)
    def _moved(self) -> None:
        if self.view is not None:
            self._show_around(self.view, self.size.width - 2)
        self.main.update_permissions()

    @on(LogList.Chosen)
    def _read(self, event: LogList.Chosen) -> None:
        entry = event.entry

        def shown(answer: Answer[EntryDetail]) -> None:
            if answer.value is None:
                self.main.tell(answer.problem, "error")
            elif self.is_current:
                sheet = log.entry_sheet(entry, answer.value, self.main.glyphs)
                self.app.push_screen(Sheet(clean(log.short(entry.unit)) or "entry", sheet))

        self.ask(_DETAIL, lambda: self.main.world.log.detail(entry.key), shown)

    def copy_text(self) -> str:
        """The entry under the cursor."""
        entry = self._list.current
        if entry is None:
            return ""
        return clean(f"{moment(entry.at)} {entry.unit}: {entry.message}")

    # -- actions

    def why_not(self, action: str) -> str:
        if action == "older":
            return log.older_words(self._state)
        if action == "unit" and not self._state.entries:
            return "there are no entries yet"
        if action == "match" and not self._sought:
            return "nothing to repeat: filter with / first"
        return ""

    def action_level(self) -> None:
        self._choose(replace(self._choice, level=(self._choice.level + 1) % len(log.LEVELS)))

    def action_unit(self) -> None:
        def answered(unit: str | None) -> None:
            if unit is not None:
                self._choose(replace(self._choice, unit=unit))

        items = [
            Item(name, Content.assemble(clean(name) or "all units", (f"  {number:,}", marks.MUTED)))
            for name, number in log.units(self._state.entries)
        ]
        self.app.push_screen(
            Pick("Entries of which unit?", items, present=self._choice.unit), answered
        )

    def action_match(self, step: int) -> None:
        listed, words = self._list, " ".join(self._sought)
        place = log.match(listed.entries, listed.at, self._sought, back=step < 0)
        if place is None:
            self.main.tell(f"no {'earlier' if step < 0 else 'later'} entry has: {words}")
        else:
            listed.move_to(place)

    def action_older(self) -> None:
        self.main.world.log.load_older()

    def action_words(self) -> None:
        self.query_one(FilterLine).begin()

    def action_leave(self) -> None:
        """Take back what was chosen, the words first; then leave."""
        if self.query_one(FilterLine).end():
            return
        if self._choice != log.Choice():
            self._choose(log.Choice())
        else:
            self.main.call_later(self.main.action_back)

    def _choose(self, choice: log.Choice) -> None:
        self._choice = choice
        self.redraw()

    @on(FilterLine.Typed)
    def _typed(self, event: FilterLine.Typed) -> None:
        self._sought = event.words or self._sought
        self._choose(replace(self._choice, words=event.words))
