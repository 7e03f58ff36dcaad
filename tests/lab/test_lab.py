"""Every scenario of tests/lab/scenarios.py, on real md and XFS in guest kernels.

Two guests share the scenarios: a guest has one processor, and any machine has two.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.lab import uml
from tests.lab.scenarios import SCENARIOS
from tests.rig.build import build

_GUESTS = 2
_LAST_LINES = 40


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """What came of each scenario, by name."""
    if why := uml.missing():
        pytest.skip(why)
    disk = build().disk
    names = list(SCENARIOS)
    folder = tmp_path_factory.mktemp("lab")
    with ThreadPoolExecutor(_GUESTS) as pool:
        runs = [
            pool.submit(uml.run_guest, disk, folder / str(at), names[at::_GUESTS])
            for at in range(_GUESTS)
        ]
    found: dict[str, Any] = {}
    for run in (one.result() for one in runs):
        print(f"lab: {len(run.results)} scenarios in {run.seconds:.0f} s")
        found |= run.results
        if run.timed_out or not run.results:
            print("\n".join(run.console.splitlines()[-_LAST_LINES:]))
    return found


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name: str, results: Mapping[str, Any]) -> None:
    assert name in results, "the guest never got that far; see its console above"
    assert results[name]["ok"], results[name].get("trace")
