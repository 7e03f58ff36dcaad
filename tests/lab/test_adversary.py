"""Some histories drawn at random; ``make soak`` draws a thousand (tests/lab/adversary_host.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab import adversary_host
from tests.rig import uml
from tests.rig.build import build


def test_somebodys_bytes_stay(tmp_path: Path) -> None:
    if why := uml.missing():
        pytest.skip(why)
    found = adversary_host.histories(build().disk, tmp_path, first=0, count=12)
    adversary_host.tell(found)
    assert not found.failures
    assert found.tried == 12
