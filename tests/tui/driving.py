"""What the tests of the screens share: two sizes, and waiting until something is shown."""

import pytest

SIZES = [(80, 24), (140, 45)]
both_sizes = pytest.mark.parametrize("size", SIZES, ids=["80x24", "140x45"])


def notices(app):
    return [notice.message for notice in app._notifications]


async def settled(pilot):
    await pilot.pause()


async def until(pilot, condition):
    """Let the application work until ``condition`` holds; fails when it never does."""
    for _ in range(50):
        if condition():
            return
        await pilot.pause()
    raise AssertionError("this did not happen")
