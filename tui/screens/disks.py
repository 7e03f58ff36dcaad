"""Disks: every disk, whether it is used, and why or why not."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import DataTable

from appliance.text import bandwidth, count, size
from tui import marks
from tui.details import disk_facts, disk_hint, disk_reason, disk_sheet, disk_use
from tui.marks import Mark
from tui.screens.base import FRAME_ROWS, MainScreen
from tui.screens.sheet import Sheet
from tui.widgets.panel import Line, Panel, View, clean, milliseconds, section, wrapped
from tui.widgets.table import Column, FilterTable, Row

if TYPE_CHECKING:
    from appliance.client.machine_status import Status
    from appliance.model.disks import Disk
    from appliance.model.runs import Sample

# Cells of the texts alone; the table puts one more at each side of a column. At 80 cells the
# model is cut, because the lines below the table have it in full.
_LEAD = (Column("used", 8), Column("disk", 8), Column("kind", 8), Column("size", 8, right=True))
_SERIAL = Column("serial", 20)
_LIVE = (
    Column("read+write", 11, right=True),
    Column("IOPS", 8, right=True),
    Column("await", 9, right=True),
)
_WHY = Column("why", 20, grows=True)
# From these widths on there is room for live figures and why; and for whole models too.
_WIDE_CELLS, _WIDEST_CELLS = 130, 170
_SHORT_KINDS = {
    "instance-store": "instance",
    "network": "network",
    "system": "system",
    "unknown": "unknown",
}
_REASON_ROWS = 4
# The least that the lines about the present disk get, and the table's own: names, filter.
_BELOW_ROWS, _TABLE_ROWS = 6, 2


class _Choice(Enum):
    """Which disks are shown."""

    ALL = "all"
    UNUSED = "not used"
    USED = "used"

    def takes(self, mark: Mark) -> bool:
        return self is _Choice.ALL or (self is _Choice.USED) == (mark.word in {"used", "member"})

    @property
    def next(self) -> _Choice:
        order = list(_Choice)
        return order[(order.index(self) + 1) % len(order)]


_NOTHING = {
    _Choice.ALL: "",
    _Choice.UNUSED: "every disk is used",
    _Choice.USED: "no disk is used",
}


class DisksScreen(MainScreen):
    """A table of disks, with the one under the cursor in full below it."""

    NAME = "Disks"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "f",
            "choose",
            "Not used",
            tooltip="only unused, only used, or all",
            id="disks.choose",
        ),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._disks: tuple[Disk, ...] = ()
        self._choice = _Choice.ALL
        self._below = 0

    def body(self) -> ComposeResult:
        yield Panel(id="disks-heading")
        yield FilterTable(id="disks")
        yield Panel(id="reason")

    def on_mount(self) -> None:
        self.focus_first(DataTable)

    # -- drawing

    def draw(self, view: View, width: int) -> None:
        status = _status(view)
        self._disks = () if status is None else status.disks
        note = Content.styled(self._note(view), marks.MUTED)
        self.query_one("#disks-heading", Panel).show([section("DISKS", note, width, view.glyphs)])
        self._fill(view, width)
        self._show_reason(width)

    def _note(self, view: View) -> str:
        status = _status(view)
        if status is None:
            return "not read yet"
        if not self._disks:
            what = "the history names none" if view.history else "none recorded by the boot unit"
            return status.history_problem.partition(";")[0] if status.history_problem else what
        if view.history:
            members = len(self._disks)
            return f"{members} member{'s' * (members != 1)}; the history knows no other disks"
        words = [_use(disk, view).word for disk in self._disks]
        note = f"{words.count('used')} of {len(words)} used"
        if free := words.count("free"):
            note += f", {free} could be"
        return note if self._choice is _Choice.ALL else f"{note}; shown: {self._choice.value}"

    def _fill(self, view: View, width: int) -> None:
        status = _status(view)
        wide, widest = width >= _WIDE_CELLS, width >= _WIDEST_CELLS
        model = (Column("model", 32 if widest else 16),) if widest or not wide else ()
        live = _LIVE if wide and not view.history else ()
        columns = (*_LEAD, *model, _SERIAL, *live, *((_WHY,) if wide else ()))
        samples = _samples(view)
        rows = []
        for disk in self._disks:
            mark = _use(disk, view)
            if not self._choice.takes(mark):
                continue
            reason, hint = disk_reason(disk, status), disk_hint(disk, status)
            cells = [
                (mark.text, mark.style),
                (_name(disk), ""),
                (_SHORT_KINDS[disk.kind], ""),
                (size(disk.size_bytes) if disk.size_bytes else "-", ""),
            ]
            if model:
                cells.append((_model(disk), ""))
            cells.append((disk.serial, ""))
            if live:
                style = marks.MUTED if view.live_is_stale else ""
                cells += [(text, style) for text in _figures(samples.get(_name(disk)), view)]
            if wide:
                cells.append((reason, ""))
            also = f"{disk.path} {disk.kind.value} {_model(disk)} {reason} {hint}"
            rows.append(Row(disk.path, tuple(cells), also=also))
        table = self.query_one("#disks", FilterTable)
        # On a high screen all about the present disk stands right below the table.
        wanted = len(rows) + _TABLE_ROWS
        self._below = max(0, self.size.height - FRAME_ROWS - 1 - wanted)
        table.styles.height = wanted if self._below >= _BELOW_ROWS else "1fr"
        table.show(
            columns,
            rows,
            width=width,
            glyphs=view.glyphs,
            nothing=_NOTHING[self._choice] if self._disks else "",
        )

    def _show_reason(self, width: int) -> None:
        disk, view = self._present_disk(), self._view
        lines: list[Line] = []
        if disk is not None and view is not None:
            status = _status(view)
            mark = _use(disk, view)
            facts = (
                clean(_model(disk)),
                clean(disk.serial),
                size(disk.size_bytes) if disk.size_bytes else "",
                disk.kind.value,
            )
            title = section(
                clean(disk.path), Content.styled(mark.text, mark.style), width, view.glyphs
            )
            about = f" {view.glyphs.dot} ".join(fact for fact in facts if fact)
            in_full = self._below >= _BELOW_ROWS
            lines = [title] if in_full else [title, Content.styled(about, marks.MUTED)]
            lines += _wrapped("why", disk_reason(disk, status), width)
            if hint := disk_hint(disk, status):
                lines += _wrapped("next", hint, width)
            if in_full:
                room = self._below - len(lines) - 1
                lines += [Content(""), *disk_facts(disk)][: max(0, room)]
        self.query_one("#reason", Panel).show(lines)

    # -- the cursor, and what it is on

    @on(FilterTable.Moved)
    def _moved(self) -> None:
        self._show_reason(self.size.width - 2)

    @on(FilterTable.Chosen)
    def _chosen(self) -> None:
        """Show everything about the disk under the cursor."""
        disk, view = self._present_disk(), self._view
        if disk is not None and view is not None:
            mark = _use(disk, view)
            text = disk_sheet(disk, _status(view), view.glyphs, mark=mark)
            self.app.push_screen(Sheet(clean(disk.path), text))

    def _present_disk(self) -> Disk | None:
        row = self.query_one("#disks", FilterTable).current
        return next((disk for disk in self._disks if row and disk.path == row.key), None)

    # -- actions

    def why_not(self, action: str) -> str:
        if action == "choose" and not self._disks:
            return "no disks are known"
        return ""

    def action_choose(self) -> None:
        self._choice = self._choice.next
        self.redraw()


def _status(view: View) -> Status | None:
    return None if view.snapshot is None else view.snapshot.status


def _use(disk: Disk, view: View) -> Mark:
    """Of a history only members are known, and not whether they still are."""
    if view.history:
        return Mark(view.glyphs.label, "member", marks.BUSY)
    return disk_use(disk, _status(view), view.glyphs)


def _name(disk: Disk) -> str:
    return disk.path.removeprefix("/dev/")


def _model(disk: Disk) -> str:
    return f"{disk.vendor} {disk.model}".strip()


def _samples(view: View) -> dict[str, Sample]:
    """The live figures of members, by kernel name."""
    live = () if view.snapshot is None else view.snapshot.live
    return {one.device: one.sample for one in live if one.sample is not None}


def _figures(sample: Sample | None, view: View) -> tuple[str, str, str]:
    if sample is None:
        return "", "", ""
    iops = sample.read_iops + sample.write_iops
    return (
        bandwidth(sample.read_bytes_per_s + sample.write_bytes_per_s),
        count(iops),
        milliseconds(sample.await_ms, view.glyphs) if iops else "-",
    )


def _wrapped(label: str, text: str, width: int) -> list[Line]:
    first = Content.styled(label, marks.MUTED)
    return wrapped(clean(text), first=first, indent=6, width=width, rows=_REASON_ROWS)
