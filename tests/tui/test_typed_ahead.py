"""Keys that come faster than the screens follow, as through SSH: words are never commands."""

import pytest
from textual import events

from tests.tui.driving import settled
from tests.tui.fakes import snapshot, stage


@pytest.mark.parametrize(
    ("screen", "line"), [("2", "#filter"), ("4", "#filter"), ("7", "#log-words")]
)
async def test_words_behind_a_slash_are_words(screen, line):
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(screen)
        await settled(pilot)
        # In one read, so that none waits for what the one before it does.
        for letter in "/brief quest":
            key = {"/": "slash", " ": "space"}.get(letter, letter)
            acted.app.post_message(events.Key(key, letter))
        await settled(pilot)
        await settled(pilot)
        assert acted.app.screen.query_one(line).value == "brief quest"
