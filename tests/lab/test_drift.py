"""Drift on real devices: guests play the scenarios, and one is booted with two kernels.

A scenario fails at the first check that does not say exactly what it must.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.lab import guests
from tests.lab.drift import deeds, guest
from tests.rig import uml
from tests.rig.build import build

_LAST_LINES = 40
_MOST_SECONDS = 40 * 60
_TWO_HOURS, _DAY = "two-hours-of-ordinary-operation", "a-day-of-ordinary-operation"
# `make soak` sets it.
_ORDINARY = _DAY if "STRIPEWRIGHT_SOAK" in os.environ else _TWO_HOURS
# Each list is one guest's. The last two share a processor with others, and need little of it:
# their disks are slow.
_GUESTS = (
    [_ORDINARY],
    [*deeds.SCENARIOS, "what-a-check-costs"],
    ["a-member-becomes-slow"],
    ["a-disk-that-is-slow-at-first-boot", "all-members-become-slower"],
)
_BOOTS = "boots"
_NAMES = [name for names in _GUESTS for name in names]


def _play(image: Path, folder: Path, names: list[str]) -> guests.LabRun:
    guests.put(folder, names)
    return guests.run_guest(image, folder, ["tests.lab.drift.guest"], timeout_seconds=_MOST_SECONDS)


def _boot_three_times(image: Path, folder: Path) -> dict[str, Any]:
    """The same machine with its kernel, with that again, and with another one."""
    folder.mkdir(parents=True)
    other = folder / "other.uml"
    releases = uml.other_kernel(other)
    boots = []
    for kernel in (None, None, other):
        (folder / "guest/results.json").unlink(missing_ok=True)
        run = guests.run_guest(image, folder / "guest", ["tests.lab.drift.boots"], kernel=kernel)
        boots.append(run.results or {"trace": run.console[-2000:]})
    return {"releases": releases, "boots": boots}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """What came of each scenario, by name."""
    if why := uml.missing():
        pytest.skip(why)
    image = build().disk
    folder = tmp_path_factory.mktemp("drift")
    began = time.monotonic()
    with ThreadPoolExecutor(len(_GUESTS) + 1) as pool:
        runs = [
            pool.submit(_play, image, folder / str(at), names) for at, names in enumerate(_GUESTS)
        ]
        booted = pool.submit(_boot_three_times, image, folder / _BOOTS)
    found: dict[str, Any] = {}
    for run in (one.result() for one in runs):
        found |= run.results
        if run.timed_out or not run.results:
            print("\n".join(run.console.splitlines()[-_LAST_LINES:]))
    checks = [cpu for one in found.values() for cpu in one["checks_cpu_seconds"]]
    programs = [cpu for one in found.values() for cpu in one["programs_cpu_seconds"]]
    took = time.monotonic() - began
    print(f"\ndrift: {len(checks)} checks in {took:.0f} s, {len(_GUESTS)} guests")
    for what, seconds in (("check", checks), ("check, Python's start included", programs)):
        if seconds:
            print(f"drift: CPU of a {what}: median {statistics.median(seconds):.2f} s")
    return found | {_BOOTS: booted.result()}


def test_every_part_is_played() -> None:
    assert {*_NAMES, _TWO_HOURS, _DAY} == {*deeds.SCENARIOS, *guest.PARTS}


@pytest.mark.parametrize("name", _NAMES)
def test_a_check_finds_what_was_done_and_nothing_else(name: str, played: Mapping[str, Any]) -> None:
    assert name in played, "the guest never got that far; see its console above"
    assert played[name]["ok"], played[name].get("trace")


def test_another_kernel_is_told_at_the_boot_that_has_it(played: Mapping[str, Any]) -> None:
    boots, (release, other) = played[_BOOTS]["boots"], played[_BOOTS]["releases"]
    assert [one.get("trace") for one in boots] == [None, None, None]
    assert [one["release"] for one in boots] == [release, release, other]
    assert [one["findings"] for one in boots[:2]] == [[], []]
    (found,) = boots[2]["findings"]
    assert (found["code"], found["severity"]) == ("ENV-KERNEL", "notice")
    assert (found["expected"], found["observed"]) == (release, other)
    assert release in found["summary"]
    assert other in found["summary"]
    assert [one["code"] for one in boots[2]["again"]] == ["ENV-KERNEL"]
    # A notice is no alarm.
    assert boots[2]["exits"] == [0, 0]
