"""Runs on a real md RAID0 and on raw disks, in a guest kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.lab import guests
from tests.rig import uml
from tests.rig.build import build


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    if why := uml.missing():
        pytest.skip(why)
    run = guests.run_guest(
        build().disk, tmp_path_factory.mktemp("bench"), ["tests.lab.bench_guest"]
    )
    assert set(run.results) == {"stripe", "raw"}, run.console[-2000:]
    return run.results


def test_each_member_is_measured_where_the_files_of_the_stripe_lie(
    done: Mapping[str, Any],
) -> None:
    found = done["stripe"]
    assert "trace" not in found, found["trace"]
    assert found["run"]["state"] == "complete"
    names = found["names"]
    assert found["stripe"]["members"] == names
    assert found["stripe"]["chunk_bytes"] == 64 * 1024
    assert all(offset >= 1024 * 1024 for offset in found["stripe"]["data_offsets"])
    measured = [(one["job"], one["member"]) for one in found["results"]]
    assert measured == [("reads", ""), *(("reads", name) for name in names), ("writes", "")]
    for one in found["results"][1:3]:
        # All of it came from that disk, and nothing from the other one.
        assert one["device_bytes"] == pytest.approx(one["io_bytes"], rel=0.02)
        assert {delta["device"] for delta in one["device_io"]} == {one["member"]}


def test_a_member_of_a_stripe_is_not_overwritten(done: Mapping[str, Any]) -> None:
    assert "is held by md" in done["stripe"]["refused"]


def test_a_disk_is_overwritten_if_its_serial_was_typed_and_is_blank_again(
    done: Mapping[str, Any],
) -> None:
    found = done["raw"]
    assert "trace" not in found, found["trace"]
    assert "another serial" in found["wrong"]
    assert found["run"]["state"] == "complete"
    assert found["run"]["target_kind"] == "raw-write"
    assert "rounds" in found["run"]["conditions"]["steady_state writes"]
    assert found["zero"]
