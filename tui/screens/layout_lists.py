"""Two lists to choose from: layouts to start from, and what was planned since boot."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import DataTable, Footer, Static

from appliance.client.plan_requests import PlanNote
from appliance.storage.policy.layout_presets import Preset
from appliance.text import duration
from tui import marks
from tui.marks import Glyphs
from tui.widgets.layout import stale_mark
from tui.widgets.panel import Line, Panel, clean, wrapped
from tui.widgets.table import Column, FilterTable, Row

_PLAN_COLUMNS = (
    Column("", 10),
    Column("whose", 6),
    Column("made", 16),
    Column("steps", 5, right=True),
    Column("what", 12, grows=True),
)


class ChoiceTable(FilterTable):
    """A table on a sheet: enter takes the row, escape closes the sheet."""

    class _Rows(FilterTable._Rows):
        BINDINGS: ClassVar[list[BindingType]] = [
            Binding("enter", "select_cursor", "Choose", tooltip="take this one", id="choice.take"),
            Binding(
                "escape", "leave", "Back", tooltip="go back and change nothing", id="choice.back"
            ),
        ]


class ListScreen(ModalScreen[str]):
    """A table with the row under the cursor in full below it; returns the key of a row."""

    def __init__(self, title: str, glyphs: Glyphs) -> None:
        super().__init__()
        self._title = title
        self._glyphs = glyphs

    def compose(self) -> ComposeResult:
        with Vertical(classes="sheet layout-list"):
            yield Static(self._title, classes="sheet-title", markup=False)
            yield ChoiceTable(id="choices")
            yield Panel(id="about")
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one(DataTable).focus()
        self.call_after_refresh(self.tick)

    def on_resize(self) -> None:
        self.call_after_refresh(self.tick)

    def tick(self) -> None:
        """Draw the list again."""
        if self.is_mounted:
            table = self.query_one("#choices", FilterTable)
            self.fill(table, table.size.width - 2)
            self._tell()

    def fill(self, table: FilterTable, width: int) -> None:
        raise NotImplementedError

    def about(self, key: str, width: int) -> list[Line]:
        raise NotImplementedError

    def can_choose(self, key: str) -> bool:  # noqa: ARG002
        """Whether enter takes the row called ``key``."""
        return True

    @on(FilterTable.Moved)
    def _tell(self) -> None:
        row = self.query_one("#choices", FilterTable).current
        panel = self.query_one("#about", Panel)
        width = max(20, self.query_one("#choices").size.width - 2)
        panel.show([] if row is None else self.about(row.key, width))

    @on(FilterTable.Chosen)
    def _chosen(self, event: FilterTable.Chosen) -> None:
        if self.can_choose(event.row.key):
            self.dismiss(event.row.key)
        else:
            self.app.bell()


class PresetList(ListScreen):
    """Returns the key of a preset that can be had here."""

    def __init__(self, presets: tuple[Preset, ...], glyphs: Glyphs) -> None:
        super().__init__("Start from", glyphs)
        self._presets = {one.key: one for one in presets}

    def fill(self, table: FilterTable, width: int) -> None:
        rows = [
            Row(one.key, ((one.name, marks.MUTED if one.why_not else ""),), also=one.about)
            for one in self._presets.values()
        ]
        table.show((Column("layout", 20, grows=True),), rows, width=width, glyphs=self._glyphs)

    def about(self, key: str, width: int) -> list[Line]:
        one = self._presets[key]
        text, style = one.about, ""
        if one.why_not:
            text, style = f"not here: {one.why_not}", marks.WARN
        text += "; the draft changes, nothing else" if not one.why_not else ""
        lead = self._glyphs.warn if one.why_not else self._glyphs.dot
        return wrapped(
            text, first=marks_lead(lead, style), indent=2, width=width, style=style, rows=3
        )

    def can_choose(self, key: str) -> bool:
        return not self._presets[key].why_not


class PlansList(ListScreen):
    """Returns the digest of a plan; ``read`` gives (notes, ours, why stale by digest, now)."""

    Read = Callable[[], tuple[tuple[PlanNote, ...], frozenset[str], dict[str, str], float]]

    def __init__(self, read: Read, glyphs: Glyphs) -> None:
        super().__init__("Plans since boot, by anyone", glyphs)
        self._read = read

    def fill(self, table: FilterTable, width: int) -> None:
        notes, mine, stale, now = self._read()
        rows = []
        for note in notes:
            mark = stale_mark(note, stale, self._glyphs)
            ago = duration(max(0.0, now - note.made_at_monotonic_s))
            whose = "yours" if note.digest in mine else "theirs"
            cells = (
                (mark.text, mark.style),
                (whose, marks.MUTED),
                (f"{ago} ago", ""),
                (str(note.steps), ""),
                (note.words, ""),
            )
            rows.append(Row(note.digest, cells, also=note.digest))
        table.show(
            _PLAN_COLUMNS, rows, width=width, glyphs=self._glyphs, nothing="nothing was planned"
        )

    def about(self, key: str, width: int) -> list[Line]:
        notes, _, stale, _ = self._read()
        note = next((one for one in notes if one.digest == key), None)
        if note is None:
            return []
        mark = stale_mark(note, stale, self._glyphs)
        words = stale.get(key) or f"digest {key[:24]}, {note.words}; enter shows it in full"
        lead = marks_lead(mark.glyph, mark.style)
        return wrapped(clean(words), first=lead, indent=2, width=width, rows=3)


def marks_lead(glyph: str, style: str) -> Content:
    """A glyph before a text."""
    return Content.styled(glyph, style)
