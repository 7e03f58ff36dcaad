"""Keys that come faster than the screens follow, as through SSH: words are never commands."""

import pytest
from textual import events

from tests.tui.driving import settled, until
from tests.tui.fakes import FakeControl, snapshot, stage


def in_one_read(app, *keys):
    """None of ``keys`` waits for what the one before it does."""
    for key in keys:
        character = {"slash": "/", "space": " "}.get(key, key if len(key) == 1 else None)
        app.post_message(events.Key(key, character))


@pytest.mark.parametrize(("screen", "line"), [("2", "#filter"), ("4", "#filter"), ("7", "#filter")])
async def test_words_behind_a_slash_are_words(screen, line):
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(screen)
        await settled(pilot)
        in_one_read(acted.app, "slash", *"brief", "space", *"ques", "enter")
        await until(pilot, lambda: acted.app.screen.query_one(line).value == "brief ques")
        await settled(pilot)
        assert acted.app.focused is not acted.app.screen.query_one(line)
        assert len(acted.app.screen_stack) == 1


async def test_an_answer_typed_ahead_goes_to_its_question():
    control = FakeControl()
    acted = stage(snapshot(), control=control)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        in_one_read(acted.app, "4", "down", "down", "s", "escape", "3")
        await until(pilot, lambda: acted.app.current_mode == "layout")
        await settled(pilot)
        assert control.calls == []
