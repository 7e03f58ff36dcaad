"""When a suite is started by its timer: what holds now, and another wish."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Button, Input, Static

from appliance.client.schedule_fields import (
    EXAMPLES,
    FIELDS,
    Judged,
    built_in,
    judged,
    why_not_default,
    why_not_off,
)
from appliance.client.schedule_requests import ScheduleNow, When
from tui import marks
from tui.marks import Glyphs
from tui.screens.sheet import FORM_KEYS, Reply, Sheet
from tui.widgets.panel import clean

_MOST_CHARS = 60


class ScheduleScreen(Sheet, inherit_bindings=False):
    """Gives ``wished`` what is asked for the suite.

    ``now`` is what holds, ``words`` says it; ``suites`` are the names of all suites.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "app.focus_next", "Next", tooltip="to the next field", id="schedule.next"),
        Binding("up", "app.focus_previous", "Previous", tooltip="to the field before", show=False,
                id="schedule.previous"),
        *FORM_KEYS,
    ]  # fmt: skip

    def __init__(
        self,
        suite: str,
        now: ScheduleNow,
        words: Content,
        *,
        suites: Sequence[str],
        wished: Callable[[When], None],
        glyphs: Glyphs,
    ) -> None:
        replies = [Reply("off", "Off"), Reply("default", "Built-in"), Reply("set", "Set")]
        super().__init__(f"When is {clean(suite)} started?", words, replies)
        self._wished = wished
        self._suite = suite
        self._now = now
        self._suites = tuple(suites)
        self._glyphs = glyphs

    def body(self) -> ComposeResult:
        yield from super().body()
        for field in FIELDS:
            with Horizontal(classes="schedule-row"):
                yield Static(field, classes="schedule-name", markup=False)
                yield Input(id=f"schedule-{field}", max_length=_MOST_CHARS, classes="schedule-line")
            yield Static("", id=f"said-{field}", classes="schedule-said", markup=False)
        yield Static("", id="said-all", classes="question-text", markup=False)

    def focus_first(self) -> None:
        self.query_one(Input).focus()

    def on_mount(self) -> None:
        self.query_one("#off", Button).disabled = bool(why_not_off(self._suite, self._now))
        self.query_one("#default", Button).disabled = bool(why_not_default(self._suite, self._now))
        self._judge()

    @property
    def _typed(self) -> When:
        every, at, jitter = (
            self.query_one(f"#schedule-{field}", Input).value.strip() for field in FIELDS
        )
        return When(every, at, jitter)

    @on(Input.Changed)
    def _judge(self) -> Judged:
        """Say at each field what is wrong there, and below the resulting schedule."""
        when = self._typed
        found = judged(self._suite, when, self._suites)
        for field in FIELDS:
            said, style = EXAMPLES[field], marks.MUTED
            if found.problem and found.field == field:
                said, style = f"{self._glyphs.bad} {clean(found.problem)}", marks.BAD
            self.query_one(f"#said-{field}", Static).update(Content.styled(said, style))
        self.query_one("#said-all", Static).update(self._verdict(found))
        self.query_one("#set", Button).disabled = not found.comes_to
        return found

    def _verdict(self, found: Judged) -> Content:
        if found.problem:
            words = "" if found.field else clean(found.problem)
            return Content.styled(
                f"{self._glyphs.bad} not yet{': ' * bool(words)}{words}", marks.BAD
            )
        if found.comes_to:
            return Content.assemble(
                (f"{self._glyphs.good} then ", marks.GOOD), clean(found.comes_to)
            )
        about = [f"Built-in: {built_in(self._suite)}"]
        for name, reason in (
            ("Off", why_not_off(self._suite, self._now)),
            ("Built-in", why_not_default(self._suite, self._now)),
        ):
            if reason:
                about.append(f"{name} not now: {reason}")
        return Content.styled("; ".join(about), marks.MUTED)

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        """Enter does nothing by itself: it goes to the answer, or to the next field."""
        event.stop()
        if self._judge().comes_to:
            self.query_one("#set", Button).focus()
        else:
            self.focus_next(Input)

    @on(Button.Pressed)
    def _answered(self, event: Button.Pressed) -> None:
        answers = {"off": When(state="off"), "default": When(state="default"), "set": self._typed}
        if (when := answers.get(event.button.id or "")) is not None:
            self._wished(when)
