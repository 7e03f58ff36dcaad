"""Answers that come late, or never, and histories that cannot be read: nothing wrong is shown."""

from dataclasses import replace
from pathlib import Path

from appliance.client.apply_progress import Watched
from appliance.client.plan_requests import ApplyEnd, AskedApply
from appliance.errors import OperatorError
from tests.tui.driving import keys, notices, settled, until
from tests.tui.fake_drift import OF_SLOWER, SLOWER, FakeDrift
from tests.tui.fake_layout import STATUS_HERE, FakeLayouts
from tests.tui.fake_results import KEYS, FakeResults
from tests.tui.fake_suites import SCHEDULE, FakeSuites
from tests.tui.fakes import RUNNING, STATUS, screen_text, snapshot, stage
from tests.tui.suites_stage import on_smoke, opened, press, suites_on
from tests.tui.test_feed import FakeSources
from tui.feed import Feed


def held(acted):
    """From now on what is asked waits for a test to do it, one after the other."""
    waiting = []
    acted.app.asker._in_background = waiting.append
    return waiting


async def answer(pilot, waiting):
    waiting.pop(0)()
    await settled(pilot)


# ------------------------------------------------------------------------ without a history


async def test_without_a_history_suites_are_known_and_the_others_say_why_not():
    problem = OperatorError("there is no history", "run a suite")
    suites, results = FakeSuites(), FakeResults(problem=problem)
    status = replace(STATUS, history_problem="there is no history; run a suite")
    acted = stage(snapshot(status, history_mark=""), suites=suites, results=results)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await keys(pilot, "4")
        await until(pilot, lambda: "3 suites" in screen_text(acted.app))
        assert acted.app.main_screen.why_not("start_suite") == ""
        await keys(pilot, "5")
        await until(pilot, lambda: "there is no history" in screen_text(acted.app))
        asked = list(results.calls)
        acted.app.present()
        assert results.calls == asked
        # And again once there is one, and once it has gone.
        results.problem = None
        acted.give(snapshot(history_mark="1"))
        await until(pilot, lambda: "100 shown" in screen_text(acted.app))
        results.problem = OperatorError("the history is damaged", "")
        acted.give(snapshot(history_mark=""))
        await until(pilot, lambda: "the history is damaged" in screen_text(acted.app))
        assert "100 shown" in screen_text(acted.app)


async def test_before_the_first_status_nothing_is_asked():
    results = FakeResults()
    acted = stage(snapshot(None, status_at=None, live=(), history_mark=""), results=results)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await keys(pilot, "5")
        assert results.calls == []


# ---------------------------------------------------------------------------- late answers


async def test_evidence_that_was_asked_for_before_the_findings_changed_is_not_kept():
    newer = replace(OF_SLOWER, said=())
    drift = FakeDrift()
    acted = stage(snapshot(), drift=drift)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await keys(pilot, "6")
        waiting = held(acted)
        await keys(pilot, "down")
        screen = acted.app.main_screen
        assert screen._record.id == SLOWER.id
        acted.give(snapshot(history_mark="42"))
        await until(pilot, lambda: len(waiting) == 2)
        waiting.reverse()  # the findings first
        await answer(pilot, waiting)
        await answer(pilot, waiting)
        drift.known = {SLOWER.id: newer}
        assert SLOWER.id not in screen._known
        await answer(pilot, waiting)
        assert screen._known[SLOWER.id].value is newer


async def test_what_was_typed_before_is_not_taken_for_what_the_volume_comes_to():
    acted = stage(snapshot(STATUS_HERE), layouts=FakeLayouts())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await keys(pilot, "3", "enter")
        form = acted.app.screen
        before = form._preview
        assert before is not None
        waiting = held(acted)
        for name in ("on-short", "on-loss"):
            form.query_one(f"#field-{name}").query_one("Choice").focus()
            await keys(pilot, "right")
        await answer(pilot, waiting)
        assert form._preview is before
        await answer(pilot, waiting)
        assert form._preview is not before


