"""Disks: every disk, whether it is used, and why or why not."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import DataTable

from appliance.model import Disk, DiskKind
from appliance.text import size
from tui import marks
from tui.details import disk_reason, disk_sheet, disk_use
from tui.screens.base import MainScreen
from tui.screens.reading import ReadingScreen
from tui.widgets.panel import Line, Panel, View, cell, clean, section, wrapped

_WIDE_CELLS = 130
# Names and cells; the table puts one more at each side of a column. At 80 cells the model is
# cut, because the lines below the table have it in full.
_COLUMNS = (("used", 8), ("disk", 8), ("kind", 8), ("size", 8), ("model", 16), ("serial", 20))
_WIDE_COLUMNS = (*_COLUMNS[:4], ("model", 32), ("serial", 20))
_WIDE_CELLS_BEFORE_WHY = sum(cells + 2 for _, cells in _WIDE_COLUMNS)
_SHORT_KINDS = {
    DiskKind.INSTANCE_STORE: "instance",
    DiskKind.NETWORK: "network",
    DiskKind.SYSTEM: "system",
    DiskKind.UNKNOWN: "unknown",
}
_REASON_ROWS = 4


def _model(disk: Disk) -> str:
    return f"{disk.vendor} {disk.model}".strip()


class _DiskTable(DataTable[Text]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter",
            "select_cursor",
            "Detail",
            tooltip="everything that is known about this disk",
            id="disks.detail",
        ),
    ]


class DisksScreen(MainScreen):
    """A table of disks, with the one under the cursor in full below it."""

    NAME = "Disks"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "escape",
            "app.show('overview')",
            "Back",
            tooltip="go to the overview",
            id="disks.back",
            show=False,
        ),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._shown: tuple[object, ...] = ()
        self._disks: tuple[Disk, ...] = ()

    def body(self) -> ComposeResult:
        yield Panel(id="disks-heading")
        yield _DiskTable(id="disks", cursor_type="row")
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
        """Build the table again only when what it shows has changed, and keep the cursor."""
        status = None if view.snapshot is None else view.snapshot.status
        wide = width >= _WIDE_CELLS
        volumes = () if status is None else status.volumes
        members = tuple((volume.name, volume.members, volume.is_up) for volume in volumes)
        shown = (self._disks, members, width if wide else 0, self.app.theme)
        if shown == self._shown:
            return
        self._shown = shown
        table: DataTable[Text] = self.query_one("#disks", DataTable)
        row = table.cursor_row
        table.clear(columns=True)
        columns = (*_WIDE_COLUMNS, ("why", width - _WIDE_CELLS_BEFORE_WHY)) if wide else _COLUMNS
        for name, cells in columns:
            table.add_column(
                Text(cell(name, cells, view.glyphs, right=name == "size")), width=cells
            )
        for disk in self._disks:
            mark = disk_use(disk, status, view.glyphs)
            texts = [
                mark.text,
                clean(disk.path).removeprefix("/dev/"),
                _SHORT_KINDS[disk.kind],
                size(disk.size_bytes),
                clean(_model(disk)),
                clean(disk.serial),
                clean(disk_reason(disk, status)),
            ]
            table.add_row(
                *(
                    Text(
                        cell(text, cells, view.glyphs, right=name == "size"),
                        style=self._style(mark.style) if name == "used" else "",
                        no_wrap=True,
                    )
                    for text, (name, cells) in zip(texts, columns, strict=False)
                )
            )
        table.move_cursor(row=min(row, len(self._disks) - 1))

    def _style(self, variable: str) -> str:
        """Make a Rich style of a theme variable: the table draws with Rich, not with Textual."""
        value = self.app.theme_variables.get(variable.removeprefix("$text-"), "")
        return value.removeprefix("ansi_")

    @on(DataTable.RowHighlighted)
    def _moved(self) -> None:
        self._show_reason(self.size.width - 2)

    @on(DataTable.RowSelected)
    def _selected(self) -> None:
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
        row = self.query_one("#disks", DataTable).cursor_row
        return self._disks[row] if 0 <= row < len(self._disks) else None
