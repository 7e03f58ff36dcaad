"""Repeat suspects: ask the operator, ask systemd, report the outcome."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from appliance.model.confirmations import CONFIRM_SUITE
from tui.asking import Answer
from tui.screens.base import MainScreen
from tui.screens.sheet import Reply, Sheet
from tui.sources.drift import Repeat
from tui.widgets import drift_questions as questions
from tui.widgets.panel import View

if TYPE_CHECKING:
    from appliance.client.finding_actions import AskedConfirm
    from appliance.model.confirmations import Repeated

_START, _POLL, _STOP = "confirm", "poll", "stop"
# A look at the unit that repeats starts a program.
_POLL_SECONDS = 3.0


class DriftRepeats:
    """Belongs to the Drift screen, which draws it; ``changed`` is called when that has an outcome.

    Repeats are at work when they were asked for here, or when a run of theirs is seen: the look
    for drift, or another operator, asks for them too.
    """

    def __init__(self, screen: MainScreen, changed: Callable[[], None]) -> None:
        self._screen = screen
        self._changed = changed
        self._asked: AskedConfirm | None = None
        self._asked_at = 0.0
        self._polled_at = 0.0

    @property
    def at_work(self) -> bool:
        return self._asked is not None or self._running == CONFIRM_SUITE

    def seconds(self, view: View) -> float | None:
        """For how long they have run, ``None`` if they were not started here."""
        return None if self._asked is None else view.now - self._asked_at

    @property
    def _running(self) -> str:
        snapshot = self._screen.main.snapshot
        run = None if snapshot is None else snapshot.running
        return "" if run is None else run.suite

    def start(self, repeats: Sequence[Repeat]) -> None:
        """Ask whether ``repeats`` shall be made now, and have them made."""
        screen = self._screen

        def answered(confirmed: str | None) -> None:
            if confirmed:
                screen.ask(_START, screen.main.world.drift.confirm, begun)

        def begun(answer: Answer[AskedConfirm]) -> None:
            if answer.value is None:
                screen.main.tell(answer.problem, "error")
                return
            self._asked = answer.value
            self._asked_at = self._polled_at = answer.asked_at
            screen.main.feed.hurry()
            screen.redraw()

        screen.main.push_screen(
            Sheet(
                "Repeat the suspect jobs now?",
                questions.confirm_text(repeats, running=self._running),
                [Reply("do", "Repeat")],
            ),
            answered,
        )

    def poll(self, view: View) -> None:
        """Ask now and then whether those that were asked for here have ended."""
        asked, screen = self._asked, self._screen
        if asked is None or view.now - self._polled_at < _POLL_SECONDS:
            return
        if not screen.is_asking(_POLL):
            self._polled_at = view.now
            screen.ask(_POLL, lambda: screen.main.world.drift.confirmed(asked), self._polled)

    def _polled(self, answer: Answer[Repeated | None]) -> None:
        main = self._screen.main
        if answer.value is not None:
            self._asked = None
            main.tell(questions.ended_words(answer.value))
            self._changed()
        elif answer.problem:
            self._asked = None
            main.tell(f"the result of the repeats is not known: {answer.problem}", "error")

    def stop(self) -> None:
        """Ask whether they shall be stopped, and have them stopped."""
        screen = self._screen

        def answered(confirmed: str | None) -> None:
            if confirmed:
                screen.ask(_STOP, screen.main.world.drift.stop_confirming, stopped)

        def stopped(answer: Answer[None]) -> None:
            if answer.problem:
                screen.main.tell(answer.problem, "error")
            else:
                screen.main.tell("asked systemd to stop the repeats")

        screen.main.push_screen(
            Sheet(
                "Stop the repeats?",
                questions.stop_text(),
                [Reply("do", "Stop", danger=True)],
                leave="Keep them running",
            ),
            answered,
        )
