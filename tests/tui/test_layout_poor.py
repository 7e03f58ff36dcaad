"""Layout on a terminal that has ASCII and no colours, and with hostile words everywhere."""

from dataclasses import replace

from appliance.errors import OperatorError
from tests.tui.driving import keys, settled, typed
from tests.tui.fake_layout import STATUS_HERE, FakeLayouts, inventory
from tests.tui.fakes import VOLUME, screen_text, snapshot, stage
from tests.unit.disks import disk
from tui import marks
from tui.screens.layout_apply import ApplyScreen
from tui.terminal import POOR_THEME, Policy

HERE = snapshot(STATUS_HERE)


async def test_everything_is_ascii_where_only_that_can_be_shown():
    acted = stage(HERE, policy=Policy(ascii_only=True, theme=POOR_THEME, remote=True))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        seen = ""
        for names in (("3",), ("enter",), ("escape", "plus"), ("escape", "i"), ("down", "enter"),
                      ("p",), ("pagedown",), ("escape", "P")):  # fmt: skip
            await keys(pilot, *names)
            seen += screen_text(acted.app)
        assert "x removed" in seen
        assert "[md-raid0]" in seen
        assert "WHAT IS DESTROYED" in seen
        # What Textual itself draws in the footer is not ours.
        ours = seen.replace("⏎", "").replace("↓", "")
        assert ours.isascii(), {letter for letter in ours if not letter.isascii()}


async def test_with_16_colours_what_cannot_be_pressed_stays_in_its_line():
    acted = stage(HERE, policy=Policy(ascii_only=False, theme=POOR_THEME, remote=True))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await keys(pilot, "3", "p")
        last = screen_text(acted.app).splitlines()[-3]
        assert last.split() == ["│", "Cancel", "Carry", "out", "│"]


async def test_words_of_disks_labels_and_errors_are_only_text():
    wild = "[red]x[/] \x1b[31m\u202e"
    bad = replace(disk(1), serial=f"S{wild}", model=wild, reason=wild, hint=wild)
    volume = replace(VOLUME, outcome="failed", mounted=False, reason=wild, problem=wild)
    status = replace(STATUS_HERE, inventory=inventory(bad), volumes=(volume,))
    layouts = FakeLayouts(problems={"plan": OperatorError(wild, wild)})
    acted = stage(snapshot(status), layouts=layouts)
    async with acted.app.run_test(size=(140, 45)) as pilot:
        await settled(pilot)
        seen = ""
        for names in (("3",), ("p",), ("escape", "enter"), ("tab", "left", "tab", "enter")):
            await keys(pilot, *names)
            seen += screen_text(acted.app)
        assert "S[red]x[/] \\x1b[31" in seen
        assert "there is no plan: [red]x[/] \\x1b[31m" in seen
        assert "✗ failed" in seen
        await keys(pilot, "escape", "shift+tab", "shift+tab")
        await typed(pilot, "[red]")
        seen += screen_text(acted.app)
        assert "'scratch[red]' is not allowed" in seen
        assert "\x1b" not in seen
        assert "\u202e" not in seen


async def test_steps_on_a_screen_that_is_being_taken_down_are_not_drawn():
    acted = stage(HERE)
    watched = []
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        screen = ApplyScreen(lambda: watched[0] if watched else None, lambda: 0.0, marks.UNICODE)
        await acted.app.push_screen(screen)
        await screen.query_one(".sheet-title").remove()
        watched.append(object())
        screen.draw()
