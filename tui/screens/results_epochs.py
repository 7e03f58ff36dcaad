"""Every epoch with its layout in words, to compare two of them."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import DataTable

from appliance.model.layout_words import filesystem_words, stripe_words
from appliance.text import moment
from tui import marks
from tui.screens.results_page import PageScreen
from tui.screens.sheet import Sheet
from tui.sources.results import EpochRow
from tui.widgets.columns import row
from tui.widgets.panel import ALL, Line, Panel, clean, labelled, section, wrapped
from tui.widgets.results import pin
from tui.widgets.table import Column, FilterTable

_CHANGED_ROWS = 3
_NAME_CELLS = 16


class EpochsScreen(PageScreen[None]):
    """An epoch is a span in which results can be compared; a layout begins one."""

    NAME = "the epochs"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "pin", "Mark", tooltip="mark one of the two to compare", id="epochs.mark"),
        Binding(
            "c", "compare", "Compare", tooltip="the two marked, or with the one before",
            id="epochs.compare",
        ),
    ]  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self._epochs: tuple[EpochRow, ...] = ()
        self._marked: list[str] = []

    def parts(self) -> ComposeResult:
        yield FilterTable(id="epochs")
        yield Panel(id="epoch")

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(DataTable).focus()
        self.read_again()

    def read_again(self) -> None:
        self.read("the epochs", self.main.world.results.epochs, self._found)

    def _found(self, epochs: tuple[EpochRow, ...]) -> None:
        self._epochs = epochs

    @property
    def _table(self) -> FilterTable:
        return self.query_one("#epochs", FilterTable)

    @property
    def _current(self) -> EpochRow | None:
        row = self._table.current
        return next((one for one in self._epochs if row and str(one.epoch.id) == row.key), None)

    def heading(self) -> tuple[str, Content]:
        words = f"{len(self._epochs)}; mark two, then c" if self._epochs else ""
        return "EPOCHS AND THEIR LAYOUTS", Content.styled(words, marks.MUTED)

    def draw(self, width: int) -> None:
        columns = (
            Column("  epoch", 8, get=lambda one: pin(str(one.epoch.id), self._marked, self.glyphs)),
            Column("since (UTC)", 16, get=lambda one: (moment(one.epoch.opened_at)[:16], "")),
            Column("runs", 6, right=True, get=lambda one: (
                str(one.runs), "" if one.runs else marks.MUTED)),
            Column("layout", 16, grows=True, get=lambda one: (_layout(one), "")),
        )  # fmt: skip
        rows = [row(columns, one, key=str(one.epoch.id)) for one in self._epochs]
        nothing = "" if self._reading else "no epoch is recorded"
        self._table.show(columns, rows, width=width, glyphs=self.glyphs, nothing=nothing)
        self._show_current(width)

    @on(FilterTable.Moved)
    def _moved(self) -> None:
        self._show_current(self.size.width - 2)

    @on(FilterTable.Chosen)
    def _chosen(self) -> None:
        """Show everything that makes the epoch what it is."""
        one = self._current
        if one is not None:
            known = one.epoch.fingerprint
            lines = [
                line
                for name, value in known.items()
                for line in labelled(clean(name), value, ALL, cells=_NAME_CELLS)
            ]
            title = f"Epoch {one.epoch.id}, since {moment(one.epoch.opened_at)}"
            self.app.push_screen(Sheet(title, Content("\n").join(lines)))

    def _show_current(self, width: int) -> None:
        one = self._current
        lines: list[Line] = []
        if one is not None:
            changed = [
                f"{name} from {_words(name, before)} to {_words(name, after)}"
                for name, (before, after) in one.epoch.changed.items()
            ]
            began = "began with: " + "; ".join(changed) if changed else "the first of its machine"
            lines = [
                section(f"epoch {one.epoch.id}", Content(""), width, self.glyphs),
                *wrapped(clean(began), width=width, rows=_CHANGED_ROWS),
            ]
        self.query_one("#epoch", Panel).show(lines)
        self.main.update_permissions()

    def why_not(self, action: str) -> str:
        if action == "pin" and self._current is None:
            return "there is no epoch here"
        if action == "compare" and not self._pair():
            return "there are not two epochs to compare"
        return ""

    def action_pin(self) -> None:
        one = self._current
        if one is not None:
            toggle(self._marked, str(one.epoch.id))
            self.redraw()

    def _pair(self) -> tuple[str, str] | None:
        """The older and the newer: two marked, a marked one with the cursor's, or this and the
        one before.
        """
        one = self._current
        chosen = list(self._marked)
        if len(chosen) < 2 and one is not None and str(one.epoch.id) not in chosen:
            chosen.append(str(one.epoch.id))
        if len(chosen) == 1:
            older = [row for row in self._epochs if row.epoch.id < int(chosen[0]) and row.runs]
            chosen += [str(older[0].epoch.id)] if older else []
        if len(chosen) < 2:
            return None
        first, second = sorted(chosen, key=int)
        return f"epoch:{first}", f"epoch:{second}"

    def action_compare(self) -> None:
        from tui.screens.results_compare import CompareScreen

        pair = self._pair()
        if pair is not None:
            self.app.push_screen(CompareScreen(*pair))


def toggle(marked: list[str], key: str) -> None:
    """Mark or unmark ``key``; of two that are marked a third replaces the older."""
    if key in marked:
        marked.remove(key)
    else:
        marked.append(key)
        del marked[:-2]


def _layout(one: EpochRow) -> str:
    known = one.epoch.fingerprint
    stripe = stripe_words(known.get("stripe", ""))
    filesystem = filesystem_words(known.get("filesystem", ""))
    return ", ".join(part for part in (stripe, filesystem) if part) or "not recorded"


def _words(name: str, value: str) -> str:
    known = {"stripe": stripe_words, "filesystem": filesystem_words}
    return known[name](value) if name in known else value or "nothing"
