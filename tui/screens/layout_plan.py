"""A plan as it will run, and the only place in these screens from which one is carried out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Button, Input

from appliance.client.plan_requests import PlannedHere
from appliance.text import duration
from tui import marks
from tui.asking import Answer
from tui.marks import Glyphs
from tui.screens.sheet import FORM_KEYS, Reply, Sheet
from tui.widgets.keys import Scroll
from tui.widgets.layout_plan import (
    STILL,
    confirm_words,
    names_to_type,
    not_yet_confirmed,
    plan_lines,
)
from tui.widgets.panel import Line, Panel, cell, clean, wrapped

_WORD_ROWS = 4
_PROBLEM_ROWS = 6
# In less than this the names of some disks, or the answers, would be out of sight.
_LEAST_CELLS, _LEAST_ROWS = 60, 20
# A key that is held comes again faster than this, and is not another one.
_SAME_KEY_SECONDS = 0.4


@dataclass(frozen=True, slots=True)
class Desk:
    """What the screen asks of the one below it. All are called in the application's thread.

    ``against`` says why a plan cannot be confirmed any more, ``begin`` has it carried out and
    calls back with why it was not, or with nothing.
    """

    glyphs: Glyphs
    clock: Callable[[], float]
    against: Callable[[PlannedHere], str]
    begin: Callable[[PlannedHere, Callable[[str], None]], None]
    comments: bool = False


class PlanScreen(Sheet, inherit_bindings=False):
    """Shows that it waits, then the plan or why there is no plan; typing names confirms it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pagedown", "page(1)", "Page down", tooltip="the next page of the plan",
                show=False, id="plan.down"),
        Binding("pageup", "page(-1)", "Page up", tooltip="the page before", show=False,
                id="plan.up"),
        Binding("down", "down(1)", "Scroll", tooltip="scroll the plan by a line", priority=True,
                id="plan.line-down"),
        Binding("up", "down(-1)", "Scroll up", tooltip="scroll the plan back", show=False,
                priority=True, id="plan.line-up"),
        Binding("ctrl+y", "app.copy", "Copy", tooltip="copy the digest", show=False,
                id="plan.copy"),
        *FORM_KEYS,
    ]  # fmt: skip

    def __init__(self, title: str, desk: Desk) -> None:
        super().__init__(title, Content(""), [Reply("do", "Carry out", danger=True)])
        self._desk = desk
        self._asked_at = desk.clock()
        self._made: PlannedHere | None = None
        self._names: tuple[str, ...] = ()
        self._problem = ""
        self._begun_at: float | None = None
        self._drawn_width = 0
        self._entered_at: float | None = None

    def body(self) -> ComposeResult:
        with Scroll(id="plan-body", can_focus=False):
            yield Panel(id="plan")
        yield Panel(id="plan-words")
        yield Input(id="typed", placeholder="type here", compact=True, select_on_focus=False)
        yield Panel(id="plan-against")

    # -- from below

    def copy_text(self) -> str:
        return "" if self._made is None else self._made.plan.digest

    def answered(self, answer: Answer[PlannedHere]) -> None:
        """The plan has arrived, or the reason why there is no plan."""
        self._made, self._problem = answer.value, answer.problem
        if answer.value is not None:
            self._names = names_to_type(answer.value.plan)
        self.draw()
        if self.is_mounted and (line := self.query_one("#typed", Input)).display:
            line.focus()

    # -- drawing

    def draw(self) -> None:
        """Also once a second: how long it takes, and whether the plan still stands."""
        if not self.is_mounted:
            return
        # A column is left for the scroll bar.
        width = max(20, self.query_one(Scroll).size.width - 1)
        plan = self.query_one("#plan", Panel)
        if self._made is None:
            plan.show(self._waiting_lines(width))
        elif width != self._drawn_width:
            self._drawn_width = width
            desk = self._desk
            plan.show(plan_lines(self._made, width, desk.glyphs, comments=desk.comments))
        self._draw_answers(width)

    def _waiting_lines(self, width: int) -> list[Line]:
        glyphs = self._desk.glyphs
        if self._problem:
            lead = (glyphs.bad, marks.BAD)
            words = f"there is no plan: {clean(self._problem)}"
            return wrapped(words, first=lead, indent=2, width=width, rows=_PROBLEM_ROWS)
        seconds = duration(max(0.0, self._desk.clock() - self._asked_at))
        return [
            Content.styled(
                f"{glyphs.busy} root reads the disks and plans, for {seconds}", marks.BUSY
            ),
            Content.styled("nothing is written; esc stops waiting for it", marks.MUTED),
        ]

    def _draw_answers(self, width: int) -> None:
        self.set_class(self._is_small, "-small")
        against = self._against()
        typed = self.query_one("#typed", Input)
        words = self.query_one("#plan-words", Panel)
        wanted = self._made is not None and not self._never()
        typed.display = wanted
        words.show(self._words(width) if wanted else [])
        self.query_one("#do", Button).disabled = bool(against)
        if self.focused is None or not self.focused.display:
            # It stood on what has gone.
            self.query_one("#leave", Button).focus()
        self.query_one("#plan-against", Panel).show(self._against_lines(against, width))

    def _against_lines(self, against: str, width: int) -> list[Line]:
        """Why it is not carried out, or which key does it."""
        if self._made is None:
            return []
        glyphs = self._desk.glyphs
        if not against:
            on_it = self.focused is self.query_one("#do")
            words = "enter carries it out" if on_it else "enter goes to Carry out"
            return [Content.styled(f"{words}: this cannot be undone", f"bold {marks.BAD}")]
        style, lead, words = marks.WARN, glyphs.warn, f"cannot be carried out: {against}"
        if not self._never():
            # Still being typed; only a wrong name is a mistake.
            typed = self.query_one("#typed", Input).value
            style, lead, words = marks.MUTED, glyphs.dot, against
            if typed.strip() and not against.startswith(STILL):
                style, lead = marks.BAD, glyphs.bad
        first = Content.styled(lead, style)
        rows = 4 if self.app.size.height >= _LEAST_ROWS // 2 else 1
        return wrapped(words, first=first, indent=2, width=width, style=style, rows=rows)

    def _words(self, width: int) -> list[Line]:
        made, glyphs = self._made, self._desk.glyphs
        if made is None:
            return []
        told = confirm_words(made.plan, self._names)
        lines: list[Line] = [Content.styled(glyphs.rule * width, marks.RULE)]
        for name, text, loses in told[:_WORD_ROWS]:
            glyph, style = (glyphs.bad, marks.BAD) if loses else (glyphs.label, marks.BUSY)
            lines.append(
                Content.assemble((glyph, style), f" {cell(clean(name), 13, glyphs)}", (text, style))
            )
        if len(told) > _WORD_ROWS:
            lines.append(Content(f"  and {len(told) - _WORD_ROWS} more, as above"))
        what = "the name" if len(self._names) == 1 else f"these {len(self._names)} names"
        ask = f"To do exactly this, type {what}: {' '.join(map(clean, self._names))}"
        return [*lines, *wrapped(ask, width=width, style="bold")]

    def _never(self) -> str:
        """Why this plan cannot be confirmed whatever is typed; empty if it can."""
        made = self._made
        if made is None:
            return "there is no plan yet"
        if self._problem:
            return clean(self._problem)
        if self._begun_at is not None:
            seconds = duration(max(0.0, self._desk.clock() - self._begun_at))
            return f"root is being asked to carry it out, for {seconds}"
        if not made.plan.steps:
            return "there is nothing to do" if not made.why_not else clean(made.why_not)
        if not made.confirmable:
            return clean(made.why_not)
        if self._is_small:
            return f"the terminal is smaller than {_LEAST_CELLS} x {_LEAST_ROWS}"
        return self._desk.against(made)

    @property
    def _is_small(self) -> bool:
        width, height = self.app.size
        return width < _LEAST_CELLS or height < _LEAST_ROWS

    def _against(self) -> str:
        """Why it cannot be carried out now."""
        typed = self.query_one("#typed", Input).value
        return self._never() or not_yet_confirmed(self._names, typed)

    # -- actions

    def on_descendant_focus(self) -> None:
        self.draw()

    def on_key(self, event: events.Key) -> None:
        """What is typed is for the line, wherever the focus is."""
        if event.is_printable and event.character and self._typed_elsewhere(event.character):
            event.stop()
            event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        self._typed_elsewhere(event.text)

    def _typed_elsewhere(self, text: str) -> bool:
        line = self.query_one("#typed", Input)
        if not line.display or line.has_focus:
            return False
        line.focus()
        line.insert_text_at_cursor(text)
        return True

    @on(Input.Changed, "#typed")
    def _typed(self) -> None:
        self.draw()

    @on(Input.Submitted, "#typed")
    def _submitted(self) -> None:
        """Enter goes to the button and does not press it: that takes one more."""
        button = self.query_one("#do", Button)
        if button.disabled:
            self.app.bell()
        else:
            self._entered_at = self._desk.clock()
            button.focus()

    @on(Button.Pressed, "#do")
    def _do(self, event: Button.Pressed) -> None:
        # The sheet stays until it has begun.
        event.prevent_default()
        made, entered, now = self._made, self._entered_at, self._desk.clock()
        if entered is not None and now - entered < _SAME_KEY_SECONDS:
            # The enter that left the line is still held down.
            self._entered_at = now
            self.app.bell()
            return
        # Looked at again: the machine went on since the button was drawn.
        if made is None or self._against():
            self.draw()
            return
        self._begun_at = now
        self._desk.begin(made, self._not_begun)
        self.draw()

    def _not_begun(self, problem: str) -> None:
        """It was begun, or why it was not."""
        self._begun_at = None
        if not problem:
            if self.is_mounted:
                self.dismiss("")
            return
        self._problem = problem
        if self.is_mounted:
            self.query_one("#leave", Button).focus()
            self.draw()
