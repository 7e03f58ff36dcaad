"""The whole catalogue on real md, LVM, XFS and ext4 in guest kernels.

Two guests share the scenarios: a guest has one processor, and any machine has two.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.lab import catalogue, uml
from tests.rig.build import build

SCENARIOS = catalogue.load_all()
_GUESTS = 2
_LAST_LINES = 40
_MOST_SECONDS = 20 * 60


def play(image: Path, folder: Path, names: list[str]) -> uml.LabRun:
    """One guest and its share of the scenarios."""
    folder.mkdir(parents=True)
    (folder / "names.txt").write_text("\n".join(names))
    return uml.run_guest(image, folder, ["tests.lab.guest"], timeout_seconds=_MOST_SECONDS)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """What came of each scenario, by name."""
    if why := uml.missing():
        pytest.skip(why)
    disk = build().disk
    names = list(SCENARIOS)
    folder = tmp_path_factory.mktemp("lab")
    began = time.monotonic()
    with ThreadPoolExecutor(_GUESTS) as pool:
        runs = [
            pool.submit(play, disk, folder / str(at), names[at::_GUESTS]) for at in range(_GUESTS)
        ]
    found: dict[str, Any] = {}
    for run in (one.result() for one in runs):
        found |= run.results
        if run.timed_out or not run.results:
            print("\n".join(run.console.splitlines()[-_LAST_LINES:]))
    print(f"\nlab: {len(found)} scenarios in {time.monotonic() - began:.0f} s, {_GUESTS} guests")
    return found


def test_catalogue_is_large_enough() -> None:
    assert len(SCENARIOS) >= 100


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name: str, results: Mapping[str, Any]) -> None:
    assert name in results, "the guest never got that far; see its console above"
    assert results[name]["ok"], results[name].get("trace")
