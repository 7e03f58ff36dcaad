"""One kill point for each step of some works, and power that goes at some flushes of every making.

All points are tried by ``make soak`` (tests/lab/kills/host.py).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.kills import host
from tests.rig import uml
from tests.rig.build import build


@pytest.fixture(scope="module")
def image() -> Path:
    if why := uml.missing():
        pytest.skip(why)
    return build().disk


def test_sigkill_at_each_step(image: Path, tmp_path: Path) -> None:
    tally = host.sigkills(image, tmp_path, quick=True)
    host.tell("\nSIGKILL, one point a step", tally)
    assert not tally.failures
    assert tally.hit > tally.tried / 2, "most steps were over before they were killed"


def test_power_goes_between_flushes(image: Path, tmp_path: Path) -> None:
    tally = host.power_cuts(image, tmp_path, quick=True)
    host.tell("\npower cut", tally)
    assert not tally.failures
    assert tally.tried
