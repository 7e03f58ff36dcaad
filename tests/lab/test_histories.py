"""Some histories drawn at random, the same each time; a thousand are ``make soak``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab import adversary_host
from tests.rig import uml
from tests.rig.build import build

_HISTORIES = 8


def test_histories(tmp_path: Path) -> None:
    if why := uml.missing():
        pytest.skip(why)
    found = adversary_host.histories(build().disk, tmp_path, first=1, count=_HISTORIES)
    adversary_host.tell(found)
    assert found.tried == _HISTORIES
    assert not found.failures
