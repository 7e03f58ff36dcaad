"""Disks: every disk, whether it is used, and why or why not."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import DataTable

from appliance.model import Disk, DiskKind
from appliance.text import size
from tui import marks
from tui.details import disk_reason, disk_sheet, disk_use
from tui.screens.base import MainScreen
from tui.screens.reading import ReadingScreen
from tui.widgets.panel import Line, Panel, View, clean, section, wrapped
from tui.widgets.table import Column, FilterTable, Row

_WIDE_CELLS = 130
# Names and cells; the table puts one more at each side of a column. At 80 cells the model is
# cut, because the lines below the table have it in full.
_COLUMNS = (
    Column("used", 8),
    Column("disk", 8),
    Column("kind", 8),
    Column("size", 8, right=True),
    Column("model", 16),
    Column("serial", 20),
)
_WIDE_COLUMNS = (
    *_COLUMNS[:4],
    Column("model", 32),
    Column("serial", 20),
    Column("why", 20, grows=True),
)
_SHORT_KINDS = {
    DiskKind.INSTANCE_STORE: "instance",
    DiskKind.NETWORK: "network",
    DiskKind.SYSTEM: "system",
    DiskKind.UNKNOWN: "unknown",
}
_REASON_ROWS = 4


def _model(disk: Disk) -> str:
    return f"{disk.vendor} {disk.model}".strip()


class DisksScreen(MainScreen):
    """A table of disks, with the one under the cursor in full below it."""

    NAME = "Disks"

    def __init__(self) -> None:
        super().__init__()
        self._disks: tuple[Disk, ...] = ()

    def body(self) -> ComposeResult:
        yield Panel(id="disks-heading")
        yield FilterTable(id="disks")
        yield Panel(id="reason")

    def on_mount(self) -> None:
        self.focus_first(DataTable)

    def draw(self, view: View, width: int) -> None:
        status = None if view.snapshot is None else view.snapshot.status
        self._disks = () if status is None else status.disks
        used = sum(disk_use(disk, status, view.glyphs).word == "used" for disk in self._disks)
        note = (
            f"{used} of {len(self._disks)} used"
            if self._disks
            else "none recorded by the boot unit"
        )
        if status is None:
            note = "not read yet"
        self.query_one("#disks-heading", Panel).show(
            [section("DISKS", Content.styled(note, marks.MUTED), width, view.glyphs)]
        )
        self._fill(view, width)
        self._show_reason(width)

    def _fill(self, view: View, width: int) -> None:
        status = None if view.snapshot is None else view.snapshot.status
        wide = width >= _WIDE_CELLS
        columns = _WIDE_COLUMNS if wide else _COLUMNS
        rows = []
        for disk in self._disks:
            mark = disk_use(disk, status, view.glyphs)
            reason = disk_reason(disk, status)
            cells = (
                (mark.text, mark.style),
                (disk.path.removeprefix("/dev/"), ""),
                (_SHORT_KINDS[disk.kind], ""),
                (size(disk.size_bytes), ""),
                (_model(disk), ""),
                (disk.serial, ""),
                (reason, ""),
            )
            rows.append(Row(disk.path, cells[: len(columns)], also=reason))
        self.query_one("#disks", FilterTable).show(columns, rows, width=width, glyphs=view.glyphs)

    @on(FilterTable.Moved)
    def _moved(self) -> None:
        self._show_reason(self.size.width - 2)

    @on(FilterTable.Chosen)
    def _chosen(self) -> None:
        """Show everything about the disk under the cursor."""
        disk, view = self._present_disk(), self._view
        if disk is None or view is None:
            return
        status = None if view.snapshot is None else view.snapshot.status
        self.app.push_screen(ReadingScreen(clean(disk.path), disk_sheet(disk, status, view.glyphs)))

    def _show_reason(self, width: int) -> None:
        disk = self._present_disk()
        view = self._view
        if view is None:
            return
        status = None if view.snapshot is None else view.snapshot.status
        lines: list[Line] = []
        if disk is not None:
            mark = disk_use(disk, status, view.glyphs)
            name = clean(disk.path)
            facts = (
                clean(_model(disk)),
                clean(disk.serial),
                size(disk.size_bytes),
                disk.kind.value,
            )
            lines = [
                section(name, Content.styled(mark.text, mark.style), width, view.glyphs),
                Content.styled(f" {view.glyphs.dot} ".join(facts), marks.MUTED),
                *wrapped(
                    clean(disk_reason(disk, status)),
                    first=Content(""),
                    indent=0,
                    width=width,
                    rows=_REASON_ROWS,
                ),
            ]
        self.query_one("#reason", Panel).show(lines)

    def _present_disk(self) -> Disk | None:
        row = self.query_one("#disks", FilterTable).current
        return next((disk for disk in self._disks if row and disk.path == row.key), None)
