"""What the tests of the screens share: two sizes, and waiting until something is shown."""

import re

import pytest
from textual import events

from tests.tui.fakes import screen_text

SIZES = [(80, 24), (140, 45)]
both_sizes = pytest.mark.parametrize("size", SIZES, ids=["80x24", "140x45"])


def notices(app):
    return [notice.message for notice in app._notifications]


async def settled(pilot):
    await pilot.pause()


async def pressed(pilot, *names):
    """Press keys, and let all of it be drawn."""
    await pilot.press(*names)
    await settled(pilot)


async def results_opened(pilot, *names):
    """Go to the results, and press more keys there."""
    await settled(pilot)
    await pressed(pilot, "5", *names)


async def until(pilot, condition):
    """Let the application work until ``condition`` holds; fails when it never does."""
    for _ in range(50):
        if condition():
            return
        await pilot.pause()
    raise AssertionError("this did not happen")


async def shows(acted, pilot, words):
    """Wait until the screen shows ``words``; a machine at work elsewhere takes a while."""
    for _ in range(20):
        if words in plain(acted):
            return
        await settled(pilot)
    assert words in plain(acted)


def plain(acted):
    """The screen without its line breaks and scroll bars, to find wrapped sentences."""
    return " ".join(re.sub("[│▁▂▃▄▅▆▇]", " ", screen_text(acted.app)).split())


async def keys(pilot, *names):
    """Press keys one after the other; half the waiting of ``pilot.press``."""
    for name in names:
        before = pilot.app.screen
        pilot.app.simulate_key(name)
        await pilot.pause()
        if pilot.app.screen is not before:
            # Another screen has to be laid out before it is drawn.
            await pilot.pause()


async def typed(pilot, text):
    """Type ``text`` into what has the focus."""
    for letter in text:
        pilot.app.post_message(events.Key(letter, letter))
    await pilot.pause()


async def resized(pilot, width, height):
    """Resize the terminal; Textual waits for a 120th of a second, in which more may come."""
    await pilot.resize_terminal(width, height)
    pilot.app._check_resize()
    await pilot.pause()
