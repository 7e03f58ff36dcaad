"""What the documentation shows of the screens is what they show; `make screens` mends it."""

import pytest

from tests.tui import capture
from tests.tui.scenes import WALKS

NAMES = [step.name for walk in WALKS for step in walk.steps if step.name]


def _walk_of(name):
    return next(one for one in WALKS if any(step.name == name for step in one.steps))


@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk.steps[0].name)
async def test_texts_are_what_the_screens_show(walk):
    guide = capture.GUIDE.read_text(encoding="utf-8")
    kept = await capture.walked(walk)
    for name, scene in kept.items():
        file = capture.TEXTS / f"{name}.txt"
        assert file.read_text(encoding="utf-8") == scene.text, f"{file} is old: make screens"
    assert capture.filled(guide, kept) == guide, "docs/tui.md is old: make screens"


@pytest.mark.parametrize("name", capture.DRAWN)
async def test_pictures_are_what_the_screens_show(name):
    scene = capture.DRAWN[name]
    kept = await capture.walked(_walk_of(scene), capture.PICTURE_SIZE, pictures=True)
    file = capture.PICTURES / f"{name}.svg"
    assert file.read_text(encoding="utf-8") == kept[scene].picture, f"{file} is old: make screens"


def test_nothing_is_left_of_what_is_no_longer_captured():
    assert len(set(NAMES)) == len(NAMES)
    kept = {file.stem for file in capture.TEXTS.glob("*.txt")}
    assert {name for name in kept if not name.startswith("live-")} == set(NAMES)
    guide = capture.GUIDE.read_text(encoding="utf-8")
    assert capture.asked_for(guide) <= set(NAMES)