async def test_the_end_of_another_plan_is_not_the_end_of_this_one():
    layouts = FakeLayouts(looks=[ApplyEnd("a" * 64, 0, "done", "", 1001.0)])
    acted = stage(snapshot(STATUS_HERE), layouts=layouts)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await keys(pilot, "3")
        waiting, work = held(acted), acted.app.main_screen.work
        work.watched = Watched(AskedApply("a" * 64, "unit", 1000.0))
        work.look()
        work.watched = Watched(AskedApply("b" * 64, "unit", 1002.0))
        await answer(pilot, waiting)
        assert work.watched.end is None


async def test_a_schedule_keeps_what_another_operator_set_meanwhile():
    suites = FakeSuites()
    acted = suites_on(snapshot(), suites=suites)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, *on_smoke(), "S")
        suites.now = replace(SCHEDULE, text='[suite.full]\nat = "Sun 02:00"\n')
        acted.app.screen.query_one("#off").focus()
        await press(pilot, "enter")
        (said,) = (one for one in suites.calls if one.startswith("set_schedule"))
        assert 'at = "Sun 02:00"' in said
        assert "[suite.smoke]\nenabled = false" in said


async def test_a_start_that_hangs_is_not_followed_by_a_second_one():
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        waiting = held(acted)
        for _ in range(2):
            await keys(pilot, "s", "right", "enter")
        assert notices(acted.app) == ["not started: systemd has not answered the start before"]
        while waiting:
            await answer(pilot, waiting)
        assert acted.control.calls == ["start smoke"]


async def test_a_page_says_that_it_reads_until_the_last_question_is_answered():
    acted = stage(snapshot(), results=FakeResults())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await keys(pilot, "5", "t", "enter")
        waiting = held(acted)
        await keys(pilot, "v", "v")
        await answer(pilot, waiting)
        acted.clock[0] += 30
        acted.app.present()
        await settled(pilot)
        assert "reading its runs, for 30 s" in screen_text(acted.app)
        await answer(pilot, waiting)
        assert "reading" not in screen_text(acted.app)


async def test_a_trend_that_was_opened_too_early_finds_its_first_runs():
    class First(FakeResults):
        begun = False

        def series(self, metric):
            return super().series(metric) if self.begun else {}

    results = First()
    acted = stage(snapshot(), results=results)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await keys(pilot, "5", "t")
        assert "no complete run of a suite has results yet" in screen_text(acted.app)
        results.begun = True
        acted.give(snapshot(history_mark="42"))
        await settled(pilot)
        acted.app.present()
        await until(pilot, lambda: f"{len(KEYS)} SERIES" in screen_text(acted.app))


# ------------------------------------------------------------------------------ odd places


async def test_an_export_can_be_asked_for_in_a_directory_that_is_gone(monkeypatch):
    def gone():
        raise FileNotFoundError(2, "No such file or directory")

    acted = stage(snapshot(), results=FakeResults())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        monkeypatch.setattr(Path, "cwd", gone)
        await keys(pilot, "5", "e")
        assert "a directory that is gone: give the whole path" in screen_text(acted.app)


async def test_figures_that_no_history_of_ours_has_are_no_end_of_the_screens():
    class Damaged(FakeResults):
        def run(self, run_id):
            found = super().run(run_id)
            odd = replace(found.results[0], percentiles_ns={"half": 1, "99.000000": 2_000_000})
            run = replace(found.run, started_at=1e20, ended_at=float("inf"))
            return replace(found, run=run, results=(odd,))

    acted = stage(snapshot(), results=Damaged())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await keys(pilot, "5", "enter")
        text = screen_text(acted.app)
        assert "percentiles   p99 2.00 ms" in text
        assert "?, took ?, epoch" in text


def test_the_live_figures_go_on_where_others_cannot_be_read():
    class Odd(FakeSources):
        def applying(self):
            raise PermissionError(13, "Permission denied")

    clock = [100.0]
    feed = Feed(Odd(replace(STATUS, running=RUNNING)), lambda _: None, clock=lambda: clock[0])
    feed.step()
    clock[0] += 1
    made = feed.step()
    assert made.live_at == 101.0
    assert "Permission denied" in made.live_problem
