"""Drift: what has changed, and since when, why that is believed, and what can be done about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.widgets import DataTable

from appliance.model.findings import DriftState, FindingRecord
from appliance.text import duration
from tui.asking import Answer
from tui.marks import Glyphs
from tui.permission import may_cancel
from tui.screens.base import MainScreen
from tui.screens.charted import Charted, chart_keys
from tui.screens.drift_note import NoteSheet
from tui.screens.drift_repeats import DriftRepeats
from tui.screens.sheet import Reply, Sheet
from tui.sources.drift import Evidence, Findings, series_key
from tui.widgets import drift, drift_chart
from tui.widgets import drift_finding as finding
from tui.widgets import drift_questions as questions
from tui.widgets.panel import Line, Panel, View, clean
from tui.widgets.table import FilterTable

_FINDINGS, _EVIDENCE, _SAY, _LOOK = "findings", "evidence", "say", "look"
# Evidence of so many findings is kept.
_KNOWN_MOST = 64
_GAP_CELLS = 2


class DriftScreen(MainScreen, Charted[None]):
    """A table of findings, with the one under the cursor and its evidence below it."""

    NAME = "Drift"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "acknowledge", "Acknowledge",
                tooltip="silence the alert of a finding until it clears, with a note",
                id="drift.acknowledge"),
        Binding("b", "approve", "Rebaseline",
                tooltip="make the changed speed the new normal; asks first", id="drift.approve"),
        Binding("R", "confirm", "Retest", tooltip="repeat the suspect jobs now; asks first",
                id="drift.confirm"),
        Binding("d", "look", "Check now", tooltip="check for drift now", id="drift.look"),
        Binding("r", "run", "Run", tooltip="the run with which it began", show=False,
                id="drift.run"),
        Binding("t", "trend", "Trend", tooltip="its series over time", show=False,
                id="drift.trend"),
        Binding("f", "closed", "Closed", tooltip="show closed findings too", show=False,
                id="drift.closed"),
        *chart_keys("TM"),
        Binding("x", "stop", "Cancel", tooltip="stop the repeats, or the suite, that is running",
                show=False, id="drift.stop"),
    ]  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self._findings: Findings | None = None
        self._problem = ""
        self._read_at = 0.0
        self._with_closed = False
        # By finding; another one when findings are read again: answers until then are out of date.
        self._known: dict[int, Answer[Evidence]] = {}
        # The finding that a link leads to, until it has been read.
        self._wanted = ""
        # Whose evidence was asked for last.
        self._evidence_of = 0
        self._repeats = DriftRepeats(self, self._changed)

    def body(self) -> ComposeResult:
        yield Panel(id="drift-heading")
        yield FilterTable(id="drift")
        with Container(id="drift-below"):
            yield Panel(id="drift-text")
            yield Panel(id="drift-chart")

    def on_mount(self) -> None:
        self.focus_first(DataTable)

    # -- reading

    def history_changed(self) -> None:
        self.ask(_FINDINGS, self.main.world.drift.findings, self._found)

    def _found(self, answer: Answer[Findings]) -> None:
        self._problem = answer.problem
        if answer.value is not None:
            self._findings, self._read_at = answer.value, answer.asked_at
            self._known, self._evidence_of = {}, 0
        self.redraw()

    def _ask_evidence(self, record: FindingRecord) -> None:
        """Ask for the evidence of the finding under the cursor, once."""
        found = self._known
        if record.id in found:
            return

        def known(answer: Answer[Evidence]) -> None:
            if len(found) >= _KNOWN_MOST:
                found.clear()
            found[record.id] = answer
            if found is self._known:
                self.redraw()

        if self._evidence_of != record.id or not self.is_asking(_EVIDENCE):
            self._evidence_of = record.id
            self.ask(_EVIDENCE, lambda: self.main.world.drift.evidence(record), known)

    def _evidence(self, record: FindingRecord) -> Evidence | None:
        answer = self._known.get(record.id)
        return None if answer is None else answer.value

    # -- drawing

    def draw(self, view: View, width: int) -> None:
        self._repeats.poll(view)
        found = self._findings
        heading = drift.heading_lines(
            view,
            None if found is None else found.records,
            "" if found is None else found.unjudged,
            self._work(view),
            width,
            closed=self._with_closed,
        )
        self.query_one("#drift-heading", Panel).show(heading)
        records = drift.in_order(() if found is None else found.records, closed=self._with_closed)
        self.query_one("#drift", FilterTable).show(
            drift.columns(width, view.glyphs),
            [drift.row(one, width, view.glyphs) for one in records],
            width=width,
            glyphs=view.glyphs,
            nothing="" if found is None else drift.nothing_words(view),
        )
        if self._wanted and records:
            self.query_one("#drift", FilterTable).move_to(self._wanted)
            self._wanted = ""
        self._draw_below(view, width)

    def _draw_below(self, view: View, width: int) -> None:
        """The finding under the cursor: its opening, and beside or below that its chart."""
        record = self._record
        wide = width >= drift.WIDE_CELLS
        self.set_class(wide, "-wide")
        text, chart = self.query_one("#drift-text", Panel), self.query_one("#drift-chart", Panel)
        if record is None:
            text.show([])
            chart.show([])
            return
        self._ask_evidence(record)
        cells = width // 2 - _GAP_CELLS if wide else width
        lines = drift.finding_lines(record, self._opening(record), cells, view.glyphs)
        evidence = self._evidence(record)
        if wide and drift_chart.has_chart(evidence):
            lines += drift.further_lines(record, evidence, cells)
        height = self.query_one("#drift-below").size.height
        text.show(lines)
        chart.show(self._chart(record, cells, height if wide else height - len(lines), view.glyphs))

    def _opening(self, record: FindingRecord) -> finding.Rows:
        step, wall = self._step(record), self.main.world.wall()
        return finding.opening(record, self._evidence(record), step, wall=wall)

    def _step(self, record: FindingRecord) -> finding.Step:
        found = self._findings or Findings(())
        seconds = None
        if record.state is DriftState.SUSPECT and not self.why_not("confirm"):
            subject = record.fact.subject
            seconds = next((one.seconds for one in found.repeats if one.subject == subject), None)
        return finding.next_of(
            record, self._evidence(record), found.records, repeat_seconds=seconds
        )

    def _chart(self, record: FindingRecord, width: int, rows: int, glyphs: Glyphs) -> list[Line]:
        evidence, answer = self._evidence(record), self._known.get(record.id)
        if evidence is not None and drift_chart.has_chart(evidence):
            return drift_chart.chart_lines(
                record, evidence, width, rows, marker=self.marker, glyphs=glyphs
            )
        note = Content("")
        seconds = self.asking_seconds(_EVIDENCE)
        if answer is not None and answer.problem:
            note = Content(f"not read: {clean(answer.problem)}"[: width // 2])
        elif answer is None and seconds > 1:
            note = Content(f"{glyphs.busy} reading, for {duration(seconds)}")
        return drift.evidence_lines(record, note, width, glyphs)[:rows]

    def _work(self, view: View) -> drift.Work:
        doing = ""
        if self._repeats.at_work:
            seconds = self._repeats.seconds(view)
            since = "" if seconds is None else f", for {duration(seconds)}"
            doing = f"repeating the suspect jobs{since}; x stops it"
        elif seconds := self.asking_seconds(_LOOK):
            doing = f"checking for drift, for {duration(seconds)}"
        elif seconds := self.asking_seconds(_SAY):
            doing = f"writing to the history, for {duration(seconds)}"
        return drift.Work(
            self.asking_seconds(_FINDINGS), self._problem, view.now - self._read_at, doing
        )

    @property
    def _record(self) -> FindingRecord | None:
        """The finding under the cursor."""
        row = self.query_one("#drift", FilterTable).current
        records = () if self._findings is None else self._findings.records
        return next((one for one in records if row and str(one.id) == row.key), None)

    @on(FilterTable.Moved)
    def _moved(self) -> None:
        if self.view is not None:
            self._draw_below(self.view, self.size.width - 2)
        self.main.update_permissions()

    @on(FilterTable.Chosen)
    def _chosen(self) -> None:
        """All of a finding, with where it leads as answers."""
        record = self._record
        if record is None:
            return
        evidence, opening = self._evidence(record), self._opening(record)
        links = finding.links(record, evidence)

        def answered(reply: str | None) -> None:
            if reply:
                self._follow(links[int(reply.removeprefix("to-"))])

        self.app.push_screen(
            Sheet(
                f"Finding {record.id}: {clean(record.fact.code)}",
                lambda width: drift.finding_sheet(
                    record, evidence, opening, width, self.main.glyphs
                ),
                [Reply(f"to-{at}", clean(one.words)) for at, one in enumerate(links)],
                leave="Close",
            ),
            answered,
        )

    def _follow(self, link: finding.Link) -> None:
        from tui.screens.results_run import RunScreen

        if link.kind == "run":
            self.app.push_screen(RunScreen(link.name))
        else:
            self.main.visit(link.kind, link.name)

    def copy_text(self) -> str:
        """The command of the next step; of a step without one, the finding."""
        record = self._record
        if record is None:
            return ""
        what = f"#{record.id} {record.fact.code}: {record.fact.summary}"
        return clean(self._step(record).command or what)

    # -- what may be done

    def why_not(self, action: str) -> str:
        if action in {"acknowledge", "approve", "confirm", "look"}:
            return self.main.world.unable or self._why_not_now(action)
        if action == "stop":
            if self._repeats.at_work:
                return self.main.world.unable
            return may_cancel(self.main.snapshot, self.main.world.unable).reason
        if action == "numbers":
            record = self._record
            known = None if record is None else self._evidence(record)
            return "" if drift_chart.has_chart(known) else "this finding has no chart"
        if action in {"run", "trend"}:
            record = self._record
            if record is None:
                return "no finding is under the cursor"
            if action == "trend":
                return "" if series_key(record.fact) else "this finding is about no series"
            has_run = isinstance(record.fact.evidence.get("change_run"), int)
            return "" if has_run else "this finding is about no run"
        return super().why_not(action)

    def _why_not_now(self, action: str) -> str:
        found, record = self._findings, self._record
        if action in {"acknowledge", "approve"} and self.is_asking(_SAY):
            return "another note is still being written"
        if action == "acknowledge":
            return questions.why_not_acknowledge(record)
        if action == "approve":
            return questions.why_not_approve(record)
        if action == "look":
            return "that is already being done" if self.is_asking(_LOOK) else ""
        if self._repeats.at_work:
            return "the suspect jobs are already being repeated"
        repeats = () if found is None else found.repeats
        return questions.why_not_confirm(None if found is None else found.records, repeats)

    # -- actions

    def action_acknowledge(self) -> None:
        if (record := self._record) is not None:
            self._note(
                NoteSheet(
                    f"Acknowledge finding {record.id}?",
                    questions.acknowledge_text(record),
                    "Acknowledge",
                ),
                lambda note: self.main.world.drift.acknowledge(record.id, note),
            )

    def action_approve(self) -> None:
        if (record := self._record) is not None:
            self._note(
                NoteSheet(
                    f"Rebaseline for finding {record.id}?",
                    questions.approve_text(record, self._evidence(record)),
                    "Rebaseline",
                    careful=True,
                ),
                lambda note: self.main.world.drift.approve(record.id, note),
            )

    def _note(self, sheet: NoteSheet, say: Callable[[str], FindingRecord]) -> None:
        def answered(reply: str | None) -> None:
            if reply:
                note = sheet.note
                self.ask(_SAY, lambda: say(note), self._said)

        self.app.push_screen(sheet, answered)

    def _said(self, answer: Answer[FindingRecord]) -> None:
        if answer.value is None:
            self.main.tell(answer.problem, "error")
        else:
            self.main.tell(f"finding {answer.value.id} is {answer.value.state.value}")
        self._changed()

    def action_look(self) -> None:
        def looked(answer: Answer[None]) -> None:
            if answer.problem:
                self.main.tell(answer.problem, "error")
            else:
                self.main.tell("drift check done")
            self._changed()

        self.ask(_LOOK, self.main.world.drift.look, looked)
        self.redraw()

    def action_confirm(self) -> None:
        if self._findings is not None:
            self._repeats.start(self._findings.repeats)

    def action_stop(self) -> None:
        """Stop the repeats; without any, what else is running."""
        if self._repeats.at_work:
            self._repeats.stop()
        else:
            self.main.action_cancel_run()

    def action_run(self) -> None:
        record = self._record
        found = [] if record is None else finding.links(record, self._evidence(record))
        for link in reversed(found):
            if link.kind == "run":
                self._follow(link)
                return

    def action_trend(self) -> None:
        from tui.screens.results_trend import TrendScreen

        if self._record is not None:
            self.app.push_screen(TrendScreen(series_key(self._record.fact)))

    def jump(self, name: str) -> None:
        """Put the cursor on finding ``name``, also if it is closed or not read yet."""
        self._with_closed, self._wanted = True, name
        self.redraw()

    def action_closed(self) -> None:
        self._with_closed = not self._with_closed
        self.redraw()

    def action_numbers(self) -> None:
        record = self._record
        known = None if record is None else self._evidence(record)
        if record is not None and known is not None:
            text = drift_chart.numbers(record, known, self.main.glyphs)
            self.app.push_screen(Sheet(f"Numbers of finding {record.id}", text))

    def _changed(self) -> None:
        """What was done is in the history, and perhaps in the status."""
        self.main.feed.hurry()
        self.history_changed()
