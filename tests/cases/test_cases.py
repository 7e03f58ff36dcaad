"""Each folder here is a case: the machine (inventory.json), what is declared (layout.toml,
if not the default) and what must come of it (expected.json).

``decision`` is the plan's; with one volume or order ``disks``, ``reason`` and ``hint`` are about
that, with several there is a list ``volumes`` of the same, each with its ``name``. ``reason`` and
``hint`` are fragments that must appear; ``steps`` are all commands, in order; ``destroys``, where
it is given, the serial and the contents of all that is overwritten. ``waited`` says whether the
time for late disks has passed, ``orders`` what an operator asks for, ``settled`` is false where
disks may still come.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from appliance.model.plans import Decision, Orders, VolumePlan
from appliance.storage.policy.documents import load_inventory
from appliance.storage.policy.layout import load_layout
from appliance.storage.policy.planner import plan
from appliance.storage.policy.preview import preview

CASES = sorted(found.parent for found in Path(__file__).parent.glob("*/inventory.json"))
# LVM is told the same settings in each call (appliance.storage.formats.lvm); they say nothing here.
_SETTINGS = "--config"


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_case(folder: Path) -> None:
    expected = json.loads((folder / "expected.json").read_text())
    layout = load_layout(folder / "layout.toml")
    made = plan(
        load_inventory(folder / "inventory.json", layout=layout),
        layout,
        waited=expected["waited"],
        settled=expected.get("settled", True),
        orders=orders(expected.get("orders", {})),
    )
    said = [(one.name, one.reason) for one in made.volumes]
    assert made.decision == Decision(expected["decision"]), said
    wanted = expected.get("volumes", [expected])
    assert len(made.volumes) == len(wanted), said
    for volume, row in zip(made.volumes, wanted, strict=True):
        check(volume, row)
    assert [shown(step.argv) for step in made.steps] == expected["steps"]
    if "destroys" in expected:
        gone = [f"{one.serial}: {one.holds}" for step in made.steps for one in step.destroys]
        assert gone == expected["destroys"]


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_the_preview_decides_as_the_plan_does(folder: Path) -> None:
    layout = load_layout(folder / "layout.toml")
    found = load_inventory(folder / "inventory.json", layout=layout)
    asked = orders(json.loads((folder / "expected.json").read_text()).get("orders", {}))
    # No order of the form; and disks of which a document says nothing but what they are.
    if asked.erase or folder.name == "contract-keys-only":
        return
    left = tuple(one for one in layout.volumes if one.name not in asked.remove)
    as_planned = plan(
        found,
        replace(layout, volumes=left),
        waited=True,
        orders=Orders(remove=asked.remove, grow=True),
    )
    shown = preview(layout, found, asked.remove).volumes
    assert [(one.name, one.decision, tuple(d.path for d in one.disks)) for one in shown] == [
        (one.name, one.decision, one.disks) for one in as_planned.volumes
    ]


def orders(row: dict[str, Any]) -> Orders:
    return Orders(
        remove=tuple(row.get("remove", ())),
        erase=tuple(row.get("erase", ())),
        grow=row.get("grow", False),
        declare=row.get("declare", ""),
    )


def check(volume: VolumePlan, row: dict[str, Any]) -> None:
    assert volume.name == row.get("name", volume.name)
    assert volume.decision == Decision(row["decision"]), volume.reason
    assert list(volume.disks) == row["disks"]
    for fragment in row["reason"]:
        assert fragment in volume.reason
    for fragment in row["hint"]:
        assert fragment in volume.hint


def shown(argv: tuple[str, ...]) -> str:
    """A command as a line, without LVM's settings."""
    if _SETTINGS not in argv:
        return " ".join(argv)
    at = argv.index(_SETTINGS)
    return " ".join((*argv[:at], *argv[at + 2 :]))


def test_there_are_cases() -> None:
    assert len(CASES) >= 64
