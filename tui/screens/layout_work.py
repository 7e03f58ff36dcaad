"""Plans of the Layout screen, from asking for one to its end: state that outlives dialogues."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from textual.timer import Timer

from appliance.client.apply_progress import Watched
from appliance.client.plan_requests import (
    ApplyEnd,
    ApplyProgress,
    AskedApply,
    PlannedHere,
    PlanNote,
)
from appliance.errors import EXIT_OK, EXIT_REFUSED, EXIT_STALE
from appliance.model.plans import Plan
from appliance.storage.execute.request_spool import PLAN_LIFETIME_SECONDS, TOO_OLD
from appliance.storage.policy.layout_draft import Draft
from tui.asking import Answer
from tui.screens.layout_apply import ApplyScreen
from tui.widgets.panel import View, clean

if TYPE_CHECKING:
    from tui.screens.layout import LayoutScreen

T = TypeVar("T")
# Others may plan at any moment; their directory is looked at so often.
_NOTES_EVERY_SECONDS = 5.0
# After this many failed looks in a row the unit is no longer asked.
_MOST_PROBLEMS = 5
# Root's clock and ours may be read in another order than written.
_SLACK_SECONDS = 1.0


class PlanWork:
    """Belongs to the Layout screen. ``mine`` are the drafts whose plans were asked for here, by the
    plan's digest.
    """

    def __init__(self, screen: LayoutScreen) -> None:
        self._screen = screen
        self.notes: tuple[PlanNote, ...] = ()
        self.mine: dict[str, Draft] = {}
        self.watched: Watched | None = None
        self._notes_at: float | None = None
        self._questions = 0
        self._problems = 0
        self._timer: Timer | None = None
        self._ended_at_s: float | None = None
        self._not_taken: dict[str, ApplyEnd] = {}

    # -- what others do

    def read_notes(self) -> None:
        """Read what was planned since boot."""
        self._notes_at = self._screen.main.world.clock()
        self._screen.ask("plans", self._screen.main.world.layouts.recent, self._notes_read)

    def _notes_read(self, answer: Answer[tuple[PlanNote, ...]]) -> None:
        if answer.value is not None and answer.value != self.notes:
            self.notes = answer.value
            self._screen.redraw()

    def follow(self, view: View) -> None:
        """See whether a plan is being carried out, and look at the plans now and then."""
        if self._notes_at is None or view.now - self._notes_at >= _NOTES_EVERY_SECONDS:
            self.read_notes()
        applying = None if view.snapshot is None else view.snapshot.applying
        if applying is None:
            return
        watched = self.watched
        # What is followed already is followed to its end: ours may be waiting for theirs.
        if self._timer is not None:
            return
        if (
            watched is not None
            and watched.digest == applying.digest
            and not watched.is_lost
            and not self._is_later(applying)
        ):
            return
        layouts = self._screen.main.world.layouts
        self._watch(Watched(layouts.follow(applying)).seen(applying))
        digest = applying.digest
        self._ask(lambda: layouts.before(digest), self._plan_of_other)

    def _is_later(self, applying: ApplyProgress) -> bool:
        """Whether ``applying`` is of another carrying out of the same plan than the one watched."""
        end = None if self.watched is None else self.watched.end
        return end is not None and applying.at_monotonic_s > end.at_monotonic_s

    def _plan_of_other(self, answer: Answer[PlannedHere]) -> None:
        made, watched = answer.value, self.watched
        if made is not None and watched is not None and made.plan.digest == watched.digest:
            self.watched = replace(watched, plan=made.plan)

    # -- plans

    def ask_plan(
        self,
        work: Callable[[], PlannedHere],
        done: Callable[[Answer[PlannedHere]], None],
        draft: Draft | None,
    ) -> None:
        """Have ``work`` make a plan of ``draft``, or find one."""

        def answered(answer: Answer[PlannedHere]) -> None:
            if answer.value is not None and draft is not None:
                self.mine[answer.value.plan.digest] = draft
            self.read_notes()
            done(answer)

        self._ask(work, answered)

    def why_no_plan(self) -> str:
        """Why nothing can be planned now; empty if it can."""
        return "a plan is being carried out; w shows it" if self._is_busy(None) else ""

    def against(self, made: PlannedHere) -> str:
        """Why ``made`` can no longer be confirmed; empty if it can."""
        unable = self._screen.main.world.unable
        return unable or self._why_stale(
            self._screen.main.view(), made.plan.digest, made.made_at_monotonic_s
        )

    def stale_by_digest(self, view: View) -> dict[str, str]:
        """Why each known plan is out of date; empty if it may be valid."""
        return {
            note.digest: self._why_stale(view, note.digest, note.made_at_monotonic_s)
            for note in self.notes
        }

    def _why_stale(self, view: View, digest: str, made_at_s: float) -> str:
        if self._is_busy(view):
            return "a plan is being carried out; plan again when it has ended"
        if self._ended_at_s is not None and self._ended_at_s > made_at_s:
            return "stale: a plan was carried out since it was made; plan again"
        end = self._not_taken.get(digest)
        if end is not None and end.at_monotonic_s > made_at_s:
            return f"stale: {clean(end.message)}; plan again"
        if view.now - made_at_s > PLAN_LIFETIME_SECONDS:
            return f"stale: {TOO_OLD}; plan again"
        decided_at = None if view.status is None else view.status.decided_at
        made_at = view.wall - (view.now - made_at_s)
        # A decision in the future was made before the clock was put back: ignore it.
        if decided_at is not None and made_at + _SLACK_SECONDS < decided_at <= view.wall:
            return "stale: volumes were changed or brought up since it was made; plan again"
        kept = {note.digest for note in self.notes}
        if self.notes and digest not in kept and self._known_since(made_at_s):
            return "stale: dropped by root, too many newer plans; plan again"
        return ""

    def _known_since(self, made_at_s: float) -> bool:
        return any(note.made_at_monotonic_s > made_at_s for note in self.notes)

    def _is_busy(self, view: View | None) -> bool:
        snapshot = self._screen.main.snapshot if view is None else view.snapshot
        if snapshot is not None and snapshot.applying is not None:
            return True
        return self.watched is not None and not self.watched.is_over and self._timer is not None

    @property
    def running(self) -> Draft:
        """What is being carried out of what was drafted here: that needs no screen."""
        snapshot, watched = self._screen.main.snapshot, self.watched
        digest = "" if watched is None or watched.is_over else watched.digest
        if snapshot is not None and snapshot.applying is not None:
            digest = snapshot.applying.digest
        return self.mine.get(digest, Draft())

    # -- carrying out

    def begin(self, made: PlannedHere, done: Callable[[str], None]) -> None:
        """Have ``made`` carried out; ``done`` gets the reason if it was not, else nothing."""
        layouts = self._screen.main.world.layouts
        plan = made.plan
        asked_from = self._screen.app.screen

        def started(answer: Answer[AskedApply]) -> None:
            if answer.value is None:
                done(answer.problem)
                self._screen.main.tell(f"not carried out: {answer.problem}", "error")
                return
            self._begun(answer.value, plan)
            # Not any plan: meanwhile another one may have been opened.
            waited_for = self._screen.app.screen is asked_from
            done("")
            if waited_for:
                self.show()
            else:
                self._screen.main.tell("the plan is being carried out; w on Layout shows it")

        self._ask(lambda: layouts.apply(plan.digest), started)

    def _begun(self, asked: AskedApply, plan: Plan) -> None:
        self._watch(Watched(asked, plan))
        self._screen.main.feed.hurry()

    def _watch(self, watched: Watched) -> None:
        self.watched = watched
        self._problems = 0
        if self._timer is None:
            # A timer of its own, because it runs while another screen is shown.
            interval = self._screen.main.world.policy.interval_seconds
            self._timer = self._screen.set_interval(interval, self.look)

    def look(self) -> None:
        """Ask how far it is."""
        watched = self.watched
        if watched is None or watched.is_over:
            return
        layouts = self._screen.main.world.layouts
        asked = watched.asked
        self._screen.ask(
            "look", lambda: layouts.look(asked), lambda answer: self._looked(asked, answer)
        )

    def _looked(self, asked: AskedApply, answer: Answer[ApplyProgress | ApplyEnd | None]) -> None:
        watched = self.watched
        # The answer may be late, and another plan be watched by now.
        if watched is None or watched.is_over or watched.asked != asked:
            return
        if answer.problem:
            self._problems += 1
            self.watched = replace(watched, problem=answer.problem)
            if self._problems >= _MOST_PROBLEMS:
                self._stop()
                self.watched = replace(self.watched, is_lost=True)
                self._screen.main.tell(f"no longer followed: {answer.problem}", "error")
        else:
            self._problems = 0
            self.watched = watched.seen(answer.value)
            if isinstance(answer.value, ApplyEnd):
                self._over(watched, answer.value)
        self.draw()

    def _over(self, watched: Watched, end: ApplyEnd) -> None:
        self._stop()
        if end.exit_code in {EXIT_STALE, EXIT_REFUSED} and not watched.began_s:
            self._not_taken[end.digest] = end
        else:
            self._ended_at_s = end.at_monotonic_s
        main = self._screen.main
        words = clean(end.message)
        if end.exit_code == EXIT_OK:
            main.tell(f"the plan was carried out: {words}")
        else:
            main.tell(f"the plan was not carried out in full: {words}", "error")
        main.feed.hurry()
        self._screen.history_changed()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def show(self) -> None:
        """Show the plan that is, or was last, carried out."""
        main = self._screen.main
        self._screen.app.push_screen(
            ApplyScreen(lambda: self.watched, main.world.clock, main.glyphs)
        )

    def draw(self) -> None:
        """Draw how far it is, if that is what is shown."""
        if isinstance(self._screen.app.screen, ApplyScreen):
            self._screen.app.screen.draw()

    def _ask(self, work: Callable[[], T], done: Callable[[Answer[T]], None]) -> None:
        """Ask under a key of its own: one that hangs must not hold up the next."""
        self._questions += 1
        self._screen.ask(f"work {self._questions}", work, done)
