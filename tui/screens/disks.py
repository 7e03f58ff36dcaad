"""Disks: every disk, whether it is used, how it is, and why or why not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import DataTable

from appliance.text import bandwidth, count, size
from tui import marks
from tui.charts.strip import sparkline
from tui.details import (
    disk_facts,
    disk_health,
    disk_hint,
    disk_reason,
    disk_sheet,
    disk_use,
    health_words,
    member_of,
    temperature,
)
from tui.marks import Mark
from tui.screens.base import MainScreen
from tui.screens.sheet import Sheet
from tui.tracks import Figure, Followed, columns, volumes, waits
from tui.widgets.columns import Cell, Column, marked, row
from tui.widgets.live import factor
from tui.widgets.panel import Line, Panel, View, clean, labelled, milliseconds, section
from tui.widgets.table import FilterTable

if TYPE_CHECKING:
    from appliance.model.disks import Disk
    from appliance.model.runs import Sample

_SPARK_CELLS = 14
# From these widths on there is room for live figures; and for model and why, too.
_WIDE_CELLS, _WIDEST_CELLS = 130, 190


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
        Binding("f", "choose", "Which", tooltip="only unused, only used, or all",
                id="disks.choose"),
        Binding("l", "log", "Log", tooltip="entries of the log with its name", id="disks.log"),
    ]  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self._disks: tuple[Disk, ...] = ()
        self._choice = _Choice.ALL
        self._wanted = ""

    def body(self) -> ComposeResult:
        yield Panel(id="disks-heading")
        yield FilterTable(id="disks")
        yield Panel(id="reason")

    def on_mount(self) -> None:
        self.focus_first(DataTable)

    # -- drawing

    def draw(self, view: View, width: int) -> None:
        status = view.status
        self._disks = () if status is None else status.disks
        note = Content.styled(self._note(view), marks.MUTED)
        self.query_one("#disks-heading", Panel).show([section("DISKS", note, width, view.glyphs)])
        self._fill(view, width)
        self._show_reason(width)

    def _note(self, view: View) -> str:
        status = view.status
        if status is None:
            problem = "" if view.snapshot is None else view.snapshot.status_problem
            return f"not read: {clean(problem)}" if problem else "not read yet"
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
        status = view.status
        shown = _columns(view)
        rows = []
        for disk in self._disks:
            if self._choice.takes(_use(disk, view)):
                reason, hint = disk_reason(disk, status), disk_hint(disk, status)
                also = f"{disk.path} {disk.kind.value} {_model(disk)} {reason} {hint}"
                rows.append(row(shown, disk, key=disk.path, also=also))
        self._table.show(
            shown,
            rows,
            width=width,
            glyphs=view.glyphs,
            nothing=_NOTHING[self._choice] if self._disks else "",
        )
        if self._wanted and rows:
            self.jump(self._wanted)

    @property
    def _table(self) -> FilterTable:
        return self.query_one("#disks", FilterTable)

    def _show_reason(self, width: int) -> None:
        disk, view = self._present_disk(), self._view
        lines: list[Line] = []
        if disk is not None and view is not None:
            status, glyphs = view.status, view.glyphs
            mark = _use(disk, view)
            facts = (
                clean(_model(disk)),
                clean(disk.serial),
                size(disk.size_bytes) if disk.size_bytes else "",
                disk.kind.value,
            )
            note = Content.styled(mark.text, mark.style)
            about = f" {glyphs.dot} ".join(fact for fact in facts if fact)
            lines = [
                section(clean(disk.path), note, width, glyphs),
                Content.styled(about, marks.MUTED),
            ]
            lines += labelled("why", disk_reason(disk, status), width)
            if hint := disk_hint(disk, status):
                lines += labelled("next", hint, width)
            style = disk_health(disk, status, glyphs).style
            lines += labelled("health", health_words(disk, status), width, style)
            # As far as there is room, and all of it with enter.
            lines += [Content(""), *disk_facts(disk)]
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
            text = disk_sheet(disk, view.status, view.glyphs, mark=mark)
            if (followed := _followed(disk, view)) is not None:
                from tui.widgets import pace

                lines = pace.table_text(pace.numbers(view, followed), view)
                text = Content.assemble(text, "\n\nlast minutes, means of 10 s\n", lines)
            self.app.push_screen(Sheet(clean(disk.path), text))

    def _present_disk(self) -> Disk | None:
        at = self._table.current
        return next((disk for disk in self._disks if at and disk.path == at.key), None)

    def jump(self, name: str) -> None:
        """Put the cursor on the disk with this serial or kernel name, as soon as it is known."""
        found = next((one for one in self._disks if name in {one.serial, _name(one)}), None)
        self._wanted = name if found is None else ""
        if found is None:
            return
        if self._choice is not _Choice.ALL:
            self._choice = _Choice.ALL
            self.redraw()
        self._table.move_to(found.path)

    def copy_text(self) -> str:
        """The serial: the one name of a disk that stays."""
        disk = self._present_disk()
        return "" if disk is None else disk.serial or disk.path

    # -- actions

    def why_not(self, action: str) -> str:
        if action in {"choose", "log"} and not self._disks:
            return "no disks are known"
        if action == "log":
            disk = self._present_disk()
            # Of a history not every disk has a name.
            named = disk is not None and disk.path.startswith("/dev/")
            return "" if named else "there is no disk to look for"
        return ""

    def action_log(self) -> None:
        disk = self._present_disk()
        if disk is not None:
            self.main.visit("log", _name(disk))

    def action_choose(self) -> None:
        self._choice = self._choice.next
        self.redraw()


def _use(disk: Disk, view: View) -> Mark:
    """Of a history only members are known, and not whether they still are."""
    if view.history:
        return Mark(view.glyphs.label, "member", marks.BUSY)
    return disk_use(disk, view.status, view.glyphs)


def _name(disk: Disk) -> str:
    return disk.path.removeprefix("/dev/")


def _model(disk: Disk) -> str:
    return f"{disk.vendor} {disk.model}".strip()


def _columns(view: View) -> tuple[Column, ...]:
    """Of a table of disks; what has no column stands below it. A history has serials, and hardly
    more.
    """
    snapshot, status, glyphs = view.snapshot, view.status, view.glyphs
    waiting = {one.member.device: one for volume in volumes(view.seconds)
               for one in waits(view.seconds, volume)}  # fmt: skip
    slow = {name for name, wait in waiting.items() if wait.is_slow}
    samples = {} if snapshot is None else {one.device: one.sample for one in snapshot.live}
    stale = marks.MUTED if view.live_is_stale else ""

    def live(write: Callable[[Sample], str]) -> Callable[[Disk], Cell]:
        def cell(disk: Disk) -> Cell:
            sample = samples.get(_name(disk))
            return "" if sample is None else write(sample), stale

        return cell

    def warned(write: Callable[[Disk], str]) -> Callable[[Disk], Cell]:
        return lambda disk: (write(disk), stale or warning(disk))

    def warning(disk: Disk) -> str:
        return marks.WARN if _name(disk) in slow else ""

    def awaited(disk: Disk) -> str:
        wait, sample = waiting.get(_name(disk)), samples.get(_name(disk))
        if wait is not None:
            figure = f" {factor(wait, glyphs)}" if wait.is_slow else ""
            # In whole seconds it fits.
            hung = f"{wait.stalled_seconds:.0f} s" if wait.stalled_seconds else ""
            return (hung or milliseconds(wait.await_ms, glyphs)) + figure
        if sample is None:
            return ""
        return (
            milliseconds(sample.await_ms, glyphs) if sample.read_iops + sample.write_iops else "-"
        )

    def volume(disk: Disk) -> str:
        found = member_of(disk, status)
        return found.name if found else ""

    why = Column("why", 20, grows=True, get=lambda disk: (disk_reason(disk, status), ""))
    known = (
        Column("used", 8, get=lambda disk: marked(_use(disk, view))),
        Column(
            "disk", 8, get=lambda disk: (_name(disk), marks.WARN if _name(disk) in slow else "")
        ),
        Column("volume", 8, get=lambda disk: (volume(disk), "")),
        Column("serial", 20, get=lambda disk: (disk.serial, "")),
    )
    if view.history:
        return (*known, why)
    return (
        *known,
        Column("health", 12, get=lambda disk: marked(disk_health(disk, status, glyphs))),
        Column("temp", 5, right=True, wide=_WIDE_CELLS,
               get=lambda disk: temperature(disk, status)),
        Column("size", 8, right=True, wide=_WIDE_CELLS,
               get=lambda disk: (size(disk.size_bytes) if disk.size_bytes else "-", "")),
        Column("read+write", 10, right=True, wide=_WIDE_CELLS,
               get=live(lambda one: bandwidth(one.read_bytes_per_s + one.write_bytes_per_s))),
        Column("IOPS", 7, right=True, wide=_WIDE_CELLS,
               get=live(lambda one: count(one.read_iops + one.write_iops))),
        Column("await", 12, right=True, get=warned(awaited)),
        Column("await, 5 min", _SPARK_CELLS, wide=_WIDE_CELLS,
               get=warned(lambda disk: _spark(disk, view))),
        Column("model", 20, wide=_WIDEST_CELLS, get=lambda disk: (_model(disk), "")),
        replace(why, wide=_WIDEST_CELLS),
    )  # fmt: skip


def _followed(disk: Disk, view: View) -> Followed | None:
    """The disk among those with live figures."""
    devices = view.seconds[-1].devices if view.seconds else ()
    return next((one for one in devices if one.device == _name(disk)), None)


def _spark(disk: Disk, view: View) -> str:
    followed = _followed(disk, view)
    if followed is None:
        return ""
    made = columns(view.seconds, followed, Figure.AWAIT_MS, cells=_SPARK_CELLS, now=view.now)
    return sparkline(made, _SPARK_CELLS, view.glyphs, from_zero=True)
