"""When suites are started by themselves: shown, wished for, refused."""

from dataclasses import replace

from textual.widgets import Button, Input

from appliance.errors import OperatorError
from tests.tui.driving import both_sizes, notices, settled
from tests.tui.fake_suites import SCHEDULE, FakeSuites
from tests.tui.fakes import screen_text, snapshot
from tests.tui.suites_stage import on_smoke, opened, press, suites_on
from tui.screens.suites_schedule import ScheduleScreen


@both_sizes
async def test_a_schedule_is_set_with_its_mistakes_told_at_the_field(size):
    suites = FakeSuites()
    acted = suites_on(snapshot(), suites=suites)
    async with acted.app.run_test(size=size) as pilot:
        await opened(pilot, *on_smoke(), "S")
        text = screen_text(acted.app)
        assert "When is smoke started?" in text
        assert "Now: in 4 h 12 min" in text
        assert "Sun 02:00 or Mon..Fri" in text
        plain = " ".join(text.replace("│", " ").split())
        assert "Built-in not now: the built-in schedule is already in effect" in plain
        assert acted.app.screen.query_one("#default", Button).disabled
        assert acted.app.screen.query_one("#set", Button).disabled
        await press(pilot, *"5h")
        text = screen_text(acted.app)
        lines = text.splitlines()
        at = next(number for number, line in enumerate(lines) if "every" in line and "5h" in line)
        assert "✗ '5h' is not allowed: one of" in lines[at + 1]
        await press(pilot, "enter")
        assert isinstance(acted.app.screen, ScheduleScreen)
        assert isinstance(acted.app.focused, Input)
        acted.app.screen.query_one("#schedule-every", Input).value = "4h"
        acted.app.screen.query_one("#schedule-jitter", Input).value = "20min"
        await settled(pilot)
        assert "✓ then 00/4:00, up to 20 min later" in screen_text(acted.app)
        acted.app.screen.query_one("#schedule-at", Input).focus()
        await press(pilot, "S")
        assert "every is set too" in screen_text(acted.app)
        acted.app.screen.query_one("#schedule-at", Input).value = ""
        await press(pilot, "enter")
        assert acted.app.focused.id == "set"
        await press(pilot, "enter")
        wanted = '[suite.smoke]\nevery = "4h"\njitter = "20min"\n'
        assert suites.calls[-2:] == [f"set_schedule {wanted}", "schedule"]
        assert notices(acted.app)[-1] == "the schedule is set"


@both_sizes
async def test_a_timer_is_switched_off_and_given_back_its_own_times(size):
    text = '# ours\n[suite.smoke]\nevery = "1h"\n'
    rows = tuple(
        row._replace(source="schedule.toml") if row.what == "suite smoke" else row
        for row in SCHEDULE.rows
    )
    suites = FakeSuites(now=replace(SCHEDULE, text=text, rows=rows))
    acted = suites_on(snapshot(), suites=suites)
    async with acted.app.run_test(size=size) as pilot:
        await opened(pilot, *on_smoke(), "S")
        acted.app.screen.query_one("#off", Button).focus()
        await press(pilot, "enter")
        assert suites.calls[-2] == "set_schedule # ours\n\n[suite.smoke]\nenabled = false\n"
        await press(pilot, "S")
        acted.app.screen.query_one("#default", Button).focus()
        await press(pilot, "enter")
        assert suites.calls[-2] == "set_schedule # ours\n"
        await press(pilot, "S", "escape")
        assert suites.calls[-1] == "schedule"
        # A suite without a timer cannot be switched off.
        await press(pilot, "up", "S")
        assert acted.app.screen.query_one("#off", Button).disabled
        assert "Off not now: it is not started by a timer" in screen_text(acted.app)


async def test_a_schedule_that_is_refused_or_not_in_effect_is_told_as_text():
    problem = OperatorError("not [b]allowed[/]", "ask [red]root[/]")
    suites = FakeSuites(
        now=replace(SCHEDULE, problem="line 3 is no [b]time[/]"),
        problems={"set_schedule": problem},
    )
    acted = suites_on(snapshot(), suites=suites)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, *on_smoke())
        assert "the schedule is not in effect: line 3 is no [b]time[/]" in screen_text(acted.app)
        await press(pilot, "S")
        acted.app.screen.query_one("#off", Button).focus()
        await press(pilot, "enter")
        assert notices(acted.app) == ["not [b]allowed[/]; ask [red]root[/]"]
