"""Layout: the volumes as they are, as declared and as drafted; plans, and carrying them out."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import DataTable

from appliance.client.machine_status import Health, Status
from appliance.client.plan_requests import PlannedHere
from appliance.client.volume_rows import Change, VolumeRow, volume_rows
from appliance.model.disks import Inventory
from appliance.model.plans import Layout, Volume
from appliance.storage.policy.layout_draft import Draft, carried_names, wanted
from appliance.storage.policy.layout_presets import draft_from, presets
from appliance.storage.policy.preview import Preview
from appliance.text import duration
from tui import marks
from tui.asking import Answer
from tui.screens.base import MainScreen
from tui.screens.layout_form import Subject, VolumeForm, Wish
from tui.screens.layout_plan import Desk, PlanScreen
from tui.screens.layout_work import PlanWork
from tui.screens.sheet import Item, Pick
from tui.widgets.columns import row
from tui.widgets.keys import Scroll
from tui.widgets.layout import (
    applying_line,
    below,
    clipped,
    outcome_lines,
    plan_items,
    plans_lines,
    volume_lines,
)
from tui.widgets.layout_table import VolumeTable, volume_columns
from tui.widgets.panel import Line, Panel, View, clean, section, wrapped
from tui.widgets.table import FilterTable

_TABLE_ROWS = 7
_STALE_BASE_SECONDS = 1.0


class LayoutScreen(MainScreen):
    """Everything here but carrying out a plan changes only a draft in this program's memory."""

    NAME = "Layout"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("plus", "add", "Add", key_display="+", tooltip="a new volume, in a form",
                id="layout.add"),
        Binding("minus", "remove", "Remove", key_display="-",
                tooltip="remove the volume from the layout, or keep it after all",
                id="layout.remove"),
        Binding("i", "preset", "Preset", tooltip="start from a layout made for these disks",
                id="layout.preset"),
        Binding("p", "plan", "Plan", tooltip="have root read the disks and plan; writes nothing",
                id="layout.plan"),
        Binding("P", "plans", "Plans", tooltip="plans since boot, by anyone", show=False,
                id="layout.plans"),
        Binding("U", "undo", "Undo", tooltip="undo the last change of the draft", show=False,
                id="layout.undo"),
        Binding("D", "discard", "Discard", tooltip="discard the draft", show=False,
                id="layout.discard"),
        Binding("w", "progress", "Watch", tooltip="the running plan, step by step", show=False,
                id="layout.progress"),
    ]  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self.base: Layout | None = None
        self.draft = Draft()
        # What it was before each change.
        self._undo: list[Draft] = []
        self._base_problem = ""
        self._base_at = 0.0
        self._preview: Preview | None = None
        self._previewed: tuple[object, ...] = ()
        self._preview_problem = ""
        self._rows: tuple[VolumeRow, ...] = ()
        self._carried: frozenset[str] = frozenset()
        self._inventory: Inventory | None = None
        self.work = PlanWork(self)

    def body(self) -> ComposeResult:
        yield Panel(id="layout-heading")
        yield VolumeTable(id="volumes")
        with Scroll(id="layout-more", can_focus=True):
            yield Panel(id="layout-detail")

    def on_mount(self) -> None:
        self.focus_first(DataTable)
        # Not with the history: volumes can be changed where that cannot be read.
        self.read_base()

    # -- what is read

    def history_changed(self) -> None:
        self.read_base()
        self.work.read_notes()

    def read_base(self) -> None:
        """Read what is installed."""
        self.ask("current", self.main.world.layouts.current, self._base_read)

    def _base_read(self, answer: Answer[Layout]) -> None:
        self._base_problem = answer.problem
        if answer.value is not None:
            if self.base is not None and self.base.volumes != answer.value.volumes:
                self._undo.clear()
            self.base, self._base_at = answer.value, answer.asked_at
            self.draft = self.draft.carried_on(self.base, self._carried)
        self.redraw()

    def _status_read(self, status: Status | None) -> None:
        """Follow what the boot unit, or a plan that was carried out, left."""
        inventory = None if status is None else status.inventory
        if inventory is self._inventory:
            return
        self._inventory = inventory
        self._carried = carried_names(inventory)
        if self.base is not None:
            self.draft = self.draft.carried_on(self.base, self._carried)

    def ask_preview(
        self, key: str, draft: Draft, done: Callable[[Preview | None, str], None]
    ) -> None:
        """Have ``draft`` previewed; where that is not possible, say why."""
        base, inventory = self.base, self._inventory
        if base is None or inventory is None:
            done(None, f"no preview: {self._why_no_disks()}")
            return
        layout, removed = draft.layout(base), draft.removed
        layouts = self.main.world.layouts
        self.ask(
            key,
            lambda: layouts.preview(layout, inventory, removed),
            lambda answer: done(answer.value, answer.problem),
        )

    def _why_no_disks(self) -> str:
        snapshot = self.main.snapshot
        if snapshot is None or snapshot.status is None:
            return "the state of this machine has not been read yet"
        if self.main.world.history:
            return "a history has no list of disks"
        status = snapshot.status
        words = (
            ""
            if status.health is Health.OK
            else "; ".join(filter(None, (status.summary, status.hint)))
        )
        return words or "the boot unit left no list of disks"

    def _preview_again(self) -> None:
        why_none = "" if self._inventory is not None else self._why_no_disks()
        wanted_now = (self.base, self.draft, self._inventory, why_none)
        if wanted_now == self._previewed:
            return
        self._previewed = wanted_now

        def done(preview: Preview | None, problem: str) -> None:
            if self._previewed == wanted_now:
                self._preview, self._preview_problem = preview, problem
                if preview is not None:
                    self.redraw()

        self.ask_preview("preview", self.draft, done)

    # -- drawing

    def draw(self, view: View, width: int) -> None:
        self._status_read(view.status)
        self._preview_again()
        self.work.follow(view)
        base = self.base
        self._rows = (
            ()
            if base is None
            else volume_rows(base, self.draft, view.status, self._preview, self._carried)
        )
        heading = clipped(self._heading(view, width), width, view.glyphs)
        self.query_one("#layout-heading", Panel).show(heading)
        table = self.query_one("#volumes", FilterTable)
        columns = volume_columns(width, view.glyphs)
        table.styles.height = 1 + max(1, min(_TABLE_ROWS, len(self._rows)))
        table.show(
            columns,
            [row(columns, one, key=one.name) for one in self._rows],
            width=width,
            glyphs=view.glyphs,
            nothing="no volume is declared" if base is not None else "",
        )
        self._draw_detail(view, width)
        if isinstance(self.app.screen, PlanScreen):
            self.app.screen.draw()
        self.work.draw()

    def _heading(self, view: View, width: int) -> list[Line]:
        lines = [section("LAYOUT", self._base_words(view), width, view.glyphs)]
        snapshot = view.snapshot
        if snapshot is not None and snapshot.applying is not None:
            lines.append(applying_line(snapshot.applying, view.now, width, view.glyphs))
        elif self.main.world.unable:
            lead = (view.glyphs.warn, marks.WARN)
            words = f"read-only: {clean(self.main.world.unable)}"
            lines += wrapped(words, first=lead, indent=2, width=width, style=marks.WARN)
        elif not self.draft.is_empty:
            words = f"{view.glyphs.label} a draft: nothing changes until its plan is confirmed"
            dot = f" {view.glyphs.dot} "
            keys = dot.join(("", "U Undo", "D Discard"))
            lines.append(Content.assemble((words, marks.BUSY), (keys, marks.MUTED)))
        return lines

    def _base_words(self, view: View) -> Content:
        glyphs = view.glyphs
        waiting = self.asking_seconds("current")
        if self._base_problem and self.main.world.unable and self.base is None:
            return Content.styled("not available from here", marks.MUTED)
        if self._base_problem:
            old = "" if self.base is None else f", {duration(view.now - self._base_at)} old"
            return Content.styled(f"{glyphs.warn} {clean(self._base_problem)}{old}", marks.WARN)
        if waiting >= _STALE_BASE_SECONDS:
            return Content.styled(f"{glyphs.busy} reading, for {duration(waiting)}", marks.BUSY)
        if self.base is None:
            return Content.styled("not read yet", marks.MUTED)
        return Content.styled(clean(self.base.source), marks.MUTED)

    @on(FilterTable.Moved, "#volumes")
    def _moved(self) -> None:
        if self.view is not None:
            self._draw_detail(self.view, self.size.width - 2)
            self.main.update_permissions()

    def _draw_detail(self, view: View, width: int) -> None:
        glyphs, work = view.glyphs, self.work
        # The scroll bar takes a column when there is more than fits.
        width -= 1
        row = self.current_row
        lines = [] if row is None else volume_lines(row, width, glyphs)
        if self.base is not None:
            outcome = outcome_lines(self._preview, self._preview_problem, width, glyphs)
            # What is lost comes first.
            lines = lines + outcome if self.draft.is_empty else outcome + lines
        stale = work.stale_by_digest(view)
        lines += plans_lines(
            work.notes, mine=work.mine, stale=stale, now=view.now, width=width, glyphs=glyphs
        )
        self.query_one("#layout-detail", Panel).show(clipped(lines, width, glyphs))

    def jump(self, name: str) -> None:
        """Put the cursor on the volume ``name``."""
        self.query_one("#volumes", FilterTable).move_to(name)

    def copy_text(self) -> str:
        row = self.current_row
        return "" if row is None else row.name

    @property
    def current_row(self) -> VolumeRow | None:
        """The volume under the cursor."""
        row = self.query_one("#volumes", FilterTable).current
        return next((one for one in self._rows if row and one.name == row.key), None)

    # -- what may be done

    def why_not(self, action: str) -> str:
        if action in {"add", "remove", "preset", "plan"} and self.base is None:
            return self._base_problem or "the installed layout has not been read yet"
        if action == "plan":
            return self.main.world.unable or self.work.why_no_plan()
        if action == "remove" and self.current_row is None:
            return "there is no volume under the cursor"
        if action == "discard" and self.draft.is_empty:
            return "there is no draft"
        if action == "undo" and not self._undo:
            return "there is nothing to undo"
        if action == "plans" and not self.work.notes:
            return "nothing was planned since boot"
        if action == "progress" and self.work.watched is None:
            return "no plan was carried out since the screens started"
        return ""

    # -- actions on the draft

    def _change(self, draft: Draft) -> None:
        if draft != self.draft:
            self._undo.append(self.draft)
        self._show_draft(draft)

    def _show_draft(self, draft: Draft) -> None:
        self.draft = draft
        self.redraw()
        self.main.update_permissions()

    def action_add(self) -> None:
        self._open_form(None)

    @on(FilterTable.Chosen, "#volumes")
    def _edit(self) -> None:
        row = self.current_row
        if row is None:
            return
        if row.volume is None or row.change is Change.REMOVED:
            self.main.tell("this volume is removed or not declared: - keeps it, + adds one")
        else:
            self._open_form(row)

    def _open_form(self, row: VolumeRow | None) -> None:
        base, inventory = self.base, self._inventory
        if base is None:
            return
        before = None if row is None else row.volume
        draft = self.draft
        if row is not None and row.change is Change.LATER:
            draft = draft.keeping(row.name)
        there = row is not None and (
            row.name in self._carried or (row.now is not None and row.now.is_up)
        )
        subject = Subject(
            base,
            draft,
            () if inventory is None else inventory.disks,
            before,
            row.before if there and row is not None else None,
        )
        name = "" if before is None else before.name

        def look(volume: Volume, done: Callable[[Preview | None, str], None]) -> None:
            self.ask_preview("form", draft.with_volume(base, volume, instead_of=name), done)

        def wished(wish: Wish) -> None:
            if wish.first_remove:
                self._change(draft.in_two_plans(base, wish.volume))
            else:
                self._change(draft.with_volume(base, wish.volume, instead_of=name))

        self.app.push_screen(VolumeForm(subject, look, wished, self.main.glyphs))

    def action_remove(self) -> None:
        """Take the volume under the cursor out, or keep it after all."""
        row, base = self.current_row, self.base
        if row is None or base is None:
            return
        if row.change in {Change.REMOVED, Change.LATER}:
            self._change(self.draft.keeping(row.name))
        else:
            known = {*self._carried, *(one.name for one in self._rows if one.now is not None)}
            self._change(self.draft.without(base, row.name, carried=known))

    def action_preset(self) -> None:
        offered = {one.key: one for one in presets(self._inventory)}

        def chosen(key: str | None) -> None:
            if key is not None and self.base is not None:
                self._change(draft_from(offered[key], self.base, self._carried))

        items = [
            Item(one.key, below(Content(one.name), one.about, self.size.width), one.why_not)
            for one in offered.values()
        ]
        self.app.push_screen(Pick("Start the draft from", items), chosen)

    def action_undo(self) -> None:
        base, before = self.base, self._undo.pop()
        self._show_draft(before if base is None else before.carried_on(base, self._carried))

    def action_discard(self) -> None:
        self._change(Draft())

    # -- actions on plans

    def action_plan(self) -> None:
        """Have the draft planned by root, and show the plan."""
        base = self.base
        if base is None:
            return
        text, removed = wanted(base, self.draft)
        layouts = self.main.world.layouts
        self._show_plan("Plan", lambda: layouts.plan(layouts.request(text, removed)), self.draft)

    def action_plans(self) -> None:
        """List what was planned since boot; one of them can be looked at in full."""
        layouts = self.main.world.layouts

        def chosen(digest: str | None) -> None:
            if digest is not None:
                self._show_plan(f"Plan {digest[:12]}", lambda: layouts.before(digest))

        view = self.main.view()
        items = plan_items(
            self.work.notes,
            mine=self.work.mine,
            stale=self.work.stale_by_digest(view),
            now=view.now,
            width=self.size.width,
            glyphs=view.glyphs,
        )
        self.app.push_screen(Pick("Plans since boot, by anyone", items), chosen)

    def _show_plan(
        self, title: str, work: Callable[[], PlannedHere], draft: Draft | None = None
    ) -> None:
        base = self.base
        comments = base is not None and base.source != Layout(()).source
        desk = Desk(
            self.main.glyphs, self.main.world.clock, self.work.against, self.work.begin, comments
        )
        screen = PlanScreen(title, desk)
        self.app.push_screen(screen)
        self.work.ask_plan(work, screen.answered, draft)

    def action_progress(self) -> None:
        self.work.show()
