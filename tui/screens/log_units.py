"""Choosing the unit whose entries are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, OptionList, Static
from textual.widgets.option_list import Option

from tui import marks
from tui.widgets.panel import clean


class LogUnitsScreen(ModalScreen[str | None]):
    """Returns a unit's name, the empty text for all of them, or ``None`` to leave it as it is."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Back", tooltip="leave the choice as it is", id="units.back"),
    ]

    def __init__(self, units: Sequence[tuple[str, int]], present: str) -> None:
        super().__init__()
        self._names = ["", *(name for name, _ in units)]
        self._counts = [sum(count for _, count in units), *(count for _, count in units)]
        self._present = present

    def compose(self) -> ComposeResult:
        with Vertical(classes="sheet question"):
            yield Static("Entries of which unit?", classes="sheet-title", markup=False)
            yield OptionList(*map(self._option, self._names, self._counts), id="units")
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        listed = self.query_one(OptionList)
        present = self._present in self._names
        listed.highlighted = self._names.index(self._present) if present else 0
        listed.focus()

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._names[event.option_index])

    def action_leave(self) -> None:
        self.dismiss(None)

    def _option(self, name: str, count: int) -> Option:
        words = clean(name) or "all units"
        return Option(Content.assemble(words, (f"  {count:,}", marks.MUTED)))
