"""Which disks a volume shall have: every disk, with why it cannot be used or what it is for."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import DataTable, Static

from appliance.model.disks import Disk
from appliance.text import size
from tui import marks
from tui.marks import Glyphs
from tui.screens.sheet import FORM_KEYS, Sheet
from tui.widgets.columns import row
from tui.widgets.panel import Panel, clean, wrapped
from tui.widgets.table import Column, FilterTable, Row

_ABSENT = "no disk with this serial is present"


class PickTable(FilterTable):
    """Enter takes or leaves the disk, as space does; escape closes the sheet."""

    class _Rows(FilterTable._Rows):
        BINDINGS: ClassVar[list[BindingType]] = [
            Binding("enter", "select_cursor", "Take", tooltip="take the disk, or leave it",
                    show=False, id="picker.enter"),
            Binding("escape", "leave", "Back", tooltip="go back and change nothing",
                    id="picker.back"),
        ]  # fmt: skip


class DiskPicker(Sheet, inherit_bindings=False):
    """Gives ``keep`` the serials that are taken, in the order of the disks."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "take", "Take", tooltip="take the disk, or leave it", id="picker.take"),
        Binding("ctrl+s", "keep", "Keep", tooltip="go back with the disks that are taken",
                id="picker.keep"),
        *FORM_KEYS,
    ]  # fmt: skip

    def __init__(
        self,
        disks: tuple[Disk, ...],
        chosen: tuple[str, ...],
        keep: Callable[[tuple[str, ...]], None],
        glyphs: Glyphs,
    ) -> None:
        super().__init__("", Content(""))
        self._disks = disks
        self._taken = list(chosen)
        self._absent = tuple(one for one in chosen if one not in {d.serial for d in disks})
        self._keep = keep
        self._glyphs = glyphs

    def body(self) -> ComposeResult:
        yield PickTable(id="picker")
        yield Panel(id="picker-why")

    def focus_first(self) -> None:
        self.query_one(DataTable).focus()

    def draw(self) -> None:
        glyphs = self._glyphs
        columns = (
            Column("", 3, get=lambda disk: self._box(disk.serial)),
            Column("disk", 9, get=lambda disk: (disk.path.removeprefix("/dev/"), "")),
            Column("serial", 20, get=lambda disk: (disk.serial or "-", "")),
            Column("size", 8, right=True, get=lambda disk: (size(disk.size_bytes), "")),
            Column("role", 6, get=lambda disk: (disk.role, "")),
            Column("model", 12, grows=True, get=lambda disk: (
                f"{disk.vendor} {disk.model}".strip(), "")),
        )  # fmt: skip
        rows = [
            row(columns, disk, key=f"disk {disk.path}", also=disk.reason) for disk in self._disks
        ]
        rows += [
            Row(f"serial {one}", (self._box(one), ("-", ""), (one, ""), *[("", "")] * 3))
            for one in self._absent
        ]
        table = self.query_one("#picker", FilterTable)
        table.show(
            columns, rows, width=table.size.width - 2, glyphs=glyphs, nothing="no disk is known"
        )
        number = len(self._taken)
        self.query_one(".sheet-title", Static).update(f"Disks by serial: {number} taken")
        self._why()

    def _box(self, serial: str) -> tuple[str, str]:
        return ("[x]", "bold") if serial and serial in self._taken else ("[ ]", marks.MUTED)

    @on(FilterTable.Moved)
    def _why(self) -> None:
        panel = self.query_one("#picker-why", Panel)
        found = self._present()
        text = _ABSENT
        if found is not None:
            text = found.reason or "the boot unit gave no reason"
            if found.hint:
                text += f"; {found.hint}"
        panel.show(
            wrapped(clean(text), first=_lead(found, self._glyphs), indent=2,
                    width=max(20, panel.size.width - 2), rows=3)
        )  # fmt: skip

    def _present(self) -> Disk | None:
        row = self.query_one("#picker", FilterTable).current
        return next((one for one in self._disks if row and row.key == f"disk {one.path}"), None)

    @on(FilterTable.Chosen)
    def action_take(self) -> None:
        """Take the disk under the cursor, or leave it."""
        row = self.query_one("#picker", FilterTable).current
        if row is None:
            return
        found = self._present()
        serial = row.key.removeprefix("serial ") if found is None else found.serial
        if not serial:
            return
        if serial in self._taken:
            self._taken.remove(serial)
        else:
            self._taken.append(serial)
        self.draw()

    def why_not(self, action: str) -> str:
        """Why ``action`` cannot be done now; empty if it can."""
        found = self._present() if self.is_mounted else None
        if action == "take" and found is not None and not found.serial:
            return "the disk reports no serial, so it cannot be selected by one"
        return ""

    def action_keep(self) -> None:
        order = [disk.serial for disk in self._disks if disk.serial in self._taken]
        absent = (one for one in self._absent if one in self._taken)
        self._keep((*dict.fromkeys(order), *absent))
        self.dismiss("")


def _lead(disk: Disk | None, glyphs: Glyphs) -> Content:
    """A glyph for whether the disk can be used."""
    if disk is not None and disk.claimable:
        return Content.styled(glyphs.good, marks.GOOD)
    return Content.styled(glyphs.warn, marks.WARN)
