"""What changes during a volume's life, killed anywhere (as :mod:`tests.unit.test_planner_life`)."""

from __future__ import annotations

import pytest

from appliance.model.plans import Decision, Layout, Orders
from tests.unit.disks import INSTANCE_STORE
from tests.unit.lives import (
    SHAPES,
    SIZE,
    apply,
    decide,
    settle,
    survive,
    volume,
    world,
)


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
