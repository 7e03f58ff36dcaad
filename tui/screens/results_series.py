"""The list of all series, to choose one whose trend is shown."""

from __future__ import annotations

from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import DataTable

from appliance.model.findings import SeriesKey
from tui import marks
from tui.screens.results_page import PageScreen
from tui.widgets.table import Column, FilterTable, Row

_COLUMNS = (
    Column("suite", 10),
    Column("job", 22),
    Column("direction", 9),
    Column("member", 10),
    Column("target", 12, grows=True),
)


class SeriesScreen(PageScreen[SeriesKey | None]):
    """Returns the series that was chosen, or ``None``."""

    NAME = "the series"

    def __init__(self, keys: Sequence[SeriesKey], now: SeriesKey | None) -> None:
        super().__init__()
        self._keys = {str(number): key for number, key in enumerate(keys)}
        self._now = now

    def parts(self) -> ComposeResult:
        yield FilterTable(id="series")

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(DataTable).focus()

    def heading(self) -> tuple[str, Content]:
        return "SERIES", Content.styled(f"{len(self._keys)}; enter shows one", marks.MUTED)

    def draw(self, width: int) -> None:
        table = self.query_one("#series", FilterTable)
        rows = [
            Row(
                number,
                (
                    (key.suite, ""),
                    (key.job, ""),
                    (key.direction, ""),
                    (key.member or "stripe", marks.MUTED if not key.member else ""),
                    (key.target, marks.MUTED),
                ),
            )
            for number, key in self._keys.items()
        ]
        first = not table.shown_count
        table.show(_COLUMNS, rows, width=width, glyphs=self.glyphs)
        if first:
            table.move_to(next((n for n, key in self._keys.items() if key == self._now), "0"))

    @on(FilterTable.Chosen)
    def _chosen(self, event: FilterTable.Chosen) -> None:
        self.dismiss(self._keys[event.row.key])

    async def action_back(self) -> None:
        self.dismiss(None)
