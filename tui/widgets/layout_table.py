"""The table of volumes: what each row says, and what enter does."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from appliance.client.volume_rows import Change, VolumeRow
from appliance.storage.policy.preview import VolumePreview
from appliance.text import size
from tui.marks import Glyphs
from tui.widgets.columns import marked
from tui.widgets.layout import change_mark, decision_mark, now_mark
from tui.widgets.table import Column, FilterTable

_WIDE_CELLS = 130


class VolumeTable(FilterTable):
    """The volumes; enter opens the form."""

    class _Rows(FilterTable._Rows):
        BINDINGS: ClassVar[list[BindingType]] = [
            Binding("enter", "select_cursor", "Edit", tooltip="the volume in a form",
                    id="layout.edit"),
            Binding("slash", "filter", "Filter", tooltip="show only rows with these words",
                    show=False, id="table.filter"),
        ]  # fmt: skip


def volume_columns(width: int, glyphs: Glyphs) -> tuple[Column, ...]:
    """Of a :class:`VolumeRow`: with the draft's preview, where that is known."""

    def disks(row: VolumeRow) -> str:
        coming = _coming(row)
        count = len(coming.disks) if coming else 0
        return str(count or (len(row.now.members) if row.now else 0) or "-")

    def capacity(row: VolumeRow) -> str:
        coming = _coming(row)
        found = (coming and coming.capacity_bytes) or (row.now and row.now.size_bytes)
        return size(found) if found else "-"

    return (
        Column("volume", 12, get=lambda row: (row.name, "")),
        Column("now", 11, get=lambda row: marked(now_mark(row, glyphs))),
        Column("stripe", 15, get=lambda row: (
            f"{row.volume.stripe} {row.volume.filesystem}" if row.volume else "-", "")),
        Column("disks", 5, right=True, get=lambda row: (disks(row), "")),
        Column("size", 9, right=True, get=lambda row: (capacity(row), "")),
        Column("mount", 22, wide=_WIDE_CELLS, get=lambda row: (
            (row.volume and row.volume.mount) or "-", "")),
        Column("draft", 12, grows=width < _WIDE_CELLS, get=lambda row: marked(
            change_mark(row, glyphs))),
        Column("would be", 20, grows=True, wide=_WIDE_CELLS, get=lambda row: marked(
            decision_mark(row.comes_to.decision, glyphs)) if row.comes_to else ("", "")),
    )  # fmt: skip


def _coming(row: VolumeRow) -> VolumePreview | None:
    return None if row.change is Change.REMOVED else row.comes_to
