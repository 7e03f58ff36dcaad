"""Whole lives of volumes: plans carried out in memory, killed anywhere, planned again.

Each operation is tried with a kill before, inside and after each of its steps, with the
kernel still running and after a power cut, with and without a boot in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appliance.model import (
    Decision,
    DiskKind,
    Layout,
    Machine,
    MarkState,
    Orders,
    Plan,
    Selector,
    Step,
    Volume,
)
from appliance.storage.planner import plan
from tests.unit.boxes import MIB
from tests.unit.disks import INSTANCE_STORE
from tests.unit.world import World

SIZE = 1024 * MIB
TAG = "0123456789abcdef"
GROW = Orders(grow=True)


def volume(
    stripe: str, kind: str = "xfs", name: str = "data", count: int | None = None, **more: object
) -> Volume:
    made = Volume(
        name=name,
        mount=f"/mnt/{name}" if kind != "none" else "",
        stripe=stripe,
        filesystem=kind,
        select=Selector(DiskKind.INSTANCE_STORE, count=count),
    )
    return replace(made, **more)


SHAPES = {
    "single": ((volume("single"),), 1),
    "single-ext4": ((volume("single", "ext4"),), 1),
    "raid0": ((volume("md-raid0"),), 3),
    "raid0-ext4": ((volume("md-raid0", "ext4"),), 2),
    "raid0-none": ((volume("md-raid0", "none"),), 2),
    "raid0-of-one": ((volume("md-raid0"),), 1),
    "raid10": ((volume("md-raid10"),), 4),
    "raid10-none": ((volume("md-raid10", "none"),), 2),
    "lvm": ((volume("lvm-stripe", "ext4"),), 2),
    "lvm-none": ((volume("lvm-stripe", "none"),), 3),
    "two": ((volume("lvm-stripe", "ext4", count=2), volume("md-raid0", name="logs", count=2)), 4),
    "three": (
        (
            volume("single", name="a", count=1),
            volume("md-raid10", name="b", count=2),
            volume("md-raid0", name="c"),
        ),
        5,
    ),
}


def world(number: int, *, tag: str = TAG, known: bool = True) -> World:
    expected = number if known else None
    made = World(Machine(machine_type="m", expected_disks=expected, host_tag=tag))
    for at in range(number):
        made.add(at + 1, INSTANCE_STORE, SIZE)
    return made


def decide(here: World, layout: Layout, orders: Orders = GROW, *, waited: bool = True) -> Plan:
    return plan(here.inventory(layout), layout, waited=waited, orders=orders)


def apply(here: World, made: Plan) -> None:
    for step in made.steps:
        here.run(step)


def settle(here: World, layout: Layout, orders: Orders = GROW, *, within: int = 2) -> Plan:
    """Plan and apply until there is nothing to do."""
    seen = []
    for _ in range(within + 1):
        made = decide(here, layout, orders)
        seen.append(made)
        if not made.steps:
            assert made.decision is Decision.NOTHING, made.volumes
            return made
        apply(here, made)
    raise AssertionError([[" ".join(step.argv) for step in one.steps] for one in seen])


def parts(step: Step) -> Iterator[int | None]:
    """The ways in which a step can be killed: after so many of its disks, or done (``None``)."""
    words = step.argv
    disks = sum(1 for word in words if word.startswith("/dev/disk/"))
    if words[:2] == ("stripewright", "chore"):
        yield from range(disks) if words[2] != "release" else (0,)
    elif words[0] in {"vgcreate", "vgextend"} or words[:2] == ("mdadm", "--create"):
        yield from range(disks + 1)
    elif words[0].startswith("mkfs"):
        yield from (0, 1)
    yield None


def kills(start: World, layout: Layout, orders: Orders) -> Iterator[tuple[str, World]]:
    """The world after each kill of the plan, the kernel still running, and after a power cut."""
    made = decide(start, layout, orders)
    assert made.steps, made.volumes
    for at, step in enumerate(made.steps):
        for only in parts(step):
            here = start.copy()
            for before in made.steps[:at]:
                here.run(before)
            if only is None or only > 0 or step.argv[2:3] == ("release",):
                here.run(step, only=only)
            where = f"{at}: {' '.join(step.argv[:3])} {only}"
            yield where, here
            dark = here.copy()
            dark.power_cut()
            yield f"{where}, power cut", dark


def kept(here: World) -> dict[str, object]:
    """What is the same however often a creation was interrupted."""
    return {
        box.serial: (
            bool(box.md) and (box.md["name"], box.md["slot"], box.md["count"]),
            bool(box.pv) and box.pv["group"],
            box.fs and box.fs.label,
            box.mark and box.mark.state,
        )
        for box in here.boxes
    }


def survive(start: World, layout: Layout, orders: Orders = GROW, *, cleanly: bool = True) -> World:
    """Kill everywhere, go on with the same orders, directly and after a boot; the same end."""
    end = start.copy()
    apply(end, decide(end, layout, orders))
    after = decide(end, layout, orders)
    assert not after.steps, [" ".join(step.argv) for step in after.steps]
    for where, here in kills(start, layout, orders):
        for boots in (False, True):
            now = here.copy()
            try:
                if boots:
                    apply(now, decide(now, layout, Orders()))
                settle(now, layout, orders)
                assert kept(now) == kept(end), (kept(now), kept(end))
            except AssertionError as error:
                raise AssertionError(f"killed at {where}, boots {boots}: {error}") from error
    return end


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


@pytest.mark.parametrize("shape", ["single", "single-ext4", "raid0", "raid0-ext4", "raid10", "lvm",
                                   "lvm-none", "two"])  # fmt: skip
@pytest.mark.parametrize("down", [False, True])
def test_grown_over_bigger_disks_and_killed_everywhere(shape: str, down: bool) -> None:
    volumes, number = SHAPES[shape]
    layout = Layout(volumes)
    start = world(number)
    settle(start, layout)
    for box in start.boxes:
        box.size *= 2
    if down:
        start.power_cut()
    boot = decide(start, layout, Orders())
    assert boot.decision is (Decision.ASSEMBLE if down else Decision.NOTHING)
    assert "it can grow" in boot.volumes[0].reason
    made = decide(start, layout)
    assert made.decision is Decision.GROW
    assert not any(step.destroys for step in made.steps)
    survive(start, layout)


@pytest.mark.parametrize("down", [False, True])
def test_lvm_takes_as_many_disks_as_it_has_stripes(down: bool) -> None:
    layout = Layout((volume("lvm-stripe", "ext4"),))
    start = world(2, known=False)
    settle(start, layout)
    if down:
        start.power_cut()
    start.add(8, INSTANCE_STORE, SIZE)
    assert "takes 2 at a time" in decide(start, layout).volumes[0].reason
    start.add(9, INSTANCE_STORE, SIZE)
    assert decide(start, layout).decision is Decision.GROW
    end = survive(start, layout)
    assert len(end.groups["stripewright-data"]["lv"]["segments"]) == 2


@pytest.mark.parametrize("running", [False, True])
def test_raid10_is_rebuilt_on_a_blank_disk(running: bool) -> None:
    layout = Layout((volume("md-raid10"),))
    start = world(4)
    settle(start, layout)
    if running:
        array = start.arrays[0]
        array.members.remove(start.boxes[1].id)
        start._written(array)
    else:
        start.power_cut()
    start.boxes.pop(1)
    if not running:
        assert decide(start, layout, waited=False).decision is Decision.WAIT
    start.add(9, INSTANCE_STORE, SIZE)
    made = decide(start, layout)
    assert made.decision is Decision.ASSEMBLE
    assert made.steps[-1].argv[:3] == (
        "mdadm",
        "--manage",
        "/dev/md127" if running else "/dev/md/data",
    )
    survive(start, layout)


def test_raid10_member_that_was_away_returns() -> None:
    layout = Layout((volume("md-raid10"),))
    start = world(4)
    settle(start, layout)
    start.power_cut()
    away = start.boxes.pop(1)
    made = decide(start, layout)
    assert made.decision is Decision.ASSEMBLE
    apply(start, made)
    start.boxes.append(away)
    back = decide(start, layout)
    assert [step.argv[:2] for step in back.steps] == [("mdadm", "--manage")]
    assert back.steps[0].destroys[0].holds == "a member that was away and is behind"
    survive(start, layout)


def test_raid10_two_halves_that_ran_apart() -> None:
    layout = Layout((volume("md-raid10"),))
    start = world(4)
    settle(start, layout)
    start.power_cut()
    one, other = start.copy(), start.copy()
    one.boxes = [one.boxes[0], one.boxes[2]]
    other.boxes = [other.boxes[1], other.boxes[3]]
    settle(one, layout)
    settle(other, layout)
    settle(other, layout)
    for half in (one, other):
        half.power_cut()
    one.boxes += other.boxes
    refused = decide(one, layout)
    assert refused.decision is Decision.REFUSE
    assert "may have run in two parts" in refused.volumes[0].reason
    # One half that only was away never ran on its own, and is caught up.
    away = start.copy()
    here = start.copy()
    here.boxes = [here.boxes[0], here.boxes[2]]
    settle(here, layout)
    here.boxes += [away.boxes[1], away.boxes[3]]
    assert settle(here, layout).decision is Decision.NOTHING


def test_foreign_contents_are_erased_by_order_and_killed_everywhere() -> None:
    layout = Layout((volume("md-raid0"),))
    start = world(3)
    start.boxes[1].foreign = "ext4"
    start.boxes[1].data = True
    refused = decide(start, layout)
    assert refused.decision is Decision.REFUSE
    orders = Orders(erase=(start.boxes[1].serial,), grow=True)
    made = decide(start, layout, orders)
    assert [step.argv[0] for step in made.steps[:2]] == ["wipefs", "stripewright"]
    survive(start, layout, orders)


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
