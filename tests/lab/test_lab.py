"""The whole catalogue on real md, LVM, XFS and ext4 in guest kernels.

Two guests share the scenarios: each takes the next one when it has played one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pytest

from tests.lab import catalogue, guests
from tests.rig import uml
from tests.rig.build import build

SCENARIOS = catalogue.load_all()
_LAST_LINES = 40
_MOST_SECONDS = 40 * 60


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """What came of each scenario, by name."""
    if why := uml.missing():
        pytest.skip(why)
    disk = build().disk
    folder = tmp_path_factory.mktemp("lab")
    began = time.monotonic()
    runs = guests.run_guests(
        disk, folder, ["tests.lab.guest"], list(SCENARIOS), timeout_seconds=_MOST_SECONDS
    )
    found: dict[str, Any] = {}
    for run in runs:
        found |= run.results
        if run.timed_out or not run.results:
            print("\n".join(run.console.splitlines()[-_LAST_LINES:]))
    print(f"\nlab: {len(found)} scenarios in {time.monotonic() - began:.0f} s")
    return found


def test_catalogue_is_large_enough() -> None:
    assert len(SCENARIOS) >= 300


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name: str, results: Mapping[str, Any]) -> None:
    assert name in results, "the guest never got that far; see its console above"
    assert results[name]["ok"], results[name].get("trace")
