"""Whole lives of volumes: plans carried out in memory, killed anywhere, planned again.

Each operation is tried with a kill before, inside and after each of its steps, with the
kernel still running and after a power cut, with and without a boot in between.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appliance.model.disks import MarkState
from appliance.model.plans import Decision, Layout, Orders
from tests.unit.disks import INSTANCE_STORE
from tests.unit.lives import (
    GROW,
    SHAPES,
    SIZE,
    TAG,
    apply,
    decide,
    parts,
    settle,
    survive,
    volume,
    world,
)
from tests.unit.world import World


@pytest.mark.parametrize(
    ("shape", "tag"), [*((one, TAG) for one in SHAPES), ("single", ""), ("raid0", ""), ("lvm", "")]
)
def test_created_and_killed_everywhere(shape: str, tag: str) -> None:
    volumes, number = SHAPES[shape]
    start = world(number, tag=tag)
    layout = Layout(volumes)
    assert decide(start, layout).decision is Decision.CREATE
    end = survive(start, layout)
    assert not any(box.mark for box in end.boxes)
    end.power_cut()
    made = decide(end, layout)
    assert made.decision is Decision.ASSEMBLE
    assert not any(step.destroys for step in made.steps)
    survive(end, layout)


def _contents(here: World) -> dict[str, str]:
    """The UUIDs of all whole filesystems: another one means that it was made anew."""
    found = {box.serial: box.fs for box in here.boxes} | here.inside
    return {key: one.uuid for key, one in found.items() if one and not one.unfinished}


@pytest.mark.parametrize("shape", [one for one in SHAPES if not one.endswith("none")])
@pytest.mark.parametrize("tag", [TAG, ""])
@pytest.mark.parametrize("again", [False, True])
def test_what_was_mounted_when_it_was_killed_is_kept(shape: str, tag: str, again: bool) -> None:
    volumes, number = SHAPES[shape]
    layout = Layout(volumes)
    start = world(number, tag=tag)
    if again:
        # An older volume of the same name and shape was on the disks, and killed in its making.
        made = decide(start, layout)
        first = next(at for at, step in enumerate(made.steps) if step.argv[0].startswith("mkfs"))
        for step in made.steps[:first]:
            start.run(step)
        start.run(made.steps[first], only=1)
    made = decide(start, layout)
    here = start.copy()
    tried = 0
    for step in made.steps:
        used = any(box.mark and not box.mark.intact for box in here.boxes)
        for dark in (False, True) if used else ():
            now = here.copy()
            if dark:
                now.power_cut()
            before = _contents(now)
            settle(now, layout)
            assert before.items() <= _contents(now).items(), step.argv
            assert not any(box.mark for box in now.boxes)
            tried += 1
        here.run(step)
    assert tried >= 2 * len(volumes)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("down", [False, True])
def test_removed_and_killed_everywhere(shape: str, down: bool) -> None:
    volumes, number = SHAPES[shape]
    start = world(number)
    settle(start, Layout(volumes))
    if down:
        start.power_cut()
    orders = Orders(remove=tuple(one.name for one in volumes), grow=True)
    end = survive(start, Layout(()), orders)
    assert all(box.mark and box.mark.state is MarkState.RELEASED for box in end.boxes)
    assert not any(box.md or box.pv or box.fs for box in end.boxes)
    # What was released can be used again, for something else.
    for stripe in ("md-raid0", "lvm-stripe"):
        again = Layout((volume(stripe, "ext4", name="new"),))
        assert decide(end, again).decision is Decision.CREATE
        if down:
            settle(end.copy(), again)
        else:
            survive(end, again)


def test_replaced_in_one_plan() -> None:
    """One volume goes, and two others are made of its disks."""
    start = world(4)
    settle(start, Layout((volume("md-raid0"),)))
    layout = Layout((*SHAPES["two"][0][1:], volume("lvm-stripe", "ext4", "fresh", count=2)))
    orders = Orders(remove=("data",), declare="0" * 64, grow=True)
    made = decide(start, layout, orders)
    # Unmounted first, which fails if somebody is at work there; then nothing has changed yet.
    assert [step.argv[0] for step in made.steps].count("umount") == 1
    assert made.steps[0].argv[0] == "umount"
    assert made.steps[1].argv[2] == "declare"
    assert not any(step.destroys for step in made.steps[:2])
    assert made.decision is Decision.REMOVE
    survive(start, layout, replace(orders, declare=""))


def test_all_that_is_removed_is_unmounted_before_the_layout_changes() -> None:
    volumes, number = SHAPES["two"]
    start = world(number)
    settle(start, Layout(volumes))
    orders = Orders(remove=tuple(one.name for one in volumes), grow=True)
    without = [step.argv for step in decide(start, Layout(()), orders).steps]
    made = decide(start, Layout(()), replace(orders, declare="0" * 64))
    assert [step.argv[0] for step in made.steps[:3]] == ["umount", "umount", "stripewright"]
    assert made.steps[2].argv[2] == "declare"
    # Else it is the same plan.
    assert sorted(step.argv for step in made.steps if step.argv[2:3] != ("declare",)) == sorted(
        without
    )


@pytest.mark.parametrize("stripe", ["md-raid0", "lvm-stripe"])
def test_made_anew_after_a_loss_and_killed_everywhere(stripe: str) -> None:
    layout = Layout((volume(stripe, on_loss="recreate"),))
    start = world(3)
    settle(start, layout)
    start.power_cut()
    gone = start.boxes.pop(1)
    start.add(9, INSTANCE_STORE, SIZE)
    assert decide(start, layout, waited=False).decision is Decision.WAIT
    assert decide(start, layout).decision is Decision.RECREATE
    survive(start, layout)
    # If the lost disk returns before anything but marks was written, nothing is lost.
    made = decide(start, layout)
    for only in (0, 1, 2):
        here = start.copy()
        here.run(made.steps[0], only=only)
        here.boxes = [one for one in here.boxes if one.number != 9]
        here.boxes.append(gone)
        back = decide(here, layout)
        assert back.decision is Decision.ASSEMBLE
        assert not any(step.destroys for step in back.steps)
        apply(here, back)
        assert not any(box.mark for box in here.boxes)


def _one(
    here: World, layout: Layout, orders: Orders, *, at: float, inside: float, dark: bool
) -> None:
    """Carry out a plan up to somewhere."""
    made = decide(here, layout, orders)
    stop = int(at * (len(made.steps) + 1))
    for step in made.steps[:stop]:
        here.run(step)
    if stop < len(made.steps):
        ways = [one for one in parts(made.steps[stop]) if one is not None and one > 0]
        if ways and inside:
            here.run(made.steps[stop], only=ways[int(inside * len(ways)) % len(ways)])
    if dark:
        here.power_cut()


_share = st.floats(0, 0.999)


@settings(deadline=None)
@given(
    st.sampled_from(sorted(SHAPES)),
    st.sampled_from(["", TAG]),
    st.lists(st.tuples(_share, _share, st.booleans(), st.booleans()), max_size=4),
    st.sampled_from(["create", "remove", "grow"]),
)
def test_killed_again_and_again(
    shape: str, tag: str, cuts: list[tuple[float, float, bool, bool]], what: str
) -> None:
    volumes, number = SHAPES[shape]
    layout, orders = Layout(volumes), GROW
    here = world(number, tag=tag)
    if what != "create":
        settle(here, layout)
    if what == "remove":
        layout, orders = Layout(()), Orders(remove=tuple(one.name for one in volumes), grow=True)
    if what == "grow":
        for box in here.boxes:
            box.size *= 2
    for at, inside, dark, ordered in cuts:
        _one(here, layout, orders if ordered else Orders(), at=at, inside=inside, dark=dark)
    settle(here, layout, orders)
