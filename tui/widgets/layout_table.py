"""The table of volumes: what each row says, and what enter does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from appliance.client.volume_rows import Change, VolumeRow
from appliance.text import size
from tui.marks import Glyphs
from tui.widgets.layout import change_mark, decision_mark, now_mark
from tui.widgets.table import Column, FilterTable, Row

_COLUMNS = (
    Column("volume", 12),
    Column("now", 11),
    Column("stripe", 15),
    Column("disks", 5, right=True),
    Column("size", 9, right=True),
    Column("draft", 12, grows=True),
)
_WIDE_CELLS = 130
_WIDE_COLUMNS = (
    *_COLUMNS[:5],
    Column("mount", 22),
    Column("draft", 12),
    Column("would be", 20, grows=True),
)


class VolumeTable(FilterTable):
    """The volumes; enter opens the form."""

    class _Rows(FilterTable._Rows):
        BINDINGS: ClassVar[list[BindingType]] = [
            Binding("enter", "select_cursor", "Edit", tooltip="the volume in a form",
                    id="layout.edit"),
            Binding("slash", "filter", "Filter", tooltip="show only rows with these words",
                    show=False, id="table.filter"),
        ]  # fmt: skip


def volume_columns(width: int) -> tuple[Column, ...]:
    """What fits into ``width`` cells."""
    return _WIDE_COLUMNS if width >= _WIDE_CELLS else _COLUMNS


def volume_row(row: VolumeRow, columns: Sequence[Column], glyphs: Glyphs) -> Row:
    """One volume: with the draft's preview, where that is known."""
    now, change, volume = now_mark(row, glyphs), change_mark(row, glyphs), row.volume
    stripe = "-" if volume is None else f"{volume.stripe} {volume.filesystem}"
    count = len(row.now.members) if row.now is not None else 0
    capacity = None if row.now is None else row.now.size_bytes
    if row.comes_to is not None and row.change is not Change.REMOVED:
        count = len(row.comes_to.disks) or count
        capacity = row.comes_to.capacity_bytes or capacity
    would = None if row.comes_to is None else decision_mark(row.comes_to.decision, glyphs)
    cells = {
        "volume": (row.name, ""),
        "now": (now.text, now.style),
        "stripe": (stripe, ""),
        "disks": (str(count) if count else "-", ""),
        "size": (size(capacity) if capacity else "-", ""),
        "mount": ("-" if volume is None else volume.mount or "-", ""),
        "draft": (change.text.strip(), change.style),
        "would be": ("", "") if would is None else (would.text, would.style),
    }
    return Row(row.name, tuple(cells[column.name] for column in columns))
