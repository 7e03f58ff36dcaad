"""A RAID10 that gets a disk with a mark of its former life."""

from __future__ import annotations

from dataclasses import replace

from appliance.model.plans import Decision, Layout, Orders
from tests.unit.test_planner_life import apply, decide, settle, volume, world


def test_raid10_is_rebuilt_on_a_disk_that_was_given_up() -> None:
    """mdadm leaves the mark where it is: it goes before, and the volume stays whole."""
    layout = Layout((volume("md-raid10"),))
    start = world(5, known=False)
    settle(start, Layout((volume("single", name="old", count=1),)))
    settle(start, Layout(()), Orders(remove=("old",), grow=True))
    given_up = next(box for box in start.boxes if box.mark)
    spare = start.boxes.pop(start.boxes.index(given_up))
    settle(start, layout)
    start.power_cut()
    start.boxes.pop(1)
    start.boxes.append(spare)
    made = decide(start, layout)
    assert [step.argv[2] for step in made.steps[-2:]] == ["unmark", "/dev/md/data"]
    killed = start.copy()
    for step in made.steps[:-1]:
        killed.run(step)
    # The spare is left alone, and the volume is up without it.
    left = decide(killed, layout)
    assert (left.decision, left.steps) == (Decision.NOTHING, ())
    end = start.copy()
    apply(end, made)
    assert not any(box.mark for box in end.boxes)
    end.power_cut()
    assert decide(end, layout).decision is Decision.ASSEMBLE
    # Left there by an older version, it does not look like a removal, and goes now.
    stale = end.copy()
    stale.boxes[-1].mark = replace(spare.mark, volume="data")
    healed = decide(stale, layout)
    assert [step.argv[2] for step in healed.steps[2:3]] == ["unmark"]
    assert settle(stale, layout).decision is Decision.NOTHING
