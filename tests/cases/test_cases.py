"""Each folder here is a case: the machine (inventory.json), what is declared (layout.toml,
if not the default) and what must come of it (expected.json).

``reason`` and ``hint`` are fragments that must appear; ``steps`` are all commands, in order.
``waited`` says whether the time for late disks has passed.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from appliance.model import Decision
from appliance.storage.document import load_inventory
from appliance.storage.layout import load_layout
from appliance.storage.planner import plan

CASES = sorted(found.parent for found in Path(__file__).parent.glob("*/inventory.json"))


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_case(folder: Path) -> None:
    expected = json.loads((folder / "expected.json").read_text())
    made = plan(
        load_inventory(folder / "inventory.json"),
        load_layout(folder / "layout.toml"),
        waited=expected["waited"],
    )
    (volume,) = made.volumes
    assert made.decision == volume.decision == Decision(expected["decision"]), volume.reason
    assert list(volume.disks) == expected["disks"]
    for fragment in expected["reason"]:
        assert fragment in volume.reason
    for fragment in expected["hint"]:
        assert fragment in volume.hint
    assert [" ".join(step.argv) for step in made.steps] == expected["steps"]


def test_there_are_cases() -> None:
    assert len(CASES) >= 30
